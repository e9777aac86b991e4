//! The environment of a login: what the start-up files of the user's shell change, asked of the shell itself.
//!
//! A host is often started where no such file was read, and then finds neither the user's tools nor their settings.
//! Nothing here may show what a start-up file printed or a variable's value, wait for ever for a shell, or let a broken
//! one keep a command from running.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::environment::{self, Environment, HOST_MARKER};
use crate::host::{self, Host};
use crate::spawn::spawn;
use crate::spec::{CommandSpec, Program, shown};

/// How long a shell may take for one answer. Start-up files that ask the network take seconds.
const LIMIT: Duration = Duration::from_secs(10);

/// How long an answer is good: a changed start-up file counts soon, and a shell is not started for each command.
const LIFETIME: Duration = Duration::from_secs(600);

/// How long a shell that failed is left alone, so that it does not cost each command its time.
const FAILURE_PAUSE: Duration = Duration::from_secs(60);

/// How much of an answer is kept beyond the first part of a capture: environments are far smaller.
const ANSWER_BYTES: usize = 1 << 20;

/// What every shell sets for itself, so that it is no change by a start-up file.
const SHELLS_OWN: [&str; 4] = ["OLDPWD", "PWD", "SHLVL", "_"];

/// Where a shell is when nothing names one.
const DEFAULT_SHELLS: [&str; 2] = ["/bin/bash", "/bin/sh"];

/// Shells that read what agents write. Others (fish, nu, csh) have a language of their own.
const POSIX_SHELLS: [&str; 8] = ["ash", "bash", "busybox", "dash", "ksh", "mksh", "sh", "zsh"];

/// The shell to run command texts with: the configured one, else the user's (`SHELL`), else bash, else `/bin/sh`.
///
/// Each but the last must be executable as `is_executable` says; the user's must also be one that reads POSIX texts.
pub fn choose_shell(
    configured: Option<&Path>,
    shell_variable: Option<&OsStr>,
    is_executable: impl Fn(&Path) -> bool,
) -> PathBuf {
    let reads_posix = |shell: &&Path| POSIX_SHELLS.iter().any(|name| shell.file_name() == Some(OsStr::new(name)));
    let users = shell_variable.map(Path::new).filter(|shell| shell.is_absolute()).filter(reads_posix);
    let [bash, sh] = DEFAULT_SHELLS.map(Path::new);
    let candidates = [configured, users, Some(bash)].into_iter().flatten();
    candidates.into_iter().find(|shell| is_executable(shell)).unwrap_or(sh).to_owned()
}

/// Whether a path is a file that this user may run: what [`choose_shell`] asks on a real system.
pub fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Where the changes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// From the shell as a login shell.
    Login,
    /// From the shell without its login files, which failed.
    Plain,
    /// From nowhere: the shell answers in neither way, and commands get the host's own environment.
    Host,
}

/// What a shell's start-up files change in the environment they were started with.
///
/// It shows nothing of itself: values are secrets as often as not.
pub struct LoginEnvironment {
    /// Names with their new values; none: it was taken out.
    changes: BTreeMap<OsString, Option<OsString>>,
    source: Source,
}

impl LoginEnvironment {
    /// Where it comes from.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Makes the changes. Call it before anything that the caller sets on purpose, and before filtering.
    ///
    /// A changed variable gets the login's value. The folders of `PATH` that the login does not name stay behind its
    /// own: where a container's image says in `PATH` where its tools are, start-up files forget them.
    pub fn apply(&self, environment: &mut Environment) {
        for (name, value) in &self.changes {
            match value {
                Some(value) if name == "PATH" => {
                    let path = joined_path(value, environment.get("PATH").unwrap_or_default());
                    environment.set(name.clone(), path);
                }
                Some(value) => {
                    environment.set(name.clone(), value.clone());
                }
                None => {
                    environment.unset(name);
                }
            }
        }
    }
}

/// The folders of the first list, and then those of the second that are not in it.
fn joined_path(first: &OsStr, second: &OsStr) -> OsString {
    let folders = |list: &OsStr| list.as_bytes().split(|&b| b == b':').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let mut joined = folders(first);
    for folder in folders(second) {
        // An empty one is the current folder, which nobody puts last on purpose.
        if !folder.is_empty() && !joined.contains(&folder) {
            joined.push(folder);
        }
    }
    OsString::from_vec(joined.join(&b':'))
}

/// The login environments of one shell, one for each home directory.
pub struct LoginEnvironments {
    shell: PathBuf,
    limit: Duration,
    homes: Mutex<BTreeMap<OsString, Arc<tokio::sync::Mutex<Option<Known>>>>>,
}

/// An answer and when it was given.
struct Known {
    at: Instant,
    environment: Arc<LoginEnvironment>,
}

impl Known {
    fn is_fresh(&self, now: Instant) -> bool {
        let lifetime = if self.environment.source == Source::Login { LIFETIME } else { FAILURE_PAUSE };
        now.duration_since(self.at) < lifetime
    }
}

impl LoginEnvironments {
    /// Those of this shell. Nothing is started yet.
    pub fn new(shell: PathBuf) -> Self {
        Self { shell, limit: LIMIT, homes: Mutex::default() }
    }

    /// The login environment for the home directory (`HOME`) of `base`, which the shell is started with.
    ///
    /// Kept for 10 minutes; where the login files failed, for one. Others who ask for the same home meanwhile wait for
    /// the same answer. It may take 10 seconds as a login shell and 10 as a plain one, and never fails: the worst answer
    /// changes nothing, and the log says so.
    pub async fn get(&self, host: &Host, base: &Environment) -> Arc<LoginEnvironment> {
        let home = base.get("HOME").unwrap_or_default().to_owned();
        let slot = Arc::clone(self.homes.lock().unwrap_or_else(PoisonError::into_inner).entry(home).or_default());
        let mut known = slot.lock().await;
        if let Some(known) = known.as_ref().filter(|known| known.is_fresh(Instant::now())) {
            return Arc::clone(&known.environment);
        }
        let environment = Arc::new(self.ask_in_turn(host, base).await);
        *known = Some(Known { at: Instant::now(), environment: Arc::clone(&environment) });
        environment
    }

    async fn ask_in_turn(&self, host: &Host, base: &Environment) -> LoginEnvironment {
        let shell = shown(self.shell.as_os_str());
        let ways: [(Source, &[&str]); 2] = [(Source::Login, &["-l", "-c"]), (Source::Plain, &["-c"])];
        for (source, options) in ways {
            match self.ask(host, base, options).await {
                Ok(changes) => return LoginEnvironment { changes, source },
                Err(reason) => tracing::warn!(shell, ?source, %reason, "a shell did not say its environment"),
            }
        }
        tracing::warn!(shell, "commands get the environment of hermes itself; correct the start-up files of the shell");
        LoginEnvironment { changes: BTreeMap::new(), source: Source::Host }
    }

    async fn ask(
        &self,
        host: &Host,
        base: &Environment,
        options: &[&str],
    ) -> Result<BTreeMap<OsString, Option<OsString>>, AskError> {
        let question = Question::new()?;
        let mut args: Vec<OsString> = options.iter().map(OsString::from).collect();
        args.push(question.text.clone().into());
        let mut spec = CommandSpec::new(Program::Exec { program: self.shell.clone().into(), args });
        // Start-up files may look at the current folder (version switchers do), and the host's is nobody's project.
        let home = base.get("HOME").map(PathBuf::from).filter(|home| home.is_dir());
        spec.cwd = Some(home.unwrap_or_else(|| PathBuf::from("/")));
        spec.environment = base.clone();
        spec.timeout = Some(self.limit);
        spec.term_grace = Duration::ZERO;
        spec.ring_bytes = ANSWER_BYTES;
        let process = spawn(host, spec).await?;
        let ended = process.wait().await;
        let output = ended.output();
        let parts = output.parts();
        let answer = match &parts.gap {
            None => between(&parts.head, question.begin.as_bytes(), question.end.as_bytes()),
            Some(_) => None,
        };
        let answer = answer.ok_or_else(|| AskError::NoAnswer { status: ended.status.kind() })?;
        let variables = variables(answer);
        // It was in what the shell was started with: an answer without it is not the whole environment.
        if variables.get(OsStr::new(HOST_MARKER)).is_none_or(|marker| marker != host.marker()) {
            return Err(AskError::NoAnswer { status: ended.status.kind() });
        }
        Ok(changes(base, variables))
    }
}

/// Why a shell did not answer.
#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error("the system gave no random bytes: {0}")]
    Random(#[from] std::io::Error),
    #[error("{0}")]
    Spawn(#[from] crate::spawn::SpawnError),
    #[error("it ended ({status}) without an answer; run it by hand with the same home directory to see what it says")]
    NoAnswer { status: &'static str },
}

/// What the shell is asked, and the marks around its answer.
struct Question {
    text: String,
    begin: String,
    end: String,
}

impl Question {
    fn new() -> Result<Self, std::io::Error> {
        let [a, b, c, d] = [host::new_id()?, host::new_id()?, host::new_id()?, host::new_id()?];
        // Each mark in two halves, so that a shell that repeats what it runs does not print it; and nothing but the
        // answer on the pipe, which the errors share.
        let text = format!(r"exec 2>/dev/null; printf '%s%s\0' {a} {b}; env -0; printf '%s%s\0' {c} {d}");
        Ok(Self { text, begin: format!("{a}{b}\0"), end: format!("{c}{d}\0") })
    }
}

/// What stands between two marks.
fn between<'a>(output: &'a [u8], begin: &[u8], end: &[u8]) -> Option<&'a [u8]> {
    let find = |text: &[u8], mark: &[u8]| text.windows(mark.len().max(1)).position(|window| window == mark);
    let answer = &output[find(output, begin)? + begin.len()..];
    Some(&answer[..find(answer, end)?])
}

/// The variables of an answer. What a start-up file's own children printed into it is no variable and left out.
fn variables(answer: &[u8]) -> BTreeMap<OsString, OsString> {
    let entries = answer.split(|&b| b == 0).filter_map(|entry| {
        let at = entry.iter().position(|&b| b == b'=').filter(|&at| at > 0)?;
        let (name, value) = (&entry[..at], &entry[at + 1..]);
        let plain = !name.iter().any(|b| b.is_ascii_whitespace() || b.is_ascii_control());
        plain.then(|| (OsString::from_vec(name.to_vec()), OsString::from_vec(value.to_vec())))
    });
    entries.collect()
}

/// What is different from before, but for what every shell and hermes set by themselves.
fn changes(before: &Environment, after: BTreeMap<OsString, OsString>) -> BTreeMap<OsString, Option<OsString>> {
    let counts = |name: &OsStr| !environment::is_own(name) && !SHELLS_OWN.iter().any(|own| name == *own);
    let gone = before.iter().map(|(name, _)| name).filter(|name| !after.contains_key(*name));
    let gone: Vec<(OsString, Option<OsString>)> = gone.map(|name| (name.to_owned(), None)).collect();
    let before: BTreeMap<&OsStr, &OsStr> = before.iter().collect();
    let new = after.into_iter().filter(|(name, value)| before.get(name.as_os_str()) != Some(&value.as_os_str()));
    gone.into_iter().chain(new.map(|(name, value)| (name, Some(value)))).filter(|(name, _)| counts(name)).collect()
}

#[cfg(test)]
mod tests;
