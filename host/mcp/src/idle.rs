//! When a host that was started for one background command has nothing left to do. Pure: it is given the time.
//!
//! It must never let a host end while a process runs, an event waits or a client is there.

use std::time::Duration;

/// How long a host has had nothing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idle {
    limit: Duration,
    since: Option<Duration>,
}

/// What follows from what there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is something to do.
    Stay,
    /// There is nothing to do; without anything new the host ends after this time.
    ExitIn(Duration),
    /// There was nothing to do for the whole limit.
    Exit,
}

impl Idle {
    /// A host that stays for `limit` (`host.idle_exit`, 10 minutes by default) after the last thing it had to do.
    pub fn new(limit: Duration) -> Self {
        Self { limit, since: None }
    }

    /// Looks at what there is to do: processes that run, events nobody took, clients that are connected. `now` is the
    /// time on any clock that never goes back.
    pub fn on(&mut self, now: Duration, running: usize, pending: u64, clients: usize) -> Verdict {
        if running > 0 || pending > 0 || clients > 0 {
            self.since = None;
            return Verdict::Stay;
        }
        let since = *self.since.get_or_insert(now);
        match self.limit.checked_sub(now.saturating_sub(since)) {
            None | Some(Duration::ZERO) => Verdict::Exit,
            Some(left) => Verdict::ExitIn(left),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(600);

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_limit_begins_when_the_last_of_the_three_is_gone() {
        let mut idle = Idle::new(LIMIT);
        assert_eq!(idle.on(at(0), 1, 0, 1), Verdict::Stay);
        assert_eq!(idle.on(at(700), 0, 1, 0), Verdict::Stay);
        assert_eq!(idle.on(at(800), 0, 0, 0), Verdict::ExitIn(LIMIT));
        assert_eq!(idle.on(at(1399), 0, 0, 0), Verdict::ExitIn(at(1)));
        assert_eq!(idle.on(at(1400), 0, 0, 0), Verdict::Exit);
    }

    #[test]
    fn a_client_that_only_looks_starts_the_time_anew() {
        let mut idle = Idle::new(LIMIT);
        idle.on(at(0), 0, 0, 0);
        assert_eq!(idle.on(at(599), 0, 0, 1), Verdict::Stay);
        assert_eq!(idle.on(at(600), 0, 0, 0), Verdict::ExitIn(LIMIT));
    }

    #[test]
    fn without_a_limit_it_ends_at_once() {
        assert_eq!(Idle::new(Duration::ZERO).on(at(5), 0, 0, 0), Verdict::Exit);
    }

    proptest! {
        #[test]
        fn it_ends_exactly_when_nothing_was_there_for_the_whole_limit(
            steps in proptest::collection::vec((0u64..400, 0usize..2, 0u64..2, 0usize..2), 1..40),
        ) {
            let (mut idle, mut now, mut quiet_since) = (Idle::new(LIMIT), 0, None::<u64>);
            for (pause, running, pending, clients) in steps {
                now += pause;
                let verdict = idle.on(at(now), running, pending, clients);
                let expected = if running > 0 || pending > 0 || clients > 0 {
                    quiet_since = None;
                    Verdict::Stay
                } else {
                    let quiet = now - *quiet_since.get_or_insert(now);
                    if quiet >= 600 { Verdict::Exit } else { Verdict::ExitIn(at(600 - quiet)) }
                };
                prop_assert_eq!(verdict, expected);
            }
        }
    }
}
