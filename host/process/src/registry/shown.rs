//! What a registry answers: documents of visible text, with the field names that `--json` and the protocol show.
//!
//! Fields are added, never renamed. Unknown is `null`, never absent.

use std::time::SystemTime;

use hermes_model::event::EventKind;
use hermes_model::id::{Owner, ProcessId};
use hermes_model::report::PolicyReport;
use hermes_model::status::Status;
use hermes_model::time::Timestamp;
use hermes_output::visible::Visible;
use serde::Serialize;

/// A process and what it printed: the answer to a start and to a wait.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// Its id.
    pub id: ProcessId,
    /// The command line.
    pub command: Visible,
    /// Who may see and end it.
    pub owner: Owner,
    /// The number of its leader.
    pub pid: Option<i32>,
    /// Where it stands.
    pub status: Status,
    /// What a shell would show.
    pub exit_code: Option<i32>,
    /// What it printed.
    pub output: Visible,
    /// How much it printed, in bytes.
    pub output_bytes: u64,
    /// Whether a part of it is not in `output`.
    pub output_cut: bool,
    /// How long it ran, or runs.
    pub duration_ms: Option<u64>,
    /// Who of it is alive although it ended.
    pub survivors: Vec<i32>,
    /// What the policy did to `output`.
    pub policy: PolicyReport,
    /// Whether the wait ended before the process did; `null` where nobody waited.
    pub timed_out: Option<bool>,
    /// What hermes has to say beside it, in sentences.
    pub notes: Vec<String>,
}

/// One line of a list.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its id.
    pub id: ProcessId,
    /// The command line.
    pub command: Visible,
    /// Who may see and end it.
    pub owner: Owner,
    /// The number of its leader.
    pub pid: Option<i32>,
    /// Whether it has a terminal.
    pub pty: bool,
    /// The folder it runs in.
    pub cwd: Visible,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// How long it runs, or ran.
    pub uptime_ms: u64,
    /// Where it stands.
    pub status: Status,
    /// What a shell would show.
    pub exit_code: Option<i32>,
    /// How much it printed, in bytes.
    pub output_bytes: u64,
    /// The end of what it printed.
    pub preview: Visible,
    /// What it is watched for.
    pub watch: Vec<Visible>,
    /// Whether its end is an event.
    pub notify: bool,
    /// How often it reports.
    pub heartbeat_ms: Option<u64>,
    /// Whether it may outlive the host.
    pub persist: bool,
    /// Whether another host started it, so that nothing of its output is known.
    pub detached: bool,
    /// Who of it is alive although it ended or was to be ended.
    pub survivors: Vec<i32>,
}

/// A part of a log.
#[derive(Clone, Debug, Serialize)]
pub struct Log {
    /// Its id.
    pub id: ProcessId,
    /// The command line.
    pub command: Visible,
    /// Where it stands.
    pub status: Status,
    /// What a shell would show.
    pub exit_code: Option<i32>,
    /// The lines.
    pub output: Visible,
    /// The number of the first of them, from 0.
    pub first_line: u64,
    /// How many there are in `output`.
    pub lines: u64,
    /// How many there are in all.
    pub total_lines: u64,
    /// How much it printed, in bytes.
    pub output_bytes: u64,
    /// Whether `output` is not all of it.
    pub output_cut: bool,
    /// What the policy did to the log.
    pub policy: PolicyReport,
}

/// What a kill came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KillResult {
    /// It ran, and nobody of it is alive.
    Killed,
    /// It had ended, and nobody of it is alive.
    AlreadyEnded,
    /// Somebody of it is alive, or nobody can tell.
    Incomplete,
    /// There is none.
    NotFound,
}

/// A process of a command that could not be ended.
#[derive(Clone, Debug, Serialize)]
pub struct SurvivorShown {
    /// Its number.
    pub pid: i32,
    /// Its command line.
    pub command: Visible,
}

/// The answer to a kill.
#[derive(Clone, Debug, Serialize)]
pub struct Killed {
    /// Its id.
    pub id: ProcessId,
    /// What came of it.
    pub result: KillResult,
    /// Where it stands.
    pub status: Status,
    /// What a shell would show.
    pub exit_code: Option<i32>,
    /// Who is alive.
    pub survivors: Vec<SurvivorShown>,
    /// Who had outlived it and was ended now.
    pub swept: Vec<i32>,
    /// What it printed.
    pub output: Visible,
    /// Whether a part of it is not in `output`.
    pub output_cut: bool,
    /// What the policy did to `output`.
    pub policy: PolicyReport,
}

/// What came of a text for a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SendResult {
    /// It was taken.
    Ok,
    /// The process reads nothing.
    NoStdin,
    /// The process has no terminal.
    NoTerminal,
    /// The process has ended.
    AlreadyEnded,
    /// The process does not read: what was written is all it took.
    Stalled,
    /// There is none.
    NotFound,
}

/// The answer to a text for a process.
#[derive(Clone, Debug, Serialize)]
pub struct Sent {
    /// Its id.
    pub id: ProcessId,
    /// How many bytes it took.
    pub bytes_written: u64,
    /// What came of it.
    pub result: SendResult,
}

/// An event on its way to whoever asked.
#[derive(Clone, Debug, Serialize)]
pub struct EventShown {
    /// Stable: the same event delivered twice has the same id.
    pub id: String,
    /// Its number: events come in its order.
    pub seq: u64,
    /// What happened.
    pub kind: EventKind,
    /// The process it is about.
    pub process: Option<ProcessId>,
    /// The command line.
    pub command: Visible,
    /// Who may see it.
    pub owner: Owner,
    /// When it happened.
    pub at: Timestamp,
    /// Where the process stood then.
    pub status: Option<Status>,
    /// What a shell would show.
    pub exit_code: Option<i32>,
    /// The text.
    pub output: Visible,
    /// Whether a part of the output is not in it.
    pub output_cut: bool,
    /// The pattern that matched.
    pub pattern: Option<Visible>,
    /// How many events like it were dropped since the last one.
    pub suppressed: u64,
    /// Whether it is for the agent only.
    pub hidden: bool,
    /// What the policy did to its text.
    pub policy: PolicyReport,
}

/// A moment as it is shown.
pub fn at(time: SystemTime) -> Timestamp {
    Timestamp(time)
}
