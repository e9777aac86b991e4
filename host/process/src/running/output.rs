//! What a command printed so far, shared between the task that reads it and the handles.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hermes_output::captured::Captured;
use tokio::sync::mpsc;

use super::tap::{Chunk, TAPS_MAX, Tap};

/// The captured output: growing while the command runs, then final and shared without copies.
pub(crate) struct Output(Mutex<Stage>);

enum Stage {
    Growing { captured: Captured, taps: Vec<Tap> },
    Final(Arc<Captured>),
}

impl Output {
    pub(crate) fn new(ring_bytes: usize) -> Self {
        Self(Mutex::new(Stage::Growing { captured: Captured::new(ring_bytes), taps: Vec::new() }))
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what was just read. After the end nothing is added any more.
    pub(crate) fn push(&self, bytes: &[u8]) {
        if let Stage::Growing { captured, taps } = &mut *self.stage() {
            captured.push(bytes);
            taps.retain(Tap::is_read);
            taps.iter().for_each(|tap| tap.push(bytes));
        }
    }

    /// What there is now. Copies while the command runs, up to the size of the ring.
    pub(crate) fn snapshot(&self) -> Arc<Captured> {
        match &*self.stage() {
            Stage::Growing { captured, .. } => Arc::new(captured.clone()),
            Stage::Final(captured) => Arc::clone(captured),
        }
    }

    /// What there is now, and a tap of all that follows: together no byte is missing and none is there twice. No tap
    /// when it is complete, or when there are [`TAPS_MAX`].
    pub(crate) fn tap(&self) -> (Arc<Captured>, Option<mpsc::Receiver<Chunk>>) {
        match &mut *self.stage() {
            Stage::Growing { captured, taps } => {
                taps.retain(Tap::is_read);
                let receiver = (taps.len() < TAPS_MAX).then(|| {
                    let (tap, receiver) = Tap::new();
                    taps.push(tap);
                    receiver
                });
                (Arc::new(captured.clone()), receiver)
            }
            Stage::Final(captured) => (Arc::clone(captured), None),
        }
    }

    /// How much memory it takes, in bytes.
    pub(crate) fn held(&self) -> usize {
        match &*self.stage() {
            Stage::Growing { captured, .. } => captured.held(),
            Stage::Final(captured) => captured.held(),
        }
    }

    /// Keeps no more than this much of its end, from now on.
    pub(crate) fn shrink_ring(&self, ring_bytes: usize) {
        match &mut *self.stage() {
            Stage::Growing { captured, .. } => captured.shrink_ring(ring_bytes),
            // Copied only while somebody looks at it.
            Stage::Final(captured) => Arc::make_mut(captured).shrink_ring(ring_bytes),
        }
    }

    /// Declares it complete, and its taps too.
    pub(crate) fn finish(&self) {
        let mut stage = self.stage();
        if let Stage::Growing { captured, .. } = &mut *stage {
            // The empty one lives only until the next statement.
            let captured = Arc::new(std::mem::replace(captured, Captured::new(0)));
            *stage = Stage::Final(captured);
        }
    }
}
