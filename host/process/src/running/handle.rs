//! The handle of a command: ask, wait, stop. Every verb returns after its effect.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hermes_model::id::{Owner, ProcessId};
use hermes_model::status::Status;
use hermes_output::captured::Captured;
use tokio::sync::{mpsc, oneshot, watch};

use super::message::Message;
use super::output::Output;
use crate::kill::{Survivor, Verdict};

/// Who is named in the status of a command that still ran when the host ended it.
const BY_HOST: &str = "shutdown";

/// A started command. Cloning it gives another handle to the same.
///
/// When the last handle is dropped while the command runs, its tree is ended; survivors of a command that is over are
/// left alone until the runtime ends, and killed then.
#[derive(Clone)]
pub struct Process {
    pub(crate) shared: Arc<Shared>,
    pub(crate) messages: mpsc::Sender<Message>,
}

pub(crate) struct Shared {
    pub(crate) id: ProcessId,
    pub(crate) pid: i32,
    pub(crate) owner: Owner,
    pub(crate) output: Arc<Output>,
    pub(crate) live: Mutex<Option<mpsc::Receiver<Vec<u8>>>>,
    pub(crate) ended: watch::Receiver<Option<Arc<Ended>>>,
}

/// How a command ended.
pub struct Ended {
    /// What is known of its end.
    pub status: Status,
    /// Who of it was still alive then.
    pub survivors: Vec<Survivor>,
    /// How long it ran.
    pub duration: Duration,
    /// What it printed.
    pub output: Arc<Captured>,
}

impl Process {
    /// Its id.
    pub fn id(&self) -> &ProcessId {
        &self.shared.id
    }

    /// The number of its leader; it is also that of its session and its first process group. Once nothing of the command
    /// is alive the kernel may give it to somebody else: show it, never signal it.
    pub fn pid(&self) -> i32 {
        self.shared.pid
    }

    /// Who may see and end it.
    pub fn owner(&self) -> &Owner {
        &self.shared.owner
    }

    /// The output as it arrives, every byte from the first, in chunks of at most 64 KiB. Once, and only where the spec
    /// asked for it.
    ///
    /// The command waits while the reader does, as on any pipe; dropping the receiver ends that. The channel closes
    /// when the output is complete.
    pub fn take_live(&mut self) -> Option<mpsc::Receiver<Vec<u8>>> {
        self.shared.live.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What it printed so far.
    pub fn captured(&self) -> Arc<Captured> {
        self.shared.output.snapshot()
    }

    /// Ends the whole tree and says what came of it. `by` names who asked, for the status.
    ///
    /// Of a command that is over, the survivors are ended and its status stays. A second call while the first one is
    /// under way cuts the grace short and gets the same verdict.
    pub async fn stop(&self, by: &str) -> Verdict {
        let (answer, verdict) = oneshot::channel();
        if self.messages.send(Message::Stop { by: by.to_owned(), answer }).await.is_ok() {
            // Without an answer the task was thrown away with its runtime, killing as it went.
            return verdict.await.unwrap_or_else(|_| Verdict::unseen());
        }
        // A task leaves by itself only after the end was announced and nobody of the tree is alive.
        if self.shared.ended.borrow().is_some() { Verdict::complete() } else { Verdict::unseen() }
    }

    /// Ends what is left of it: for the orderly end of a host.
    pub async fn end_survivors(&self) -> Verdict {
        self.stop(BY_HOST).await
    }

    /// Waits for its end: the exit of its leader and a short drain, never the closing of a pipe.
    pub async fn wait(&self) -> Arc<Ended> {
        let mut ended = self.shared.ended.clone();
        if let Ok(seen) = ended.wait_for(Option::is_some).await
            && let Some(ended) = seen.as_ref()
        {
            return Arc::clone(ended);
        }
        Arc::new(Ended {
            status: Status::Lost("the host ended before the command did".to_owned()),
            survivors: Vec::new(),
            duration: Duration::ZERO,
            output: self.captured(),
        })
    }
}
