//! The file: where it is, how it comes to be, and what is set before anything is read or written.
//!
//! It must never open the file other than through SQLite: closing any descriptor of it would end the locks of every
//! other connection in this process, as POSIX has it. And reading must never create anything.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use hermes_home::files;
use hermes_home::home::{Home, LocateArgs};
use rusqlite::{Connection, OpenFlags};
use rusqlite_migration::Error as MigrationError;

use crate::limits::BUSY_WAIT;
use crate::problem::{LedgerError, OpenError};
use crate::schema::{self, Age};

/// The file in the home.
const NAME: &str = "state.db";
/// Held while the file is created or brought forward.
const LOCK_NAME: &str = "state.db.lock";
/// Only the owner reads and writes. SQLite gives its companions, `-wal` and `-shm`, the mode of the file itself.
const PRIVATE: u32 = 0o600;
/// How large the log may stay on the disk once its content is in the file: the size at which SQLite moves it there.
const LOG_BYTES: i64 = 4 * 1024 * 1024;

/// The file of a home.
pub(crate) fn place(home: &Home) -> PathBuf {
    home.root().join(NAME)
}

/// Opens the file for writing; creates it, and the folder it is in, where they are missing.
pub(crate) fn open(home: &Home) -> Result<Connection, OpenError> {
    if let (Some(profile), Some(base)) = (home.profile(), home.root().ancestors().nth(2)) {
        // It may have been deleted since it was located, and creating its folder would bring it back.
        Home::locate(&LocateArgs { home: Some(base.to_owned()), profile: Some(profile.to_owned()) })?;
    }
    home.ensure()?;
    let path = place(home);
    let _lock = files::lock(&home.root().join(LOCK_NAME))?;
    create(&path)?;
    let mut connection = connect(&path, path.as_os_str(), OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let failed = |error: rusqlite::Error| LedgerError::of(&path, &error);
    let found = version(&path, &connection)?;
    if schema::age(found, schema::LATEST) == Age::Newer {
        return Err(OpenError::Newer { path, found, known: schema::LATEST });
    }
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0)).map_err(failed)?;
    if mode != "wal" {
        return Err(OpenError::NoSharing { path });
    }
    // With a log, NORMAL loses no consistency, and at most what a power cut takes back.
    connection.pragma_update(None, "synchronous", "normal").map_err(failed)?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES).map_err(failed)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    schema::MIGRATIONS.to_latest(&mut connection).map_err(|error| match error {
        MigrationError::RusqliteError { err, .. } => LedgerError::of(&path, &err),
        _ => LedgerError::Damaged { path: path.clone() },
    })?;
    Ok(connection)
}

/// Creates the file, empty and private; takes the rights of others away from one that is there.
fn create(path: &Path) -> Result<(), OpenError> {
    match OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let metadata = path.symlink_metadata().map_err(|error| refused(path, &error))?;
            if !metadata.is_file() {
                return Err(OpenError::NotAFile { path: path.to_owned() });
            }
            if metadata.mode() & 0o777 & !PRIVATE != 0 {
                fs::set_permissions(path, Permissions::from_mode(PRIVATE)).map_err(|error| refused(path, &error))?;
            }
            Ok(())
        }
        Err(error) => Err(refused(path, &error).into()),
    }
}

/// How a file looks from outside; it changes with the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    device: u64,
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

/// Looks at the file. `None`: there is none.
pub(crate) fn look(path: &Path) -> Result<Option<Look>, OpenError> {
    let Some(metadata) = metadata(path)? else { return Ok(None) };
    if !metadata.is_file() {
        return Err(OpenError::NotAFile { path: path.to_owned() });
    }
    let changed = (metadata.mtime(), metadata.mtime_nsec());
    Ok(Some(Look { device: metadata.dev(), inode: metadata.ino(), bytes: metadata.len(), changed }))
}

/// Whether everything is in the file itself: nobody writes, and nobody crashed while writing.
pub(crate) fn is_settled(path: &Path) -> Result<bool, OpenError> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    Ok(metadata(Path::new(&log))?.is_none_or(|metadata| metadata.len() == 0))
}

fn metadata(path: &Path) -> Result<Option<Metadata>, LedgerError> {
    match path.metadata() {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(refused(path, &error)),
    }
}

/// Opens the file for reading. `None`: nothing was ever written to it.
///
/// A settled file is read as one that nobody changes, since SQLite would create a log and an index beside it otherwise.
/// Whoever does so looks at the file again afterwards: see [`Look`]. A log that a crash left is read with its index,
/// which SQLite creates where it is missing too; there is no other way to read what is in the log.
pub(crate) fn open_to_read(path: &Path, settled: bool) -> Result<Option<Connection>, OpenError> {
    let access = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = if settled {
        connect(path, &unchanging(path), access | OpenFlags::SQLITE_OPEN_URI)?
    } else {
        connect(path, path.as_os_str(), access)?
    };
    let found = version(path, &connection)?;
    match schema::age(found, schema::LATEST) {
        Age::Empty => Ok(None),
        Age::Current => Ok(Some(connection)),
        Age::Older => Err(OpenError::Older { path: path.to_owned(), found, known: schema::LATEST }),
        Age::Newer => Err(OpenError::Newer { path: path.to_owned(), found, known: schema::LATEST }),
    }
}

/// The URI of a file that nobody changes.
fn unchanging(path: &Path) -> OsString {
    let mut uri = b"file:".to_vec();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'?' | b'#' | b'%' => uri.extend(format!("%{byte:02x}").bytes()),
            _ => uri.push(byte),
        }
    }
    uri.extend(b"?immutable=1");
    OsString::from_vec(uri)
}

/// What an error of the system means for whoever asked.
fn refused(path: &Path, error: &io::Error) -> LedgerError {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => LedgerError::Full { path },
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => LedgerError::ReadOnly { path },
        kind => LedgerError::Refused { path, reason: kind.to_string() },
    }
}

/// A connection to a file that exists, under its name for SQLite.
fn connect(path: &Path, name: &OsStr, access: OpenFlags) -> Result<Connection, LedgerError> {
    let failed = |error: rusqlite::Error| LedgerError::of(path, &error);
    let connection = Connection::open_with_flags(name, access | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(failed)?;
    connection.busy_timeout(BUSY_WAIT).map_err(failed)?;
    Ok(connection)
}

fn version(path: &Path, connection: &Connection) -> Result<i64, LedgerError> {
    let version = connection.pragma_query_value(None, "user_version", |row| row.get(0));
    version.map_err(|error| LedgerError::of(path, &error))
}
