//! [`Bus`]: where a command finds its user's service manager, and whether that place can be trusted.
//!
//! Looked at afresh each time, in the environment of the very command: a login that ends takes the bus with it. It must
//! never trust an address that somebody left in the environment, and never show a value of it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// The variable that names the folder of a user's sockets.
pub const RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";
/// The variable that names a user's bus.
pub const BUS_ADDRESS: &str = "DBUS_SESSION_BUS_ADDRESS";
/// The socket of the bus within the folder (systemd's user sessions).
const SOCKET: &str = "bus";
/// The right of others to put something of theirs into the folder.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Whose bus is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The number of the user.
    pub uid: u32,
    /// Where the folder of the user's sockets is unless the environment names another.
    pub runtime_dir: PathBuf,
}

impl User {
    /// The user this program runs as, with the folder that systemd makes at a login: `/run/user/UID`.
    pub fn current() -> Self {
        let uid = rustix::process::getuid().as_raw();
        Self { uid, runtime_dir: PathBuf::from(format!("/run/user/{uid}")) }
    }
}

/// A user's bus that was there a moment ago.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bus {
    folder: PathBuf,
}

impl Bus {
    /// Looks in the folder that the environment names, then in the user's own.
    ///
    /// # Errors
    /// [`NoBus`] says what is wrong with each.
    pub fn find(environment: &Environment, user: &User) -> Result<Self, NoBus> {
        let mut tried = Vec::new();
        for (place, bus) in Self::candidates(environment, user) {
            match look(&bus.folder, user.uid) {
                Ok(()) => return Ok(bus),
                Err(flaw) => tried.push((place, flaw)),
            }
        }
        Err(NoBus { uid: user.uid, tried })
    }

    /// Where a bus may be, the best place first.
    pub(super) fn candidates(environment: &Environment, user: &User) -> Vec<(Place, Self)> {
        let own = (Place::OfUser, Self { folder: user.runtime_dir.clone() });
        let named = environment.get(RUNTIME_DIR).filter(|folder| !folder.is_empty());
        let named = named.map(|folder| (Place::Named, Self { folder: folder.into() }));
        named.filter(|(_, bus)| *bus != own.1).into_iter().chain([own]).collect()
    }

    /// Tells a command where the bus is.
    pub fn name_in(&self, environment: &mut Environment) {
        environment.set(RUNTIME_DIR, &self.folder).set(BUS_ADDRESS, self.address());
    }

    fn address(&self) -> OsString {
        let mut address = b"unix:path=".to_vec();
        address.extend(escaped(self.folder.join(SOCKET).as_os_str()));
        OsString::from_vec(address)
    }
}

/// The bytes of a path as the address of a bus holds them (D-Bus specification, "Server Addresses": all but these are
/// escaped).
fn escaped(path: &OsStr) -> Vec<u8> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_/.\\*".contains(&byte);
    let escape = |&byte: &u8| if plain(byte) { vec![byte] } else { format!("%{byte:02x}").into_bytes() };
    path.as_bytes().iter().flat_map(escape).collect()
}

/// Why there is no bus to be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct NoBus {
    uid: u32,
    tried: Vec<(Place, Flaw)>,
}

impl fmt::Display for NoBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no user bus")?;
        for (index, (place, flaw)) in self.tried.iter().enumerate() {
            f.write_str(if index == 0 { ": " } else { "; " })?;
            match place {
                Place::Named => write!(f, "the folder that {RUNTIME_DIR} names {flaw}")?,
                Place::OfUser => write!(f, "the folder of user {} {flaw}", self.uid)?,
            }
        }
        Ok(())
    }
}

/// Where a bus was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The folder the environment names.
    Named,
    /// The user's own.
    OfUser,
}

/// What is wrong with a folder or the socket in it, as the rest of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum Flaw {
    #[error("is not an absolute path")]
    NotAbsolute,
    #[error("does not exist")]
    Missing,
    #[error("cannot be looked at")]
    Hidden,
    #[error("is not a directory")]
    NotAFolder,
    #[error("belongs to another user")]
    Foreign,
    #[error("can be written to by other users")]
    Shared,
    #[error("holds no bus")]
    NoSocket,
    #[error("holds a bus of another user")]
    ForeignSocket,
}

fn look(folder: &Path, uid: u32) -> Result<(), Flaw> {
    if !folder.is_absolute() {
        return Err(Flaw::NotAbsolute);
    }
    // The link itself, if it is one: who can change a link decides where it leads.
    let found = fs::symlink_metadata(folder).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Flaw::Missing,
        _ => Flaw::Hidden,
    })?;
    if !found.is_dir() {
        return Err(Flaw::NotAFolder);
    } else if found.uid() != uid {
        return Err(Flaw::Foreign);
    } else if found.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(Flaw::Shared);
    }
    match fs::symlink_metadata(folder.join(SOCKET)) {
        Ok(bus) if !bus.file_type().is_socket() => Err(Flaw::NoSocket),
        Ok(bus) if bus.uid() != uid => Err(Flaw::ForeignSocket),
        Ok(_) => Ok(()),
        Err(_) => Err(Flaw::NoSocket),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    use proptest::prelude::*;

    use super::*;

    /// A folder as a login makes it, with a bus in it.
    pub(in crate::scope) fn runtime_dir() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        folder
    }

    /// This user, with another folder of its own.
    pub(in crate::scope) fn user(runtime_dir: &Path) -> User {
        User { runtime_dir: runtime_dir.to_owned(), ..User::current() }
    }

    fn naming(folder: &Path) -> Environment {
        let mut environment = Environment::empty();
        environment.set(RUNTIME_DIR, folder).set(BUS_ADDRESS, "unix:path=/elsewhere");
        environment
    }

    #[test]
    fn the_bus_is_named_in_the_commands_environment_whatever_it_said_before() {
        let folder = runtime_dir();
        let mut environment = naming(folder.path());
        let bus = Bus::find(&environment, &user("/nowhere".as_ref())).ok().unwrap();
        bus.name_in(&mut environment);
        assert_eq!(environment.get(RUNTIME_DIR), Some(folder.path().as_os_str()));
        let address = format!("unix:path={}/bus", folder.path().display());
        assert_eq!(environment.get(BUS_ADDRESS), Some(OsStr::new(&address)));
    }

    #[test]
    fn where_the_named_folder_has_no_bus_the_users_own_is_taken() {
        let (own, other) = (runtime_dir(), tempfile::tempdir().unwrap());
        for named in [other.path(), Path::new("relative"), Path::new("")] {
            let found = Bus::find(&naming(named), &user(own.path())).ok().unwrap();
            assert_eq!(found.folder, own.path());
        }
    }

    #[test]
    fn a_folder_that_others_could_have_made_is_not_trusted() {
        let uid = User::current().uid;
        let good = runtime_dir();
        assert_eq!(look(good.path(), uid), Ok(()));
        assert_eq!(look(good.path(), uid + 1), Err(Flaw::Foreign));
        assert_eq!(look("run/user".as_ref(), uid), Err(Flaw::NotAbsolute));
        assert_eq!(look(&good.path().join("none"), uid), Err(Flaw::Missing));
        assert_eq!(look(&good.path().join(SOCKET).join("x"), uid), Err(Flaw::Hidden));
        let other = tempfile::tempdir().unwrap();
        let link = other.path().join("link");
        symlink(good.path(), &link).unwrap();
        assert_eq!(look(&link, uid), Err(Flaw::NotAFolder));
        for mode in [0o720, 0o702, 0o777] {
            fs::set_permissions(good.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(look(good.path(), uid), Err(Flaw::Shared), "{mode:o}");
        }
    }

    #[test]
    fn only_a_socket_is_a_bus() {
        let (good, other) = (runtime_dir(), tempfile::tempdir().unwrap());
        let uid = User::current().uid;
        assert_eq!(look(other.path(), uid), Err(Flaw::NoSocket));
        symlink(good.path().join(SOCKET), other.path().join(SOCKET)).unwrap();
        assert_eq!(look(other.path(), uid), Err(Flaw::NoSocket), "a link to one");
    }

    #[test]
    fn what_is_missing_is_said_without_the_value_of_a_variable() {
        let none = Bus::find(&naming("geheim".as_ref()), &user("/nowhere/own".as_ref())).err().unwrap();
        let said = none.to_string();
        assert!(said.starts_with("no user bus: the folder that XDG_RUNTIME_DIR names is not an absolute path; "));
        assert!(said.ends_with("does not exist") && !said.contains("geheim"), "{said}");
    }

    proptest! {
        #[test]
        fn an_address_holds_any_path_in_plain_characters(bytes in prop::collection::vec(1_u8.., 0..40)) {
            let text = String::from_utf8(escaped(OsStr::from_bytes(&bytes))).unwrap();
            prop_assert!(text.chars().all(|c| c.is_ascii_graphic() && !",;:=".contains(c)));
            let mut back = Vec::new();
            let mut rest = text.as_bytes();
            while let [byte, after @ ..] = rest {
                rest = after;
                if *byte == b'%' {
                    let (digits, after) = rest.split_at(2);
                    back.push(u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap());
                    rest = after;
                } else {
                    back.push(*byte);
                }
            }
            prop_assert_eq!(back, bytes);
        }
    }
}
