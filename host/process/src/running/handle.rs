//! The handle of a command: ask, wait, stop. Every verb returns after its effect.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hermes_model::id::{Owner, ProcessId};
use hermes_model::status::Status;
use hermes_output::captured::Captured;
use tokio::sync::{mpsc, oneshot, watch};

use super::input::{Input, ResizeError, SendError};
use super::message::Message;
use super::output::Output;
use super::tap::Chunk;
use crate::kill::{Survivor, Verdict};
use crate::spec::PtySize;
use crate::survey::Identity;

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
    pub(crate) identity: Identity,
    pub(crate) owner: Owner,
    pub(crate) output: Arc<Output>,
    pub(crate) input: Arc<Input>,
    pub(crate) live: Mutex<Option<mpsc::Receiver<Chunk>>>,
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
    pub(crate) printed: Arc<Output>,
}

impl Ended {
    /// What it printed, as far as it is held.
    pub fn output(&self) -> Arc<Captured> {
        self.printed.snapshot()
    }
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

    /// The output as it arrives, from the first byte, in chunks of at most 64 KiB. Once, and only where the spec asked
    /// for it: [`Live`](crate::spec::Live) says who waits for whom. Dropping the receiver ends that. The channel closes
    /// when the output is complete.
    pub fn take_live(&mut self) -> Option<mpsc::Receiver<Chunk>> {
        self.shared.live.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What it printed so far.
    pub fn captured(&self) -> Arc<Captured> {
        self.shared.output.snapshot()
    }

    /// What it printed so far, and all that follows as it arrives: together every byte once. The receiver is that of a
    /// [`Live::Tap`](crate::spec::Live::Tap); there is none once the output is complete, and none while
    /// [`TAPS_MAX`](super::tap::TAPS_MAX) others read. Call it inside a tokio runtime.
    pub fn tap(&self) -> (Arc<Captured>, Option<mpsc::Receiver<Chunk>>) {
        self.shared.output.tap()
    }

    /// Sends bytes to what the command reads: its pipe, or the terminal it runs on. Returns how many were taken, which is
    /// all of them; what is sent at the same time comes one after the other. Dropping the future may leave a part sent.
    ///
    /// # Errors
    /// [`SendError`]: nothing to send to, nobody to read it, or not read within [`SEND_TIME`](super::input::SEND_TIME).
    pub async fn send(&self, bytes: &[u8]) -> Result<usize, SendError> {
        self.unless_ended(self.shared.input.send(bytes)).await
    }

    /// Tells the command that nothing more comes, as Ctrl-D does: closes its pipe, or types the character its terminal
    /// has for the end of a file.
    ///
    /// # Errors
    /// As for [`Process::send`].
    pub async fn send_eof(&self) -> Result<(), SendError> {
        self.unless_ended(self.shared.input.send_eof()).await
    }

    /// Refuses to send any more, once what is being sent was taken. A pipe is closed; a terminal stays as it is. May be
    /// repeated.
    ///
    /// # Errors
    /// [`SendError::NoStdin`] and [`SendError::Ended`].
    pub async fn close_stdin(&self) -> Result<(), SendError> {
        self.unless_ended(self.shared.input.close()).await
    }

    async fn unless_ended<T>(&self, sent: impl Future<Output = Result<T, SendError>>) -> Result<T, SendError> {
        let mut ended = self.shared.ended.clone();
        tokio::select! {
            biased;
            sent = sent => sent,
            // Or the runtime of the command is gone, which is the same to whoever sends.
            _ = ended.wait_for(Option::is_some) => Err(SendError::Ended),
        }
    }

    /// Gives the terminal it runs on another size; the program in the foreground is told (SIGWINCH).
    ///
    /// # Errors
    /// [`ResizeError`]: there is no terminal, or no more.
    pub fn resize(&self, size: PtySize) -> Result<(), ResizeError> {
        self.shared.input.resize(size)
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
            printed: Arc::clone(&self.shared.output),
        })
    }
}
