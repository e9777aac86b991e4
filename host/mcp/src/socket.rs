//! Where the socket of a host is, how it is bound, how it is reached, and who is at the other end.
//!
//! It must never take the place of a host that lives, and never let in or trust another user.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use tokio::net::UnixStream;

/// The name of the socket in a home.
const NAME: &str = "host.sock";
/// The longest path that is bound as it is: `sun_path` in `unix(7)`, 108 bytes with the zero at the end.
const PATH_MAX: usize = 107;
/// Only its owner may connect.
const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);
/// How many connections wait until they are accepted: what `listen(2)` allows everywhere.
const BACKLOG: i32 = 128;
/// How long a host may take to accept a connection when many come at once.
const CONNECT_WAIT: Duration = Duration::from_secs(5);
/// How soon connecting is tried again while many come at once.
const CONNECT_PAUSE: Duration = Duration::from_millis(10);

/// Where a host listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketPath {
    folder: PathBuf,
    name: OsString,
}

impl SocketPath {
    /// The socket of a home: `host.sock` in its root. The path may be of any length.
    pub fn in_home(root: &Path) -> Self {
        Self { folder: root.to_owned(), name: NAME.into() }
    }

    /// A socket anywhere. None: the path has no name, as `/`.
    pub fn at(path: &Path) -> Option<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(Self { folder: folder.to_owned(), name: path.file_name()?.to_owned() })
    }

    /// The path, for people.
    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    fn open_folder(&self) -> io::Result<OwnedFd> {
        Ok(rustix::fs::open(&self.folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
    }

    /// A path to the socket that a socket address can hold: through the open folder where the real one is too long.
    fn reachable(&self, folder: &OwnedFd) -> PathBuf {
        let path = self.path();
        if path.as_os_str().as_bytes().len() <= PATH_MAX {
            return path;
        }
        PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(&self.name)
    }
}

/// A socket somebody listens at. Its file goes with it.
#[derive(Debug)]
pub struct Bound {
    listener: UnixListener,
    folder: OwnedFd,
    name: OsString,
    mark: (u64, u64),
}

/// Why nobody listens at a socket.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// A host runs.
    #[error("a host runs already and listens at '{path}': end that one first, or name another home")]
    Live {
        /// The socket.
        path: PathBuf,
    },
    /// Something is there that is no socket.
    #[error("'{path}' is no socket: move it away, and a host can listen there")]
    Occupied {
        /// What is there.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot listen at '{path}': {doing} failed; check that its folder exists and can be written")]
    System {
        /// The socket.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Binds the socket. What a host that is gone left there is replaced; the caller holds the lock of the home's host, so
/// that no two look at it at the same time.
///
/// # Errors
/// [`BindError`].
pub fn bind(at: &SocketPath) -> Result<Bound, BindError> {
    let system = |doing| move |source: Errno| BindError::System { path: at.path(), doing, source: source.into() };
    let folder = at.open_folder().map_err(|source| BindError::System {
        path: at.path(),
        doing: "opening its folder",
        source,
    })?;
    let address = |at: &SocketPath| {
        SocketAddrUnix::new(at.reachable(&folder).as_os_str().as_bytes()).map_err(system("making an address"))
    };
    match rustix::fs::statat(&folder, &at.name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::Socket => {
            return Err(BindError::Occupied { path: at.path() });
        }
        Ok(_) if is_live(&address(at)?).map_err(system("asking who listens"))? => {
            return Err(BindError::Live { path: at.path() });
        }
        Ok(_) | Err(Errno::NOENT) => {}
        Err(error) => return Err(system("looking at what is there")(error)),
    }
    // Under a name of its own until it listens: whoever finds a socket nobody listens at may take it for one that was left.
    let mut name = OsString::from(format!(".{}.", std::process::id()));
    name.push(&at.name);
    let fresh = SocketPath { folder: at.folder.clone(), name };
    let remove = |name: &OsString| rustix::fs::unlinkat(&folder, name, AtFlags::empty());
    match remove(&fresh.name) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(system("removing an old socket")(error)),
    }
    let socket = socket().map_err(system("making a socket"))?;
    // The file gets the mode of the socket less the umask. Before `listen` nobody can connect, so the mode is right in
    // time whatever the umask took away.
    rustix::fs::fchmod(&socket, PRIVATE).map_err(system("making it private"))?;
    rustix::net::bind(&socket, &address(&fresh)?).map_err(system("binding"))?;
    let listened = rustix::fs::chmodat(&folder, &fresh.name, PRIVATE, AtFlags::empty())
        .and_then(|()| rustix::net::listen(&socket, BACKLOG))
        .and_then(|()| rustix::fs::renameat(&folder, &fresh.name, &folder, &at.name));
    if let Err(error) = listened {
        // What went wrong before is to be said, not this.
        let _ = remove(&fresh.name);
        return Err(system("listening")(error));
    }
    let stat = rustix::fs::statat(&folder, &at.name, AtFlags::SYMLINK_NOFOLLOW).map_err(system("looking at it"))?;
    Ok(Bound { listener: UnixListener::from(socket), folder, name: at.name.clone(), mark: mark(&stat) })
}

fn mark(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

fn socket() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

/// Whether somebody listens: only a refusal says that nobody does.
fn is_live(address: &SocketAddrUnix) -> Result<bool, Errno> {
    match rustix::net::connect(&socket()?, address) {
        Ok(()) | Err(Errno::AGAIN) => Ok(true),
        Err(Errno::CONNREFUSED | Errno::NOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether somebody listens, as far as the system says: only a refusal says that nobody does.
pub fn has_listener(at: &SocketPath) -> bool {
    let Ok(folder) = at.open_folder() else { return false };
    let address = SocketAddrUnix::new(at.reachable(&folder).as_os_str().as_bytes());
    address.and_then(|address| is_live(&address)).unwrap_or(true)
}

impl Bound {
    pub(crate) fn listener(&self) -> io::Result<tokio::net::UnixListener> {
        tokio::net::UnixListener::from_std(self.listener.try_clone()?)
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        // Only its own: another host may have taken the place of a file that somebody removed.
        let ours = rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| mark(&stat) == self.mark);
        if ours {
            let _ = rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty());
        }
    }
}

/// Connects to a host. None: nobody listens, or never did.
///
/// # Errors
/// The system refused, or the host did not accept the connection within [`CONNECT_WAIT`].
pub(crate) async fn connect(at: &SocketPath) -> io::Result<Option<UnixStream>> {
    let folder = match at.open_folder() {
        Ok(folder) => folder,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let path = at.reachable(&folder);
    let deadline = tokio::time::Instant::now() + CONNECT_WAIT;
    loop {
        match UnixStream::connect(&path).await {
            Ok(stream) => return Ok(Some(stream)),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => return Ok(None),
                io::ErrorKind::WouldBlock if tokio::time::Instant::now() < deadline => {
                    tokio::time::sleep(CONNECT_PAUSE).await;
                }
                _ => return Err(error),
            },
        }
    }
}

/// The user who opened the other end.
///
/// # Errors
/// The kernel does not say.
pub(crate) fn peer(stream: &UnixStream) -> io::Result<u32> {
    // Not rustix: it has no answer for a peer in another PID namespace, whose number is 0 here.
    Ok(stream.peer_cred()?.uid())
}

/// The user this program acts as.
pub(crate) fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn long_folder(root: &Path) -> PathBuf {
        let folder = root.join("x".repeat(120)).join("y".repeat(120));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[tokio::test]
    async fn a_socket_is_bound_and_reached_whatever_the_length_of_its_path() {
        let root = tempfile::tempdir().unwrap();
        for folder in [root.path().to_owned(), long_folder(root.path())] {
            let at = SocketPath::in_home(&folder);
            let bound = bind(&at).unwrap();
            let stream = connect(&at).await.unwrap().unwrap();
            assert_eq!(peer(&stream).unwrap(), own_user());
            assert_eq!(fs::metadata(at.path()).unwrap().permissions().mode() & 0o777, 0o600);
            drop(bound);
            assert!(!at.path().exists(), "the file goes with the host");
        }
    }

    #[tokio::test]
    async fn without_a_host_there_is_nobody_to_reach() {
        let root = tempfile::tempdir().unwrap();
        assert!(connect(&SocketPath::in_home(root.path())).await.unwrap().is_none());
        assert!(connect(&SocketPath::in_home(&root.path().join("missing"))).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn what_a_host_that_is_gone_left_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        let at = SocketPath::in_home(root.path());
        drop(UnixListener::bind(at.path()).unwrap());
        assert!(at.path().exists() && connect(&at).await.unwrap().is_none() && !has_listener(&at));
        let _bound = bind(&at).unwrap();
        assert!(has_listener(&at));
        assert!(connect(&at).await.unwrap().is_some());
    }

    #[test]
    fn a_host_that_lives_keeps_its_socket() {
        let root = tempfile::tempdir().unwrap();
        let at = SocketPath::in_home(root.path());
        let _bound = bind(&at).unwrap();
        let error = bind(&at).unwrap_err();
        assert!(matches!(error, BindError::Live { .. }) && at.path().exists(), "{error}");
    }

    #[test]
    fn what_is_no_socket_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let at = SocketPath::in_home(root.path());
        fs::write(at.path(), "notes").unwrap();
        assert!(matches!(bind(&at).unwrap_err(), BindError::Occupied { .. }));
        assert_eq!(fs::read(at.path()).unwrap(), b"notes");
    }

    #[test]
    fn a_host_that_ends_leaves_the_socket_of_its_successor() {
        let root = tempfile::tempdir().unwrap();
        let at = SocketPath::in_home(root.path());
        let first = bind(&at).unwrap();
        fs::remove_file(at.path()).unwrap();
        let _second = bind(&at).unwrap();
        drop(first);
        assert!(at.path().exists());
    }
}
