//! What runs because of a test: found by its folder, counted, and ended when the test is over.
//!
//! It must never touch a process that does not name the folder of the test: in its arguments, as its current folder or
//! in its environment.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::home::contains;
use crate::wait;

/// How long a host has to end in order before it is killed.
const ORDERLY: Duration = Duration::from_secs(10);
/// Looks in a row that must find nobody: what forks away from under one look is found by the next.
const EMPTY_LOOKS: u32 = 3;
/// After so many looks somebody is beyond reach, and the test has said so already.
const LOOKS_MAX: u32 = 500;

/// The state letter of a process, as `/proc/PID/stat` has it.
pub fn state(pid: i32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(')').next()?.trim().chars().next()
}

/// Whether a process runs. One that is dead and not yet collected by its parent does not.
pub fn runs(pid: i32) -> bool {
    !matches!(state(pid), Some('Z' | 'X') | None)
}

/// The parent of a process.
pub fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

/// The short name of a process: that of its program.
pub fn name(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

/// The arguments of a process, each with a NUL behind it.
fn arguments(pid: i32) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}

/// Every process there is.
pub fn all() -> Vec<i32> {
    let mut pids: Vec<i32> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    pids
}

/// Whatever runs and names the folder.
pub fn of(folder: &Path) -> Vec<i32> {
    let wanted = folder.as_os_str().as_bytes();
    let names = |pid: i32| {
        contains(&arguments(pid), wanted)
            || fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
            || fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| contains(&environ, wanted))
    };
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    all().into_iter().filter(|pid| *pid != own && names(*pid) && runs(*pid)).collect()
}

/// The host that names the folder, if one runs.
pub fn host(folder: &Path) -> Option<i32> {
    of(folder).into_iter().find(|pid| {
        let arguments = arguments(*pid);
        let mut words = arguments.split(|byte| *byte == 0);
        words.next().is_some_and(|program| program.ends_with(b"/hermes")) && words.next() == Some(b"serve")
    })
}

/// The supervisors that a host has now. Also where the program plays that role itself.
pub fn supervisors_of(host: i32) -> Vec<i32> {
    let is_one = |pid: &i32| parent(*pid) == Some(host) && arguments(*pid).starts_with(b"hermes-supervisor\0");
    all().into_iter().filter(is_one).filter(|pid| runs(*pid)).collect()
}

/// The supervisor of a host, once it has one.
pub fn supervisor_of(host: i32) -> i32 {
    wait::until("a supervisor", wait::PATIENCE, || supervisors_of(host).first().copied())
}

/// Ends whatever names the folder: its host in order, and then everybody.
pub fn clear(folder: &Path) {
    if let Some(host) = host(folder) {
        // Best effort, here and below: a process that is gone is what is wanted.
        let _ = kill(Pid::from_raw(host), Signal::SIGTERM);
        let asked = Instant::now();
        while runs(host) && asked.elapsed() < ORDERLY {
            std::thread::sleep(wait::LOOK);
        }
    }
    let mut empty = 0;
    for _ in 0..LOOKS_MAX {
        let left = of(folder);
        empty = if left.is_empty() { empty + 1 } else { 0 };
        if empty == EMPTY_LOOKS {
            return;
        }
        for pid in left {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

/// A figure in kB of `/proc/PID/status`, as in `VmRSS` or `VmHWM`, in bytes. None if there is no such process or line.
pub fn memory(pid: i32, line: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let found = status.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(':'))?;
    found.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// Lets `VmHWM`, the peak of the memory of a process, begin anew.
///
/// # Panics
/// The kernel refuses.
pub fn reset_peak(pid: i32) {
    // 5: proc(5), `/proc/PID/clear_refs`.
    fs::write(format!("/proc/{pid}/clear_refs"), "5").unwrap_or_else(|error| panic!("clear_refs of {pid}: {error}"));
}

/// How many descriptors a process has open, and how many threads.
pub fn descriptors_and_threads(pid: i32) -> (usize, usize) {
    let count = |folder: &str| fs::read_dir(format!("/proc/{pid}/{folder}")).map_or(0, Iterator::count);
    (count("fd"), count("task"))
}

/// Children of a process that are dead and not collected.
pub fn zombies(of: i32) -> Vec<i32> {
    all().into_iter().filter(|pid| parent(*pid) == Some(of) && state(*pid) == Some('Z')).collect()
}
