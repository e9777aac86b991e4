//! The requests that a server has not answered yet, and where their answers go.
//!
//! An answer never enters rmcp: it is laid into the slot of its request, and rmcp gets an empty one. It must never give
//! an answer to another request than the one it names.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, mpsc};

use crate::servers::raw::Raw;

/// How many requests that nobody waits for any more are remembered, so that their late answers are no surprise: more than
/// a server can have at work.
const ABANDONED_MAX: usize = 1024;

/// What came of a request.
pub(super) enum Outcome {
    /// The result.
    Answer(Raw),
    /// The error object.
    Refused {
        /// Its code.
        code: i64,
        /// All of it.
        error: Raw,
    },
    /// The answer was too long, or could not be read: it is lost.
    Lost,
}

/// How far a request has got on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Sent {
    /// Nothing was written.
    No = 0,
    /// It is being written, or it broke off.
    Begun = 1,
    /// It was written.
    Wholly = 2,
    /// It was taken back before anything was written.
    Withdrawn = 3,
}

/// One request.
pub(super) struct Slot {
    outcome: Mutex<Option<Outcome>>,
    sent: AtomicU8,
    /// Told whenever the server says how far it is.
    pub(super) alive: Notify,
    /// Where it is passed on.
    pub(super) progress: Option<mpsc::Sender<Raw>>,
}

impl Slot {
    pub(super) fn new(progress: Option<mpsc::Sender<Raw>>) -> Arc<Self> {
        Arc::new(Self {
            outcome: Mutex::new(None),
            sent: AtomicU8::new(Sent::No as u8),
            alive: Notify::new(),
            progress,
        })
    }

    /// What came of it, once.
    pub(super) fn take(&self) -> Option<Outcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn lay(&self, outcome: Outcome) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
    }

    pub(super) fn sent(&self) -> Sent {
        match self.sent.load(Ordering::Acquire) {
            0 => Sent::No,
            1 => Sent::Begun,
            2 => Sent::Wholly,
            _ => Sent::Withdrawn,
        }
    }

    /// Whether it may be written now: it was not taken back.
    pub(super) fn begin(&self) -> bool {
        self.step(Sent::No, Sent::Begun)
    }

    pub(super) fn is_written(&self) {
        self.step(Sent::Begun, Sent::Wholly);
    }

    /// Takes it back. True: nothing of it was written, and nothing will be.
    pub(super) fn withdraw(&self) -> bool {
        self.step(Sent::No, Sent::Withdrawn)
    }

    fn step(&self, from: Sent, to: Sent) -> bool {
        self.sent.compare_exchange(from as u8, to as u8, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// What an id turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// A request that is waited for.
    Waiting,
    /// One that was given up.
    Late,
    /// None, or one that was answered before.
    Nobody,
}

#[derive(Default)]
struct Entries {
    waiting: HashMap<i64, Arc<Slot>>,
    abandoned: VecDeque<i64>,
}

/// All requests that are on their way.
#[derive(Default)]
pub(super) struct Flight {
    entries: Mutex<Entries>,
}

impl Flight {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, id: i64, slot: Arc<Slot>) {
        self.entries().waiting.insert(id, slot);
    }

    /// Lays an outcome into the slot of its request.
    pub(super) fn answer(&self, id: i64, outcome: Outcome) -> Whose {
        let mut entries = self.entries();
        if let Some(slot) = entries.waiting.remove(&id) {
            slot.lay(outcome);
            return Whose::Waiting;
        }
        match entries.abandoned.iter().position(|abandoned| *abandoned == id) {
            Some(at) => {
                entries.abandoned.remove(at);
                Whose::Late
            }
            None => Whose::Nobody,
        }
    }

    /// Nobody waits for it any more. Returns whether it was taken back before anything was written.
    pub(super) fn abandon(&self, id: i64) -> bool {
        let mut entries = self.entries();
        let Some(slot) = entries.waiting.remove(&id) else { return false };
        if slot.withdraw() || slot.sent() == Sent::Withdrawn {
            return true;
        }
        if entries.abandoned.len() == ABANDONED_MAX {
            entries.abandoned.pop_front();
        }
        entries.abandoned.push_back(id);
        false
    }

    /// Whether it was written and is not waited for any more.
    pub(super) fn is_abandoned(&self, id: i64) -> bool {
        self.entries().abandoned.contains(&id)
    }

    /// The slot of a request that is waited for.
    pub(super) fn slot(&self, id: i64) -> Option<Arc<Slot>> {
        self.entries().waiting.get(&id).cloned()
    }

    /// Loses the answer of every request that was sent, and says which those are.
    pub(super) fn lose_all(&self) -> Vec<i64> {
        let mut entries = self.entries();
        let sent: Vec<i64> =
            entries.waiting.iter().filter(|(_, slot)| slot.sent() != Sent::No).map(|(id, _)| *id).collect();
        for id in &sent {
            if let Some(slot) = entries.waiting.remove(id) {
                slot.lay(Outcome::Lost);
            }
        }
        sent
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn answer(number: i64) -> Outcome {
        Outcome::Answer(Raw::of(json!(number)))
    }

    #[test]
    fn an_answer_reaches_its_own_request_once_and_a_late_one_nobody() {
        let flight = Flight::default();
        let (one, two) = (Slot::new(None), Slot::new(None));
        flight.begin(1, Arc::clone(&one));
        flight.begin(2, Arc::clone(&two));
        assert!(two.begin());
        assert_eq!(flight.answer(1, answer(10)), Whose::Waiting);
        assert_eq!(flight.answer(1, answer(11)), Whose::Nobody);
        assert!(!flight.abandon(2));
        assert_eq!(flight.answer(2, answer(20)), Whose::Late);
        assert_eq!(flight.answer(3, answer(30)), Whose::Nobody);
        assert!(matches!(one.take(), Some(Outcome::Answer(raw)) if raw.value() == &json!(10)));
        assert!(one.take().is_none() && two.take().is_none());
    }

    #[test]
    fn a_request_is_either_written_or_taken_back() {
        let slot = Slot::new(None);
        assert!(slot.withdraw() && !slot.begin());
        let slot = Slot::new(None);
        assert!(slot.begin() && !slot.withdraw());
        slot.is_written();
        assert_eq!(slot.sent(), Sent::Wholly);
    }

    #[test]
    fn only_what_was_sent_can_have_lost_its_answer() {
        let flight = Flight::default();
        let (sent, waiting) = (Slot::new(None), Slot::new(None));
        flight.begin(1, Arc::clone(&sent));
        flight.begin(2, Arc::clone(&waiting));
        sent.begin();
        assert_eq!(flight.lose_all(), [1]);
        assert!(matches!(sent.take(), Some(Outcome::Lost)) && waiting.take().is_none());
        assert_eq!(flight.answer(2, answer(2)), Whose::Waiting);
    }

    proptest! {
        #[test]
        fn every_request_gets_the_first_answer_to_its_own_id(answers in proptest::collection::vec(0i64..8, 0..30)) {
            let flight = Flight::default();
            let slots: Vec<_> = (0..6).map(|id| { let slot = Slot::new(None); flight.begin(id, Arc::clone(&slot)); slot }).collect();
            for (turn, id) in answers.iter().enumerate() {
                let first = *id < 6 && !answers[..turn].contains(id);
                let expected = if first { Whose::Waiting } else { Whose::Nobody };
                prop_assert_eq!(flight.answer(*id, answer(turn as i64)), expected);
            }
            for (id, slot) in slots.iter().enumerate() {
                let turn = answers.iter().position(|answered| *answered == id as i64);
                let got = slot.take().map(|outcome| match outcome {
                    Outcome::Answer(raw) => raw.value().as_u64().unwrap() as usize,
                    _ => unreachable!("only answers were laid"),
                });
                prop_assert_eq!(got, turn);
            }
        }
    }
}
