//! [`Watch`]: tells when a process prints what somebody waits for, and gives up on one that prints it all day.
//!
//! It must never wake anybody more often than its limits say, and never lose count of what it kept quiet. The caller
//! stops pushing when the process is over.

use std::time::Duration;

use super::lines::{Lines, Piece};

/// The most patterns for one process.
pub const PATTERNS_MAX: usize = 32;
/// The longest pattern, in bytes.
pub const PATTERN_BYTES_MAX: usize = 1000;
/// How long after a match further ones are only counted (design: 15 s).
pub const WATCH_INTERVAL: Duration = Duration::from_secs(15);
/// After how many intervals in a row with matches that were only counted a process is no longer watched (design: 3).
pub const STRIKES_MAX: u32 = 3;
/// After how many delivered matches a process is no longer watched, however far apart they were (design: 8).
pub const HITS_MAX: u32 = 8;
/// The most lines of one match (design: 20).
pub const MATCH_LINES_MAX: u64 = 20;
/// The most text of one match, in characters (design: 2000).
pub const MATCH_CHARS_MAX: usize = 2000;

/// What is wrong with the patterns. Patterns are counted from 1 and not quoted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    /// There are none.
    #[error("there is no pattern to watch for; give at least one")]
    None,
    /// There are more than [`PATTERNS_MAX`].
    #[error("{0} patterns are too many to watch for; give at most {PATTERNS_MAX}")]
    TooMany(usize),
    /// One is empty.
    #[error("pattern {0} is empty and would match every line; give a text that the lines hold")]
    Empty(usize),
    /// One is longer than [`PATTERN_BYTES_MAX`].
    #[error("pattern {number} has {bytes} bytes; shorten it to at most {PATTERN_BYTES_MAX}")]
    TooLong {
        /// Which one.
        number: usize,
        /// How long it is.
        bytes: usize,
    },
    /// One holds a newline or another control character that is in no line that is shown.
    #[error("pattern {0} holds a newline or control character, which no line does; give a part of one line")]
    Unmatchable(usize),
}

/// What a process printed that somebody waited for, or that it is no longer watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchEvent {
    /// Lines matched.
    Matched {
        /// The pattern, as a place in the list that was given: the first of that list that the first line holds.
        pattern: usize,
        /// The lines: at most [`MATCH_LINES_MAX`] and [`MATCH_CHARS_MAX`]. A first line that is too long is cut around
        /// its match.
        lines: String,
        /// Whether `lines` is not all that matched now.
        cut: bool,
        /// How many matching lines nobody saw since the last match: those that came too soon after it, and those that
        /// found no room in this one.
        suppressed: u64,
    },
    /// The process is no longer watched. It is to be announced when it ends instead, even if nobody asked for that.
    Disabled {
        /// Why.
        reason: DisabledReason,
        /// How many matching lines nobody saw since the last match.
        suppressed: u64,
    },
}

/// Why a process is no longer watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisabledReason {
    /// It matched too often [`STRIKES_MAX`] times in a row.
    Strikes,
    /// It matched [`HITS_MAX`] times.
    Lifetime,
}

/// The patterns of one process and what came of them. Patterns are arguments of a person: this type has no `Debug`.
pub struct Watch {
    patterns: Vec<String>,
    state: State,
}

enum State {
    Watching(Lines, Pace),
    Disabled,
}

impl Watch {
    /// Watches for any of these texts within a line. They are no regular expressions.
    ///
    /// # Errors
    /// [`BadPattern`]: nothing is watched then.
    pub fn new(patterns: Vec<String>) -> Result<Self, BadPattern> {
        match patterns.len() {
            0 => return Err(BadPattern::None),
            1..=PATTERNS_MAX => {}
            many => return Err(BadPattern::TooMany(many)),
        }
        let mut longest = 0;
        for (pattern, number) in patterns.iter().zip(1..) {
            let bytes = pattern.len();
            if pattern.is_empty() {
                return Err(BadPattern::Empty(number));
            } else if bytes > PATTERN_BYTES_MAX {
                return Err(BadPattern::TooLong { number, bytes });
            } else if pattern.contains(|c: char| c.is_control() && c != '\t') {
                return Err(BadPattern::Unmatchable(number));
            }
            longest = longest.max(bytes);
        }
        Ok(Self { patterns, state: State::Watching(Lines::new(longest - 1), Pace::default()) })
    }

    /// Takes visible text of the process, shown at `now`. A line counts once it has ended.
    pub fn push(&mut self, text: &str, now: Duration) -> Vec<WatchEvent> {
        let State::Watching(lines, pace) = &mut self.state else { return Vec::new() };
        let mut found = Found::default();
        lines.push(text, |piece| found.look(&self.patterns, piece));
        let events = pace.settle(found, now);
        self.keep(events)
    }

    /// Says that the process prints nothing more: a last line without its end counts too.
    pub fn finish(&mut self, now: Duration) -> Vec<WatchEvent> {
        let State::Watching(lines, pace) = &mut self.state else { return Vec::new() };
        let mut found = Found::default();
        lines.finish(|piece| found.look(&self.patterns, piece));
        let events = pace.settle(found, now);
        self.keep(events)
    }

    /// Whether it still looks for anything.
    pub fn is_watching(&self) -> bool {
        matches!(self.state, State::Watching(..))
    }

    /// The pattern at this place.
    pub fn pattern(&self, index: usize) -> Option<&str> {
        self.patterns.get(index).map(String::as_str)
    }

    fn keep(&mut self, events: Vec<WatchEvent>) -> Vec<WatchEvent> {
        if matches!(events.last(), Some(WatchEvent::Disabled { .. })) {
            self.state = State::Disabled;
        }
        events
    }
}

/// What matched in one push.
#[derive(Default)]
struct Found {
    pattern: usize,
    lines: String,
    chars: usize,
    shown: u64,
    matched: u64,
    /// Whether something had no room: what comes after it is not shown either.
    cut: bool,
}

impl Found {
    fn look(&mut self, patterns: &[String], piece: Piece<'_>) {
        for (index, pattern) in patterns.iter().enumerate() {
            // A match that ends before the fresh text has been counted with the piece before.
            let from = piece.text.ceil_char_boundary((piece.fresh_from + 1).saturating_sub(pattern.len()));
            let fresh = &piece.text[from..];
            // `contains` is several times faster than `find`, and nearly every line is without a match.
            if fresh.contains(pattern.as_str())
                && let Some(at) = fresh.find(pattern.as_str())
            {
                if self.matched == 0 {
                    self.pattern = index;
                }
                self.add(piece.text, from + at, pattern);
                return;
            }
        }
    }

    fn add(&mut self, line: &str, at: usize, pattern: &str) {
        self.matched += 1;
        if self.cut || self.shown == MATCH_LINES_MAX {
            self.cut = true;
            return;
        }
        let chars = line.chars().count();
        if self.shown == 0 {
            self.cut = chars > MATCH_CHARS_MAX;
            self.lines.push_str(around(line, at, pattern));
            self.chars = chars.min(MATCH_CHARS_MAX);
        } else if self.chars + 1 + chars <= MATCH_CHARS_MAX {
            self.lines.push('\n');
            self.lines.push_str(line);
            self.chars += 1 + chars;
        } else {
            self.cut = true;
            return;
        }
        self.shown += 1;
    }
}

/// The part of a line that is shown: its beginning, if the match is there, or what is around the match.
fn around<'a>(line: &'a str, at: usize, pattern: &str) -> &'a str {
    let before = line[..at].chars().count();
    let skipped = if before + pattern.chars().count() <= MATCH_CHARS_MAX {
        0
    } else {
        // A quarter of the room for what led to it; the pattern takes half of it at most.
        before - MATCH_CHARS_MAX / 4
    };
    let border = |chars: usize| line.char_indices().nth(chars).map_or(line.len(), |(at, _)| at);
    &line[border(skipped)..border(skipped + MATCH_CHARS_MAX)]
}

/// How often a process matched, and when.
#[derive(Default)]
struct Pace {
    interval: Option<Interval>,
    strikes: u32,
    hits: u32,
    /// Matching lines that nobody saw since the last match.
    suppressed: u64,
}

/// The time after a match in which others are only counted.
struct Interval {
    since: Duration,
    /// Whether there was one to count.
    struck: bool,
}

impl Pace {
    fn settle(&mut self, found: Found, now: Duration) -> Vec<WatchEvent> {
        if found.matched == 0 {
            return Vec::new();
        }
        if let Some(interval) = &mut self.interval {
            if now.saturating_sub(interval.since) < WATCH_INTERVAL {
                self.suppressed += found.matched;
                if !interval.struck {
                    interval.struck = true;
                    self.strikes += 1;
                }
                let reason = (self.strikes == STRIKES_MAX).then_some(DisabledReason::Strikes);
                return reason.map(|reason| self.disabled(reason)).into_iter().collect();
            }
            if !interval.struck {
                self.strikes = 0;
            }
        }
        self.interval = Some(Interval { since: now, struck: false });
        self.hits += 1;
        let suppressed = std::mem::take(&mut self.suppressed) + (found.matched - found.shown);
        let Found { pattern, lines, cut, .. } = found;
        let mut events = vec![WatchEvent::Matched { pattern, lines, cut, suppressed }];
        if self.hits == HITS_MAX {
            events.push(self.disabled(DisabledReason::Lifetime));
        }
        events
    }

    fn disabled(&mut self, reason: DisabledReason) -> WatchEvent {
        WatchEvent::Disabled { reason, suppressed: std::mem::take(&mut self.suppressed) }
    }
}

#[cfg(test)]
mod tests;
