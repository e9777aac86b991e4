//! Files written and read with care: whole or not at all, private, and never something other than a file.
//!
//! Nothing here overwrites in place: after any failure, a full disk included, the old file is as it was. No message
//! quotes what is in a file.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;

/// Only the owner reads and writes.
const PRIVATE_FILE: u32 = 0o600;
/// Only the owner looks in.
const PRIVATE_FOLDER: u32 = 0o700;
/// How long [`lock`] waits: far longer than any change holds a lock, short enough that a person still watches.
pub const LOCK_WAIT: Duration = Duration::from_secs(10);
/// How often a lock is asked for. `flock` has no time-out of its own, and a signal would disturb the whole process.
const LOCK_POLL: Duration = Duration::from_millis(10);

/// Why a folder was not created.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// Something else is in its place.
    #[error("cannot create folder '{path}': a file is in its place; move it away")]
    NotAFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot create folder '{path}': check the permissions and the free space of the folder above it")]
    Refused {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Creates a folder and every missing one above it, each 0700. Folders that exist are left as they are.
///
/// # Errors
/// A file is in its place, or the system refuses.
pub fn create_private_dir(path: &Path) -> Result<(), CreateError> {
    match DirBuilder::new().recursive(true).mode(PRIVATE_FOLDER).create(path) {
        Ok(()) => Ok(()),
        Err(error) if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory) => {
            Err(CreateError::NotAFolder { path: path.to_owned() })
        }
        Err(source) => Err(CreateError::Refused { path: path.to_owned(), source }),
    }
}

/// Why a file was not written. The old file, if there was one, is as it was.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The path ends in no file name.
    #[error("cannot write '{path}': it names no file")]
    NoName {
        /// The path.
        path: PathBuf,
    },
    /// A folder is in its place.
    #[error("cannot write '{path}': a folder is in its place; move it away")]
    Folder {
        /// The file.
        path: PathBuf,
    },
    /// No space, or no quota.
    #[error("cannot write '{path}': the disk is full; free some space and try again (nothing was changed)")]
    Full {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The system refused.
    #[error("cannot write '{path}': check the permissions of its folder (nothing was changed)")]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl WriteError {
    fn of(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Self::Full { path, source }
            }
            io::ErrorKind::IsADirectory => Self::Folder { path },
            _ => Self::Refused { path, source },
        }
    }
}

/// Writes a file (0600) so that readers see the old one or the new one, and a crash leaves one of them: a temporary
/// file beside it, flushed to the disk, takes its place. A symbolic link at `path` is replaced, not followed.
///
/// # Errors
/// The folder does not exist or refuses, or the disk is full. The old file is as it was.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let refused = |source| WriteError::of(path, source);
    let name = path.file_name().ok_or_else(|| WriteError::NoName { path: path.to_owned() })?;
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    // tempfile creates with 0600 and removes the file on every way out but the last one.
    let mut temporary = tempfile::Builder::new().prefix(&prefix).suffix(".tmp").tempfile_in(folder).map_err(refused)?;
    temporary.write_all(bytes).map_err(refused)?;
    temporary.as_file().sync_all().map_err(refused)?;
    temporary.persist(path).map_err(|error| refused(error.error))?;
    // Without this a crash could bring the old name back.
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(refused)
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is none.
    #[error("there is no file '{path}': check the path")]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// Something else is in its place.
    #[error("'{path}' is {what}, not a file: name a file, or move it away")]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What is there, with its article.
        what: &'static str,
    },
    /// More than the reader takes.
    #[error("'{path}' has {size} bytes, more than the {max} allowed: check that it is the right file")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size in bytes, as far as known.
        size: u64,
        /// The limit in bytes.
        max: u64,
    },
    /// A link leads out of the folder it must stay in.
    #[error("'{path}' leads out of its folder to somewhere else: put the file itself there")]
    Outside {
        /// The file as it was named.
        path: PathBuf,
    },
    /// Somebody wrote to it meanwhile.
    #[error("'{path}' was changed while it was read: try again when nothing writes to it")]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// No permission.
    #[error("no permission to read '{path}': check its owner and mode, and those of the folders above it")]
    Denied {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The system refused.
    #[error("cannot read '{path}'")]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl ReadError {
    fn of(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing { path },
            io::ErrorKind::PermissionDenied => Self::Denied { path, source },
            _ => Self::Refused { path, source },
        }
    }

    /// The same about the file as it was named, where it was opened under another name.
    fn named(self, as_given: &Path) -> Self {
        let path = as_given.to_owned();
        match self {
            Self::Missing { .. } => Self::Missing { path },
            Self::NotAFile { what, .. } => Self::NotAFile { path, what },
            Self::TooLarge { size, max, .. } => Self::TooLarge { path, size, max },
            Self::Outside { .. } => Self::Outside { path },
            Self::Changed { .. } => Self::Changed { path },
            Self::Denied { source, .. } => Self::Denied { path, source },
            Self::Refused { source, .. } => Self::Refused { path, source },
        }
    }

    /// Whether there is simply no such file.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }
}

/// Reads a whole regular file of at most `max` bytes. Symbolic links are followed. A pipe or a device in its place is an
/// error at once, and a file that is too large is not read.
///
/// # Errors
/// It is missing, not a file, too large, or refused.
pub fn read_bounded(path: &Path, max: u64) -> Result<Vec<u8>, ReadError> {
    let mut file = open_regular(path)?;
    let metadata = file.metadata().map_err(|source| ReadError::of(path, source))?;
    read_open(path, &mut file, &metadata, max)
}

/// As [`read_bounded`], and refuses a path that leads out of `folder` by a symbolic link, and a file that somebody writes
/// to meanwhile: for files that come from a stranger.
///
/// # Errors
/// As for [`read_bounded`]; or it leads out of the folder, or was changed while it was read.
pub fn read_beneath(folder: &Path, path: &Path, max: u64) -> Result<Vec<u8>, ReadError> {
    let refused = |source| ReadError::of(path, source);
    let outside = || ReadError::Outside { path: path.to_owned() };
    let within = folder.canonicalize().map_err(refused)?;
    let target = path.canonicalize().map_err(refused)?;
    if !target.starts_with(&within) {
        return Err(outside());
    }
    let mut file = open_regular(&target).map_err(|error| error.named(path))?;
    // What was opened, and not what the name led to a moment ago. Without /proc the look above has to do.
    let opened = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
    if opened.is_ok_and(|opened| !opened.starts_with(&within)) {
        return Err(outside());
    }
    read_unchanged(path, &mut file, max)
}

/// As [`read_bounded`], and refuses a file that somebody writes to meanwhile.
///
/// # Errors
/// As for [`read_bounded`]; or it was changed while it was read.
pub fn read_still(path: &Path, max: u64) -> Result<Vec<u8>, ReadError> {
    read_unchanged(path, &mut open_regular(path)?, max)
}

fn read_unchanged(path: &Path, file: &mut File, max: u64) -> Result<Vec<u8>, ReadError> {
    let refused = |source| ReadError::of(path, source);
    let before = file.metadata().map_err(refused)?;
    let bytes = read_open(path, file, &before, max)?;
    let after = file.metadata().map_err(refused)?;
    let moved = |metadata: &fs::Metadata| (metadata.len(), metadata.mtime(), metadata.mtime_nsec(), metadata.ino());
    if moved(&before) != moved(&after) || bytes.len() as u64 != after.len() {
        return Err(ReadError::Changed { path: path.to_owned() });
    }
    Ok(bytes)
}

/// Opens a regular file for reading. It is looked at before it is opened, since opening a device can have effects; and
/// after, since it may have changed.
fn open_regular(path: &Path) -> Result<File, ReadError> {
    let refused = |source| ReadError::of(path, source);
    check_regular(path, &fs::metadata(path).map_err(refused)?)?;
    // O_NONBLOCK: opening a FIFO for reading would wait for a writer.
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path).map_err(refused)?;
    check_regular(path, &file.metadata().map_err(refused)?)?;
    Ok(file)
}

fn read_open(path: &Path, file: &mut File, metadata: &fs::Metadata, max: u64) -> Result<Vec<u8>, ReadError> {
    let too_large = |size| ReadError::TooLarge { path: path.to_owned(), size, max };
    if metadata.len() > max {
        return Err(too_large(metadata.len()));
    }
    // The size is a hint: the file may grow while it is read, and files of /proc say 0.
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    file.take(max.saturating_add(1)).read_to_end(&mut bytes).map_err(|source| ReadError::of(path, source))?;
    if bytes.len() as u64 > max {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

fn check_regular(path: &Path, metadata: &fs::Metadata) -> Result<(), ReadError> {
    let kind = metadata.file_type();
    let what = match kind {
        _ if kind.is_file() => return Ok(()),
        _ if kind.is_dir() => "a folder",
        _ if kind.is_fifo() => "a pipe",
        _ if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Err(ReadError::NotAFile { path: path.to_owned(), what })
}

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("'{path}' is locked by another hermes that is making a change: wait for it to end and try again")]
    Busy {
        /// The lock file.
        path: PathBuf,
    },
    /// The lock file cannot be opened.
    #[error("cannot open lock file '{path}': check the permissions of its folder")]
    Refused {
        /// The lock file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// An exclusive lock between processes. It ends when this value is dropped, or with the process, however that ends.
#[derive(Debug)]
#[must_use = "the lock ends when this is dropped"]
pub struct FileLock {
    /// Closing it releases the lock. The file itself stays: removing it would let two processes hold "the" lock.
    _file: File,
}

/// Takes the lock at `path`, creating the file (0600) where it is missing and waiting up to [`LOCK_WAIT`].
///
/// # Errors
/// Another holder does not let go in time, or the file cannot be opened.
pub fn lock(path: &Path) -> Result<FileLock, LockError> {
    lock_within(path, LOCK_WAIT)
}

/// As [`lock`], waiting up to `wait`.
///
/// # Errors
/// Another holder does not let go in time, or the file cannot be opened.
pub fn lock_within(path: &Path, wait: Duration) -> Result<FileLock, LockError> {
    let refused = |source| LockError::Refused { path: path.to_owned(), source };
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(PRIVATE_FILE)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path)
        .map_err(refused)?;
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(FileLock { _file: file }),
            Err(TryLockError::WouldBlock) if started.elapsed() >= wait => {
                return Err(LockError::Busy { path: path.to_owned() });
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_POLL),
            Err(TryLockError::Error(source)) => return Err(refused(source)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_written_file_is_private_and_nothing_is_left_beside_it() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        write_atomically(&path, b"one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        write_atomically(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(mode(&path), 0o600);
        assert_eq!(names(temp.path()), ["file"]);
    }

    #[test]
    fn a_failed_write_leaves_the_old_state_and_no_temporary_file() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("folder");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("inside"), "x").unwrap();
        let error = write_atomically(&folder, b"new").unwrap_err();
        assert!(matches!(error, WriteError::Folder { .. }), "{error:?}");
        assert_eq!(names(temp.path()), ["folder"]);
        assert!(matches!(write_atomically(&temp.path().join("missing/file"), b"x"), Err(WriteError::Refused { .. })));
    }

    #[test]
    fn a_full_disk_is_said_to_be_one() {
        let source = io::Error::from_raw_os_error(nix::errno::Errno::ENOSPC as i32);
        let error = WriteError::of(Path::new("/f"), source);
        assert!(error.to_string().contains("the disk is full"), "{error}");
    }

    #[test]
    fn private_folders_are_created_with_those_above_them() {
        let temp = tempfile::tempdir().unwrap();
        let deep = temp.path().join("a/b/c");
        create_private_dir(&deep).unwrap();
        for folder in ["a", "a/b", "a/b/c"] {
            assert_eq!(mode(&temp.path().join(folder)), 0o700, "{folder}");
        }
        fs::write(temp.path().join("file"), "").unwrap();
        for path in ["file", "file/below"] {
            let error = create_private_dir(&temp.path().join(path)).unwrap_err();
            assert!(matches!(error, CreateError::NotAFolder { .. }), "{path}: {error:?}");
        }
    }

    #[test]
    fn a_file_of_the_largest_size_is_read_and_one_byte_more_is_not() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        fs::write(&path, b"12345").unwrap();
        assert_eq!(read_bounded(&path, 5).unwrap(), b"12345");
        let error = read_bounded(&path, 4).unwrap_err().to_string();
        assert!(error.contains("5 bytes") && error.contains("the 4 allowed"), "{error}");
    }

    #[test]
    fn a_huge_sparse_file_is_refused_without_reading_it() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("huge");
        let size = 2 * 1024 * 1024 * 1024;
        File::create(&path).unwrap().set_len(size).unwrap();
        assert!(matches!(read_bounded(&path, 1024), Err(ReadError::TooLarge { size: s, .. }) if s == size));
    }

    #[test]
    fn a_link_may_lead_within_its_folder_and_not_out_of_it() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("folder");
        fs::create_dir_all(folder.join("deep")).unwrap();
        fs::write(folder.join("deep/file"), "inside").unwrap();
        fs::write(temp.path().join("secret"), "outside").unwrap();
        std::os::unix::fs::symlink("deep/file", folder.join("within")).unwrap();
        std::os::unix::fs::symlink("../secret", folder.join("out")).unwrap();
        std::os::unix::fs::symlink("..", folder.join("up")).unwrap();
        assert_eq!(read_beneath(&folder, &folder.join("within"), 100).unwrap(), b"inside");
        for name in ["out", "up/secret", "deep/../../secret"] {
            let error = read_beneath(&folder, &folder.join(name), 100).unwrap_err();
            assert!(matches!(&error, ReadError::Outside { path } if path.ends_with(name)), "{name}: {error}");
        }
        assert!(read_beneath(&folder, &folder.join("none"), 100).unwrap_err().is_missing());
        std::os::unix::fs::symlink(&folder, temp.path().join("linked")).unwrap();
        let linked = temp.path().join("linked");
        assert_eq!(read_beneath(&linked, &linked.join("within"), 100).unwrap(), b"inside");
    }

    #[test]
    fn a_file_whose_size_is_not_what_it_holds_is_changing() {
        // A file of /proc says 0 and holds something, as one does that grows between two looks.
        let error = read_still(Path::new("/proc/self/status"), 1024 * 1024).unwrap_err();
        assert!(matches!(error, ReadError::Changed { .. }), "{error}");
    }

    #[test]
    fn a_file_that_hides_its_size_is_still_bounded() {
        assert!(matches!(read_bounded(Path::new("/proc/self/maps"), 10), Err(ReadError::TooLarge { .. })));
    }

    #[test]
    fn anything_but_a_file_is_named_for_what_it_is_and_never_waited_for() {
        let temp = tempfile::tempdir().unwrap();
        let fifo = temp.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let socket = temp.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let cases =
            [(temp.path(), "a folder"), (&fifo, "a pipe"), (&socket, "a socket"), (Path::new("/dev/null"), "a device")];
        for (path, expected) in cases {
            let error = read_bounded(path, 10).unwrap_err();
            assert!(matches!(error, ReadError::NotAFile { what, .. } if what == expected), "{error}");
        }
        assert!(read_bounded(&temp.path().join("none"), 10).unwrap_err().is_missing());
    }

    #[test]
    fn a_lock_is_exclusive_until_it_is_dropped() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        let held = lock(&path).unwrap();
        assert_eq!(mode(&path), 0o600);
        assert!(matches!(lock_within(&path, Duration::ZERO), Err(LockError::Busy { .. })));
        drop(held);
        let _again = lock_within(&path, Duration::ZERO).unwrap();
    }

    #[test]
    fn a_waiter_gets_the_lock_when_the_holder_lets_go() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        let held = lock(&path).unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| lock(&path).map(drop));
            drop(held);
            waiter.join().unwrap().unwrap();
        });
    }
}
