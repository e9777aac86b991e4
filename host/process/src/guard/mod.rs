//! Whether a command would end the host that is asked to run it: by name, by number, by service, by its files.
//!
//! Pure reading of text. It must never run or expand anything, never quote a command in what it answers, and never let
//! a command pass because it was too large or too deep to read. It is a rail, not a wall: a program that is written to
//! end the host will end it; a command that would do so by accident will not.

use std::fmt;
use std::path::PathBuf;

mod args;
mod evidence;
mod expand;
mod foreign;
mod killers;
mod limits;
mod pattern;
mod printed;
mod quotes;
pub mod scripts;
mod services;
mod walk;
mod windows;
mod words;
mod wrappers;

use scripts::Scripts;

/// A command as it is about to be run.
#[derive(Clone, Copy)]
pub enum Command<'a> {
    /// A text for a shell.
    Shell(&'a str),
    /// A program and its arguments, started without a shell. The first word is the program.
    Exec(&'a [String]),
}

/// What is known of the host that must not be ended. Raw text, so it is not shown.
#[derive(Clone)]
pub struct Guarded {
    /// File names of the program the host runs as, without folder: `hermes`, and others it may run under.
    pub images: Vec<String>,
    /// Its command line, words joined by spaces: what `pkill -f` searches.
    pub command_line: String,
    /// Its number.
    pub pid: i32,
    /// Its units and labels, without `.service`.
    pub units: Vec<String>,
    /// The socket it listens on.
    pub socket: Option<PathBuf>,
    /// The file its number is written in.
    pub pid_file: Option<PathBuf>,
    /// The user it runs as, by name and by number. Empty: unknown, and then every user may be this one.
    pub users: Vec<String>,
    /// The home folder of that user, for `~` and `$HOME`.
    pub home: Option<PathBuf>,
}

/// The name of our program.
const IMAGE: &str = "hermes";
/// The service the host runs as.
const UNITS: [&str; 2] = ["hermes", "hermes-serve"];

impl Guarded {
    /// A host with this number and command line, under our own names and with no files.
    pub fn new(pid: i32, command_line: impl Into<String>) -> Self {
        Self {
            images: vec![IMAGE.to_owned()],
            command_line: command_line.into(),
            pid,
            units: UNITS.map(str::to_owned).to_vec(),
            socket: None,
            pid_file: None,
            users: Vec::new(),
            home: None,
        }
    }
}

/// Why a command is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It would kill processes by a name, a pattern or a user that is the host's.
    ByName,
    /// It would kill the process with the host's number, or the group of that number.
    ByNumber,
    /// It would kill every process there is.
    Everything,
    /// It would kill what the host's pid file names.
    ByPidFile,
    /// It would kill whoever has the host's socket open.
    BySocket,
    /// It would end the session or the user manager the host may run in.
    BySession,
    /// It would stop or restart the host's service.
    ByService,
    /// It would ask the host to stop.
    ByOwnVerb,
    /// Its payloads, scripts or substitutions stand too deep in each other to be read.
    TooDeep,
    /// Too many programs stand in front of the one it runs.
    TooManyWrappers,
    /// It is too long to be read, scripts included.
    TooLong,
    /// It has too many lines, scripts included.
    TooManyLines,
    /// A line of it is too long.
    LineTooLong,
    /// It runs too many scripts.
    TooManyScripts,
    /// A pattern or its variables are too large to be judged.
    TooMuchWork,
    /// A script it runs is a device, a pipe or a socket.
    ScriptIsNoFile,
    /// A script it runs cannot be read.
    ScriptDenied,
}

impl Reason {
    fn sentence(self) -> &'static str {
        match self {
            Self::ByName => "it kills by a name, a pattern or a user that is also the host's",
            Self::ByNumber => "it kills the process or the group with the host's own number",
            Self::Everything => "it kills every process",
            Self::ByPidFile => "it kills what the host's pid file names",
            Self::BySocket => "it kills whoever has the host's socket open",
            Self::BySession => "it ends a login session or user the host may run in",
            Self::ByService => "it stops or restarts the host's service",
            Self::ByOwnVerb => "it asks the host to stop",
            Self::TooDeep => {
                "payloads, scripts or substitutions stand more than 8 deep in each other (substitutions 16)"
            }
            Self::TooManyWrappers => "more than 8 programs stand in front of the one it runs",
            Self::TooLong => "it is longer than 1 MiB with the scripts it runs",
            Self::TooManyLines => "it has more than 16384 lines with the scripts it runs",
            Self::LineTooLong => "a line of it, or of a script it runs, is longer than 64 KiB",
            Self::TooManyScripts => "it runs more than 1024 scripts",
            Self::TooMuchWork => "its patterns or variables are too large to be judged",
            Self::ScriptIsNoFile => "a script it runs is a device, a pipe or a socket",
            Self::ScriptDenied => "a script it runs cannot be read",
        }
    }

    /// Whether the command was not judged because it could not be read.
    pub fn is_unread(self) -> bool {
        match self {
            Self::ByName
            | Self::ByNumber
            | Self::Everything
            | Self::ByPidFile
            | Self::BySocket
            | Self::BySession
            | Self::ByService
            | Self::ByOwnVerb => false,
            Self::TooDeep
            | Self::TooManyWrappers
            | Self::TooLong
            | Self::TooManyLines
            | Self::LineTooLong
            | Self::TooManyScripts
            | Self::TooMuchWork
            | Self::ScriptIsNoFile
            | Self::ScriptDenied => true,
        }
    }

    fn alternatives(self) -> &'static str {
        match self {
            Self::ByService | Self::ByOwnVerb | Self::BySession => {
                "ask a person to stop or restart the host from outside of it; looking at it (status, is-active) is allowed"
            }
            Self::ByName | Self::ByNumber | Self::Everything | Self::ByPidFile | Self::BySocket => {
                "end a process that was started here by its proc_ id (hermes kill ID, or the tool process), or any other \
                 by its own number: kill PID"
            }
            Self::ScriptIsNoFile | Self::ScriptDenied => {
                "write the script to a regular file that can be read, and run that"
            }
            Self::TooDeep
            | Self::TooManyWrappers
            | Self::TooLong
            | Self::TooManyLines
            | Self::LineTooLong
            | Self::TooManyScripts
            | Self::TooMuchWork => "run it in smaller parts, or put data into files that are not run",
        }
    }
}

/// A command that is not run. What it shows are our words alone, never the command's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Which rule.
    pub reason: Reason,
    /// What to do instead.
    pub alternatives: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.reason.is_unread() {
            "the command was not run, because nobody can tell whether it would end the host that runs it"
        } else {
            "the command was not run, because it would end the host that runs it"
        };
        write!(f, "{what}: {}; {}", self.reason.sentence(), self.alternatives)
    }
}

impl std::error::Error for Refused {}

/// Says whether a command may run. Scripts that it names are read through `scripts`.
///
/// # Errors
/// It would end the host, or it is too large or too deep to tell.
pub fn check(command: &Command<'_>, guarded: &Guarded, scripts: &dyn Scripts) -> Result<(), Refused> {
    walk::command(command, guarded, scripts)
        .map_err(|reason| Refused { reason, alternatives: reason.alternatives().to_owned() })
}

#[cfg(test)]
mod tests;
