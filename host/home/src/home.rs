//! The home: which folder it is, and whether it can be trusted. Looking creates nothing.

use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::files::{self, CreateError};
use crate::variables::{self, HERMES_HOME, HERMES_PROFILE, Lookup};

/// The folder in the user's home folder, where nothing else is said.
const DEFAULT_FOLDER: &str = ".hermes";
/// The folder of profiles in a home.
const PROFILES: &str = "profiles";
/// The folder in `profiles` with a file named like each deleted profile. No profile is called so: names start with a
/// letter or a digit.
const TOMBSTONES: &str = ".deleted";
/// The longest profile name: it is one folder name, and a column of a table.
const PROFILE_NAME_MAX: usize = 64;
/// Permission bits that let others change what is in a folder.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// What the command line says about the home.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocateArgs {
    /// `--home`.
    pub home: Option<PathBuf>,
    /// `--profile`.
    pub profile: Option<String>,
}

/// Who named the home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `--home`.
    Flag,
    /// `HERMES_HOME`.
    Variable,
    /// Nobody: `.hermes` in the user's home folder.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Flag => "--home",
            Self::Variable => HERMES_HOME.name,
            Self::Default => "default",
        })
    }
}

/// The home of one run: an absolute path that either does not exist or is a folder only its owner can change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
    origin: Origin,
    profile: Option<String>,
}

/// Why there is no home to use.
#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    /// Nothing names a home.
    #[error("no home folder: HOME is not set and user {uid} has no passwd entry; give --home or set HERMES_HOME")]
    Nowhere {
        /// The effective user.
        uid: u32,
    },
    /// `--home ''`.
    #[error("--home is empty: name a folder, or leave the flag out to use HERMES_HOME or ~/.hermes")]
    EmptyFlag,
    /// A relative path, and the current folder is gone.
    #[error("cannot make '{path}' absolute: the current folder cannot be read; give an absolute path")]
    NoCurrentFolder {
        /// The path as given.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A profile name that could leave its folder, or read badly.
    #[error(
        "'{name}' is not a profile name: use 1 to {PROFILE_NAME_MAX} lower-case letters, digits, '-' and '_', starting with a letter or digit, as in 'work'"
    )]
    BadProfile {
        /// The name as given, without control characters.
        name: String,
    },
    /// A profile that was deleted stays so until it is created again on purpose.
    #[error("profile '{name}' was deleted: choose another, or remove '{tombstone}' to allow the name again")]
    DeletedProfile {
        /// The profile.
        name: String,
        /// The file that says so.
        tombstone: PathBuf,
    },
    /// Something else is in its place.
    #[error("home '{path}' is not a folder: name another with --home or HERMES_HOME, or move the file away")]
    NotAFolder {
        /// The home.
        path: PathBuf,
    },
    /// Another user's folder.
    #[error(
        "home '{path}' belongs to user {owner}, and this is user {us}: run as that user, or name a folder of your own with --home or HERMES_HOME"
    )]
    NotOurs {
        /// The home.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// The effective user.
        us: u32,
    },
    /// Others may change what is in it, and so which plugins run.
    #[error("home '{path}' can be changed by others (mode {mode:03o}): run `chmod 700 '{path}'`")]
    ChangeableByOthers {
        /// The home.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It cannot be looked at.
    #[error("cannot look at home '{path}': check the permissions of the folders above it, or name another with --home")]
    Unreachable {
        /// The home.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl Home {
    /// Finds the home: `--home`, then `HERMES_HOME`, then `.hermes` in the user's home folder; with a profile
    /// (`--profile`, then `HERMES_PROFILE`) the folder `profiles/<name>` of it. Creates nothing.
    ///
    /// # Errors
    /// Nothing names one, or what is there is not a folder that only this user can change.
    pub fn locate(args: &LocateArgs) -> Result<Self, LocateError> {
        Self::locate_with(args, &variables::process_environment)
    }

    fn locate_with(args: &LocateArgs, lookup: Lookup<'_>) -> Result<Self, LocateError> {
        let (given, origin) = match &args.home {
            Some(flag) if flag.as_os_str().is_empty() => return Err(LocateError::EmptyFlag),
            Some(flag) => (flag.clone(), Origin::Flag),
            None => match variables::value(lookup, HERMES_HOME.name) {
                Some(variable) => (PathBuf::from(variable), Origin::Variable),
                None => {
                    let user = variables::user_home(lookup)
                        .ok_or_else(|| LocateError::Nowhere { uid: nix::unistd::geteuid().as_raw() })?;
                    (user.join(DEFAULT_FOLDER), Origin::Default)
                }
            },
        };
        let base = std::path::absolute(&given)
            .map_err(|source| LocateError::NoCurrentFolder { path: given.clone(), source })?;
        check_folder(&base)?;

        let named = args.profile.clone().or_else(|| {
            variables::value(lookup, HERMES_PROFILE.name).map(|value| value.to_string_lossy().into_owned())
        });
        let Some(name) = named else {
            return Ok(Self { root: base, origin, profile: None });
        };
        check_profile_name(&name)?;
        let profiles = base.join(PROFILES);
        check_folder(&profiles)?;
        let tombstone = profiles.join(TOMBSTONES).join(&name);
        if tombstone.symlink_metadata().is_ok() {
            return Err(LocateError::DeletedProfile { name, tombstone });
        }
        let root = profiles.join(&name);
        check_folder(&root)?;
        Ok(Self { root, origin, profile: Some(name) })
    }

    /// The folder, absolute.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Who named it.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The profile, if it is one.
    pub fn profile(&self) -> Option<&str> {
        self.profile.as_deref()
    }

    /// Whether the folder exists.
    pub fn exists(&self) -> bool {
        self.root.is_dir()
    }

    /// Where plugins live. May not exist.
    pub fn plugins_dir(&self) -> PathBuf {
        self.root.join("plugins")
    }

    /// The configuration file. May not exist.
    pub fn config_path(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// Creates the folder (0700) where it is missing. Only verbs that change something call this.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn ensure(&self) -> Result<(), CreateError> {
        files::create_private_dir(&self.root)
    }
}

/// A profile name is one plain folder name.
fn check_profile_name(name: &str) -> Result<(), LocateError> {
    let shaped = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && name.len() <= PROFILE_NAME_MAX
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_');
    if shaped {
        return Ok(());
    }
    let shown = name.chars().filter(|c| !c.is_control()).take(PROFILE_NAME_MAX).collect();
    Err(LocateError::BadProfile { name: shown })
}

/// What is at `path` is nothing yet, or a folder that only this user can change.
fn check_folder(path: &Path) -> Result<(), LocateError> {
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        // A file stands where a folder above it should be.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(LocateError::NotAFolder { path: path.to_owned() });
        }
        Err(source) => return Err(LocateError::Unreachable { path: path.to_owned(), source }),
    };
    if !metadata.is_dir() {
        return Err(LocateError::NotAFolder { path: path.to_owned() });
    }
    check_ownership(path, metadata.uid(), metadata.mode(), nix::unistd::geteuid().as_raw())
}

/// The rule of ownership alone, so that it can be tested by a user who owns everything.
fn check_ownership(path: &Path, owner: u32, mode: u32, us: u32) -> Result<(), LocateError> {
    if owner != us {
        return Err(LocateError::NotOurs { path: path.to_owned(), owner, us });
    }
    if mode & WRITABLE_BY_OTHERS != 0 {
        return Err(LocateError::ChangeableByOthers { path: path.to_owned(), mode: mode & 0o777 });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn locate(args: &LocateArgs, pairs: &[(&str, &Path)]) -> Result<Home, LocateError> {
        let lookup = |name: &str| -> Option<OsString> {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_os_str().to_owned())
        };
        Home::locate_with(args, &lookup)
    }

    fn flag(path: &Path) -> LocateArgs {
        LocateArgs { home: Some(path.to_owned()), profile: None }
    }

    #[test]
    fn the_flag_wins_over_the_variable_and_the_variable_over_the_default() {
        let variables = [("HERMES_HOME", Path::new("/nowhere/v")), ("HOME", Path::new("/nowhere/h"))];
        let home = locate(&flag(Path::new("/nowhere/f")), &variables).unwrap();
        assert_eq!((home.root(), home.origin()), (Path::new("/nowhere/f"), Origin::Flag));
        let home = locate(&LocateArgs::default(), &variables).unwrap();
        assert_eq!((home.root(), home.origin()), (Path::new("/nowhere/v"), Origin::Variable));
        let home = locate(&LocateArgs::default(), &variables[1..]).unwrap();
        assert_eq!((home.root(), home.origin()), (Path::new("/nowhere/h/.hermes"), Origin::Default));
    }

    #[test]
    fn an_empty_variable_is_not_set_and_an_empty_flag_is_an_error() {
        let variables = [("HERMES_HOME", Path::new("")), ("HOME", Path::new("/nowhere"))];
        assert_eq!(locate(&LocateArgs::default(), &variables).unwrap().origin(), Origin::Default);
        assert!(matches!(locate(&flag(Path::new("")), &variables), Err(LocateError::EmptyFlag)));
    }

    #[test]
    fn a_relative_path_becomes_absolute() {
        let home = locate(&flag(Path::new("no-such-folder/x")), &[]).unwrap();
        assert!(home.root().is_absolute());
        assert!(home.root().ends_with("no-such-folder/x"));
    }

    #[test]
    fn looking_creates_nothing_and_ensure_creates_a_private_folder() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("a/b");
        let home = locate(&flag(&root), &[]).unwrap();
        assert!(!home.exists());
        assert!(!temp.path().join("a").exists());
        home.ensure().unwrap();
        home.ensure().unwrap();
        assert!(home.exists());
        for folder in [root.as_path(), root.parent().unwrap()] {
            assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700, "{}", folder.display());
        }
    }

    #[test]
    fn a_profile_is_a_folder_of_its_own() {
        let temp = tempfile::tempdir().unwrap();
        let args = LocateArgs { home: Some(temp.path().to_owned()), profile: Some("work".to_owned()) };
        let home = locate(&args, &[("HERMES_PROFILE", Path::new("other"))]).unwrap();
        assert_eq!(home.root(), temp.path().join("profiles/work"));
        assert_eq!(home.profile(), Some("work"));
        let home = locate(&flag(temp.path()), &[("HERMES_PROFILE", Path::new("other"))]).unwrap();
        assert_eq!(home.root(), temp.path().join("profiles/other"));
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_profile_name_cannot_leave_its_folder() {
        let temp = tempfile::tempdir().unwrap();
        let long = "a".repeat(PROFILE_NAME_MAX + 1);
        for bad in ["", ".", "..", "../x", "a/b", ".deleted", "A", "a b", "a\n", "-a", &long] {
            let args = LocateArgs { home: Some(temp.path().to_owned()), profile: Some(bad.to_owned()) };
            assert!(matches!(locate(&args, &[]), Err(LocateError::BadProfile { .. })), "{bad:?}");
        }
    }

    #[test]
    fn a_deleted_profile_is_not_brought_back() {
        let temp = tempfile::tempdir().unwrap();
        files::create_private_dir(&temp.path().join("profiles/.deleted")).unwrap();
        fs::write(temp.path().join("profiles/.deleted/old"), "").unwrap();
        let args = LocateArgs { home: Some(temp.path().to_owned()), profile: Some("old".to_owned()) };
        let error = locate(&args, &[]).unwrap_err();
        assert!(error.to_string().contains("was deleted"), "{error}");
    }

    #[test]
    fn a_file_in_place_of_the_home_or_above_it_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        fs::write(&file, "").unwrap();
        for path in [file.clone(), file.join("below")] {
            assert!(matches!(locate(&flag(&path), &[]), Err(LocateError::NotAFolder { .. })), "{}", path.display());
        }
    }

    #[test]
    fn a_folder_others_can_change_is_refused_with_the_remedy() {
        let temp = tempfile::tempdir().unwrap();
        for mode in [0o770, 0o707, 0o777] {
            fs::set_permissions(temp.path(), fs::Permissions::from_mode(mode)).unwrap();
            let error = locate(&flag(temp.path()), &[]).unwrap_err().to_string();
            assert!(error.contains(&format!("mode {mode:o}")) && error.contains("chmod 700"), "{error}");
        }
        fs::set_permissions(temp.path(), fs::Permissions::from_mode(0o755)).unwrap();
        locate(&flag(temp.path()), &[]).unwrap();
    }

    #[test]
    fn another_users_folder_is_refused_even_for_root() {
        let error = check_ownership(Path::new("/h"), 1000, 0o700, 0).unwrap_err().to_string();
        assert!(error.contains("belongs to user 1000") && error.contains("--home"), "{error}");
        check_ownership(Path::new("/h"), 1000, 0o700, 1000).unwrap();
    }
}
