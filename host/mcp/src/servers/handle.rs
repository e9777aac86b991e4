//! The handle of a server: ask it, look at it, end it. Every verb returns after its effect.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use hermes_model::config::servers::ServerConfig;
use hermes_model::id::ServerName;
use hermes_output::exact::ExactValues;
use hermes_output::policy::InForce;
use hermes_process::environment::Environment;
use hermes_process::host::Host;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::lines::MESSAGE_MAX;

use super::link::{Link, LinkError, Patience};
use super::message::Message;
use super::raw::Raw;
use super::record::Record;
use super::task;

/// Where a server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// It was started and has not answered yet, or is about to be started.
    Starting,
    /// It answered, and has not shown that it lasts.
    Ready,
    /// It has answered a call, or has lived for long enough.
    Proven,
    /// It ended or failed and is to be started again after a while.
    Degraded,
    /// It failed too often: it is tried again rarely, or when somebody asks.
    Parked,
    /// It is not to run: retired, not asked for yet, disabled, or ended with the host.
    Stopped,
}

/// What is known of a server, for `hermes mcp list`. Its texts are hermes's own; what the server said is in `problem` only
/// after the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Where it stands.
    pub phase: Phase,
    /// The number of its process, while it has one.
    pub pid: Option<i32>,
    /// Since when this process runs.
    pub since: Option<SystemTime>,
    /// How often it was started again.
    pub restarts: u64,
    /// The version of the protocol that was agreed on.
    pub protocol: Option<String>,
    /// How many tools it has.
    pub tools: usize,
    /// How many lines it printed that are no message.
    pub junk: u64,
    /// What is wrong, and what to do.
    pub problem: Option<String>,
    /// What it does that it should not, and hermes puts up with: the first lines that are no message, lists that are cut.
    pub notes: Vec<String>,
}

/// What a server offers, as it said it: the last complete lists.
#[derive(Clone, Default)]
pub struct Offering {
    /// The elements of `tools/list`.
    pub tools: Vec<Raw>,
    /// The elements of `prompts/list`.
    pub prompts: Vec<Raw>,
    /// The elements of `resources/list`.
    pub resources: Vec<Raw>,
    /// The elements of `resources/templates/list`.
    pub templates: Vec<Raw>,
    /// Its capabilities, as in the answer to `initialize`.
    pub capabilities: Raw,
    /// Its instructions, where it has any.
    pub instructions: Option<Raw>,
    /// Whether each of its lists was read, or at least asked for, once.
    pub is_whole: bool,
}

/// A notification of a server that belongs to no call: logging, resource updates.
#[derive(Clone)]
pub struct Told {
    /// The method.
    pub method: String,
    /// The params.
    pub params: Raw,
}

/// One request to a server.
pub struct Ask {
    /// `tools/call`, `prompts/get`, `resources/read`, `completion/complete`, ….
    pub method: &'static str,
    /// The params, without `_meta.progressToken`: the link makes its own token where `progress` is there.
    pub params: Map<String, Value>,
    /// Where progress goes: the params of each `notifications/progress`, token apart.
    pub progress: Option<mpsc::Sender<Raw>>,
    /// Whoever asked gave up: the server is told, and the answer is not waited for.
    pub cancelled: CancellationToken,
    /// How long it may take without any sign of life; none: as configured.
    pub patience: Option<Duration>,
}

/// Why a server has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It is not there, and could not be had in time. Nothing was sent.
    #[error("{0}")]
    Unavailable(String),
    /// It went away, or said nothing, after the request was sent: nobody knows what it did.
    #[error("{0}")]
    Uncertain(String),
    /// It took too long. It was told to give up.
    #[error("the server '{server}' did not answer within {} s and was told to give up; raise mcp_servers.{server}.timeout if it needs longer", .after.as_secs())]
    TimedOut {
        /// Which one.
        server: ServerName,
        /// How long it was waited for.
        after: Duration,
    },
    /// Whoever asked gave up.
    #[error("the call was cancelled")]
    Cancelled,
    /// The server answered with an error: code, and the whole error object, raw.
    #[error("the server answered with error {code}")]
    Refused {
        /// The JSON-RPC code.
        code: i64,
        /// The error object.
        error: RawError,
    },
}

/// The error object of a server, raw: it can be shown only through the policy.
pub struct RawError(pub(crate) Raw);

impl std::fmt::Debug for RawError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RawError")
    }
}

/// What a server is run with.
#[derive(Clone)]
pub struct Setting {
    /// The host that protects its process.
    pub host: Host,
    /// What decides about its stderr and its problems.
    pub in_force: Arc<dyn InForce>,
    /// The whole environment of the host, from which the allowed few are taken.
    pub environment: Environment,
    /// Where its stderr log goes: `logs/mcp-NAME.log` in the home.
    pub logs: std::path::PathBuf,
}

/// A server. Cloning it gives another handle to the same one. With the last handle it ends.
#[derive(Clone)]
pub struct Server {
    record: Arc<Record>,
    task: mpsc::Sender<Message>,
}

/// How long a request waits for a server that does not run: for most it is enough to start, and an agent can be told to
/// come back.
const WAKE: Duration = Duration::from_secs(15);
/// How many messages may wait for the task, which never waits itself.
const MESSAGES: usize = 64;

impl Server {
    /// Makes a server that is not started yet. Call it inside a runtime.
    pub fn new(name: ServerName, config: ServerConfig, setting: Setting) -> Self {
        let record = Arc::new(Record::new(name, config, setting));
        let (task, messages) = mpsc::channel(MESSAGES);
        tokio::spawn(task::live(Arc::clone(&record), messages));
        Self { record, task }
    }

    /// Its name.
    pub fn name(&self) -> &ServerName {
        &self.record.name
    }

    /// How it is configured.
    pub fn config(&self) -> &ServerConfig {
        &self.record.config
    }

    /// The secrets it was given, to be masked in everything it says.
    pub fn exact(&self) -> ExactValues {
        self.record.exact.clone()
    }

    /// Begins to start it, where it does not run. Returns at once; any number of callers start it once.
    pub fn wake(&self) {
        // Whoever looks at once is to see that it is on its way; the task says how it really stands when it hears of it.
        self.record.is_woken();
        self.record.woken.notify_one();
    }

    /// Where it stands.
    pub fn standing(&self) -> Standing {
        self.record.standing()
    }

    /// What it offers: the last that is known, also while it does not run.
    pub fn offering(&self) -> Arc<Offering> {
        self.record.offering()
    }

    /// A number that changes whenever the phase or the offering does.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.record.changes()
    }

    /// What it says to nobody in particular; a listener that is slow loses the oldest.
    pub fn told(&self) -> broadcast::Receiver<Told> {
        self.record.ears.told.subscribe()
    }

    /// Sends a request and waits for the answer. Where the server does not run it is started first. A request that was
    /// sent is never sent again. If the returned future is dropped, the request is cancelled.
    ///
    /// # Errors
    /// [`AskError`].
    pub async fn ask(&self, ask: Ask) -> Result<Raw, AskError> {
        let Ask { method, params, progress, cancelled, patience } = ask;
        let params = Arc::new(params);
        let quiet = patience.unwrap_or(self.record.config.timeout);
        let _asked = self.record.asked();
        let mut again = true;
        loop {
            let link = tokio::select! {
                biased;
                () = cancelled.cancelled() => return Err(AskError::Cancelled),
                link = self.link() => link?,
            };
            let _turn = tokio::select! {
                biased;
                () = cancelled.cancelled() => return Err(AskError::Cancelled),
                turn = tokio::time::timeout(quiet, self.record.turns.acquire()) => turn.map_err(|_| self.all_busy())?,
            };
            let patience = Patience::of(quiet);
            match link.ask(method, Arc::clone(&params), progress.clone(), patience, &cancelled).await {
                Ok(raw) => {
                    self.has_answered().await;
                    return Ok(raw);
                }
                // It ended just before: nothing was sent, so another process may have it.
                Err(LinkError::NotSent) if again => again = false,
                Err(error) => return Err(self.ask_error(error)),
            }
        }
    }

    /// Sends a notification, where the server runs.
    pub async fn tell(&self, method: &'static str, params: Map<String, Value>) {
        if let Some(link) = self.record.link() {
            link.tell(method, params).await;
        }
    }

    /// Ends it: input, SIGTERM, SIGKILL, bounded. It stays stopped until it is woken or asked.
    pub async fn stop(&self) {
        self.end(false).await;
    }

    /// Ends it as [`Server::stop`] does, and it is never started again: whoever asks is told so.
    pub async fn shut_down(&self) {
        self.end(true).await;
    }

    /// Nobody needs it for now: it is ended, what it offers stays known, and whoever asks starts it again. Returns at
    /// once.
    pub fn retire(&self) {
        // A task that is too busy to take it has something to do for somebody.
        let _ = self.task.try_send(Message::Retire);
    }

    async fn end(&self, for_good: bool) {
        let (done, ended) = oneshot::channel();
        // Without a task there is no process either.
        if self.task.send(Message::Stop { for_good, done }).await.is_ok() {
            let _ = ended.await;
        }
    }

    async fn link(&self) -> Result<Arc<Link>, AskError> {
        if let Some(link) = self.record.link() {
            return Ok(link);
        }
        let (want, had) = oneshot::channel();
        if self.task.send(Message::Want(want)).await.is_err() {
            return Err(self.unavailable("it ended with its host"));
        }
        match tokio::time::timeout(WAKE, had).await {
            Ok(Ok(Ok(link))) => Ok(link),
            Ok(Ok(Err(problem))) => Err(self.unavailable(&problem)),
            Ok(Err(_)) => Err(self.unavailable("it ended with its host")),
            Err(_) => {
                let problem = self.record.status().problem;
                Err(self.unavailable(&problem.unwrap_or_else(|| "it is still starting; ask again later".to_owned())))
            }
        }
    }

    fn unavailable(&self, problem: &str) -> AskError {
        AskError::Unavailable(format!("the server '{}' is not available: {problem}", self.record.name))
    }

    fn all_busy(&self) -> AskError {
        let (name, parallel) = (&self.record.name, self.record.config.parallel);
        AskError::Unavailable(format!(
            "the server '{name}' works on {parallel} calls already; wait for one, or raise mcp_servers.{name}.parallel"
        ))
    }

    async fn has_answered(&self) {
        if !self.record.has_answered.swap(true, Ordering::AcqRel) {
            // Without a task nobody counts.
            let _ = self.task.send(Message::Succeeded).await;
        }
    }

    fn ask_error(&self, error: LinkError) -> AskError {
        let server = &self.record.name;
        match error {
            LinkError::NotSent => self.unavailable("it ended before it was asked"),
            LinkError::Uncertain => AskError::Uncertain(format!(
                "the server '{server}' ended before it answered; nobody knows what the call did, and it was not repeated"
            )),
            LinkError::Unreadable => AskError::Uncertain(format!(
                "the answer of the server '{server}' was too long (more than {} MiB) or broken; the call may have done its \
                 work, and was not repeated",
                MESSAGE_MAX >> 20
            )),
            LinkError::TimedOut(after) => AskError::TimedOut { server: server.clone(), after },
            LinkError::Cancelled => AskError::Cancelled,
            LinkError::Refused { code, error } => AskError::Refused { code, error: RawError(error) },
        }
    }
}

#[cfg(test)]
mod tests;
