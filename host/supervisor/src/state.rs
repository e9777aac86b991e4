//! What a supervisor does next, as a function of what it was told and what it saw.

/// How a supervisor stands with its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The host lives, and its death is to be acted on.
    Guarding,
    /// The host lives and said that it needs nobody any more.
    Released,
    /// The host is gone: everything of it is to be ended.
    Ending,
    /// The host needs nobody, and nothing is left to do.
    Leaving,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A group was registered or unregistered.
    Changed,
    /// The host said that it needs nobody any more.
    Release,
    /// The pipe ended, or the host did, with so many groups registered.
    Death { groups: usize },
}

impl State {
    /// What follows. Death without a release is acted on even with nothing registered: a program may have been between
    /// its start and its registration.
    pub(crate) fn on(self, event: Event) -> Self {
        match (self, event) {
            (Self::Guarding | Self::Released, Event::Changed) => Self::Guarding,
            (Self::Guarding | Self::Released, Event::Release) => Self::Released,
            (Self::Released, Event::Death { groups: 0 }) => Self::Leaving,
            (Self::Guarding | Self::Released, Event::Death { .. }) => Self::Ending,
            (Self::Ending | Self::Leaving, _) => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(events: &[Event]) -> State {
        events.iter().fold(State::Guarding, |state, event| state.on(*event))
    }

    #[test]
    fn a_death_is_acted_on_even_with_nothing_registered() {
        assert_eq!(after(&[Event::Death { groups: 0 }]), State::Ending);
    }

    #[test]
    fn a_release_with_nothing_registered_is_no_death() {
        assert_eq!(after(&[Event::Changed, Event::Release, Event::Death { groups: 0 }]), State::Leaving);
    }

    #[test]
    fn a_release_does_not_cover_what_is_registered() {
        assert_eq!(after(&[Event::Release, Event::Death { groups: 1 }]), State::Ending);
        assert_eq!(after(&[Event::Release, Event::Changed, Event::Death { groups: 0 }]), State::Ending);
    }

    #[test]
    fn nothing_stops_an_ending() {
        let ending = [Event::Death { groups: 3 }, Event::Release, Event::Changed, Event::Death { groups: 0 }];
        assert_eq!(after(&ending), State::Ending);
    }
}
