//! `hermes mcp wrap`: one server behind the policy, for one agent. It is that server: every feature passes in both
//! directions, known or not.
//!
//! It must never replay a request, never let a word of the server pass unseen, and never leave the server alive behind
//! the agent.
//!
//! - [`run`]: one server, from its start to its end. [`sessions`]: many of them.
//! - `session`: what runs beside what, and its end. `relay`: what becomes of a line. `message`: what a line is.
//! - `calls`: who waits for what. `echoes`: texts that go there and back. `complaints`: what the server prints on stderr.
//! - `bounded`: how much of a result goes into one answer. `kept`: what did not. `offer`: how an agent gets at that.

mod bounded;
mod calls;
mod complaints;
mod echoes;
mod kept;
mod message;
mod offer;
mod relay;
mod session;
pub mod sessions;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use hermes_model::exit;
use hermes_output::exact::{self, ExactValues};
use hermes_output::policy::InForce;
use hermes_output::visible::Visible;
use hermes_process::environment::Environment;
use hermes_process::host::Host;
use hermes_process::spawn::SpawnError;
use hermes_process::stdio::{self, Exit, StdioSpec};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::gateway::store::Store;
use session::Session;

/// Where what the server prints on its stderr goes. It is called on a thread of its own and may block.
pub type Complaints = Arc<dyn Fn(&Visible) + Send + Sync>;

/// A server and what stands before it. Cloning it makes another session of the same server possible.
#[derive(Clone)]
pub struct Wrapped {
    /// What the server is called, for the policy, the log and errors.
    pub name: String,
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its environment, markers apart.
    pub environment: Environment,
    /// The folder it runs in; none: that of the host.
    pub cwd: Option<PathBuf>,
    /// The host that starts it.
    pub host: Host,
    /// What decides about everything it says.
    pub in_force: Arc<dyn InForce>,
    /// The secrets it may know: see [`secrets`].
    pub exact: Arc<ExactValues>,
    /// The budget of the texts in one result of a tool, in bytes; none: no limit.
    pub reply_bytes: Option<usize>,
    /// Where results are kept that were longer, so that the agent can read on: for as long as its session, and within the
    /// bounds of the store.
    pub kept: Arc<Store>,
    /// Where its stderr goes.
    pub complaints: Complaints,
}

/// The secrets of an environment: what looks like one, and whatever was `given` for this server, named by its variables.
pub fn secrets(environment: &Environment, given: &[String]) -> ExactValues {
    let variables: Vec<(String, String)> = environment
        .iter()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
        .collect();
    let all = || variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let entries = ExactValues::of_entries(all().filter(|(name, _)| given.iter().any(|given| given == name)));
    ExactValues::joined([&entries, &exact::from_environment(all())])
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lines of the server that are no message.
    pub junk: u64,
    /// Lines of the server that were too long.
    pub too_long: u64,
    /// Messages of the server that were not shown because a redactor had no answer.
    pub withheld: u64,
}

/// How a session came to its end.
#[derive(Debug)]
pub struct WrapEnd {
    /// Why it ended.
    pub why: Why,
    /// What was counted until then.
    pub tally: Tally,
}

/// Why a session ended.
#[derive(Debug)]
pub enum Why {
    /// The server could not be started.
    NotStarted(SpawnError),
    /// The server ended by itself.
    Exited(Exit),
    /// The server closed its output, went on, and was ended.
    Mute,
    /// The agent left, and the server was ended.
    AgentLeft,
    /// Whoever runs this said that it is to end, and the server was ended.
    Told,
    /// A part of hermes broke down, and the server was ended.
    Broken,
}

impl Why {
    /// The exit code of a program that was this session: the server's own, where it ended by itself.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::NotStarted(error) => error.exit_code(),
            Self::Exited(Exit::Code(code)) => *code,
            Self::Exited(Exit::Signal(signal)) => exit::SIGNAL_BASE + signal,
            Self::Mute => exit::FAILED,
            Self::AgentLeft | Self::Told => exit::OK,
            Self::Exited(Exit::Unknown) | Self::Broken => exit::HERMES_FAILED,
        }
    }

    /// What is said to a request that is not answered any more.
    fn to_the_waiting(&self, name: &str) -> String {
        let how = match self {
            Self::NotStarted(_) => "could not be started".to_owned(),
            Self::Exited(Exit::Code(code)) => format!("exited with code {code}"),
            Self::Exited(Exit::Signal(signal)) => format!("was ended by signal {signal}"),
            Self::Exited(Exit::Unknown) => "ended".to_owned(),
            Self::Mute => "closed its output".to_owned(),
            Self::AgentLeft | Self::Told => "is being ended".to_owned(),
            Self::Broken => "cannot be heard any more: hermes failed".to_owned(),
        };
        format!("the server '{name}' {how} before it answered; whether the request was carried out is not known")
    }
}

/// Starts a server and stands between it and an agent until one of them ends, or `ending` returns. When this returns the
/// whole tree of the server is gone (who cannot be ended is named in the log). If the returned future is dropped, the tree
/// is killed at once.
///
/// `read` and `write` are the agent's: one JSON-RPC message a line. Call it inside a runtime.
pub async fn run<R, W>(wrapped: Wrapped, read: R, write: W, ending: impl Future<Output = ()>) -> WrapEnd
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let spec = StdioSpec {
        program: wrapped.program.clone(),
        args: wrapped.args.clone(),
        environment: wrapped.environment.clone(),
        cwd: wrapped.cwd.clone(),
    };
    let (child, streams) = match stdio::start(&wrapped.host, spec).await {
        Ok(started) => started,
        Err(error) => return WrapEnd { why: Why::NotStarted(error), tally: Tally::default() },
    };
    let mut session = Session::begin(&wrapped, &child, streams, read, write);
    let why = session.until_something_ends(&child, ending).await;
    session.wind_down(child, &why).await;
    WrapEnd { why, tally: session.relay.tally() }
}
