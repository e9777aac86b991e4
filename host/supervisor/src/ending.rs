//! The end of everything that a host left: SIGTERM, a grace, SIGKILL, and looks until nobody is found.
//!
//! Whoever is in a proven group or session, carries the host's marker, or is a child of one of them. It must never signal a number that is not
//! looked at right before, and never go on for ever.

use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::bare;
use crate::look::{self, Stat};
use crate::message;
use crate::set::{self, Set};

/// How long whoever was sent SIGTERM has to end by itself (3 s is usual for this).
pub const GRACE: Duration = Duration::from_secs(3);

/// How long the whole may take; after that somebody is beyond reach, in an uninterruptible wait for example.
pub const AT_MOST: Duration = Duration::from_secs(10);

/// How many looks in a row must find nobody: what forks away from under one look is found by the next.
const EMPTY_LOOKS: usize = 3;

/// The first and the longest pause between two looks, and that between two that found nobody.
const PAUSE_FIRST: Duration = Duration::from_millis(2);
const PAUSE_MAX: Duration = Duration::from_millis(50);
const PAUSE_EMPTY: Duration = Duration::from_millis(3);

/// How many processes are remembered. Whoever is one too many is sent SIGTERM at every look.
const KNOWN_MAX: usize = 4096;

/// The numbers below this are the system's.
const FIRST_ORDINARY_PID: i32 = 2;

/// How many generations of parents are spared: a chain longer than this is a loop in what `/proc` says.
const ANCESTORS_MAX: usize = 64;

/// What an ending came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether nobody is left who could be found and signalled.
    pub complete: bool,
    /// How many processes were signalled.
    pub signalled: usize,
}

/// Ends every process that carries this marker, and the sessions that such processes lead. Neither this process nor its
/// ancestors. Blocks: at most the grace and [`AT_MOST`].
///
/// `since`: whoever started before, in clock ticks after boot, is left alone.
pub fn end_marked(marker: &str, since: u64, grace: Duration) -> Outcome {
    if !message::is_marker(marker) {
        // A short or empty one could be anybody's.
        return Outcome { complete: true, signalled: 0 };
    }
    Ending::new(Set::none(), marker, since).run(grace)
}

/// What a look does to whom it finds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Nothing: who belongs to whom is seen best while all of them live.
    Look,
    Term,
    Kill,
}

/// Whom a look found.
#[derive(Default)]
struct Found {
    alive: usize,
    newcomers: usize,
}

/// A process that belongs to the host.
struct Known {
    pid: i32,
    start_ticks: u64,
    /// It was sent SIGTERM.
    told: bool,
}

/// An ending under way.
pub(crate) struct Ending<'a> {
    set: Set,
    marker: &'a str,
    since: u64,
    own_group: i32,
    /// This process and its ancestors.
    spared: Vec<i32>,
    /// Who was seen to belong: it does from then on.
    known: Vec<Known>,
    /// Sessions whose leader was seen to carry the marker, in the look under way.
    sessions: Vec<i32>,
    signalled: usize,
}

impl<'a> Ending<'a> {
    pub(crate) fn new(set: Set, marker: &'a str, since: u64) -> Self {
        Self {
            set,
            marker,
            since,
            own_group: set::own_group(),
            spared: with_ancestors(rustix::process::getpid().as_raw_pid()),
            known: Vec::with_capacity(KNOWN_MAX),
            sessions: Vec::with_capacity(KNOWN_MAX),
            signalled: 0,
        }
    }

    /// Ends them all.
    pub(crate) fn run(mut self, grace: Duration) -> Outcome {
        let start = Instant::now();
        let (mut empty, mut pause) = (0, PAUSE_FIRST);
        self.look(Order::Look);
        loop {
            let spent = start.elapsed();
            let found = self.look(if spent < grace { Order::Term } else { Order::Kill });
            empty = if found.alive == 0 { empty + 1 } else { 0 };
            if empty == EMPTY_LOOKS || spent > grace + AT_MOST.saturating_sub(GRACE) {
                return Outcome { complete: empty > 0, signalled: self.signalled };
            }
            pause = if found.newcomers > 0 {
                // Somebody forks: the next look must come before the next fork.
                Duration::ZERO
            } else if found.alive == 0 {
                PAUSE_EMPTY
            } else {
                (pause * 2).clamp(PAUSE_FIRST, PAUSE_MAX)
            };
            thread::sleep(pause);
        }
    }

    fn look(&mut self, order: Order) -> Found {
        self.set.prove();
        self.sessions.clear();
        if order == Order::Kill {
            self.set.signal(Signal::KILL);
        }
        let mut found = Found::default();
        look::each(|pid| {
            if let Some(stat) = self.member(pid) {
                self.act(&stat, order, &mut found);
            }
        });
        found
    }

    /// The process of this number, if it lives and belongs to the host.
    fn member(&mut self, pid: i32) -> Option<Stat> {
        if pid < FIRST_ORDINARY_PID || self.spared.contains(&pid) {
            return None;
        }
        let stat = look::stat(pid)?;
        if !stat.is_alive() || stat.start_ticks < self.since || stat.group == self.own_group {
            return None;
        }
        let carries = look::carries(pid, self.marker);
        if carries && stat.session == pid && self.sessions.len() < KNOWN_MAX {
            self.sessions.push(pid);
        }
        if carries {
            // Others of its group, who do not carry it, are found by the next look.
            self.set.prove_by_marker(stat.group);
        }
        let belongs = carries
            || self.set.is_proven(stat.group)
            || self.set.is_proven(stat.session)
            || self.sessions.contains(&stat.session)
            || self.known(pid, stat.start_ticks).is_some()
            || self.is_child(&stat);
        belongs.then_some(stat)
    }

    fn known(&mut self, pid: i32, start_ticks: u64) -> Option<&mut Known> {
        self.known.iter_mut().find(|known| known.pid == pid && known.start_ticks == start_ticks)
    }

    /// Whether its parent belongs to the host, and is still the one that was seen to.
    fn is_child(&self, stat: &Stat) -> bool {
        let parent = self.known.iter().find(|known| known.pid == stat.parent);
        parent.is_some_and(|known| look::stat(known.pid).is_some_and(|now| now.start_ticks == known.start_ticks))
    }

    fn act(&mut self, stat: &Stat, order: Order, found: &mut Found) {
        let told = self.known(stat.pid, stat.start_ticks).map(|known| known.told);
        let newcomer = told.is_none();
        let sent = match order {
            Order::Look => true,
            Order::Term if told == Some(true) => true,
            Order::Term => signal(stat, Signal::TERM, false),
            Order::Kill => signal(stat, Signal::KILL, stat.group == stat.pid),
        };
        if order == Order::Term && stat.is_stopped() {
            signal(stat, Signal::CONT, false);
        }
        if !sent {
            // Gone, or not to be signalled: waiting for it would be in vain.
            return;
        }
        found.alive += 1;
        let (pid, start_ticks) = (stat.pid, stat.start_ticks);
        if newcomer && self.known.len() < KNOWN_MAX {
            self.known.push(Known { pid, start_ticks, told: false });
            found.newcomers += 1;
        }
        let before = told == Some(true);
        if order != Order::Look
            && !before
            && let Some(known) = self.known(pid, start_ticks)
        {
            known.told = true;
            self.signalled += 1;
        }
    }
}

/// Signals a process if it is still the one that was looked at, and the group it leads with it. False: it is gone, or
/// may not be signalled.
///
/// The descriptor is opened before the second look: if that finds the same start, the number has not changed hands in
/// between, and the descriptor can mean nobody else.
fn signal(seen: &Stat, signal: Signal, group: bool) -> bool {
    let Some(pid) = Pid::from_raw(seen.pid) else { return false };
    let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty());
    if look::stat(seen.pid).is_none_or(|now| now.start_ticks != seen.start_ticks) {
        return false;
    }
    let sent = match &pidfd {
        Ok(pidfd) => {
            if group && set::is_unsupported(&bare::signal_led_group(pidfd, Some(signal))) {
                // Its leader was there a moment ago, so the number was its own.
                let _ = rustix::process::kill_process_group(pid, signal);
            }
            rustix::process::pidfd_send_signal(pidfd, signal)
        }
        Err(Errno::SRCH) => return false,
        // Out of descriptors, or a kernel without them: the number was right a moment ago.
        Err(_) => rustix::process::kill_process(pid, signal),
    };
    sent.is_ok()
}

/// A process and its ancestors.
fn with_ancestors(pid: i32) -> Vec<i32> {
    let mut found = vec![pid];
    let mut next = look::stat(pid).map_or(0, |stat| stat.parent);
    while next >= FIRST_ORDINARY_PID && found.len() < ANCESTORS_MAX && !found.contains(&next) {
        found.push(next);
        next = look::stat(next).map_or(0, |stat| stat.parent);
    }
    found
}
