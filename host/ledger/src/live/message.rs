//! What a handle may ask of the thread that owns the connection.

use hermes_model::id::ProcessId;
use hermes_model::status::Status;
use hermes_output::event::Event;
use tokio::sync::oneshot;

use crate::audit::{Audit, AuditEntry};
use crate::checkpoint::{Checkpoint, StoredCheckpoint, Taken};
use crate::event::{Claim, Claimed, Delivery, NewEvent, Scope, Settled};
use crate::host::HostIdentity;
use crate::problem::LedgerError;
use crate::progress::Verb;
use crate::receipt::{Receipt, StoredReceipt};
use crate::store::Store;

/// What a verb says, kept until its transaction is committed.
pub(crate) struct Answer<T> {
    asked: Option<oneshot::Sender<Result<T, LedgerError>>>,
    ready: Option<Box<T>>,
}

impl<T> Answer<T> {
    /// An answer and where it arrives.
    pub(crate) fn new() -> (Self, oneshot::Receiver<Result<T, LedgerError>>) {
        let (asked, arrives) = oneshot::channel();
        (Self { asked: Some(asked), ready: None }, arrives)
    }

    fn keep(&mut self, value: T) {
        self.ready = Some(Box::new(value));
    }

    /// Sends what is ready, or the error. What nobody waits for any more comes back.
    fn send(&mut self, failed: Option<LedgerError>) -> Option<T> {
        let asked = self.asked.take()?;
        match failed {
            // Whoever stopped waiting does not need the error.
            Some(error) => drop(asked.send(Err(error))),
            None => return asked.send(Ok(*self.ready.take()?)).err()?.ok(),
        }
        None
    }
}

/// An answer of any type.
trait Reply {
    fn deliver(&mut self, failed: Option<LedgerError>);
}

impl<T> Reply for Answer<T> {
    fn deliver(&mut self, failed: Option<LedgerError>) {
        // Whoever stopped waiting does not need it.
        drop(self.send(failed));
    }
}

/// Whether a host lives.
pub(crate) type IsAlive = Box<dyn Fn(&HostIdentity) -> bool + Send>;

/// A request, answered after its effect is on the disk.
pub(crate) enum Message {
    /// A process runs.
    Started(Box<Checkpoint>, Answer<()>),
    /// A process ended.
    Finished(Box<Receipt>, Option<Box<NewEvent>>, Answer<Option<u64>>),
    /// It ended in another way than its receipt says.
    Amend(ProcessId, Status, Answer<bool>),
    /// Something happened.
    Record(Box<NewEvent>, Answer<u64>),
    /// A notifier has answered.
    Decided(u64, Box<(Event, Delivery)>, Answer<bool>),
    /// Somebody wants to deliver.
    Claim(Scope, usize, Answer<Vec<Claimed>>),
    /// Somebody has delivered, or not.
    Settle(Verb, Vec<Claim>, Answer<Settled>),
    /// Somebody saw the end of a process.
    Consume(ProcessId, Answer<u64>),
    /// Another host may have died.
    Abandoned(IsAlive, Taken, Answer<Vec<StoredCheckpoint>>),
    /// This host ends.
    Ended(Answer<()>),
    /// Counters grow.
    Audit(Box<AuditEntry>, Answer<()>),
    /// How many events wait?
    Pending(Scope, Answer<u64>),
    /// How did a process end?
    Receipt(ProcessId, Answer<Option<StoredReceipt>>),
    /// What ended?
    Receipts(Scope, usize, Answer<Vec<StoredReceipt>>),
    /// What runs?
    Running(Scope, Answer<Vec<StoredCheckpoint>>),
    /// What is meant by the beginning of an id?
    Ids(String, Answer<Vec<ProcessId>>),
    /// What did the policy do?
    Audits(usize, Answer<Vec<Audit>>),
}

impl Message {
    /// Whether it changes something.
    pub(crate) fn writes(&self) -> bool {
        !matches!(
            self,
            Self::Pending(..)
                | Self::Receipt(..)
                | Self::Receipts(..)
                | Self::Running(..)
                | Self::Ids(..)
                | Self::Audits(..)
        )
    }

    /// Does what is asked, within a transaction, and keeps the answer. May be done again when that was rolled back.
    pub(crate) fn apply(&mut self, store: &mut Store) -> rusqlite::Result<()> {
        match self {
            Self::Started(checkpoint, answer) => answer.keep(store.started(checkpoint)?),
            Self::Finished(receipt, event, answer) => answer.keep(store.finished(receipt, event.as_deref())?),
            Self::Amend(id, status, answer) => answer.keep(store.amend(id, status)?),
            Self::Record(event, answer) => answer.keep(store.record(event)?),
            Self::Decided(seq, decision, answer) => {
                answer.keep(store.decided(*seq, &decision.0, &decision.1)?);
            }
            Self::Claim(scope, max, answer) => answer.keep(store.claim(scope, *max)?),
            Self::Settle(verb, claims, answer) => answer.keep(store.settle(*verb, claims)?),
            Self::Consume(id, answer) => answer.keep(store.consume(id)?),
            Self::Abandoned(is_alive, taken, answer) => answer.keep(store.abandoned(is_alive, *taken)?),
            Self::Ended(answer) => answer.keep(store.ended()?),
            Self::Audit(entry, answer) => answer.keep(store.audit(entry)?),
            Self::Pending(scope, answer) => answer.keep(store.pending(scope)?),
            Self::Receipt(id, answer) => answer.keep(store.receipt(id)?),
            Self::Receipts(scope, limit, answer) => answer.keep(store.receipts(scope, *limit)?),
            Self::Running(scope, answer) => answer.keep(store.running(scope)?),
            Self::Ids(prefix, answer) => answer.keep(store.ids_with_prefix(prefix)?),
            Self::Audits(limit, answer) => answer.keep(store.audits(*limit)?),
        }
        Ok(())
    }

    /// Answers. Comes back with claims that nobody waits for any more: their events would be held for a whole lease.
    pub(crate) fn answer(mut self, failed: Option<LedgerError>) -> Vec<Claim> {
        if let Self::Claim(_, _, answer) = &mut self {
            let unwanted = answer.send(failed).unwrap_or_default();
            return unwanted.into_iter().map(|claimed| claimed.claim).collect();
        }
        self.reply().deliver(failed);
        Vec::new()
    }

    fn reply(&mut self) -> &mut dyn Reply {
        match self {
            Self::Started(_, answer) | Self::Audit(_, answer) | Self::Ended(answer) => answer,
            Self::Finished(_, _, answer) => answer,
            Self::Amend(_, _, answer) | Self::Decided(_, _, answer) => answer,
            Self::Record(_, answer) | Self::Consume(_, answer) | Self::Pending(_, answer) => answer,
            Self::Claim(_, _, answer) => answer,
            Self::Settle(_, _, answer) => answer,
            Self::Abandoned(_, _, answer) | Self::Running(_, answer) => answer,
            Self::Receipt(_, answer) => answer,
            Self::Receipts(_, _, answer) => answer,
            Self::Ids(_, answer) => answer,
            Self::Audits(_, answer) => answer,
        }
    }
}
