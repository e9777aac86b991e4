//! What programs run that run other things: shells, scripts, other languages, and programs that take commands.
//!
//! It must never read a script that nobody runs, and never leave one out that somebody does.

use std::path::PathBuf;

use super::super::args::{Arg, UNKNOWN, program_name};
use super::super::killers::plain_path;
use super::super::limits::DEPTH_MAX;
use super::super::printed::{self, Printed};
use super::super::scripts::ScriptRead;
use super::super::words::{NESTING_MAX, Redirection};
use super::super::{Reason, foreign};
use super::{Place, SHELLS, Walk, Walked};

/// Interpreters of other languages, by the start of their names.
const LANGUAGES: [&str; 12] =
    ["python", "pypy", "perl", "ruby", "node", "deno", "bun", "php", "lua", "awk", "osascript", "tclsh"];
/// How many arguments of a payload or script are followed.
const VALUES: usize = 16;
impl Walk<'_> {
    /// A text that a shell is told to run. What it gets from a substitution is what the text prints.
    pub(super) fn payload(&mut self, text: &str, place: &Place<'_>) -> Walked {
        let begins = |command: &str| command.trim_start().starts_with(UNKNOWN);
        if text.split([';', '|', '&', '\n', '(', '{']).any(begins) {
            self.run_printed(place)?;
        }
        self.text(text, place.depth + 1)
    }

    pub(super) fn shell(&mut self, name: &str, args: &[Arg], place: &Place<'_>) -> Walked {
        let mut at = 0;
        let (mut runs_text, mut reads_input) = (false, false);
        while let Some(text) = args.get(at).map(Arg::text) {
            let Some(letters) = text.strip_prefix(['-', '+']) else { break };
            at += 1;
            match letters {
                "-" => break,
                "" => {
                    reads_input = true;
                    break;
                }
                "-rcfile" | "-init-file" | "o" | "O" => at += 1,
                "-command" | "Command" | "command" => runs_text = true,
                "File" | "file" => {}
                _ if letters.starts_with('-') => {}
                _ if name.starts_with('p') => {}
                _ => {
                    runs_text |= letters.contains('c');
                    reads_input |= letters.contains('s');
                    // `-eo pipefail`: the value of the last letter follows.
                    at += usize::from(letters.ends_with(['o', 'O']));
                }
            }
        }
        runs_text |= name.starts_with('p') && args.iter().any(|arg| arg.text() == "-c");
        let rest = args.get(at..).unwrap_or_default();
        let Some((first, more)) = rest.split_first().filter(|_| runs_text || !reads_input) else {
            return self.shell_input(place);
        };
        if runs_text && name.starts_with('p') {
            return self.payload(&rest.iter().map(Arg::text).collect::<Vec<_>>().join(" "), place);
        }
        if runs_text {
            self.bind(more.split_first().map(|(_, arguments)| arguments).unwrap_or_default());
            return self.payload(first.text(), place);
        }
        self.script(first.text(), more, true, place)
    }

    /// Gives a payload or script its arguments.
    pub(super) fn bind(&mut self, args: &[Arg]) {
        for (index, arg) in args.iter().enumerate().take(VALUES) {
            self.variables.add(&(index + 1).to_string(), arg.text());
            self.variables.add("@", arg.text());
            self.variables.add("*", arg.text());
        }
    }

    /// A shell reads its commands: from a file, or from whatever the text prints.
    fn shell_input(&mut self, place: &Place<'_>) -> Walked {
        for redirection in place.now.into_iter().flat_map(|simple| &simple.redirections) {
            if let Redirection::From(word) = redirection {
                for path in self.variables.expand(word, &mut self.judge.budget)? {
                    self.script(path.text(), &[], true, place)?;
                }
            }
        }
        self.run_printed(place)
    }

    pub(super) fn printed(&mut self, place: &Place<'_>) -> Result<Printed, Reason> {
        printed::read(place.list, &self.variables, &mut self.judge.budget)
    }

    /// Reads what the text prints as a text for a shell: once.
    pub(super) fn run_printed(&mut self, place: &Place<'_>) -> Walked {
        if place.printed_was_run.replace(true) {
            return Ok(());
        }
        let printed = self.printed(place)?;
        for text in printed.texts.iter().chain(&printed.others) {
            self.text(text, place.depth + 1)?;
        }
        for path in &printed.files {
            self.script(path, &[], true, place)?;
        }
        Ok(())
    }

    pub(super) fn find(&mut self, args: &[Arg], place: &Place<'_>) -> Walked {
        let starts = ["-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch"];
        let mut rest = args;
        while let Some(start) = rest.iter().position(|arg| starts.contains(&arg.text())) {
            rest = &rest[start + 1..];
            let end = rest.iter().position(|arg| [";", "+"].contains(&arg.text())).unwrap_or(rest.len());
            if place.depth >= DEPTH_MAX {
                return Err(Reason::TooDeep);
            }
            self.program(rest[..end].to_vec(), &Place { depth: place.depth + 1, ..*place })?;
            rest = &rest[end..];
        }
        Ok(())
    }

    /// A program that takes a command among words of its own: each word that may begin it does.
    pub(super) fn loose(&mut self, args: &[Arg], place: &Place<'_>) -> Walked {
        for arg in args.iter().filter(|arg| arg.text().contains(char::is_whitespace)) {
            self.payload(arg.text(), place)?;
        }
        let first = args.iter().position(|arg| self.is_known_program(program_name(arg.text())));
        match first {
            Some(_) if place.depth >= DEPTH_MAX => Err(Reason::TooDeep),
            Some(first) => self.program(args[first..].to_vec(), &Place { depth: place.depth + 1, ..*place }),
            None => Ok(()),
        }
    }

    fn is_known_program(&self, name: &str) -> bool {
        let killers = ["pkill", "killall", "kill", "skill", "fuser", "systemctl", "sudo", "env"];
        killers.contains(&name) || SHELLS.contains(&name) || self.judge.is_image(name)
    }

    /// A program in another language that stands in the command, or that its interpreter reads.
    pub(super) fn language(&mut self, name: &str, args: &[Arg], place: &Place<'_>) -> Walked {
        let all = name == "sed" || name.ends_with("awk");
        let mut is_program = all;
        for arg in args {
            let text = arg.text();
            if is_program && !text.starts_with('-') {
                self.foreign(text, place)?;
            }
            is_program = all || is_inline(text);
            if let Some((_, inline)) = text.split_once('=').filter(|(option, _)| is_inline(option)) {
                self.foreign(inline, place)?;
            }
        }
        if !all && args.iter().all(|arg| arg.text().starts_with('-') && !is_inline(arg.text())) {
            for text in self.printed(place)?.texts {
                self.foreign(&text, place)?;
            }
        }
        Ok(())
    }

    fn foreign(&mut self, text: &str, place: &Place<'_>) -> Walked {
        if place.depth >= DEPTH_MAX {
            return Err(Reason::TooDeep);
        }
        self.judge.budget.text(text)?;
        let found = foreign::read(text);
        if found.kills && found.numbers.iter().any(|number| number.abs() == i64::from(self.judge.guarded.pid)) {
            return Err(Reason::ByNumber);
        }
        self.judge.evidence.kills |= found.kills;
        for pattern in &found.patterns {
            self.judge.filter(pattern, false)?;
        }
        for literals in found.literals {
            for literal in &literals {
                self.text(literal, place.depth + 1)?;
            }
            if literals.len() > 1 {
                let deeper = Place { depth: place.depth + 1, ..*place };
                self.program(literals.into_iter().map(Arg).collect(), &deeper)?;
            }
        }
        Ok(())
    }

    pub(super) fn at_home(&self, path: &str) -> PathBuf {
        match (path.strip_prefix("~/"), &self.judge.guarded.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(path),
        }
    }

    /// Reads a script. `by_shell`: a shell was told to; otherwise its first line says who runs it.
    pub(super) fn script(&mut self, path: &str, args: &[Arg], by_shell: bool, place: &Place<'_>) -> Walked {
        let is_input = ["-", "/dev/stdin", "/proc/self/fd/0"].contains(&path) || path.starts_with("/dev/fd/");
        if is_input || path.contains(UNKNOWN) {
            return if by_shell { self.run_printed(place) } else { Ok(()) };
        }
        let path = plain_path(&self.folder.join(self.at_home(path)));
        let shown = path.to_string_lossy().into_owned();
        let words: Vec<&str> = args.iter().map(Arg::text).collect();
        let key = format!("{by_shell}\0{shown}\0{}", words.join("\0"));
        if !self.seen.insert(key) {
            return Ok(());
        }
        self.judge.budget.script()?;
        self.bind(args);
        for (written, texts) in self.printed(place)?.written {
            if plain_path(&self.folder.join(self.at_home(&written))) == path {
                texts.iter().try_for_each(|text| self.text(text, place.depth + 1))?;
            }
        }
        match self.scripts.read(&path) {
            ScriptRead::Text(text) if by_shell || is_for_shell(&text) => self.text(&text, place.depth + 1),
            ScriptRead::Text(_) | ScriptRead::Nothing => Ok(()),
            // The kernel runs binaries we may not read, and no script.
            ScriptRead::Denied if by_shell => Err(Reason::ScriptDenied),
            ScriptRead::Denied => Ok(()),
            ScriptRead::NoRegularFile => Err(Reason::ScriptIsNoFile),
            ScriptRead::TooLarge { first_line } if by_shell || is_for_shell(&first_line) => Err(Reason::TooLong),
            ScriptRead::TooLarge { .. } => Ok(()),
        }
    }
}

/// Whether a program is an interpreter of another language.
pub(super) fn is_language(name: &str) -> bool {
    LANGUAGES.iter().any(|language| name.starts_with(language)) || ["gawk", "mawk", "nawk"].contains(&name)
}

/// Whether an option says that the next word is a program.
fn is_inline(option: &str) -> bool {
    let long = ["--eval", "--print", "--exec", "eval"].contains(&option);
    long || (option.starts_with('-') && !option.starts_with("--") && option.ends_with(['c', 'e', 'E', 'r', 'p']))
}

/// Whether the first line leaves a script to a shell, as it also does by saying nothing.
fn is_for_shell(text: &str) -> bool {
    let Some(line) = text.strip_prefix("#!") else { return true };
    let line = line.lines().next().unwrap_or_default();
    line.split_whitespace().any(|word| SHELLS.contains(&program_name(word)))
}

const _: () = assert!(DEPTH_MAX < NESTING_MAX);
