//! What the kernel says of this very process: memory, descriptors, and when a child is gone.

use std::fs;
use std::time::Instant;

use crate::MIB;
use hermes_process::survey::{Stat, parse_stat};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::task::JoinHandle;

/// One KiB: the unit of `/proc/self/status`.
const KIB: usize = 1024;

fn field(name: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("/proc/self/status");
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).expect("a known field");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") * KIB
}

/// The resident memory now, in bytes.
pub fn resident() -> usize {
    field("VmRSS")
}

/// The highest resident memory since the last [`forget_peak`], in bytes.
pub fn peak() -> usize {
    field("VmHWM")
}

/// Begins a new search for the highest resident memory ("5" in proc_pid_clear_refs(5)).
pub fn forget_peak() {
    fs::write("/proc/self/clear_refs", "5").expect("the peak can be forgotten");
}

/// How many descriptors are open.
pub fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("/proc/self/fd").count()
}

/// Memory that is resident, so that the whole process is about as large as asked: it must be kept as long as it counts.
pub fn grow_to(bytes: usize) -> Vec<u8> {
    // Not zeros: those would be pages that nobody has touched.
    vec![1; bytes.saturating_sub(resident())]
}

/// When a process ends, as a thread sees that waits for nothing else.
pub fn end_of(pid: i32) -> JoinHandle<Instant> {
    let pid = Pid::from_raw(pid).expect("a process");
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).expect("the process runs");
    tokio::task::spawn_blocking(move || {
        poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], None).expect("a pidfd can be polled");
        Instant::now()
    })
}

/// Bytes as MiB.
pub fn mib(bytes: usize) -> String {
    format!("{:.1} MiB", bytes as f64 / MIB as f64)
}

/// Bytes as KiB.
pub fn kib(bytes: usize) -> String {
    format!("{:.1} KiB", bytes as f64 / KIB as f64)
}

/// How many processes descend from this one, and live.
pub fn descendants() -> usize {
    let stat = |entry: fs::DirEntry| parse_stat(&fs::read(entry.path().join("stat")).ok()?);
    let all: Vec<Stat> = fs::read_dir("/proc").expect("/proc").flatten().filter_map(stat).collect();
    let mut known = vec![std::process::id() as i32];
    let mut at = 0;
    while let Some(parent) = known.get(at).copied() {
        known.extend(all.iter().filter(|stat| stat.parent == parent && stat.is_alive()).map(|stat| stat.identity.pid));
        at += 1;
    }
    known.len() - 1
}
