//! How much each record is worth: failures first, then what explains them, then what ran, then samples.
//!
//! This must never look at anything but the records and their lines: no clock, no chance, no hash with a random seed.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::classify::Class;
use crate::fold::Record;

/// Weight from which a record is wanted for its own sake; below it, it is a sample.
pub const WANTED: u8 = 20;

/// Weights of the kinds by themselves. Their order is the order in which the budget is spent; the numbers leave room
/// between kinds for the position and the repetition of a line.
fn own(class: Class) -> u8 {
    match class {
        Class::Terminal => 96,
        Class::Error => 88,
        Class::Failure => 86,
        Class::Summary => 70,
        Class::Located => 68,
        Class::Cause => 44,
        Class::Diff => 30,
        Class::Frame => 26,
        Class::Warn => 24,
        Class::Heading => 18,
        Class::Command => 17,
        Class::Plain => 14,
        Class::Info => 8,
        Class::Pass | Class::Progress => 6,
        Class::Blank | Class::Rule => 2,
    }
}

/// The last of the runner's counts.
const FINAL_SUMMARY: u8 = 97;
/// Counts that end the run: how many of the last ones.
const FINAL_SUMMARIES: usize = 3;
/// The command or step that failed.
const WHAT_RAN: u8 = 82;
/// A heading that names the file of `row:column` lines.
const FILE_OF_ROWS: u8 = 87;
/// The first lines of the text.
const HEAD: u8 = 40;
/// How many of them.
const HEAD_LINES: usize = 6;
/// The lines before the end of the run, nearest first.
const TAIL: u8 = 84;
/// How many of them.
const TAIL_LINES: usize = 30;
/// The last lines of the text, when the run ended before them.
const AFTER: u8 = 44;
/// How many of them.
const AFTER_LINES: usize = 3;
/// A repeat of an anchor that has been shown.
const REPEAT: u8 = 10;
/// A claim of success in a run that failed.
const CONTRADICTED: u8 = 0;
/// The longest unbroken token of a sample: hashes and encoded data cost much and say nothing.
const SAMPLE_TOKEN: usize = 40;

/// Lines after and before an anchor that explain it, for the first one of its kind.
const BLOCK: (usize, usize) = (16, 4);
/// The same for the very first and very last block.
const END_BLOCK: (usize, usize) = (24, 8);
/// Lines of a list after which a block has ended.
const LIST: usize = 3;
/// What the first and the last block are worth more.
const END_BONUS: u8 = 9;
/// Lines below an anchor that may belong to its trace.
const TRACE: usize = 40;
/// What a failure is worth less when the step that failed had ended before it: it comes from cleaning up.
const AFTERWARDS: u8 = 24;
/// How many lines below a warning its place may stand.
const PLACE_BELOW: usize = 2;
/// How a CI system begins a step.
const STEP: &[u8] = b"##[group]Run ";
/// The same for further ones of its kind.
const SMALL_BLOCK: (usize, usize) = (3, 1);

/// A hasher without a seed, so that identical texts give identical summaries.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, value: u64) {
        // The golden ratio of 2^64, the usual factor of multiplicative hashing.
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

/// A map that hashes with [`Spread`].
pub type Map<K, V> = HashMap<K, V, BuildHasherDefault<Spread>>;

/// Weights of all records, and what else the choice needs.
#[derive(Debug, Default)]
pub struct Ranked {
    /// One weight a record.
    pub weights: Vec<u8>,
    /// How often the line stands in the text, for the first record of an anchor that repeats.
    pub repeats: Map<u32, Repeat>,
}

/// A line that stands elsewhere too.
#[derive(Clone, Copy, Debug, Default)]
pub struct Repeat {
    /// Further times.
    pub more: u32,
    /// Line number of the last.
    pub last: u32,
}

/// Whether any line is of a kind that tells more than the others.
#[must_use]
pub fn recognised(records: &[Record]) -> bool {
    records.iter().any(|r| r.is_anchor() || matches!(r.shape.class, Class::Summary | Class::Warn))
}

/// Ranks the records of a text. `failed` is whether the run is known to have failed.
#[must_use]
pub fn rank(records: &mut [Record], text: &str, failed: bool) -> Ranked {
    demote_scripts(records, text);
    places_of_warnings(records);
    let mut ranked = Ranked { weights: records.iter().map(|r| own(r.shape.class)).collect(), ..Ranked::default() };
    let anchors = anchors(records, text, &mut ranked);
    summaries(records, &mut ranked.weights, failed);
    let end = end(records, text);
    blocks(records, text, &anchors, end, &mut ranked.weights);
    files_of_rows(records, &mut ranked.weights);
    what_ran(records, &anchors, end, &mut ranked.weights);
    edges(records, end, &mut ranked.weights);
    samples(records, text, &mut ranked.weights);
    if failed {
        for at in contradicted(records, true) {
            ranked.weights[at] = CONTRADICTED;
        }
    }
    ranked
}

/// Records that claim success although the run failed and a failure stands before them. `killed` counts the whole run
/// as a failure.
pub fn contradicted(records: &[Record], killed: bool) -> Vec<usize> {
    let mut failure = killed;
    let mut found = Vec::new();
    for (at, record) in records.iter().enumerate() {
        failure |= matches!(record.shape.class, Class::Terminal | Class::Error | Class::Failure);
        if failure && record.shape.green {
            found.push(at);
        }
    }
    found
}

/// The text of a script that a CI system prints before it runs it only looks like output.
fn demote_scripts(records: &mut [Record], text: &str) {
    let mut inside = false;
    for record in records {
        let body = record.body(text);
        match record.shape.class {
            Class::Command if body.starts_with(STEP) => inside = true,
            Class::Info if body.starts_with(b"##[endgroup]") => inside = false,
            _ if inside => record.shape.class = Class::Info,
            _ => {}
        }
    }
}

/// The place of a warning (`--> file:line:column` below it) tells nothing without the warning, and is worth less.
fn places_of_warnings(records: &mut [Record]) {
    let mut warning = None;
    for (at, record) in records.iter_mut().enumerate() {
        match record.shape.class {
            Class::Warn => warning = Some(at),
            Class::Located | Class::Frame if warning.is_some_and(|warning| at - warning <= PLACE_BELOW) => {
                record.shape.class = Class::Info;
            }
            _ => {}
        }
    }
}

/// An anchor and how many of its kind are nearer to an end of the text.
struct Anchor {
    at: usize,
    nth: usize,
}

/// Finds the distinct anchors and lowers the weight of the others.
fn anchors(records: &[Record], text: &str, ranked: &mut Ranked) -> Vec<Anchor> {
    let mut seen: Map<u64, usize> = Map::default();
    let mut kinds: Map<u64, (usize, usize)> = Map::default();
    let mut anchors = Vec::new();
    for (at, record) in records.iter().enumerate() {
        if !(record.is_anchor() || record.shape.class == Class::Warn) {
            continue;
        }
        let mut hasher = Spread::default();
        hasher.write(record.body(text));
        if let Some(&first) = seen.get(&hasher.finish()) {
            ranked.weights[at] = REPEAT;
            let repeat = ranked.repeats.entry(first as u32).or_default();
            repeat.more += record.count;
            repeat.last = record.next_number() - 1;
            continue;
        }
        seen.insert(hasher.finish(), at);
        kinds.entry(record.shape.template).or_default().0 += 1;
        anchors.push(Anchor { at, nth: 0 });
    }
    for anchor in &mut anchors {
        let record = &records[anchor.at];
        let kind = kinds.entry(record.shape.template).or_default();
        anchor.nth = kind.1.min(kind.0 - 1 - kind.1);
        kind.1 += 1;
        let later = match anchor.nth {
            0 => 0,
            1 => 8,
            2 => 12,
            3..=5 => 22,
            6..=11 => 30,
            _ => 40,
        };
        ranked.weights[anchor.at] = own(record.shape.class).saturating_sub(later).max(REPEAT);
    }
    many(records, &anchors, &mut ranked.weights);
    anchors
}

/// When there are many kinds of failures, those at either end are worth more than those between.
fn many(records: &[Record], anchors: &[Anchor], weights: &mut [u8]) {
    let kinds = || anchors.iter().filter(|anchor| anchor.nth == 0 && records[anchor.at].shape.class >= Class::Failure);
    let count = kinds().count();
    for (nth, anchor) in kinds().enumerate() {
        let lower = match nth.min(count - 1 - nth) {
            0..=3 => 0,
            4..=7 => 6,
            8..=15 => 12,
            _ => 18,
        };
        weights[anchor.at] -= lower;
    }
}

/// The final counts are worth most; earlier ones are like any other line, and claims of success in a failed run less.
fn summaries(records: &[Record], weights: &mut [u8], failed: bool) {
    let mut left = FINAL_SUMMARIES;
    for (at, record) in records.iter().enumerate().rev() {
        if record.shape.class != Class::Summary {
            continue;
        }
        if failed && record.shape.green {
            weights[at] = REPEAT;
        } else if left > 0 {
            weights[at] = FINAL_SUMMARY;
            left -= 1;
        }
    }
}

/// Where the run ended: the last sign of it, or else the last line.
fn end(records: &[Record], text: &str) -> usize {
    let last = |of: &dyn Fn(Class) -> bool| records.iter().rposition(|r| of(r.shape.class));
    let step = records.iter().rposition(|r| r.shape.class == Class::Terminal && r.body(text).starts_with(b"##[error]"));
    step.or_else(|| last(&|class| class == Class::Terminal))
        .or_else(|| last(&|class| matches!(class, Class::Error | Class::Failure | Class::Summary)))
        .unwrap_or(records.len().saturating_sub(1))
}

/// Raises the lines around anchors.
fn blocks(records: &[Record], text: &str, anchors: &[Anchor], end: usize, weights: &mut [u8]) {
    let strong = |anchor: &&Anchor| records[anchor.at].shape.class >= Class::Failure;
    let step = records[..end].iter().rposition(|r| r.shape.class == Class::Command && r.body(text).starts_with(STEP));
    // The first failure, the first one of the step that failed, and the last one.
    let ends = [
        anchors.iter().find(strong),
        anchors.iter().find(|anchor| step.is_some_and(|step| anchor.at > step) && strong(anchor)),
        anchors.iter().rfind(|anchor| anchor.at <= end && strong(anchor)),
    ];
    let ends = ends.map(|anchor| anchor.map(|anchor| anchor.at));
    for anchor in anchors.iter().filter(|anchor| anchor.at > end && step.is_some()) {
        weights[anchor.at] = weights[anchor.at].saturating_sub(AFTERWARDS).max(REPEAT);
    }
    for anchor in anchors {
        let at = anchor.at;
        let class = records[at].shape.class;
        if class < Class::Cause {
            continue;
        }
        let at_end = ends.contains(&Some(at));
        let (after, before) = match (at_end, anchor.nth) {
            _ if at == end => (0, END_BLOCK.1),
            (true, _) => END_BLOCK,
            (_, 0) if class >= Class::Failure => BLOCK,
            _ => SMALL_BLOCK,
        };
        let weight = weights[at] + if at_end { END_BONUS } else { 0 };
        weights[at] = weight;
        let mut framed = false;
        let mut alike = 0;
        for (step, near) in (at + 1..records.len().min(at + 1 + after)).enumerate() {
            let class = records[near].shape.class;
            if matches!(class, Class::Pass | Class::Progress) || class >= Class::Terminal {
                break;
            }
            alike = if listed(records, text, near) { alike + 1 } else { 0 };
            if alike >= LIST {
                break;
            }
            raise(records, text, weights, (at, near), step + 1, &mut framed);
        }
        framed = false;
        for (step, near) in (at.saturating_sub(before)..at).rev().enumerate() {
            raise(records, text, weights, (at, near), step + 2, &mut framed);
        }
        if anchor.nth == 0 && class >= Class::Failure {
            user_frame(records, text, at, weights);
        }
    }
}

/// Whether a line is one more of a list: ordinary, and beginning like the one before it.
fn listed(records: &[Record], text: &str, at: usize) -> bool {
    /// Bytes that must be equal; enough for a bullet and two letters.
    const BEGINNING: usize = 6;
    let beginning = |at: usize| records[at].body(text).get(..BEGINNING);
    let same = beginning(at).is_some() && beginning(at) == beginning(at - 1);
    let code =
        beginning(at).is_some_and(|b| b[0] == b' ' && !b[1..].contains(&b'*') || matches!(b[0], b'|' | b'E' | b'\t'));
    records[at].shape.class == Class::Plain && (records[at].count > 2 || same && !code)
}

/// Raises a line that is `step` lines away from an anchor.
fn raise(
    records: &[Record],
    text: &str,
    weights: &mut [u8],
    (at, near): (usize, usize),
    step: usize,
    framed: &mut bool,
) {
    if records[near].shape.template == records[at].shape.template {
        return; // One more of its kind explains nothing.
    }
    let step = step.min(40) as u8;
    let lower = match records[near].shape.class {
        Class::Blank | Class::Rule | Class::Pass | Class::Progress | Class::Info => return,
        Class::Diff => 2 + step / 4,
        Class::Frame if vendor(records[near].body(text)) => 20 + step,
        Class::Frame if !*framed => {
            *framed = true;
            2
        }
        _ => 4 + step,
    };
    weights[near] = weights[near].max(weights[at].saturating_sub(lower));
}

/// Raises the first frame below an anchor that is the user's own.
fn user_frame(records: &[Record], text: &str, at: usize, weights: &mut [u8]) {
    let below = records.iter().enumerate().skip(at + 1).take(TRACE);
    let until = below.take_while(|(_, r)| !matches!(r.shape.class, Class::Failure | Class::Pass | Class::Summary));
    if let Some((frame, _)) = { until }.find(|(_, r)| r.shape.class == Class::Frame && !vendor(r.body(text))) {
        weights[frame] = weights[frame].max(weights[at].saturating_sub(2));
    }
}

/// Folders of code that is not the user's: libraries, runtimes, standard libraries.
const VENDOR: [&[u8]; 12] = [
    b"node_modules/",
    b"(node:",
    b"site-packages/",
    b"dist-packages/",
    b"/lib/python",
    b".cargo/registry",
    b"/rustc/",
    b"/usr/lib/",
    b"java.base/",
    b"/go/pkg/mod/",
    b"org.junit.",
    b"/usr/local/go/",
];

fn vendor(frame: &[u8]) -> bool {
    VENDOR.iter().any(|folder| memchr::memmem::find(frame, folder).is_some())
}

/// Raises the headings that name the file of `row:column` lines below them.
fn files_of_rows(records: &[Record], weights: &mut [u8]) {
    let mut file: Option<usize> = None;
    for (at, record) in records.iter().enumerate() {
        match (record.shape.row_column, record.shape.class) {
            (true, class) if class >= Class::Cause => {
                if let Some(file) = file {
                    weights[file] = weights[file].max(FILE_OF_ROWS.min(weights[at]));
                }
            }
            (false, Class::Heading) => file = Some(at),
            _ => {}
        }
    }
}

/// Raises the command before the first strong anchor and before the end.
fn what_ran(records: &[Record], anchors: &[Anchor], end: usize, weights: &mut [u8]) {
    let first = anchors.iter().find(|anchor| records[anchor.at].shape.class >= Class::Failure).map(|anchor| anchor.at);
    for at in [first, Some(end)].into_iter().flatten() {
        if let Some(command) = records[..at].iter().rposition(|r| r.shape.class == Class::Command) {
            weights[command] = weights[command].max(WHAT_RAN);
        }
    }
}

/// Raises the first lines, the lines before the end of the run, and the very last ones.
fn edges(records: &[Record], end: usize, weights: &mut [u8]) {
    let lift = |weights: &mut [u8], at: usize, to: u8| {
        if !matches!(records[at].shape.class, Class::Blank | Class::Rule) {
            weights[at] = weights[at].max(to);
        }
    };
    for at in 0..records.len().min(HEAD_LINES) {
        lift(weights, at, HEAD);
    }
    for at in end.saturating_sub(TAIL_LINES)..=end.min(records.len().saturating_sub(1)) {
        lift(weights, at, TAIL.saturating_sub((end - at) as u8));
    }
    for at in records.len().saturating_sub(AFTER_LINES)..records.len() {
        lift(weights, at, AFTER);
    }
}

/// One sample of each template is worth more than another of the same; lines with opaque tokens are none.
fn samples(records: &[Record], text: &str, weights: &mut [u8]) {
    let mut seen: Map<u64, ()> = Map::default();
    for (at, record) in records.iter().enumerate() {
        if weights[at] >= WANTED {
            continue;
        }
        let opaque = record.body(text).split(u8::is_ascii_whitespace).any(|token| token.len() > SAMPLE_TOKEN);
        if opaque {
            weights[at] = 0;
        } else if record.shape.class == Class::Plain && seen.insert(record.shape.template, ()).is_some() {
            weights[at] = 4;
        }
    }
}
