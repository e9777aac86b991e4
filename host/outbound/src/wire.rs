//! The exchange itself, over ureq: one connection to one of the given addresses, one answer.
//!
//! Everything ureq would do on its own accord is switched off here: redirects, proxies, look-ups, statuses as errors.
//! What it says of a failure is turned into one of a few fixed words, because an error may quote what a server sent.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::CertificateError;
use ureq::config::Config;
use ureq::http::{self, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Body};

use crate::error::SendError;
use crate::request::{Request, Response};

/// Where a request goes.
pub(crate) struct Place {
    /// The host, in the one spelling that is compared.
    pub(crate) host: String,
    /// The port.
    pub(crate) port: u16,
    /// Whether it is asked over plain http.
    pub(crate) plain: bool,
}

impl Place {
    /// The port of its scheme.
    pub(crate) fn standard_port(&self) -> u16 {
        if self.plain { 80 } else { 443 }
    }

    /// The host, and the port where it is not the usual one.
    pub(crate) fn shown(&self) -> String {
        if self.port == self.standard_port() { self.host.clone() } else { format!("{}:{}", self.host, self.port) }
    }
}

/// The certificates of the authorities that are trusted.
pub(crate) struct Authorities(Vec<Certificate<'static>>);

impl Authorities {
    /// What this machine trusts; `SSL_CERT_FILE` and `SSL_CERT_DIR` name others. Read each time, so that a long-lived
    /// host follows what is installed.
    pub(crate) fn of_this_machine() -> Result<Self, SendError> {
        let found = rustls_native_certs::load_native_certs().certs;
        Self::of(found.iter().map(|certificate| certificate.as_ref()))
    }

    /// These, in DER.
    pub(crate) fn of<'a>(certificates: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, SendError> {
        let all: Vec<_> = certificates.into_iter().map(|der| Certificate::from_der(der).to_owned()).collect();
        if all.is_empty() { Err(SendError::NoAuthorities) } else { Ok(Self(all)) }
    }
}

/// Says the addresses that were looked at, whatever is asked.
#[derive(Debug)]
struct Looked(Vec<SocketAddr>);

impl Resolver for Looked {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let mut all = self.empty();
        for address in &self.0 {
            all.push(*address);
        }
        Ok(all)
    }
}

/// Sends the request to one of the addresses and reads the answer.
pub(crate) fn exchange(
    request: &Request<'_>,
    uri: Uri,
    place: &Place,
    addresses: Vec<SocketAddr>,
    within: Duration,
    authorities: &dyn Fn() -> Result<Authorities, SendError>,
) -> Result<Response, SendError> {
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .https_only(!place.plain)
        .proxy(None)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_idle_connections(0)
        .user_agent(concat!("hermes/", env!("CARGO_PKG_VERSION")))
        .accept_encoding("identity")
        .timeout_global(Some(within));
    if !place.plain {
        let roots = RootCerts::Specific(Arc::new(authorities()?.0));
        config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
    }
    let agent = Agent::with_parts(config.build(), DefaultConnector::new(), Looked(addresses));
    let mut message = http::Request::builder().method(request.method).uri(uri);
    for (name, value) in request.headers {
        message = message.header(name, value);
    }
    let malformed = |_| SendError::Invalid("the request is not well formed".to_owned());
    let answer = if request.body.is_empty() && !matches!(request.method, "POST" | "PUT" | "PATCH") {
        agent.run(message.body(()).map_err(malformed)?)
    } else {
        agent.run(message.body(request.body).map_err(malformed)?)
    };
    let told = |error| what_failed(error, &place.shown(), request.response_max);
    read(answer.map_err(told)?, request.response_max).map_err(told)
}

fn read(answer: http::Response<Body>, max: u64) -> Result<Response, ureq::Error> {
    let (head, body) = answer.into_parts();
    // The limit is an error at exactly that size already.
    let body = body.into_with_config().limit(max.saturating_add(1)).read_to_vec()?;
    if body.len() as u64 > max {
        return Err(ureq::Error::BodyExceedsLimit(max));
    }
    let headers = head
        .headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    Ok(Response { status: head.status.as_u16(), headers, body })
}

/// What an error of ureq means, in fixed words.
fn what_failed(error: ureq::Error, host: &str, max: u64) -> SendError {
    let failed = |how| SendError::Failed { host: host.to_owned(), how };
    match error {
        ureq::Error::Timeout(_) => SendError::TimedOut(host.to_owned()),
        ureq::Error::BodyExceedsLimit(_) => SendError::TooLarge { host: host.to_owned(), max },
        ureq::Error::LargeResponseHeader(..) => failed("the headers of its answer are too large"),
        ureq::Error::Rustls(error) => failed(tls_word(&error)),
        ureq::Error::Tls(_) | ureq::Error::TlsRequired | ureq::Error::Pem(_) => failed("TLS failed"),
        ureq::Error::Io(error) => {
            if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                return failed(tls_word(tls));
            }
            match error.kind() {
                io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => SendError::TimedOut(host.to_owned()),
                kind => failed(io_word(kind)),
            }
        }
        ureq::Error::Protocol(_) => failed("its answer is not HTTP, or ends too early"),
        ureq::Error::Http(_) | ureq::Error::BadUri(_) => {
            SendError::Invalid("the request is not well formed".to_owned())
        }
        _ => failed("the connection failed"),
    }
}

fn io_word(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::ConnectionRefused => "the connection was refused",
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => "there is no route to it",
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => "the connection was closed before the answer was whole",
        _ => "the connection failed",
    }
}

fn tls_word(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InvalidCertificate(why) => match why {
            // A bad signature is an authority of the same name with another key.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "its certificate is from an authority this machine does not trust"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "its certificate is for another name"
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => "its certificate has expired",
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "its certificate is not valid yet"
            }
            _ => "its certificate is not valid",
        },
        _ => "TLS failed",
    }
}
