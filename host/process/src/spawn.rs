//! Starting a command: from what was asked for to a running process, or the reason why not.
//!
//! Errors name the program and never an argument or a value.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_model::exit;
use hermes_model::id::ProcessId;
use hermes_model::status::Status;
use rustix::io::Errno;

use crate::environment::{Environment, HOST_MARKER, PROCESS_MARKER};
use crate::guardian::Guardian;
use crate::host::{self, Host};
use crate::launch::{self, Image, Input, Streams};
use crate::leader::Leader;
use crate::pty;
use crate::resolve::{self, Unresolved};
use crate::running::handle::Process;
use crate::running::task::{self, Ends, Newborn};
use crate::spec::{CommandSpec, Program, Stdin, shown};

/// Why a command did not start.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// There is no such program.
    #[error("program '{program}' was not found{place}; check its spelling, install it, or give its path")]
    NotFound {
        /// The program as it was asked for.
        program: String,
        /// Where it was looked for, as the rest of a sentence.
        place: &'static str,
    },
    /// The program is there and cannot be run.
    #[error("program '{program}' cannot be run: {reason}")]
    NotRunnable {
        /// The program as it was asked for.
        program: String,
        /// What is wrong with it and what to do.
        reason: NotRunnable,
        /// What the kernel said, where it was asked.
        #[source]
        source: Option<io::Error>,
    },
    /// The folder to run in cannot be used.
    #[error("folder '{folder}' cannot be used to run a command in: {reason}")]
    Folder {
        /// The folder as it was asked for.
        folder: String,
        /// What is wrong with it and what to do.
        reason: BadFolder,
    },
    /// An argument, a value or a name cannot be given to any program.
    #[error("{what} holds a character that no program can be given; leave it out")]
    Impossible {
        /// Which one, without its text.
        what: String,
    },
    /// hermes itself or the system had no room for another process.
    #[error(
        "program '{program}' was not started: {doing} failed; free resources (processes, memory, open files) or raise the limits (ulimit -a)"
    )]
    Host {
        /// The program as it was asked for.
        program: String,
        /// What hermes was doing.
        doing: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// What keeps a program that exists from running.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotRunnable {
    /// No permission to run it.
    #[error("permission denied; give it the right with chmod +x, or run it through its interpreter")]
    Permission,
    /// It is a folder.
    #[error("it is a directory; name a file in it")]
    IsADirectory,
    /// It is for another machine, or a script without a first line that names its interpreter.
    #[error(
        "its format is not for this machine; build it for this one, or start a script's first line with '#!/bin/sh'"
    )]
    Format,
    /// Its first line names an interpreter that is not there.
    #[error("the interpreter '{0}' that its first line names does not exist; install it or correct the line")]
    Interpreter(String),
    /// Its arguments and environment are longer than the kernel takes.
    #[error("its arguments and environment are too long for the system; pass the data by a file or by standard input")]
    TooLong,
    /// The kernel refused for another reason.
    #[error("the system refused to run it; the cause follows")]
    Other,
}

/// What keeps a folder from being used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadFolder {
    /// There is none.
    #[error("it does not exist; create it or name another")]
    Missing,
    /// It is something else.
    #[error("it is not a directory; name a directory")]
    NotADirectory,
    /// It may not be entered.
    #[error("permission denied; give the right to enter it with chmod +x, or name another")]
    Permission,
}

impl SpawnError {
    /// What a shell would exit with: 127 not found, 126 not runnable, 125 for anything that is not the program's fault.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::NotFound { .. } => exit::NOT_FOUND,
            Self::NotRunnable { .. } => exit::NOT_RUNNABLE,
            Self::Folder { .. } | Self::Impossible { .. } | Self::Host { .. } => exit::HERMES_FAILED,
        }
    }

    /// The same as a status.
    pub fn status(&self) -> Status {
        Status::FailedToStart { reason: self.to_string(), code: self.exit_code() }
    }
}

/// Starts a command. It runs when this returns; its output is captured from the first byte.
///
/// If the returned future is dropped before it is done, whatever was started is killed.
///
/// # Errors
/// [`SpawnError`]: nothing runs then.
pub async fn spawn(host: &Host, spec: CommandSpec) -> Result<Process, SpawnError> {
    let failed = |source| SpawnError::Host { program: spec.shown_program(), doing: "making an id", source };
    let id = host::new_id().map_err(failed)?;
    spawn_as(host, id, spec).await
}

/// As [`spawn`], under an id that was made before.
pub(crate) async fn spawn_as(host: &Host, id: ProcessId, spec: CommandSpec) -> Result<Process, SpawnError> {
    let program = spec.shown_program();
    let failed = |doing| {
        let program = program.clone();
        move |source: io::Error| SpawnError::Host { program, doing, source }
    };
    let host = host.clone();
    // posix_spawn blocks until the program is loaded, which may be slow on a network file system.
    let started = tokio::task::spawn_blocking(move || start(host, id, spec)).await;
    let newborn = started.map_err(|error| failed("starting it")(io::Error::other(error)))??;
    task::adopt(newborn).map_err(failed("watching it"))
}

/// Everything about a spawn that may block. A newborn that nobody takes is killed when it is dropped.
fn start(host: Host, id: ProcessId, spec: CommandSpec) -> Result<Newborn, SpawnError> {
    let mut environment = spec.environment.clone();
    if spec.pty.is_some() {
        pty::add_defaults(&mut environment);
    }
    let argv: Vec<OsString> = match &spec.program {
        Program::Shell { shell, text } => vec![shell.clone().into(), "-c".into(), text.into()],
        Program::Exec { program, args } => std::iter::once(program).chain(args).cloned().collect(),
    };
    // What may outlive the host is not its, should somebody look for what is.
    let host_marker = if spec.persist { None } else { Some(host.marker()) };
    let asked = Asked { argv, environment, cwd: spec.cwd.clone() };
    let prepared = asked.prepare(&id, host_marker)?;
    let doing = if spec.pty.is_some() { "opening a terminal" } else { "making a pipe" };
    let (streams, ends) = open(&spec).map_err(|source| prepared.failed(doing, source))?;
    let guardian = if spec.persist { None } else { host.guardian() };
    let leader = prepared.start(&id, guardian, streams)?;
    Ok(Newborn { host, id, leader, ends, spec })
}

/// A program that is asked for, whatever its streams are.
pub(crate) struct Asked {
    /// Its name, or the path of its file, and its arguments.
    pub(crate) argv: Vec<OsString>,
    /// Its environment, markers apart.
    pub(crate) environment: Environment,
    /// The folder to run in; none: that of the host.
    pub(crate) cwd: Option<PathBuf>,
}

/// A program that was found and can be started.
pub(crate) struct Prepared {
    /// Its name as errors quote it.
    program: String,
    path: PathBuf,
    cwd: Option<PathBuf>,
    image: Image,
}

impl Asked {
    /// Finds the program and puts together what the kernel needs. It will carry the marker of its process, and the one of
    /// its host where there is one. Blocks.
    pub(crate) fn prepare(mut self, id: &ProcessId, host_marker: Option<&str>) -> Result<Prepared, SpawnError> {
        let name = self.argv.first().cloned().unwrap_or_default();
        if let Some(cwd) = &self.cwd {
            check_folder(cwd)?;
        }
        let path = find_program(&name, &self.environment, self.cwd.as_deref())?;
        if let Some(name) = self.environment.impossible_name() {
            return Err(SpawnError::Impossible { what: format!("the environment variable '{}'", shown(name)) });
        }
        self.environment.set(PROCESS_MARKER, id.as_str());
        match host_marker {
            Some(marker) => self.environment.set(HOST_MARKER, marker),
            None => self.environment.unset(HOST_MARKER),
        };
        let image = image(&path, self.argv, &self.environment, self.cwd.as_deref())?;
        Ok(Prepared { program: shown(&name), path, cwd: self.cwd, image })
    }
}

impl Prepared {
    /// Starts it on these streams, of which the host then has its own ends only, in the protection of `guardian`. Needs a
    /// runtime, and blocks.
    pub(crate) fn start(
        self,
        id: &ProcessId,
        guardian: Option<Arc<Guardian>>,
        streams: Streams,
    ) -> Result<Leader, SpawnError> {
        let leader = Leader::start(id, guardian, || launch::launch(&self.image, &streams));
        // From here on only the child holds what it was given.
        drop(streams);
        leader.map_err(|error| launch_error(error, &self.program, &self.path, self.cwd.as_deref()))
    }

    /// What to say when hermes itself could not do something for it.
    pub(crate) fn failed(&self, doing: &'static str, source: io::Error) -> SpawnError {
        SpawnError::Host { program: self.program.clone(), doing, source }
    }
}

/// Opens what a command prints to and reads from: the child's ends and the host's.
fn open(spec: &CommandSpec) -> io::Result<(Streams, Ends)> {
    if let Some(size) = spec.pty {
        let (master, name) = pty::open(size)?;
        return Ok((Streams::Terminal(name), Ends::Terminal(master)));
    }
    let (captured, output) = io::pipe()?;
    let (input, sent) = match spec.stdin {
        Stdin::Null => (Input::Null, None),
        Stdin::Inherit => (Input::Inherit, None),
        Stdin::Pipe => {
            let (input, sent) = io::pipe()?;
            (Input::Pipe(input), Some(OwnedFd::from(sent)))
        }
    };
    Ok((Streams::Pipe { input, output }, Ends::Pipes { output: OwnedFd::from(captured), input: sent }))
}

fn check_folder(folder: &Path) -> Result<(), SpawnError> {
    let reason = match std::fs::metadata(folder) {
        Ok(found) if !found.is_dir() => BadFolder::NotADirectory,
        Ok(_) if rustix::fs::access(folder, rustix::fs::Access::EXEC_OK).is_ok() => return Ok(()),
        Ok(_) => BadFolder::Permission,
        Err(error) => match error.kind() {
            io::ErrorKind::PermissionDenied => BadFolder::Permission,
            io::ErrorKind::NotADirectory => BadFolder::NotADirectory,
            _ => BadFolder::Missing,
        },
    };
    Err(SpawnError::Folder { folder: shown(folder.as_os_str()), reason })
}

fn find_program(name: &OsStr, environment: &Environment, cwd: Option<&Path>) -> Result<PathBuf, SpawnError> {
    let program = shown(name);
    resolve::resolve(name, environment.get("PATH"), cwd).map_err(|why| match why {
        Unresolved::NotFound => {
            let place = if name.as_bytes().contains(&b'/') { "" } else { " in PATH" };
            SpawnError::NotFound { program, place }
        }
        Unresolved::IsADirectory => {
            SpawnError::NotRunnable { program, reason: NotRunnable::IsADirectory, source: None }
        }
        Unresolved::NotExecutable => SpawnError::NotRunnable { program, reason: NotRunnable::Permission, source: None },
    })
}

fn image(path: &Path, argv: Vec<OsString>, environment: &Environment, cwd: Option<&Path>) -> Result<Image, SpawnError> {
    let text =
        |bytes: Vec<u8>, what: &str| CString::new(bytes).map_err(|_| SpawnError::Impossible { what: what.to_owned() });
    let argv: Result<_, _> = argv.into_iter().map(|word| text(word.into_vec(), "an argument")).collect();
    let entry = |(name, value): (&OsStr, &OsStr)| {
        text([name.as_bytes(), b"=", value.as_bytes()].concat(), "an environment variable")
    };
    let envp: Result<_, _> = environment.iter().map(entry).collect();
    Ok(Image {
        path: text(path.as_os_str().as_bytes().to_vec(), "the program's name")?,
        argv: argv?,
        envp: envp?,
        cwd: cwd.map(|cwd| text(cwd.as_os_str().as_bytes().to_vec(), "the folder's name")).transpose()?,
    })
}

/// What a refused launch means. The program and the folder were there a moment ago, and may have gone since.
fn launch_error(error: io::Error, program: &str, path: &Path, cwd: Option<&Path>) -> SpawnError {
    let program = program.to_owned();
    let seen = cwd.map_or_else(|| path.to_owned(), |cwd| cwd.join(path));
    let reason = match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT | Errno::NOTDIR) => match resolve::missing_interpreter(&seen) {
            Some(name) => NotRunnable::Interpreter(shown(&name)),
            // The file is there, so it is what the file needs that is not: its dynamic loader, for a program.
            None if seen.exists() => NotRunnable::Format,
            None => return SpawnError::NotFound { program, place: "" },
        },
        Some(Errno::ACCESS | Errno::PERM) => NotRunnable::Permission,
        Some(Errno::NOEXEC | Errno::LIBBAD) => NotRunnable::Format,
        Some(Errno::TOOBIG) => NotRunnable::TooLong,
        Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) | None => {
            return SpawnError::Host { program, doing: "starting a process", source: error };
        }
        Some(_) => NotRunnable::Other,
    };
    SpawnError::NotRunnable { program, reason, source: Some(error) }
}
