//! What a command printed so far, shared between the task that reads it and the handles.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hermes_output::captured::Captured;

/// The captured output: growing while the command runs, then final and shared without copies.
pub(crate) struct Output(Mutex<Stage>);

enum Stage {
    Growing(Captured),
    Final(Arc<Captured>),
}

impl Output {
    pub(crate) fn new(ring_bytes: usize) -> Self {
        Self(Mutex::new(Stage::Growing(Captured::new(ring_bytes))))
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what was just read. After the end nothing is added any more.
    pub(crate) fn push(&self, bytes: &[u8]) {
        if let Stage::Growing(captured) = &mut *self.stage() {
            captured.push(bytes);
        }
    }

    /// What there is now. Copies while the command runs, up to the size of the ring.
    pub(crate) fn snapshot(&self) -> Arc<Captured> {
        match &*self.stage() {
            Stage::Growing(captured) => Arc::new(captured.clone()),
            Stage::Final(captured) => Arc::clone(captured),
        }
    }

    /// Declares it complete.
    pub(crate) fn finish(&self) -> Arc<Captured> {
        let mut stage = self.stage();
        if let Stage::Growing(captured) = &mut *stage {
            // The empty one lives only until the next statement.
            let captured = Arc::new(std::mem::replace(captured, Captured::new(0)));
            *stage = Stage::Final(captured);
        }
        match &*stage {
            Stage::Final(captured) => Arc::clone(captured),
            Stage::Growing(captured) => Arc::new(captured.clone()),
        }
    }
}
