//! A home for one test: hermes in an environment that holds nothing but what the test says.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::guests;
use crate::leavings;
use crate::manifests;
use crate::wait;

/// Folders for programs where the machine has none of its own in `PATH`.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The folder cargo builds into, from where this very test was built.
///
/// # Panics
/// The test does not run from a folder as cargo lays it out.
pub fn target() -> PathBuf {
    let profile = profile_folder();
    profile.parent().unwrap_or_else(|| panic!("{} has no parent", profile.display())).to_owned()
}

/// `target/PROFILE`: a test is `target/PROFILE/deps/NAME-HASH`.
fn profile_folder() -> PathBuf {
    let test = std::env::current_exe().expect("a running test knows its own file");
    test.ancestors().nth(2).unwrap_or_else(|| panic!("{} is not in a target folder", test.display())).to_owned()
}

/// The program under test, built beside this test.
///
/// # Panics
/// It has not been built.
pub fn hermes() -> PathBuf {
    let path = profile_folder().join("hermes");
    assert!(
        path.is_file(),
        "{} is not there: run `cargo xtask test`, or `cargo build -p hermes` first",
        path.display()
    );
    path
}

/// What the system caches for every test together, so that the bundled plugins are compiled once.
///
/// # Panics
/// The folder cannot be made.
pub fn shared_cache() -> PathBuf {
    let path = target().join("tests-cache");
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    path
}

/// What hermes did.
#[derive(Debug)]
pub struct Ran {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// What it wrote on stdout.
    pub stdout: String,
    /// What it wrote on stderr.
    pub stderr: String,
}

impl Ran {
    /// Fails unless it ended with this code.
    ///
    /// # Panics
    /// It did not.
    #[must_use]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Stdout as one JSON document.
    ///
    /// # Panics
    /// It is not one.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| {
            panic!("not one JSON document ({error}):\n{}\nstderr:\n{}", self.stdout, self.stderr)
        })
    }

    /// Both streams, where it does not matter which.
    pub fn all(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// A home of one test. Nothing is in it, and it does not exist, until hermes creates it. Its end is the end of its host and
/// of everything that was started in it.
pub struct TestHome {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

impl Default for TestHome {
    fn default() -> Self {
        Self::new()
    }
}

impl TestHome {
    /// A home that does not exist yet.
    ///
    /// # Panics
    /// There is no room for a temporary folder.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        for name in ["user", "work"] {
            fs::create_dir(folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        Self { folder, variables: Vec::new() }
    }

    /// A variable for every command from now on.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The home.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// A folder for the test's own files, and the current one of its commands.
    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Everything hermes could have written to, the shared cache apart.
    pub fn everything(&self) -> &Path {
        self.folder.path()
    }

    /// Writes `config.toml`.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn configure(&self, text: &str) {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(self.root())
            .and_then(|()| fs::write(self.root().join("config.toml"), text))
            .unwrap_or_else(|error| panic!("config.toml: {error}"));
    }

    /// hermes with these arguments, not started.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(hermes());
        command.args(arguments).current_dir(self.work()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_else(|| USUAL_PATH.into()));
        command.env("HOME", self.folder.path().join("user")).env("LANG", "C.UTF-8");
        command.env("HERMES_HOME", self.root()).env("XDG_CACHE_HOME", shared_cache());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs hermes to its end.
    pub fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ran {
        finish(self.command(arguments), wait::PATIENCE)
    }

    /// Runs hermes to its end under a limit of the shell's, as in `ulimit -f 0`.
    pub fn run_limited<S: AsRef<OsStr>>(&self, limit: &str, arguments: impl IntoIterator<Item = S>) -> Ran {
        let hermes = self.command(arguments);
        let mut command = Command::new("/bin/bash");
        command.args(["-c", &format!("{limit}; exec \"$@\""), "bash"]).arg(hermes.get_program());
        command.args(hermes.get_args()).env_clear().current_dir(self.work());
        command.envs(hermes.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        finish(command, wait::PATIENCE)
    }

    /// Runs hermes to its end with something to read.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn run_with_input<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>, input: &[u8]) -> Ran {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("hermes does not start: {error}"));
        let mut pipe = child.stdin.take().expect("its stdin is a pipe");
        let bytes = input.to_vec();
        // On a thread of its own, so that neither side waits for the other; a program that reads no further is its own matter.
        let writer = std::thread::spawn(move || drop(pipe.write_all(&bytes)));
        let ended = wait::end_of("hermes", child, wait::PATIENCE);
        drop(writer.join());
        ran(ended)
    }

    /// Installs bytes under a name, broken or not.
    pub fn install_bytes(&self, name: &str, bytes: &[u8]) {
        let path = guests::write_bytes(&self.work(), name, bytes);
        drop(
            self.run([OsStr::new("plugins"), OsStr::new("install"), OsStr::new("--allow-broken"), path.as_os_str()])
                .expect(0),
        );
    }

    /// Installs a guest with the plainest manifest. It must load.
    pub fn install_guest(&self, name: &str, hook: &str) {
        let path = guests::write(&self.work(), name, &manifests::plain(name, hook));
        drop(self.run([OsStr::new("plugins"), OsStr::new("install"), path.as_os_str()]).expect(0));
    }

    /// The rows of `plugins list`.
    ///
    /// # Panics
    /// There are none.
    pub fn rows(&self) -> Vec<Value> {
        let list = self.run(["plugins", "list", "--json"]).expect(0).json();
        list["plugins"].as_array().unwrap_or_else(|| panic!("no rows in {list}")).clone()
    }

    /// The row of one plugin.
    ///
    /// # Panics
    /// There is not exactly one.
    pub fn row(&self, name: &str) -> Value {
        let mut rows: Vec<Value> = self.rows().into_iter().filter(|row| row["name"] == name).collect();
        assert_eq!(rows.len(), 1, "{name} must be one row: {rows:?}");
        rows.remove(0)
    }

    /// The host of the home, if one runs.
    pub fn host(&self) -> Option<i32> {
        leavings::host(self.everything())
    }

    /// What runs of this home beside its host, in order of their numbers.
    pub fn running(&self) -> Vec<i32> {
        let host = self.host();
        leavings::of(self.everything()).into_iter().filter(|pid| Some(*pid) != host).collect()
    }

    /// Whether any file below the test's folder holds this text.
    pub fn files_with(&self, text: &str) -> Vec<PathBuf> {
        files_below(self.folder.path())
            .into_iter()
            .filter(|path| fs::read(path).is_ok_and(|bytes| contains(&bytes, text.as_bytes())))
            .collect()
    }
}

impl Drop for TestHome {
    fn drop(&mut self) {
        leavings::clear(self.everything());
    }
}

/// Runs a command to its end.
///
/// # Panics
/// It cannot be started, or does not end.
pub fn finish(mut command: Command, within: Duration) -> Ran {
    let child = command.spawn().unwrap_or_else(|error| panic!("hermes does not start: {error}"));
    ran(wait::end_of("hermes", child, within))
}

/// What a program that ended did.
pub fn ran(ended: wait::Ended) -> Ran {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("hermes writes UTF-8 only");
    Ran { code: ended.status.code(), stdout: text(ended.stdout), stderr: text(ended.stderr) }
}

/// Every file below a folder, in order.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Every path below a folder, folders too, with the size and the time of change: what differs was touched.
pub fn snapshot(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            found.push(format!("{} {} {:?}", entry.path().display(), metadata.len(), metadata.modified().ok()));
            if metadata.is_dir() {
                open.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// Whether bytes hold bytes.
pub fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len().max(1)).any(|window| window == wanted)
}
