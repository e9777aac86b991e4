//! What can go wrong with the file. It must never quote a value: SQLite's own messages are replaced by ours.

use std::path::{Path, PathBuf};

use hermes_home::files::{CreateError, LockError};
use hermes_home::home::LocateError;
use rusqlite::ErrorCode;
use rusqlite::ffi;

/// Why something was not written or read. Nothing of what was asked took effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// No space.
    #[error("cannot write '{path}': the disk is full; free some space and try again (nothing was changed)")]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be written.
    #[error("cannot write '{path}': it or its folder is read-only; allow writing to both, or name another home")]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// Another process holds it.
    #[error("'{path}' is being written by another process that does not let go: end that one and try again")]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// It is not what hermes wrote.
    #[error("'{path}' is damaged, or no file of hermes: move it away, and hermes begins a new one")]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot use '{path}' ({reason}): check the disk, and the permissions of the file and its folder")]
    Refused {
        /// The file.
        path: PathBuf,
        /// What SQLite calls it.
        reason: String,
    },
    /// Its thread has ended, which only a mistake in it can do while somebody asks.
    #[error("'{path}' is no longer written by this host: restart the host")]
    Over {
        /// The file.
        path: PathBuf,
    },
}

impl LedgerError {
    /// What an error of SQLite means for whoever asked.
    pub(crate) fn of(path: &Path, error: &rusqlite::Error) -> Self {
        let path = path.to_owned();
        let rusqlite::Error::SqliteFailure(failure, _) = error else {
            return Self::Damaged { path };
        };
        match failure.code {
            ErrorCode::DiskFull => Self::Full { path },
            ErrorCode::ReadOnly => Self::ReadOnly { path },
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Busy { path },
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Self::Damaged { path },
            _ => Self::Refused { path, reason: ffi::code_to_str(failure.extended_code).to_owned() },
        }
    }
}

/// Why there is no ledger.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The home is none, or belongs to a profile that was deleted.
    #[error(transparent)]
    Home(#[from] LocateError),
    /// Its folder cannot be created.
    #[error(transparent)]
    Folder(#[from] CreateError),
    /// Another hermes that opens it does not end.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// Something else is in its place.
    #[error("'{path}' is not a file: move it away, and hermes begins a new one")]
    NotAFile {
        /// The file.
        path: PathBuf,
    },
    /// A later hermes wrote it.
    #[error(
        "'{path}' was written by a newer hermes (version {found} of the file, and this one knows {known}): update hermes, or name another home with --home"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of the file.
        found: i64,
        /// The latest version this hermes knows.
        known: i64,
    },
    /// An earlier hermes wrote it, and reading changes nothing.
    #[error(
        "'{path}' was written by an older hermes (version {found} of the file, and this one reads {known}): start a command in the background once, which brings it up to date"
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// The version of the file.
        found: i64,
        /// The version this hermes reads.
        known: i64,
    },
    /// Its file system has no shared memory.
    #[error("'{path}' is on a file system where processes cannot share it: name a home on a local disk with --home")]
    NoSharing {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be used.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}
