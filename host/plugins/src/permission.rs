//! What a notifier may ask for, what an operator grants, and what the two come to together.
//!
//! A manifest asks for `storage`, for `http:HOST[:PORT]`, or for `http`: hosts that the operator names. A grant always
//! names one host, and only a grant can say `+private` or `+plain`: a plugin cannot ask for the operator's own network.
//! Nothing is ever in force that was not both asked for and granted.

use std::fmt;
use std::str::FromStr;

use hermes_outbound::request::Reach;
use hermes_outbound::target::{BadTarget, Target};

/// Something a manifest asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// Requests to this host.
    Http(Target),
    /// Requests to hosts that the operator names.
    HttpNamed,
    /// Values kept between calls.
    Storage,
}

/// Why a text is no permission.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPermission {
    /// It is none of the known ones.
    #[error("permission '{0}' is not known: write 'storage', 'http:HOST' or 'http:HOST:PORT'")]
    Unknown(String),
    /// Its host is none.
    #[error("permission '{0}': {1}")]
    Host(String, BadTarget),
    /// A plugin asks for a private network.
    #[error("permission '{0}': a plugin asks for a host; only an operator grants '+private' and '+plain'")]
    Private(String),
    /// A grant without a host.
    #[error("'http' names no host: grant 'http:HOST' or 'http:HOST:PORT'")]
    NoHost,
}

/// Something an operator granted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grant {
    /// Requests to this host.
    Http(Target),
    /// Values kept between calls.
    Storage,
}

impl FromStr for Permission {
    type Err = BadPermission;

    fn from_str(text: &str) -> Result<Self, BadPermission> {
        if text == "http" {
            return Ok(Self::HttpNamed);
        }
        match text.parse()? {
            Grant::Http(target) if target.is_private() => Err(BadPermission::Private(text.to_owned())),
            Grant::Http(target) => Ok(Self::Http(target)),
            Grant::Storage => Ok(Self::Storage),
        }
    }
}

impl FromStr for Grant {
    type Err = BadPermission;

    fn from_str(text: &str) -> Result<Self, BadPermission> {
        match text.split_once(':') {
            None if text == "storage" => Ok(Self::Storage),
            None if text == "http" => Err(BadPermission::NoHost),
            Some(("http", target)) => match target.parse() {
                Ok(target) => Ok(Self::Http(target)),
                Err(bad) => Err(BadPermission::Host(text.to_owned(), bad)),
            },
            _ => Err(BadPermission::Unknown(text.to_owned())),
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(target) => write!(f, "http:{target}"),
            Self::HttpNamed => f.write_str("http"),
            Self::Storage => f.write_str("storage"),
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(target) => write!(f, "http:{target}"),
            Self::Storage => f.write_str("storage"),
        }
    }
}

impl Permission {
    /// Whether this is what a grant is for.
    pub fn is_met_by(&self, grant: &Grant) -> bool {
        match (self, grant) {
            (Self::Storage, Grant::Storage) | (Self::HttpNamed, Grant::Http(_)) => true,
            (Self::Http(asked), Grant::Http(granted)) => asked.same_place(granted),
            _ => false,
        }
    }

    /// What would have to be granted, as it is written after `hermes plugins grant NAME`.
    pub fn to_grant(&self) -> String {
        match self {
            Self::HttpNamed => "http:HOST".to_owned(),
            other => other.to_string(),
        }
    }
}

/// Of what was granted, what is asked for: the rest belongs to an earlier version, or to no version. What cannot be read
/// grants nothing.
pub fn in_force(asked: &[Permission], granted: &[String]) -> Vec<Grant> {
    let granted = granted.iter().filter_map(|text| text.parse().ok());
    granted.filter(|grant| asked.iter().any(|permission| permission.is_met_by(grant))).collect()
}

/// What is asked for and not granted.
pub fn missing<'a>(asked: &'a [Permission], granted: &[String]) -> Vec<&'a Permission> {
    let granted = in_force(asked, granted);
    asked.iter().filter(|permission| !granted.iter().any(|grant| permission.is_met_by(grant))).collect()
}

/// The hosts that grants let a plugin reach.
pub(crate) fn reach(grants: &[Grant]) -> Reach {
    Reach::of(grants.iter().filter_map(|grant| match grant {
        Grant::Http(target) => Some(target.clone()),
        Grant::Storage => None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(texts: &[&str]) -> Vec<Permission> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn granted(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn permissions_are_a_closed_list() {
        for good in ["http:hooks.example.com", "http:hooks.example.com:8443", "http:[::1]", "http", "storage"] {
            assert_eq!(good.parse::<Permission>().unwrap().to_string(), good);
        }
        for bad in ["http:", "http:*", "files", "http:a/b", "http:u@h", "http:h+private", "storage:x", ""] {
            assert!(bad.parse::<Permission>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_grant_names_one_host_and_may_be_for_a_private_network() {
        for good in ["http:h", "http:h:1+private", "http:h+private+plain", "storage"] {
            assert_eq!(good.parse::<Grant>().unwrap().to_string(), good);
        }
        assert_eq!("http".parse::<Grant>(), Err(BadPermission::NoHost));
        assert!("http:h+plain".parse::<Grant>().is_err());
    }

    #[test]
    fn only_what_is_asked_for_and_granted_is_in_force() {
        let all = granted(&["http:a", "http:b:1+private", "storage", "nonsense"]);
        let in_force =
            |texts: &[&str]| in_force(&asked(texts), &all).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(in_force(&[]), [""; 0]);
        assert_eq!(in_force(&["storage"]), ["storage"]);
        assert_eq!(in_force(&["http:a:1"]), [""; 0], "another port is another place");
        assert_eq!(in_force(&["http:b:1"]), ["http:b:1+private"]);
        assert_eq!(in_force(&["http"]), ["http:a", "http:b:1+private"]);
    }

    #[test]
    fn what_is_asked_for_and_not_granted_is_missing() {
        let asked = asked(&["http", "http:a", "storage"]);
        let missing = |granted_texts: &[&str]| {
            let granted = granted(granted_texts);
            missing(&asked, &granted).into_iter().map(Permission::to_grant).collect::<Vec<_>>()
        };
        assert_eq!(missing(&[]), ["http:HOST", "http:a", "storage"]);
        assert_eq!(missing(&["http:b", "storage"]), ["http:a"]);
        assert_eq!(missing(&["http:a", "storage"]), [""; 0]);
    }
}
