//! A request, how far it may reach, and what came back.

use std::time::{Duration, Instant};

use ureq::http::Uri;

use crate::error::SendError;
use crate::lookup;
use crate::target::{self, Target};
use crate::wire::{self, Authorities, Place};

/// The largest body of a request, in bytes.
pub const BODY_MAX: usize = 1024 * 1024;
/// The longest URL, in bytes: what servers commonly take.
pub const URL_MAX: usize = 8 * 1024;
/// The most bytes of a request's headers, names and values together.
pub const HEADERS_MAX: usize = 16 * 1024;

/// The methods that are sent. CONNECT and TRACE would make a tunnel or a mirror of the server.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/// The methods that carry a body.
const WITH_BODY: [&str; 3] = ["POST", "PUT", "PATCH"];
/// Headers that say how the message is carried, which is the host's business.
const CARRIAGE: [&str; 10] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "accept-encoding",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "keep-alive",
];

/// One request. It has no `Debug`: header values and bodies hold secrets.
pub struct Request<'a> {
    /// An upper-case method, one of GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS.
    pub method: &'a str,
    /// An absolute URL.
    pub url: &'a str,
    /// Header names and values.
    pub headers: &'a [(String, String)],
    /// The body; empty for none.
    pub body: &'a [u8],
    /// How long everything together may take.
    pub timeout: Duration,
    /// The most bytes of the response's body.
    pub response_max: u64,
}

/// A response, whatever its status. It has no `Debug`: it may hold anything.
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// Header names in lower case, and values. Values that are not UTF-8 have their bad bytes replaced.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// How far a request may reach: the hosts it may be for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    targets: Vec<Target>,
}

impl Reach {
    /// Exactly these hosts.
    pub fn of(targets: impl IntoIterator<Item = Target>) -> Self {
        Self { targets: targets.into_iter().collect() }
    }

    /// The target that means this place, if there is one.
    fn target(&self, place: &Place) -> Option<&Target> {
        self.targets.iter().find(|target| target.covers(&place.host, place.port, place.standard_port()))
    }
}

/// Sends one request and reads its response. Redirects are answers, proxies of the environment are not used.
///
/// The name is looked up once; every address it has must be one that may be reached, and the connection goes to one of
/// exactly these. Blocks for up to the request's time.
///
/// # Errors
/// The request is not well formed, its host or address may not be reached, or there is no whole response in time.
pub fn send(request: &Request<'_>, reach: &Reach) -> Result<Response, SendError> {
    send_trusting(request, reach, &Authorities::of_this_machine)
}

/// [`send`], with the authorities to trust.
pub(crate) fn send_trusting(
    request: &Request<'_>,
    reach: &Reach,
    authorities: &dyn Fn() -> Result<Authorities, SendError>,
) -> Result<Response, SendError> {
    let deadline = Instant::now() + request.timeout;
    check(request)?;
    let (uri, place) = read_url(request.url)?;
    let target = reach.target(&place).ok_or_else(|| SendError::Denied(place.shown()))?;
    if place.plain && !target.is_plain() {
        return Err(SendError::Plain(place.shown()));
    }
    let addresses = lookup::addresses(&place.host, place.port, request.timeout)?;
    for address in &addresses {
        let address = address.ip();
        if !target.allows(address, place.plain) {
            let kind = crate::address::kind(address).word();
            return Err(SendError::Address { host: place.shown(), address, kind });
        }
    }
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(SendError::TimedOut(place.shown()));
    }
    wire::exchange(request, uri, &place, addresses, left, authorities)
}

/// Reads a URL: what is asked, and where.
pub(crate) fn read_url(url: &str) -> Result<(Uri, Place), SendError> {
    let invalid = |what: &str| SendError::Invalid(what.to_owned());
    if url.len() > URL_MAX {
        return Err(invalid("the URL is longer than 8 KiB"));
    }
    let uri: Uri = url.parse().map_err(|_| invalid("the URL is not well formed"))?;
    let plain = match uri.scheme_str() {
        Some("https") => false,
        Some("http") => true,
        _ => return Err(invalid("the URL must begin with https://")),
    };
    let authority = uri.authority().ok_or_else(|| invalid("the URL names no host"))?;
    if authority.as_str().contains('@') {
        return Err(invalid("the URL must not hold a user name; send a header in its place"));
    }
    let host =
        target::canonical(authority.host()).ok_or_else(|| invalid("the URL's host is not a name or an address"))?;
    let port = match authority.as_str().len() - authority.host().len() {
        0 => None,
        _ => Some(
            authority.port_u16().filter(|port| *port > 0).ok_or_else(|| invalid("the URL's port is not a number"))?,
        ),
    };
    let mut place = Place { host, port: 0, plain };
    place.port = port.unwrap_or(place.standard_port());
    Ok((uri, place))
}

/// Refuses what is not sent.
fn check(request: &Request<'_>) -> Result<(), SendError> {
    let invalid = |what: String| Err(SendError::Invalid(what));
    if !METHODS.contains(&request.method) {
        return invalid(format!("the method must be one of {}", METHODS.join(", ")));
    }
    if !request.body.is_empty() && !WITH_BODY.contains(&request.method) {
        return invalid(format!("a {} request has no body", request.method));
    }
    if request.body.len() > BODY_MAX {
        return invalid(format!("the body is larger than {BODY_MAX} bytes"));
    }
    let mut size = 0;
    for (name, value) in request.headers {
        size += name.len() + value.len();
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        // The name is not said: a caller who mixes up the two would have the value told.
        if name.is_empty() || !name.bytes().all(token) {
            return invalid("the name of a header has characters that are not allowed".to_owned());
        }
        let lower = name.to_ascii_lowercase();
        if CARRIAGE.contains(&lower.as_str()) || lower.starts_with("proxy-") {
            return invalid(format!("the header '{lower}' is the host's to set"));
        }
        if value.bytes().any(|byte| byte != b'\t' && (byte < b' ' || byte == 0x7f)) {
            return invalid(format!("the value of header '{lower}' has characters that are not allowed"));
        }
    }
    if size > HEADERS_MAX {
        return invalid(format!("the headers are larger than {HEADERS_MAX} bytes"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
