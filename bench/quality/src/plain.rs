//! Folders of ordinary files through the redactor: every mask with its file, its rule and what stands around it, masked.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use hermes_model::context::{Context, Surface};

use crate::driver::Driver;

/// The largest file that is read, in bytes: a host holds no more of a command's output either.
const FILE_MAX: u64 = 16 * 1024 * 1024;
/// How much is shown at either side of a mask, in characters.
const AROUND: usize = 40;
/// What a mask begins with.
const MASK: &str = "[REDACTED:";

/// What was seen.
#[derive(Debug, Default)]
pub struct Seen {
    /// How many files were read.
    pub files: usize,
    /// How many bytes.
    pub bytes: u64,
    /// Every mask: the file, and the shown line around it.
    pub masks: Vec<(PathBuf, String)>,
    /// Files whose text was withheld.
    pub withheld: Vec<PathBuf>,
}

impl Seen {
    /// Masks for every 5 MB that were read.
    pub fn rate(&self) -> f64 {
        self.masks.len() as f64 * 5e6 / (self.bytes.max(1)) as f64
    }
}

/// Reads every file of a folder that is text.
///
/// # Errors
/// A folder cannot be read.
pub fn walk(driver: &Driver, folder: &Path, seen: &mut Seen) -> io::Result<()> {
    let mut entries: Vec<_> = std::fs::read_dir(folder)?.filter_map(Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::path);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            walk(driver, &path, seen)?;
        } else if kind.is_file() && entry.metadata()?.len() <= FILE_MAX {
            // A file that went away or may not be read is none of the ordinary ones.
            let Ok(bytes) = std::fs::read(&path) else { continue };
            if !bytes.contains(&0) {
                look(driver, path, &bytes, seen);
            }
        }
    }
    Ok(())
}

fn look(driver: &Driver, path: PathBuf, bytes: &[u8], seen: &mut Seen) {
    seen.files += 1;
    seen.bytes += bytes.len() as u64;
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
    for line in shown.text.as_str().lines().filter(|line| !before.contains(line)) {
        for (at, _) in line.match_indices(MASK) {
            let from = line[..at].char_indices().rev().take(AROUND).last().map_or(at, |(index, _)| index);
            let around: String = line[from..].chars().take(2 * AROUND).collect();
            seen.masks.push((path.clone(), around.replace(['\r', '\u{1b}'], " ")));
        }
    }
}
