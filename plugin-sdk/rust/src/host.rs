//! What the host offers a plugin while it is being called: log lines, counters, native pattern search, and the time.
//!
//! On a machine that is not WASM there is no host: lines go to the test's output, counters nowhere, and [`find`]
//! answers that there is no text. Requests and storage are for notifiers, and need a permission the operator granted.

/// How much a log line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Every step.
    Trace,
    /// Steps that explain a result.
    Debug,
    /// Something worth telling the author.
    Info,
    /// A person could act on this.
    Warn,
    /// The plugin broke a promise.
    Error,
}

/// One match of a pattern set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Index of the pattern in the declared set.
    pub pattern: usize,
    /// The bytes matched, in the text of the current call.
    pub range: std::ops::Range<usize>,
}

/// Why there are no hits to return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScanError {
    /// The descriptor declares no set of this name.
    UnknownSet,
    /// There is no text in the current call.
    NoText,
    /// More matches than the host returns at once.
    TooManyHits(u32),
}

#[cfg(target_arch = "wasm32")]
mod imports {
    //! The host's own functions.
    use super::{Hit, Level, ScanError};
    use crate::bindings::imports::hermes::host;

    pub(super) fn log(level: Level, message: &str) {
        let level = match level {
            Level::Trace => host::log::Level::Trace,
            Level::Debug => host::log::Level::Debug,
            Level::Info => host::log::Level::Info,
            Level::Warn => host::log::Level::Warn,
            Level::Error => host::log::Level::Error,
        };
        host::log::write(level, message);
    }

    pub(super) fn count(name: &str, by: u64) {
        host::count::add(name, by);
    }

    pub(super) fn find(set: &str) -> Result<Vec<Hit>, ScanError> {
        host::scan::find(set)
            .map(|hits| {
                hits.into_iter()
                    .map(|hit| Hit { pattern: hit.pattern as usize, range: hit.start as usize..hit.end as usize })
                    .collect()
            })
            .map_err(|error| match error {
                host::scan::ScanError::UnknownSet => ScanError::UnknownSet,
                host::scan::ScanError::NoText => ScanError::NoText,
                host::scan::ScanError::TooManyHits(limit) => ScanError::TooManyHits(limit),
            })
    }

    pub(super) fn unix_ms() -> u64 {
        host::clock::unix_ms()
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod imports {
    //! What stands in for the host in native tests.
    use super::{Hit, Level, ScanError};

    #[expect(clippy::print_stderr, reason = "the output of a native test is where its author looks")]
    pub(super) fn log(level: Level, message: &str) {
        eprintln!("[{level:?}] {message}");
    }

    pub(super) fn count(_: &str, _: u64) {}

    pub(super) fn find(_: &str) -> Result<Vec<Hit>, ScanError> {
        Err(ScanError::NoText)
    }

    pub(super) fn unix_ms() -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

/// Writes a line for the author.
pub fn log(level: Level, message: &str) {
    imports::log(level, message);
}

/// Adds to a counter the descriptor declares.
pub fn count(name: &str, by: u64) {
    imports::count(name, by);
}

/// Runs a pattern set the descriptor declares over the text of the current call, at native speed.
///
/// # Errors
/// See [`ScanError`].
pub fn find(set: &str) -> Result<Vec<Hit>, ScanError> {
    imports::find(set)
}

/// Milliseconds since 1970-01-01T00:00:00Z. For notifiers: a raw-text plugin that imports it is refused.
#[must_use]
pub fn unix_ms() -> u64 {
    imports::unix_ms()
}
