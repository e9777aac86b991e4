//! The one place that writes to stdout and stderr.
//!
//! A reader that went away (`| head -1`) ends the printing quietly. No control character of a text reaches a terminal,
//! whoever wrote the text.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use hermes_mcp::told::Told;
use hermes_model::exit;
use hermes_output::visible::Visible;
use hermes_process::environment::Environment;
use serde::Serialize;

use crate::cli::{Color, Global};
use crate::report::Report;

/// How a word is shown on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    Warning,
    Faint,
    Strong,
}

impl Tone {
    /// The colour's number (ECMA-48, select graphic rendition).
    fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Bad => "31",
            Self::Warning => "33",
            Self::Faint => "2",
            Self::Strong => "1",
        }
    }
}

/// Writes what the verbs have to say. Cloning it gives another handle to the same.
#[derive(Clone, Debug)]
pub(crate) struct Printer {
    json: bool,
    quiet: bool,
    colour_stdout: bool,
    colour_stderr: bool,
    /// The first failure of stdout.
    failed: Arc<OnceLock<io::Error>>,
}

impl Printer {
    /// The printer the flags ask for.
    pub(crate) fn new(global: &Global) -> Self {
        let wanted = |terminal: bool| match global.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && allows_colour(&Environment::inherit()),
        };
        Self {
            json: global.json,
            quiet: global.quiet,
            colour_stdout: wanted(io::stdout().is_terminal()),
            colour_stderr: wanted(io::stderr().is_terminal()),
            failed: Arc::default(),
        }
    }

    /// Whether one JSON document is asked for.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether a person watches stderr and wants to hear.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// Whether a person watches stdout.
    pub(crate) fn has_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// A word for stdout in a tone, if stdout gets colour.
    pub(crate) fn paint(&self, tone: Tone, word: &str) -> String {
        painted(self.colour_stdout, tone, word)
    }

    /// One line on stdout.
    pub(crate) fn line(&self, line: &str) {
        // A failure is remembered for `finish`.
        let _ = self.write(&format!("{}\n", clean(line)));
    }

    /// One line on stdout that only confirms what was asked for.
    pub(crate) fn confirm(&self, line: &str) {
        if !self.quiet {
            self.line(line);
        }
    }

    /// What a command printed, on stdout as it is, at once. Only text that went through the policy has this type.
    ///
    /// # Errors
    /// Stdout takes no more. It is remembered for [`Printer::finish`], so that most callers need not look.
    pub(crate) fn show(&self, text: &Visible) -> io::Result<()> {
        self.write(text.as_str())
    }

    /// Ends a line that what was shown left open.
    pub(crate) fn end_line(&self) {
        // A failure is remembered for `finish`.
        let _ = self.write("\n");
    }

    /// A script of hermes' own on stdout, as it is.
    pub(crate) fn script(&self, text: &str) {
        // A failure is remembered for `finish`.
        let _ = self.write(text);
    }

    fn write(&self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).inspect_err(|error| {
            // The error itself goes to the caller.
            let copy = error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
            let _ = self.failed.set(copy);
        })
    }

    /// Whether stdout took no more at some point.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.get().is_some()
    }

    /// The one JSON document, on stdout.
    pub(crate) fn document(&self, document: &impl Serialize) {
        match serde_json::to_string_pretty(document) {
            Ok(text) => self.line(&text),
            Err(error) => self.warn(&format!("the JSON document could not be written: {error}")),
        }
    }

    /// A document of the running host, on stdout.
    pub(crate) fn told_document(&self, told: &Told) {
        self.line(&told.as_pretty_json_text());
    }

    /// One line on stdout with text of the running host, which is revealed there.
    pub(crate) fn told_line(&self, line: &str) {
        self.line(line);
    }

    /// What a process printed, as the running host reveals it, on stdout as it is.
    pub(crate) fn told_text(&self, text: &str) {
        // A failure is remembered for `finish`. The host removed control characters; another program may only pretend.
        let _ = self.write(&clean(text));
        if self.has_terminal() && !text.is_empty() && !text.ends_with('\n') {
            self.end_line();
        }
    }

    /// Something that is not as it should be, on stderr.
    pub(crate) fn warn(&self, text: &str) {
        say(&format!("{} {}\n", painted(self.colour_stderr, Tone::Warning, "warning:"), clean(text)));
    }

    /// Something hermes has to say beside the output of a command, on stderr.
    pub(crate) fn own(&self, text: &str) {
        say(&format!("hermes: {}\n", clean(text)));
    }

    /// What a command printed, on stderr as it is.
    pub(crate) fn show_on_stderr(&self, text: &Visible) {
        say(text.as_str());
    }

    /// A failure: on stderr for people, and as the document where one was asked for.
    pub(crate) fn report(&self, report: &Report) {
        say(&clean(&report.to_text(|tone, word| painted(self.colour_stderr, tone, word))));
        if self.json {
            self.document(&report.document());
        }
    }

    /// What was wrong with the usage, as clap words it: on stderr for people, and as the document where one is asked for.
    pub(crate) fn usage(&self, text: &str) {
        say(&clean(text));
        if self.json {
            let (message, hint) = text.split_once("\n\n").unwrap_or((text, ""));
            let message = message.trim_start_matches("error: ").trim();
            self.document(&Report::new(message).hint(hint.trim()).document());
        }
    }

    /// The exit code of the program, which a stdout that failed changes: what was asked for did not arrive.
    pub(crate) fn finish(&self, code: i32) -> ExitCode {
        let code = match self.failed.get().filter(|error| error.kind() != io::ErrorKind::BrokenPipe) {
            Some(error) => {
                say(&format!("error: stdout cannot be written: {error}\n"));
                if code == exit::OK { exit::FAILED } else { code }
            }
            None => code,
        };
        ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
    }
}

/// Writes to stderr. There is nowhere to say that it fails.
fn say(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Prints what clap says by itself (help, version), in its colours.
pub(crate) fn print_help(help: &clap::Error) {
    // A reader that went away needs no help.
    let _ = help.print();
}

/// Whether the environment allows colour: `NO_COLOR` is not set to anything (no-color.org), and the terminal has some.
fn allows_colour(environment: &Environment) -> bool {
    let set = |name: &str| environment.get(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && environment.get("TERM").is_none_or(|term| term != "dumb")
}

fn painted(colour: bool, tone: Tone, word: &str) -> String {
    if colour { format!("\u{1b}[{}m{word}\u{1b}[0m", tone.code()) } else { word.to_owned() }
}

/// A text without control characters other than newline, tab and colour: paths and names may hold anything, and a colour
/// does no harm.
fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_control() && !matches!(c, '\n' | '\t')) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let kept = colour_sequence(rest);
        out.push_str(&rest[..kept]);
        let passed = if kept > 0 { kept } else { rest.chars().next().map_or(0, char::len_utf8) };
        rest = &rest[passed..];
    }
    out.push_str(rest);
    out
}

/// The length of the colour sequence a text begins with: escape, `[`, digits, `m`.
fn colour_sequence(text: &str) -> usize {
    let Some(numbers) = text.strip_prefix("\u{1b}[") else { return 0 };
    match numbers.find(|c: char| !c.is_ascii_digit()) {
        Some(at) if numbers[at..].starts_with('m') => text.len() - numbers.len() + at + 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        Environment::from_pairs(pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())))
    }

    #[test]
    fn no_color_and_a_dumb_terminal_turn_colour_off() {
        assert!(allows_colour(&environment(&[])));
        assert!(allows_colour(&environment(&[("NO_COLOR", ""), ("TERM", "xterm")])));
        assert!(!allows_colour(&environment(&[("NO_COLOR", "1")])));
        assert!(!allows_colour(&environment(&[("TERM", "dumb")])));
    }

    #[test]
    fn no_control_character_of_a_text_reaches_a_terminal() {
        assert_eq!(clean("a\u{1b}[2Jb\u{7}\u{9b}c\nd\te\u{1b}"), "a[2Jbc\nd\te");
        assert_eq!(clean("\u{1b}[31mred\u{1b}[0m"), "\u{1b}[31mred\u{1b}[0m");
        assert_eq!(clean("\u{1b}[31"), "[31");
    }
}
