//! Strikes and quarantine: a plugin that keeps trapping or running out of time is not called for a while.
//!
//! The state is pure; the book keeps it beside the generations, so that a host that lives for one command counts too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use hermes_home::files;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// This many strikes within [`STRIKE_WINDOW_MS`] quarantine a plugin.
pub const STRIKES_MAX: usize = 5;
/// How long a strike counts.
pub const STRIKE_WINDOW_MS: u64 = 10 * 60 * 1000;
/// The first quarantine; each further one is twice as long.
pub const QUARANTINE_MS: u64 = 60 * 1000;
/// The longest quarantine.
pub const QUARANTINE_MAX_MS: u64 = 60 * 60 * 1000;
/// The largest book: a few hundred bytes for each plugin that ever struck.
const BOOK_MAX: u64 = 4 * 1024 * 1024;

/// How a plugin stands. Times are milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "standing", rename_all = "kebab-case")]
pub enum Standing {
    /// It is called. Its recent strikes are remembered.
    Good {
        /// When they were.
        strikes: Vec<u64>,
    },
    /// It is not called before `until`.
    Quarantined {
        /// When it is tried again.
        until: u64,
        /// How many times in a row it has been quarantined.
        times: u32,
        /// The word for its last strike.
        cause: String,
    },
    /// It is called again; one more strike quarantines it for longer.
    Probation {
        /// How many times in a row it has been quarantined.
        times: u32,
    },
}

impl Default for Standing {
    fn default() -> Self {
        Self::Good { strikes: Vec::new() }
    }
}

/// What happens to a plugin.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A call was ended; the word says how.
    Strike(&'a str),
    /// A call was answered.
    Answer,
    /// Somebody is about to call it.
    Ask,
}

impl Standing {
    /// The next standing.
    #[must_use]
    pub fn on(self, event: Event<'_>, now: u64) -> Self {
        match (self, event) {
            (Self::Good { mut strikes }, Event::Strike(cause)) => {
                strikes.retain(|at| now.saturating_sub(*at) < STRIKE_WINDOW_MS);
                strikes.push(now);
                if strikes.len() >= STRIKES_MAX { quarantined(1, cause, now) } else { Self::Good { strikes } }
            }
            (Self::Probation { times }, Event::Strike(cause)) => quarantined(times.saturating_add(1), cause, now),
            (Self::Probation { .. }, Event::Answer) => Self::default(),
            (Self::Quarantined { until, times, .. }, Event::Ask) if now >= until => Self::Probation { times },
            (standing, _) => standing,
        }
    }

    /// Whether it may not be called now.
    pub fn is_quarantined(&self) -> bool {
        matches!(self, Self::Quarantined { .. })
    }
}

fn quarantined(times: u32, cause: &str, now: u64) -> Standing {
    let length = QUARANTINE_MS.saturating_mul(1 << (times - 1).min(16)).min(QUARANTINE_MAX_MS);
    Standing::Quarantined { until: now.saturating_add(length), times, cause: cause.to_owned() }
}

/// Milliseconds since 1970-01-01T00:00:00Z.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The standings of all plugins of a home, by digest: another version begins anew.
#[derive(Clone, Debug)]
pub struct Book {
    folder: PathBuf,
}

impl Book {
    /// The book in this folder. Nothing is created until there is something to write.
    pub fn at(plugins_dir: &Path) -> Self {
        Self { folder: plugins_dir.to_owned() }
    }

    /// How a plugin stands. A book that cannot be read says nothing against anyone.
    pub fn standing(&self, digest: Digest) -> Standing {
        self.read().remove(&digest).unwrap_or_default()
    }

    /// How every plugin of the book stands, read at once.
    pub fn standings(&self) -> BTreeMap<Digest, Standing> {
        self.read()
    }

    /// Writes an event down; the standing after it. Without a book the standing is counted in memory only.
    pub fn record(&self, digest: Digest, before: Standing, event: Event<'_>) -> Standing {
        self.update(digest, before, event).unwrap_or_else(|(standing, error)| {
            tracing::debug!(%digest, error, "a strike was not written down");
            standing
        })
    }

    fn update(&self, digest: Digest, before: Standing, event: Event<'_>) -> Result<Standing, (Standing, String)> {
        let now = now_ms();
        let alone = before.clone().on(event, now);
        let failed = |error: String| (alone.clone(), error);
        files::create_private_dir(&self.folder).map_err(|error| failed(error.to_string()))?;
        let _lock = files::lock(&self.folder.join("strikes.lock")).map_err(|error| failed(error.to_string()))?;
        let mut book = self.read();
        let standing = book.remove(&digest).unwrap_or(before).on(event, now);
        if standing != Standing::default() {
            book.insert(digest, standing.clone());
        }
        let bytes = serde_json::to_vec(&book).map_err(|error| failed(error.to_string()))?;
        files::write_atomically(&self.path(), &bytes).map_err(|error| failed(error.to_string()))?;
        Ok(standing)
    }

    /// Forgets a plugin's strikes: an operator enabled it again.
    ///
    /// # Errors
    /// The book cannot be written.
    pub fn forgive(&self, digest: Digest) -> Result<(), files::WriteError> {
        let mut book = self.read();
        if book.remove(&digest).is_none() {
            return Ok(());
        }
        let bytes = serde_json::to_vec(&book).unwrap_or_default();
        files::write_atomically(&self.path(), &bytes)
    }

    fn path(&self) -> PathBuf {
        self.folder.join("strikes.json")
    }

    fn read(&self) -> BTreeMap<Digest, Standing> {
        let bytes = files::read_bounded(&self.path(), BOOK_MAX).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn struck(times: usize) -> Standing {
        (0..times).fold(Standing::default(), |standing, at| standing.on(Event::Strike("trap"), at as u64))
    }

    #[test]
    fn five_strikes_in_ten_minutes_quarantine_and_four_do_not() {
        assert!(!struck(STRIKES_MAX - 1).is_quarantined());
        assert!(struck(STRIKES_MAX).is_quarantined());
        let late = struck(STRIKES_MAX - 1).on(Event::Strike("trap"), STRIKE_WINDOW_MS + 10);
        assert_eq!(late, Standing::Good { strikes: vec![STRIKE_WINDOW_MS + 10] });
    }

    #[test]
    fn a_plugin_comes_back_on_probation_and_the_next_quarantine_is_longer() {
        let Standing::Quarantined { until, .. } = struck(STRIKES_MAX) else { panic!() };
        assert!(struck(STRIKES_MAX).on(Event::Ask, until - 1).is_quarantined());
        let back = struck(STRIKES_MAX).on(Event::Ask, until);
        assert_eq!(back, Standing::Probation { times: 1 });
        assert_eq!(back.clone().on(Event::Answer, until), Standing::default());
        let Standing::Quarantined { until: second, times, .. } = back.on(Event::Strike("timeout"), until) else {
            panic!()
        };
        assert_eq!((second - until, times), (2 * QUARANTINE_MS, 2));
    }

    proptest! {
        #[test]
        fn no_quarantine_is_longer_than_the_longest(times in 0u32..200) {
            let standing = Standing::Probation { times }.on(Event::Strike("trap"), 5);
            let Standing::Quarantined { until, .. } = standing else { panic!() };
            prop_assert!(until - 5 <= QUARANTINE_MAX_MS);
        }
    }

    #[test]
    fn strikes_outlive_the_host_and_are_forgiven() {
        let folder = tempfile::tempdir().unwrap();
        let book = Book::at(&folder.path().join("plugins"));
        let digest = Digest::of(b"plugin");
        assert_eq!(book.standing(digest), Standing::default());
        assert!(!folder.path().join("plugins").exists());
        let mut standing = Standing::default();
        for _ in 0..STRIKES_MAX {
            standing = book.record(digest, Standing::default(), Event::Strike("trap"));
        }
        assert!(standing.is_quarantined());
        assert!(book.standing(digest).is_quarantined());
        book.forgive(digest).unwrap();
        assert_eq!(book.standing(digest), Standing::default());
    }
}
