//! What the process tests share: commands made short, and waiting for a condition with a deadline.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use hermes_process::host::Host;
use hermes_process::running::handle::Process;
use hermes_process::running::tap::Chunk;
use hermes_process::spawn::spawn;
use hermes_process::spec::{CommandSpec, Program};
use tokio::sync::mpsc;

/// Generous: a loaded machine is slow, and a condition that never holds is a failure all the same.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// The only place that sleeps: waits until `condition` holds, and fails when it has not within the deadline.
pub(crate) async fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < deadline, "not within {DEADLINE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) fn sh(text: &str) -> CommandSpec {
    CommandSpec::new(Program::Shell { shell: "/bin/sh".into(), text: text.into() })
}

pub(crate) fn exec(words: &[&str]) -> CommandSpec {
    CommandSpec::new(Program::Exec { program: words[0].into(), args: words[1..].iter().map(Into::into).collect() })
}

thread_local! {
    /// A host must outlive its commands to collect their orphans; each test runs on a thread of its own.
    static HOSTS: RefCell<Vec<Host>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn host() -> Host {
    let host = Host::start().unwrap();
    HOSTS.with_borrow_mut(|hosts| hosts.push(host.clone()));
    host
}

pub(crate) async fn start(spec: CommandSpec) -> Process {
    spawn(&host(), spec).await.unwrap()
}

/// The next bytes of a reader that must not be told of a gap.
pub(crate) async fn next(live: &mut mpsc::Receiver<Chunk>) -> Option<Vec<u8>> {
    live.recv().await.map(|chunk| match chunk {
        Chunk::Bytes(bytes) => bytes,
        Chunk::Skipped(count) => panic!("{count} bytes are missing"),
    })
}

/// All that still comes, without a gap.
pub(crate) async fn rest(live: &mut mpsc::Receiver<Chunk>) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(bytes) = next(live).await {
        all.extend(bytes);
    }
    all
}

/// Whether a process with this number runs and is no zombie.
pub(crate) fn is_alive(pid: i32) -> bool {
    let Ok(stat) = fs::read(format!("/proc/{pid}/stat")) else { return false };
    hermes_process::survey::parse_stat(&stat).is_some_and(|stat| stat.is_alive())
}

/// Every living process that carries this `NAME=value`.
pub(crate) fn carriers(entry: &str) -> Vec<i32> {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    pids.filter_map(|name| name.file_name().to_str()?.parse::<i32>().ok())
        .filter(|&pid| is_alive(pid))
        .filter(|pid| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            hermes_process::survey::carries(&environ, entry.as_bytes())
        })
        .collect()
}

/// The numbers a command wrote to a file, one a line; empty until it is there.
pub(crate) fn numbers(path: &Path) -> Vec<i32> {
    let text = fs::read_to_string(path).unwrap_or_default();
    // A last line without its end is still being written.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// How many children of this very process are zombies.
pub(crate) fn zombies() -> usize {
    let me = i32::try_from(std::process::id()).unwrap();
    let pids = fs::read_dir("/proc").unwrap().flatten();
    pids.filter_map(|name| fs::read(name.path().join("stat")).ok())
        .filter_map(|stat| hermes_process::survey::parse_stat(&stat))
        .filter(|stat| stat.parent == me && !stat.is_alive())
        .count()
}

pub(crate) fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}
