//! What the host offers notifiers beyond their world, once an operator granted it: requests and values kept between
//! calls. And waiting, which needs no grant. A raw-text plugin that imports any of these is refused.
//!
//! On a machine that is not WASM there is no host: requests are denied, nothing is kept, and nobody waits.

/// One request. Redirects are answers, not followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// An upper-case method.
    pub method: String,
    /// An absolute https URL.
    pub url: String,
    /// Header names and values.
    pub headers: Vec<(String, String)>,
    /// The body; empty for none.
    pub body: Vec<u8>,
    /// Milliseconds to wait for the whole response; cut to what is left of the call's own time.
    pub timeout_ms: u32,
}

/// A response, whatever its status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// Header names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Why there is no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpError {
    /// The host is not granted; says which.
    Denied(String),
    /// The request is not well formed; says what.
    Invalid(String),
    /// No response in time.
    TimedOut,
    /// The connection failed; says how.
    Failed(String),
    /// The response is larger than this many bytes.
    TooLarge(u64),
}

/// Why a value was not read or kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageError {
    /// One value may have this many bytes at most.
    TooLarge(u64),
    /// All values of the plugin together may have this many bytes at most.
    QuotaExceeded(u64),
    /// The store cannot be used; says why.
    Unavailable(String),
}

#[cfg(target_arch = "wasm32")]
mod imports {
    //! The host's own functions.
    use super::{HttpError, Request, Response, StorageError};
    use crate::bindings::imports::hermes::host;

    pub(super) fn send(request: &Request) -> Result<Response, HttpError> {
        let request = host::http::Request {
            method: request.method.clone(),
            url: request.url.clone(),
            headers: request.headers.clone(),
            body: request.body.clone(),
            timeout_ms: request.timeout_ms,
        };
        match host::http::send(&request) {
            Ok(answer) => Ok(Response { status: answer.status, headers: answer.headers, body: answer.body }),
            Err(host::http::HttpError::Denied(said)) => Err(HttpError::Denied(said)),
            Err(host::http::HttpError::Invalid(said)) => Err(HttpError::Invalid(said)),
            Err(host::http::HttpError::TimedOut) => Err(HttpError::TimedOut),
            Err(host::http::HttpError::Failed(said)) => Err(HttpError::Failed(said)),
            Err(host::http::HttpError::TooLarge(limit)) => Err(HttpError::TooLarge(limit)),
        }
    }

    pub(super) fn get(key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        host::storage::get(key).map_err(refused)
    }

    pub(super) fn put(key: &str, value: &[u8]) -> Result<(), StorageError> {
        host::storage::put(key, value).map_err(refused)
    }

    pub(super) fn remove(key: &str) -> Result<(), StorageError> {
        host::storage::remove(key).map_err(refused)
    }

    fn refused(error: host::storage::StorageError) -> StorageError {
        match error {
            host::storage::StorageError::TooLarge(limit) => StorageError::TooLarge(limit),
            host::storage::StorageError::QuotaExceeded(limit) => StorageError::QuotaExceeded(limit),
            host::storage::StorageError::Unavailable(said) => StorageError::Unavailable(said),
        }
    }

    pub(super) fn sleep(ms: u32) -> u32 {
        host::clock::sleep(ms)
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod imports {
    //! What stands in for the host in native tests.
    use super::{HttpError, Request, Response, StorageError};

    const NO_HOST: &str = "there is no host outside hermes";

    pub(super) fn send(_: &Request) -> Result<Response, HttpError> {
        Err(HttpError::Denied(NO_HOST.to_owned()))
    }

    pub(super) fn get(_: &str) -> Result<Option<Vec<u8>>, StorageError> {
        Err(StorageError::Unavailable(NO_HOST.to_owned()))
    }

    pub(super) fn put(_: &str, _: &[u8]) -> Result<(), StorageError> {
        Err(StorageError::Unavailable(NO_HOST.to_owned()))
    }

    pub(super) fn remove(_: &str) -> Result<(), StorageError> {
        Err(StorageError::Unavailable(NO_HOST.to_owned()))
    }

    pub(super) fn sleep(_: u32) -> u32 {
        0
    }
}

/// Sends one request. Needs the permission `http`.
///
/// # Errors
/// See [`HttpError`].
pub fn send(request: &Request) -> Result<Response, HttpError> {
    imports::send(request)
}

/// The value of a key, or none. Needs the permission `storage`.
///
/// # Errors
/// See [`StorageError`].
pub fn get(key: &str) -> Result<Option<Vec<u8>>, StorageError> {
    imports::get(key)
}

/// Sets a key. The value is durable when this returns. Needs the permission `storage`.
///
/// # Errors
/// See [`StorageError`].
pub fn put(key: &str, value: &[u8]) -> Result<(), StorageError> {
    imports::put(key, value)
}

/// Removes a key; one that is not set is no error. Needs the permission `storage`.
///
/// # Errors
/// See [`StorageError`].
pub fn remove(key: &str) -> Result<(), StorageError> {
    imports::remove(key)
}

/// Waits, for what is left of the call's own time at most. Returns how many milliseconds it was.
pub fn sleep(ms: u32) -> u32 {
    imports::sleep(ms)
}
