//! The misbehaving servers: how they are configured, and how what they leave behind is found.
//!
//! It must never find anybody but what a test started: every one of them carries the tag of the test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::home::{TestHome, contains, hermes};
use crate::leavings::{self, runs};
use crate::wait::{self, PATIENCE};

/// Looks in a row that must find nobody: whoever forks while he dies is found by the next one.
const EMPTY_LOOKS: u32 = 5;

/// The program, built beside this test.
///
/// # Panics
/// It has not been built.
pub fn program() -> PathBuf {
    let path = hermes().with_file_name("rude-server");
    assert!(path.is_file(), "{} is not there: run `cargo xtask test`", path.display());
    path
}

/// The misbehaving servers of one test: their tag, their logs and their gates. Whoever is left of them ends with it.
pub struct Rude {
    tag: String,
    folder: PathBuf,
}

impl Drop for Rude {
    fn drop(&mut self) {
        // Who forks while he dies is found by the next look.
        for _ in 0..500 {
            let left = self.running();
            if left.is_empty() {
                return;
            }
            for pid in left {
                // Best effort: it may be gone.
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
    }
}

impl Rude {
    /// Servers whose files are in the folder for the files of a home's test.
    pub fn of(home: &TestHome) -> Self {
        Self::in_folder(&home.work())
    }

    /// Servers whose files are in a folder.
    pub fn in_folder(folder: &Path) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let tag = format!("rude-{}-{}-", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst));
        Self { tag, folder: folder.to_owned() }
    }

    /// The tag of a server of a name.
    pub fn tag(&self, name: &str) -> String {
        format!("{}{name}.", self.tag)
    }

    /// The log of a server.
    pub fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    /// The gate of a server.
    pub fn gate(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.gate"))
    }

    /// Opens the gate of a server.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn open(&self, name: &str) {
        fs::write(self.gate(name), "").unwrap_or_else(|error| panic!("the gate of {name}: {error}"));
    }

    /// The arguments for a server of a name.
    pub fn arguments(&self, name: &str, words: &[&str]) -> Vec<String> {
        let path = |path: PathBuf| path.to_string_lossy().into_owned();
        let (log, gate) = (path(self.log(name)), path(self.gate(name)));
        let mut all: Vec<String> =
            ["--tag".to_owned(), self.tag(name), "--log".to_owned(), log, "--gate".to_owned(), gate].into();
        all.extend(words.iter().map(|word| (*word).to_owned()));
        all
    }

    /// A server of a name, not started.
    pub fn command(&self, name: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(self.arguments(name, words)).current_dir(&self.folder);
        command
    }

    /// The words behind `hermes mcp wrap --`.
    pub fn words(&self, name: &str, words: &[&str]) -> Vec<String> {
        let mut all = vec![program().to_string_lossy().into_owned()];
        all.extend(self.arguments(name, words));
        all
    }

    /// The part of `config.toml` for a server, with lines of more settings.
    pub fn entry(&self, name: &str, words: &[&str], more: &str) -> String {
        // A JSON text of these is a TOML text too.
        let (command, arguments) = (json!(program()), json!(self.arguments(name, words)));
        format!("[mcp_servers.\"{name}\"]\ncommand = {command}\nargs = {arguments}\n{more}\n")
    }

    /// Who of them runs, in order of their numbers.
    pub fn running(&self) -> Vec<i32> {
        tagged(&self.tag)
    }

    /// Who of a server runs.
    pub fn running_of(&self, name: &str) -> Vec<i32> {
        tagged(&self.tag(name))
    }

    /// Waits until nobody of them runs.
    ///
    /// # Panics
    /// Somebody still runs after the time.
    pub fn until_gone(&self, what: &str) {
        let mut empty = 0;
        wait::until(&format!("{what}: {:?} to end", self.running()), PATIENCE, || {
            empty = if self.running().is_empty() { empty + 1 } else { 0 };
            (empty == EMPTY_LOOKS).then_some(())
        });
    }

    /// The lines of a server's log.
    pub fn lines(&self, name: &str) -> Vec<String> {
        fs::read_to_string(self.log(name)).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// The lines of a server's log that begin so.
    pub fn lines_with(&self, name: &str, beginning: &str) -> Vec<String> {
        self.lines(name).into_iter().filter(|line| line.starts_with(beginning)).collect()
    }

    /// How often a server was started.
    pub fn starts(&self, name: &str) -> usize {
        self.lines_with(name, "start ").len()
    }

    /// How often it was called.
    pub fn calls(&self, name: &str) -> usize {
        self.lines_with(name, "call ").len()
    }

    /// The number of the server that was started last.
    pub fn pid(&self, name: &str) -> Option<i32> {
        self.lines_with(name, "start ").last()?.split(' ').nth(1)?.parse().ok()
    }

    /// Waits until a server was started, and gives its number.
    ///
    /// # Panics
    /// It is not within the time.
    pub fn until_started(&self, name: &str) -> i32 {
        wait::until(&format!("{name} to be started"), PATIENCE, || self.pid(name))
    }

    /// Waits until its log has a line that begins so.
    ///
    /// # Panics
    /// It has not within the time.
    pub fn until_noted(&self, name: &str, beginning: &str) {
        wait::until(&format!("'{beginning}' of {name}; it noted {:?}", self.lines(name)), PATIENCE, || {
            (!self.lines_with(name, beginning).is_empty()).then_some(())
        });
    }
}

/// Whoever runs and has a text in its arguments, in order.
fn tagged(tag: &str) -> Vec<i32> {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let named = |pid: i32| {
        let of = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        // A host that was told to run a server has its tag in its arguments too.
        let mut words = of.split(|byte| *byte == 0);
        let is_hermes = words.next().is_some_and(|program| program.ends_with(b"/hermes"));
        !is_hermes && contains(&of, tag.as_bytes())
    };
    leavings::all().into_iter().filter(|pid| *pid != own && named(*pid) && runs(*pid)).collect()
}

/// The row of a server in `hermes mcp list --json`.
///
/// # Panics
/// There is no list.
pub fn row(home: &TestHome, name: &str) -> Option<Value> {
    let list = home.run(["mcp", "list", "--json"]).expect(0).json();
    let rows = list["servers"].as_array().unwrap_or_else(|| panic!("no rows in {list}"));
    rows.iter().find(|row| row["name"] == name).cloned()
}
