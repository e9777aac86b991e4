//! Events on their way in and out: recorded, claimed, settled.
//!
//! It must never make [`Visible`] text of what was read, and never let one claim settle what another holds.

use std::time::SystemTime;

use hermes_model::event::EventKind;
use hermes_model::id::{Owner, ProcessId};
use hermes_model::report::PolicyReport;
use hermes_model::status::Status;
use hermes_output::captured::Captured;
use hermes_output::event::Event;
use hermes_output::visible::Visible;

/// An event that was not recorded yet, and what is to become of it.
#[derive(Clone, Debug)]
pub struct NewEvent {
    /// What happened.
    pub event: Event,
    /// Whether it wakes somebody.
    pub delivery: Delivery,
}

/// Whether an event wakes somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It does.
    Pending,
    /// A notifier is being asked. Without an answer it does, [`LEASE`](crate::limits::LEASE) after it was recorded.
    Undecided,
    /// The configuration says that events of its kind wake nobody.
    Muted,
    /// A notifier says that it wakes nobody.
    Suppressed {
        /// The notifier.
        by: String,
        /// What it said.
        reason: Visible,
    },
}

/// Whose events or processes are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everybody's.
    All,
    /// Those of one owner.
    Owner(Owner),
}

/// The right to deliver one event, until it is settled or its lease runs out and somebody else claims the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The number of the event.
    pub seq: u64,
    /// Which claim of this event it is; no two have the same.
    pub token: u64,
}

/// An event that is being delivered.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// What settles it.
    pub claim: Claim,
    /// How often it was claimed, this time included, and not given back with [`defer`](crate::live::handle::Ledger::defer).
    pub attempts: u32,
    /// The event.
    pub event: StoredEvent,
}

/// What came of settling claims.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Claims that were live, and are settled now as it was asked.
    pub done: Vec<Claim>,
    /// Claims that were live and released for the last time: their events are dropped.
    pub dropped: Vec<Claim>,
    /// Claims that were not live any more. Nothing was changed by them.
    pub stale: Vec<Claim>,
}

/// An event as it was read. Its texts go through the policy again before anybody sees them.
#[derive(Clone, Debug)]
pub struct StoredEvent {
    /// Its number: events are delivered in its order.
    pub seq: u64,
    /// Stable: the same event delivered twice has the same id.
    pub id: String,
    /// What happened.
    pub kind: EventKind,
    /// The process it is about.
    pub process: Option<ProcessId>,
    /// The command line; empty where there is none.
    pub command: Captured,
    /// Who may see it.
    pub owner: Owner,
    /// When it happened.
    pub at: SystemTime,
    /// Where the process stood then.
    pub status: Option<Status>,
    /// The text of the event.
    pub output: Captured,
    /// Whether a part of the output is not in `output`.
    pub output_cut: bool,
    /// The watch pattern that matched.
    pub pattern: Option<Captured>,
    /// How many events like it were dropped since the last one.
    pub suppressed: u64,
    /// Whether it is for the agent only.
    pub hidden: bool,
    /// What the policy did to its text when it was written.
    pub policy: PolicyReport,
}
