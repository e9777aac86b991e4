//! What is known of a server, shared by its handles, its task and its process.
//!
//! It must never be locked while anything is waited for.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use hermes_model::config::servers::ServerConfig;
use hermes_model::id::ServerName;
use hermes_output::exact::ExactValues;
use tokio::sync::{Notify, Semaphore, broadcast, watch};
use tokio::time::Instant;

use super::handle::{Offering, Phase, Setting, Standing};
use super::link::Link;
use super::link::wire::{Counts, Ears};
use super::listing::{Dirty, List};
use super::prepare;

/// How many notifications a listener may be behind before it loses the oldest: a burst of log lines.
const TOLD_MAX: usize = 256;

/// The part of a standing that the task decides.
#[derive(Clone)]
pub(super) struct Status {
    pub(super) phase: Phase,
    pub(super) pid: Option<i32>,
    pub(super) since: Option<SystemTime>,
    pub(super) restarts: u64,
    pub(super) protocol: Option<String>,
    pub(super) problem: Option<String>,
}

/// What is known of a server.
pub(super) struct Record {
    pub(super) name: ServerName,
    pub(super) config: ServerConfig,
    pub(super) setting: Setting,
    pub(super) exact: ExactValues,
    pub(super) ears: Ears,
    /// Turns among the requests: as many at the same time as the server is given.
    pub(super) turns: Semaphore,
    /// Somebody wants it to run.
    pub(super) woken: Notify,
    /// Whether the link of now has answered a call.
    pub(super) has_answered: AtomicBool,
    /// Whether what is odd about its configuration has been said.
    pub(super) has_warned: AtomicBool,
    changes: watch::Sender<u64>,
    status: Mutex<Status>,
    offering: Mutex<Arc<Offering>>,
    list_notes: Mutex<BTreeMap<List, String>>,
    link: Mutex<Option<Arc<Link>>>,
    in_flight: AtomicUsize,
    last_asked: Mutex<Instant>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Record {
    pub(super) fn new(name: ServerName, config: ServerConfig, setting: Setting) -> Self {
        let ears = Ears {
            told: broadcast::channel(TOLD_MAX).0,
            dirty: Arc::new(Dirty::default()),
            counts: Arc::new(Counts::default()),
        };
        let problem =
            (!config.enabled).then(|| format!("it is disabled; set mcp_servers.{name}.enabled = true to use it"));
        let status = Status { phase: Phase::Stopped, pid: None, since: None, restarts: 0, protocol: None, problem };
        Self {
            exact: prepare::exact(&name, &config, &setting.environment),
            ears,
            turns: Semaphore::new(usize::from(config.parallel.max(1))),
            woken: Notify::new(),
            has_answered: AtomicBool::new(false),
            has_warned: AtomicBool::new(false),
            changes: watch::channel(0).0,
            status: Mutex::new(status),
            offering: Mutex::default(),
            list_notes: Mutex::default(),
            link: Mutex::default(),
            in_flight: AtomicUsize::new(0),
            last_asked: Mutex::new(Instant::now()),
            name,
            config,
            setting,
        }
    }

    pub(super) fn status(&self) -> Status {
        locked(&self.status).clone()
    }

    /// Changes the status. Whoever watches is told where the phase is another.
    pub(super) fn set_status(&self, change: impl FnOnce(&mut Status)) {
        let changed = {
            let mut status = locked(&self.status);
            let before = status.phase;
            change(&mut status);
            status.phase != before
        };
        if changed {
            self.change();
        }
    }

    /// Somebody woke it: if it was stopped, it is about to be started.
    pub(super) fn is_woken(&self) {
        if self.config.enabled {
            self.set_status(|status| {
                if status.phase == Phase::Stopped {
                    status.phase = Phase::Starting;
                }
            });
        }
    }

    pub(super) fn standing(&self) -> Standing {
        let Status { phase, pid, since, restarts, protocol, problem } = self.status();
        let tools = self.offering().tools.len();
        let mut notes: Vec<String> = self.ears.counts.notes();
        notes.extend(locked(&self.list_notes).values().cloned());
        Standing { phase, pid, since, restarts, protocol, tools, junk: self.ears.counts.junk(), problem, notes }
    }

    pub(super) fn offering(&self) -> Arc<Offering> {
        Arc::clone(&locked(&self.offering))
    }

    /// Changes what it offers.
    pub(super) fn offer(&self, change: impl FnOnce(&mut Offering)) {
        change(Arc::make_mut(&mut *locked(&self.offering)));
        self.change();
    }

    /// Notes what is wrong with a list, or that nothing is.
    pub(super) fn note(&self, list: List, note: Option<String>) {
        let mut notes = locked(&self.list_notes);
        match note {
            Some(note) => notes.insert(list, note),
            None => notes.remove(&list),
        };
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn change(&self) {
        self.changes.send_modify(|number| *number = number.wrapping_add(1));
    }

    /// The link, where there is one that works.
    pub(super) fn link(&self) -> Option<Arc<Link>> {
        locked(&self.link).clone().filter(|link| !link.has_ended())
    }

    pub(super) fn set_link(&self, link: Option<Arc<Link>>) {
        self.has_answered.store(false, Ordering::Release);
        *locked(&self.link) = link;
    }

    /// Since when nobody asked it anything; none: somebody waits for an answer.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        (self.in_flight.load(Ordering::Acquire) == 0).then(|| *locked(&self.last_asked))
    }

    /// It is not idle for as long as what is returned lives.
    pub(super) fn asked(self: &Arc<Self>) -> Asked {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        Asked(Arc::clone(self))
    }

    /// Its idle time begins now.
    pub(super) fn touch(&self) {
        *locked(&self.last_asked) = Instant::now();
    }
}

/// Somebody waits for an answer.
pub(super) struct Asked(Arc<Record>);

impl Drop for Asked {
    fn drop(&mut self) {
        self.0.touch();
        self.0.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}
