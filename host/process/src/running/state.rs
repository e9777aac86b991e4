//! Where a command stands and what follows from what happens: pure, so that every order of events can be tested.

use hermes_model::status::Status;

use crate::leader::Exit;

/// Where a command stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Its leader runs.
    Running,
    /// Its tree is being ended; what it will be called is decided.
    Ending(Status),
    /// It is over. Survivors of it may still run.
    Over(Status),
    /// It is over, and its survivors are being ended.
    Sweeping(Status),
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The leader ended.
    Left(Exit),
    /// Its time ran out.
    TimeUp,
    /// Somebody asked for its end.
    StopAsked(String),
    /// The ending of the tree is done, as far as it could be.
    TreeEnded,
}

/// What is to be done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    None,
    /// Begin to end the tree.
    EndTree,
    /// Cut the grace short: somebody asked a second time.
    Hurry,
    /// Take in the rest of the output and announce the end.
    Announce(Status),
}

impl State {
    /// The next state. A status once decided stays: a tree that is being ended for a time-out has timed out, whatever
    /// its leader answers to SIGTERM.
    pub(crate) fn on(self, event: Event) -> (Self, Effect) {
        match (self, event) {
            (Self::Running, Event::Left(exit)) => {
                let status = status_of(exit);
                (Self::Over(status.clone()), Effect::Announce(status))
            }
            (Self::Running, Event::TimeUp) => (Self::Ending(Status::TimedOut), Effect::EndTree),
            (Self::Running, Event::StopAsked(by)) => (Self::Ending(Status::Stopped(by)), Effect::EndTree),
            (Self::Ending(status), Event::TreeEnded) => (Self::Over(status.clone()), Effect::Announce(status)),
            (Self::Over(status), Event::StopAsked(_)) => (Self::Sweeping(status), Effect::EndTree),
            (Self::Sweeping(status), Event::TreeEnded) => (Self::Over(status), Effect::None),
            (state @ (Self::Ending(_) | Self::Sweeping(_)), Event::StopAsked(_)) => (state, Effect::Hurry),
            (state, _) => (state, Effect::None),
        }
    }

    /// Whether the time limit still counts.
    pub(crate) fn is_running(&self) -> bool {
        matches!(self, Self::Running)
    }

    /// Whether nothing more will be announced and nothing is being ended.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self, Self::Over(_))
    }
}

fn status_of(exit: Exit) -> Status {
    match exit {
        Exit::Code(code) => Status::Exited(code),
        Exit::Signal(signal) => Status::Signalled(signal),
        Exit::Unknown => Status::Lost("its exit status was taken by other code of this program".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run(events: &[Event]) -> (State, Vec<Effect>) {
        let mut effects = Vec::new();
        let mut state = State::Running;
        for event in events {
            let (next, effect) = state.on(event.clone());
            state = next;
            if effect != Effect::None {
                effects.push(effect);
            }
        }
        (state, effects)
    }

    #[test]
    fn an_exit_zero_after_the_time_is_up_is_still_a_time_out() {
        let (state, effects) = run(&[Event::TimeUp, Event::Left(Exit::Code(0)), Event::TreeEnded]);
        assert_eq!(state, State::Over(Status::TimedOut));
        assert_eq!(effects, [Effect::EndTree, Effect::Announce(Status::TimedOut)]);
    }

    #[test]
    fn an_exit_before_the_stop_keeps_its_status_and_the_stop_sweeps() {
        let (state, effects) = run(&[Event::Left(Exit::Code(3)), Event::StopAsked("x".into()), Event::TreeEnded]);
        assert_eq!(state, State::Over(Status::Exited(3)));
        assert_eq!(effects, [Effect::Announce(Status::Exited(3)), Effect::EndTree]);
    }

    #[test]
    fn a_second_stop_cuts_the_grace_short_and_the_first_one_is_named() {
        let (state, effects) = run(&[Event::StopAsked("a".into()), Event::StopAsked("b".into()), Event::TreeEnded]);
        assert_eq!(state, State::Over(Status::Stopped("a".into())));
        assert_eq!(effects[1], Effect::Hurry);
    }

    proptest! {
        #[test]
        fn in_every_order_one_end_is_announced_and_its_status_never_changes(
            events in prop::collection::vec(prop_oneof![
                Just(Event::Left(Exit::Code(0))), Just(Event::Left(Exit::Signal(9))), Just(Event::TimeUp),
                "[ab]".prop_map(Event::StopAsked), Just(Event::TreeEnded),
            ], 0..12)
        ) {
            let mut state = State::Running;
            let mut announced: Option<Status> = None;
            let mut asked_to_end = false;
            for event in events {
                let by_itself = !asked_to_end && matches!(event, Event::Left(_));
                asked_to_end |= matches!(event, Event::TimeUp | Event::StopAsked(_));
                let (next, effect) = state.on(event);
                if let Effect::Announce(status) = effect {
                    prop_assert!(announced.is_none());
                    // A kill is never shown as success.
                    prop_assert!(by_itself || status.exit_code() != Some(0));
                    announced = Some(status);
                }
                if let (State::Over(status) | State::Sweeping(status), Some(said)) = (&next, &announced) {
                    prop_assert_eq!(status, said);
                }
                state = next;
            }
        }
    }
}
