//! The connection of a host, and what its verbs do with it. Everything that changes runs in [`Store::together`].

pub(crate) mod audits;
pub(crate) mod convert;
pub(crate) mod events;
mod hosts;
pub(crate) mod processes;
mod retention;

use std::path::PathBuf;
use std::time::SystemTime;

use hermes_model::id::ProcessId;
use hermes_model::status::Status;
use hermes_output::event::Event;
use rusqlite::{Connection, Result};

use self::retention::Removed;
use crate::audit::{Audit, AuditEntry};
use crate::checkpoint::{Checkpoint, StoredCheckpoint, Taken};
use crate::event::{Claim, Claimed, Delivery, NewEvent, Scope, Settled};
use crate::host::HostIdentity;
use crate::limits::RETENTION_PAUSE;
use crate::problem::LedgerError;
use crate::progress::{Millis, Verb};
use crate::receipt::{Receipt, StoredReceipt};

/// What time it is.
pub(crate) type Clock = Box<dyn Fn() -> SystemTime + Send>;

/// The connection of one host.
pub(crate) struct Store {
    connection: Connection,
    path: PathBuf,
    host: HostIdentity,
    clock: Clock,
    /// When what is too old was removed last.
    retained_at: Option<Millis>,
    /// What this transaction removed, told once it is committed.
    removed: Removed,
}

impl Store {
    /// A store on an open connection.
    pub(crate) fn new(connection: Connection, path: PathBuf, host: HostIdentity, clock: Clock) -> Self {
        Self { connection, path, host, clock, retained_at: None, removed: Removed::default() }
    }

    /// Does everything of `work` or nothing. With `writes`, no other process writes meanwhile.
    pub(crate) fn together<T>(
        &mut self,
        writes: bool,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> std::result::Result<T, LedgerError> {
        let done = self.transaction(writes, work);
        let removed = std::mem::take(&mut self.removed);
        let value = done.map_err(|error| LedgerError::of(&self.path, &error))?;
        removed.tell();
        Ok(value)
    }

    fn transaction<T>(&mut self, writes: bool, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.connection.execute_batch(if writes { "BEGIN IMMEDIATE" } else { "BEGIN DEFERRED" })?;
        let done = work(self).and_then(|value| self.connection.execute_batch("COMMIT").map(|()| value));
        // Some errors of the disk have rolled back already.
        if done.is_err() && !self.connection.is_autocommit() {
            self.connection.execute_batch("ROLLBACK")?;
        }
        done
    }

    fn now(&self) -> Millis {
        convert::millis((self.clock)())
    }

    /// Removes what is too old, unless that was done a moment ago.
    fn retain(&mut self, now: Millis) -> Result<()> {
        let pause = convert::duration_millis(RETENTION_PAUSE);
        // A clock that was set back does not stop it.
        if self.retained_at.is_some_and(|last| (last..last.saturating_add(pause)).contains(&now)) {
            return Ok(());
        }
        self.removed.add(retention::apply(&self.connection, now)?);
        self.retained_at = Some(now);
        Ok(())
    }

    /// This host begins to use the file.
    pub(crate) fn opened(&mut self) -> Result<()> {
        let now = self.now();
        hosts::opened(&self.connection, &self.host, now)?;
        self.retain(now)
    }

    pub(crate) fn started(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        processes::started(&self.connection, checkpoint, &self.host.marker)
    }

    pub(crate) fn finished(&mut self, receipt: &Receipt, event: Option<&NewEvent>) -> Result<Option<u64>> {
        let now = self.now();
        if !processes::finished(&self.connection, receipt)? {
            return Ok(None);
        }
        let seq = event.map(|event| events::record(&self.connection, event, &self.host.marker, now)).transpose()?;
        self.retain(now)?;
        Ok(seq)
    }

    pub(crate) fn amend(&mut self, id: &ProcessId, status: &Status) -> Result<bool> {
        processes::amend(&self.connection, id, status)
    }

    pub(crate) fn record(&mut self, event: &NewEvent) -> Result<u64> {
        let now = self.now();
        let seq = events::record(&self.connection, event, &self.host.marker, now)?;
        self.retain(now)?;
        Ok(seq)
    }

    pub(crate) fn decided(&mut self, seq: u64, event: &Event, delivery: &Delivery) -> Result<bool> {
        events::decided(&self.connection, seq, event, delivery, self.now())
    }

    pub(crate) fn claim(&mut self, scope: &Scope, max: usize) -> Result<Vec<Claimed>> {
        let (claimed, dropped) = events::claim(&self.connection, scope, max, &self.host.marker, self.now())?;
        self.removed.add(dropped);
        Ok(claimed)
    }

    pub(crate) fn settle(&mut self, verb: Verb, claims: &[Claim]) -> Result<Settled> {
        events::settle(&self.connection, verb, claims, self.now())
    }

    pub(crate) fn consume(&mut self, id: &ProcessId) -> Result<u64> {
        events::consume(&self.connection, id, self.now())
    }

    pub(crate) fn abandoned(
        &mut self,
        is_alive: &dyn Fn(&HostIdentity) -> bool,
        which: Taken,
    ) -> Result<Vec<StoredCheckpoint>> {
        let now = self.now();
        let mut taken = Vec::new();
        for dead in hosts::dead(&self.connection, &self.host.marker, is_alive)? {
            events::orphaned(&self.connection, &dead, now)?;
            taken.extend(processes::take_over(&self.connection, &dead, &self.host.marker, which)?);
            hosts::ended(&self.connection, &dead, now)?;
        }
        Ok(taken)
    }

    pub(crate) fn ended(&mut self) -> Result<()> {
        hosts::ended(&self.connection, &self.host.marker, self.now())
    }

    pub(crate) fn audit(&mut self, entry: &AuditEntry) -> Result<()> {
        audits::add(&self.connection, entry, self.now())
    }

    pub(crate) fn pending(&mut self, scope: &Scope) -> Result<u64> {
        events::count_free(&self.connection, scope, self.now())
    }

    pub(crate) fn receipt(&mut self, id: &ProcessId) -> Result<Option<StoredReceipt>> {
        processes::receipt(&self.connection, id)
    }

    pub(crate) fn receipts(&mut self, scope: &Scope, limit: usize) -> Result<Vec<StoredReceipt>> {
        processes::receipts(&self.connection, scope, limit)
    }

    pub(crate) fn running(&mut self, scope: &Scope) -> Result<Vec<StoredCheckpoint>> {
        processes::running(&self.connection, scope)
    }

    pub(crate) fn ids_with_prefix(&mut self, prefix: &str) -> Result<Vec<ProcessId>> {
        processes::ids_with_prefix(&self.connection, prefix)
    }

    pub(crate) fn audits(&mut self, limit: usize) -> Result<Vec<Audit>> {
        audits::list(&self.connection, limit)
    }
}
