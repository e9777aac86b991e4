//! What one check may cost. Whoever runs out has not been checked, and is refused.
//!
//! It must never be widened for one command: a text that is too large to read is one nobody read.

use super::Reason;

/// How deep texts may stand in each other: a payload in a script in a payload.
pub(crate) const DEPTH_MAX: usize = 8;
/// How many programs may stand in front of the one that is run, as in `sudo nice timeout 5 CMD`.
pub(crate) const WRAPPERS_MAX: usize = 8;
/// The most that is read in one check, and of one script, in bytes.
pub(crate) const BYTES_MAX: usize = 1 << 20;
/// The most lines that are read in one check.
pub(crate) const LINES_MAX: usize = 16_384;
/// The longest line that is read, in bytes.
pub(crate) const LINE_MAX: usize = 64 << 10;
/// The most scripts that are looked at in one check.
pub(crate) const SCRIPTS_MAX: usize = 1024;
/// The most steps one check may take for expansions and patterns: a fraction of a second.
const WORK_MAX: usize = 50_000_000;

/// The budget for steps is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted;

impl From<Exhausted> for Reason {
    fn from(_: Exhausted) -> Self {
        Self::TooMuchWork
    }
}

/// What is left of the limits.
#[derive(Debug)]
pub(crate) struct Budget {
    bytes: usize,
    lines: usize,
    scripts: usize,
    work: usize,
}

impl Budget {
    /// All of it.
    pub(crate) fn new() -> Self {
        Self { bytes: BYTES_MAX, lines: LINES_MAX, scripts: SCRIPTS_MAX, work: WORK_MAX }
    }

    /// Pays for a text before it is read.
    ///
    /// # Errors
    /// It is too long, has too many lines, or has a line that is too long.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Reason> {
        self.bytes = self.bytes.checked_sub(text.len()).ok_or(Reason::TooLong)?;
        let mut lines = 0;
        for line in text.split('\n') {
            lines += 1;
            if line.len() > LINE_MAX {
                return Err(Reason::LineTooLong);
            }
        }
        self.lines = self.lines.checked_sub(lines).ok_or(Reason::TooManyLines)?;
        Ok(())
    }

    /// Pays for a look at a script.
    ///
    /// # Errors
    /// Too many were looked at.
    pub(crate) fn script(&mut self) -> Result<(), Reason> {
        self.scripts = self.scripts.checked_sub(1).ok_or(Reason::TooManyScripts)?;
        Ok(())
    }

    /// Pays for steps.
    ///
    /// # Errors
    /// There are none left.
    pub(crate) fn work(&mut self, steps: usize) -> Result<(), Exhausted> {
        self.work = self.work.checked_sub(steps).ok_or(Exhausted)?;
        Ok(())
    }
}
