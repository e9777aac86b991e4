//! Finding many forms in one pass. Most of a text is skipped six bytes at a time; where something may begin, an
//! automaton reads on.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, MatchKind};

use super::VALUE_BYTES_MIN;

/// The bytes of a form that are looked at when skipping: every form has as many.
const WINDOW: usize = VALUE_BYTES_MIN;
/// The bytes that decide how far to skip. With three of them, a few hundred forms leave most skips long.
const BLOCK: usize = 3;
/// How many bytes the automaton reads at least before skipping is tried again: enough that texts full of beginnings
/// cost little more than the automaton alone.
const STAY: usize = 32;

/// What is looked for.
pub(super) struct Search {
    automaton: NFA,
    /// All forms in order; a form's place is its pattern in the automaton.
    forms: Vec<String>,
    /// The rule of each form.
    rules: Vec<Arc<str>>,
    longest: usize,
    /// Which two bytes forms begin with.
    beginnings: Bits,
    /// How far a window may move when it ends with a block, by the block's hash.
    skips: Vec<u8>,
    /// 128 bits that stand for all forms and rules.
    digest: [u64; 2],
    /// The states in which a form may have begun [`WINDOW`] bytes ago or earlier.
    deep: Bits,
}

/// A set of small numbers.
#[derive(Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn insert(&mut self, number: usize) {
        if self.0.len() <= number / 64 {
            self.0.resize(number / 64 + 1, 0);
        }
        self.0[number / 64] |= 1 << (number % 64);
    }

    fn contains(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word & (1 << (number % 64)) != 0)
    }
}

impl Search {
    /// Prepares for these forms, each at least [`VALUE_BYTES_MIN`] bytes; `None` if there are none.
    pub(super) fn new(rules_by_form: BTreeMap<String, Arc<str>>) -> Option<Self> {
        let longest = rules_by_form.keys().map(String::len).max()?;
        let digest = [0_u8, 1].map(|salt| {
            let mut hasher = DefaultHasher::new();
            (salt, &rules_by_form).hash(&mut hasher);
            hasher.finish()
        });
        let (forms, rules): (Vec<String>, Vec<_>) = rules_by_form.into_iter().unzip();
        let automaton = NFA::builder()
            .match_kind(MatchKind::Standard)
            .build(&forms)
            .expect("an environment has far fewer bytes than an automaton has states");
        let mut search = Self {
            automaton,
            rules,
            longest,
            digest,
            beginnings: Bits::default(),
            skips: vec![(WINDOW - BLOCK + 1) as u8; 1 << 16],
            deep: Bits::default(),
            forms,
        };
        for form in &search.forms {
            let bytes = form.as_bytes();
            search.beginnings.insert(pair(bytes));
            for (at, block) in bytes[..WINDOW].windows(BLOCK).enumerate() {
                let skip = &mut search.skips[hash(block)];
                *skip = (*skip).min((WINDOW - BLOCK - at) as u8);
            }
            let mut state = search.automaton.start_state(Anchored::No).expect("the automaton is unanchored");
            for (at, byte) in bytes.iter().enumerate() {
                state = search.automaton.next_state(Anchored::No, state, *byte);
                if at + 1 >= WINDOW {
                    search.deep.insert(state.as_usize());
                }
            }
        }
        Some(search)
    }

    /// The forms, in order.
    pub(super) fn forms(&self) -> &[String] {
        &self.forms
    }

    /// The forms, in order, each with its rule.
    pub(super) fn rules(&self) -> impl Iterator<Item = (&str, &Arc<str>)> {
        self.forms.iter().map(String::as_str).zip(&self.rules)
    }

    /// A digest of all forms and rules.
    pub(super) fn digest(&self) -> [u64; 2] {
        self.digest
    }

    /// The longest form in bytes.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Calls `each` with start, end and rule of the longest form that ends at each place where one does. Shorter ones
    /// ending there lie inside.
    pub(super) fn each_longest(&self, text: &[u8], mut each: impl FnMut(usize, usize, &Arc<str>)) {
        let start = self.automaton.start_state(Anchored::No).expect("the automaton is unanchored");
        let mut next = 0;
        while let Some(begin) = self.candidate(text, next) {
            let mut state = start;
            let mut at = begin;
            loop {
                let Some(byte) = text.get(at) else { return };
                state = self.automaton.next_state(Anchored::No, state, *byte);
                at += 1;
                if self.automaton.is_special(state) && self.automaton.is_match(state) {
                    let pattern = self.automaton.match_pattern(state, 0);
                    each(at - self.automaton.pattern_len(pattern), at, &self.rules[pattern.as_usize()]);
                }
                if at - begin >= STAY && !self.deep.contains(state.as_usize()) {
                    break;
                }
            }
            // Nothing that began before this is still going on.
            next = at - (WINDOW - 1);
        }
    }

    /// The first place from `from` on where a form may begin; `None` if none can.
    fn candidate(&self, text: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        loop {
            let window = text.get(at..at + WINDOW)?;
            match self.skips[hash(&window[WINDOW - BLOCK..])] {
                0 if self.beginnings.contains(pair(window)) => return Some(at),
                0 => at += 1,
                skip => at += usize::from(skip),
            }
        }
    }

    /// Where the longest end of `text` begins that is the beginning of a form and shorter than it.
    pub(super) fn open_from(&self, text: &[u8]) -> usize {
        let from = text.len().saturating_sub(self.longest - 1);
        (from..text.len()).find(|start| self.is_open(&text[*start..])).unwrap_or(text.len())
    }

    fn is_open(&self, end: &[u8]) -> bool {
        if end.len() > 1 && !self.beginnings.contains(pair(end)) {
            return false;
        }
        let first = self.forms.partition_point(|form| form.as_bytes() <= end);
        self.forms.get(first).is_some_and(|form| form.as_bytes().starts_with(end))
    }
}

/// The first two bytes as a number.
fn pair(bytes: &[u8]) -> usize {
    usize::from(bytes[0]) << 8 | usize::from(bytes[1])
}

/// Sixteen bits of a block.
fn hash(block: &[u8]) -> usize {
    (usize::from(block[0]) << 10 ^ usize::from(block[1]) << 5 ^ usize::from(block[2])) & 0xffff
}
