//! The handle of a registry: start, list, read, wait, send. Every verb returns after its effect.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use hermes_ledger::audit::AuditEntry;
use hermes_ledger::checkpoint::{Checkpoint, LeaderIdentity};
use hermes_ledger::event::Scope;
use hermes_ledger::live::handle::Ledger;
use hermes_ledger::receipt::StoredReceipt;
use hermes_model::config::BackgroundNotifications;
use hermes_model::context::Surface;
use hermes_model::id::{Owner, ProcessId};
use hermes_output::event::Sink;
use hermes_output::exact;
use hermes_output::policy::InForce;
use hermes_output::reveal::Revealed;
use tokio::time::Instant;

use super::attend::{self, Along};
use super::bus::Bus;
use super::entry::{Body, Entry, Kept, Parts, Wishes};
use super::look::Eyes;
use super::memory::{self, Holding};
use super::request::{AskError, LaunchError, Request};
use super::table::{self, Named, Table};
use crate::environment::Environment;
use crate::host::{self, Host};
use crate::notify::breaker::{Breaker, BreakerEvent};
use crate::notify::heartbeat::Heartbeat;
use crate::notify::watch::Watch;
use crate::scope::memory::{Machine, MemoryMax};
use crate::scope::systemd::Programs;
use crate::scope::unit::Unit;
use crate::scope::{self, Placement, Scopes, bus::User};
use crate::spawn::spawn_as;
use crate::spec::{CommandSpec, Live};

/// How often the memory of all processes is added up.
const ADD_UP: Duration = Duration::from_millis(500);
/// How many ids an error names of those that begin alike.
const EXAMPLES: usize = 4;

/// What a registry does not decide itself.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long a tree may take to end by itself after SIGTERM.
    pub term_grace: Duration,
    /// The longest text of a reply, in bytes.
    pub reply_bytes: usize,
    /// The longest output of a completion, in bytes, where a command asks for no other.
    pub completion_bytes: usize,
    /// Which events wake somebody.
    pub mode: BackgroundNotifications,
    /// Whether the host is a service of systemd, whose commands get scopes of their own.
    pub supervised: bool,
    /// Whether what was started to persist is taken over from hosts that are gone. A host that lives only as long as its
    /// client must not: it would end at its own end what somebody else left on purpose.
    pub adopt: bool,
    /// How whoever asks this host reads all of a log, up to its id, such as `hermes logs`.
    pub log_by: &'static str,
}

/// Who asks: an owner sees and ends what is its own; a person at this host's command line, everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// The person who runs the host.
    Anybody,
    /// An agent, a session, a named user.
    Owner(Owner),
}

impl Who {
    /// What the ledger calls the same.
    pub fn scope(&self) -> Scope {
        match self {
            Self::Anybody => Scope::All,
            Self::Owner(owner) => Scope::Owner(owner.clone()),
        }
    }

    pub(crate) fn may_see(&self, owner: &Owner) -> bool {
        match self {
            Self::Anybody => true,
            Self::Owner(own) => own == owner,
        }
    }
}

/// The processes of a host. Cloning it gives another handle to the same.
#[derive(Clone)]
pub struct Registry {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) host: Host,
    pub(crate) ledger: Ledger,
    pub(crate) eyes: Eyes,
    pub(crate) bus: Bus,
    pub(crate) settings: Settings,
    scopes: Scopes<Programs>,
    table: Mutex<Table<Kept>>,
    breaker: Mutex<Breaker>,
    began: Instant,
    counter: AtomicU64,
    ending: AtomicBool,
    /// How many commands are on their way into the table.
    launching: AtomicUsize,
    /// A scope could not be had, and that was said.
    degraded_said: AtomicBool,
}

/// What was found under an id.
pub(crate) enum Found {
    /// A process of this host.
    Here(Arc<Entry>),
    /// One of which only the ledger knows.
    Written(Box<StoredReceipt>),
}

/// A process that was started.
pub(crate) struct Launched {
    pub(crate) entry: Arc<Entry>,
    /// What is to be said beside it.
    pub(crate) notes: Vec<String>,
}

impl Registry {
    /// Shows events that are delivered to a person too, unless they are hidden.
    pub fn show_in(&self, sink: Arc<dyn Sink>) {
        self.shared.bus.show_in(sink);
    }

    /// The registry of a host. Call it inside the runtime in which everything is to run.
    pub fn start(host: Host, ledger: Ledger, in_force: Arc<dyn InForce>, settings: Settings) -> Self {
        let began = Instant::now();
        let eyes = Eyes::new(in_force, settings.log_by);
        let bus = Bus::new(ledger.clone(), eyes.clone(), settings.mode);
        let scopes = Scopes::new(
            Programs::new(host.clone()),
            Box::new(move || began.elapsed()),
            scope::Settings {
                supervised: settings.supervised,
                memory_max: MemoryMax::of(Machine::look(), None).bytes,
                user: User::current(),
            },
        );
        let shared = Shared {
            host,
            ledger,
            eyes,
            bus,
            settings,
            scopes,
            table: Mutex::default(),
            breaker: Mutex::new(Breaker::new()),
            began,
            counter: AtomicU64::new(0),
            ending: AtomicBool::new(false),
            launching: AtomicUsize::new(0),
            degraded_said: AtomicBool::new(false),
        };
        let registry = Self { shared: Arc::new(shared) };
        tokio::spawn(registry.shared.bus.clone().keep_writing());
        tokio::spawn(registry.clone().keep_within_memory());
        tokio::spawn(registry.clone().keep_recovering());
        registry
    }

    pub(crate) fn downgrade(&self) -> Weak<Shared> {
        Arc::downgrade(&self.shared)
    }

    pub(crate) fn upgrade(shared: &Weak<Shared>) -> Option<Self> {
        shared.upgrade().map(|shared| Self { shared })
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    fn table(&self) -> MutexGuard<'_, Table<Kept>> {
        self.shared.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All processes that are kept.
    pub(crate) fn entries(&self) -> Vec<Arc<Entry>> {
        self.table().all().into_iter().map(|kept| kept.0).collect()
    }

    /// Owners of processes that run and are watched.
    pub(crate) fn watchers(&self) -> std::collections::BTreeSet<Owner> {
        let all = self.entries();
        let watched = all.iter().filter(|entry| entry.is_under_way() && !entry.wishes.watch.is_empty());
        watched.map(|entry| entry.owner.clone()).collect()
    }

    /// How many processes run.
    pub fn count_running(&self) -> usize {
        self.entries().iter().filter(|entry| entry.is_under_way() || entry.has_survivors()).count()
    }

    /// Enters a process.
    pub(crate) fn enter(&self, entry: Arc<Entry>) {
        let now = self.shared.now();
        self.table().insert(entry.id.clone(), Kept(entry), now);
    }

    /// Starts a command.
    pub(crate) async fn launch(&self, request: Request) -> Result<Launched, LaunchError> {
        // Counted before the look: whoever ends the host sees one of the two.
        let _launching = Launching::begin(&self.shared);
        if self.shared.ending.load(Ordering::SeqCst) {
            return Err(LaunchError::Ending);
        }
        let Request { mut spec, notify, watch, heartbeat, completion_bytes } = request;
        let patterns = (!watch.is_empty()).then(|| Watch::new(watch.clone())).transpose()?;
        let beat = heartbeat.and_then(|interval| Heartbeat::new(interval, self.shared.now()));
        if patterns.is_some() || beat.is_some() {
            spec.live = Live::Tap;
        }
        let id = host::new_id().map_err(|source| crate::spawn::SpawnError::Host {
            program: spec.shown_program(),
            doing: "making an id",
            source,
        })?;
        let mut notes = Vec::new();
        let parts = WishedFor::of(&spec);
        let environment = spec.environment.clone();
        let placed = self.shared.scopes.place(&id, spec).await;
        let scope_unit = match placed.placement {
            Placement::Plain => None,
            Placement::Scoped(unit) => Some((unit, environment)),
            Placement::Degraded(degraded) => {
                if !self.shared.degraded_said.swap(true, Ordering::Relaxed) {
                    tracing::warn!(%degraded, "a command runs inside the service of this host");
                    notes.push(degraded.to_string());
                }
                None
            }
        };
        let WishedFor { owner, command, cwd, pty, persist, exact } = parts;
        let mut process = spawn_as(&self.shared.host, id.clone(), placed.spec).await?;
        let along = process.take_live().map(|chunks| Along { chunks, watch: patterns, heartbeat: beat });
        let entry = Arc::new(Entry::new(Parts {
            id,
            owner,
            command,
            cwd,
            pty,
            exact: Arc::new(exact),
            identity: process.identity(),
            started_at: SystemTime::now(),
            body: Body::Own(process),
            wishes: Wishes {
                // With a heartbeat comes the end of it, or nobody could tell a silent process from an ended one.
                notify: AtomicBool::new(notify || along.as_ref().is_some_and(|along| along.heartbeat.is_some())),
                watch,
                heartbeat: along.as_ref().and_then(|along| along.heartbeat.as_ref()).map(Heartbeat::interval),
                completion_bytes: completion_bytes.unwrap_or(self.shared.settings.completion_bytes),
                persist,
                scope: scope_unit,
            },
        }));
        self.enter(Arc::clone(&entry));
        if let Some(trouble) = self.write_checkpoint(&entry).await {
            notes.push(format!("should this host be killed, nobody will know of this process: {trouble}"));
        }
        tokio::spawn(attend::attend(self.clone(), Arc::clone(&entry), along));
        Ok(Launched { entry, notes })
    }

    /// Writes what a later host must know of a process that runs. Returns what is in the way.
    pub(crate) async fn write_checkpoint(&self, entry: &Arc<Entry>) -> Option<String> {
        let eyes = &self.shared.eyes;
        let mut watch = Vec::with_capacity(entry.wishes.watch.len());
        for pattern in &entry.wishes.watch {
            watch.push(eyes.short(entry, Surface::Background, pattern.clone()).await.text);
        }
        let checkpoint = Checkpoint {
            id: entry.id.clone(),
            owner: entry.owner.clone(),
            command: eyes.short(entry, Surface::Background, entry.command.clone()).await.text,
            cwd: eyes.short(entry, Surface::Background, entry.cwd.clone()).await.text,
            leader: LeaderIdentity { pid: entry.identity.pid, start_ticks: entry.identity.start_ticks },
            pty: entry.pty,
            persist: entry.wishes.persist,
            notify: entry.notifies(),
            completion_bytes: entry.wishes.completion_bytes as u64,
            heartbeat: entry.wishes.heartbeat,
            watch,
            started_at: entry.started_at,
            scope_unit: entry.wishes.scope.as_ref().map(|(unit, _)| unit.to_string()),
        };
        let error = self.shared.ledger.started(checkpoint).await.err()?;
        tracing::warn!(process = %entry.id, %error, "a process that runs could not be written down");
        Some(error.to_string())
    }

    /// What an id, or the beginning of one, names.
    pub(crate) async fn find(&self, who: &Who, asked: &str) -> Result<Found, AskError> {
        let named = match table::beginning(asked) {
            Err(named) => named,
            Ok(beginning) => {
                let mut ids = self.table().beginning_with(&beginning);
                ids.extend(self.shared.ledger.ids_with_prefix(&beginning).await?);
                ids.sort();
                ids.dedup();
                table::named(ids)
            }
        };
        let shown = || crate::spec::shown(asked.as_ref());
        let id = match named {
            Named::One(id) => id,
            Named::None => return Err(AskError::NotFound(shown())),
            Named::TooShort => return Err(AskError::TooShort(shown())),
            Named::Several(ids) => {
                let examples: Vec<_> = ids.iter().take(EXAMPLES).map(ToString::to_string).collect();
                return Err(AskError::Ambiguous { asked: shown(), count: ids.len(), examples: examples.join(", ") });
            }
        };
        let here = self.table().get(&id);
        let found = match here {
            Some(kept) => Found::Here(kept.0),
            None => match self.shared.ledger.receipt(id.clone()).await? {
                Some(receipt) => Found::Written(Box::new(receipt)),
                // It runs in another host of this home.
                None => return Err(AskError::Elsewhere(id)),
            },
        };
        let owner = match &found {
            Found::Here(entry) => &entry.owner,
            Found::Written(receipt) => &receipt.owner,
        };
        if who.may_see(owner) { Ok(found) } else { Err(AskError::Foreign(id)) }
    }

    /// Makes room in the table and in memory.
    pub(crate) fn make_room(&self) {
        let now = self.shared.now();
        self.table().prune(now);
        let entries = self.entries();
        let holdings: Vec<Holding<usize>> = entries
            .iter()
            .enumerate()
            .map(|(key, entry)| Holding {
                key,
                held: entry.held(),
                ended: entry.outcome().map(|outcome| outcome.ended),
            })
            .collect();
        for (key, ring) in memory::shrinks(&holdings, memory::BYTES_MAX) {
            entries[key].shrink_ring(ring);
        }
    }

    async fn keep_within_memory(self) {
        // Not for longer than somebody else has the registry.
        let shared = self.downgrade();
        drop(self);
        loop {
            tokio::time::sleep(ADD_UP).await;
            let Some(registry) = Self::upgrade(&shared) else { return };
            registry.make_room();
            registry.release_breaker().await;
        }
    }

    async fn release_breaker(&self) {
        let change = self.shared.breaker().due(self.shared.now());
        if let Some(change) = change {
            self.overflow(change).await;
        }
    }

    /// Starts nothing more from here on if nothing runs; false, and nothing changed, if something does.
    pub fn close_if_idle(&self) -> bool {
        self.shared.ending.store(true, Ordering::SeqCst);
        let idle = self.shared.launching.load(Ordering::SeqCst) == 0 && self.count_running() == 0;
        if !idle {
            self.shared.ending.store(false, Ordering::SeqCst);
        }
        idle
    }

    /// Ends everything, persistent or not, and the ledger's record of this host. Nothing is started from here on.
    pub async fn shut_down(&self) -> Vec<super::shown::Killed> {
        self.shared.ending.store(true, Ordering::SeqCst);
        let killed = self.end_all().await;
        self.shared.bus.write_kept().await;
        if let Err(error) = self.shared.ledger.ended().await {
            tracing::warn!(%error, "the end of this host could not be written");
        }
        self.shared.bus.nudge();
        killed
    }
}

/// Counts a command that is on its way into the table.
struct Launching<'a>(&'a Shared);

impl<'a> Launching<'a> {
    fn begin(shared: &'a Shared) -> Self {
        shared.launching.fetch_add(1, Ordering::SeqCst);
        Self(shared)
    }
}

impl Drop for Launching<'_> {
    fn drop(&mut self) {
        self.0.launching.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What is known of a command before it is put anywhere.
struct WishedFor {
    owner: Owner,
    command: String,
    cwd: String,
    pty: bool,
    persist: bool,
    exact: exact::ExactValues,
}

impl WishedFor {
    fn of(spec: &CommandSpec) -> Self {
        let cwd = spec.cwd.clone().or_else(|| std::env::current_dir().ok()).unwrap_or_default();
        let values: Vec<(String, String)> = spec
            .environment
            .iter()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
            .collect();
        Self {
            owner: spec.owner.clone(),
            command: spec.display_command(),
            cwd: cwd.to_string_lossy().into_owned(),
            pty: spec.pty.is_some(),
            persist: spec.persist,
            exact: exact::from_environment(values.iter().map(|(name, value)| (name.as_str(), value.as_str()))),
        }
    }
}

impl Shared {
    /// The host's clock.
    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// A moment of the host's clock.
    pub(crate) fn instant(&self, at: Duration) -> Instant {
        self.began + at
    }

    /// A number nobody else of this host gets.
    pub(crate) fn count(&self) -> u64 {
        self.counter.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether one more match may be told, and what is to be said about all of them.
    pub(crate) fn admit(&self) -> (bool, Option<BreakerEvent>) {
        let admission = self.breaker().admit(self.now());
        (admission.admitted, admission.change)
    }

    /// Marks what is known of an end as known: nobody needs to be told any more.
    pub(crate) async fn consume(&self, entry: &Entry) {
        entry.consumed.store(true, Ordering::Relaxed);
        if let Err(error) = self.ledger.consume(entry.id.clone()).await {
            tracing::warn!(process = %entry.id, %error, "it may be told again that it ended");
        }
    }

    /// Counts what the policy did.
    pub(crate) async fn audit(&self, entry: &Entry, surface: Surface, revealed: &Revealed) {
        let report = &revealed.report;
        let withheld = report.withheld.iter().map(|withheld| (withheld.code.clone(), revealed.output_bytes));
        let counted = AuditEntry {
            source: entry.id.to_string(),
            surface,
            generation: report.generation,
            texts: 1,
            bytes: revealed.output_bytes,
            redactions: report.redactions.clone(),
            withheld: withheld.collect(),
            redactor_digests: self.eyes.in_force().policy().redactor_digests().into_iter().collect(),
        };
        if let Err(error) = self.ledger.audit(counted).await {
            tracing::debug!(process = %entry.id, %error, "what the policy did was not counted");
        }
    }

    /// Ends whatever is left in the scope of a process.
    pub(crate) async fn stop_scope(&self, entry: &Entry) {
        let Some((unit, environment)) = &entry.wishes.scope else { return };
        if let Err(error) = self.scopes.stop(unit, environment).await {
            tracing::warn!(process = %entry.id, %error, "a scope was not stopped");
        }
    }
}

/// What is written of a scope that a crashed host used: its name, and the environment to reach it by.
pub(crate) fn scope_of(id: &ProcessId, written: Option<&String>) -> Option<(Unit, Environment)> {
    written.map(|_| (Unit::of(id), Environment::inherit()))
}
