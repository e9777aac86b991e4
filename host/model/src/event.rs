//! What can happen that somebody may want to know.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// A process ended.
    Completion,
    /// A process still runs and printed something new.
    Heartbeat,
    /// A process printed what was watched for.
    Match,
    /// A process prints what is watched for so often that it is no longer watched.
    WatchDisabled,
    /// All processes together matched too often; matches are dropped for a while, or are no longer.
    WatchOverflow,
    /// An MCP server changed its state.
    Server,
    /// A plugin changed its state.
    Plugin,
}

impl EventKind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Completion,
        Self::Heartbeat,
        Self::Match,
        Self::WatchDisabled,
        Self::WatchOverflow,
        Self::Server,
        Self::Plugin,
    ];

    /// The word for it in JSON, in the contract and in the ledger.
    pub fn name(self) -> &'static str {
        match self {
            Self::Completion => "completion",
            Self::Heartbeat => "heartbeat",
            Self::Match => "match",
            Self::WatchDisabled => "watch-disabled",
            Self::WatchOverflow => "watch-overflow",
            Self::Server => "server",
            Self::Plugin => "plugin",
        }
    }

    /// Whether it is a process that wakes somebody by it: what `notifications.background` decides about.
    pub fn is_of_a_process(self) -> bool {
        !matches!(self, Self::Server | Self::Plugin)
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that is no kind of event: of a later hermes, or damaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no kind of event that this hermes knows")]
pub struct UnknownEventKind(String);

impl FromStr for EventKind {
    type Err = UnknownEventKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| UnknownEventKind(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_by_its_own_word_and_serialises_as_it() {
        for kind in EventKind::ALL {
            assert_eq!(kind.name().parse::<EventKind>().unwrap(), kind);
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{}\"", kind.name()));
        }
        assert!("other".parse::<EventKind>().is_err());
    }
}
