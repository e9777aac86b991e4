//! Fetching a component from its URL: bounded while it arrives, and looked at only when its digest is the one wanted.
//!
//! It must never parse what it fetched, nor put more of a URL than host and path into a message.

use std::time::Duration;

use hermes_outbound::error::SendError;
use hermes_outbound::fetch::fetch;
use serde::Serialize;

use crate::digest::Digest;
use crate::limits::FILE_MAX;
use crate::source::Url;

/// How long a download may take: [`FILE_MAX`] at 220 kB/s.
const FETCH_MAX: Duration = Duration::from_secs(300);

/// Why nothing was fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The address is one that strangers must not lead to.
    #[error("{host} has the {kind} address {address}, which is refused: give --allow-private if that server is yours")]
    Private {
        /// The host.
        host: String,
        /// Its address.
        address: std::net::IpAddr,
        /// What kind of address it is.
        kind: &'static str,
    },
    /// There was no file.
    #[error("'{url}' cannot be fetched")]
    Refused {
        /// The URL.
        url: Url,
        /// Why.
        #[source]
        source: SendError,
    },
}

/// What is known of a file behind a URL.
#[derive(Debug, Serialize)]
pub struct Pin {
    /// Where it is, without a query.
    pub url: String,
    /// Its digest.
    pub digest: Digest,
    /// Its size in bytes.
    pub bytes: usize,
}

/// Fetches a file for its digest. Nothing else is done with it.
///
/// # Errors
/// It cannot be fetched.
pub fn pin(url: &Url, allow_private: bool) -> Result<Pin, FetchError> {
    let bytes = bytes(url, allow_private)?;
    Ok(Pin { url: url.to_string(), digest: Digest::of(&bytes), bytes: bytes.len() })
}

/// The bytes behind a URL, at most [`FILE_MAX`].
pub(crate) fn bytes(url: &Url, allow_private: bool) -> Result<Vec<u8>, FetchError> {
    fetch(url.asked(), FILE_MAX, FETCH_MAX, allow_private).map_err(|source| match source {
        // No way leads to a metadata service.
        SendError::Address { host, address, kind } if !allow_private && kind != "metadata" => {
            FetchError::Private { host, address, kind }
        }
        source => FetchError::Refused { url: url.clone(), source },
    })
}
