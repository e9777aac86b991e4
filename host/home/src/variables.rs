//! Every environment variable this project reads, with what it is for. Nothing else may read one.
//!
//! Functions take the lookup as an argument, so that tests never touch the environment of their process.

use std::ffi::OsString;
use std::path::PathBuf;

/// A variable and what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one sentence for the reference.
    pub doc: &'static str,
}

/// The home.
pub const HERMES_HOME: Variable = Variable {
    name: "HERMES_HOME",
    doc: "The home folder, where --home is not given. The default is .hermes in the user's home folder.",
};

/// The profile.
pub const HERMES_PROFILE: Variable = Variable {
    name: "HERMES_PROFILE",
    doc: "The profile, where --profile is not given: a home of its own in the folder profiles of the home.",
};

/// What is logged.
pub const HERMES_LOG: Variable = Variable {
    name: "HERMES_LOG",
    doc: "What is logged to stderr, as a filter such as 'info' or 'hermes_plugins=debug'. The default is 'warn'.",
};

/// Variables of ours, in the order of the reference.
pub const ALL: [Variable; 3] = [HERMES_HOME, HERMES_PROFILE, HERMES_LOG];

/// How a variable is looked up: the process environment, or a table in tests.
pub(crate) type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Looks a variable up in the environment of this process.
pub(crate) fn process_environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// A variable's value. One that is set to nothing counts as not set, as shells' `${NAME:-default}` has it.
pub(crate) fn value(lookup: Lookup<'_>, name: &str) -> Option<OsString> {
    lookup(name).filter(|value| !value.is_empty())
}

/// The user's home folder: `HOME`, or the passwd entry of the effective user.
pub(crate) fn user_home(lookup: Lookup<'_>) -> Option<PathBuf> {
    value(lookup, "HOME").map(PathBuf::from).or_else(|| {
        let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten()?;
        Some(user.dir).filter(|dir| dir.is_absolute())
    })
}

/// The log filter of `HERMES_LOG`, if set. Bytes that are not UTF-8 are replaced; the filter's parser will name them.
pub fn log_filter() -> Option<String> {
    log_filter_from(&process_environment)
}

/// The folders the system looks for programs in, if it is told any.
pub fn search_path() -> Option<OsString> {
    value(&process_environment, "PATH")
}

/// The variable that a setting of a plugin names, as in `"${SLACK_URL}"`. None where it is not set, set to nothing, or no
/// UTF-8 text. Its value may be a secret.
pub fn named(name: &str) -> Option<String> {
    value(&process_environment, name)?.into_string().ok()
}

fn log_filter_from(lookup: Lookup<'_>) -> Option<String> {
    value(lookup, HERMES_LOG.name).map(|value| value.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_set_to_nothing_is_not_set() {
        assert_eq!(log_filter_from(&|_| Some(OsString::new())), None);
        assert_eq!(log_filter_from(&|name| (name == "HERMES_LOG").then(|| "debug".into())), Some("debug".to_owned()));
    }

    #[test]
    fn without_home_the_passwd_entry_counts() {
        let entry = nix::unistd::User::from_uid(nix::unistd::geteuid()).unwrap().map(|user| user.dir);
        assert_eq!(user_home(&|_| None), entry);
        assert_eq!(user_home(&|name| (name == "HOME").then(|| "/h".into())), Some(PathBuf::from("/h")));
    }

    #[test]
    fn every_variable_of_ours_has_our_prefix_and_a_sentence() {
        for variable in ALL {
            assert!(variable.name.starts_with("HERMES_"), "{}", variable.name);
            assert!(variable.doc.ends_with('.'), "{}", variable.name);
        }
    }
}
