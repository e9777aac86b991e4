//! Downloading a file from a URL that a person named, for example a plugin.
//!
//! It must never follow a redirect: whoever names a URL trusts that host, and no other.

use std::time::Duration;

use ureq::http::Uri;

use crate::error::SendError;
use crate::request::{Reach, Request, Response, read_url, send_trusting};
use crate::target::Target;
use crate::wire::Authorities;

/// The longest place a message shows, in characters.
const SHOWN_MAX: usize = 200;

/// The bytes at an https URL: of any host, at a public address, or also a private one where `allow_private` says so.
/// Blocks for up to `timeout`, and reads up to `max_bytes`.
///
/// # Errors
/// The URL is not one of https, the address may not be reached, the answer is not 200, too large or late.
pub fn fetch(url: &str, max_bytes: u64, timeout: Duration, allow_private: bool) -> Result<Vec<u8>, SendError> {
    fetch_trusting(url, max_bytes, timeout, allow_private, &Authorities::of_this_machine)
}

/// [`fetch`], with the authorities to trust.
pub(crate) fn fetch_trusting(
    url: &str,
    max_bytes: u64,
    timeout: Duration,
    allow_private: bool,
    authorities: &dyn Fn() -> Result<Authorities, SendError>,
) -> Result<Vec<u8>, SendError> {
    let (_, place) = read_url(url)?;
    if place.plain {
        return Err(SendError::Invalid("the URL must begin with https://".to_owned()));
    }
    let suffix = if allow_private { "+private" } else { "" };
    let target: Target = format!("{}:{}{suffix}", place.host, place.port)
        .parse()
        .map_err(|bad: crate::target::BadTarget| SendError::Invalid(bad.to_string()))?;
    let request = Request { method: "GET", url, headers: &[], body: &[], timeout, response_max: max_bytes };
    let response = send_trusting(&request, &Reach::of([target]), authorities)?;
    match response.status {
        200 => Ok(response.body),
        301..=303 | 307 | 308 => Err(SendError::Redirect { host: place.shown(), to: redirect_target(&response) }),
        status => Err(SendError::Status { host: place.shown(), status }),
    }
}

/// Where a redirect leads, without what may be a secret: its query, its fragment, its user.
fn redirect_target(response: &Response) -> String {
    let location = response.headers.iter().find(|(name, _)| name == "location").map(|(_, value)| value.as_str());
    let Some(uri) = location.and_then(|value| value.parse::<Uri>().ok()) else {
        return "a place that is not well formed".to_owned();
    };
    let host = uri.host().map(|host| format!("{}://{host}", uri.scheme_str().unwrap_or("https"))).unwrap_or_default();
    let port = uri.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{host}{port}{}", uri.path()).chars().filter(|c| c.is_ascii_graphic()).take(SHOWN_MAX).collect()
}
