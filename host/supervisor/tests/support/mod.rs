//! A host that is no host: a process that does nothing and can be killed, and a supervisor that is told it is one.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hermes_supervisor::message::{HOST_MARKER, Hello};

/// Generous: a loaded machine is slow, and a condition that never holds is a failure all the same.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// The only place that sleeps: waits until `condition` gives something, and fails when it has not within the deadline.
pub(crate) fn until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < deadline, "not within {DEADLINE:?}: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The state letter, the group, the session and the start of a process.
pub(crate) fn stat(pid: i32) -> Option<(char, i32, i32, u64)> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
    Some((fields[0].chars().next()?, fields[2].parse().ok()?, fields[3].parse().ok()?, fields[19].parse().ok()?))
}

/// The parent of a process.
pub(crate) fn parent(pid: i32) -> Option<i32> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    line.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

pub(crate) fn runs(pid: i32) -> bool {
    stat(pid).is_some_and(|(state, ..)| !matches!(state, 'Z' | 'X'))
}

pub(crate) fn until_gone(pids: &[i32]) {
    until(&format!("the end of {pids:?}"), || pids.iter().all(|pid| !runs(*pid)).then_some(()));
}

/// Every living process that carries this marker.
pub(crate) fn carriers(marker: &str) -> Vec<i32> {
    let entry = format!("{HOST_MARKER}={marker}");
    let pids = fs::read_dir("/proc").unwrap().flatten();
    pids.filter_map(|name| name.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            runs(*pid) && environ.split(|byte| *byte == 0).any(|found| found == entry.as_bytes())
        })
        .collect()
}

/// The tiny program.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hermes-supervisor"));
    command.env_clear().process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// A marker that no other test has.
pub(crate) fn new_marker() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{:016x}{:016x}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A process of the test; killed and collected when it is dropped.
pub(crate) struct Owned(pub(crate) Child);

impl Owned {
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap()
    }

    pub(crate) fn ended(&mut self) -> ExitStatus {
        until("an exit", || self.0.try_wait().unwrap())
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A supervisor and what it takes for its host.
pub(crate) struct Scene {
    pub(crate) host: Owned,
    pub(crate) marker: String,
    pub(crate) supervisor: Owned,
    folder: tempfile::TempDir,
}

impl Drop for Scene {
    fn drop(&mut self) {
        // Whatever a failed test left.
        for pid in carriers(&self.marker) {
            kill(pid, "KILL");
        }
    }
}

impl Default for Scene {
    fn default() -> Self {
        Self::new()
    }
}

impl Scene {
    pub(crate) fn new() -> Self {
        let host = Owned(Command::new("sleep").arg("1000").process_group(0).spawn().unwrap());
        let supervisor = Owned(program().spawn().unwrap());
        let scene = Self { host, marker: new_marker(), supervisor, folder: tempfile::tempdir().unwrap() };
        let mut scene = scene;
        let hello = scene.hello().to_string();
        scene.say(&hello);
        scene
    }

    pub(crate) fn hello(&self) -> Hello {
        let host = self.host.pid();
        Hello { host, start_ticks: stat(host).unwrap().3, marker: self.marker.clone() }
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.supervisor.0.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// A file of the test.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The number that a script wrote into a file.
    pub(crate) fn pid_in(&self, name: &str) -> i32 {
        until(&format!("a number in {name}"), || fs::read_to_string(self.file(name)).ok()?.trim().parse().ok())
    }

    /// A script that leads a group of its own and carries the marker.
    pub(crate) fn start(&self, script: &str) -> Owned {
        self.start_with(script, true)
    }

    pub(crate) fn start_with(&self, script: &str, marked: bool) -> Owned {
        let mut command = Command::new("bash");
        command.args(["-c", script]).current_dir(self.folder.path()).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if marked {
            command.env(HOST_MARKER, &self.marker);
        }
        Owned(command.spawn().unwrap())
    }

    /// Starts a script that says when it is ready by a file, and registers it.
    pub(crate) fn registered(&mut self, script: &str, marked: bool) -> Owned {
        let ready = format!("ready-{}", new_marker());
        let child = self.start_with(&script.replace("READY", &format!("touch {ready}")), marked);
        until("a script that is ready", || self.file(&ready).exists().then_some(()));
        self.say(&format!("register {}\n", child.pid()));
        child
    }

    /// Waits until the supervisor has read all it was told.
    pub(crate) fn until_heard(&mut self) {
        let pid = self.supervisor.pid();
        until("a supervisor that waits", || {
            let pending = rustix::io::ioctl_fionread(self.supervisor.0.stdin.as_ref()?).ok()?;
            (pending == 0 && stat(pid)?.0 == 'S').then_some(())
        });
    }

    /// The end of the pipe.
    pub(crate) fn close(&mut self) {
        self.supervisor.0.stdin = None;
    }

    pub(crate) fn kill_host(&mut self) {
        self.host.0.kill().unwrap();
    }

    /// What the supervisor exits with, and what it said.
    pub(crate) fn left(&mut self) -> (Option<i32>, String) {
        let code = self.supervisor.ended().code();
        let mut said = String::new();
        self.supervisor.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (code, said)
    }
}

pub(crate) fn kill(pid: i32, signal: &str) {
    let _ = Command::new("kill").args([&format!("-{signal}"), "--", &pid.to_string()]).stderr(Stdio::null()).status();
}

/// Starts the tiny program as the client wants it.
pub(crate) struct Tiny;

impl hermes_supervisor::client::Launch for Tiny {
    fn launch(&self, input: OwnedFd) -> io::Result<i32> {
        let child = program().stdin(input).stderr(Stdio::null()).spawn()?;
        Ok(i32::try_from(child.id()).unwrap())
    }

    fn given_up(&self, _: i32) {}
}
