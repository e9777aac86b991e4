//! The direct child of the host: the leader of a command's session. Whoever holds it owes the tree an end.
//!
//! It stays unreaped until it is told otherwise, so that its number, its group's and its session's remain its own.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use hermes_model::id::ProcessId;
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions};
use tokio::io::unix::AsyncFd;

use crate::children;
use crate::guardian::Guardian;
use crate::pidfd;
use crate::survey::{self, Identity};
use crate::tree::{Order, Tree};

/// How often a tree that was just killed is looked at until nobody of it is left, and the pause between two looks: SIGKILL
/// takes effect within a millisecond, but for what is in an uninterruptible wait.
const LAST_LOOKS: usize = 20;
const LAST_PAUSE: Duration = Duration::from_millis(1);

/// How the leader ended, as the kernel says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// Somebody else in this program took its status.
    Unknown,
}

/// A started leader. Dropping it before [`Leader::settle`] kills what it started, at once.
pub(crate) struct Leader {
    pid: i32,
    pidfd: AsyncFd<OwnedFd>,
    tree: Arc<Tree>,
    /// Who ends the tree if this program does not live to. None for what may outlive it.
    guardian: Option<Arc<Guardian>>,
    settled: bool,
}

impl Leader {
    /// Starts a child by `launch` and takes hold of it. It is in the guardian's protection when this returns. Needs a
    /// runtime, and blocks.
    pub(crate) fn start(
        id: &ProcessId,
        guardian: Option<Arc<Guardian>>,
        launch: impl FnOnce() -> io::Result<i32>,
    ) -> io::Result<Self> {
        // Before the program runs: what this host dies over between its start and its registration is found by its marker.
        if let Some(guardian) = &guardian {
            guardian.expect();
        }
        let started = children::launch(launch).and_then(|pid| {
            // From here on there is a child: it is unreaped, so its number is its own, and it must not be lost.
            Self::hold(id, pid).inspect_err(|_| {
                if let Some(pid) = Pid::from_raw(pid) {
                    let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
                    let _ = rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
                }
                children::forget(pid);
            })
        });
        match (started, guardian) {
            (Ok(mut leader), Some(guardian)) => {
                guardian.register(leader.pid);
                leader.guardian = Some(guardian);
                Ok(leader)
            }
            (Err(error), Some(guardian)) => {
                guardian.disappointed();
                Err(error)
            }
            (started, None) => started,
        }
    }

    fn hold(id: &ProcessId, pid: i32) -> io::Result<Self> {
        let pidfd = pidfd::watch(pid)?.ok_or_else(|| io::Error::other("the new process has no number"))?;
        let start_ticks = match survey::look(pid)? {
            Some(stat) => stat.identity.start_ticks,
            None => return Err(io::Error::other("the new process is not in /proc")),
        };
        let tree = Arc::new(Tree::new(Identity { pid, start_ticks }, id));
        Ok(Self { pid, pidfd, tree, guardian: None, settled: false })
    }

    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    pub(crate) fn tree(&self) -> Arc<Tree> {
        Arc::clone(&self.tree)
    }

    /// Waits until it has ended and says how. It is not reaped.
    pub(crate) async fn exited(&self) -> Exit {
        loop {
            match self.pidfd.readable().await {
                // A pidfd stays readable once its process has ended, so readiness is cleared only on a false alarm.
                Ok(mut ready) => match self.exit() {
                    Some(exit) => return exit,
                    None => ready.clear_ready(),
                },
                Err(_) => return Exit::Unknown,
            }
        }
    }

    /// How it ended; none while it runs.
    fn exit(&self) -> Option<Exit> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        match rustix::process::waitid(WaitId::PidFd(self.pidfd.as_fd()), options) {
            Ok(None) | Err(Errno::INTR) => None,
            Ok(Some(status)) => Some(match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => Exit::Code(code),
                (_, Some(signal)) => Exit::Signal(signal),
                _ => Exit::Unknown,
            }),
            Err(_) => Some(Exit::Unknown),
        }
    }

    /// Nothing of the tree is left: the leader is reaped and its number given back.
    pub(crate) fn settle(mut self) {
        self.release();
        self.reap();
    }

    /// Before the leader is reaped: until then its number is that of its group and of no other.
    fn release(&mut self) {
        if let Some(guardian) = self.guardian.take() {
            guardian.unregister(self.pid);
        }
    }

    /// Whether nobody of a tree that was killed is left, after looks that take some milliseconds at most.
    fn is_gone(&self) -> bool {
        (0..LAST_LOOKS).any(|look| {
            if look > 0 {
                std::thread::sleep(LAST_PAUSE);
            }
            self.tree.pass(Order::Look).is_ok_and(|found| found.alive.is_empty())
        })
    }

    fn reap(&mut self) {
        self.settled = true;
        // Still running means that a kill did not reach it; it is left to the collector of orphans.
        let _ =
            rustix::process::waitid(WaitId::PidFd(self.pidfd.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        children::forget(self.pid);
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if !self.settled {
            self.tree.kill_now();
            // Whoever cannot be killed stays in protection: it is let go when it is known to be gone.
            if self.guardian.is_some() && self.is_gone() {
                self.release();
            }
            self.reap();
        }
    }
}
