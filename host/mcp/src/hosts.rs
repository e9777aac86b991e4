//! Where the hosts of agents listen for the command line: a socket each, beside one another in the home.
//!
//! A host that was killed leaves its socket; whoever finds that nobody listens there removes it. It must never remove one
//! of a host that lives.

use std::path::{Path, PathBuf};

use crate::socket::{self, SocketPath};

/// The folder of the sockets in a home.
const FOLDER: &str = "hosts";
/// How the name of a socket ends.
const ENDING: &str = "sock";

/// The folder of the sockets. A host makes it, readable for its user only.
pub fn folder(home: &Path) -> PathBuf {
    home.join(FOLDER)
}

/// Where this program listens for the command line.
pub fn own(home: &Path) -> Option<SocketPath> {
    SocketPath::at(&folder(home).join(format!("{}.{ENDING}", std::process::id())))
}

/// Which host listens there, by the number of its process.
pub fn pid_of(socket: &Path) -> Option<u32> {
    socket.file_stem()?.to_str()?.parse().ok()
}

/// Where hosts of agents listen now. Sockets nobody listens at are removed.
pub fn found(home: &Path) -> Vec<SocketPath> {
    // A home in which no agent ever was has no such folder.
    let Ok(entries) = std::fs::read_dir(folder(home)) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if hidden || path.extension().is_none_or(|ending| ending != ENDING) {
            continue;
        }
        let Some(at) = SocketPath::at(&path) else { continue };
        if socket::has_listener(&at) {
            found.push(at);
        } else if let Err(error) = std::fs::remove_file(&path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "the socket of a host that is gone could not be removed");
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn hosts_that_live_are_found_and_what_others_left_is_removed() {
        let home = tempfile::tempdir().unwrap();
        assert!(found(home.path()).is_empty());
        std::fs::create_dir(folder(home.path())).unwrap();
        let own = own(home.path()).unwrap();
        let bound = socket::bind(&own).unwrap();
        let left = folder(home.path()).join("1.sock");
        drop(std::os::unix::net::UnixListener::bind(&left).unwrap());
        std::fs::write(folder(home.path()).join("notes"), "").unwrap();
        assert_eq!(found(home.path()), std::slice::from_ref(&own));
        assert!(!left.exists() && folder(home.path()).join("notes").exists());
        drop(bound);
        assert!(!own.path().exists());
    }
}
