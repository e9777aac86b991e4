//! Why there is no response. Messages name the host and the remedy, never a path, a header or a body: any of these may
//! hold a secret.

/// Why a request got no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The request itself is not one that is sent; the payload says what is wrong with it.
    #[error("the request cannot be sent: {0}")]
    Invalid(String),
    /// Its host is not among those it may reach.
    #[error("{0} is not among the hosts that were granted")]
    Denied(String),
    /// It is plain http, and the grant does not say so.
    #[error(
        "{0} may be asked over https only; a grant ending in '+private+plain' allows http inside a private network"
    )]
    Plain(String),
    /// The name has no address.
    #[error("{0} could not be looked up")]
    Lookup(String),
    /// The name leads to an address that may not be reached.
    #[error("{host} has the {kind} address {address}, which is refused{}", remedy(.kind))]
    Address {
        /// The host asked for.
        host: String,
        /// The address it has.
        address: std::net::IpAddr,
        /// The kind of that address, as [`crate::address::Kind::word`] names it.
        kind: &'static str,
    },
    /// There was no whole response in time.
    #[error("{0} did not answer in time")]
    TimedOut(String),
    /// The connection could not be made or broke; `how` is one of a few fixed words.
    #[error("{host}: {how}")]
    Failed {
        /// The host asked for.
        host: String,
        /// What happened.
        how: &'static str,
    },
    /// The response is larger than it may be.
    #[error("{host} sent more than the {max} bytes that are read of a response")]
    TooLarge {
        /// The host asked for.
        host: String,
        /// The most bytes that are read.
        max: u64,
    },
    /// A download was answered with a redirect.
    #[error("{host} redirects to {to}, and redirects are not followed: download from there if you trust it")]
    Redirect {
        /// The host asked for.
        host: String,
        /// Where to, without query and fragment.
        to: String,
    },
    /// A download was answered with another status than 200.
    #[error("{host} answered {status} and not 200")]
    Status {
        /// The host asked for.
        host: String,
        /// The status.
        status: u16,
    },
    /// No certificate of an authority could be read, so that no server could be trusted.
    #[error(
        "no certificates of authorities were found on this machine: install 'ca-certificates' or set SSL_CERT_FILE"
    )]
    NoAuthorities,
}

fn remedy(kind: &str) -> &'static str {
    match kind {
        "metadata" => " (a metadata service hands out credentials)",
        "unspecified" | "reserved" | "documentation" | "multicast" => "",
        _ => "; a grant ending in '+private' allows it",
    }
}
