//! What a command shows of its intent piece by piece: it looks the host up here, and kills something there.
//!
//! Either alone is harmless. It must never forget a piece before the whole command was read.

use super::Reason;

/// The pieces seen so far.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    /// Something is killed whose number cannot be told.
    pub(crate) kills: bool,
    /// The host's number is looked up, by its name or its socket.
    pub(crate) looks_up: Option<Reason>,
    /// The host's pid file is named.
    pub(crate) names_pid_file: bool,
    /// Processes are listed.
    pub(crate) lists: bool,
    /// Something is filtered by a pattern that the host matches.
    pub(crate) filters: bool,
}

impl Evidence {
    /// What the pieces make together.
    pub(crate) fn verdict(&self) -> Result<(), Reason> {
        match self.looks_up {
            _ if !self.kills => Ok(()),
            Some(reason) => Err(reason),
            None if self.names_pid_file => Err(Reason::ByPidFile),
            None if self.lists && self.filters => Err(Reason::ByName),
            None => Ok(()),
        }
    }
}
