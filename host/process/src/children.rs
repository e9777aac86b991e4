//! The children of this operating-system process: which ones lead a command, and the collecting of adopted orphans.
//!
//! One table for the whole program, because the kernel keeps one: a child's status can be taken once, by anybody in here.
//! It must never take the status of a child that somebody waits for.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard, TryLockError};

use rustix::process::{Pid, WaitId, WaitIdOptions};
use tokio::sync::Notify;

use crate::survey;

static TABLE: Mutex<Table> = Mutex::new(Table { leaders: BTreeSet::new(), supervisors: BTreeSet::new(), holds: 0 });

/// Launches share it, collecting excludes them: between a child's first instruction and its entry in the table it
/// looks like an orphan.
static LAUNCHING: RwLock<()> = RwLock::new(());

/// A leader was given up: it may be an orphan to collect whose end was reported before.
static GIVEN_UP: Notify = Notify::const_new();

struct Table {
    /// Children we started and have not collected.
    leaders: BTreeSet<i32>,
    /// Children we started that belong to no command: whoever lets them go collects them.
    supervisors: BTreeSet<i32>,
    /// How many kills are under way that need zombies to stay.
    holds: usize,
}

impl Table {
    fn has_started(&self, pid: i32) -> bool {
        self.leaders.contains(&pid) || self.supervisors.contains(&pid)
    }
}

/// Keeps launches out, where none is under way.
fn nothing_launching() -> Option<RwLockWriteGuard<'static, ()>> {
    match LAUNCHING.try_write() {
        Ok(gate) => Some(gate),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a child and enters it as a leader, in one step as far as collecting can see.
pub(crate) fn launch(start: impl FnOnce() -> io::Result<i32>) -> io::Result<i32> {
    let _launching = LAUNCHING.read().unwrap_or_else(PoisonError::into_inner);
    let pid = start()?;
    table().leaders.insert(pid);
    Ok(pid)
}

/// The same for a supervisor, which is nobody's command.
pub(crate) fn launch_supervisor(start: impl FnOnce() -> io::Result<i32>) -> io::Result<i32> {
    let _launching = LAUNCHING.read().unwrap_or_else(PoisonError::into_inner);
    let pid = start()?;
    table().supervisors.insert(pid);
    Ok(pid)
}

/// Removes a child that has been collected, or that its owner gives up.
pub(crate) fn forget(pid: i32) {
    let mut table = table();
    table.leaders.remove(&pid);
    table.supervisors.remove(&pid);
    drop(table);
    GIVEN_UP.notify_one();
}

/// Returns when a leader was given up since the last call.
pub(crate) async fn given_up() {
    GIVEN_UP.notified().await;
}

/// Whether this pid is a child we started and have not collected.
pub(crate) fn is_started(pid: i32) -> bool {
    table().has_started(pid)
}

/// While it lives nothing is launched, and this leader is the only one: every adopted orphan must come from it.
pub(crate) struct Alone(#[expect(dead_code, reason = "held, never read")] RwLockWriteGuard<'static, ()>);

/// Says whether this leader is the only one there is. No answer while a launch is under way.
pub(crate) fn alone(leader: i32) -> Option<Alone> {
    let gate = nothing_launching()?;
    let table = table();
    (table.leaders.len() == 1 && table.leaders.contains(&leader)).then_some(Alone(gate))
}

/// While it lives no orphan is collected, so that the numbers of ended ones stay theirs.
pub(crate) struct Hold(());

/// Stops the collecting of orphans.
pub(crate) fn hold() -> Hold {
    table().holds += 1;
    Hold(())
}

impl Drop for Hold {
    fn drop(&mut self) {
        table().holds -= 1;
    }
}

/// Collects every ended orphan this process adopted as a subreaper. False: not now, try again.
///
/// An orphan is a child that leads no command and lives in another session than ours: commands get a session of their
/// own and sessions are inherited, whereas a child that other code of this program started is in ours.
pub(crate) fn collect_orphans() -> bool {
    let Some(_quiet) = nothing_launching() else { return false };
    let table = table();
    if table.holds > 0 {
        return false;
    }
    // Our own session as /proc says it: 0 where its leader lives outside our PID namespace, which getsid(2) of rustix
    // takes for impossible.
    let Ok(me) = own_pid() else { return true };
    let Ok(Some(survey::Stat { session, .. })) = survey::look(me) else { return true };
    for pid in own_children() {
        if table.has_started(pid) {
            continue;
        }
        if let Ok(Some(stat)) = survey::look(pid)
            && stat.parent == me
            && stat.session != session
            && !stat.is_alive()
            && let Some(pid) = Pid::from_raw(pid)
        {
            // It is our own unreaped child, so its number is still its own; an error means that somebody was faster.
            let _ = rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
    }
    true
}

/// The number of this operating-system process.
pub(crate) fn own_pid() -> Result<i32, std::num::TryFromIntError> {
    i32::try_from(std::process::id())
}

/// The children of all our threads. Kernels without `children` files are rare; there, orphans stay until we end.
fn own_children() -> Vec<i32> {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
    let lists = threads.flatten().filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orphans_stay_for_as_long_as_one_kill_needs_them() {
        let (one, other) = (hold(), hold());
        drop(one);
        assert!(!collect_orphans());
        drop(other);
        assert!(collect_orphans());
    }
}
