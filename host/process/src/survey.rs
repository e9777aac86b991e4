//! One look at `/proc`: which processes there are, and which of them carry a marker.
//!
//! Parsing is pure. Nothing here decides what a process belongs to, and nothing here signals.

use std::fs::File;
use std::io::{self, Read};

/// A process proven by when it started: a number alone may be somebody else a moment later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// Its number.
    pub pid: i32,
    /// When it started, in clock ticks after boot: field 22 of `/proc/PID/stat`, raw. Seconds derived from it drift.
    pub start_ticks: u64,
}

/// What `/proc/PID/stat` says of a process, as far as it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Which process this is.
    pub identity: Identity,
    /// The state letter: `Z` a zombie, `T` stopped, and so on.
    pub state: u8,
    /// Its parent.
    pub parent: i32,
    /// Its process group.
    pub group: i32,
    /// Its session.
    pub session: i32,
}

impl Stat {
    /// Whether it still runs: a zombie has ended and only waits to be collected.
    pub fn is_alive(&self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x')
    }

    /// Whether a signal stopped it; such a process acts on SIGTERM only once it is continued.
    pub fn is_stopped(&self) -> bool {
        self.state == b'T'
    }
}

/// The longest line of `/proc/PID/stat`: 52 numbers of at most 20 digits, a state, and a name of at most 64 bytes.
const STAT_MAX: usize = 2048;

/// The most that is read of an environment: the kernel allows arguments and environment together three quarters of
/// 8 MiB (`_STK_LIM / 4 * 3`, execve(2)).
const ENVIRON_MAX: u64 = 6 << 20;

/// The most that is read of a command line: enough to recognise a survivor by.
const CMDLINE_MAX: u64 = 4096;

/// Reads a line of `/proc/PID/stat`. The name in it may hold spaces and parentheses, so fields count from the last `)`.
pub fn parse_stat(line: &[u8]) -> Option<Stat> {
    let open = line.iter().position(|&b| b == b'(')?;
    let close = line.iter().rposition(|&b| b == b')')?;
    let pid = number(line.get(..open)?)?;
    let rest = line.get(close + 1..)?;
    // After the name: state, parent, group, session are fields 3 to 6; the start is field 22.
    let mut fields = rest.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let state = match fields.next()? {
        &[letter] => letter,
        _ => return None,
    };
    let (parent, group, session) = (number(fields.next()?)?, number(fields.next()?)?, number(fields.next()?)?);
    let start_ticks = number(fields.nth(15)?)?;
    Some(Stat { identity: Identity { pid, start_ticks }, state, parent, group, session })
}

fn number<N: std::str::FromStr>(field: &[u8]) -> Option<N> {
    std::str::from_utf8(field.trim_ascii()).ok()?.parse().ok()
}

/// Whether an environment block holds exactly this `NAME=value` entry.
pub fn carries(environ: &[u8], entry: &[u8]) -> bool {
    environ.split(|&b| b == 0).any(|found| found == entry)
}

/// The entries of this name in an environment block, as a block.
fn entries(environ: &[u8], name: &[u8]) -> Vec<u8> {
    let named = |entry: &&[u8]| entry.strip_prefix(name).is_some_and(|rest| rest.starts_with(b"="));
    environ.split(|&b| b == 0).filter(named).collect::<Vec<_>>().join(&0)
}

/// Looks at one process; none when it is gone or hidden from us.
pub(crate) fn look(pid: i32) -> io::Result<Option<Stat>> {
    let mut buffer = [0; STAT_MAX];
    match File::open(format!("/proc/{pid}/stat")).and_then(|file| read_into(file, &mut buffer)) {
        Ok(length) => Ok(parse_stat(&buffer[..length])),
        Err(error) if is_out_of_sight(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_into(mut file: File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// A process that ends while it is read, or that `/proc` hides from us, answers with one of these.
fn is_out_of_sight(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
        || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

/// Shows every process that started at this tick or later to `visit`, each as soon as it was looked at. Whatever a
/// command started is younger than it.
///
/// The highest numbers come first: they are the newest, and the most likely to be gone a moment later.
pub(crate) fn since(start_ticks: u64, mut visit: impl FnMut(Stat)) -> io::Result<()> {
    let mut pids = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        pids.extend(number::<i32>(entry?.file_name().as_encoded_bytes()));
    }
    pids.sort_unstable_by(|one, other| other.cmp(one));
    for pid in pids {
        if let Some(stat) = look(pid)?
            && stat.identity.start_ticks >= start_ticks
        {
            visit(stat);
        }
    }
    Ok(())
}

/// Reads environments, one after the other, into the same memory.
#[derive(Default)]
pub(crate) struct Environs {
    buffer: Vec<u8>,
}

impl Environs {
    /// The entries of this name that a process carries, as a block of their own for [`carries`]; more than one, if
    /// somebody made it so. Empty for one that is gone, or that may not be looked at.
    pub(crate) fn entries(&mut self, pid: i32, name: &[u8]) -> Vec<u8> {
        self.buffer.clear();
        let Ok(file) = File::open(format!("/proc/{pid}/environ")) else { return Vec::new() };
        if file.take(ENVIRON_MAX).read_to_end(&mut self.buffer).is_err() {
            return Vec::new();
        }
        entries(&self.buffer, name)
    }
}

/// The command line of a process with spaces between its words; empty when it is gone. Raw text.
pub(crate) fn command_line(pid: i32) -> Vec<u8> {
    let mut line = Vec::new();
    if let Ok(file) = File::open(format!("/proc/{pid}/cmdline"))
        && file.take(CMDLINE_MAX).read_to_end(&mut line).is_err()
    {
        line.clear();
    }
    while line.last() == Some(&0) {
        line.pop();
    }
    for byte in &mut line {
        if *byte == 0 {
            *byte = b' ';
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn this_very_process_is_found_alive_and_with_its_parent() {
        let me = look(std::process::id() as i32).unwrap().unwrap();
        assert!(me.is_alive() && !me.is_stopped());
        assert_eq!(me.parent, rustix::process::getppid().map_or(0, rustix::process::Pid::as_raw_pid));
        let found = |ticks| {
            let mut found = Vec::new();
            since(ticks, |stat| found.push(stat.identity)).unwrap();
            found.contains(&me.identity)
        };
        assert!(found(me.identity.start_ticks));
        assert!(!found(me.identity.start_ticks + 1));
    }

    #[test]
    fn a_process_that_does_not_exist_is_none_and_no_error() {
        assert!(look(i32::MAX).unwrap().is_none());
        assert!(command_line(i32::MAX).is_empty());
    }

    #[test]
    fn an_entry_counts_only_whole() {
        let environ = b"A=1\0HERMES_PROCESS=proc_a\0B=HERMES_PROCESS=proc_b\0";
        assert!(carries(environ, b"HERMES_PROCESS=proc_a"));
        assert!(!carries(environ, b"HERMES_PROCESS=proc_"));
        assert!(!carries(environ, b"HERMES_PROCESS=proc_b"));
        assert!(!carries(b"", b"A=1"));
    }

    #[test]
    fn of_entries_with_one_name_none_hides_another() {
        let environ = b"HERMES_PROCESS=proc_a\0HERMES_PROCESSES=4\0B=1\0HERMES_PROCESS=proc_b\0";
        let found = entries(environ, b"HERMES_PROCESS");
        assert!(carries(&found, b"HERMES_PROCESS=proc_a") && carries(&found, b"HERMES_PROCESS=proc_b"));
        assert!(!carries(&found, b"HERMES_PROCESSES=4"));
        assert!(entries(b"", b"HERMES_PROCESS").is_empty());
    }

    proptest! {
        #[test]
        fn whatever_the_name_holds_the_fields_are_read(
            pid in 1..i32::MAX, parent in 0..i32::MAX, group in 0..i32::MAX, session in -1..i32::MAX,
            ticks in any::<u64>(), state in "[RSDZTtXI]", name in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let mut line = format!("{pid} (").into_bytes();
            line.extend_from_slice(&name);
            line.extend_from_slice(format!(
                ") {state} {parent} {group} {session} 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 {ticks} 9 10 11\n").as_bytes());
            let expected = Stat { identity: Identity { pid, start_ticks: ticks }, state: state.as_bytes()[0], parent, group, session };
            prop_assert_eq!(parse_stat(&line), Some(expected));
        }

        #[test]
        fn arbitrary_bytes_are_never_a_panic(line in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse_stat(&line);
        }

        #[test]
        fn an_entry_is_found_wherever_it_stands(
            before in prop::collection::vec("[A-Z]{1,8}=[a-z ]{0,12}", 0..8), after in prop::collection::vec("[A-Z]{1,8}=[a-z ]{0,12}", 0..8),
        ) {
            let entry = "HERMES_PROCESS=proc_000000000000".to_owned();
            let without: Vec<String> = before.iter().chain(&after).cloned().collect();
            prop_assert!(!carries(without.join("\0").as_bytes(), entry.as_bytes()));
            let all: Vec<String> = before.into_iter().chain([entry.clone()]).chain(after).collect();
            let all = all.join("\0");
            prop_assert!(carries(all.as_bytes(), entry.as_bytes()));
            prop_assert_eq!(entries(all.as_bytes(), b"HERMES_PROCESS"), entry.as_bytes());
        }
    }
}
