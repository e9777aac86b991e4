//! A home with a host that runs. Whatever was started for it is ended with it, also when the test fails.
//!
//! What belongs to a home is recognised by the name of its folder, which no other test has: nothing else is signalled.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::home::{self, Ran, TestHome};
use crate::wait;
use crate::wire::Wire;

/// A host that nobody ends goes by itself; a tree that does not listen is not waited for.
const USUAL: &str = "[host]\nidle_exit = \"90s\"\n[terminal]\nterm_grace = \"300ms\"\n";
/// How often what is left is ended again before the test gives up.
const SWEEPS: usize = 400;

/// A home whose hosts and processes end with it.
pub struct Hosted {
    home: TestHome,
}

impl Default for Hosted {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        for _ in 0..SWEEPS {
            let left = self.all_of_it();
            if left.is_empty() {
                return;
            }
            for pid in left {
                signal(pid, Signal::SIGKILL);
            }
            std::thread::yield_now();
        }
    }
}

/// A program that is killed and collected when the test is over.
pub struct Kept(Child);

impl Kept {
    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Ends it in order, and waits until it has.
    ///
    /// # Panics
    /// It cannot be waited for.
    pub fn end(mut self) {
        signal(i32::try_from(self.pid()).unwrap_or_default(), Signal::SIGTERM);
        self.0.wait().unwrap_or_else(|error| panic!("the host: {error}"));
    }
}

impl From<Child> for Kept {
    fn from(child: Child) -> Self {
        Self(child)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Whoever ended already needs neither.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Hosted {
    /// A home with a configuration in which hosts that are forgotten end soon.
    pub fn new() -> Self {
        Self::with("")
    }

    /// The same, with more of a configuration behind it.
    pub fn with(more: &str) -> Self {
        Self::of(TestHome::new(), more)
    }

    /// A home that has variables or plugins already.
    pub fn of(home: TestHome, more: &str) -> Self {
        home.configure(&format!("{USUAL}{more}"));
        Self { home }
    }

    /// A home that is not touched yet: without a configuration, its hosts end when the test does.
    pub fn untouched() -> Self {
        Self { home: TestHome::new() }
    }

    /// The home.
    pub fn home(&self) -> &TestHome {
        &self.home
    }

    /// The home's folder.
    pub fn root(&self) -> PathBuf {
        self.home.root()
    }

    /// Runs hermes to its end.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.home.run(arguments)
    }

    /// Runs hermes and reads its document.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let words: Vec<&str> = std::iter::once("--json").chain(arguments.iter().copied()).collect();
        self.home.run(words).json()
    }

    /// Starts something in the background with `run -b`, and returns its id.
    ///
    /// # Panics
    /// It was not started.
    pub fn background(&self, arguments: &[&str]) -> String {
        let words: Vec<&str> = ["run", "-b"].into_iter().chain(arguments.iter().copied()).collect();
        let ran = self.run(&words).expect(0);
        let id = ran.stdout.trim().to_owned();
        assert!(id.starts_with("proc_") && id.len() == "proc_".len() + 12, "no id: {ran:?}");
        id
    }

    /// The row of a process in `ps --all`.
    pub fn row(&self, id: &str) -> Option<Value> {
        self.rows(&["--all"]).into_iter().find(|row| row["id"] == id)
    }

    /// The rows of `ps`.
    ///
    /// # Panics
    /// There are none.
    pub fn rows(&self, arguments: &[&str]) -> Vec<Value> {
        let words: Vec<&str> = std::iter::once("ps").chain(arguments.iter().copied()).collect();
        let list = self.json(&words);
        list["processes"].as_array().unwrap_or_else(|| panic!("no rows in {list}")).clone()
    }

    /// Waits until a process has ended and its end was written. Looking takes no event.
    pub fn until_ended(&self, id: &str) -> Value {
        wait::until(&format!("the end of {id}"), wait::PATIENCE, || {
            self.row(id).filter(|row| !row["ended_at"].is_null())
        })
    }

    /// Takes the events that wait now. They are settled by it.
    ///
    /// # Panics
    /// They cannot be had.
    pub fn take_events(&self, arguments: &[&str]) -> Vec<Value> {
        let words: Vec<&str> = ["events", "--json"].into_iter().chain(arguments.iter().copied()).collect();
        lines(&self.run(&words).expect(0).stdout)
    }

    /// Takes events until there are so many.
    pub fn events(&self, count: usize, arguments: &[&str]) -> Vec<Value> {
        let mut taken = Vec::new();
        wait::until(&format!("{count} events"), wait::PATIENCE, || {
            taken.extend(self.take_events(arguments));
            (taken.len() >= count).then_some(())
        });
        assert_eq!(taken.len(), count, "more than was expected: {taken:#?}");
        taken
    }

    /// Everything that waits, after everything that was under way is written: the host is ended in order, and the next
    /// one tells.
    pub fn events_in_the_end(&self) -> Vec<Value> {
        if let Some(host) = self.host() {
            signal(host, Signal::SIGTERM);
            until_gone(&[host]);
        }
        let mut all = Vec::new();
        loop {
            let taken = self.take_events(&["--all"]);
            if taken.is_empty() {
                return all;
            }
            all.extend(taken);
        }
    }

    /// Starts `hermes serve` as a child of the test, and waits until it listens.
    ///
    /// # Panics
    /// It does not.
    pub fn serve(&self, arguments: &[&str]) -> Child {
        let words = std::iter::once("serve").chain(arguments.iter().copied());
        let mut child = self.home.command(words).spawn().unwrap_or_else(|error| panic!("no host: {error}"));
        wait::until("a host that listens", wait::PATIENCE, || {
            if let Ok(Some(status)) = child.try_wait() {
                let mut said = String::new();
                if let Some(mut pipe) = child.stderr.take() {
                    let _ = io::Read::read_to_string(&mut pipe, &mut said);
                }
                panic!("the host ended with {status}: {said}");
            }
            Wire::connect(&self.root()).map(drop)
        });
        child
    }

    /// Connects to the host.
    ///
    /// # Panics
    /// None listens.
    pub fn wire(&self) -> Wire {
        Wire::connect(&self.root()).unwrap_or_else(|| panic!("no host listens in {}", self.root().display()))
    }

    /// The hosts of this home that run.
    pub fn hosts(&self) -> Vec<i32> {
        let program = home::hermes();
        let is_host = |pid: &i32| {
            fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| same_file(&exe, &program))
                && arguments_of(*pid).iter().any(|word| word == b"serve")
        };
        self.all_of_it().into_iter().filter(is_host).collect()
    }

    /// The host that runs, if one does.
    ///
    /// # Panics
    /// Several do.
    pub fn host(&self) -> Option<i32> {
        let hosts = self.hosts();
        assert!(hosts.len() < 2, "several hosts in one home: {hosts:?}");
        hosts.first().copied()
    }

    /// Kills the host as a crash does, and waits until it is gone.
    ///
    /// # Panics
    /// None runs.
    pub fn crash(&self) {
        let host = self.host().expect("a host runs");
        signal(host, Signal::SIGKILL);
        until_gone(&[host]);
    }

    /// Whoever belongs to this home: it has the folder in its environment or in its command line.
    fn all_of_it(&self) -> Vec<i32> {
        let name = self.home.everything().as_os_str().as_bytes().to_vec();
        let own = std::process::id();
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| u32::try_from(*pid).is_ok_and(|pid| pid != own))
            .filter(|pid| runs(*pid))
            .filter(|pid| {
                ["environ", "cmdline"].iter().any(|file| {
                    fs::read(format!("/proc/{pid}/{file}")).is_ok_and(|bytes| home::contains(&bytes, &name))
                })
            })
            .collect()
    }
}

/// The objects of lines of JSON.
///
/// # Panics
/// A line is none.
pub fn lines(text: &str) -> Vec<Value> {
    let object = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("no JSON ({error}): {line}"));
    text.lines().map(object).collect()
}

/// Sends a signal. Whoever is gone needs none.
pub fn signal(pid: i32, signal: Signal) {
    let _ = kill(Pid::from_raw(pid), signal);
}

/// Whether a process runs. One that is dead and not yet collected by its parent does not.
pub fn runs(pid: i32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim().chars().next());
    !matches!(state, Some('Z' | 'X') | None)
}

/// Waits until none of them runs.
pub fn until_gone(pids: &[i32]) {
    wait::until(&format!("the end of {pids:?}"), wait::PATIENCE, || pids.iter().all(|pid| !runs(*pid)).then_some(()));
}

/// Looks for so long that a condition holds.
pub fn throughout(time: Duration, mut look: impl FnMut()) {
    let began = Instant::now();
    wait::until("the time to pass", time + wait::PATIENCE, || {
        look();
        (began.elapsed() >= time).then_some(())
    });
}

/// A process number that a command wrote into a file.
pub fn pid_in(path: &Path) -> i32 {
    wait::until(&format!("a number in {}", path.display()), wait::PATIENCE, || {
        fs::read_to_string(path).ok()?.trim().parse().ok()
    })
}

fn arguments_of(pid: i32) -> Vec<Vec<u8>> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

/// A program that is built anew while its old self runs is named with a note behind it.
fn same_file(exe: &Path, program: &Path) -> bool {
    exe.file_name().map(OsStrExt::as_bytes).is_some_and(|name| {
        program.file_name().map(OsStrExt::as_bytes).is_some_and(|program| name.starts_with(program))
    })
}
