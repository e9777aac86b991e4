//! What a crashed host left: taken over once, by one host, and each process is what it is found to be.
//!
//! It must never invent an exit, signal a number that is somebody else's, or tell the same loss twice.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use hermes_ledger::checkpoint::StoredCheckpoint;
use hermes_ledger::host::HostIdentity;
use hermes_ledger::problem::LedgerError;
use hermes_model::context::{Context, Surface};
use hermes_model::status::Status;
use hermes_output::captured::Captured;
use hermes_supervisor::ending;
use tokio::task::JoinHandle;

use super::attend::{self, LOST};
use super::entry::{Body, Entry, Parts, Wishes};
use super::handle::{Registry, scope_of};
use crate::adopted::{self, Adopted, Fate};
use crate::host;
use crate::survey::{self, Identity};

/// How soon a host looks a second time for others that are gone.
const LOOK_SOON: Duration = Duration::from_secs(2);
/// How often it looks after that (30 s is usual for this).
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// What came of the processes of hosts that are gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// They run, and are this host's now: to be kept if they persist, and to be ended if not.
    pub running: usize,
    /// They are gone, or their number is somebody else's.
    pub lost: usize,
}

/// Whether a host lives: in this boot and this PID namespace, under its number and since its start.
pub fn is_alive(host: &HostIdentity) -> bool {
    let Ok(here) = host::place() else {
        // Whoever cannot look takes nothing over.
        return true;
    };
    here.boot_id == host.boot_id
        && here.pid_namespace == host.pid_namespace
        && survey::look(host.pid)
            .ok()
            .flatten()
            .is_some_and(|stat| stat.identity.start_ticks == host.start_ticks && stat.is_alive())
}

/// Ends whoever carries the marker of a host that was killed, where its supervisor did not: both may have been killed at
/// once, or the host before it wrote down what it started.
async fn sweep(dead: Vec<HostIdentity>, ends: Vec<JoinHandle<()>>, grace: Duration) {
    let Ok(here) = host::place() else { return };
    let of_here = |host: &HostIdentity| here.boot_id == host.boot_id && here.pid_namespace == host.pid_namespace;
    let dead: Vec<HostIdentity> = dead.into_iter().filter(of_here).collect();
    if dead.is_empty() {
        return;
    }
    tokio::time::sleep(attend::SUPERVISOR_TIME).await;
    // One that is known by its id is ended by that; nobody is told twice.
    for end in ends {
        if let Err(error) = end.await {
            tracing::error!(%error, "ending what a host left broke down");
        }
    }
    let swept = super::look::blocking(move || {
        dead.iter().map(|host| ending::end_marked(&host.marker, host.start_ticks, grace).signalled).sum::<usize>()
    });
    let swept = swept.await;
    if swept > 0 {
        tracing::warn!(swept, "processes of a host that was killed were found and ended");
    }
}

impl Registry {
    /// Takes over what hosts left that are gone: what persists, if this host adopts it. Whatever should have ended with
    /// its host and has not is being ended when this returns.
    ///
    /// # Errors
    /// The ledger cannot be written. Nothing was taken over then.
    pub async fn recover(&self) -> Result<Recovered, LedgerError> {
        let dead: Arc<Mutex<Vec<HostIdentity>>> = Arc::default();
        let lives = {
            let dead = Arc::clone(&dead);
            move |host: &HostIdentity| {
                let lives = is_alive(host);
                if !lives {
                    dead.lock().unwrap_or_else(PoisonError::into_inner).push(host.clone());
                }
                lives
            }
        };
        let ledger = &self.shared().ledger;
        let adopt = self.shared().settings.adopt;
        let left = if adopt { ledger.abandoned(lives).await } else { ledger.abandoned_but_persistent(lives).await }?;
        let dead = std::mem::take(&mut *dead.lock().unwrap_or_else(PoisonError::into_inner));
        let mut recovered = Recovered::default();
        let mut ends = Vec::new();
        for checkpoint in left {
            match self.fate(&checkpoint).await {
                Some(adopted) => {
                    recovered.running += 1;
                    let persists = checkpoint.persist;
                    let entry = self.entry_of(checkpoint, Body::Adopted(adopted.clone())).await;
                    self.enter(Arc::clone(&entry));
                    if persists {
                        tokio::spawn(attend::attend(self.clone(), entry, None));
                    } else {
                        ends.push(tokio::spawn(attend::end_left(self.clone(), entry, adopted)));
                    }
                }
                None => {
                    recovered.lost += 1;
                    self.lose(checkpoint).await;
                }
            }
        }
        tokio::spawn(sweep(dead, ends, self.shared().settings.term_grace));
        Ok(recovered)
    }

    /// Looks again and again for hosts that are gone: one that was just killed may be on its way out when this one
    /// begins, and others may share the home.
    pub(crate) async fn keep_recovering(self) {
        // Not for longer than somebody else has the registry.
        let shared = self.downgrade();
        drop(self);
        let mut pause = LOOK_SOON;
        loop {
            tokio::time::sleep(pause).await;
            pause = LOOK_AGAIN;
            let Some(registry) = Self::upgrade(&shared) else { return };
            if let Err(error) = registry.recover().await {
                tracing::debug!(%error, "nobody can tell whether another host of this home is gone");
            }
        }
    }

    /// Whoever of it lives, if it can be one of this boot and this PID namespace.
    async fn fate(&self, checkpoint: &StoredCheckpoint) -> Option<Adopted> {
        let here = host::place().ok()?;
        if here.boot_id != checkpoint.host.boot_id || here.pid_namespace != checkpoint.host.pid_namespace {
            return None;
        }
        let leader = Identity { pid: checkpoint.leader.pid, start_ticks: checkpoint.leader.start_ticks };
        match adopted::fate(&checkpoint.id, leader).await {
            Ok(Fate::Running(adopted)) => Some(adopted),
            Ok(Fate::Reused | Fate::Gone) => None,
            Err(error) => {
                tracing::warn!(process = %checkpoint.id, %error, "nobody can tell whether it runs; it counts as lost");
                None
            }
        }
    }

    /// Tells once that nothing more is known of it.
    async fn lose(&self, checkpoint: StoredCheckpoint) {
        let ended_at = SystemTime::now();
        let duration = ended_at.duration_since(checkpoint.started_at).unwrap_or(Duration::ZERO);
        // An entry nobody can find: it is only there to be told about.
        let leader = Identity { pid: checkpoint.leader.pid, start_ticks: checkpoint.leader.start_ticks };
        let gone = Adopted::gone(&checkpoint.id, leader);
        let entry = self.entry_of(checkpoint, Body::Adopted(gone)).await;
        attend::finish(self, &entry, Status::Lost(LOST.to_owned()), duration, ended_at).await;
    }

    async fn entry_of(&self, checkpoint: StoredCheckpoint, body: Body) -> Arc<Entry> {
        let StoredCheckpoint { id, owner, command, cwd, leader, pty, persist, notify, completion_bytes, .. } =
            checkpoint;
        let wishes = Wishes {
            notify: AtomicBool::new(notify),
            // Nobody reads what it prints, so nothing is watched for.
            watch: Vec::new(),
            heartbeat: None,
            completion_bytes: usize::try_from(completion_bytes).unwrap_or(usize::MAX),
            persist,
            scope: scope_of(&id, checkpoint.scope_unit.as_ref()),
        };
        Arc::new(Entry::new(Parts {
            id,
            owner,
            command: self.read_back(command).await,
            cwd: self.read_back(cwd).await,
            pty,
            exact: Arc::default(),
            identity: Identity { pid: leader.pid, start_ticks: leader.start_ticks },
            started_at: checkpoint.started_at,
            body,
            wishes,
        }))
    }

    /// What was visible once, redacted again.
    async fn read_back(&self, text: Captured) -> String {
        let context = Context::new(Surface::Background);
        self.shared().eyes.stored(context, text).await.as_str().to_owned()
    }
}
