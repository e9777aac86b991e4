//! What an event may become: pure rules, held against every event by the store.
//!
//! It must never let an event out of a final state, and never let a claim settle what it does not hold.

use crate::limits::{ATTEMPTS_MAX, LEASE};

/// Milliseconds since 1970.
pub(crate) type Millis = i64;

/// The condition of SQL for events that may still be delivered. The index of them has the same words.
pub(crate) const OPEN: &str = "state IN ('undecided', 'pending', 'claimed')";

/// Where an event stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// A notifier is asked; waits from `until` on.
    Undecided {
        /// When the lease of the question runs out.
        until: Millis,
    },
    /// It waits to be claimed.
    Pending,
    /// Somebody delivers it; waits again from `until` on.
    Claimed {
        /// When the lease of the claim runs out.
        until: Millis,
    },
    /// It was acknowledged.
    Delivered,
    /// What it says was seen in another way.
    Consumed,
    /// Its kind wakes nobody.
    Muted,
    /// A notifier kept it back.
    Suppressed,
    /// It was tried too often, or its target is gone, or nobody wanted it for too long.
    Dropped,
}

/// Where an event stands and how it came there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Where it stands.
    pub(crate) state: State,
    /// How often it was claimed, without claims that were deferred.
    pub(crate) attempts: u32,
    /// How often it was claimed at all. The number of the last claim is what settles it.
    pub(crate) token: u64,
}

/// How a claim is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// It was delivered.
    Acknowledge,
    /// It was not delivered.
    Release,
    /// It could not be delivered yet.
    Defer,
    /// It can never be delivered.
    Drop,
}

impl State {
    /// The word for it in the file.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Undecided { .. } => "undecided",
            Self::Pending => "pending",
            Self::Claimed { .. } => "claimed",
            Self::Delivered => "delivered",
            Self::Consumed => "consumed",
            Self::Muted => "muted",
            Self::Suppressed => "suppressed",
            Self::Dropped => "dropped",
        }
    }

    /// When its lease runs out, if it has one.
    pub(crate) fn until(self) -> Option<Millis> {
        match self {
            Self::Undecided { until } | Self::Claimed { until } => Some(until),
            _ => None,
        }
    }

    /// Reads what `word` and `until` wrote.
    pub(crate) fn read(word: &str, until: Option<Millis>) -> Option<Self> {
        Some(match (word, until) {
            ("undecided", Some(until)) => Self::Undecided { until },
            ("pending", _) => Self::Pending,
            ("claimed", Some(until)) => Self::Claimed { until },
            ("delivered", _) => Self::Delivered,
            ("consumed", _) => Self::Consumed,
            ("muted", _) => Self::Muted,
            ("suppressed", _) => Self::Suppressed,
            ("dropped", _) => Self::Dropped,
            _ => return None,
        })
    }
}

/// When a lease taken now runs out.
pub(crate) fn lease(now: Millis) -> Millis {
    now.saturating_add(i64::try_from(LEASE.as_millis()).unwrap_or(i64::MAX))
}

impl Progress {
    /// An event that nobody claimed yet.
    pub(crate) fn new(state: State) -> Self {
        Self { state, attempts: 0, token: 0 }
    }

    /// Whether somebody could claim it.
    pub(crate) fn is_free(self, now: Millis) -> bool {
        self.state == State::Pending || self.state.until().is_some_and(|until| until <= now)
    }

    /// Somebody claims it: the claim, or the end of an event that was tried too often. `None`: it is not free.
    pub(crate) fn claim(self, now: Millis) -> Option<Self> {
        if !self.is_free(now) {
            return None;
        }
        if self.attempts >= ATTEMPTS_MAX {
            // Whoever claimed it last let the lease run out.
            return Some(Self { state: State::Dropped, ..self });
        }
        Some(Self { state: State::Claimed { until: lease(now) }, attempts: self.attempts + 1, token: self.token + 1 })
    }

    /// The holder of a claim settles it. `None`: the claim is not live.
    pub(crate) fn settle(self, verb: Verb, token: u64) -> Option<Self> {
        let State::Claimed { .. } = self.state else { return None };
        (self.token == token).then(|| match verb {
            Verb::Acknowledge => Self { state: State::Delivered, ..self },
            Verb::Release => self.given_back(),
            Verb::Defer => Self { state: State::Pending, attempts: self.attempts.saturating_sub(1), ..self },
            Verb::Drop => Self { state: State::Dropped, ..self },
        })
    }

    /// Whoever held it is gone. `None`: nobody held it.
    pub(crate) fn orphaned(self) -> Option<Self> {
        match self.state {
            State::Undecided { .. } => Some(Self { state: State::Pending, ..self }),
            State::Claimed { .. } => Some(self.given_back()),
            _ => None,
        }
    }

    /// A notifier has answered. `None`: it was waited for no longer, and somebody claimed the event.
    pub(crate) fn decided(self, state: State) -> Option<Self> {
        matches!(self.state, State::Undecided { .. }).then_some(Self { state, ..self })
    }

    fn given_back(self) -> Self {
        let state = if self.attempts >= ATTEMPTS_MAX { State::Dropped } else { State::Pending };
        Self { state, ..self }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const VERBS: [Verb; 4] = [Verb::Acknowledge, Verb::Release, Verb::Defer, Verb::Drop];

    fn any_state() -> impl Strategy<Value = State> {
        prop_oneof![
            (0..1000_i64).prop_map(|until| State::Undecided { until }),
            Just(State::Pending),
            (0..1000_i64).prop_map(|until| State::Claimed { until }),
            Just(State::Delivered),
            Just(State::Consumed),
            Just(State::Muted),
            Just(State::Suppressed),
            Just(State::Dropped),
        ]
    }

    #[test]
    fn an_event_that_nobody_could_deliver_is_dropped_after_the_eighth_try() {
        let mut progress = Progress::new(State::Pending);
        for attempt in 1..=ATTEMPTS_MAX {
            progress = progress.claim(0).unwrap();
            assert_eq!((progress.attempts, progress.token), (attempt, u64::from(attempt)));
            progress = progress.settle(Verb::Release, progress.token).unwrap();
        }
        assert_eq!(progress.state, State::Dropped);
    }

    #[test]
    fn deliverers_that_all_died_are_tries_too() {
        let (mut progress, mut now) = (Progress::new(State::Pending), 0);
        for _ in 0..ATTEMPTS_MAX {
            progress = progress.claim(now).unwrap();
            assert_eq!(progress.claim(lease(now) - 1), None);
            now = lease(now);
        }
        assert_eq!(progress.claim(now).unwrap().state, State::Dropped);
    }

    #[test]
    fn a_deferred_try_does_not_count_and_its_claim_is_spent() {
        let claimed = Progress::new(State::Pending).claim(0).unwrap();
        let deferred = claimed.settle(Verb::Defer, claimed.token).unwrap();
        assert_eq!((deferred.state, deferred.attempts), (State::Pending, 0));
        let again = deferred.claim(0).unwrap();
        assert_ne!(again.token, claimed.token);
        assert_eq!(again.settle(Verb::Acknowledge, claimed.token), None);
    }

    proptest! {
        #[test]
        fn what_is_final_stays_so_and_only_the_live_claim_settles(
            state in any_state(), attempts in 0..=ATTEMPTS_MAX, token in 0..5_u64, other in 0..5_u64, now in 0..1000_i64,
        ) {
            let progress = Progress { state, attempts, token };
            prop_assert_eq!(State::read(state.word(), state.until()), Some(state));
            for verb in VERBS {
                let settled = progress.settle(verb, other);
                prop_assert_eq!(settled.is_some(), matches!(state, State::Claimed { .. }) && token == other);
            }
            let open = OPEN.contains(&format!("'{}'", state.word()));
            if !open {
                prop_assert_eq!(progress.claim(now), None);
                prop_assert_eq!(progress.orphaned(), None);
                prop_assert_eq!(progress.decided(State::Pending), None);
            }
            prop_assert_eq!(open, progress.is_free(Millis::MAX));
            if let Some(claimed) = progress.claim(now) {
                prop_assert!(claimed.attempts <= ATTEMPTS_MAX);
                prop_assert!(claimed.state == State::Dropped || claimed.token > token);
            }
        }
    }
}
