//! What is asked for: a command, where it runs, with what, and for how long.
//!
//! Nothing here has a `Debug` or `Display` that shows arguments or values: both are raw.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use hermes_model::id::Owner;

use crate::environment::Environment;

/// How long a tree may take to end by itself after SIGTERM before it is killed, where nobody says otherwise
/// (`terminal.term_grace` in the configuration).
pub const TERM_GRACE: Duration = Duration::from_secs(2);

/// How much of the end of the output is kept where nobody says otherwise (`output.ring_bytes` in the configuration).
pub const RING_BYTES: usize = 8 << 20;

/// What to run.
#[derive(Clone)]
pub enum Program {
    /// A text for a shell: `SHELL -c TEXT`.
    Shell {
        /// The shell, as a path or a name to look up in `PATH`.
        shell: PathBuf,
        /// The text, as it was given.
        text: String,
    },
    /// A program and its arguments, started without a shell.
    Exec {
        /// A path, or a name to look up in the child's `PATH`.
        program: OsString,
        /// The arguments after the program's name.
        args: Vec<OsString>,
    },
}

/// What the command reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing: `/dev/null`, so that a command that asks gets an end of file and not a wait for ever.
    #[default]
    Null,
    /// What hermes itself reads.
    Inherit,
    /// What is sent to it, through [`Process::send`](crate::running::handle::Process::send), until it is closed.
    Pipe,
}

/// How many rows a terminal has where nobody says otherwise: enough for a table, few enough for a reader.
pub const PTY_ROWS: u16 = 30;

/// How many columns a terminal has where nobody says otherwise: the width most tools lay their output out for.
pub const PTY_COLS: u16 = 120;

/// The size of a terminal, in characters. Zero means "not known" to most programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PtySize {
    /// Lines.
    pub rows: u16,
    /// Characters in a line.
    pub cols: u16,
}

impl Default for PtySize {
    fn default() -> Self {
        Self { rows: PTY_ROWS, cols: PTY_COLS }
    }
}

/// Who reads the output as it arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Live {
    /// Nobody.
    #[default]
    None,
    /// A reader who gets every byte: the command waits while the reader does, as on any pipe.
    Steady,
    /// A reader who never slows the command: what it is too slow for is skipped and counted.
    Tap,
}

/// Everything a command is started with.
#[derive(Clone)]
pub struct CommandSpec {
    /// What to run.
    pub program: Program,
    /// The folder to run in; none: that of the host.
    pub cwd: Option<PathBuf>,
    /// The environment, markers apart.
    pub environment: Environment,
    /// How long it may run; none: for ever.
    pub timeout: Option<Duration>,
    /// How long its tree may take to end by itself after SIGTERM; zero: it is killed at once after SIGTERM.
    pub term_grace: Duration,
    /// Who may see and end it.
    pub owner: Owner,
    /// What it reads, where it has no terminal.
    pub stdin: Stdin,
    /// The size of the terminal it runs on; none: it has none. A terminal takes the place of `stdin` and of both outputs.
    pub pty: Option<PtySize>,
    /// How many bytes of the end of its output are kept.
    pub ring_bytes: usize,
    /// Whether somebody will read the output as it arrives, through
    /// [`Process::take_live`](crate::running::handle::Process::take_live), and who waits for whom then.
    pub live: Live,
    /// The text for the shell as it was asked for, where what runs was made of it.
    pub as_asked: Option<String>,
    /// Whether it may outlive a host that is killed: it does not carry the host's marker then.
    pub persist: bool,
}

impl CommandSpec {
    /// A command with the defaults: own environment, no time limit, nothing to read, no terminal, no live view.
    pub fn new(program: Program) -> Self {
        Self {
            program,
            cwd: None,
            environment: Environment::inherit(),
            timeout: None,
            term_grace: TERM_GRACE,
            owner: Owner::default(),
            stdin: Stdin::Null,
            pty: None,
            ring_bytes: RING_BYTES,
            live: Live::None,
            as_asked: None,
            persist: false,
        }
    }

    /// The command as a person would type it. Raw text: it may hold secrets and must go through the policy.
    pub fn display_command(&self) -> String {
        if let Some(asked) = &self.as_asked {
            return asked.clone();
        }
        match &self.program {
            Program::Shell { text, .. } => text.clone(),
            Program::Exec { program, args } => {
                let words: Vec<String> =
                    std::iter::once(program).chain(args).map(|word| quoted(&word.to_string_lossy())).collect();
                words.join(" ")
            }
        }
    }

    /// The name errors may show: the program or shell, without control characters, and no argument.
    pub(crate) fn shown_program(&self) -> String {
        shown(match &self.program {
            Program::Shell { shell, .. } => shell.as_os_str(),
            Program::Exec { program, .. } => program,
        })
    }
}

/// The longest name or path an error quotes, in characters. Whoever shows such an error must not show a part of a longer
/// one: a part of a secret is not recognised as one.
pub const SHOWN_MAX: usize = 200;

/// A name as errors quote it: no control characters, and not without end.
pub(crate) fn shown(name: &OsStr) -> String {
    name.to_string_lossy().chars().filter(|c| !c.is_control()).take(SHOWN_MAX).collect()
}

/// Quotes a word for a POSIX shell, where it needs quotes.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_it_would_be_typed() {
        let exec = |words: &[&str]| {
            CommandSpec::new(Program::Exec {
                program: words[0].into(),
                args: words[1..].iter().map(OsString::from).collect(),
            })
            .display_command()
        };
        assert_eq!(exec(&["ls", "-l", "a b", "", "it's"]), r"ls -l 'a b' '' 'it'\''s'");
        let shell = Program::Shell { shell: "/bin/sh".into(), text: "echo \"$HOME\"".into() };
        assert_eq!(CommandSpec::new(shell).display_command(), "echo \"$HOME\"");
    }

    #[test]
    fn an_error_shows_the_program_and_no_argument() {
        let spec = CommandSpec::new(Program::Exec { program: "a\u{1b}b".into(), args: vec!["--token=x".into()] });
        assert_eq!(spec.shown_program(), "ab");
    }
}
