//! When a server is started, started again, left alone for a while, or ended. Pure: events in, effects out.
//!
//! It must never have two processes of one server, and never start one that always fails more than a handful of times.

use std::time::Duration;

use tokio::time::Instant;

use super::handle::Phase;

/// How often a first start that fails is tried again before the server is parked.
const FIRST_RETRIES: u32 = 3;
/// How often a server that has been ready, and ended before it was proven, is started again before it is parked.
const RETRIES: u32 = 5;
/// The pause before the first retry; each further one is twice as long, up to [`PAUSE_MAX`].
const PAUSE_FIRST: Duration = Duration::from_secs(1);
/// The longest pause before a retry.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// How far a pause varies, so that servers that failed together are not started together.
const JITTER: f64 = 0.2;
/// How long a server must live to be proven without a call: an agent's session at least gets going in that time.
pub(super) const PROVEN_AFTER: Duration = Duration::from_secs(180);
/// How often a parked server is tried again.
pub(super) const PARKED_FOR: Duration = Duration::from_secs(300);
/// The least time between two starts, however many ask (the shortest pause there is): a server that dies at once costs
/// about a process a second at most.
pub(super) const START_EVERY: Duration = Duration::from_millis(800);

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// Somebody needs it.
    Wake,
    /// It answered the handshake and said what tools it has.
    Connected,
    /// It was to be started and was not. Its process is being ended.
    Failed {
        /// Whether it is of no use to try again soon.
        permanent: bool,
    },
    /// It was ready and ended, or broke the connection. Its process is being ended.
    Lost,
    /// Nothing is left of its process.
    Over,
    /// It answered a call.
    Succeeded,
    /// Nobody needs it for now.
    Retire,
    /// It is not to run. For good: not even when somebody asks.
    Stop {
        /// Whether it never runs again.
        for_good: bool,
    },
    /// Time passed.
    Tick,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Start its process.
    Start,
    /// End its process in steps.
    End,
    /// Kill its process at once.
    Kill,
    /// Whoever waits for it can have it.
    Serve,
    /// Whoever waits for it does so in vain.
    TurnAway,
}

/// Where it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    /// It does not run and is not to.
    Stopped {
        /// Whether it never runs again.
        for_good: bool,
    },
    /// Its process is started and has not answered yet.
    Starting,
    /// It answered.
    Running {
        /// When it did.
        since: Instant,
        /// Whether it lasted.
        proven: bool,
    },
    /// Its process is being ended. The next one has to wait for that.
    Closing(Next),
    /// It failed and is started again after a while.
    Degraded {
        /// When.
        until: Instant,
    },
    /// It failed too often.
    Parked {
        /// When it is tried again.
        until: Instant,
    },
}

/// What comes after the end of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing.
    Rest {
        /// Whether it never runs again.
        for_good: bool,
    },
    /// Another one, because somebody asked.
    Start,
    /// It failed: another one, or none for a while.
    Judge {
        /// Whether it is of no use to try again soon.
        permanent: bool,
        /// Whether somebody asked since.
        wanted: bool,
    },
}

/// A server's life.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Life {
    pub(super) state: State,
    /// How often it failed since it was proven.
    charges: u32,
    was_ready: bool,
    last_start: Option<Instant>,
    /// How often it was started.
    pub(super) starts: u64,
    dice: u64,
}

impl Life {
    /// A server that was not started yet. `seed` makes its pauses its own.
    pub(super) fn new(seed: u64) -> Self {
        let state = State::Stopped { for_good: false };
        Self { state, charges: 0, was_ready: false, last_start: None, starts: 0, dice: seed }
    }

    /// Its phase, as others see it.
    pub(super) fn phase(&self) -> Phase {
        match self.state {
            State::Stopped { .. } | State::Closing(Next::Rest { .. }) => Phase::Stopped,
            State::Starting | State::Closing(Next::Start) => Phase::Starting,
            State::Running { proven: false, .. } => Phase::Ready,
            State::Running { proven: true, .. } => Phase::Proven,
            State::Closing(Next::Judge { .. }) | State::Degraded { .. } => Phase::Degraded,
            State::Parked { .. } => Phase::Parked,
        }
    }

    /// When the next [`Event::Tick`] has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Degraded { until } | State::Parked { until } => Some(until),
            State::Running { since, proven: false } => Some(since + PROVEN_AFTER),
            State::Stopped { .. } | State::Starting | State::Running { .. } | State::Closing(_) => None,
        }
    }

    /// What an event makes of it.
    pub(super) fn on(mut self, event: Event, now: Instant) -> (Self, Vec<Effect>) {
        let effects = match (self.state, event) {
            (State::Stopped { for_good: true }, Event::Wake) => vec![Effect::TurnAway],
            (State::Stopped { for_good: false }, Event::Wake) => self.start(now),
            (State::Stopped { for_good: false }, Event::Stop { for_good }) => self.go(State::Stopped { for_good }, &[]),
            (State::Degraded { until } | State::Parked { until }, Event::Wake) => {
                let until = until.min(self.not_before(now));
                match self.state {
                    State::Parked { .. } => self.state = State::Parked { until },
                    _ => self.state = State::Degraded { until },
                }
                self.try_again(until, now)
            }
            (State::Degraded { until } | State::Parked { until }, Event::Tick) => self.try_again(until, now),
            (State::Degraded { .. } | State::Parked { .. }, Event::Retire) => {
                self.go(State::Stopped { for_good: false }, &[Effect::TurnAway])
            }
            (State::Degraded { .. } | State::Parked { .. }, Event::Stop { for_good }) => {
                self.go(State::Stopped { for_good }, &[Effect::TurnAway])
            }
            (State::Starting, Event::Connected) => {
                self.was_ready = true;
                self.go(State::Running { since: now, proven: false }, &[Effect::Serve])
            }
            (State::Starting, Event::Failed { permanent }) => self.judge_after(permanent),
            (State::Starting | State::Running { .. }, Event::Lost) => self.judge_after(false),
            (State::Starting, Event::Retire) => {
                self.go(State::Closing(Next::Rest { for_good: false }), &[Effect::Kill, Effect::TurnAway])
            }
            (State::Starting, Event::Stop { for_good }) => {
                self.go(State::Closing(Next::Rest { for_good }), &[Effect::Kill, Effect::TurnAway])
            }
            (State::Running { since, .. }, Event::Succeeded) => self.prove(since),
            (State::Running { since, proven: false }, Event::Tick) if now >= since + PROVEN_AFTER => self.prove(since),
            (State::Running { .. }, Event::Retire) => {
                self.go(State::Closing(Next::Rest { for_good: false }), &[Effect::End])
            }
            (State::Running { .. }, Event::Stop { for_good }) => {
                self.go(State::Closing(Next::Rest { for_good }), &[Effect::End])
            }
            (State::Closing(next), event) => self.closing(next, event, now),
            _ => Vec::new(),
        };
        (self, effects)
    }

    fn closing(&mut self, next: Next, event: Event, now: Instant) -> Vec<Effect> {
        match (next, event) {
            (Next::Rest { for_good: true }, Event::Wake) => vec![Effect::TurnAway],
            (Next::Rest { for_good: false }, Event::Wake) => self.go(State::Closing(Next::Start), &[]),
            (Next::Judge { permanent, .. }, Event::Wake) => {
                self.go(State::Closing(Next::Judge { permanent, wanted: true }), &[])
            }
            (Next::Rest { for_good: true }, Event::Stop { .. }) => Vec::new(),
            (_, Event::Stop { for_good }) => self.go(State::Closing(Next::Rest { for_good }), &[Effect::TurnAway]),
            (Next::Start | Next::Judge { .. }, Event::Retire) => {
                self.go(State::Closing(Next::Rest { for_good: false }), &[Effect::TurnAway])
            }
            (Next::Rest { for_good }, Event::Over) => self.go(State::Stopped { for_good }, &[]),
            (Next::Start, Event::Over) => self.start(now),
            (Next::Judge { permanent, wanted }, Event::Over) => self.judge(permanent, wanted, now),
            _ => Vec::new(),
        }
    }

    fn go(&mut self, state: State, effects: &[Effect]) -> Vec<Effect> {
        self.state = state;
        effects.to_vec()
    }

    fn prove(&mut self, since: Instant) -> Vec<Effect> {
        self.charges = 0;
        self.go(State::Running { since, proven: true }, &[])
    }

    fn judge_after(&mut self, permanent: bool) -> Vec<Effect> {
        if !matches!(self.state, State::Running { proven: true, .. }) {
            self.charges = self.charges.saturating_add(1);
        }
        self.go(State::Closing(Next::Judge { permanent, wanted: false }), &[])
    }

    fn judge(&mut self, permanent: bool, wanted: bool, now: Instant) -> Vec<Effect> {
        let most = if self.was_ready { RETRIES } else { FIRST_RETRIES };
        let parked = permanent || self.charges > most;
        let pause = if parked { PARKED_FOR } else { self.pause() };
        let until = if wanted { self.not_before(now) } else { now + pause };
        if parked && !wanted {
            return self.go(State::Parked { until }, &[Effect::TurnAway]);
        }
        self.state = if parked { State::Parked { until } } else { State::Degraded { until } };
        self.try_again(until, now)
    }

    fn try_again(&mut self, until: Instant, now: Instant) -> Vec<Effect> {
        if until <= now { self.start(now) } else { Vec::new() }
    }

    /// Starts it, or has it wait where the last start was just now.
    fn start(&mut self, now: Instant) -> Vec<Effect> {
        let until = self.not_before(now);
        if until > now {
            return self.go(State::Degraded { until }, &[]);
        }
        self.last_start = Some(now);
        self.starts += 1;
        self.go(State::Starting, &[Effect::Start])
    }

    fn not_before(&self, now: Instant) -> Instant {
        self.last_start.map_or(now, |last| now.max(last + START_EVERY))
    }

    fn pause(&mut self) -> Duration {
        let doublings = self.charges.saturating_sub(1).min(6);
        let pause = (PAUSE_FIRST * 2u32.pow(doublings)).min(PAUSE_MAX);
        // A congruential generator (Knuth's MMIX constants): the pauses need to differ, not to be secret.
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let chance = (self.dice >> 11) as f64 / (1u64 << 53) as f64;
        pause.mul_f64(1.0 - JITTER + 2.0 * JITTER * chance)
    }
}

#[cfg(test)]
mod tests;
