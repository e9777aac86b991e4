//! What a registry is asked: start this, and say so when it ends.

use std::time::Duration;

use hermes_model::id::ProcessId;

use crate::notify::watch::BadPattern;
use crate::spawn::SpawnError;
use crate::spec::CommandSpec;

/// A command to start, with everything that is to happen with it: nothing is set afterwards, so nothing is missed.
#[derive(Clone)]
pub struct Request {
    /// What runs, where, and for how long.
    pub spec: CommandSpec,
    /// Whether its end is an event.
    pub notify: bool,
    /// Texts that make an event when it prints them.
    pub watch: Vec<String>,
    /// How often it reports while it runs and prints; none, and zero: never.
    pub heartbeat: Option<Duration>,
    /// The longest output of its completion, in bytes; none: what the configuration says.
    pub completion_bytes: Option<usize>,
}

impl Request {
    /// A command that nobody is told about.
    pub fn new(spec: CommandSpec) -> Self {
        Self { spec, notify: false, watch: Vec::new(), heartbeat: None, completion_bytes: None }
    }
}

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A pattern nobody can watch for.
    #[error(transparent)]
    Pattern(#[from] BadPattern),
    /// The command itself.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The host is ending.
    #[error("this host is ending and starts nothing more: try again, and another one starts")]
    Ending,
}

/// Why there is no answer about a process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// There is none with this id.
    #[error("there is no process '{0}': `hermes ps` lists them")]
    NotFound(String),
    /// The beginning of several ids.
    #[error("'{asked}' is the beginning of {count} process ids: give more of it ({examples})")]
    Ambiguous {
        /// What was given.
        asked: String,
        /// How many begin so.
        count: usize,
        /// Some of them.
        examples: String,
    },
    /// Too little of an id.
    #[error("'{0}' is too short to name a process: give at least {min} digits of its id", min = super::table::PREFIX_DIGITS_MIN)]
    TooShort(String),
    /// It is another owner's.
    #[error("process {0} belongs to another owner: name that owner, if it is yours to ask")]
    Foreign(ProcessId),
    /// It has ended long ago, so there is nothing to follow.
    #[error("process {0} ended long ago, and its log does not grow: `hermes logs {0}` shows what was kept")]
    Past(ProcessId),
    /// Another host runs it.
    #[error("process {0} belongs to another hermes host of this home: ask that one")]
    Elsewhere(ProcessId),
    /// The ledger has no answer.
    #[error(transparent)]
    Ledger(#[from] hermes_ledger::problem::LedgerError),
}

/// How much of a log is asked for, in lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// The first line, from 0; none: so that the last one is the last.
    pub offset: Option<u64>,
    /// How many; none: [`LOG_LINES`].
    pub limit: Option<u64>,
}

/// The lines of a log that are shown where nobody says how many (200 is usual for this).
pub const LOG_LINES: u64 = 200;

/// Who asked for an end, and why: what a process that persists is spared from depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Somebody named the process.
    Kill,
    /// Somebody asked for the end of everything of an owner.
    KillAll,
    /// The turn that started it was given up.
    TurnTimeout,
    /// The agent that started it is closed.
    AgentClose,
    /// The host ends.
    Shutdown,
}

impl Source {
    /// The word for it in a status.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::KillAll => "kill-all",
            Self::TurnTimeout => "turn-timeout",
            Self::AgentClose => "agent-close",
            Self::Shutdown => "shutdown",
        }
    }

    /// Whether a process that was started to persist is spared: it outlives what happens to its agent, and nothing else.
    pub fn spares_persistent(self) -> bool {
        matches!(self, Self::KillAll | Self::TurnTimeout | Self::AgentClose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_sources_spare_what_persists_and_no_other_does() {
        let spared = [Source::KillAll, Source::TurnTimeout, Source::AgentClose];
        assert!(spared.iter().all(|source| source.spares_persistent()));
        assert!(!Source::Kill.spares_persistent() && !Source::Shutdown.spares_persistent());
    }
}
