//! The files of this repository, as text.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that are not ours to judge: built things and version control.
const NOT_SOURCE: [&str; 6] = ["target", "node_modules", "book", "__pycache__", ".venv", ".git"];

/// A text file of the repository.
#[derive(Clone, Debug)]
pub struct TextFile {
    /// From the root of the repository, with `/`.
    pub path: String,
    /// What it holds.
    pub text: String,
}

/// A place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Offence {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// What is there.
    pub what: String,
}

/// The root of the repository.
pub fn root() -> PathBuf {
    // This package is a folder in the root.
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every file below the named folders (or the named files) whose name ends in one of the endings, in order. A folder
/// that does not exist is empty.
pub fn files(places: &[&str], endings: &[&str]) -> Vec<TextFile> {
    let root = root();
    let mut paths = Vec::new();
    for place in places {
        walk(&root.join(place), &mut paths);
    }
    paths.sort();
    paths.dedup();
    paths
        .iter()
        .filter(|path| endings.iter().any(|ending| path.to_string_lossy().ends_with(ending)))
        .filter_map(|path| {
            let name = path.strip_prefix(&root).unwrap_or(path).to_string_lossy().replace('\\', "/");
            // A file that is removed while the tree is read, or is no text, breaks no rule.
            fs::read_to_string(path).ok().map(|text| TextFile { path: name, text })
        })
        .collect()
}

fn walk(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_file() {
        found.push(path.to_owned());
        return;
    }
    let Ok(entries) = fs::read_dir(path) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !NOT_SOURCE.iter().any(|skipped| name == *skipped) {
            walk(&entry.path(), found);
        }
    }
}

/// Fails with every offence and what to do instead.
///
/// # Panics
/// There is one.
pub fn assert_none(rule: &str, instead: &str, mut offences: Vec<Offence>) {
    offences.sort();
    let lines: Vec<String> = offences.iter().map(|o| format!("  {}:{}: {}", o.path, o.line, o.what)).collect();
    assert!(offences.is_empty(), "{rule}\n{}\nInstead: {instead}", lines.join("\n"));
}
