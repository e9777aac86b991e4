//! [`Memory`]: the same view asked twice costs nothing twice.
//!
//! Results are remembered, never what they were made of: the memory holds visible text and keys. It must never answer
//! with a result of another policy, context, limit or set of known values, and never remember a failure.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hermes_model::context::Context;

use crate::captured::Captured;
use crate::cut::Limits;
use crate::exact::ExactValues;
use crate::policy::Policy;
use crate::reveal::scan::Eyes;
use crate::reveal::{Held, Revealed, reveal_held};

/// What an entry costs beside its text, in bytes: keys, counts and the two maps, generously.
const ENTRY_BYTES: usize = 512;

/// Results of [`crate::reveal::reveal`], the least recently asked given up first. Shared: no plugin is asked while it is
/// locked.
pub struct Memory {
    seeds: [RandomState; 2],
    shelf: Mutex<Shelf>,
}

/// What is remembered.
struct Shelf {
    max_bytes: usize,
    bytes: usize,
    entries: HashMap<Key, Entry>,
    /// Entries by the time they were last asked for.
    ages: BTreeMap<u64, Key>,
    now: u64,
}

/// What a result was made of.
///
/// 128 bits of two keyed hashes, whose random keys never leave this memory, and the policy's own key. Nobody who chooses
/// a text can aim at another's hash without the keys, and by chance two of a billion texts share one with a probability
/// below 2^-68.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    content: [u64; 2],
    policy: u64,
}

struct Entry {
    revealed: Revealed,
    age: u64,
}

impl Memory {
    /// A memory of at most `max_bytes` of results.
    pub fn new(max_bytes: usize) -> Self {
        let shelf = Shelf { max_bytes, bytes: 0, entries: HashMap::new(), ages: BTreeMap::new(), now: 0 };
        Self { seeds: [RandomState::new(), RandomState::new()], shelf: Mutex::new(shelf) }
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`crate::reveal::reveal`], but asks no plugin again about what it answered before. Withheld results and those
    /// with warnings are made anew each time: what was in the way may be gone.
    pub fn reveal(
        &self,
        policy: &dyn Policy,
        context: &Context,
        captured: &Captured,
        exact: &ExactValues,
        limits: &Limits,
    ) -> Revealed {
        let held = Held::of(captured);
        let key = self.key(policy, context, &held, captured.seen(), exact, limits);
        if let Some(revealed) = self.shelf().recall(key) {
            return revealed;
        }
        let revealed = reveal_held(&Eyes { policy, context, exact }, &held, captured.seen(), limits);
        // A plugin may have changed while it was asked: then nobody knows which state the answer is of.
        if policy.fingerprint() == key.policy {
            self.shelf().remember(key, &revealed);
        }
        revealed
    }

    fn key(
        &self,
        policy: &dyn Policy,
        context: &Context,
        held: &Held<'_>,
        seen: u64,
        exact: &ExactValues,
        limits: &Limits,
    ) -> Key {
        let mut both = Both(self.seeds.each_ref().map(BuildHasher::build_hasher));
        match held {
            // The bytes as one, however they lie: with their number (`seen`) nothing else reads the same.
            Held::Whole(pieces) => pieces.iter().for_each(|piece| both.write(piece)),
            Held::Cut { head, gap } => (head, gap.dropped_bytes, gap.dropped_lines, &gap.tail).hash(&mut both),
        }
        (matches!(held, Held::Whole(_)), seen, exact, limits).hash(&mut both);
        // Every field by name, so that a new one is not forgotten.
        let Context { surface, source, command, cwd, owner, exit_code, signal, labels } = context;
        (surface, source, command, cwd, owner, exit_code, signal, labels).hash(&mut both);
        Key { content: both.0.map(|hasher| hasher.finish()), policy: policy.fingerprint() }
    }
}

impl Shelf {
    fn recall(&mut self, key: Key) -> Option<Revealed> {
        let entry = self.entries.get_mut(&key)?;
        self.now += 1;
        self.ages.remove(&entry.age);
        self.ages.insert(self.now, key);
        entry.age = self.now;
        Some(entry.revealed.clone())
    }

    fn remember(&mut self, key: Key, revealed: &Revealed) {
        let cost = cost(revealed);
        let unsure = revealed.report.withheld.is_some() || !revealed.report.warnings.is_empty();
        if unsure || cost > self.max_bytes {
            return;
        }
        while self.bytes + cost > self.max_bytes {
            let Some((_, oldest)) = self.ages.pop_first() else { break };
            if let Some(entry) = self.entries.remove(&oldest) {
                self.bytes -= self::cost(&entry.revealed);
            }
        }
        self.now += 1;
        self.bytes += cost;
        self.ages.insert(self.now, key);
        self.entries.insert(key, Entry { revealed: revealed.clone(), age: self.now });
    }
}

/// What a result costs to keep, in bytes.
fn cost(revealed: &Revealed) -> usize {
    let names = revealed.report.transformed_by.iter().chain(revealed.report.redactions.keys());
    ENTRY_BYTES + revealed.text.len() + names.map(|name| name.len() + size_of::<String>() * 2).sum::<usize>()
}

/// Two hashers fed with the same bytes.
struct Both([DefaultHasher; 2]);

impl Hasher for Both {
    fn write(&mut self, bytes: &[u8]) {
        for hasher in &mut self.0 {
            hasher.write(bytes);
        }
    }

    fn finish(&self) -> u64 {
        self.0[0].finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::reveal::fakes::{Fake, clear, context, trouble};
    use crate::reveal::reveal;

    const LIMITS: Limits = Limits { reply_bytes: 1000, rest: None };

    fn ask(memory: &Memory, policy: &Fake, text: &str) -> Revealed {
        memory.reveal(policy, &context(), &Captured::of(text), &ExactValues::default(), &LIMITS)
    }

    fn asked(policy: &Fake) -> usize {
        policy.asked.load(Ordering::Relaxed)
    }

    #[test]
    fn a_view_asked_twice_is_made_once() {
        let memory = Memory::new(1 << 20);
        let policy = Fake::nothing();
        let first = ask(&memory, &policy, "a text\n");
        let second = ask(&memory, &policy, "a text\n");
        assert_eq!(first, second);
        assert_eq!(first, reveal(&policy, &context(), &Captured::of("a text\n"), &ExactValues::default(), &LIMITS));
        assert_eq!(asked(&policy), 2, "once by the memory, once without it");
    }

    #[test]
    fn whatever_may_change_the_answer_makes_another_one() {
        let memory = Memory::new(1 << 20);
        let mut policy = Fake::nothing();
        let captured = Captured::of("a text with a-known-value\n");
        let none = ExactValues::default();
        let mut times = 0;
        let mut check =
            |policy: &Fake, context: &Context, captured: &Captured, exact: &ExactValues, limits: &Limits| {
                let before = asked(policy);
                for _ in 0..2 {
                    let direct = {
                        let quiet = Fake::nothing();
                        reveal(&quiet, context, captured, exact, limits)
                    };
                    assert_eq!(memory.reveal(policy, context, captured, exact, limits), direct);
                }
                times += 1;
                assert_eq!(asked(policy), before + 1, "variant {times}");
            };
        check(&policy, &context(), &captured, &none, &LIMITS);
        check(&policy, &context(), &Captured::of("another text\n"), &none, &LIMITS);
        check(&policy, &context(), &captured, &none, &Limits { reply_bytes: 8, rest: None });
        check(&policy, &context(), &captured, &none, &Limits { rest: Some("there".to_owned()), ..LIMITS });
        let known = |name: &str| ExactValues::new([(name.to_owned(), "a-known-value".to_owned())]);
        check(&policy, &context(), &captured, &known("ONE"), &LIMITS);
        check(&policy, &context(), &captured, &known("TWO"), &LIMITS);
        let mut exited = context();
        exited.exit_code = Some(1);
        check(&policy, &exited, &captured, &none, &LIMITS);
        let mut labelled = context();
        labelled.labels.push(("server".to_owned(), "git".to_owned()));
        check(&policy, &labelled, &captured, &none, &LIMITS);
        policy.fingerprint += 1;
        check(&policy, &context(), &captured, &none, &LIMITS);
    }

    #[test]
    fn what_failed_is_not_remembered() {
        let memory = Memory::new(1 << 20);
        let failing = Fake::failing();
        for _ in 0..2 {
            assert_eq!(ask(&memory, &failing, "x\n").report.withheld, Some(trouble()));
        }
        assert_eq!(asked(&failing), 2);
        let warning = Fake { warnings: vec!["a transform is missing".to_owned()], ..Fake::nothing() };
        ask(&memory, &warning, "x\n");
        ask(&memory, &warning, "x\n");
        assert_eq!(asked(&warning), 2);
        let shelf = memory.shelf();
        assert_eq!((shelf.entries.len(), shelf.bytes), (0, 0));
    }

    #[test]
    fn the_least_recently_asked_gives_way() {
        let policy = Fake::nothing();
        let memory = Memory::new(2 * (ENTRY_BYTES + 10));
        ask(&memory, &policy, "one\n");
        ask(&memory, &policy, "two\n");
        ask(&memory, &policy, "one\n");
        ask(&memory, &policy, "three\n");
        assert_eq!(asked(&policy), 3);
        assert_eq!(memory.shelf().entries.len(), 2);
        assert_eq!(memory.shelf().ages.len(), 2);
        ask(&memory, &policy, "one\n");
        assert_eq!(asked(&policy), 3, "the one asked again was kept");
        ask(&memory, &policy, "two\n");
        assert_eq!(asked(&policy), 4);
        let shelf = memory.shelf();
        assert!(shelf.bytes <= shelf.max_bytes);
    }

    #[test]
    fn what_is_too_large_is_not_remembered() {
        let policy = Fake::new(|window| Ok(clear(window.text.len())));
        let memory = Memory::new(ENTRY_BYTES + 3);
        ask(&memory, &policy, "four");
        ask(&memory, &policy, "four");
        assert_eq!(asked(&policy), 2);
    }
}
