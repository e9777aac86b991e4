//! What the server prints on its stderr: drained always, and shown through the redactors.
//!
//! It must never make the server wait: what the reader is too slow for is left out and counted.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use hermes_model::context::{Context, Surface};
use hermes_output::exact::ExactValues;
use hermes_output::policy::Policy;
use hermes_output::stream::Stream;
use hermes_output::visible::Visible;
use tokio::io::{AsyncRead, AsyncReadExt};

/// How much may wait to be shown, in bytes: what the pipe itself would hold (pipe(7)).
const WAITING_MAX: usize = 64 * 1024;
/// How much is read at once.
const READ: usize = 16 * 1024;

/// What was read and not shown yet.
#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// How many bytes after those are left out.
    skipped: u64,
    ended: bool,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end that reads. Dropping it is the end of what is shown.
pub(super) struct Drain {
    shared: Arc<Shared>,
}

/// The end that shows.
pub(super) struct Show {
    shared: Arc<Shared>,
}

/// The two ends.
pub(super) fn pair() -> (Drain, Show) {
    let shared = Arc::<Shared>::default();
    (Drain { shared: Arc::clone(&shared) }, Show { shared })
}

impl Drop for Drain {
    fn drop(&mut self) {
        self.shared.waiting().ended = true;
        self.shared.changed.notify_one();
    }
}

impl Drain {
    /// Reads until nothing follows.
    pub(super) async fn run(self, mut errors: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; READ];
        while let Ok(length @ 1..) = errors.read(&mut buffer).await {
            self.push(&buffer[..length]);
        }
    }

    fn push(&self, bytes: &[u8]) {
        let mut waiting = self.shared.waiting();
        // Nothing may overtake what was left out.
        if waiting.skipped > 0 || waiting.bytes.len() + bytes.len() > WAITING_MAX {
            waiting.skipped += bytes.len() as u64;
        } else {
            waiting.bytes.extend_from_slice(bytes);
        }
        self.shared.changed.notify_one();
    }
}

impl Show {
    /// What has come since the last time: bytes, and how many after them are left out. None: nothing follows. Blocks.
    fn next(&self) -> Option<(Vec<u8>, u64)> {
        let mut waiting = self.shared.waiting();
        loop {
            if !waiting.bytes.is_empty() || waiting.skipped > 0 {
                return Some((std::mem::take(&mut waiting.bytes), std::mem::take(&mut waiting.skipped)));
            }
            if waiting.ended {
                return None;
            }
            waiting = self.shared.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Shows everything until nothing follows. Blocks.
    pub(super) fn run(self, name: &str, policy: &dyn Policy, exact: Arc<ExactValues>, sink: &dyn Fn(&Visible)) {
        let mut context = Context::new(Surface::Stream);
        name.clone_into(&mut context.source);
        let mut stream = Stream::new(context, exact);
        let show = |text: &Visible| {
            if !text.is_empty() {
                sink(text);
            }
        };
        while let Some((bytes, skipped)) = self.next() {
            show(&stream.push(policy, &bytes).text);
            if skipped > 0 {
                show(&stream.skip(policy, skipped).text);
            }
        }
        show(&stream.finish(policy).text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_shows_is_left_out_and_counted_and_nothing_overtakes_it() {
        let (drain, show) = pair();
        drain.push(&vec![b'a'; WAITING_MAX - 1]);
        drain.push(b"bb");
        drain.push(b"c");
        let (bytes, skipped) = show.next().unwrap();
        assert_eq!((bytes.len(), skipped), (WAITING_MAX - 1, 3));
        drain.push(b"d");
        assert_eq!(show.next(), Some((b"d".to_vec(), 0)));
        drain.push(b"e");
        drop(drain);
        assert_eq!(show.next(), Some((b"e".to_vec(), 0)));
        assert_eq!(show.next(), None);
    }
}
