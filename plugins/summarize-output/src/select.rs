//! Spends the budget: takes records by weight until it is used, then writes them down in the order of the text.
//!
//! This must never write more than the budget, and never leave a line out without a mark.

use crate::fold::{Folded, Record};
use crate::rank::{Ranked, WANTED};
use crate::render::{self, Ended, HEADER, Header};

/// Where lines are cut when the text must be cut anyway: bytes, from a weight on. What matters most stays longest.
const LONG: [(u8, usize); 3] = [(78, 600), (50, 320), (0, 200)];
/// No line takes more than this part of the budget.
const SHARE: usize = 4;
/// Times the budget is filled, each time with what the one before left over.
const ROUNDS: usize = 4;
/// Samples fill the budget up to this part, so that a log without much to say stays short.
const SAMPLES: usize = 2;

/// Which lines of the text go where.
pub struct Choice<'a> {
    /// The text.
    pub text: &'a str,
    /// Its records.
    pub folded: &'a Folded,
    /// Records that are kept.
    kept: Vec<bool>,
    /// Records that no gap, however small, brings back.
    barred: Vec<bool>,
    longest: usize,
    mark: usize,
    weights: &'a [u8],
    ranked: Option<&'a Ranked>,
}

impl<'a> Choice<'a> {
    /// Keeps every record except some: for a text that fits.
    #[must_use]
    pub fn all_but(text: &'a str, folded: &'a Folded, left_out: &[usize]) -> Self {
        let mut kept = vec![true; folded.records.len()];
        let mut barred = vec![false; folded.records.len()];
        for &at in left_out {
            kept[at] = false;
            barred[at] = true;
        }
        Self {
            text,
            folded,
            kept,
            barred,
            longest: usize::MAX,
            mark: render::mark_size(folded.lines),
            weights: &[],
            ranked: None,
        }
    }

    /// Keeps the records of most weight within `bytes`.
    #[must_use]
    pub fn best(text: &'a str, folded: &'a Folded, ranked: &'a Ranked, bytes: usize) -> Self {
        let share = bytes / SHARE;
        let records = &folded.records;
        let mut choice = Self {
            text,
            folded,
            kept: vec![false; records.len()],
            barred: ranked.weights.iter().map(|&weight| weight == 0).collect(),
            longest: share,
            mark: render::mark_size(folded.lines),
            weights: &ranked.weights,
            ranked: Some(ranked),
        };
        let mut order = by_weight(&ranked.weights);
        let mut room = bytes.saturating_sub(HEADER);
        let mut best = choice.kept.clone();
        for _ in 0..ROUNDS {
            choice.fill(&mut order, room, bytes / SAMPLES);
            // The header is in it, for the longest way to end.
            let written = choice.write(Ended::Exit(i32::MIN), false).len();
            if written > bytes {
                room = room.saturating_sub(written - bytes);
                continue;
            }
            best.copy_from_slice(&choice.kept);
            // Marks are mostly shorter than assumed; what is left goes to the next records.
            room += bytes - written;
        }
        choice.kept = best;
        choice
    }

    /// Keeps whole lines from the front and the back within `bytes`; the front gets one part of `parts`.
    #[must_use]
    pub fn ends(text: &'a str, folded: &'a Folded, bytes: usize, parts: usize) -> Self {
        let share = bytes / SHARE;
        let mut choice = Self::all_but(text, folded, &[]);
        choice.kept.fill(false);
        choice.longest = share;
        let room = bytes.saturating_sub(HEADER + choice.mark);
        let mut used = 0;
        let mut front = 0;
        while front < choice.kept.len() && used + choice.lines_cost(front) <= room / parts {
            used += choice.lines_cost(front);
            choice.kept[front] = true;
            front += 1;
        }
        for at in (front..choice.kept.len()).rev() {
            used += choice.lines_cost(at);
            if used > room {
                break;
            }
            choice.kept[at] = true;
        }
        choice
    }

    /// Takes records in an order until `room` bytes are used, and samples until `samples` are.
    fn fill(&mut self, order: &mut [Candidate], room: usize, samples: usize) {
        let mut used = self.mark;
        self.kept.fill(false);
        let most = room.max(samples);
        for candidate in order {
            if used + self.mark >= most {
                break; // Not even an empty line fits.
            }
            let at = candidate.at as usize;
            let room = if candidate.weight >= WANTED { room } else { samples };
            if candidate.cost == 0 {
                candidate.cost = self.cost(at) as u32;
            }
            if used + candidate.cost as usize <= room {
                self.kept[at] = true;
                // A mark on either side at worst; a neighbour that is kept needs none.
                used = used + candidate.cost as usize - self.marks_saved(at);
            }
        }
    }

    fn limit(&self, at: usize) -> usize {
        let by_weight =
            |&weight: &u8| LONG.iter().find(|(from, _)| weight >= *from).map_or(usize::MAX, |(_, limit)| *limit);
        self.weights.get(at).map_or(usize::MAX, by_weight).min(self.longest)
    }

    /// Bytes of a record's own lines, with the mark between them.
    fn lines_cost(&self, at: usize) -> usize {
        let record = &self.folded.records[at];
        let limit = self.limit(at);
        // A line that is not cut is not looked at: most are only weighed.
        let cost = |start: u32, end: u32| match (end - start) as usize {
            length if length <= limit => length + 1,
            _ => render::cost(&self.text[start as usize..end as usize], limit),
        };
        let first = cost(record.start, record.end);
        match record.count {
            1 => first,
            2 => first + cost(record.last_start, record.last_end),
            _ if record.equal => first + self.mark,
            _ => first + self.mark + cost(record.last_start, record.last_end),
        }
    }

    /// Bytes a record takes at worst, with the marks around it.
    fn cost(&self, at: usize) -> usize {
        let again = if self.repeat(at).is_some() { self.mark } else { 0 };
        self.lines_cost(at) + again + self.mark
    }

    fn repeat(&self, at: usize) -> Option<crate::rank::Repeat> {
        self.ranked.and_then(|ranked| ranked.repeats.get(&(at as u32)).copied())
    }

    /// Marks that are no longer needed once a record between others is kept. There is one gap more than there are
    /// stretches of kept records: a record that stands alone adds a stretch, one that joins two takes one away.
    fn marks_saved(&self, at: usize) -> usize {
        let before = at > 0 && self.kept[at - 1] && self.adjacent(at - 1);
        let after = at + 1 < self.kept.len() && self.kept[at + 1] && self.adjacent(at);
        self.mark * (usize::from(before) + usize::from(after))
    }

    /// Bytes of lines that are shown rather than marked as missing.
    fn spare(&self, mark: usize) -> usize {
        if self.ranked.is_some() { self.mark } else { mark }
    }

    fn adjacent(&self, at: usize) -> bool {
        self.folded.records[at].next_number() == self.folded.records[at + 1].number
    }

    /// Writes the summary.
    #[must_use]
    pub fn write(&self, ended: Ended, short: bool) -> String {
        let mut body = String::new();
        let mut kept = 0;
        let mut next = 1;
        let mut gap = 0..0;
        let mut failures = 0;
        for (at, record) in self.folded.records.iter().enumerate() {
            if !self.kept[at] {
                gap = if gap.is_empty() { at..at + 1 } else { gap.start..at + 1 };
                failures += if record.is_anchor() { record.count } else { 0 };
                continue;
            }
            kept += self.close(&mut body, gap, next, record.number, failures, short);
            gap = 0..0;
            failures = 0;
            kept += self.lines(&mut body, at, record);
            next = record.next_number();
        }
        kept += self.close(&mut body, gap, next, self.folded.lines + 1, failures, short);
        let mut out = String::with_capacity(body.len() + HEADER);
        Header { ended, lines: self.folded.lines, bytes: self.text.len(), kept }.write(&mut out, short);
        out.push_str(&body);
        if !self.text.ends_with('\n') {
            out.pop();
        }
        out
    }

    /// Writes the mark of a gap, or the lines themselves when they are shorter than it. Returns the lines written.
    fn close(
        &self,
        out: &mut String,
        gap: std::ops::Range<usize>,
        next: u32,
        until: u32,
        failures: u32,
        short: bool,
    ) -> u32 {
        if next >= until {
            return 0;
        }
        let mut mark = String::new();
        render::omitted(&mut mark, next, until - 1, failures, short);
        let records = &self.folded.records[gap.clone()];
        let whole = records.iter().map(|record| record.count).sum::<u32>() == until - next;
        let barred = gap.clone().any(|at| self.barred[at]);
        if whole
            && !barred
            && let (Some(first), Some(last)) = (records.first(), records.last())
        {
            let lines = &self.text[first.start as usize..last.last_end as usize];
            if lines.len() < self.spare(mark.len()) && !lines.contains('\r') {
                lines.split('\n').for_each(|line| render::line(out, line, usize::MAX));
                return until - next;
            }
        }
        out.push_str(&mark);
        0
    }

    fn lines(&self, out: &mut String, at: usize, record: &Record) -> u32 {
        let limit = self.limit(at);
        let whole = &self.text[record.start as usize..record.last_end as usize];
        let mut mark = String::new();
        if record.count > 2 || record.count == 2 && record.equal {
            let last = record.next_number() - 1;
            render::folded(&mut mark, record.number + 1, if record.equal { last } else { last - 1 }, record.equal);
        }
        let middle = whole.len() - (record.end - record.start) as usize;
        if record.count > 1 && middle <= mark.len() && !whole.contains('\r') {
            for line in whole.split('\n') {
                render::line(out, line, limit);
            }
            return record.count;
        }
        render::line(out, record.line(self.text), limit);
        out.push_str(&mark);
        let mut kept = 1;
        if record.count > 1 && !record.equal {
            render::line(out, record.last_line(self.text), limit);
            kept += 1;
        }
        if let Some(repeat) = self.repeat(at) {
            render::again(out, repeat.more, repeat.last);
        }
        kept
    }
}

/// A record that may be kept.
#[derive(Clone, Copy, Default)]
struct Candidate {
    weight: u8,
    at: u32,
    /// Bytes it takes at worst, once it has been asked for; 0 before. They are fewer than a text may have.
    cost: u32,
}

/// Records with their weights, the heaviest first and the earliest first among equals. A weight of 0 is never taken.
fn by_weight(weights: &[u8]) -> Vec<Candidate> {
    let mut starts = [0usize; 257];
    for &weight in weights {
        starts[usize::from(u8::MAX - weight) + 1] += 1;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let wanted = starts[usize::from(u8::MAX)];
    let mut sorted = vec![Candidate::default(); weights.len()];
    for (at, &weight) in weights.iter().enumerate() {
        let slot = &mut starts[usize::from(u8::MAX - weight)];
        sorted[*slot] = Candidate { weight, at: at as u32, cost: 0 };
        *slot += 1;
    }
    sorted.truncate(wanted);
    sorted
}
