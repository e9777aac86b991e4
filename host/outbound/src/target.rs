//! A host that may be reached, and how: `HOST[:PORT][+private[+plain]]`.
//!
//! Without a port, 443 is meant (80 over plain http). `+private` lets the name lead into a private network, `+plain`
//! allows http there. A target never means more than one host: there are no wildcards.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use crate::address::Kind;

/// The longest host name (RFC 1035, in text).
const HOST_MAX: usize = 253;

/// A host that may be reached.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    host: String,
    port: Option<u16>,
    private: bool,
    plain: bool,
}

/// Why a text is not a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTarget {
    /// The host is not a name or an address.
    #[error("the host must be a name or an address, as in 'hooks.example.com' or '[::1]'")]
    Host,
    /// The port is not a number from 1 to 65535.
    #[error("the port must be a number from 1 to 65535")]
    Port,
    /// What follows a `+` is not known.
    #[error("after the host only '+private' or '+private+plain' may follow")]
    Suffix,
    /// Plain http to a host that is not said to be private.
    #[error("plain http is only for private networks: write '+private+plain'")]
    Plain,
}

impl Target {
    /// The host, in lower case; an IPv6 address stands in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, if it is named.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Whether the name may lead into a private network.
    pub fn is_private(&self) -> bool {
        self.private
    }

    /// Whether http may be used in place of https.
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Whether it is the same place, however it may be reached.
    pub fn same_place(&self, other: &Self) -> bool {
        self.host == other.host && self.port == other.port
    }

    /// Whether a request for this host and port is meant. `standard` is the port of the request's scheme.
    pub(crate) fn covers(&self, host: &str, port: u16, standard: u16) -> bool {
        self.host == host && self.port.unwrap_or(standard) == port
    }

    /// Whether an address its name led to may be reached, over plain http or not.
    pub(crate) fn allows(&self, address: IpAddr, plain: bool) -> bool {
        match crate::address::kind(address) {
            Kind::Public => !plain,
            Kind::Private(_) => self.private,
            Kind::Metadata => self.private && literal(&self.host) == Some(address),
            Kind::Never(_) => false,
        }
    }
}

/// The address a host is, if it is one in its ordinary spelling.
pub(crate) fn literal(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(inner) => inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => host.parse().ok().filter(IpAddr::is_ipv4),
    }
}

/// The host in the one spelling that is compared; none if it is not a host.
pub(crate) fn canonical(host: &str) -> Option<String> {
    if let Some(inner) = host.strip_prefix('[') {
        let address: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
        return Some(format!("[{address}]"));
    }
    let good = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    (host.len() <= HOST_MAX && host.split('.').all(good)).then(|| host.to_ascii_lowercase())
}

impl FromStr for Target {
    type Err = BadTarget;

    fn from_str(text: &str) -> Result<Self, BadTarget> {
        let (place, private, plain) = match text.split_once('+') {
            None => (text, false, false),
            Some((place, "private")) => (place, true, false),
            Some((place, "private+plain")) => (place, true, true),
            Some((_, "plain")) => return Err(BadTarget::Plain),
            Some(_) => return Err(BadTarget::Suffix),
        };
        // The colons of an IPv6 address are inside its brackets.
        let name_ends = place.rfind(']').map_or(0, |at| at + 1);
        let (host, port) = match place.get(name_ends..).and_then(|rest| rest.find(':')) {
            None => (place, None),
            Some(at) => {
                let (host, port) = place.split_at(name_ends + at);
                let digits = &port[1..];
                let port: u16 = digits.parse().map_err(|_| BadTarget::Port)?;
                if port == 0 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(BadTarget::Port);
                }
                (host, Some(port))
            }
        };
        let host = canonical(host).ok_or(BadTarget::Host)?;
        Ok(Self { host, port, private, plain })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        if self.private {
            f.write_str("+private")?;
        }
        if self.plain {
            f.write_str("+plain")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_target_is_read_and_written_the_same() {
        for text in [
            "hooks.example.com",
            "hooks.example.com:8443",
            "10.0.0.7+private",
            "[::1]:8443+private+plain",
            "under_score.local+private",
        ] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        assert_eq!("HOOKS.Example.COM".parse::<Target>().unwrap().host(), "hooks.example.com");
        assert_eq!("[0:0::1]".parse::<Target>().unwrap().host(), "[::1]");
    }

    #[test]
    fn what_is_no_single_host_is_refused() {
        use BadTarget::{Host, Plain, Port, Suffix};
        for (text, error) in [
            ("", Host),
            ("*", Host),
            ("*.example.com", Host),
            ("a/b", Host),
            ("u@h", Host),
            ("a..b", Host),
            ("example.com.", Host),
            ("::1", Port),
            ("[::1", Port),
            ("h:", Port),
            ("h:0", Port),
            ("h:+1", Suffix),
            ("h:65536", Port),
            ("h+plain", Plain),
            ("h+plain+private", Suffix),
            ("h+public", Suffix),
            ("h\u{e9}", Host),
        ] {
            assert_eq!(text.parse::<Target>(), Err(error), "{text}");
        }
    }

    #[test]
    fn a_target_without_a_port_means_the_standard_one_only() {
        let target: Target = "h".parse().unwrap();
        assert!(target.covers("h", 443, 443) && !target.covers("h", 8443, 443) && !target.covers("g", 443, 443));
        let target: Target = "h:8443".parse().unwrap();
        assert!(target.covers("h", 8443, 443) && !target.covers("h", 443, 443));
    }

    #[test]
    fn private_addresses_need_a_private_target_and_a_metadata_service_its_own_name() {
        let (open, private): (Target, Target) = ("h".parse().unwrap(), "h+private".parse().unwrap());
        let loopback = "127.0.0.1".parse().unwrap();
        assert!(!open.allows(loopback, false) && private.allows(loopback, false));
        assert!(private.allows(loopback, true) && !private.allows("1.1.1.1".parse().unwrap(), true));
        let metadata = "169.254.169.254".parse().unwrap();
        assert!(!open.allows(metadata, false) && !private.allows(metadata, false));
        assert!("169.254.169.254+private".parse::<Target>().unwrap().allows(metadata, false));
        assert!(!"0.0.0.0+private".parse::<Target>().unwrap().allows("0.0.0.0".parse().unwrap(), false));
    }

    proptest! {
        #[test]
        fn reading_never_panics_and_what_is_read_reads_back(text in "[a-z0-9.:+\\[\\]*@/ -]{0,24}(\\+private)?(\\+plain)?") {
            if let Ok(target) = text.parse::<Target>() {
                prop_assert_eq!(target.to_string().parse::<Target>(), Ok(target));
            }
        }
    }
}
