//! The direct child of the host: the leader of a command's session. Whoever holds it owes the tree an end.
//!
//! It stays unreaped until it is told otherwise, so that its number, its group's and its session's remain its own.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use hermes_model::id::ProcessId;
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions};
use tokio::io::unix::AsyncFd;

use crate::children;
use crate::pidfd;
use crate::survey::{self, Identity};
use crate::tree::Tree;

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
    settled: bool,
}

impl Leader {
    /// Starts a child by `launch` and takes hold of it. Needs a runtime, and blocks.
    pub(crate) fn start(id: &ProcessId, launch: impl FnOnce() -> io::Result<i32>) -> io::Result<Self> {
        let pid = children::launch(launch)?;
        // From here on there is a child: it is unreaped, so its number is its own, and it must not be lost.
        Self::hold(id, pid).inspect_err(|_| {
            if let Some(pid) = Pid::from_raw(pid) {
                let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
                let _ = rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
            }
            children::forget(pid);
        })
    }

    fn hold(id: &ProcessId, pid: i32) -> io::Result<Self> {
        let pidfd = pidfd::watch(pid)?.ok_or_else(|| io::Error::other("the new process has no number"))?;
        let start_ticks = match survey::look(pid)? {
            Some(stat) => stat.identity.start_ticks,
            None => return Err(io::Error::other("the new process is not in /proc")),
        };
        let tree = Arc::new(Tree::new(Identity { pid, start_ticks }, id));
        Ok(Self { pid, pidfd, tree, settled: false })
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
        self.reap();
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
            self.reap();
        }
    }
}
