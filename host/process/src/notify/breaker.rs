//! [`Breaker`]: all processes together wake nobody more often than anybody can bear.
//!
//! Only matches go through it. That a process is no longer watched is said once for each process and must never be
//! dropped here.

use std::collections::VecDeque;
use std::time::Duration;

/// How many matches of all processes go through within [`BREAKER_WINDOW`] (design: 15).
pub const BREAKER_MAX: usize = 15;
/// Any span of this length has no more than [`BREAKER_MAX`] matches (design: 10 s).
pub const BREAKER_WINDOW: Duration = Duration::from_secs(10);
/// How long everything is dropped after there were more (design: 30 s).
pub const BREAKER_COOLDOWN: Duration = Duration::from_secs(30);

/// A change worth one event, about no process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerEvent {
    /// Matches are dropped from now on.
    Tripped,
    /// Matches go through again.
    Released {
        /// How many were dropped, with the one that was too many.
        dropped: u64,
    },
}

/// What becomes of one match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Whether it goes through.
    pub admitted: bool,
    /// What is to be said before it, or in its place.
    pub change: Option<BreakerEvent>,
}

/// Counts the matches of all processes.
#[derive(Debug)]
pub struct Breaker(State);

#[derive(Debug)]
enum State {
    /// Matches go through. Holds when the last ones did, at most [`BREAKER_MAX`].
    Closed(VecDeque<Duration>),
    /// Matches are dropped.
    Open { until: Duration, dropped: u64 },
}

impl Default for Breaker {
    fn default() -> Self {
        Self::new()
    }
}

impl Breaker {
    /// One through which nothing went yet.
    pub fn new() -> Self {
        Self(State::Closed(VecDeque::with_capacity(BREAKER_MAX)))
    }

    /// Whether a match at `now` goes through.
    pub fn admit(&mut self, now: Duration) -> Admission {
        let released = self.due(now);
        match &mut self.0 {
            State::Open { dropped, .. } => {
                *dropped += 1;
                Admission { admitted: false, change: None }
            }
            State::Closed(admitted) => {
                while admitted.front().is_some_and(|&at| now.saturating_sub(at) >= BREAKER_WINDOW) {
                    admitted.pop_front();
                }
                if admitted.len() == BREAKER_MAX {
                    self.0 = State::Open { until: now + BREAKER_COOLDOWN, dropped: 1 };
                    return Admission { admitted: false, change: Some(BreakerEvent::Tripped) };
                }
                admitted.push_back(now);
                Admission { admitted: true, change: released }
            }
        }
    }

    /// Ends the dropping when its time is over. To be asked at [`Breaker::next_deadline`], so that the release is said
    /// although nothing matches any more.
    pub fn due(&mut self, now: Duration) -> Option<BreakerEvent> {
        let State::Open { until, dropped } = self.0 else { return None };
        if now < until {
            return None;
        }
        *self = Self::new();
        Some(BreakerEvent::Released { dropped })
    }

    /// When [`Breaker::due`] has something to say; none while matches go through.
    pub fn next_deadline(&self) -> Option<Duration> {
        match self.0 {
            State::Closed(_) => None,
            State::Open { until, .. } => Some(until),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn tripped() -> Breaker {
        let mut breaker = Breaker::new();
        for _ in 0..BREAKER_MAX {
            assert_eq!(breaker.admit(SECOND), Admission { admitted: true, change: None });
        }
        assert_eq!(breaker.next_deadline(), None);
        let change = Some(BreakerEvent::Tripped);
        assert_eq!(breaker.admit(SECOND), Admission { admitted: false, change }, "the sixteenth");
        breaker
    }

    #[test]
    fn the_match_that_is_too_many_trips_and_the_next_ones_are_dropped_in_silence() {
        let mut breaker = tripped();
        assert_eq!(breaker.next_deadline(), Some(31 * SECOND));
        assert_eq!(breaker.admit(20 * SECOND), Admission { admitted: false, change: None });
        assert_eq!(breaker.due(30 * SECOND), None);
    }

    #[test]
    fn a_timer_sees_the_release_once_with_the_number_of_those_dropped() {
        let mut breaker = tripped();
        breaker.admit(2 * SECOND);
        assert_eq!(breaker.due(31 * SECOND), Some(BreakerEvent::Released { dropped: 2 }));
        assert_eq!((breaker.due(32 * SECOND), breaker.next_deadline()), (None, None));
    }

    #[test]
    fn a_match_after_the_cooldown_goes_through_and_brings_the_release() {
        let change = Some(BreakerEvent::Released { dropped: 1 });
        assert_eq!(tripped().admit(31 * SECOND), Admission { admitted: true, change });
    }

    #[test]
    fn fifteen_every_ten_seconds_never_trip() {
        let mut breaker = Breaker::new();
        for round in 0..20 {
            for _ in 0..BREAKER_MAX {
                assert!(breaker.admit(round * BREAKER_WINDOW).admitted);
            }
        }
    }

    proptest! {
        #[test]
        fn no_window_has_more_than_the_limit_and_every_match_is_accounted_for(
            pauses in prop::collection::vec((0_u64..2500, any::<bool>()), 0..400),
        ) {
            let mut breaker = Breaker::new();
            let (mut now, mut admitted, mut dropped) = (Duration::ZERO, Vec::new(), 0);
            let mut changes = Vec::new();
            for (pause, timer) in pauses {
                now += Duration::from_millis(pause * pause / 2500);
                if timer {
                    changes.extend(breaker.due(now));
                }
                let admission = breaker.admit(now);
                changes.extend(admission.change);
                if admission.admitted { admitted.push(now) } else { dropped += 1 }
            }
            changes.extend(breaker.next_deadline().and_then(|at| breaker.due(at)));
            for (index, from) in admitted.iter().enumerate() {
                let within = admitted[index..].iter().take_while(|at| **at - *from < BREAKER_WINDOW).count();
                prop_assert!(within <= BREAKER_MAX);
            }
            let mut said = 0;
            for (index, change) in changes.iter().enumerate() {
                match change {
                    BreakerEvent::Tripped => prop_assert!(index % 2 == 0),
                    BreakerEvent::Released { dropped } => {
                        prop_assert!(index % 2 == 1);
                        said += dropped;
                    }
                }
            }
            prop_assert_eq!(said, dropped);
        }
    }
}
