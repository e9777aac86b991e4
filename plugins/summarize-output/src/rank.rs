//! How much each record is worth: failures first, then what explains them, then what ran, then samples.
//!
//! This must never look at anything but the records and their lines: no clock, no chance, no hash with a random seed.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::classify::Class;
use crate::find::find;
use crate::fold::Record;
use crate::simd::eight;

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
/// The very last line.
const LAST: u8 = 92;
/// The lines before the end of the run, nearest first.
const TAIL: u8 = 84;
/// How many of them.
const TAIL_LINES: usize = 30;
/// The last lines of the text, when the run ended before them.
const AFTER: u8 = 44;
/// How many of them.
const AFTER_LINES: usize = 3;
/// Lines before the end of a run that says nothing of what went wrong, and how many of them cost one of weight.
const QUIET_TAIL: (usize, usize) = (190, 4);
/// How far from the end, in records, lines that do not look like many others are looked for.
const FAR: usize = 1_000;
/// A line before the end that looks like many others.
const NOISE: u8 = 28;
/// What a line in a block is worth less when it looks like many others.
const LIKE_MANY: u8 = 24;
/// How many failures of a kind, from either end of the text, are more than noise.
const KIND: usize = 3;
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
/// What it is worth less when it stands in a step before that one, which went on in spite of it.
const BEFORE: u8 = 12;
/// How many lines below a warning its place may stand.
const PLACE_BELOW: usize = 2;
/// How a CI system ends a step that failed.
const STEP_ERROR: &[u8] = b"##[error]";
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
        let (words, rest) = bytes.as_chunks();
        words.iter().for_each(|word| self.write_u64(u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            self.write_u64(eight(bytes, bytes.len() - rest.len()));
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
    records.iter().any(|r| r.shape.class >= Class::Cause || r.shape.class == Class::Warn)
}

/// Ranks the records of a text. `failed` is whether the run is known to have failed.
#[must_use]
pub fn rank(records: &mut [Record], text: &str, failed: bool) -> Ranked {
    demote_scripts(records, text);
    places_of_warnings(records);
    // Where nothing else tells what went wrong, prose about a cause does.
    let quiet = !records.iter().any(Record::is_anchor);
    let own = |class| if quiet && failed && class == Class::Cause { own(Class::Failure) } else { own(class) };
    let mut ranked = Ranked { weights: records.iter().map(|r| own(r.shape.class)).collect(), ..Ranked::default() };
    let alike = alike(records);
    let mut common = common(records, &alike);
    let anchors = anchors(records, text, &alike, &mut ranked, &mut common);
    summaries(records, &mut ranked.weights, failed);
    let end = end(records, text);
    let of = Text { records, text, common: &common };
    blocks(&of, &anchors, end, &mut ranked.weights);
    files_of_rows(records, &mut ranked.weights);
    what_ran(records, &anchors, end, &mut ranked.weights);
    edges(&of, end, quiet, &mut ranked.weights);
    samples(records, text, &alike, &mut ranked.weights);
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
        match record.shape.class {
            Class::Command if record.body(text).starts_with(STEP) => inside = true,
            Class::Info if inside && record.body(text).starts_with(b"##[endgroup]") => inside = false,
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
            Class::Frame if warning.is_some_and(|warning| at - warning <= PLACE_BELOW) => {
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
fn anchors(records: &[Record], text: &str, alike: &[u32], ranked: &mut Ranked, common: &mut [bool]) -> Vec<Anchor> {
    let telling = |r: &Record| r.is_anchor() || matches!(r.shape.class, Class::Warn | Class::Cause);
    let count = records.iter().filter(|record| telling(record)).count();
    let mut seen: Map<u64, usize> = Map::with_capacity_and_hasher(count, BuildHasherDefault::default());
    // How many there are of a template, and how many were met.
    let mut kinds = vec![(0, 0); records.len()];
    let mut anchors = Vec::new();
    for (at, record) in records.iter().enumerate() {
        if !telling(record) {
            continue;
        }
        let mut hasher = Spread::default();
        hasher.write(record.body(text));
        let first = *seen.entry(hasher.finish()).or_insert(at);
        if first != at {
            ranked.weights[at] = REPEAT;
            common[at] = true;
            let repeat = ranked.repeats.entry(first as u32).or_default();
            repeat.more += record.count;
            repeat.last = record.next_number() - 1;
            continue;
        }
        kinds[alike[at] as usize].0 += 1;
        anchors.push(Anchor { at, nth: 0 });
    }
    for anchor in &mut anchors {
        let kind: &mut (usize, usize) = &mut kinds[alike[anchor.at] as usize];
        anchor.nth = kind.1.min(kind.0 - 1 - kind.1);
        kind.1 += 1;
        common[anchor.at] |= anchor.nth >= KIND;
        let later = match anchor.nth {
            0 => 0,
            1 => 8,
            2 => 12,
            3..=5 => 22,
            6..=11 => 30,
            _ => 40,
        };
        ranked.weights[anchor.at] = ranked.weights[anchor.at].saturating_sub(later).max(REPEAT);
    }
    many(records, &anchors, &mut ranked.weights);
    anchors
}

/// When there are many kinds of failures, those at either end are worth more than those between.
fn many(records: &[Record], anchors: &[Anchor], weights: &mut [u8]) {
    let least = if records.iter().any(Record::is_anchor) { Class::Failure } else { Class::Cause };
    let kinds = || anchors.iter().filter(|anchor| anchor.nth == 0 && records[anchor.at].shape.class >= least);
    let count = kinds().count();
    for (nth, anchor) in kinds().enumerate() {
        let lower = match nth.min(count - 1 - nth) {
            0..=3 => 0,
            4..=7 => 6,
            8..=15 => 12,
            16..=31 => 20,
            _ => 30,
        };
        weights[anchor.at] = weights[anchor.at].saturating_sub(lower).max(REPEAT);
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
    let step = records.iter().rposition(|r| r.shape.class == Class::Terminal && r.body(text).starts_with(STEP_ERROR));
    let told = |r: &Record| {
        matches!(r.shape.class, Class::Error | Class::Failure) || r.shape.class == Class::Summary && !r.shape.green
    };
    step.or_else(|| last(&|class| class == Class::Terminal))
        .or_else(|| records.iter().rposition(told))
        .unwrap_or(records.len().saturating_sub(1))
}

/// A text that is ranked.
struct Text<'t> {
    records: &'t [Record],
    text: &'t str,
    /// Which records look like many others.
    common: &'t [bool],
}

/// Bytes of a level in brackets that are compared, as in `[info]`.
const LEAD: usize = 5;

/// Raises the lines around anchors.
fn blocks(of: &Text<'_>, anchors: &[Anchor], end: usize, weights: &mut [u8]) {
    let Text { records, text, .. } = *of;
    let strong = |anchor: &&Anchor| records[anchor.at].shape.class >= Class::Failure;
    let step = records[..end].iter().rposition(|r| r.shape.class == Class::Command && r.body(text).starts_with(STEP));
    // The first failure, of the step that failed if there are steps, and the last one.
    let ends = [
        anchors.iter().find(|anchor| step.is_none_or(|step| anchor.at > step) && strong(anchor)),
        anchors.iter().rfind(|anchor| anchor.at <= end && strong(anchor)),
    ];
    let ends = ends.map(|anchor| anchor.map(|anchor| anchor.at));
    if let Some(step) = step {
        for anchor in anchors.iter().filter(|anchor| !(step..=end).contains(&anchor.at)) {
            let lower = if anchor.at > end { AFTERWARDS } else { BEFORE };
            weights[anchor.at] = weights[anchor.at].saturating_sub(lower).max(REPEAT);
        }
    }
    for anchor in anchors {
        let at = anchor.at;
        let class = records[at].shape.class;
        if class < Class::Cause {
            continue;
        }
        let at_end = ends.contains(&Some(at));
        let (after, before) = match (at_end, anchor.nth) {
            _ if at == end && records[at].body(text).starts_with(STEP_ERROR) => (0, END_BLOCK.1),
            _ if at == end && class == Class::Terminal => (AFTER_LINES, END_BLOCK.1),
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
            raise(of, weights, (at, near), step + 1, &mut framed);
        }
        framed = false;
        // A blank line before a lone failure does not part it from what it is about.
        let blank = before == SMALL_BLOCK.1 && at > 0 && records[at - 1].shape.class == Class::Blank;
        for (step, near) in (at.saturating_sub(before + usize::from(blank))..at).rev().enumerate() {
            raise(of, weights, (at, near), step + 2, &mut framed);
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
fn raise(of: &Text<'_>, weights: &mut [u8], (at, near): (usize, usize), step: usize, framed: &mut bool) {
    let Text { records, text, common } = *of;
    if records[near].shape.template == records[at].shape.template {
        return; // One more of its kind explains nothing.
    }
    let step = step.min(40) as u8;
    let body = records[near].body(text);
    let lower = match records[near].shape.class {
        // A runner that puts a level before every line does so before its diffs as well.
        Class::Info if body.first() == Some(&b'[') && body.get(..LEAD) == records[at].body(text).get(..LEAD) => {
            4 + step
        }
        Class::Blank | Class::Rule | Class::Pass | Class::Progress | Class::Info => return,
        Class::Diff => 2 + step / 4,
        Class::Frame if vendor(body) => 20 + step,
        Class::Frame if !*framed => {
            *framed = true;
            2
        }
        _ if common[near] && !body.first().is_some_and(|b| b"+->|".contains(b)) => LIKE_MANY + step,
        _ => 4 + 2 * step,
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
    VENDOR.iter().any(|folder| find(frame, folder).is_some())
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

/// For each record, the first one of its template. A table of places is smaller than a map, and one pass does for all.
fn alike(records: &[Record]) -> Vec<u32> {
    let slots = (records.len() * 2).next_power_of_two().max(2);
    let shift = u64::BITS - slots.ilog2();
    // Places from 1; 0 is free.
    let mut table = vec![0u32; slots];
    let mut first = Vec::with_capacity(records.len());
    for (at, record) in records.iter().enumerate() {
        let mut hasher = Spread::default();
        hasher.write_u64(record.shape.template);
        let mut slot = (hasher.finish() >> shift) as usize;
        loop {
            match table[slot] {
                0 => {
                    table[slot] = at as u32 + 1;
                    first.push(at as u32);
                    break;
                }
                place if records[place as usize - 1].shape.template == record.shape.template => {
                    first.push(place - 1);
                    break;
                }
                _ => slot = (slot + 1) % slots,
            }
        }
    }
    first
}

/// Which records are of a low kind and look like many others.
fn common(records: &[Record], alike: &[u32]) -> Vec<bool> {
    /// Times a template is met until its lines are noise.
    const MANY: u32 = 5;
    let low = |record: &Record| record.shape.class < Class::Command;
    let mut met = vec![0u32; records.len()];
    for (record, &first) in records.iter().zip(alike).filter(|(record, _)| low(record)) {
        met[first as usize] += record.count;
    }
    records.iter().zip(alike).map(|(record, &first)| low(record) && met[first as usize] >= MANY).collect()
}

/// Raises the first lines, the lines before the end of the run, and the very last ones.
fn edges(of: &Text<'_>, end: usize, quiet: bool, weights: &mut [u8]) {
    let Text { records, text, common } = *of;
    let lift = |weights: &mut [u8], at: usize, to: u8| {
        if !matches!(records[at].shape.class, Class::Blank | Class::Rule) {
            weights[at] = weights[at].max(to);
        }
    };
    for at in 0..records.len().min(HEAD_LINES) {
        lift(weights, at, HEAD);
    }
    let step = records.get(end).is_some_and(|r| r.body(text).starts_with(STEP_ERROR));
    let (lines, one) = if quiet { QUIET_TAIL } else { (TAIL_LINES, 1) };
    // What a CI system prints behind the step that failed is cleaning up; otherwise the text's own end counts as well.
    let last = records.len().saturating_sub(1);
    let ends = [Some(end.min(last)), (!step && end < last).then_some(last)];
    for end in ends.into_iter().flatten() {
        let mut rare = 0;
        for at in (0..=end).rev() {
            if common[at] && end - at > AFTER_LINES {
                if end - at <= lines {
                    lift(weights, at, NOISE);
                }
            } else {
                lift(weights, at, if at == last { LAST } else { TAIL.saturating_sub((rare / one) as u8) });
                rare += 1;
            }
            if rare > lines || end - at > FAR {
                break;
            }
        }
    }
    for (at, record) in records.iter().enumerate().skip(records.len().saturating_sub(AFTER_LINES)) {
        let told = record.shape.class == Class::Cause && !step;
        lift(weights, at, if told { TAIL } else { AFTER });
    }
}

/// One sample of each template is worth more than another of the same; lines with opaque tokens are none.
fn samples(records: &[Record], text: &str, alike: &[u32], weights: &mut [u8]) {
    let mut seen = vec![false; records.len()];
    for (at, record) in records.iter().enumerate() {
        if weights[at] >= WANTED {
            continue;
        }
        if opaque(record.body(text)) {
            weights[at] = 0;
        } else if record.shape.class == Class::Plain && std::mem::replace(&mut seen[alike[at] as usize], true) {
            weights[at] = 4;
        }
    }
}

/// Whether a line has a token that is too long for a sample.
fn opaque(line: &[u8]) -> bool {
    let mut at = 0;
    while let Some(window) = line.get(at..=at + SAMPLE_TOKEN) {
        match window.iter().rposition(u8::is_ascii_whitespace) {
            Some(blank) => at += blank + 1,
            None => return true,
        }
    }
    false
}
