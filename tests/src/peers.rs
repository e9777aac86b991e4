//! The programs of others that hermes is tested with: official clients, servers and a test suite, as `cargo xtask test`
//! installs them in `target/peers`, and the scripts of `tests/peers` that use them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::home;
use crate::tree;
use crate::wait;

/// How long the whole suite, or all steps of a client, may take on a busy machine.
pub const LONG: Duration = Duration::from_secs(240);
/// What a server says when it listens, before its address.
const LISTENING: &str = "listening at ";

/// Something that `cargo xtask test` installed.
///
/// # Panics
/// It did not.
pub fn installed(path: &str) -> PathBuf {
    let path = home::target().join("peers").join(path);
    assert!(path.exists(), "{} is not there: run `cargo xtask test`, which installs it", path.display());
    path
}

/// The Node.js the suite needs, which is newer than many a machine's.
pub fn node() -> PathBuf {
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    installed(&format!("node_modules/node-linux-{machine}/bin/node"))
}

/// The Python that has the official SDK.
pub fn python() -> PathBuf {
    installed("python/bin/python")
}

/// A script of `tests/peers`, as it is in the source tree now.
///
/// # Panics
/// It is not there.
pub fn source(name: &str) -> PathBuf {
    let path = tree::root().join("tests").join("peers").join(name);
    assert!(path.is_file(), "{} is not there", path.display());
    path
}

/// A script for Node.js, where it finds its packages. It is gone with this.
pub struct Script {
    _folder: TempDir,
    path: PathBuf,
}

impl Script {
    /// Makes a script of `tests/peers` ready to run.
    ///
    /// # Panics
    /// It cannot be copied.
    pub fn of(name: &str) -> Self {
        // Packages are looked for in the folders above a script.
        let peers = installed("node_modules").with_file_name("");
        let folder = tempfile::tempdir_in(&peers).unwrap_or_else(|error| panic!("{}: {error}", peers.display()));
        let path = folder.path().join(name);
        fs::copy(source(name), &path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { _folder: folder, path }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The script as an argument.
    ///
    /// # Panics
    /// Its folder has a name no configuration can hold.
    pub fn text(&self) -> &str {
        self.path.to_str().unwrap_or_else(|| panic!("{} is no text", self.path.display()))
    }

    /// Node.js with the script, not started.
    pub fn command(&self) -> Command {
        let mut command = Command::new(node());
        command.arg(&self.path);
        command
    }
}

/// A program that starts another one gets its arguments and its environment.
pub fn starting(mut starter: Command, started: &Command) -> Command {
    starter.arg(started.get_program()).args(started.get_args()).env_clear();
    starter.envs(started.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = started.get_current_dir() {
        starter.current_dir(folder);
    }
    starter
}

/// Runs a program to its end, with something to read, and gives its lines, each a JSON document.
///
/// # Panics
/// It fails, does not end, or says something else.
pub fn documents(what: &str, mut command: Command, input: &str) -> Vec<Value> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{what} does not start: {error}"));
    let mut pipe = child.stdin.take().expect("its stdin is a pipe");
    let bytes = input.to_owned();
    // On a thread of its own, so that neither side waits for the other; a program that reads no further is its own matter.
    let writer = std::thread::spawn(move || drop(std::io::Write::write_all(&mut pipe, bytes.as_bytes())));
    let ended = wait::end_of(what, child, LONG);
    drop(writer.join());
    let (stdout, stderr) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{what} failed: {}\n{stdout}\n{stderr}", ended.status);
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{what}: {error}: {line}"));
    stdout.lines().map(read).collect()
}

/// A server that listens. It is ended with this.
pub struct Listening {
    child: Child,
    url: String,
}

impl Listening {
    /// Starts one, and waits until it says where it listens.
    ///
    /// # Panics
    /// It does not.
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("the server does not start: {error}"));
        let errors = child.stderr.take().expect("its stderr is a pipe");
        let (told, heard) = mpsc::channel();
        std::thread::spawn(move || {
            let mut errors = BufReader::new(errors);
            let mut said = String::new();
            while errors.read_line(&mut said).is_ok_and(|read| read > 0) {
                let last = said.lines().last().unwrap_or_default();
                if let Some((_, url)) = last.split_once(LISTENING) {
                    // Nobody waits where the test is over.
                    let _ = told.send(Ok(url.trim().to_owned()));
                    // A pipe nobody reads would stop it.
                    let _ = errors.read_to_end(&mut Vec::new());
                    return;
                }
            }
            let _ = told.send(Err(said));
        });
        let mut listening = Self { child, url: String::new() };
        match heard.recv_timeout(wait::PATIENCE) {
            Ok(Ok(url)) => listening.url = url,
            Ok(Err(said)) => panic!("the server ended before it listened:\n{said}"),
            Err(_) => panic!("the server did not say where it listens"),
        }
        listening
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Asks it to end, and waits until it has. Its exit code; none if a signal ended it.
    ///
    /// # Panics
    /// It does not end.
    pub fn end(mut self) -> Option<i32> {
        self.ask_to_end();
        let ended = wait::until("the server to end", wait::PATIENCE, || self.child.try_wait().ok().flatten());
        ended.code()
    }

    fn ask_to_end(&self) {
        use nix::sys::signal::{Signal, kill};
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap_or(i32::MAX));
        // One that has ended hears nothing.
        let _ = kill(pid, Signal::SIGTERM);
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// What one scenario of the suite found: the status and the words of each check.
pub type Checks = Vec<(String, String)>;

fn suite() -> Command {
    let mut command = Command::new(node());
    command.arg(installed("node_modules/@modelcontextprotocol/conformance/dist/index.js"));
    command
}

/// The names of all scenarios the suite has for servers.
///
/// # Panics
/// It does not tell.
pub fn scenarios() -> Vec<String> {
    let mut command = suite();
    command.args(["list", "--server"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap_or_else(|error| panic!("the suite does not start: {error}"));
    let ended = wait::end_of("the suite", child, LONG);
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    let named = text.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split(' ').next().map(str::to_owned));
    let named: Vec<String> = named.collect();
    assert!(!named.is_empty(), "the suite has no scenarios: {text}");
    named
}

/// Runs the whole suite against a server, and gives what each scenario found.
///
/// # Panics
/// It does not run to its end.
pub fn conformance(url: &str) -> BTreeMap<String, Checks> {
    let found = tempfile::tempdir().unwrap_or_else(|error| panic!("no temporary folder: {error}"));
    let mut command = suite();
    command.args(["server", "--suite", "all", "--url", url, "--output-dir"]).arg(found.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap_or_else(|error| panic!("the suite does not start: {error}"));
    drop(wait::end_of("the suite", child, LONG));
    let entries = fs::read_dir(found.path()).unwrap_or_else(|error| panic!("the suite found nothing: {error}"));
    entries.flatten().map(|entry| (scenario(&entry.file_name()), checks(&entry.path().join("checks.json")))).collect()
}

/// A folder is `server-NAME-TIME`, the time as in `2025-11-25T21-45-57-469Z`.
fn scenario(folder: &OsStr) -> String {
    let folder = folder.to_string_lossy();
    let name = folder.strip_prefix("server-").and_then(|rest| rest.get(..rest.len().checked_sub(25)?));
    name.unwrap_or_else(|| panic!("{folder} is no scenario")).to_owned()
}

fn checks(path: &Path) -> Checks {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let all: Vec<Value> = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let word = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
    let words = |check: &Value| format!("{}: {}", word(check, "id"), word(check, "errorMessage"));
    all.iter().map(|check| (word(check, "status"), words(check))).collect()
}
