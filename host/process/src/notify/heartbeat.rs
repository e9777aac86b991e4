//! [`Heartbeat`]: now and then, what a process printed since the last time, while it runs.
//!
//! Each beat costs its reader a turn, so it must never come without something new to read. It is not asked after the
//! process ended.

use std::time::Duration;

/// The shortest interval (design: 60 s).
pub const HEARTBEAT_MIN: Duration = Duration::from_secs(60);
/// The most text of one beat, in bytes (design: 2000).
pub const HEARTBEAT_OUTPUT: usize = 2000;

/// How much is kept: the most a beat shows and one character more, which says whether the cut is between two lines.
const KEPT: usize = HEARTBEAT_OUTPUT + 4;

/// One delivered beat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Its number; the first is 1, and beats that had nothing to say are not counted.
    pub seq: u64,
    /// How long the process runs.
    pub elapsed: Duration,
    /// The end of what was printed since the last beat, at most [`HEARTBEAT_OUTPUT`] bytes.
    pub output: String,
    /// How many bytes printed since the last beat come before that and are not shown.
    pub omitted: u64,
}

/// The heartbeat of one process. It holds the end of the new text, never more than a few thousand bytes.
pub struct Heartbeat {
    interval: Duration,
    started: Duration,
    next: Duration,
    /// How many beats were delivered.
    seq: u64,
    /// The end of what was pushed since the last beat.
    tail: String,
    /// How many bytes were pushed since the last beat.
    pushed: u64,
    /// Whether anything of them can be seen.
    seen: bool,
}

impl Heartbeat {
    /// A heartbeat for a process that started at `started`; none for an interval of zero, which turns it off. A shorter
    /// one than [`HEARTBEAT_MIN`] is taken as that.
    ///
    /// All text of the process belongs in it, from the first byte: the first beat begins with the start.
    pub fn new(interval: Duration, started: Duration) -> Option<Self> {
        if interval.is_zero() {
            return None;
        }
        let interval = interval.max(HEARTBEAT_MIN);
        let next = started.saturating_add(interval);
        Some(Self { interval, started, next, seq: 0, tail: String::new(), pushed: 0, seen: false })
    }

    /// Takes what the process printed.
    pub fn push(&mut self, text: &str) {
        self.pushed += text.len() as u64;
        self.seen = self.seen || text.contains(|c: char| !c.is_whitespace());
        let end = &text[text.floor_char_boundary(text.len().saturating_sub(KEPT))..];
        if end.len() < text.len() {
            self.tail.clear();
        }
        self.tail.push_str(end);
        // Cut only now and then: moving the text for each small push would cost more than the room.
        if self.tail.len() > 2 * KEPT {
            self.tail.drain(..self.tail.floor_char_boundary(self.tail.len() - KEPT));
        }
    }

    /// The beat that is due, if one is and there is something new to read. Where there is not, the next look is an
    /// interval away.
    pub fn due(&mut self, now: Duration) -> Option<Beat> {
        if now < self.next {
            return None;
        }
        self.next = now.saturating_add(self.interval);
        if !self.seen {
            return None;
        }
        let output = end_of(&self.tail).to_owned();
        let omitted = self.pushed - output.len() as u64;
        self.seq += 1;
        (self.pushed, self.seen) = (0, false);
        self.tail.clear();
        Some(Beat { seq: self.seq, elapsed: now.saturating_sub(self.started), output, omitted })
    }

    /// When [`Heartbeat::due`] is to be asked next.
    pub fn next_due(&self) -> Duration {
        self.next
    }

    /// The interval in force.
    pub fn interval(&self) -> Duration {
        self.interval
    }
}

/// The end of a text that a beat shows: whole lines where that costs at most half of it, whole characters anyway.
fn end_of(text: &str) -> &str {
    let from = text.ceil_char_boundary(text.len().saturating_sub(HEARTBEAT_OUTPUT));
    let end = &text[from..];
    if from == 0 || text[..from].ends_with('\n') {
        return end;
    }
    match end.find('\n') {
        Some(at) if at < HEARTBEAT_OUTPUT / 2 => &end[at + 1..],
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::lines::tests::chunks;
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn heartbeat(seconds: u32) -> Heartbeat {
        Heartbeat::new(seconds * SECOND, 10 * SECOND).unwrap()
    }

    #[test]
    fn zero_is_off_and_a_short_interval_is_a_minute() {
        assert!(Heartbeat::new(Duration::ZERO, SECOND).is_none());
        for short in [Duration::from_nanos(1), 59 * SECOND] {
            assert_eq!(Heartbeat::new(short, SECOND).unwrap().next_due(), 61 * SECOND);
        }
        assert_eq!(Heartbeat::new(300 * SECOND, SECOND).unwrap().interval(), 300 * SECOND);
    }

    #[test]
    fn beats_come_with_what_is_new_and_are_counted_as_delivered() {
        let mut heart = heartbeat(60);
        heart.push("early\n");
        assert_eq!(heart.due(69 * SECOND), None);
        let first = Beat { seq: 1, elapsed: 60 * SECOND, output: "early\n".into(), omitted: 0 };
        assert_eq!(heart.due(70 * SECOND), Some(first));
        heart.push(" \n\t\n");
        assert_eq!(heart.due(131 * SECOND), None, "blank text is nothing new");
        assert_eq!(heart.next_due(), 191 * SECOND);
        heart.push("late");
        let second = Beat { seq: 2, elapsed: 190 * SECOND, output: " \n\t\nlate".into(), omitted: 0 };
        assert_eq!(heart.due(200 * SECOND), Some(second));
        assert_eq!(heart.due(1000 * SECOND), None, "nothing came since");
    }

    #[test]
    fn a_long_output_is_shown_from_a_line_on_and_a_long_line_from_a_character_on() {
        let mut heart = heartbeat(60);
        heart.push(&"a line of text\n".repeat(1000));
        let beat = heart.due(70 * SECOND).unwrap();
        assert!(beat.output.starts_with("a line") && beat.output.len() > HEARTBEAT_OUTPUT - 15);
        heart.push(&"🦀".repeat(1000));
        heart.push("\nend");
        let beat = heart.due(130 * SECOND).unwrap();
        assert!(beat.output.starts_with('🦀') && beat.output.ends_with("\nend"), "a line is kept in part");
        heart.push("x\n");
        heart.push(&"y".repeat(HEARTBEAT_OUTPUT));
        assert_eq!(heart.due(190 * SECOND).unwrap().output, "y".repeat(HEARTBEAT_OUTPUT), "a cut between two lines");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_text_is_lost_between_beats_memory_is_bounded_and_chunks_change_nothing(
            turns in prop::collection::vec((prop::collection::vec(("[a🦀 \n]{0,6}", 1_usize..900), 0..4), 0_u32..150), 1..20),
            sizes in prop::collection::vec(1_usize..5000, 1..5),
        ) {
            let (mut whole, mut cut) = (heartbeat(60), heartbeat(60));
            let (mut now, mut last) = (10 * SECOND, None);
            let (mut waiting, mut count) = (String::new(), 0);
            for (parts, pause) in turns {
                now += pause * SECOND;
                let text: String = parts.iter().map(|(part, times)| part.repeat(*times)).collect();
                whole.push(&text);
                chunks(&text, &sizes).into_iter().for_each(|chunk| cut.push(chunk));
                waiting.push_str(&text);
                prop_assert!(whole.tail.len() <= 2 * KEPT + 4 && cut.tail.capacity() <= 8 * KEPT);
                let beat = whole.due(now);
                prop_assert_eq!(&beat, &cut.due(now));
                if let Some(beat) = beat {
                    count += 1;
                    prop_assert_eq!(beat.seq, count);
                    prop_assert!(beat.output.len() <= HEARTBEAT_OUTPUT && waiting.ends_with(&beat.output));
                    prop_assert_eq!(beat.omitted + beat.output.len() as u64, waiting.len() as u64);
                    prop_assert!(!waiting.trim().is_empty());
                    prop_assert!(last.is_none_or(|last| now - last >= HEARTBEAT_MIN));
                    last = Some(now);
                    waiting.clear();
                }
            }
        }
    }
}
