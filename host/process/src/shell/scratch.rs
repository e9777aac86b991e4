//! A private folder for what commands leave in their temporary files, and its cleaning.
//!
//! It must never replace a folder that the user chose, follow a symbolic link out of the folder, or clean while a
//! cleaning is not due.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::environment::Environment;
use crate::spec::shown;

/// Names the folder to a `hermes` that a command starts: temporary variables with this value are ours to replace.
pub const MARKER: &str = "HERMES_SCRATCH_DIR";

/// Where programs look for a folder for temporary files: POSIX, and what ports of other systems' programs read.
const VARIABLES: [&str; 3] = ["TMPDIR", "TMP", "TEMP"];

/// Temporary files hold what their program holds: nobody else may look.
const PRIVATE: u32 = 0o700;

/// What was not touched for so long is forgotten: longer than a weekend, shorter than a disk takes to fill.
pub const IDLE: Duration = Duration::from_secs(7 * 24 * 3600);

/// A cleaning reads the whole folder, so it is not done for each command.
pub const PAUSE: Duration = Duration::from_secs(3600);

/// The file whose age says when the last cleaning was.
const STAMP: &str = ".cleaned";

/// Why a folder cannot be offered to commands.
#[derive(Debug, thiserror::Error)]
pub enum ScratchError {
    /// It could not be made or made private.
    #[error("the folder for temporary files '{folder}' cannot be prepared; free space or correct its permissions")]
    Prepare {
        /// The folder.
        folder: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Something that is not a folder of this user has its name.
    #[error("'{folder}' is not a folder of this user, so no temporary files go there; move it away")]
    Foreign {
        /// The folder.
        folder: String,
    },
    /// It could not be cleaned.
    #[error("the folder for temporary files '{folder}' cannot be cleaned; remove what is old in it by hand")]
    Clean {
        /// The folder.
        folder: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Sends a command's temporary files to `folder`, which is made with access for nobody else, unless the user chose a
/// place. Says whether it did.
///
/// `outer` is what the host that started this one called its own folder, if it is known: a variable with this value was
/// not the user's choice. Blocks on the file system.
///
/// # Errors
/// [`ScratchError`]; the environment is unchanged then, and commands use the system's folder.
pub fn offer(folder: &Path, outer: Option<&OsStr>, environment: &mut Environment) -> Result<bool, ScratchError> {
    let chosen = |name: &str| environment.get(name).is_some_and(|value| !value.is_empty() && Some(value) != outer);
    if VARIABLES.iter().any(|name| chosen(name)) {
        return Ok(false);
    }
    prepare(folder)?;
    for name in VARIABLES {
        environment.set(name, folder);
    }
    environment.set(MARKER, folder);
    Ok(true)
}

fn prepare(folder: &Path) -> Result<(), ScratchError> {
    let failed = |source| ScratchError::Prepare { folder: shown(folder.as_os_str()), source };
    DirBuilder::new().recursive(true).mode(PRIVATE).create(folder).map_err(failed)?;
    let found = fs::symlink_metadata(folder).map_err(failed)?;
    if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() {
        return Err(ScratchError::Foreign { folder: shown(folder.as_os_str()) });
    }
    if found.mode() & 0o777 != PRIVATE {
        fs::set_permissions(folder, fs::Permissions::from_mode(PRIVATE)).map_err(failed)?;
    }
    Ok(())
}

/// What a cleaning did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleaning {
    /// The last one is less than [`PAUSE`] ago, or there is no folder.
    NotDue,
    /// It was done.
    Done {
        /// How many entries of the folder are gone.
        removed: usize,
        /// How many should be gone and are not.
        kept: usize,
    },
}

/// Removes the entries of `folder` in which nothing was changed or read for [`IDLE`], at most once in [`PAUSE`]. Blocks on
/// the file system.
///
/// # Errors
/// [`ScratchError::Clean`] where the folder cannot be read. An entry that cannot be removed is counted and stays.
pub fn clean(folder: &Path, now: SystemTime) -> Result<Cleaning, ScratchError> {
    let failed = |source| ScratchError::Clean { folder: shown(folder.as_os_str()), source };
    // The folder may be gone or a link by now: nothing of it is ours then.
    if !fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) || !is_due(&folder.join(STAMP), now) {
        return Ok(Cleaning::NotDue);
    }
    stamp(&folder.join(STAMP), now).map_err(failed)?;
    let (mut removed, mut kept) = (0, 0);
    for entry in fs::read_dir(folder).map_err(failed)?.flatten() {
        let path = entry.path();
        if entry.file_name() == STAMP || !is_idle(&path, now) {
            continue;
        }
        // Neither call follows a link.
        let gone = match entry.file_type() {
            Ok(kind) if kind.is_dir() => fs::remove_dir_all(&path),
            _ => fs::remove_file(&path),
        };
        *if gone.is_ok() { &mut removed } else { &mut kept } += 1;
    }
    Ok(Cleaning::Done { removed, kept })
}

fn is_due(stamp: &Path, now: SystemTime) -> bool {
    let Ok(last) = fs::symlink_metadata(stamp).and_then(|found| found.modified()) else { return true };
    // A stamp of the future comes from a clock that was wrong.
    now.duration_since(last).map_or(true, |age| age >= PAUSE)
}

fn stamp(path: &Path, now: SystemTime) -> io::Result<()> {
    let flags = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let file = File::options().create(true).truncate(true).write(true).mode(0o600).custom_flags(flags).open(path)?;
    file.set_modified(now)
}

/// Whether nothing in an entry was touched for [`IDLE`]. What cannot be looked at counts as touched.
fn is_idle(path: &Path, now: SystemTime) -> bool {
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        let Ok(found) = fs::symlink_metadata(&path) else { return false };
        if !is_old(&found, now) {
            return false;
        }
        if found.is_dir() {
            let Ok(entries) = fs::read_dir(&path) else { return false };
            for entry in entries {
                let Ok(entry) = entry else { return false };
                waiting.push(entry.path());
            }
        }
    }
    true
}

fn is_old(found: &Metadata, now: SystemTime) -> bool {
    let old =
        |time: io::Result<SystemTime>| time.is_ok_and(|time| now.duration_since(time).is_ok_and(|age| age >= IDLE));
    // Looking at a folder counts as reading it, and this very cleaning looks.
    old(found.modified()) && (found.is_dir() || old(found.accessed()))
}

#[cfg(test)]
mod tests {
    use std::fs::FileTimes;
    use std::path::PathBuf;

    use super::*;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("cache/scratch");
        (temp, folder)
    }

    fn age(path: &Path, time: SystemTime) {
        File::open(path).unwrap().set_times(FileTimes::new().set_modified(time).set_accessed(time)).unwrap();
    }

    #[test]
    fn temporary_files_go_to_a_private_folder() {
        let (_temp, folder) = folder();
        let mut environment = Environment::empty();
        assert!(offer(&folder, None, &mut environment).unwrap());
        for name in VARIABLES.iter().chain([&MARKER]) {
            assert_eq!(environment.get(name), Some(folder.as_os_str()));
        }
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, PRIVATE);
        // And again, after somebody opened it up.
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        offer(&folder, None, &mut Environment::empty()).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, PRIVATE);
    }

    #[test]
    fn a_place_the_user_chose_stays_and_nothing_is_made() {
        for name in VARIABLES {
            let (_temp, folder) = folder();
            let mut environment = Environment::empty();
            environment.set(name, "/mine");
            assert!(!offer(&folder, Some(OsStr::new("/outer")), &mut environment).unwrap());
            assert_eq!(environment.iter().count(), 1);
            assert!(!folder.exists());
        }
    }

    #[test]
    fn the_place_of_an_outer_host_is_replaced() {
        let (_temp, folder) = folder();
        let mut environment = Environment::empty();
        environment.set("TMPDIR", "/outer").set("TEMP", "");
        assert!(offer(&folder, Some(OsStr::new("/outer")), &mut environment).unwrap());
        assert_eq!(environment.get("TMPDIR"), Some(folder.as_os_str()));
    }

    #[test]
    fn a_link_in_the_place_of_the_folder_is_refused() {
        let (temp, folder) = folder();
        fs::create_dir_all(folder.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(temp.path(), &folder).unwrap();
        let mut environment = Environment::empty();
        let error = offer(&folder, None, &mut environment).unwrap_err();
        assert!(matches!(error, ScratchError::Foreign { .. }), "{error}");
        assert_eq!(environment.iter().count(), 0);
        assert_eq!(clean(&folder, SystemTime::now()).unwrap(), Cleaning::NotDue);
    }

    #[test]
    fn only_what_is_idle_goes_and_links_are_not_followed() {
        let (temp, folder) = folder();
        prepare(&folder).unwrap();
        let now = SystemTime::now();
        let long_ago = now - IDLE - Duration::from_secs(60);
        let outside = temp.path().join("outside");
        fs::write(&outside, "").unwrap();
        fs::create_dir_all(folder.join("idle/deep")).unwrap();
        fs::create_dir_all(folder.join("busy")).unwrap();
        for name in ["old", "new", "idle/deep/file", "busy/new", "read"] {
            fs::write(folder.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink(temp.path(), folder.join("idle/link")).unwrap();
        let times = rustix::fs::Timestamps {
            last_access: rustix::fs::Timespec { tv_sec: 0, tv_nsec: 0 },
            last_modification: rustix::fs::Timespec { tv_sec: 0, tv_nsec: 0 },
        };
        let link = folder.join("idle/link");
        rustix::fs::utimensat(rustix::fs::CWD, link, &times, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).unwrap();
        for name in ["old", "idle/deep/file", "idle/deep", "idle", "busy"] {
            age(&folder.join(name), long_ago);
        }
        File::open(folder.join("read")).unwrap().set_times(FileTimes::new().set_modified(long_ago)).unwrap();
        assert_eq!(clean(&folder, now).unwrap(), Cleaning::Done { removed: 2, kept: 0 });
        let mut left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [STAMP, "busy", "new", "read"]);
        assert!(outside.exists());
    }

    #[test]
    fn a_cleaning_waits_for_its_hour_and_distrusts_the_future() {
        let (_temp, folder) = folder();
        let now = SystemTime::now();
        assert_eq!(clean(&folder, now).unwrap(), Cleaning::NotDue, "there is no folder");
        prepare(&folder).unwrap();
        let done = Cleaning::Done { removed: 0, kept: 0 };
        let almost = PAUSE - Duration::from_secs(1);
        assert_eq!(clean(&folder, now).unwrap(), done);
        assert_eq!(clean(&folder, now + almost).unwrap(), Cleaning::NotDue);
        assert_eq!(clean(&folder, now + PAUSE).unwrap(), done);
        assert_eq!(clean(&folder, now).unwrap(), done, "the stamp is of the future");
    }
}
