//! The host of processes: its marker, its place as the subreaper, and the task that collects adopted orphans.
//!
//! One host per operating-system process is the rule; it must exist before the first command starts.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::Duration;

use hermes_ledger::host::HostIdentity;
use hermes_model::id::ProcessId;
use hermes_supervisor::message::Hello;
use rustix::rand::GetRandomFlags;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use crate::children;
use crate::guardian::{Fallback, Guardian};
use crate::survey;

/// Bytes of randomness in a host's marker: nobody else has the same by chance, and nobody guesses it.
const MARKER_BYTES: usize = 16;

/// Orphans that end together are collected together, so that a storm of them costs little.
const COLLECT_PAUSE: Duration = Duration::from_millis(20);

/// Starts processes and outlives them. Cloning it gives another handle to the same host.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

struct Inner {
    marker: String,
    guardian: Option<Arc<Guardian>>,
    collector: JoinHandle<()>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.collector.abort();
    }
}

/// Why this program cannot be a host of processes.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// `/proc` is needed to find what belongs to a command.
    #[error(
        "/proc shows nothing of this process; mount it (mount -t proc proc /proc), commands cannot be ended safely without it"
    )]
    NoProc(#[source] Option<io::Error>),
    /// The kernel refused something it has had for long.
    #[error("the kernel refused to {doing}; hermes needs Linux 5.4 or newer")]
    Kernel {
        /// What was tried.
        doing: &'static str,
        /// What it answered.
        #[source]
        source: io::Error,
    },
}

impl Host {
    /// Makes this program a host: the subreaper of everything it starts, with a supervisor as soon as something runs, if
    /// the tiny program is beside this one. Call it inside a tokio runtime.
    ///
    /// # Errors
    /// [`StartError`] where `/proc` is missing or the kernel is too old.
    pub fn start() -> Result<Self, StartError> {
        Self::start_with(Fallback::Nothing)
    }

    /// As [`Host::start`], and says what plays the supervisor where the tiny program is missing.
    ///
    /// # Errors
    /// [`StartError`] where `/proc` is missing or the kernel is too old.
    pub fn start_with(fallback: Fallback) -> Result<Self, StartError> {
        let me = children::own_pid().ok().and_then(rustix::process::Pid::from_raw);
        let me = me.ok_or(StartError::NoProc(None))?;
        let seen = match survey::look(me.as_raw_pid()) {
            Ok(Some(seen)) => seen.identity,
            Ok(None) => return Err(StartError::NoProc(None)),
            Err(error) => return Err(StartError::NoProc(Some(error))),
        };
        let refused = |doing| move |source: io::Error| StartError::Kernel { doing, source };
        rustix::process::set_child_subreaper(Some(me))
            .map_err(|error| refused("make this process a child subreaper")(error.into()))?;
        // A handler also undoes an inherited "ignore", under which the kernel would throw exit statuses away.
        let ended = signal(SignalKind::child()).map_err(refused("report ended children"))?;
        let marker = random::<MARKER_BYTES>().map_err(refused("give random bytes"))?;
        let marker: String = marker.iter().map(|byte| format!("{byte:02x}")).collect();
        let hello = Hello { host: seen.pid, start_ticks: seen.start_ticks, marker: marker.clone() };
        let guardian = Guardian::start(hello, fallback);
        Ok(Self { inner: Arc::new(Inner { marker, guardian, collector: tokio::spawn(collect(ended)) }) })
    }

    /// Who this host is, for one that comes after it.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn identity(&self) -> io::Result<HostIdentity> {
        let Place { boot_id, pid_namespace } = place()?;
        let pid = children::own_pid().map_err(io::Error::other)?;
        let me = survey::look(pid)?.ok_or_else(|| io::Error::other("/proc does not show this process"))?;
        let start_ticks = me.identity.start_ticks;
        Ok(HostIdentity { boot_id, pid_namespace, pid, start_ticks, marker: self.inner.marker.clone() })
    }

    /// What every child of this host carries in [`HOST_MARKER`](crate::environment::HOST_MARKER): 32 hexadecimal digits.
    pub fn marker(&self) -> &str {
        &self.inner.marker
    }

    /// What protects the processes of this host.
    pub(crate) fn guardian(&self) -> Option<Arc<Guardian>> {
        self.inner.guardian.clone()
    }

    /// The process groups that end if this host dies: each by the number of its leader, which is unreaped.
    pub fn protected(&self) -> Vec<i32> {
        self.inner.guardian.as_ref().map(|guardian| guardian.registered()).unwrap_or_default()
    }

    /// The number of the supervisor of this host, while there is one.
    pub fn supervisor(&self) -> Option<i32> {
        self.inner.guardian.as_ref()?.supervisor()
    }
}

/// Where this program runs: a process number means nothing outside of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The boot.
    pub boot_id: String,
    /// The inode of the PID namespace.
    pub pid_namespace: u64,
}

/// Where this program runs.
///
/// # Errors
/// `/proc` cannot be read.
pub fn place() -> io::Result<Place> {
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned();
    let pid_namespace = std::fs::metadata("/proc/self/ns/pid")?.ino();
    Ok(Place { boot_id, pid_namespace })
}

/// A fresh process id.
pub(crate) fn new_id() -> io::Result<ProcessId> {
    random().map(ProcessId::from_random)
}

fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        filled += rustix::rand::getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

/// Collects orphans whenever a child of this process ends, for as long as the host lives.
async fn collect(mut ended: Signal) {
    loop {
        tokio::select! {
            received = ended.recv() => if received.is_none() { return },
            () = children::given_up() => {}
        }
        while !children::collect_orphans() {
            tokio::time::sleep(COLLECT_PAUSE).await;
        }
        tokio::time::sleep(COLLECT_PAUSE).await;
    }
}
