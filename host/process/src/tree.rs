//! What belongs to a command: its session and groups, its descendants, and whatever carries its marker.
//!
//! It must never count a process in on a number alone, and never the host, its ancestors or pid 1.
//! All of this blocks (it reads `/proc`): it is called from blocking threads and from `Drop`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use hermes_model::id::ProcessId;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::children;
use crate::environment::PROCESS_MARKER;
use crate::picture::{self, Picture};
use crate::survey::{self, Identity, Stat};

/// Pid 1 is never ours to end, and 0 is no process.
const FIRST_ORDINARY_PID: i32 = 2;

/// How often a kill that cannot wait is repeated: once for what is there, and for what was forked meanwhile.
const KILL_NOW_PASSES: usize = 3;

/// More ancestors than any process has; a circle in torn data must end somewhere.
const ANCESTORS_MAX: usize = 1024;

/// A living process of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) identity: Identity,
    pub(crate) stopped: bool,
}

/// What a pass over the tree does to what it finds.
pub(crate) enum Order<'a> {
    /// Nothing.
    Look,
    /// SIGTERM, once for each member, and SIGCONT for the stopped.
    Term(&'a mut BTreeSet<Identity>),
    /// SIGKILL, to whole groups where that is safe, then to each member.
    Kill,
}

/// Everything one command started.
pub(crate) struct Tree {
    leader: Identity,
    /// Whether the leader is a child of ours that stays unreaped, so that its number is its own as long as it is held.
    held: bool,
    /// The `NAME=value` entry all of it carries, as long as nobody clears it.
    marker: Vec<u8>,
    /// Members of earlier passes, by pid: they stay members when their marker, parent or session no longer shows it.
    known: Mutex<BTreeMap<i32, u64>>,
}

/// Whom a pass found.
pub(crate) struct Found {
    /// The living.
    pub(crate) alive: Vec<Member>,
    /// Those that ended and have not been collected, the leader apart. More of them from pass to pass, while none is
    /// collected, means that somebody lives whom no pass has caught.
    pub(crate) ended: BTreeSet<Identity>,
}

/// One look at the tree.
struct Collected {
    found: Found,
    /// Groups a signal may be sent to as a whole.
    groups: BTreeSet<i32>,
}

impl Tree {
    pub(crate) fn new(leader: Identity, id: &ProcessId) -> Self {
        let marker = format!("{PROCESS_MARKER}={id}").into_bytes();
        Self { leader, held: true, marker, known: Mutex::new(BTreeMap::new()) }
    }

    /// The tree of a command that another host started. Nobody holds its leader's number, so nothing is done by that
    /// number unless it was the leader's before and after the look.
    pub(crate) fn of_another_host(leader: Identity, id: &ProcessId) -> Self {
        Self { held: false, ..Self::new(leader, id) }
    }

    pub(crate) fn leader(&self) -> Identity {
        self.leader
    }

    /// One pass: finds the members, does to the living as ordered, and returns whom it found.
    ///
    /// A leader that is ours must be unreaped: its number then names its session and its group and nothing else.
    ///
    /// # Errors
    /// `/proc` could not be read. The leader's own group, whose number is sure, was signalled all the same.
    pub(crate) fn pass(&self, order: Order<'_>) -> io::Result<Found> {
        let Collected { found, groups } = match self.collect() {
            Ok(collected) => collected,
            Err(error) => {
                match order {
                    Order::Look => {}
                    Order::Term(done) => {
                        if self.held && done.insert(self.leader) {
                            signal_group(self.leader.pid, Signal::TERM);
                        }
                    }
                    Order::Kill => {
                        if self.held {
                            signal_group(self.leader.pid, Signal::KILL);
                        }
                    }
                }
                return Err(error);
            }
        };
        match order {
            Order::Look => {}
            Order::Term(done) => {
                for member in &found.alive {
                    if done.insert(member.identity) {
                        signal_one(member.identity, Signal::TERM);
                    }
                    if member.stopped {
                        signal_one(member.identity, Signal::CONT);
                    }
                }
            }
            Order::Kill => {
                for group in groups {
                    signal_group(group, Signal::KILL);
                }
                for member in &found.alive {
                    signal_one(member.identity, Signal::KILL);
                }
            }
        }
        Ok(found)
    }

    /// Kills all there is, without waiting: for the end of a runtime, where nothing can wait any more.
    pub(crate) fn kill_now(&self) {
        let _hold = children::hold();
        for _ in 0..KILL_NOW_PASSES {
            if let Err(error) = self.pass(Order::Kill) {
                tracing::warn!(pid = self.leader.pid, %error, "cannot read /proc; only the command's own group was killed");
            }
        }
    }

    fn collect(&self) -> io::Result<Collected> {
        if self.held {
            return self.collect_by(true);
        }
        let named = self.leader_is_there()?;
        let collected = self.collect_by(named)?;
        // It ended meanwhile: its number may have been somebody else's during the look.
        if named && !self.leader_is_there()? { self.collect_by(false) } else { Ok(collected) }
    }

    /// Whether the leader has its number still.
    pub(crate) fn leader_is_there(&self) -> io::Result<bool> {
        Ok(survey::look(self.leader.pid)?.is_some_and(|stat| stat.identity == self.leader))
    }

    /// `named`: the leader's number is that of its session and its group.
    fn collect_by(&self, named: bool) -> io::Result<Collected> {
        // Nothing may be launched while an orphan is taken for ours because there is nobody else's.
        let alone = if self.held { children::alone(self.leader.pid) } else { None };
        let host = HostView::now()?;
        // A look that is shared may begin after a wait, and nothing could be launched for so long.
        let picture = match alone {
            Some(_) => Arc::new(Picture::take(self.leader.start_ticks)?),
            None => picture::shared(self.leader.start_ticks)?,
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let all: Vec<Stat> = picture.since(self.leader.start_ticks).copied().collect();
        let mut belongs: Vec<bool> = all
            .iter()
            .map(|stat| {
                !host.is_spared(stat.identity.pid)
                    && (named && (stat.session == self.leader.pid || stat.group == self.leader.pid)
                        || known.get(&stat.identity.pid) == Some(&stat.identity.start_ticks)
                        || (alone.is_some() && host.adopts_only_its_own() && host.adopted(stat))
                        || (stat.is_alive() && picture.carries(stat.identity.pid, &self.marker)))
            })
            .collect();
        close(&all, &mut belongs, &host);
        let members = || all.iter().zip(&belongs).filter(|(_, belongs)| **belongs).map(|(stat, _)| stat);
        *known = members().map(|stat| (stat.identity.pid, stat.identity.start_ticks)).collect();
        let alive: Vec<Member> = members()
            .filter(|stat| stat.is_alive())
            .map(|stat| Member { identity: stat.identity, stopped: stat.is_stopped() })
            .collect();
        let ended = members()
            .filter(|stat| !stat.is_alive() && stat.identity != self.leader)
            .map(|stat| stat.identity)
            .collect();
        let groups = if self.held { sure_groups(members(), &host) } else { BTreeSet::new() };
        Ok(Collected { found: Found { alive, ended }, groups })
    }
}

/// The groups of members that may be signalled by number: an unreaped child of ours keeps its own number, and a dead one
/// also that of its group.
fn sure_groups<'a>(members: impl Iterator<Item = &'a Stat>, host: &HostView) -> BTreeSet<i32> {
    members
        .filter(|stat| stat.parent == host.pid && (stat.identity.pid == stat.group || !stat.is_alive()))
        .map(|stat| stat.group)
        .filter(|&group| !host.is_spared(group) && group != host.group)
        .collect()
}

/// Counts in the children of members, and the sessions that a member proves to be the tree's.
fn close(all: &[Stat], belongs: &mut [bool], host: &HostView) {
    let index: HashMap<i32, usize> = all.iter().enumerate().map(|(at, stat)| (stat.identity.pid, at)).collect();
    loop {
        // A session is the tree's when the process that made it is, or when a member in it was adopted by the host.
        let sessions: BTreeSet<i32> = all
            .iter()
            .zip(belongs.iter())
            .filter(|(stat, belongs)| **belongs && (stat.session == stat.identity.pid || host.adopted(stat)))
            .map(|(stat, _)| stat.session)
            .collect();
        let mut grew = false;
        for (at, stat) in all.iter().enumerate() {
            let of_member = index.get(&stat.parent).is_some_and(|&parent| belongs[parent]);
            if !belongs[at] && !host.is_spared(stat.identity.pid) && (of_member || sessions.contains(&stat.session)) {
                belongs[at] = true;
                grew = true;
            }
        }
        if !grew {
            return;
        }
    }
}

/// The host as it must be known to leave it alone.
struct HostView {
    pid: i32,
    group: i32,
    session: i32,
    ancestors: BTreeSet<i32>,
}

impl HostView {
    fn now() -> io::Result<Self> {
        let pid = children::own_pid().map_err(io::Error::other)?;
        let me = survey::look(pid)?.ok_or_else(|| io::Error::other("/proc does not show this process"))?;
        let mut ancestors = BTreeSet::new();
        let mut parent = me.parent;
        while parent >= FIRST_ORDINARY_PID && ancestors.len() < ANCESTORS_MAX && ancestors.insert(parent) {
            parent = survey::look(parent)?.map_or(0, |stat| stat.parent);
        }
        Ok(Self { pid, group: me.group, session: me.session, ancestors })
    }

    /// Whether this number must never be signalled.
    fn is_spared(&self, pid: i32) -> bool {
        pid < FIRST_ORDINARY_PID || pid == self.pid || self.ancestors.contains(&pid)
    }

    /// Whether whatever the host adopts was started by it. Pid 1 also gets the orphans of strangers.
    fn adopts_only_its_own(&self) -> bool {
        self.pid >= FIRST_ORDINARY_PID
    }

    /// Whether the host got this child by adoption: started by none of us, in a session of somebody we started.
    fn adopted(&self, stat: &Stat) -> bool {
        stat.parent == self.pid && stat.session != self.session && !children::is_started(stat.identity.pid)
    }
}

/// Signals a process if it is still the one that was found.
///
/// The descriptor is opened before the look: if the look finds the same start, the number has not changed hands in
/// between, and the descriptor can mean nobody else.
fn signal_one(identity: Identity, signal: Signal) {
    let Some(pid) = Pid::from_raw(identity.pid) else { return };
    let sent = rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(io::Error::from).and_then(|pidfd| {
        match survey::look(identity.pid)? {
            Some(stat) if stat.identity == identity => Ok(rustix::process::pidfd_send_signal(&pidfd, signal)?),
            _ => Ok(()),
        }
    });
    match sent {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => {}
        Err(error) => tracing::debug!(pid = identity.pid, ?signal, %error, "signal not delivered"),
    }
}

/// Signals a whole group. The caller has proven whose number it is.
fn signal_group(group: i32, signal: Signal) {
    if let Some(group) = Pid::from_raw(group)
        && let Err(error) = rustix::process::kill_process_group(group, signal)
        && error != Errno::SRCH
    {
        tracing::debug!(group = group.as_raw_pid(), ?signal, %error, "signal not delivered");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(pid: i32, parent: i32, group: i32, session: i32, state: u8) -> Stat {
        Stat { identity: Identity { pid, start_ticks: 7 }, state, parent, group, session }
    }

    fn host() -> HostView {
        HostView { pid: 100, group: 90, session: 80, ancestors: BTreeSet::from([80, 90]) }
    }

    fn closed(all: &[Stat], seeds: &[i32]) -> Vec<i32> {
        let mut belongs: Vec<bool> = all.iter().map(|stat| seeds.contains(&stat.identity.pid)).collect();
        close(all, &mut belongs, &host());
        all.iter().zip(belongs).filter(|(_, belongs)| *belongs).map(|(stat, _)| stat.identity.pid).collect()
    }

    #[test]
    fn descendants_belong_however_deep() {
        let all = [stat(203, 202, 201, 201, b'S'), stat(202, 201, 201, 201, b'S'), stat(201, 100, 201, 201, b'S')];
        assert_eq!(closed(&all, &[201]), [203, 202, 201]);
    }

    #[test]
    fn a_session_made_by_a_member_belongs_whole() {
        let all = [stat(300, 1, 300, 300, b'S'), stat(301, 1, 301, 300, b'S'), stat(400, 1, 400, 400, b'S')];
        assert_eq!(closed(&all, &[300]), [300, 301]);
    }

    #[test]
    fn a_member_in_a_strangers_session_does_not_draw_that_session_in() {
        // Somebody exported the marker in a shell of their own: what carries it counts, their session does not.
        let all = [stat(500, 1, 500, 500, b'S'), stat(501, 500, 501, 500, b'S'), stat(502, 500, 502, 500, b'S')];
        assert_eq!(closed(&all, &[501]), [501]);
    }

    #[test]
    fn a_dead_member_that_the_host_adopted_proves_its_session() {
        // A process that forks and exits over and over is never caught itself; its dead ancestors name its session.
        let all = [stat(600, 100, 598, 598, b'Z'), stat(601, 100, 598, 598, b'S')];
        assert_eq!(closed(&all, &[600]), [600, 601]);
    }

    #[test]
    fn only_a_group_whose_number_an_unreaped_child_keeps_is_signalled_as_one() {
        let all = [
            stat(201, 100, 201, 201, b'S'), // a leader, alive
            stat(301, 100, 300, 300, b'Z'), // an adopted orphan, dead: its group cannot be another one
            stat(401, 100, 400, 400, b'S'), // one that lives may leave its group before the signal
            stat(501, 201, 501, 201, b'S'), // not ours to reap: its number may change hands
            stat(601, 100, 90, 80, b'Z'),   // in the host's own group
        ];
        assert_eq!(sure_groups(all.iter(), &host()), BTreeSet::from([201, 300]));
    }

    #[test]
    fn the_host_its_ancestors_and_pid_1_are_never_drawn_in() {
        let all = [stat(201, 100, 201, 201, b'S'), stat(100, 201, 201, 201, b'S'), stat(90, 201, 201, 201, b'S')];
        assert_eq!(closed(&all, &[201]), [201]);
        assert!(host().is_spared(1) && host().is_spared(0) && host().is_spared(-5));
    }

    #[test]
    fn a_signal_to_a_number_that_changed_hands_reaches_nobody() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let identity = survey::look(pid).unwrap().unwrap().identity;
        signal_one(Identity { start_ticks: identity.start_ticks + 1, ..identity }, Signal::KILL);
        // SIGTERM is delivered after the SIGKILL would have been, so the status tells which of them arrived.
        signal_one(identity, Signal::TERM);
        let status = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(15));
    }
}
