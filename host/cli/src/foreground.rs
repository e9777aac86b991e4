//! One command in the foreground: started, watched, ended with everything it started.
//!
//! A signal to hermes ends the command's whole tree; a second one cuts its grace short. Nothing of it is left when this
//! returns, and whoever could not be ended is named.

pub(crate) mod follow;
pub(crate) mod signals;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hermes_model::exit;
use hermes_model::id::ProcessId;
use hermes_model::status::Status;
use hermes_process::host::{self, Host};
use hermes_process::running::handle::{Ended, Process};
use hermes_process::running::tap::Chunk;
use hermes_process::spawn::{self, SpawnError};
use hermes_process::spec::{CommandSpec, Live};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use follow::Followed;
use signals::{Caught, Signals};

/// The signal of a program whose reader went away (signal(7)).
const SIGPIPE: i32 = 13;
/// What a program exits with whose reader went away, as shells show it.
pub(crate) const READER_LEFT: i32 = exit::SIGNAL_BASE + SIGPIPE;
/// How long the rest of the output may take to be shown once hermes was told to end: a reader that reads takes far less,
/// and whoever sent the signal still waits.
const LAST_OUTPUT: Duration = Duration::from_secs(1);
/// Who is named in the status when stdout was closed.
const BY_CLOSED_OUTPUT: &str = "output closed";

/// Why a command did not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// There is no runtime.
    #[error("the runtime for processes cannot start; free threads or open files (ulimit -a)")]
    Runtime(#[source] io::Error),
    /// Signals cannot be listened to.
    #[error("signals cannot be listened to")]
    Signals(#[source] io::Error),
    /// This program cannot be a host.
    #[error(transparent)]
    Host(#[from] host::StartError),
    /// The command itself.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

impl StartError {
    /// What hermes exits with.
    pub(crate) fn exit_code(&self) -> i32 {
        match self {
            Self::Spawn(error) => error.exit_code(),
            _ => exit::HERMES_FAILED,
        }
    }

    /// The same as a status.
    pub(crate) fn status(&self) -> Status {
        match self {
            Self::Spawn(error) => error.status(),
            other => Status::FailedToStart { reason: other.to_string(), code: exit::HERMES_FAILED },
        }
    }
}

/// Who reads the output as it arrives. It runs on a thread of its own, since a plugin and a pipe may both block it.
pub(crate) type Reader = Box<dyn FnOnce(&ProcessId, mpsc::Receiver<Chunk>) -> Followed + Send>;

/// A command that is over.
pub(crate) struct Finished {
    pub(crate) id: ProcessId,
    pub(crate) pid: i32,
    pub(crate) ended: Arc<Ended>,
    /// Who outlived the command and was ended then.
    pub(crate) swept: Vec<i32>,
    /// Who could not be ended.
    pub(crate) left: Vec<i32>,
    /// What the reader had to say, if there was one and it came to an end.
    pub(crate) followed: Option<Followed>,
    stopped: Option<Stop>,
}

/// Who ended the command before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Signal(Caught),
    ClosedOutput,
}

impl Stop {
    fn name(self) -> &'static str {
        match self {
            Self::Signal(caught) => caught.name(),
            Self::ClosedOutput => BY_CLOSED_OUTPUT,
        }
    }

    fn signal(self) -> i32 {
        match self {
            Self::Signal(caught) => caught.number(),
            Self::ClosedOutput => SIGPIPE,
        }
    }
}

impl Finished {
    /// What hermes exits with: the command's own code, or what a shell shows for what ended it.
    pub(crate) fn exit_code(&self) -> i32 {
        exit_code(&self.ended.status, self.stopped)
    }
}

fn exit_code(status: &Status, stopped: Option<Stop>) -> i32 {
    match (status, stopped) {
        (Status::Stopped(_), Some(stop)) => exit::SIGNAL_BASE + stop.signal(),
        // Nothing is known of its end, so that is hermes' failure.
        (status, _) => status.exit_code().unwrap_or(exit::HERMES_FAILED),
    }
}

/// Runs a command to its end.
pub(crate) fn run(spec: CommandSpec, reader: Option<Reader>) -> Result<Finished, StartError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(StartError::Runtime)?;
    let finished = runtime.block_on(attend(spec, reader));
    // A reader that was given up hangs in a write to a stdout that nobody reads.
    runtime.shutdown_background();
    finished
}

async fn attend(mut spec: CommandSpec, reader: Option<Reader>) -> Result<Finished, StartError> {
    // Before anything runs: a signal in between would end hermes alone.
    let mut signals = Signals::listen().map_err(StartError::Signals)?;
    let host = Host::start_with(crate::SUPERVISOR)?;
    spec.live = if reader.is_some() { Live::Steady } else { Live::None };
    let mut process = spawn::spawn(&host, spec).await?;
    let reader = reader.zip(process.take_live()).map(|(reader, chunks)| {
        let id = process.id().clone();
        tokio::task::spawn_blocking(move || reader(&id, chunks))
    });
    let mut watch = Watch { process, reader, followed: None, stopped: None };
    let ended = watch.until_ended(&mut signals).await;
    let left = watch.sweep(&mut signals).await;
    watch.until_followed(&mut signals).await;
    let survivors = ended.survivors.iter().map(|survivor| survivor.pid());
    // Whoever a time-out or a stop did not reach was not ended by the sweep either, or is named as such.
    let mut swept: Vec<i32> = survivors.filter(|pid| !left.contains(pid)).collect();
    swept.sort_unstable();
    Ok(Finished {
        id: watch.process.id().clone(),
        pid: watch.process.pid(),
        ended,
        swept,
        left,
        followed: watch.followed,
        stopped: watch.stopped,
    })
}

struct Watch {
    process: Process,
    reader: Option<JoinHandle<Followed>>,
    followed: Option<Followed>,
    stopped: Option<Stop>,
}

impl Watch {
    async fn until_ended(&mut self, signals: &mut Signals) -> Arc<Ended> {
        let process = self.process.clone();
        let ended = process.wait();
        tokio::pin!(ended);
        loop {
            let stop = tokio::select! {
                biased;
                ended = &mut ended => return ended,
                caught = signals.next() => Stop::Signal(caught),
                closed = self.reader_done() => if closed { Stop::ClosedOutput } else { continue },
            };
            self.stop(stop);
        }
    }

    /// Asks for the end of the tree, without waiting for it: a second signal must be heard.
    fn stop(&mut self, stop: Stop) {
        self.stopped.get_or_insert(stop);
        let process = self.process.clone();
        tokio::spawn(async move { process.stop(stop.name()).await });
    }

    /// Waits for the reader's end; whether it ended because stdout was closed.
    async fn reader_done(&mut self) -> bool {
        let Some(reader) = &mut self.reader else { return std::future::pending().await };
        // A reader that panicked shows nothing more, so the command has no reason to go on.
        let followed = reader.await.unwrap_or_else(|_| Followed::broken());
        self.reader = None;
        let closed = followed.is_cut_short();
        self.followed = Some(followed);
        closed
    }

    /// Ends whoever outlived the command, and names those who could not be ended.
    async fn sweep(&mut self, signals: &mut Signals) -> Vec<i32> {
        let process = self.process.clone();
        let verdict = process.end_survivors();
        tokio::pin!(verdict);
        loop {
            tokio::select! {
                verdict = &mut verdict => return verdict.survivors.iter().map(|survivor| survivor.pid()).collect(),
                caught = signals.next() => self.stop(Stop::Signal(caught)),
            }
        }
    }

    /// Waits until all output is shown. A signal, now or before, bounds that: stdout may be a pipe that nobody reads.
    async fn until_followed(&mut self, signals: &mut Signals) {
        let signalled = matches!(self.stopped, Some(Stop::Signal(_)));
        let patience = async {
            if !signalled {
                signals.next().await;
            }
            tokio::time::sleep(LAST_OUTPUT).await;
        };
        tokio::pin!(patience);
        while self.reader.is_some() {
            tokio::select! {
                _ = self.reader_done() => {}
                () = &mut patience => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_says_which_signal_hermes_was_sent() {
        let stopped = Status::Stopped("x".into());
        assert_eq!(exit_code(&stopped, Some(Stop::Signal(Caught::Interrupt))), 130);
        assert_eq!(exit_code(&stopped, Some(Stop::Signal(Caught::Terminate))), 143);
        assert_eq!(exit_code(&stopped, Some(Stop::Signal(Caught::HangUp))), 129);
        assert_eq!(exit_code(&stopped, Some(Stop::ClosedOutput)), 141);
    }

    #[test]
    fn a_command_that_ended_before_the_signal_keeps_its_code() {
        assert_eq!(exit_code(&Status::Exited(3), Some(Stop::Signal(Caught::Interrupt))), 3);
        assert_eq!(exit_code(&Status::TimedOut, None), 124);
        assert_eq!(exit_code(&Status::Signalled(9), None), 137);
        assert_eq!(exit_code(&Status::Lost("?".into()), None), 125);
    }
}
