//! The process groups of a host: a bounded set, and what proves that each number still means what it meant.

use std::io;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal};

use crate::bare;
use crate::look;

/// How many groups are held. What is registered beyond that is covered by the marker it carries, and by nothing else.
pub(crate) const GROUPS_MAX: usize = 4096;

/// How many of them are held by a descriptor as well: half of what a process may usually open (1024).
const HELD_MAX: usize = 512;

/// A process group, named after the process that leads or led it.
pub(crate) struct Group {
    number: i32,
    /// When its leader started. None when that was gone before anybody looked: then only a marker proves the group.
    start_ticks: Option<u64>,
    /// Its leader, also when that is gone.
    leader: Option<OwnedFd>,
    /// Whether it is the host's beyond doubt, as of the last look.
    proven: bool,
}

/// The groups of a host.
pub(crate) struct Set {
    groups: Vec<Group>,
    /// A group that is never taken in, and a process.
    refused: [i32; 2],
    /// Whoever started before is none of the host's.
    since: u64,
}

impl Set {
    /// `refused`: the host's own group and number. `since`: when the host started, in clock ticks after boot.
    pub(crate) fn new(refused: [i32; 2], since: u64) -> Self {
        // All the room at once: what is not used costs nothing, and nothing grows later.
        Self { groups: Vec::with_capacity(GROUPS_MAX), refused, since }
    }

    /// None of any kind: for those who know a marker only.
    pub(crate) fn none() -> Self {
        Self { groups: Vec::new(), refused: [0; 2], since: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.groups.len()
    }

    /// Takes a group in. Refused: what cannot be a group of the host's, and what is one too many.
    pub(crate) fn register(&mut self, number: i32) {
        let known = self.groups.iter().any(|group| group.number == number);
        if number <= 1 || self.refused.contains(&number) || number == own_group() || known {
            return;
        }
        if self.groups.len() == self.groups.capacity() {
            return;
        }
        // The descriptor first: if the look after it finds the leader, the descriptor means nobody else.
        let held = self.groups.iter().filter(|group| group.leader.is_some()).count() < HELD_MAX;
        let leader = if held { open(number) } else { None };
        match look::stat(number) {
            Some(stat) if stat.start_ticks < self.since || stat.group != number => {}
            Some(stat) => {
                self.groups.push(Group { number, start_ticks: Some(stat.start_ticks), leader, proven: false })
            }
            None => self.groups.push(Group { number, start_ticks: None, leader: None, proven: false }),
        }
    }

    /// Lets a group go.
    pub(crate) fn unregister(&mut self, number: i32) {
        self.groups.retain(|group| group.number != number);
    }

    /// Looks again which numbers are proven, without regard to markers.
    pub(crate) fn prove(&mut self) {
        for group in &mut self.groups {
            group.proven = group.is_there();
        }
    }

    /// A member of this group carries the marker. True if that is news.
    pub(crate) fn prove_by_marker(&mut self, number: i32) -> bool {
        let group = self.groups.iter_mut().find(|group| group.number == number && !group.proven);
        group.map(|group| group.proven = true).is_some()
    }

    /// Whether this number, of a group or a session, is proven to be the host's.
    pub(crate) fn is_proven(&self, number: i32) -> bool {
        self.groups.iter().any(|group| group.proven && group.number == number)
    }

    /// Signals all groups whose leaders are there or held, each as a whole, so that nobody forks away from under it.
    pub(crate) fn signal(&self, signal: Signal) {
        for group in &self.groups {
            group.signal(signal);
        }
    }
}

impl Group {
    /// Whether its number is still its own: its leader has it, dead or alive, or somebody is left of those it led.
    fn is_there(&self) -> bool {
        let led = |leader: &OwnedFd| bare::signal_led_group(leader, None).is_ok();
        self.leader_is_there() || self.leader.as_ref().is_some_and(led)
    }

    fn leader_is_there(&self) -> bool {
        self.start_ticks.is_some() && look::stat(self.number).map(|stat| stat.start_ticks) == self.start_ticks
    }

    fn signal(&self, signal: Signal) {
        let by_descriptor = self.leader.as_ref().map(|leader| bare::signal_led_group(leader, Some(signal)));
        // Where the kernel knows no groups by descriptor the number must do, right after a look.
        let unknown = by_descriptor.is_none_or(|sent| is_unsupported(&sent));
        if unknown
            && self.leader_is_there()
            && let Some(number) = Pid::from_raw(self.number)
        {
            // Nobody there, or nobody to be signalled: the next look tells.
            let _ = rustix::process::kill_process_group(number, signal);
        }
    }
}

/// Whether the kernel does not know this way to signal.
pub(crate) fn is_unsupported(sent: &io::Result<()>) -> bool {
    sent.as_ref().is_err_and(|error| matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS)))
}

fn open(number: i32) -> Option<OwnedFd> {
    rustix::process::pidfd_open(Pid::from_raw(number)?, PidfdFlags::empty()).ok()
}

pub(crate) fn own_group() -> i32 {
    rustix::process::getpgrp().as_raw_pid()
}
