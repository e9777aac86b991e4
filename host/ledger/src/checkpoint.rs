//! What is written about a process while it runs, so that a later host knows what a crashed one left behind.
//!
//! It must never hold a text that was not revealed.

use std::time::{Duration, SystemTime};

use hermes_model::id::{Owner, ProcessId};
use hermes_output::captured::Captured;
use hermes_output::visible::Visible;

use crate::host::HostIdentity;

/// The leader of a process: a number alone may be somebody else's by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaderIdentity {
    /// Its process number.
    pub pid: i32,
    /// When it started, in clock ticks since boot: field 22 of `/proc/PID/stat`.
    pub start_ticks: u64,
}

/// A process that runs, as the host that started it writes it down.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Its id.
    pub id: ProcessId,
    /// Who may see and end it.
    pub owner: Owner,
    /// The command line.
    pub command: Visible,
    /// The folder it was started in.
    pub cwd: Visible,
    /// Its leader.
    pub leader: LeaderIdentity,
    /// Whether it has a terminal.
    pub pty: bool,
    /// Whether it may outlive its host.
    pub persist: bool,
    /// Whether its end is an event.
    pub notify: bool,
    /// How much of its output its completion event may carry, in bytes.
    pub completion_bytes: u64,
    /// How often it reports while it runs, if at all.
    pub heartbeat: Option<Duration>,
    /// What its output is watched for.
    pub watch: Vec<Visible>,
    /// When it started.
    pub started_at: SystemTime,
    /// The systemd scope it runs in, if it has one of its own.
    pub scope_unit: Option<String>,
}

/// A checkpoint as it was read. Its texts go through the policy again before anybody sees them.
#[derive(Clone, Debug)]
pub struct StoredCheckpoint {
    /// Its id.
    pub id: ProcessId,
    /// Who may see and end it.
    pub owner: Owner,
    /// The command line.
    pub command: Captured,
    /// The folder it was started in.
    pub cwd: Captured,
    /// Its leader.
    pub leader: LeaderIdentity,
    /// Whether it has a terminal.
    pub pty: bool,
    /// Whether it may outlive its host.
    pub persist: bool,
    /// Whether its end is an event.
    pub notify: bool,
    /// How much of its output its completion event may carry, in bytes.
    pub completion_bytes: u64,
    /// How often it reports while it runs, if at all.
    pub heartbeat: Option<Duration>,
    /// What its output is watched for.
    pub watch: Vec<Captured>,
    /// When it started.
    pub started_at: SystemTime,
    /// The systemd scope it runs in, if it has one of its own.
    pub scope_unit: Option<String>,
    /// The host that started it, however often it was taken over since: its boot and namespace are those of `leader`.
    pub host: HostIdentity,
}

/// Which processes of a host that is over are taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// All.
    All,
    /// Those that were not started to persist.
    ButPersistent,
}
