//! Saying no: the status of HTTP, and the same as an error of JSON-RPC.
//!
//! It must never quote what a client sent.

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

use super::endpoint::Answer;

/// The code of JSON-RPC for a text that is no JSON.
const PARSE: i32 = -32700;
/// The code of JSON-RPC for what is no request.
const INVALID: i32 = -32600;
/// What the official servers say for anything about the transport.
const TRANSPORT: i32 = -32000;
/// What the official servers say for a session they do not know.
const NO_SESSION: i32 = -32001;
/// What the specification says for a version that is not spoken.
const VERSION: i32 = -32022;

/// The versions of the protocol that begin with `initialize`, and so can be spoken in a session.
pub(super) const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Why nothing is done about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is not meant for this machine, or comes from a page of a browser.
    Stranger,
    /// There is nothing at this path.
    NoPath,
    /// Nothing is done with this method.
    Method,
    /// It brings no token, or a wrong one.
    Token,
    /// The client takes no answer that can be given.
    NotAcceptable,
    /// The body is said to be no JSON.
    MediaType,
    /// The body is longer than it may be.
    TooLong,
    /// The body does not come.
    TooSlow,
    /// The body is no JSON.
    NoJson,
    /// The body is JSON, and no message.
    NoMessage,
    /// More messages at once than may be.
    TooMany,
    /// A header is not what it must be.
    NoSessionNamed,
    /// The session ended, or never was.
    NoSession,
    /// The session has begun, or begins with something else than `initialize` alone.
    Handshake,
    /// The version of the protocol is not spoken.
    Version,
    /// A request with this id has no answer yet.
    SameId,
    /// What is asked to go on from is not there.
    NoEvent,
    /// There are as many sessions as there may be.
    Full,
    /// The session has as much to do as it may have.
    Busy,
    /// The system does not give what is needed.
    System,
}

impl Refusal {
    fn parts(self) -> (StatusCode, i32, &'static str) {
        match self {
            Self::Stranger => (
                StatusCode::FORBIDDEN,
                TRANSPORT,
                "Host and Origin must name this machine: localhost, 127.0.0.1 or [::1]",
            ),
            Self::NoPath => (StatusCode::NOT_FOUND, TRANSPORT, "nothing is here; the path is /mcp"),
            Self::Method => (StatusCode::METHOD_NOT_ALLOWED, TRANSPORT, "only POST, GET and DELETE are answered"),
            Self::Token => (StatusCode::UNAUTHORIZED, TRANSPORT, "the token is missing or wrong"),
            Self::NotAcceptable => (
                StatusCode::NOT_ACCEPTABLE,
                TRANSPORT,
                "Accept must list text/event-stream, and for a POST application/json as well",
            ),
            Self::MediaType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, TRANSPORT, "Content-Type must be application/json"),
            Self::TooLong => (StatusCode::PAYLOAD_TOO_LARGE, TRANSPORT, "the body is longer than 16 MiB"),
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, TRANSPORT, "the body did not come in time"),
            Self::NoJson => (StatusCode::BAD_REQUEST, PARSE, "the body is no JSON"),
            Self::NoMessage => (StatusCode::BAD_REQUEST, INVALID, "the body is no JSON-RPC message"),
            Self::TooMany => (StatusCode::BAD_REQUEST, INVALID, "too many messages at once"),
            Self::NoSessionNamed => (StatusCode::BAD_REQUEST, TRANSPORT, "the header Mcp-Session-Id is missing"),
            Self::NoSession => {
                (StatusCode::NOT_FOUND, NO_SESSION, "there is no such session any more; begin a new one")
            }
            Self::Handshake => (StatusCode::BAD_REQUEST, INVALID, "a session begins with initialize, alone and once"),
            Self::Version => (StatusCode::BAD_REQUEST, VERSION, "this version of the protocol is not spoken"),
            Self::SameId => (StatusCode::BAD_REQUEST, INVALID, "a request with this id has no answer yet"),
            Self::NoEvent => (StatusCode::BAD_REQUEST, TRANSPORT, "the event to go on from is not kept any more"),
            Self::Full => (StatusCode::SERVICE_UNAVAILABLE, TRANSPORT, "there are too many sessions; end one"),
            Self::Busy => {
                (StatusCode::SERVICE_UNAVAILABLE, TRANSPORT, "this session has too much to do; wait for answers")
            }
            Self::System => (StatusCode::SERVICE_UNAVAILABLE, TRANSPORT, "the system gives no random bytes"),
        }
    }

    fn header(self) -> Option<(HeaderName, &'static str)> {
        match self {
            Self::Method => Some((ALLOW, "GET, POST, DELETE")),
            Self::Token => Some((WWW_AUTHENTICATE, "Bearer")),
            Self::Full | Self::Busy | Self::System => Some((RETRY_AFTER, "1")),
            _ => None,
        }
    }

    /// As it is sent.
    pub(super) fn response(self) -> Response<Answer> {
        let (status, code, message) = self.parts();
        let mut error = json!({"code": code, "message": message});
        if self == Self::Version {
            error["data"] = json!({"supported": VERSIONS});
        }
        let body = json!({"jsonrpc": "2.0", "id": Value::Null, "error": error}).to_string();
        let mut response = Response::new(Either::Left(Full::new(Bytes::from(body))));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some((name, value)) = self.header() {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}
