//! Folders of ordinary files through the redactor: every mask with its file, its rule, a key that stays the same, and its
//! line as the host shows it.
//!
//! It must never keep a line that the redactor did not release.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use hermes_model::context::{Context, Surface};
use sha2::{Digest as _, Sha256};

use crate::driver::Driver;
use crate::score;

/// The largest file that is read, in bytes: a host holds no more of a command's output either.
const FILE_MAX: u64 = 16 * 1024 * 1024;
/// How much of a line is kept before its first mask and from there on, in characters.
const AROUND: (usize, usize) = (120, 200);
/// What a mask begins with.
const MASK: &str = "[REDACTED:";
/// How many bytes of a line's hash make its key.
const KEY: usize = 6;
/// The names of lock files, whose hashes and addresses must all stay.
#[rustfmt::skip]
const LOCKS: &[&str] = &[
    "Cargo.lock", "package-lock.json", ".package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml",
    "bun.lock", "deno.lock", "poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock", "go.sum", "Gemfile.lock",
    "composer.lock", "flake.lock", "mix.lock", "pubspec.lock",
];

/// What kind of text a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// What a program printed.
    Log,
    /// What people wrote: programs, configuration, documentation, data.
    Source,
    /// The exact versions of packages, with their hashes.
    Lock,
}

impl Kind {
    /// What a file of `folder` is, by its name; all of a folder whose name begins with `logs` are logs.
    fn of(folder: &Folder, path: &Path) -> Self {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        match &*name {
            name if LOCKS.contains(&name) => Self::Lock,
            name if name.ends_with(".log") || folder.name.starts_with("logs") => Self::Log,
            _ => Self::Source,
        }
    }
}

/// A folder of ordinary files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// What it is called in the list of judgements.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

impl Folder {
    /// Reads `NAME=DIR`, or `DIR`, which is called as its last part.
    pub fn parse(word: &str) -> Self {
        match word.split_once('=') {
            Some((name, path)) => Self { name: name.to_owned(), path: path.into() },
            None => {
                let path = PathBuf::from(word);
                let name = path.file_name().map_or_else(|| word.to_owned(), |name| name.to_string_lossy().into_owned());
                Self { name, path }
            }
        }
    }
}

/// A mask in an ordinary file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// The name of the folder.
    pub folder: String,
    /// The file below it.
    pub file: String,
    /// The rule and the beginning of the SHA-256 of the line as it is shown, in hexadecimal digits: never of the value.
    pub key: String,
    /// The line around it as it is shown.
    pub line: String,
    /// What kind of file it is in.
    pub kind: Kind,
}

/// What was seen.
#[derive(Debug, Default)]
pub struct Seen {
    /// How many files were read.
    pub files: usize,
    /// How many bytes, by kind.
    pub bytes: BTreeMap<Kind, u64>,
    /// Every mask.
    pub masks: Vec<Mask>,
    /// Files whose text was withheld.
    pub withheld: Vec<PathBuf>,
}

/// Reads every file of a folder that is text.
///
/// # Errors
/// The folder cannot be read.
pub fn walk(driver: &Driver, folder: &Folder, seen: &mut Seen) -> io::Result<()> {
    below(driver, folder, &folder.path, seen)
}

fn below(driver: &Driver, folder: &Folder, at: &Path, seen: &mut Seen) -> io::Result<()> {
    let mut entries: Vec<_> = std::fs::read_dir(at)?.filter_map(Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::path);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            below(driver, folder, &path, seen)?;
        } else if kind.is_file() && entry.metadata()?.len() <= FILE_MAX {
            // A file that went away or may not be read is none of the ordinary ones.
            let Ok(bytes) = std::fs::read(&path) else { continue };
            if !bytes.contains(&0) {
                look(driver, folder, path, &bytes, seen);
            }
        }
    }
    Ok(())
}

fn look(driver: &Driver, folder: &Folder, path: PathBuf, bytes: &[u8], seen: &mut Seen) {
    let kind = Kind::of(folder, &path);
    seen.files += 1;
    *seen.bytes.entry(kind).or_default() += bytes.len() as u64;
    let shown = driver.view(&Context::new(Surface::Foreground), bytes);
    if shown.report.withheld.is_some() {
        seen.withheld.push(path);
        return;
    }
    if shown.report.redactions.is_empty() {
        return;
    }
    let text = String::from_utf8_lossy(bytes);
    // A file may speak of masks itself: such a line is the same before and after.
    let before: HashSet<&str> = text.lines().collect();
    let file = path.strip_prefix(&folder.path).unwrap_or(&path).to_string_lossy().into_owned();
    for line in shown.text.as_str().lines().filter(|line| !before.contains(line)) {
        for (rule, around) in masks(line) {
            let key = format!("{rule} {}", hash(line));
            seen.masks.push(Mask { folder: folder.name.clone(), file: file.clone(), key, line: around, kind });
        }
    }
}

/// The rule of each mask of a shown line, and what stands around it.
fn masks(line: &str) -> impl Iterator<Item = (&str, String)> {
    line.match_indices(MASK).map(move |(at, _)| {
        let rest = &line[at + MASK.len()..];
        let rule = &rest[..rest.find(']').unwrap_or_default()];
        let from = line[..at].char_indices().rev().take(AROUND.0).last().map_or(at, |(index, _)| index);
        let until = line[at..].char_indices().nth(AROUND.1).map_or(line.len(), |(index, _)| at + index);
        (rule, score::readable(&line[from..until]))
    })
}

fn hash(line: &str) -> String {
    Sha256::digest(line.as_bytes()).iter().take(KEY).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_the_name_it_is_given_or_its_own() {
        let folder = Folder::parse("python=/usr/lib/python3");
        assert_eq!((folder.name.as_str(), folder.path.as_path()), ("python", Path::new("/usr/lib/python3")));
        assert_eq!(Folder::parse("/usr/share/doc").name, "doc");
    }

    #[test]
    fn a_lock_file_is_told_by_its_name_and_a_log_by_its_end() {
        let folder = Folder::parse("/srv/trees");
        for (path, kind) in
            [("a/Cargo.lock", Kind::Lock), ("b/go.sum", Kind::Lock), ("c/x.log", Kind::Log), ("d/x.rs", Kind::Source)]
        {
            assert_eq!(Kind::of(&folder, Path::new(path)), kind, "{path}");
        }
        assert_eq!(Kind::of(&Folder::parse("logs-ci=/srv"), Path::new("build.txt")), Kind::Log);
    }

    #[test]
    fn every_mask_is_listed_with_its_rule_and_a_key_that_no_value_changes() {
        let folder = tempfile::tempdir().unwrap();
        let driver = Driver::open(crate::driver::Which::Redactor).unwrap();
        let mut keys = Vec::new();
        for value in ["Kq7vR2mXw9LpT4zB", "Zw3nB8tYc5HdJ6sF"] {
            std::fs::write(folder.path().join("a.env"), format!("X=1\nDB_PASSWORD={value}\n[REDACTED:jwt]\n")).unwrap();
            let mut seen = Seen::default();
            walk(&driver, &Folder { name: "t".to_owned(), path: folder.path().to_owned() }, &mut seen).unwrap();
            let [mask] = &*seen.masks else { panic!("{:?}", seen.masks) };
            assert_eq!((mask.file.as_str(), mask.line.as_str()), ("a.env", "DB_PASSWORD=[REDACTED:password]"));
            assert!(mask.key.starts_with("password ") && mask.key.len() == "password ".len() + 2 * KEY, "{}", mask.key);
            assert_eq!((seen.files, seen.bytes[&Kind::Source] > 20), (1, true));
            keys.push(mask.key.clone());
        }
        assert_eq!(keys[0], keys[1]);
    }
}
