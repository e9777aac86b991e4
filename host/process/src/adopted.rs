//! A process that another host started and did not live to end: what it is now, when it ends, and how it is ended.
//!
//! Nothing of it is known but its identity, so its output and its exit status are not invented. It must never be
//! signalled by a number that is not proven to be its own.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hermes_model::id::ProcessId;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::kill::{self, Seen, Survivor, Verdict};
use crate::pidfd;
use crate::survey::{self, Identity};
use crate::tree::Tree;

/// How soon a process is looked at again that cannot be watched.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How soon a process is looked at again that somebody else is ending.
const GONE_AGAIN: Duration = Duration::from_millis(50);

/// What became of a process while no host watched it.
pub enum Fate {
    /// Its leader, or at least somebody who carries its marker, lives.
    Running(Adopted),
    /// Its number is somebody else's now, and nobody carries its marker.
    Reused,
    /// Nobody of it lives.
    Gone,
}

/// A process of another host. Cloning it gives another handle to the same.
#[derive(Clone)]
pub struct Adopted {
    tree: Arc<Tree>,
}

/// Looks for a process that another host of this boot and this PID namespace started. Blocks.
///
/// # Errors
/// `/proc` cannot be read.
pub async fn fate(id: &ProcessId, leader: Identity) -> io::Result<Fate> {
    let tree = Arc::new(Tree::of_another_host(leader, id));
    let there = tree.leader_is_there()?;
    match kill::look(&tree).await? {
        Seen::Alive(_) | Seen::Restless => Ok(Fate::Running(Adopted { tree })),
        Seen::Gone if !there && survey::look(leader.pid)?.is_some() => Ok(Fate::Reused),
        Seen::Gone => Ok(Fate::Gone),
    }
}

impl Adopted {
    /// One of which nobody lives: to be told about, not to be ended.
    pub(crate) fn gone(id: &ProcessId, leader: Identity) -> Self {
        Self { tree: Arc::new(Tree::of_another_host(leader, id)) }
    }

    /// Those who carry the id of a process whose leader is gone, whoever that was.
    pub(crate) fn unled(id: &ProcessId) -> Self {
        // Above every number there can be (proc(5), `pid_max`: 2^22), so it is never somebody.
        Self::gone(id, Identity { pid: i32::MAX, start_ticks: 0 })
    }

    /// The number of its leader.
    pub fn pid(&self) -> i32 {
        self.tree.leader().pid
    }

    /// Returns when its leader has ended. How is not to be known: it is no child of this host.
    pub async fn left(&self) {
        loop {
            // The descriptor first: if the look after it finds the leader, the descriptor means nobody else.
            let watched = pidfd::watch(self.pid());
            match (watched, self.tree.leader_is_there()) {
                (_, Ok(false)) | (Ok(None), _) => return,
                (Ok(Some(pidfd)), Ok(true)) if pidfd.readable().await.is_ok() => return,
                _ => tokio::time::sleep(LOOK_AGAIN).await,
            }
        }
    }

    /// Whether nobody of it lives any more within this time.
    pub async fn gone_within(&self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        loop {
            if matches!(kill::look(&self.tree).await, Ok(Seen::Gone)) {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            tokio::time::sleep(GONE_AGAIN.min(left)).await;
        }
    }

    /// Who of it lives.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub async fn survivors(&self) -> io::Result<Vec<Survivor>> {
        Ok(match kill::look(&self.tree).await? {
            Seen::Alive(members) => Survivor::of(&members),
            Seen::Gone | Seen::Restless => Vec::new(),
        })
    }

    /// Ends all of it that lives and says what came of it.
    pub async fn stop(&self, grace: Duration) -> Verdict {
        let (_keep, hurry) = watch::channel(false);
        kill::end_tree(Arc::clone(&self.tree), grace, hurry).await
    }
}
