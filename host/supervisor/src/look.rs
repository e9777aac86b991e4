//! What `/proc` says of processes, read into buffers that never grow.

use std::ffi::CStr;
use std::io::Write;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::fs::{CWD, Mode, OFlags, RawDir};
use rustix::io::Errno;

use crate::message::HOST_MARKER;

/// The longest line of `/proc/PID/stat`: 52 numbers of at most 20 digits, a state, and a name of at most 64 bytes.
const STAT_MAX: usize = 2048;

/// How much of an environment is read at a time.
const ENVIRON_CHUNK: usize = 4096;

/// How much of the list of processes is read at a time: little, so that each is looked at soon after it was listed, and
/// one that forks and exits all the time is still there.
const LIST_CHUNK: usize = 512;

/// The longest path that is asked for.
const PATH_MAX: usize = 32;

/// What `/proc/PID/stat` says, as far as it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: i32,
    /// The state letter.
    pub(crate) state: u8,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// How many threads it has.
    pub(crate) threads: u32,
    /// When it started, in clock ticks after boot. With the number it names a process for good.
    pub(crate) start_ticks: u64,
}

impl Stat {
    /// Whether it still runs: a zombie has ended and only waits to be collected, unless it is only its first thread that
    /// ended.
    pub(crate) fn is_alive(&self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x') || self.threads > 1
    }

    /// Whether a signal stopped it; such a process acts on SIGTERM only once it is continued.
    pub(crate) fn is_stopped(&self) -> bool {
        self.state == b'T'
    }
}

/// Reads a line of `/proc/PID/stat`. The name in it may hold spaces and parentheses, so fields count from the last `)`.
fn parse_stat(line: &[u8]) -> Option<Stat> {
    let open = line.iter().position(|&byte| byte == b'(')?;
    let close = line.iter().rposition(|&byte| byte == b')')?;
    let pid = number(line.get(..open)?.trim_ascii())?;
    let mut fields = line.get(close + 1..)?.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let &[state] = fields.next()? else { return None };
    let (parent, group, session) = (number(fields.next()?)?, number(fields.next()?)?, number(fields.next()?)?);
    // State, parent, group and session are fields 3 to 6, the threads field 20, the start field 22.
    let (threads, start_ticks) = (number(fields.nth(13)?)?, number(fields.nth(1)?)?);
    Some(Stat { pid, state, parent, group, session, threads, start_ticks })
}

fn number<N: std::str::FromStr>(field: &[u8]) -> Option<N> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

fn open(pid: i32, file: &str) -> Option<OwnedFd> {
    let mut path = [0; PATH_MAX];
    write!(&mut path[..], "/proc/{pid}/{file}").ok()?;
    let path = CStr::from_bytes_until_nul(&path).ok()?;
    rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}

fn read(file: &OwnedFd, buffer: &mut [u8]) -> usize {
    loop {
        match rustix::io::read(file, &mut *buffer) {
            Ok(length) => return length,
            Err(Errno::INTR) => {}
            // It ends while it is read, or is not ours to look at.
            Err(_) => return 0,
        }
    }
}

/// Looks at one process; none when it is gone or hidden.
pub(crate) fn stat(pid: i32) -> Option<Stat> {
    let file = open(pid, "stat")?;
    let mut line = [0; STAT_MAX];
    let mut length = 0;
    loop {
        match read(&file, &mut line[length..]) {
            0 => return parse_stat(&line[..length]),
            more => length += more,
        }
    }
}

/// Whether a process carries this marker in its environment.
pub(crate) fn carries(pid: i32, marker: &str) -> bool {
    let Some(file) = open(pid, "environ") else { return false };
    let mut wanted = Wanted::new(marker);
    let mut chunk = [0; ENVIRON_CHUNK];
    loop {
        match read(&file, &mut chunk) {
            0 => return wanted.finish(),
            length if wanted.push(&chunk[..length]) => return true,
            _ => {}
        }
    }
}

/// Looks for one whole entry in an environment that comes in pieces.
struct Wanted<'a> {
    marker: &'a str,
    /// How much of the entry under way is as wanted; none when something of it is not.
    matched: Option<usize>,
}

impl<'a> Wanted<'a> {
    fn new(marker: &'a str) -> Self {
        Self { marker, matched: Some(0) }
    }

    /// The byte that must come next.
    fn expected(&self, at: usize) -> Option<u8> {
        let name = HOST_MARKER.as_bytes();
        let after = at.checked_sub(name.len());
        match after {
            None => name.get(at).copied(),
            Some(0) => Some(b'='),
            Some(after) => self.marker.as_bytes().get(after - 1).copied(),
        }
    }

    fn is_whole(&self) -> bool {
        self.matched == Some(HOST_MARKER.len() + 1 + self.marker.len())
    }

    /// Whether the entry was found in these bytes and those before.
    fn push(&mut self, bytes: &[u8]) -> bool {
        for &byte in bytes {
            if byte == 0 {
                if self.is_whole() {
                    return true;
                }
                self.matched = Some(0);
            } else {
                self.matched = self.matched.filter(|&at| self.expected(at) == Some(byte)).map(|at| at + 1);
            }
        }
        false
    }

    /// Whether the last entry, which need not be terminated, was it.
    fn finish(&self) -> bool {
        self.is_whole()
    }
}

/// Shows the number of every process to `visit`, in ascending order.
pub(crate) fn each(mut visit: impl FnMut(i32)) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(proc) = rustix::fs::openat(CWD, c"/proc", flags, Mode::empty()) else { return };
    let mut buffer = [MaybeUninit::uninit(); LIST_CHUNK];
    let mut list = RawDir::new(proc, &mut buffer);
    while let Some(Ok(entry)) = list.next() {
        if let Some(pid) = number(entry.file_name().to_bytes()) {
            visit(pid);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MARKER: &str = "0123456789abcdef0123456789abcdef";

    fn is_in(environ: &[u8], sizes: &[usize]) -> bool {
        let (mut wanted, mut rest) = (Wanted::new(MARKER), environ);
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, left) = rest.split_at((*size).min(rest.len()));
            if wanted.push(chunk) {
                return true;
            }
            rest = left;
        }
        wanted.finish()
    }

    #[test]
    fn this_very_process_is_listed_and_looked_at() {
        let me = std::process::id() as i32;
        let mut listed = false;
        each(|pid| listed |= pid == me);
        assert!(listed);
        let stat = stat(me).unwrap();
        assert!(stat.is_alive() && !stat.is_stopped() && stat.start_ticks > 0);
        assert_eq!((stat.pid, stat.group), (me, rustix::process::getpgrp().as_raw_pid()));
    }

    #[test]
    fn whoever_is_not_there_is_none() {
        assert_eq!(stat(i32::MAX), None);
        assert!(!carries(i32::MAX, MARKER));
    }

    #[test]
    fn the_longest_path_fits() {
        let mut path = [0; PATH_MAX];
        assert!(write!(&mut path[..], "/proc/{}/environ", i32::MAX).is_ok());
        assert!(CStr::from_bytes_until_nul(&path).is_ok());
    }

    #[test]
    fn an_entry_counts_only_whole() {
        for no in [
            format!("X=HERMES_HOST={MARKER}\0"),
            format!("HERMES_HOST={MARKER}0\0"),
            format!("HERMES_HOSTS={MARKER}\0"),
            format!("HERMES_HOST={}\0", &MARKER[1..]),
            format!("HERMES_HOST=\0{MARKER}\0"),
            String::new(),
        ] {
            assert!(!is_in(no.as_bytes(), &[7]), "{no}");
        }
        assert!(is_in(format!("A=1\0HERMES_HOST={MARKER}").as_bytes(), &[1]));
    }

    proptest! {
        #[test]
        fn an_entry_is_found_wherever_it_stands_and_however_it_is_read(
            before in prop::collection::vec("[A-Z]{1,8}=[a-z ]{0,12}|HERMES_HOST=[0-9a-f]{0,40}", 0..6),
            after in prop::collection::vec("[A-Z]{1,8}=[a-z ]{0,12}|HERMES_HOST=[0-9a-f]{0,40}", 0..6),
            sizes in prop::collection::vec(1..60_usize, 1..5),
        ) {
            let without: Vec<String> = before.iter().chain(&after).cloned().collect();
            prop_assert!(!is_in((without.join("\0") + "\0").as_bytes(), &sizes));
            let all: Vec<String> =
                before.into_iter().chain([format!("HERMES_HOST={MARKER}")]).chain(after).collect();
            prop_assert!(is_in((all.join("\0") + "\0").as_bytes(), &sizes));
        }

        #[test]
        fn whatever_the_name_holds_the_fields_are_read(
            pid in 1..i32::MAX, group in 0..i32::MAX, session in -1..i32::MAX,
            start_ticks in any::<u64>(), name in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let mut line = format!("{pid} (").into_bytes();
            line.extend_from_slice(&name);
            line.extend_from_slice(format!(
                ") S 7 {group} {session} 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 {start_ticks} 9 10 11\n").as_bytes());
            prop_assert_eq!(parse_stat(&line), Some(Stat { pid, state: b'S', parent: 7, group, session, threads: 3, start_ticks }));
        }

        #[test]
        fn arbitrary_bytes_are_never_a_panic(line in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse_stat(&line);
        }
    }
}
