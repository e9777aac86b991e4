//! Events on their way to the ledger, past the notifiers, to whoever waits for them.
//!
//! An event is written before anybody is told of it, and a notifier that takes its time holds up nobody but its own
//! event. It must never drop an event because the ledger could not be written.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use hermes_ledger::event::{Delivery, NewEvent, Scope};
use hermes_ledger::live::handle::Ledger;
use hermes_ledger::problem::LedgerError;
use hermes_model::config::BackgroundNotifications;
use hermes_model::event::EventKind;
use hermes_model::status::Status;
use hermes_output::event::{self, Event, Sink, Suppressed};
use hermes_output::exact::ExactValues;
use tokio::sync::{Notify, Semaphore};

use super::look::{Eyes, blocking};

/// How long after an event those who wait for one are woken, so that what comes together is told together, and so that
/// somebody who waits for the process itself sees its end first (100 ms is usual for this).
const TOGETHER: Duration = Duration::from_millis(100);
/// How soon writing is tried again after it failed.
const TRY_AGAIN: Duration = Duration::from_secs(5);
/// How many events are decided about at once. Each holds a thread and an instance of a plugin for as long as a notifier
/// waits for a network, and the instances of a host (48) are for redactors first.
const DECIDED_AT_ONCE: usize = 16;
/// How many events wait for a ledger that cannot be written; then the oldest goes, and the log says so.
const UNWRITTEN_MAX: usize = 1000;

/// The way of events out of a host.
#[derive(Clone)]
pub(crate) struct Bus {
    inner: Arc<Inner>,
}

struct Inner {
    ledger: Ledger,
    eyes: Eyes,
    mode: BackgroundNotifications,
    seq: AtomicU64,
    news: Notify,
    unwritten: Mutex<VecDeque<NewEvent>>,
    /// Whoever has a permit may ask the notifiers. The others wait without a thread, until the event's lease ends at most.
    deciding: Semaphore,
    /// Where a person sees them, if anywhere.
    sink: OnceLock<Arc<dyn Sink>>,
}

/// Whether an event wakes somebody, by the configuration. `asked`: the process was started with a wish to be told.
pub fn wakes(mode: BackgroundNotifications, kind: EventKind, asked: bool, status: Option<&Status>) -> bool {
    if !kind.is_of_a_process() {
        return true;
    }
    let completion = kind == EventKind::Completion;
    match mode {
        BackgroundNotifications::Off => false,
        BackgroundNotifications::All => true,
        BackgroundNotifications::Concise => asked || !completion,
        BackgroundNotifications::Result => asked && completion,
        BackgroundNotifications::Error => asked && completion && status != Some(&Status::Exited(0)),
    }
}

impl Bus {
    pub(crate) fn new(ledger: Ledger, eyes: Eyes, mode: BackgroundNotifications) -> Self {
        let inner = Inner {
            ledger,
            eyes,
            mode,
            seq: AtomicU64::new(0),
            news: Notify::new(),
            unwritten: Mutex::new(VecDeque::new()),
            deciding: Semaphore::new(DECIDED_AT_ONCE),
            sink: OnceLock::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Whether an event of this kind is worth making.
    pub(crate) fn wakes(&self, kind: EventKind, asked: bool, status: Option<&Status>) -> bool {
        wakes(self.inner.mode, kind, asked, status)
    }

    /// What is to become of an event that is about to be written.
    pub(crate) fn prepare(&self, mut event: Event) -> NewEvent {
        if !self.wakes(event.kind, true, event.status.as_ref()) {
            return NewEvent { event, delivery: Delivery::Muted };
        }
        let notifier = self.inner.eyes.in_force().notifier();
        if notifier.notifiers() > 0 {
            return NewEvent { event, delivery: Delivery::Undecided };
        }
        for warning in notifier.warnings() {
            if !event.policy.warnings.contains(&warning) {
                event.policy.warnings.push(warning);
            }
        }
        NewEvent { event, delivery: Delivery::Pending }
    }

    /// Goes on with an event that was written with this number: has it decided about, and wakes who waits.
    pub(crate) fn written(&self, seq: u64, new: NewEvent, exact: Arc<ExactValues>) {
        let bus = self.clone();
        tokio::spawn(async move {
            let delivered = match new.delivery {
                Delivery::Pending => Some(new.event),
                Delivery::Undecided => bus.decide(seq, new.event, exact).await,
                Delivery::Muted | Delivery::Suppressed { .. } => return,
            };
            if let (Some(sink), Some(event)) = (bus.inner.sink.get(), delivered.filter(|event| !event.hidden)) {
                sink.show(&event);
            }
            tokio::time::sleep(TOGETHER).await;
            bus.inner.news.notify_waiters();
        });
    }

    /// Has an event decided about. Comes back with what is delivered, unless it is suppressed.
    async fn decide(&self, ledger_seq: u64, event: Event, exact: Arc<ExactValues>) -> Option<Event> {
        // Nobody closes it, so there is always a permit in the end.
        let _permit = self.inner.deciding.acquire().await;
        let seq = self.inner.seq.fetch_add(1, Ordering::Relaxed) + 1;
        let (policy, notifier) = (self.inner.eyes.in_force().policy(), self.inner.eyes.in_force().notifier());
        let (event, suppressed) = blocking(move || event::decide(&*policy, &*notifier, seq, event, &exact)).await;
        let (delivered, delivery) = match suppressed {
            None => (self.inner.sink.get().map(|_| event.clone()), Delivery::Pending),
            Some(Suppressed { by, reason }) => (None, Delivery::Suppressed { by, reason }),
        };
        if let Err(error) = self.inner.ledger.decided(ledger_seq, event, delivery).await {
            // Without the decision it is delivered as it was, once its lease is over.
            tracing::warn!(%error, seq = ledger_seq, "what the notifiers said about an event could not be written");
        }
        delivered
    }

    /// Shows events to a person too, from now on. The first sink stays.
    pub(crate) fn show_in(&self, sink: Arc<dyn Sink>) {
        if self.inner.sink.set(sink).is_err() {
            tracing::warn!("a host shows its events in one place only");
        }
    }

    /// Writes an event. Where that fails it is kept and tried again for as long as the host lives.
    pub(crate) async fn tell(&self, event: Event, exact: Arc<ExactValues>) {
        let new = self.prepare(event);
        match self.inner.ledger.record(new.clone()).await {
            Ok(seq) => self.written(seq, new, exact),
            Err(error) => self.keep(new, &error),
        }
    }

    fn keep(&self, new: NewEvent, error: &LedgerError) {
        tracing::warn!(%error, event = new.event.id, "an event could not be written yet; it is tried again");
        let mut unwritten = self.inner.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        if unwritten.len() >= UNWRITTEN_MAX
            && let Some(lost) = unwritten.pop_front()
        {
            tracing::error!(event = lost.event.id, "an event is given up: too many wait for the ledger");
        }
        unwritten.push_back(new);
    }

    /// Writes what could not be written before. False: some of it still cannot.
    pub(crate) async fn write_kept(&self) -> bool {
        loop {
            let first = self.inner.unwritten.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(new) = first else { return true };
            match self.inner.ledger.record(new.clone()).await {
                Ok(seq) => self.written(seq, new, Arc::default()),
                Err(_) => {
                    self.inner.unwritten.lock().unwrap_or_else(PoisonError::into_inner).push_front(new);
                    return false;
                }
            }
        }
    }

    /// Tries again and again, until the host ends.
    pub(crate) async fn keep_writing(self) {
        loop {
            tokio::time::sleep(TRY_AGAIN).await;
            self.write_kept().await;
        }
    }

    /// Returns when there may be an event for somebody, or after this time.
    pub(crate) async fn news(&self, scope: Scope, patience: Duration) -> Result<(), LedgerError> {
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            // Enlisted before the look: what comes after it wakes this.
            let news = self.inner.news.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            if self.inner.ledger.pending(scope.clone()).await? > 0 {
                return Ok(());
            }
            if tokio::time::timeout_at(deadline, news).await.is_err() {
                return Ok(());
            }
        }
    }

    /// Wakes everybody who waits, for whatever reason there is to look again.
    pub(crate) fn nudge(&self) {
        self.inner.news.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn off_mutes_what_processes_say_and_nothing_else() {
        for kind in EventKind::ALL {
            assert_eq!(wakes(BackgroundNotifications::Off, kind, true, None), !kind.is_of_a_process(), "{kind}");
        }
    }

    #[test]
    fn each_setting_lets_through_what_it_says() {
        use BackgroundNotifications::{All, Concise, Error, Result};
        let (ok, failed) = (Status::Exited(0), Status::Exited(1));
        let table = [
            (Concise, EventKind::Completion, true, &ok, true),
            (Concise, EventKind::Completion, false, &failed, false),
            (Concise, EventKind::Match, true, &ok, true),
            (All, EventKind::Completion, false, &ok, true),
            (Result, EventKind::Completion, true, &ok, true),
            (Result, EventKind::Heartbeat, true, &ok, false),
            (Error, EventKind::Completion, true, &ok, false),
            (Error, EventKind::Completion, true, &failed, true),
            (Error, EventKind::Completion, true, &Status::Stopped("kill".into()), true),
            (Error, EventKind::Match, true, &failed, false),
        ];
        for (mode, kind, asked, status, expected) in table {
            assert_eq!(wakes(mode, kind, asked, Some(status)), expected, "{mode:?} {kind} {asked} {status:?}");
        }
    }
}
