//! What is kept of a process that ended. It must never hold a text that was not revealed.

use std::time::{Duration, SystemTime};

use hermes_model::id::{Owner, ProcessId};
use hermes_model::report::PolicyReport;
use hermes_model::status::Status;
use hermes_output::captured::Captured;
use hermes_output::visible::Visible;

/// How a process ended. Its exit code is that of its status.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// Its id.
    pub id: ProcessId,
    /// Who may see it.
    pub owner: Owner,
    /// The command line.
    pub command: Visible,
    /// The folder it was started in.
    pub cwd: Visible,
    /// When it started.
    pub started_at: SystemTime,
    /// When it ended.
    pub ended_at: SystemTime,
    /// How it ended.
    pub status: Status,
    /// What it printed, as far as it is kept.
    pub output: Visible,
    /// How much it printed, in bytes.
    pub output_bytes: u64,
    /// Whether a part of what it printed is not in `output`.
    pub output_cut: bool,
    /// How long it ran, by a clock that nobody sets. Kept in milliseconds.
    pub duration: Duration,
    /// What the policy did to the output.
    pub policy: PolicyReport,
}

/// A receipt as it was read. Its texts go through the policy again before anybody sees them.
#[derive(Clone, Debug)]
pub struct StoredReceipt {
    /// Its id.
    pub id: ProcessId,
    /// Who may see it.
    pub owner: Owner,
    /// The command line.
    pub command: Captured,
    /// The folder it was started in.
    pub cwd: Captured,
    /// When it started.
    pub started_at: SystemTime,
    /// When it ended.
    pub ended_at: SystemTime,
    /// How it ended.
    pub status: Status,
    /// What it printed, as far as it is kept.
    pub output: Captured,
    /// How much it printed, in bytes.
    pub output_bytes: u64,
    /// Whether a part of what it printed is not in `output`.
    pub output_cut: bool,
    /// How long it ran.
    pub duration: Duration,
    /// What the policy did to the output when it was written.
    pub policy: PolicyReport,
}
