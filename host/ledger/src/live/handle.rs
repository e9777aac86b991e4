//! The handle of a host's ledger. Every verb returns after its effect is on the disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use hermes_home::home::Home;
use hermes_model::id::ProcessId;
use hermes_model::status::Status;
use hermes_output::event::Event;
use tokio::sync::{mpsc, oneshot};

use super::message::{Answer, Message};
use super::task;
use crate::audit::{Audit, AuditEntry};
use crate::checkpoint::{Checkpoint, StoredCheckpoint, Taken};
use crate::event::{Claim, Claimed, Delivery, NewEvent, Scope, Settled};
use crate::file;
use crate::host::HostIdentity;
use crate::problem::{LedgerError, OpenError};
use crate::progress::Verb;
use crate::reader::Reader;
use crate::receipt::{Receipt, StoredReceipt};
use crate::store::Store;

/// The name of the thread, as a person sees it in `ps -T`.
const THREAD: &str = "hermes-ledger";

/// An open ledger. Cloning it gives another handle to the same; after the last one is dropped the file is closed.
///
/// A verb whose future is dropped may still take effect, except that claims are given back then. Every verb fails with
/// a [`LedgerError`] where the file cannot be used; nothing of that verb took effect then, and the next one may work.
#[derive(Clone)]
pub struct Ledger {
    path: Arc<PathBuf>,
    messages: mpsc::Sender<Message>,
}

impl Ledger {
    /// Opens the ledger of a home for a host, creating what is missing and removing what is too old.
    ///
    /// Blocks for some milliseconds; where another process writes, up to
    /// [`BUSY_WAIT`](crate::limits::BUSY_WAIT).
    ///
    /// # Errors
    /// The home cannot be used, a newer hermes wrote the file, or it cannot be written.
    pub fn open(home: &Home, host: HostIdentity) -> Result<Self, OpenError> {
        Self::open_with(home, host, SystemTime::now)
    }

    /// As [`Ledger::open`], with a clock: leases and ages are measured by it.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn open_with(
        home: &Home,
        host: HostIdentity,
        clock: impl Fn() -> SystemTime + Send + 'static,
    ) -> Result<Self, OpenError> {
        let path = file::place(home);
        let mut store = Store::new(file::open(home)?, path.clone(), host, Box::new(clock));
        store.together(true, Store::opened)?;
        Self::serve(store, path).map_err(OpenError::from)
    }

    /// Gives an open file its thread.
    pub(crate) fn serve(store: Store, path: PathBuf) -> Result<Self, LedgerError> {
        let (messages, requests) = mpsc::channel(task::MESSAGES);
        std::thread::Builder::new()
            .name(THREAD.to_owned())
            .spawn(move || task::run(store, requests))
            .map_err(|error| LedgerError::Refused { path: path.clone(), reason: error.kind().to_string() })?;
        Ok(Self { path: Arc::new(path), messages })
    }

    /// Opens the ledger of a home for reading; none where nothing was ever written. Creates nothing.
    ///
    /// # Errors
    /// Another version of hermes wrote the file, or it cannot be read.
    pub fn read(home: &Home) -> Result<Option<Reader>, OpenError> {
        Reader::open(home)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    async fn ask<T>(&self, message: impl FnOnce(Answer<T>) -> Message) -> Result<T, LedgerError> {
        let over = || LedgerError::Over { path: self.path.as_ref().clone() };
        let (answer, arrives): (_, oneshot::Receiver<_>) = Answer::new();
        self.messages.send(message(answer)).await.map_err(|_| over())?;
        arrives.await.unwrap_or_else(|_| Err(over()))
    }

    /// Writes that a process runs, on this host. Writing the same id again replaces what was written.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn started(&self, checkpoint: Checkpoint) -> Result<(), LedgerError> {
        self.ask(|answer| Message::Started(Box::new(checkpoint), answer)).await
    }

    /// Writes that a process ended: its checkpoint becomes this receipt, and the event is recorded, both or neither.
    /// Says the number of the event, if there is one.
    ///
    /// A second end of the same process changes nothing, records no event and says none.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn finished(&self, receipt: Receipt, event: Option<NewEvent>) -> Result<Option<u64>, LedgerError> {
        self.ask(|answer| Message::Finished(Box::new(receipt), event.map(Box::new), answer)).await
    }

    /// Rewrites how a process ended, where a kill raced its exit. Says whether there was a receipt.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn amend(&self, id: ProcessId, status: Status) -> Result<bool, LedgerError> {
        self.ask(|answer| Message::Amend(id, status, answer)).await
    }

    /// Records an event without a receipt, and says its number. An event whose id was recorded already is not recorded
    /// again; the number is that of the first.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn record(&self, event: NewEvent) -> Result<u64, LedgerError> {
        self.ask(|answer| Message::Record(Box::new(event), answer)).await
    }

    /// Writes what notifiers made of an undecided event, and whether it wakes somebody. Says whether that still counts:
    /// after its lease ran out, an event may have been claimed as it was.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn decided(&self, seq: u64, event: Event, delivery: Delivery) -> Result<bool, LedgerError> {
        self.ask(|answer| Message::Decided(seq, Box::new((event, delivery)), answer)).await
    }

    /// Claims up to `max` events that wait, the oldest first. No other claim, of this or another process, gets them
    /// until they are released or their lease runs out.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn claim(&self, scope: Scope, max: usize) -> Result<Vec<Claimed>, LedgerError> {
        let over = || LedgerError::Over { path: self.path.as_ref().clone() };
        let (answer, arrives) = Answer::new();
        let mut asked = Asked { ledger: self, arrives };
        self.messages.send(Message::Claim(scope, max, answer)).await.map_err(|_| over())?;
        (&mut asked.arrives).await.unwrap_or_else(|_| Err(over()))
    }

    /// Settles claims: their events are delivered, once and for all.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn acknowledge(&self, claims: &[Claim]) -> Result<Settled, LedgerError> {
        self.settle(Verb::Acknowledge, claims).await
    }

    /// Settles claims: their events were not delivered and wait again, or are dropped after
    /// [`ATTEMPTS_MAX`](crate::limits::ATTEMPTS_MAX) tries.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn release(&self, claims: &[Claim]) -> Result<Settled, LedgerError> {
        self.settle(Verb::Release, claims).await
    }

    /// Settles claims: nobody could take their events yet. They wait again, and this try is not counted.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn defer(&self, claims: &[Claim]) -> Result<Settled, LedgerError> {
        self.settle(Verb::Defer, claims).await
    }

    /// Settles claims: whoever their events were for is gone, and they are never delivered.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn drop_events(&self, claims: &[Claim]) -> Result<Settled, LedgerError> {
        self.settle(Verb::Drop, claims).await
    }

    async fn settle(&self, verb: Verb, claims: &[Claim]) -> Result<Settled, LedgerError> {
        let claims = claims.to_vec();
        self.ask(|answer| Message::Settle(verb, claims, answer)).await
    }

    /// Somebody has seen the end of this process: its completion events that nobody acknowledged are never delivered,
    /// those that are claimed included. Says how many there were.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn consume(&self, id: ProcessId) -> Result<u64, LedgerError> {
        self.ask(|answer| Message::Consume(id, answer)).await
    }

    /// Takes over the processes of hosts that are not alive, and gives back the events they claimed or asked notifiers
    /// about. Of two hosts that ask, one gets a process.
    ///
    /// `is_alive` is asked once for each other host that did not end in order, on the ledger's thread and while no
    /// other process can write: it may look into `/proc`, and must not wait.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn abandoned(
        &self,
        is_alive: impl Fn(&HostIdentity) -> bool + Send + 'static,
    ) -> Result<Vec<StoredCheckpoint>, LedgerError> {
        self.ask(|answer| Message::Abandoned(Box::new(is_alive), Taken::All, answer)).await
    }

    /// As [`Ledger::abandoned`], but for the processes that were started to persist: they are left for another host.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn abandoned_but_persistent(
        &self,
        is_alive: impl Fn(&HostIdentity) -> bool + Send + 'static,
    ) -> Result<Vec<StoredCheckpoint>, LedgerError> {
        self.ask(|answer| Message::Abandoned(Box::new(is_alive), Taken::ButPersistent, answer)).await
    }

    /// Marks this host as ended in order: nobody needs to look whether it lives.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn ended(&self) -> Result<(), LedgerError> {
        self.ask(Message::Ended).await
    }

    /// Adds to the counters of a source.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn audit(&self, entry: AuditEntry) -> Result<(), LedgerError> {
        self.ask(|answer| Message::Audit(Box::new(entry), answer)).await
    }

    /// How many events [`Ledger::claim`] could get now.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn pending(&self, scope: Scope) -> Result<u64, LedgerError> {
        self.ask(|answer| Message::Pending(scope, answer)).await
    }

    /// The receipt of a process.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn receipt(&self, id: ProcessId) -> Result<Option<StoredReceipt>, LedgerError> {
        self.ask(|answer| Message::Receipt(id, answer)).await
    }

    /// Up to `limit` receipts, the last ended first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn receipts(&self, scope: Scope, limit: usize) -> Result<Vec<StoredReceipt>, LedgerError> {
        self.ask(|answer| Message::Receipts(scope, limit, answer)).await
    }

    /// The processes that run, of every host, the first started first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn running(&self, scope: Scope) -> Result<Vec<StoredCheckpoint>, LedgerError> {
        self.ask(|answer| Message::Running(scope, answer)).await
    }

    /// The ids of running and ended processes that begin so, in order.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn ids_with_prefix(&self, prefix: &str) -> Result<Vec<ProcessId>, LedgerError> {
        let prefix = prefix.to_owned();
        self.ask(|answer| Message::Ids(prefix, answer)).await
    }

    /// Up to `limit` counters, the last changed first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn audits(&self, limit: usize) -> Result<Vec<Audit>, LedgerError> {
        self.ask(|answer| Message::Audits(limit, answer)).await
    }
}

/// Claims that were asked for. If whoever asked leaves before it has them, those that were made are given back: nobody
/// would settle them.
struct Asked<'a> {
    ledger: &'a Ledger,
    arrives: oneshot::Receiver<Result<Vec<Claimed>, LedgerError>>,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        // From here on the thread of the ledger sees that nobody waits, and gives back by itself.
        self.arrives.close();
        let Ok(Ok(claimed)) = self.arrives.try_recv() else { return };
        let claims: Vec<Claim> = claimed.iter().map(|claimed| claimed.claim).collect();
        if claims.is_empty() {
            return;
        }
        let (answer, _) = Answer::new();
        // A ledger that is too busy for this lets their lease run out.
        if self.ledger.messages.try_send(Message::Settle(Verb::Defer, claims, answer)).is_err() {
            tracing::debug!("claims that nobody waited for are free again when their lease is over");
        }
    }
}
