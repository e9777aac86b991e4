//! The environment a child gets: what is inherited, what is added, what is taken out.
//!
//! It must never look at the value of a `HERMES_` variable: such a name is either passed on as it is or dropped.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// The variable that carries the host's marker into every child, so that an escaped child can be found by it.
pub const HOST_MARKER: &str = "HERMES_HOST";

/// The variable that carries the process id into every child.
pub const PROCESS_MARKER: &str = "HERMES_PROCESS";

/// Names with this prefix belong to hermes.
const OWN_PREFIX: &[u8] = b"HERMES_";

/// The own variables a child keeps, so that a `hermes` started by a command works on the same home, profile and log level.
const PASSED_ON: [&str; 3] = ["HERMES_HOME", "HERMES_PROFILE", "HERMES_LOG"];

/// Set for a child that has no such variable: Python writes at once into a pipe, so that a killed script loses nothing.
const DEFAULTS: [(&str, &str); 1] = [("PYTHONUNBUFFERED", "1")];

/// What a child's environment is made of.
///
/// It shows nothing of itself: values are secrets as often as not.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// Starts with this process's own environment, without the variables that are hermes' own business.
    ///
    /// Kept of the `HERMES_` names are the home, the profile and the log level. Markers of an outer host are dropped:
    /// the child gets those of the host that starts it.
    pub fn inherit() -> Self {
        Self::from_pairs(std::env::vars_os())
    }

    /// Starts with nothing, not even `PATH`.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Starts with the given variables, filtered as [`Environment::inherit`] does.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut variables: BTreeMap<_, _> = pairs.into_iter().filter(|(name, _)| passes(name)).collect();
        for (name, value) in DEFAULTS {
            variables.entry(name.into()).or_insert_with(|| value.into());
        }
        Self { variables }
    }

    /// Adds or replaces a variable.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> &mut Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Takes a variable out.
    pub fn unset(&mut self, name: impl AsRef<OsStr>) -> &mut Self {
        self.variables.remove(name.as_ref());
        self
    }

    /// The value of a variable as the child will see it.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// All variables as the child will see them, markers apart, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The first name that no environment can hold: empty, or with `=` or a zero byte in it or in its value.
    pub(crate) fn impossible_name(&self) -> Option<&OsStr> {
        let impossible = |name: &OsStr, value: &OsStr| {
            let name = name.as_bytes();
            name.is_empty() || name.contains(&b'=') || name.contains(&0) || value.as_bytes().contains(&0)
        };
        self.iter().find(|(name, value)| impossible(name, value)).map(|(name, _)| name)
    }
}

fn passes(name: &OsStr) -> bool {
    !name.as_bytes().starts_with(OWN_PREFIX) || PASSED_ON.iter().any(|kept| name == *kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(names: &[&str]) -> Environment {
        Environment::from_pairs(names.iter().map(|name| (OsString::from(name), OsString::from("v"))))
    }

    #[test]
    fn own_variables_are_dropped_but_home_profile_and_log_level() {
        let environment =
            from(&["PATH", "HERMES_HOME", "HERMES_PROFILE", "HERMES_LOG", "HERMES_HOST", "HERMES_PROCESS", "HERMES_X"]);
        let names: Vec<_> = environment.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(names, ["HERMES_HOME", "HERMES_LOG", "HERMES_PROFILE", "PATH", "PYTHONUNBUFFERED"]);
    }

    #[test]
    fn a_default_never_replaces_what_the_user_set() {
        let environment = Environment::from_pairs([("PYTHONUNBUFFERED".into(), "".into())]);
        assert_eq!(environment.get("PYTHONUNBUFFERED"), Some(OsStr::new("")));
    }

    #[test]
    fn what_no_environment_can_hold_is_named() {
        for name in ["", "A=B", "A\0"] {
            assert!(from(&["GOOD", name]).impossible_name().is_some(), "{name:?}");
        }
        let mut environment = from(&["GOOD"]);
        assert!(environment.impossible_name().is_none());
        environment.set("VALUE", "with\0zero");
        assert_eq!(environment.impossible_name(), Some(OsStr::new("VALUE")));
    }
}
