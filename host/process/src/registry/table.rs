//! Which processes there are, by id: pure, so that every order of starts and ends can be tested.
//!
//! It must never drop a process that runs or that was not announced yet, and never refuse one.

use std::collections::BTreeMap;
use std::time::Duration;

use hermes_model::id::{PROCESS_ID_DIGITS, PROCESS_ID_PREFIX, ProcessId};

/// How many processes are kept, running and ended ones together; beyond it ended ones go, the first ended first. Running
/// ones are never refused (64 is usual for this).
pub const KEPT_MAX: usize = 64;
/// How long an ended process is kept, from its end (30 minutes is usual for this). After that the ledger knows it.
pub const ENDED_KEPT: Duration = Duration::from_secs(30 * 60);
/// How many digits of an id name it at least, if no other begins so (4 is usual for this).
pub const PREFIX_DIGITS_MIN: usize = 4;

/// What the table knows of an entry.
pub trait Aged {
    /// When it ended and everything about it was said, on the host's clock; none while it must stay.
    fn ended(&self) -> Option<Duration>;
}

/// The processes of a host.
pub struct Table<E> {
    entries: BTreeMap<ProcessId, E>,
}

impl<E> Default for Table<E> {
    fn default() -> Self {
        Self { entries: BTreeMap::new() }
    }
}

/// What a part of an id names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// One process.
    One(ProcessId),
    /// None.
    None,
    /// Several; these are the first of them.
    Several(Vec<ProcessId>),
    /// It is too short.
    TooShort,
}

/// What is to be looked for: the beginning of an id, whole with its prefix. None where it is too short or no id's.
pub fn beginning(asked: &str) -> Result<String, Named> {
    let digits = asked.strip_prefix(PROCESS_ID_PREFIX).unwrap_or(asked);
    let hex = digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if !hex || digits.len() > PROCESS_ID_DIGITS {
        return Err(Named::None);
    }
    if digits.len() < PREFIX_DIGITS_MIN {
        return Err(Named::TooShort);
    }
    Ok(format!("{PROCESS_ID_PREFIX}{digits}"))
}

/// What these ids, all of one beginning, come to.
pub fn named(mut found: Vec<ProcessId>) -> Named {
    match found.len() {
        0 => Named::None,
        1 => Named::One(found.remove(0)),
        _ => Named::Several(found),
    }
}

impl<E: Clone + Aged> Table<E> {
    /// Adds a process, and lets go of ended ones that are too old or too many.
    pub fn insert(&mut self, id: ProcessId, entry: E, now: Duration) {
        self.prune(now);
        self.entries.insert(id, entry);
    }

    /// Lets go of what ended too long ago, and of the first ended while there is no room for one more.
    pub fn prune(&mut self, now: Duration) {
        self.entries.retain(|_, entry| entry.ended().is_none_or(|at| now.saturating_sub(at) < ENDED_KEPT));
        while self.entries.len() >= KEPT_MAX {
            let ended = self.entries.iter().filter_map(|(id, entry)| Some((entry.ended()?, id.clone())));
            let Some((_, first)) = ended.min() else { return };
            self.entries.remove(&first);
        }
    }

    /// The process with this id.
    pub fn get(&self, id: &ProcessId) -> Option<E> {
        self.entries.get(id).cloned()
    }

    /// The ids that begin so.
    pub fn beginning_with(&self, beginning: &str) -> Vec<ProcessId> {
        self.entries.keys().filter(|id| id.as_str().starts_with(beginning)).cloned().collect()
    }

    /// All of them.
    pub fn all(&self) -> Vec<E> {
        self.entries.values().cloned().collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    struct Fake(Option<u64>);

    impl Aged for Fake {
        fn ended(&self) -> Option<Duration> {
            self.0.map(Duration::from_secs)
        }
    }

    fn id(number: u64) -> ProcessId {
        let bytes = number.to_be_bytes();
        ProcessId::from_random([bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]])
    }

    #[test]
    fn an_ended_process_goes_thirty_minutes_after_its_end_however_long_it_ran() {
        let mut table = Table::default();
        table.insert(id(1), Fake(Some(10_000)), Duration::from_secs(10_000));
        table.prune(Duration::from_secs(10_000) + ENDED_KEPT - Duration::from_secs(1));
        assert_eq!(table.len(), 1);
        table.prune(Duration::from_secs(10_000) + ENDED_KEPT);
        assert!(table.is_empty());
    }

    #[test]
    fn an_id_is_named_by_four_digits_of_it_with_or_without_its_prefix() {
        assert_eq!(beginning("proc_00ab"), Ok("proc_00ab".to_owned()));
        assert_eq!(beginning("00ab"), Ok("proc_00ab".to_owned()));
        assert_eq!(beginning("00a"), Err(Named::TooShort));
        assert_eq!(beginning("proc_"), Err(Named::TooShort));
        assert_eq!(beginning("../../etc"), Err(Named::None));
        assert_eq!(beginning("proc_00000000000ff"), Err(Named::None));
        assert_eq!(named(vec![id(1), id(2)]), Named::Several(vec![id(1), id(2)]));
    }

    proptest! {
        #[test]
        fn what_runs_is_never_dropped_and_ended_ones_give_way_the_first_ended_first(
            entries in prop::collection::vec(prop::option::of(0_u64..100), 0..200)
        ) {
            let mut table = Table::default();
            for (number, ended) in entries.iter().enumerate() {
                table.insert(id(number as u64), Fake(*ended), Duration::from_secs(100));
            }
            let running = entries.iter().filter(|ended| ended.is_none()).count();
            prop_assert_eq!(table.all().iter().filter(|entry| entry.0.is_none()).count(), running);
            prop_assert!(table.len() <= KEPT_MAX.max(running + 1));
        }
    }
}
