//! Where a command runs: which names of folders are taken, and what stands in for one that is gone.
//!
//! It must never create a folder, and never choose the root of the file system for somebody who did not name it.

use std::path::{Path, PathBuf};

use crate::spec::shown;

/// The signs a folder's name may hold beside letters and digits of any script. Quotes, `$`, `*` and their like are left
/// out: a name that holds them is more often a command that went astray than a folder.
const ALLOWED: &str = "/\\:_-.~ +@=,";

/// Why a text is no folder to run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// There is no text.
    #[error("the folder to run in has an empty name; leave it out or give a path")]
    Empty,
    /// It holds a sign that is not taken.
    #[error(
        "the folder to run in has {} at character {position}; its name may hold letters, digits and {ALLOWED:?}, so \
         give the plain path, without quotes, variables and patterns", sign(*.character)
    )]
    Character {
        /// The first such sign.
        character: char,
        /// Where it stands, counted in characters from 1.
        position: usize,
    },
}

/// A sign as an error shows it: its number where it would not be seen.
fn sign(character: char) -> String {
    if character.is_control() || character.is_whitespace() || !character.is_ascii() {
        format!("U+{:04X}", u32::from(character))
    } else {
        format!("'{character}'")
    }
}

/// Whether a text that names the folder to run in holds only signs that such names hold.
///
/// # Errors
/// [`BadName`], naming the first sign that is not taken.
pub fn check_name(text: &str) -> Result<(), BadName> {
    if text.is_empty() {
        return Err(BadName::Empty);
    }
    let taken = |c: char| c.is_alphanumeric() || ALLOWED.contains(c);
    match text.chars().enumerate().find(|(_, c)| !taken(*c)) {
        Some((index, character)) => Err(BadName::Character { character, position: index + 1 }),
        None => Ok(()),
    }
}

/// Where a command runs in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Where it was asked to.
    Asked(PathBuf),
    /// In the nearest folder above that exists.
    Above {
        /// What was asked for and is not there.
        asked: PathBuf,
        /// What stands in for it.
        folder: PathBuf,
    },
    /// In the folder for temporary files: nothing above exists but the root.
    Temporary {
        /// What was asked for and is not there.
        asked: PathBuf,
        /// What stands in for it.
        folder: PathBuf,
    },
}

impl Place {
    /// The folder to run in.
    pub fn folder(&self) -> &Path {
        match self {
            Self::Asked(folder) | Self::Above { folder, .. } | Self::Temporary { folder, .. } => folder,
        }
    }

    /// What the reader must know, where it is not the folder that was asked for.
    pub fn notice(&self) -> Option<String> {
        let (asked, folder, what) = match self {
            Self::Asked(_) => return None,
            Self::Above { asked, folder } => (asked, folder, "the nearest folder above it"),
            Self::Temporary { asked, folder } => (asked, folder, "the folder for temporary files"),
        };
        let (asked, folder) = (shown(asked.as_os_str()), shown(folder.as_os_str()));
        Some(format!(
            "folder '{asked}' is gone, so the command ran in {what}, '{folder}'; create it again or name another"
        ))
    }
}

/// The folder that was asked for if it can be entered, else the nearest one above it that can, else `temporary`.
///
/// The root is nobody's stand-in: a command meant for `/srv/data` has no business in `/`. May block on a slow file
/// system. The answer may be outdated when the command starts; the start then fails with its own error.
pub fn find(asked: &Path, temporary: &Path) -> Place {
    if is_usable(asked) {
        return Place::Asked(asked.to_owned());
    }
    let above = asked.ancestors().skip(1).filter(|folder| folder.parent().is_some()).find(|folder| is_usable(folder));
    match above {
        Some(folder) => Place::Above { asked: asked.to_owned(), folder: folder.to_owned() },
        None => Place::Temporary { asked: asked.to_owned(), folder: temporary.to_owned() },
    }
}

fn is_usable(folder: &Path) -> bool {
    folder.is_dir() && rustix::fs::access(folder, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_sign_that_is_not_taken_is_named() {
        for text in ["/srv/data", "~/x", "C:\\x y", "a+b@c=d,e-f_g.h", "/daten/größe/日本"] {
            assert_eq!(check_name(text), Ok(()), "{text}");
        }
        for (text, character, position) in [
            ("/a;b'c", ';', 3),
            ("$HOME", '$', 1),
            ("é\n", '\n', 2),
            ("a\0", '\0', 2),
            ("a*", '*', 2),
            ("\u{a0}", '\u{a0}', 1),
        ] {
            assert_eq!(check_name(text), Err(BadName::Character { character, position }), "{text:?}");
        }
        assert_eq!(check_name(""), Err(BadName::Empty));
    }

    #[test]
    fn an_error_shows_the_sign_and_nothing_else_of_the_name() {
        let error = check_name("/secret`x`").unwrap_err().to_string();
        assert!(error.contains("'`' at character 8") && !error.contains("secret"), "{error}");
        assert!(check_name("a\u{1b}[0m").unwrap_err().to_string().contains("U+001B"));
    }

    #[test]
    fn a_folder_that_is_there_is_used_and_needs_no_notice() {
        let temp = tempfile::tempdir().unwrap();
        let place = find(temp.path(), Path::new("/nowhere"));
        assert_eq!(place, Place::Asked(temp.path().to_owned()));
        assert_eq!(place.notice(), None);
        assert_eq!(find(Path::new("/"), Path::new("/tmp")).folder(), Path::new("/"));
    }

    #[test]
    fn a_folder_that_is_gone_is_replaced_by_the_nearest_above_and_said() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        std::fs::write(&file, "").unwrap();
        for gone in [temp.path().join("a/b/c"), file.join("d"), file] {
            let place = find(&gone, Path::new("/nowhere"));
            assert_eq!(place.folder(), temp.path(), "{gone:?}");
            let notice = place.notice().unwrap();
            assert!(notice.contains(&*gone.to_string_lossy()) && notice.contains("nearest"), "{notice}");
        }
    }

    #[test]
    fn the_root_stands_in_for_nothing() {
        for gone in ["/no-such-folder-at-all", "/no-such-folder-at-all/x", "no-such-folder", ""] {
            let place = find(Path::new(gone), Path::new("/tmp"));
            assert_eq!(place, Place::Temporary { asked: gone.into(), folder: "/tmp".into() }, "{gone}");
            assert!(place.notice().unwrap().contains("temporary"));
        }
    }

    proptest! {
        #[test]
        fn a_name_is_taken_if_each_of_its_signs_is(text in any::<String>()) {
            let each = text.chars().all(|c| check_name(c.encode_utf8(&mut [0; 4])).is_ok());
            prop_assert_eq!(check_name(&text).is_ok(), each && !text.is_empty());
        }
    }
}
