//! Reading without a host: what command line verbs use when none runs. It must never create or change anything.

use std::path::PathBuf;
use std::time::SystemTime;

use hermes_home::home::Home;
use hermes_model::id::ProcessId;
use rusqlite::Connection;

use crate::audit::Audit;
use crate::checkpoint::StoredCheckpoint;
use crate::event::{Scope, StoredEvent};
use crate::file;
use crate::problem::{LedgerError, OpenError};
use crate::progress::Millis;
use crate::receipt::StoredReceipt;
use crate::store::{audits, convert, events, processes};

/// How often a file is read that changes meanwhile, before SQLite's own way is taken, which may create an index.
const LOOKS: usize = 3;

/// A ledger that is only read. Every verb sees the file as it is then.
#[derive(Clone, Debug)]
pub struct Reader {
    path: PathBuf,
}

impl Reader {
    pub(crate) fn open(home: &Home) -> Result<Option<Self>, OpenError> {
        let reader = Self { path: file::place(home) };
        let found = reader.see(|_| Ok(()))?;
        Ok(found.map(|()| reader))
    }

    /// The processes that run, or did when their host died, the first started first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn running(&self, scope: &Scope) -> Result<Vec<StoredCheckpoint>, OpenError> {
        self.look_up(|connection| processes::running(connection, scope))
    }

    /// The receipt of a process.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn receipt(&self, id: &ProcessId) -> Result<Option<StoredReceipt>, OpenError> {
        self.look_up(|connection| processes::receipt(connection, id))
    }

    /// Up to `limit` receipts, the last ended first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn receipts(&self, scope: &Scope, limit: usize) -> Result<Vec<StoredReceipt>, OpenError> {
        self.look_up(|connection| processes::receipts(connection, scope, limit))
    }

    /// The ids of running and ended processes that begin so, in order.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn ids_with_prefix(&self, prefix: &str) -> Result<Vec<ProcessId>, OpenError> {
        self.look_up(|connection| processes::ids_with_prefix(connection, prefix))
    }

    /// Up to `limit` events that could be claimed now, the oldest first. They stay where they are.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn pending(&self, scope: &Scope, limit: usize) -> Result<Vec<StoredEvent>, OpenError> {
        let now = convert::millis(SystemTime::now());
        self.look_up(|connection| events::free(connection, scope, now, limit))
    }

    /// Whether an event waits, or is held by somebody who is about to deliver it. Where no host runs, whoever holds one is
    /// gone, and the next host delivers it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn has_undelivered(&self, scope: &Scope) -> Result<bool, OpenError> {
        // Every lease has run out by then.
        self.look_up(|connection| events::free(connection, scope, Millis::MAX, 1)).map(|found| !found.is_empty())
    }

    /// Up to `limit` counters, the last changed first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn audits(&self, limit: usize) -> Result<Vec<Audit>, OpenError> {
        self.look_up(|connection| audits::list(connection, limit))
    }

    pub(crate) fn look_up<T: Default>(
        &self,
        query: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, OpenError> {
        Ok(self.see(query)?.unwrap_or_default())
    }

    /// What a query finds; `None` where nothing was ever written.
    fn see<T>(&self, query: impl Fn(&Connection) -> rusqlite::Result<T>) -> Result<Option<T>, OpenError> {
        for _ in 0..LOOKS {
            let Some(before) = file::look(&self.path)? else { return Ok(None) };
            if !file::is_settled(&self.path)? {
                break;
            }
            let found = self.ask(true, &query);
            // A host may have begun to write meanwhile: what was read then may be of two minds, an error too.
            if file::is_settled(&self.path)? && file::look(&self.path)? == Some(before) {
                return found;
            }
        }
        self.ask(false, &query)
    }

    fn ask<T>(
        &self,
        settled: bool,
        query: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, OpenError> {
        let Some(connection) = file::open_to_read(&self.path, settled)? else { return Ok(None) };
        let found = query(&connection).map_err(|error| LedgerError::of(&self.path, &error))?;
        Ok(Some(found))
    }
}
