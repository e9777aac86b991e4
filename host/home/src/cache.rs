//! Where things live that can be made again, outside the home. Nothing here is ever needed, and nothing is created.

use std::path::PathBuf;

use crate::variables::{self, Lookup};

/// The cache folder: `$XDG_CACHE_HOME/hermes`, or `.cache/hermes` in the user's home folder.
///
/// Where neither is known it is a folder of the user's own in the system's temporary folder. Whoever uses it checks
/// owner and permissions before believing what is in it.
pub fn dir() -> PathBuf {
    dir_from(&variables::process_environment)
}

fn dir_from(lookup: Lookup<'_>) -> PathBuf {
    // The XDG specification has relative paths ignored.
    let xdg = variables::value(lookup, "XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    match xdg.or_else(|| variables::user_home(lookup).filter(|home| home.is_absolute()).map(|home| home.join(".cache")))
    {
        Some(caches) => caches.join("hermes"),
        None => std::env::temp_dir().join(format!("hermes-cache-{}", nix::unistd::geteuid())),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use super::*;

    fn of(pairs: &[(&str, &str)]) -> PathBuf {
        let pairs: Vec<(String, OsString)> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).into())).collect();
        dir_from(&|name| pairs.iter().find(|(k, _)| k == name).map(|(_, v)| v.clone()))
    }

    #[test]
    fn the_cache_is_where_xdg_says_or_in_the_users_home() {
        assert_eq!(of(&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")]), Path::new("/c/hermes"));
        assert_eq!(of(&[("HOME", "/h")]), Path::new("/h/.cache/hermes"));
        assert_eq!(of(&[("XDG_CACHE_HOME", ""), ("HOME", "/h")]), Path::new("/h/.cache/hermes"));
    }

    #[test]
    fn a_relative_cache_folder_is_ignored() {
        assert_eq!(of(&[("XDG_CACHE_HOME", "c"), ("HOME", "/h")]), Path::new("/h/.cache/hermes"));
    }
}
