//! Follows a command to everything it would run: through operators, wrappers, payloads, scripts and other languages.
//!
//! It must never follow anything twice without paying for it, and never leave a payload out because it is inconvenient.

use std::cell::Cell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::args::{Arg, UNKNOWN, program_name};
use super::expand::Variables;
use super::killers::{Judge, plain_path};
use super::limits::{DEPTH_MAX, WRAPPERS_MAX};
use super::scripts::Scripts;
use super::words::{Parsed, Part, Redirection, Simple, TooNested, parse};
use super::wrappers::{self, Behind};
use super::{Command, Guarded, Reason, services, windows};

mod payloads;

use payloads::is_language;

/// Shells: what they are given, they run.
const SHELLS: [&str; 15] = [
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "mksh",
    "ash",
    "fish",
    "rbash",
    "csh",
    "tcsh",
    "yash",
    "ksh93",
    "pwsh",
    "powershell",
];
/// What a shell itself runs and what is told apart below.
const BUILTINS: [&str; 12] =
    ["eval", ".", "source", "trap", "alias", "set", "cd", "pushd", "export", "declare", "typeset", "readonly"];
/// Programs that start a shell where they are told no program.
const SHELLS_BY_DEFAULT: [&str; 7] = ["su", "sudo", "doas", "runuser", "chroot", "nsenter", "unshare"];
/// The longest path the kernel takes (`PATH_MAX`).
const PATH_MAX: usize = 4096;
/// Programs that run what they read, later or elsewhere on this machine.
const READERS: [&str; 3] = ["at", "batch", "parallel"];
/// Programs that take a command as words or as one text.
const LOOSE: [&str; 6] = ["watch", "tmux", "screen", "parallel", "entr", "Invoke-Expression"];
type Walked = Result<(), Reason>;

impl From<TooNested> for Reason {
    fn from(_: TooNested) -> Self {
        Self::TooDeep
    }
}

/// Checks a command.
pub(super) fn command(command: &Command<'_>, guarded: &Guarded, scripts: &dyn Scripts) -> Walked {
    let mut walk = Walk {
        judge: Judge::new(guarded),
        scripts,
        variables: Variables::default(),
        folder: PathBuf::new(),
        seen: HashSet::new(),
    };
    // The shell is our child, `$!` and `$$` are not the host, and a blank separates words.
    walk.variables.add("PPID", &guarded.pid.to_string());
    walk.variables.add("!", "$!");
    walk.variables.add("$", "$$");
    walk.variables.add("IFS", " ");
    if let Some(home) = guarded.home.as_deref().and_then(Path::to_str) {
        walk.variables.add("HOME", home);
    }
    match command {
        Command::Shell(text) => walk.text(text, 0)?,
        Command::Exec(words) => {
            let args: Vec<Arg> = words.iter().cloned().map(Arg).collect();
            words.iter().try_for_each(|word| walk.judge.budget.text(word))?;
            walk.program(args, &Place { list: &[], now: None, depth: 0, printed_was_run: &Cell::new(false) })?;
        }
    }
    walk.judge.evidence.verdict()
}

struct Walk<'a> {
    judge: Judge<'a>,
    scripts: &'a dyn Scripts,
    variables: Variables,
    /// Where relative paths begin: what `cd` was last told.
    folder: PathBuf,
    /// Scripts with their arguments that were read.
    seen: HashSet<String>,
}

/// Where a command stands.
#[derive(Clone, Copy)]
struct Place<'t> {
    /// The text it is part of.
    list: &'t [Simple],
    /// The command itself, if it is one of the text.
    now: Option<&'t Simple>,
    depth: usize,
    /// Whether what this text prints was already read as a text for a shell.
    printed_was_run: &'t Cell<bool>,
}

impl<'a> Walk<'a> {
    fn text(&mut self, text: &str, depth: usize) -> Walked {
        if depth > DEPTH_MAX {
            return Err(Reason::TooDeep);
        }
        self.judge.budget.text(text)?;
        let Parsed { list, broken } = parse(text)?;
        self.list(&list, &list, depth, &Cell::new(false))?;
        for line in text.split('\n').skip(1).filter(|_| broken) {
            self.judge.budget.text(line)?;
            let list = parse(line)?.list;
            self.list(&list, &list, depth, &Cell::new(false))?;
        }
        Ok(())
    }

    fn list(&mut self, list: &[Simple], whole: &[Simple], depth: usize, printed_was_run: &Cell<bool>) -> Walked {
        for simple in list {
            let place = Place { list: whole, now: Some(simple), depth, printed_was_run };
            self.nested(simple, place)?;
            self.simple(simple, place)?;
        }
        Ok(())
    }

    /// What runs while the words of a command are expanded.
    fn nested(&mut self, simple: &Simple, place: Place<'_>) -> Walked {
        for word in &simple.words {
            self.parts(&word.0, place)?;
        }
        for redirection in &simple.redirections {
            match redirection {
                Redirection::From(word) | Redirection::To(word) | Redirection::HereString(word) => {
                    self.parts(&word.0, place)?;
                }
                Redirection::Here(here) => {
                    let Some(here) = here.get() else { continue };
                    self.parts(&here.nested, place)?;
                    // Without its end, nobody knows where the shell goes on.
                    if !here.closed {
                        self.text(&here.text, place.depth + 1)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn parts(&mut self, parts: &[Part], place: Place<'_>) -> Walked {
        for part in parts {
            match part {
                Part::Substitution(inner) => self.list(inner, place.list, place.depth, place.printed_was_run)?,
                Part::Unknown(inner) | Part::Variable { default: inner, .. } => self.parts(inner, place)?,
                Part::Plain(_) | Part::Quoted(_) => {}
            }
        }
        Ok(())
    }

    fn simple(&mut self, simple: &Simple, place: Place<'_>) -> Walked {
        let mut args: Vec<Arg> = Vec::with_capacity(simple.words.len());
        // How many words the name of the program became.
        let (mut heads, mut may_be_nothing) = (0, 0);
        for word in &simple.words {
            let mut word = word;
            // `$(which pkill) x`: the last word of what is substituted stands in for the name.
            if heads == 0
                && let [Part::Substitution(inner)] = word.0.as_slice()
            {
                word = inner.last().and_then(|simple| simple.words.last()).unwrap_or(word);
                may_be_nothing = 1;
            }
            let mut made = self.variables.expand(word, &mut self.judge.budget)?;
            made.iter().try_for_each(|arg| self.mention(arg.text()))?;
            if heads == 0 {
                made.retain(|arg| !self.variables.assign(arg.text()));
                heads = made.len();
            }
            args.extend(made);
        }
        for redirection in &simple.redirections {
            if let Redirection::From(word) = redirection {
                for path in self.variables.expand(word, &mut self.judge.budget)? {
                    self.mention(path.text())?;
                }
            }
        }
        // A name with several values is each of them in turn, and one that cannot be told may be nothing.
        let mut starts = (heads + may_be_nothing).max(1);
        while starts < args.len() && !args[starts - 1].says_something() {
            starts += 1;
        }
        for start in 1..starts.min(args.len()) {
            self.judge.budget.work(args.iter().map(|arg| arg.text().len() + 1).sum())?;
            self.program(args[start..].to_vec(), &place)?;
        }
        self.program(args, &place)
    }

    /// Notes a word that says where the host's number stands, or where processes are listed.
    fn mention(&mut self, word: &str) -> Walked {
        self.judge.budget.work(self.folder.as_os_str().len() + word.len())?;
        self.judge.evidence.names_pid_file |= self.judge.is_pid_file(word)
            || word
                .strip_prefix("~/")
                .is_some_and(|rest| self.is_pid_file_under(self.judge.guarded.home.as_deref(), rest))
            || self.is_pid_file_under(Some(&self.folder), word);
        let process = word.strip_prefix("/proc/").and_then(|rest| rest.chars().next());
        self.judge.evidence.lists |= process.is_some_and(|c| c.is_ascii_digit() || "*[".contains(c) || c == UNKNOWN);
        Ok(())
    }

    fn is_pid_file_under(&self, folder: Option<&Path>, word: &str) -> bool {
        let file = self.judge.guarded.pid_file.as_ref();
        folder.is_some_and(|folder| file.is_some_and(|file| plain_path(&folder.join(word)) == *file))
    }

    fn program(&mut self, mut args: Vec<Arg>, place: &Place<'_>) -> Walked {
        for _ in 0..=WRAPPERS_MAX {
            let Some(first) = args.first() else { return Ok(()) };
            let is_xargs = program_name(first.text()) == "xargs";
            let is_own = self.is_own_program(program_name(first.text()));
            let is_shell_by_default = SHELLS_BY_DEFAULT.contains(&program_name(first.text()));
            let behind = if is_own { own_run(&args) } else { wrappers::peel(&args) };
            match behind {
                Some(Behind::Program(inner)) if is_xargs => {
                    let marker = wrappers::xargs_marker(&args);
                    args = self.with_input(inner, marker.as_deref(), place)?;
                }
                Some(Behind::Program(inner)) => args = inner,
                Some(Behind::Text(text)) => return self.payload(&text, place),
                Some(Behind::Nothing) if is_shell_by_default => return self.run_printed(place),
                Some(Behind::Nothing) => return Ok(()),
                None => return self.direct(&args, place),
            }
        }
        Err(Reason::TooManyWrappers)
    }

    /// Whether a program has our verbs. An interpreter that is guarded as well has not.
    fn is_own_program(&self, name: &str) -> bool {
        self.judge.is_image(name) && !is_language(name)
    }

    /// The arguments xargs makes of what it reads. Something it reads can never be told.
    fn with_input(&mut self, args: Vec<Arg>, marker: Option<&str>, place: &Place<'_>) -> Result<Vec<Arg>, Reason> {
        let printed = self.printed(place)?;
        let input: Vec<&str> = printed.texts.iter().flat_map(|text| text.split_whitespace()).collect();
        let Some(marker) = marker else {
            let more = input.into_iter().map(str::to_owned).chain([UNKNOWN.to_string()]).map(Arg);
            return Ok(args.into_iter().chain(more).collect());
        };
        let mut made = Vec::new();
        for arg in args {
            let unknown = arg.text().replace(marker, &UNKNOWN.to_string());
            for word in input.iter().filter(|_| unknown != arg.text()) {
                self.judge.budget.work(arg.text().len() + word.len())?;
                made.push(Arg(arg.text().replace(marker, word)));
            }
            made.push(Arg(unknown));
        }
        Ok(made)
    }

    fn direct(&mut self, args: &[Arg], place: &Place<'_>) -> Walked {
        let Some((first, rest)) = args.split_first() else { return Ok(()) };
        let name = program_name(first.text());
        // Builtins take `--` like programs do.
        let rest = match rest.split_first() {
            Some((dashes, more)) if dashes.text() == "--" && BUILTINS.contains(&name) => more,
            _ => rest,
        };
        let texts = || rest.iter().map(Arg::text);
        match name {
            _ if SHELLS.contains(&name) => return self.shell(name, rest, place),
            "eval" => return self.payload(&texts().collect::<Vec<_>>().join(" "), place),
            "." | "source" => {
                let Some((script, args)) = rest.split_first() else { return Ok(()) };
                return self.script(script.text(), args, true, place);
            }
            "trap" => return texts().next().map_or(Ok(()), |text| self.payload(text, place)),
            "alias" => {
                for text in texts().filter_map(|text| text.split_once('=')).map(|(_, text)| text) {
                    self.payload(text, place)?;
                }
            }
            "find" | "fd" | "fdfind" => return self.find(rest, place),
            "cd" | "pushd" => {
                if let Some(folder) = texts().find(|text| !text.starts_with('-')).filter(|text| !text.contains(UNKNOWN))
                {
                    let folder = plain_path(&self.folder.join(self.at_home(folder)));
                    if folder.as_os_str().len() <= PATH_MAX {
                        self.folder = folder;
                    }
                }
            }
            "set" => self.bind(rest),
            "for" | "select" => {
                if let Some(variable) = texts().next().map(str::to_owned) {
                    rest.iter().skip(2).for_each(|value| self.variables.add(&variable, value.text()));
                }
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                rest.iter().for_each(|word| {
                    self.variables.assign(word.text());
                });
            }
            _ => {}
        }
        if READERS.contains(&name) {
            self.run_printed(place)?;
        }
        if LOOSE.contains(&name) {
            self.loose(rest, place)?;
        }
        if name == "sed" || is_language(name) {
            self.language(name, rest, place)?;
        }
        if self.is_own_program(name) {
            services::own_verb(rest)?;
        }
        let judged = self.judge.judge(name, rest)?
            || services::judge(&mut self.judge, name, rest)?
            || windows::judge(&mut self.judge, name, rest)?;
        if !judged && first.text().contains('/') {
            return self.script(first.text(), rest, false, place);
        }
        Ok(())
    }
}

/// What `hermes run` runs; none for other verbs.
fn own_run(args: &[Arg]) -> Option<Behind> {
    let run = args.iter().position(|arg| arg.text() == "run")?;
    let rest = &args[run + 1..];
    let program = rest.iter().position(|arg| arg.text() == "--");
    let text = rest.iter().take(program.unwrap_or(rest.len())).position(|arg| arg.text() == "-c");
    match (text, program) {
        (Some(text), _) => Some(Behind::Text(rest.get(text + 1)?.text().to_owned())),
        (None, Some(program)) => Some(Behind::Program(rest[program + 1..].to_vec())),
        (None, None) => None,
    }
}
