//! A program that is spoken to over its standard streams: three pipes, a session of its own, an end in steps.
//!
//! It must never leave anybody of its tree alive behind a dropped handle.

use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter};
use std::path::PathBuf;
use std::time::Duration;

use hermes_model::id::ProcessId;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::watch;

use crate::environment::Environment;
use crate::host::{self, Host};
use crate::kill::{self, Seen, Verdict};
use crate::launch;
use crate::leader::{self, Leader};
use crate::spawn::{Asked, SpawnError};
use crate::spec::shown;

/// The first and the longest pause between two looks for what a leader left behind: short for what is just ending, cheap
/// for what takes its time.
const PAUSE_FIRST: Duration = Duration::from_millis(2);
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// What to start.
#[derive(Clone)]
pub struct StdioSpec {
    /// A path, or a name to look up in the child's `PATH`.
    pub program: OsString,
    /// The arguments after the program's name.
    pub args: Vec<OsString>,
    /// The environment, markers apart.
    pub environment: Environment,
    /// The folder to run in; none: that of the host.
    pub cwd: Option<PathBuf>,
}

/// The host's ends of the three pipes.
pub struct Streams {
    /// What it reads. Dropping it is the end of its input.
    pub input: Sender,
    /// What it says.
    pub output: Receiver,
    /// What it complains of.
    pub errors: Receiver,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// Nobody knows.
    Unknown,
}

/// How patient the end of a child is.
#[derive(Clone, Copy, Debug)]
pub struct Ladder {
    /// How long it may take to end by itself after the end of its input.
    pub after_input: Duration,
    /// How long it may take after SIGTERM. Then it is killed.
    pub after_term: Duration,
}

/// A program that runs. Dropping it kills its whole tree at once.
pub struct StdioChild {
    id: ProcessId,
    leader: Leader,
    /// Orphans are collected for as long as a child runs.
    _host: Host,
}

/// Starts a program. It is protected by the host's supervisor before this returns.
///
/// If the returned future is dropped before it is done, whatever was started is killed.
///
/// # Errors
/// [`SpawnError`]: nothing runs then.
pub async fn start(host: &Host, spec: StdioSpec) -> Result<(StdioChild, Streams), SpawnError> {
    let program = shown(&spec.program);
    let failed = |doing: &'static str, source: io::Error| SpawnError::Host { program: program.clone(), doing, source };
    let host = host.clone();
    // posix_spawn blocks until the program is loaded, which may be slow on a network file system.
    let started = tokio::task::spawn_blocking(move || launch(host, spec)).await;
    let (child, ends) = started.map_err(|error| failed("starting it", io::Error::other(error)))??;
    let streams = ends.open().map_err(|source| failed("watching it", source))?;
    Ok((child, streams))
}

/// The host's ends, before a runtime watches them.
struct Ends {
    input: PipeWriter,
    output: PipeReader,
    errors: PipeReader,
}

impl Ends {
    /// tokio makes them non-blocking; the child's ends are other descriptions, and stay as they are.
    fn open(self) -> io::Result<Streams> {
        Ok(Streams {
            input: Sender::from_owned_fd(self.input.into())?,
            output: Receiver::from_owned_fd(self.output.into())?,
            errors: Receiver::from_owned_fd(self.errors.into())?,
        })
    }
}

/// Everything about a start that may block. A child that nobody takes is killed when it is dropped.
fn launch(host: Host, spec: StdioSpec) -> Result<(StdioChild, Ends), SpawnError> {
    let made = |source| SpawnError::Host { program: shown(&spec.program), doing: "making an id", source };
    let id = host::new_id().map_err(made)?;
    let argv = std::iter::once(spec.program).chain(spec.args).collect();
    let asked = Asked { argv, environment: spec.environment, cwd: spec.cwd };
    let prepared = asked.prepare(&id, Some(host.marker()))?;
    let pipe = || io::pipe().map_err(|source| prepared.failed("making a pipe", source));
    let ((read, input), (output, print), (errors, complain)) = (pipe()?, pipe()?, pipe()?);
    let streams = launch::Streams::Three { input: read, output: print, errors: complain };
    let leader = prepared.start(&id, host.guardian(), streams)?;
    Ok((StdioChild { id, leader, _host: host }, Ends { input, output, errors }))
}

impl StdioChild {
    /// Its id, which its whole tree carries.
    pub fn id(&self) -> &ProcessId {
        &self.id
    }

    /// The number of its leader.
    pub fn pid(&self) -> i32 {
        self.leader.pid()
    }

    /// Returns when the leader has ended, and says how. May be called again, and by several at a time. Others of its
    /// tree may go on.
    pub async fn exited(&self) -> Exit {
        match self.leader.exited().await {
            leader::Exit::Code(code) => Exit::Code(code),
            leader::Exit::Signal(signal) => Exit::Signal(signal),
            leader::Exit::Unknown => Exit::Unknown,
        }
    }

    /// Ends all of it: waits, SIGTERM, waits, SIGKILL. Whoever calls it has dropped the input. Bounded by the ladder and
    /// a few seconds that a kill may take to be verified.
    ///
    /// It is the tree that is waited for: a wrapper that ended and left its server behind has not ended. If the returned
    /// future is dropped, the tree is killed at once.
    pub async fn end(self, ladder: Ladder) -> Verdict {
        let gone = tokio::time::timeout(ladder.after_input, self.gone()).await;
        let verdict = if gone.is_ok() {
            Verdict::complete()
        } else {
            // Nobody is in a hurry; the sender must live for as long as the receiver is asked.
            let (_calm, hurry) = watch::channel(false);
            kill::end_tree(self.leader.tree(), ladder.after_term, hurry).await
        };
        // Whoever cannot be ended stays in the protection of the supervisor.
        if verdict.is_complete() {
            self.leader.settle();
        }
        verdict
    }

    /// Returns when nobody of the tree is left.
    async fn gone(&self) {
        // Until the leader has ended there is nothing to look for.
        self.leader.exited().await;
        let (tree, mut pause) = (self.leader.tree(), PAUSE_FIRST);
        while !matches!(kill::look(&tree).await, Ok(Seen::Gone)) {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}
