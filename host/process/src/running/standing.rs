//! What a registry asks a process beside its verbs: whether it is over, whether it is gone, what its output takes.

use std::sync::Arc;

use super::handle::{Ended, Process};
use crate::kill::Survivor;
use crate::survey::Identity;

impl Process {
    /// Its leader. Proven as long as somebody of the process lives; after that a number.
    pub fn identity(&self) -> Identity {
        self.shared.identity
    }

    /// How it ended, if it did.
    pub fn ended(&self) -> Option<Arc<Ended>> {
        self.shared.ended.borrow().clone()
    }

    /// Whether nobody of it lives any more.
    pub fn is_gone(&self) -> bool {
        self.messages.is_closed()
    }

    /// Returns when nobody of it lives any more.
    pub async fn gone(&self) {
        self.messages.closed().await;
    }

    /// Who was alive when it ended, if anybody still may be.
    pub fn survivors(&self) -> Vec<Survivor> {
        if self.is_gone() { Vec::new() } else { self.ended().map_or_else(Vec::new, |ended| ended.survivors.clone()) }
    }

    /// How much memory its output takes, in bytes.
    pub fn held(&self) -> usize {
        self.shared.output.held()
    }

    /// Keeps no more than this much of the end of its output, from now on.
    pub fn shrink_ring(&self, ring_bytes: usize) {
        self.shared.output.shrink_ring(ring_bytes);
    }
}
