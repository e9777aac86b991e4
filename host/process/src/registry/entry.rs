//! One process of the registry: what it was asked for, and where it stands.
//!
//! The command line and the folder are raw here. They must never be shown but through [`super::look`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use hermes_model::id::{Owner, ProcessId};
use hermes_model::status::Status;
use hermes_output::captured::Captured;
use hermes_output::exact::ExactValues;
use tokio::sync::watch;
use tokio::time::Instant;

use super::table::Aged;
use crate::adopted::Adopted;
use crate::environment::Environment;
use crate::kill::Survivor;
use crate::running::handle::Process;
use crate::scope::unit::Unit;
use crate::survey::Identity;

/// What a process is, to this host.
#[derive(Clone)]
pub(crate) enum Body {
    /// This host started it.
    Own(Process),
    /// Another host did.
    Adopted(Adopted),
}

/// What was asked for beside the command.
pub(crate) struct Wishes {
    pub(crate) notify: AtomicBool,
    pub(crate) watch: Vec<String>,
    pub(crate) heartbeat: Option<Duration>,
    pub(crate) completion_bytes: usize,
    pub(crate) persist: bool,
    /// The scope it runs in, and the environment that leads to it.
    pub(crate) scope: Option<(Unit, Environment)>,
}

/// Where a process stands.
#[derive(Clone)]
pub(crate) enum Stage {
    /// It runs.
    Running,
    /// It was to be ended, and these could not be: it counts as running until nobody of it is alive.
    Unended(Vec<Survivor>),
    /// It has ended, and that was not announced yet.
    Finalizing(Status),
    /// It has ended, and everything that was to be said is said.
    Ended(Arc<Outcome>),
}

/// How a process ended.
pub(crate) struct Outcome {
    pub(crate) status: Status,
    pub(crate) ended_at: SystemTime,
    /// The same on the host's clock.
    pub(crate) ended: Duration,
    pub(crate) duration: Duration,
    /// What the ledger has to say against it, if it could not be written yet.
    pub(crate) unsaved: Option<String>,
}

/// One process.
pub(crate) struct Entry {
    pub(crate) id: ProcessId,
    pub(crate) owner: Owner,
    pub(crate) command: String,
    pub(crate) cwd: String,
    pub(crate) pty: bool,
    pub(crate) exact: Arc<ExactValues>,
    pub(crate) identity: Identity,
    pub(crate) started_at: SystemTime,
    pub(crate) started: Instant,
    pub(crate) body: Body,
    pub(crate) wishes: Wishes,
    stage: Mutex<Stage>,
    /// Turns true when it is announced.
    announced: watch::Sender<bool>,
    /// Somebody looked at it after its end, and may have seen that.
    pub(crate) observed: AtomicBool,
    /// Somebody knows of its end, so that nobody needs to be told.
    pub(crate) consumed: AtomicBool,
}

/// What an entry is made of.
pub(crate) struct Parts {
    pub(crate) id: ProcessId,
    pub(crate) owner: Owner,
    pub(crate) command: String,
    pub(crate) cwd: String,
    pub(crate) pty: bool,
    pub(crate) exact: Arc<ExactValues>,
    pub(crate) identity: Identity,
    pub(crate) started_at: SystemTime,
    pub(crate) body: Body,
    pub(crate) wishes: Wishes,
}

impl Entry {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { id, owner, command, cwd, pty, exact, identity, started_at, body, wishes } = parts;
        Self {
            id,
            owner,
            command,
            cwd,
            pty,
            exact,
            identity,
            started_at,
            started: Instant::now(),
            body,
            wishes,
            stage: Mutex::new(Stage::Running),
            announced: watch::Sender::new(false),
            observed: AtomicBool::new(false),
            consumed: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where it stands.
    pub(crate) fn stage(&self) -> Stage {
        self.lock().clone()
    }

    /// Moves it on. What has ended stays so.
    pub(crate) fn set(&self, stage: Stage) {
        let mut now = self.lock();
        if !matches!(*now, Stage::Ended(_)) || matches!(stage, Stage::Ended(_)) {
            *now = stage;
        }
    }

    /// Lets everybody go on who waits for its end.
    pub(crate) fn announce(&self) {
        self.announced.send_replace(true);
    }

    /// Returns when its end was announced.
    pub(crate) async fn wait_for_announcement(&self) {
        let mut announced = self.announced.subscribe();
        // The sender lives as long as the entry.
        let _ = announced.wait_for(|said| *said).await;
    }

    /// Its status as it is told: one that could not be ended still runs.
    pub(crate) fn status(&self) -> Status {
        match self.stage() {
            Stage::Running | Stage::Unended(_) => Status::Running,
            Stage::Finalizing(status) => status,
            Stage::Ended(outcome) => outcome.status.clone(),
        }
    }

    /// Whether its end is not announced yet.
    pub(crate) fn is_under_way(&self) -> bool {
        !matches!(self.stage(), Stage::Ended(_))
    }

    /// How it ended, once that was announced.
    pub(crate) fn outcome(&self) -> Option<Arc<Outcome>> {
        match self.stage() {
            Stage::Ended(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// How long it runs, or ran.
    pub(crate) fn duration(&self) -> Duration {
        match self.outcome() {
            Some(outcome) => outcome.duration,
            // What another host started ran before this one knew it.
            None if matches!(self.body, Body::Adopted(_)) => self.started_at.elapsed().unwrap_or_default(),
            None => self.started.elapsed(),
        }
    }

    /// What it printed, as far as it is held.
    pub(crate) fn captured(&self) -> Arc<Captured> {
        match &self.body {
            Body::Own(process) => process.captured(),
            Body::Adopted(_) => Arc::new(Captured::new(0)),
        }
    }

    /// How much memory its output takes, in bytes.
    pub(crate) fn held(&self) -> usize {
        match &self.body {
            Body::Own(process) => process.held(),
            Body::Adopted(_) => 0,
        }
    }

    /// Keeps no more than this much of the end of its output.
    pub(crate) fn shrink_ring(&self, ring_bytes: usize) {
        if let Body::Own(process) = &self.body {
            process.shrink_ring(ring_bytes);
        }
    }

    /// Whether its end is an event.
    pub(crate) fn notifies(&self) -> bool {
        self.wishes.notify.load(Ordering::Relaxed)
    }

    /// Whether anybody of it may still be alive although it ended.
    pub(crate) fn has_survivors(&self) -> bool {
        match &self.body {
            Body::Own(process) => !process.is_gone(),
            Body::Adopted(_) => false,
        }
    }
}

/// An entry in the table.
#[derive(Clone)]
pub(crate) struct Kept(pub(crate) Arc<Entry>);

impl Aged for Kept {
    fn ended(&self) -> Option<Duration> {
        // Survivors can be ended only through their entry, so it stays as long as they do.
        let outcome = self.0.outcome().filter(|_| !self.0.has_survivors())?;
        outcome.unsaved.is_none().then_some(outcome.ended)
    }
}
