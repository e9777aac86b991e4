//! The supervisor itself: a process that waits for the death of its host.
//!
//! Two detectors, either is enough: the end of the pipe whose only writer is the host, and a descriptor of the host. It
//! must never act on half a line, and never work in the host's group, where whatever ends the host would end it too.

use std::io::Write;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};

use crate::bare;
use crate::ending::{Ending, GRACE};
use crate::lines::Lines;
use crate::look;
use crate::message::{Hello, Message, NoHello};
use crate::set::{self, Set};
use crate::state::{Event, State};

/// What it exits with when it cannot work: as for a wrong use of a command.
const UNUSABLE: u8 = 2;

/// The name it is shown by, in at most 15 bytes (PR_SET_NAME(2const)).
const SHOWN_NAME: &std::ffi::CStr = c"hermes-supervis";

/// How much is read at a time.
const CHUNK: usize = 4096;

/// Why there is no supervisor.
enum Unusable {
    /// The first line is none.
    Hello(NoHello),
    /// The host's group is this process's own.
    SameGroup,
}

/// Waits for the death of the host at the other end of this pipe and ends what it left. Returns when nothing is left to
/// do. For a process that does nothing else: it leaves its session, and loses its signals and all other descriptors.
pub fn run(pipe: BorrowedFd<'_>) -> ExitCode {
    bare::ignore_signals();
    // Refused where it leads a session already, which is as good.
    let _ = rustix::process::setsid();
    // It keeps no folder busy; where the root folder cannot be entered it stays.
    let _ = rustix::process::chdir("/");
    let _ = rustix::thread::set_name(SHOWN_NAME);
    bare::close_all_but(pipe);
    match guard(pipe) {
        Ok(()) => ExitCode::SUCCESS,
        Err(unusable) => {
            complain(&unusable);
            ExitCode::from(UNUSABLE)
        }
    }
}

fn complain(unusable: &Unusable) {
    let mut line = [0_u8; 512];
    let mut rest = &mut line[..];
    let written = match unusable {
        Unusable::Hello(reason) => writeln!(rest, "hermes-supervisor: {reason}"),
        Unusable::SameGroup => writeln!(
            rest,
            "hermes-supervisor: it runs in the process group of its host; start it in a session of its own"
        ),
    };
    let left = rest.len();
    if written.is_ok() {
        // Where nobody reads stderr the exit code must do.
        let _ = rustix::io::write(stderr(), &line[..line.len() - left]);
    }
}

#[expect(unsafe_code, reason = "the standard library's stderr belongs to the command line alone")]
fn stderr() -> BorrowedFd<'static> {
    // SAFETY: nothing in this process closes descriptor 2; if it was never open, the write fails.
    unsafe { BorrowedFd::borrow_raw(2) }
}

/// The host and what is known of it.
struct Guard {
    hello: Hello,
    /// Readable once the host has ended. None: it had before anybody looked, or the kernel knows no such thing.
    host: Option<OwnedFd>,
    set: Set,
    state: State,
}

fn guard(pipe: BorrowedFd<'_>) -> Result<(), Unusable> {
    let mut lines = Lines::new();
    let mut guard: Option<Guard> = None;
    loop {
        let more = read(pipe, &mut lines, &mut guard)?;
        let Some(guard) = &mut guard else {
            if more {
                wait(pipe, None);
                continue;
            }
            return Ok(());
        };
        if !more || guard.host_has_ended() {
            // Whatever it said last is in the pipe, and still counts.
            while read_more(pipe, &mut lines, guard) {}
            let groups = guard.set.len();
            guard.on(Event::Death { groups });
            break;
        }
        wait(pipe, guard.host.as_ref());
    }
    let Some(Guard { hello, set, state: State::Ending, .. }) = guard else { return Ok(()) };
    Ending::new(set, &hello.marker, hello.start_ticks).run(GRACE);
    Ok(())
}

/// Reads what there is. False at the end of the pipe.
fn read(pipe: BorrowedFd<'_>, lines: &mut Lines, guard: &mut Option<Guard>) -> Result<bool, Unusable> {
    let mut chunk = [0; CHUNK];
    let length = match rustix::io::read(pipe, &mut chunk) {
        Ok(0) => return Ok(false),
        Ok(length) => length,
        Err(Errno::AGAIN | Errno::INTR) => return Ok(true),
        Err(_) => return Ok(false),
    };
    let mut unusable = None;
    lines.push(&chunk[..length], |line| match guard {
        Some(guard) => guard.hear(line),
        None if unusable.is_some() => {}
        None => match Guard::begin(pipe, line) {
            Ok(begun) => *guard = Some(begun),
            Err(why) => unusable = Some(why),
        },
    });
    unusable.map_or(Ok(true), Err)
}

/// The same, once the host is known. False when nothing more is to be read now.
fn read_more(pipe: BorrowedFd<'_>, lines: &mut Lines, guard: &mut Guard) -> bool {
    let mut chunk = [0; CHUNK];
    match rustix::io::read(pipe, &mut chunk) {
        Ok(length) if length > 0 => {
            lines.push(&chunk[..length], |line| guard.hear(line));
            true
        }
        Err(Errno::INTR) => true,
        _ => false,
    }
}

/// Waits until there is something to read, or the host has ended.
fn wait(pipe: BorrowedFd<'_>, host: Option<&OwnedFd>) {
    let watch = |descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN);
    // An interruption is a look too many, no more.
    let _ = match host {
        Some(host) => rustix::event::poll(&mut [watch(pipe), PollFd::new(host, PollFlags::IN)], None),
        None => rustix::event::poll(&mut [watch(pipe)], None),
    };
}

impl Guard {
    fn begin(pipe: BorrowedFd<'_>, line: &[u8]) -> Result<Self, Unusable> {
        let hello = Hello::parse(line).map_err(Unusable::Hello)?;
        // The descriptor first: if the look after it finds the host, the descriptor means nobody else.
        let host = Pid::from_raw(hello.host).and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok());
        let seen = look::stat(hello.host).filter(|stat| stat.start_ticks == hello.start_ticks);
        let group = seen.map_or(0, |stat| stat.group);
        if group == set::own_group() {
            return Err(Unusable::SameGroup);
        }
        if let Ok(nowhere) = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
            use std::os::fd::AsFd;
            bare::silence(nowhere.as_fd());
        }
        // Its own description of the pipe: nobody else reads it. Where this fails, a read may wait, as it may anyway.
        let _ = rustix::fs::fcntl_setfl(pipe, OFlags::NONBLOCK);
        let set = Set::new([group, hello.host], hello.start_ticks);
        Ok(Self { hello, host, set, state: State::Guarding })
    }

    fn host_has_ended(&self) -> bool {
        let is_there = look::stat(self.hello.host)
            .is_some_and(|stat| stat.start_ticks == self.hello.start_ticks && stat.is_alive());
        let Some(host) = &self.host else { return !is_there };
        let ended =
            rustix::event::poll(&mut [PollFd::new(host, PollFlags::IN)], Some(&rustix::time::Timespec::default()));
        ended.map_or(!is_there, |ready| ready > 0)
    }

    fn hear(&mut self, line: &[u8]) {
        match Message::parse(line) {
            Some(Message::Register(number)) => {
                self.set.register(number);
                self.on(Event::Changed);
            }
            Some(Message::Unregister(number)) => {
                self.set.unregister(number);
                self.on(Event::Changed);
            }
            Some(Message::Release) => self.on(Event::Release),
            None => {}
        }
    }

    fn on(&mut self, event: Event) {
        self.state = self.state.on(event);
    }
}
