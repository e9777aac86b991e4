//! Programs that kill, and programs that look up what to kill: whether their arguments mean the host.
//!
//! It must never take the value of an option for a name, and never judge by less than the tool itself would match.

use std::path::{Component, Path, PathBuf};

mod lookups;

use super::args::{Arg, Options, UNKNOWN, Valued, program_name, split};
use super::evidence::Evidence;
use super::limits::Budget;
use super::pattern::{Pattern, Unreadable};
use super::{Guarded, Reason};

/// How the kernel cuts the name of a process (`TASK_COMM_LEN` less its NUL), and so what pkill compares with.
const COMM_MAX: usize = 15;

/// The options of pkill and pgrep (procps-ng 4) that have a value.
const PKILL: Valued = Valued {
    short: "dgGOPqsrtuUF",
    long: &[
        "signal",
        "delimiter",
        "queue",
        "pgroup",
        "group",
        "older",
        "parent",
        "session",
        "terminal",
        "euid",
        "uid",
        "pidfile",
        "runstates",
        "cgroup",
        "env",
        "ns",
        "nslist",
    ],
};
/// Those of killall (psmisc 23).
const KILLALL: Valued =
    Valued { short: "sunoyZ", long: &["signal", "user", "ns", "older-than", "younger-than", "context"] };

/// Signal names that tools take as `-NAME`.
const SIGNALS: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM",
    "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO",
    "PWR", "SYS",
];

/// The highest number of a signal on Linux (`_NSIG`). `-65` and above is a group.
const SIGNAL_MAX: u32 = 64;

/// How a name is compared.
#[derive(Clone, Copy, Default)]
pub(crate) struct How {
    /// With the whole command line, not with the name.
    pub(crate) full: bool,
    /// Nothing may be left over.
    pub(crate) whole: bool,
    /// Upper and lower case are the same.
    pub(crate) ignore_case: bool,
}

/// Judges one program after another, and remembers what it saw.
pub(crate) struct Judge<'a> {
    pub(crate) guarded: &'a Guarded,
    pub(crate) budget: Budget,
    pub(crate) evidence: Evidence,
}

type Judged = Result<(), Reason>;

impl<'a> Judge<'a> {
    pub(crate) fn new(guarded: &'a Guarded) -> Self {
        Self { guarded, budget: Budget::new(), evidence: Evidence::default() }
    }

    /// Judges a program; whether it is one of ours to judge.
    pub(crate) fn judge(&mut self, name: &str, args: &[Arg]) -> Result<bool, Reason> {
        match name {
            "pkill" => self.pkill(args, true)?,
            "pgrep" => self.pkill(args, false)?,
            "killall" => self.killall(args)?,
            "killall5" => return Err(Reason::Everything),
            "pidof" | "pidof32" => self.pidof(args)?,
            "kill" => self.kill(args)?,
            "skill" => self.skill(args)?,
            "fuser" => self.fuser(args)?,
            "lsof" => self.lsof(args),
            "start-stop-daemon" => self.start_stop_daemon(args)?,
            "ps" => self.ps(args),
            "top" | "htop" | "pstree" => self.evidence.lists = true,
            "grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "ag" | "ack" => self.grep(args)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(crate) fn is_image(&self, name: &str) -> bool {
        self.guarded.images.iter().any(|image| image == name)
    }

    fn is_own_user(&self, user: &str) -> bool {
        let users = &self.guarded.users;
        users.is_empty() || user.contains(UNKNOWN) || user.split(',').any(|user| users.iter().any(|own| own == user))
    }

    fn is_own_number(&self, text: &str) -> bool {
        text.split(',').any(|number| number.trim_start_matches('+').parse() == Ok(self.guarded.pid))
    }

    /// Whether a pattern matches the host, as far as the pattern is known.
    pub(crate) fn matches_host(&mut self, pattern: &str, how: How) -> Result<bool, Reason> {
        let names_it = self.guarded.images.iter().any(|image| pattern.to_lowercase().contains(&image.to_lowercase()));
        // With parts missing, a match says something only if what is left has the name in it.
        if pattern.contains(UNKNOWN) && !names_it {
            return Ok(false);
        }
        let pattern = match Pattern::new(&pattern.replace(UNKNOWN, ".*"), how.ignore_case) {
            Ok(pattern) => pattern,
            Err(Unreadable::Invalid) => return Ok(names_it),
            Err(Unreadable::TooLarge) => return Err(Reason::TooMuchWork),
        };
        let guarded = self.guarded;
        for image in &guarded.images {
            let cut: String = image.chars().take(COMM_MAX).collect();
            if pattern.is_match(image, how.whole, &mut self.budget)?
                || (cut != *image && pattern.is_match(&cut, how.whole, &mut self.budget)?)
            {
                return Ok(true);
            }
        }
        if !how.full {
            return Ok(false);
        }
        let line = &guarded.command_line;
        let (program, rest) = line.split_at(line.find(' ').unwrap_or(line.len()));
        let short = format!("{}{rest}", program_name(program));
        Ok(pattern.is_match(line, how.whole, &mut self.budget)?
            || pattern.is_match(&short, how.whole, &mut self.budget)?)
    }

    fn pkill(&mut self, args: &[Arg], kills: bool) -> Judged {
        let (signal, args) = without_signal(args, kills);
        let options = split(&args, PKILL, true);
        if kills && is_harmless(signal.as_deref(), &options, &["signal"]) {
            return Ok(());
        }
        let how = How {
            full: options.has(&["f", "full"]),
            whole: options.has(&["x", "exact"]),
            ignore_case: options.has(&["i", "ignore-case"]),
        };
        let inverted = options.has(&["inverse"]) || (!kills && options.has(&["v"]));
        let mut found = None;
        if options.values(&["F", "pidfile"]).any(|path| self.is_pid_file(path.text())) {
            found = Some(Reason::ByPidFile);
        }
        if options.values(&["g", "pgroup", "s", "session"]).any(|id| self.is_own_number(id.text())) {
            found = Some(Reason::ByNumber);
        }
        if options.operands.is_empty()
            && options.values(&["u", "euid", "U", "uid"]).any(|user| self.is_own_user(user.text()))
        {
            found = Some(Reason::ByName);
        }
        for operand in options.operands.iter().filter(|operand| operand.says_something()) {
            if self.matches_host(operand.text(), how)? != inverted {
                found = Some(Reason::ByName);
            }
        }
        match found {
            Some(reason) if kills => Err(reason),
            Some(reason) => {
                self.evidence.looks_up = Some(reason);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn killall(&mut self, args: &[Arg]) -> Judged {
        let (signal, args) = without_signal(args, true);
        let options = split(&args, KILLALL, true);
        if is_harmless(signal.as_deref(), &options, &["s", "signal"]) || options.has(&["l", "list", "V", "version"]) {
            return Ok(());
        }
        let ignore_case = options.has(&["I", "ignore-case"]);
        let expression = options.has(&["r", "regexp", "m"]);
        for operand in &options.operands {
            let name = program_name(operand.text());
            let hit = if expression {
                operand.says_something() && self.matches_host(operand.text(), How { ignore_case, ..How::default() })?
            } else {
                self.guarded.images.iter().any(|image| is_named(name, image, ignore_case))
            };
            if hit {
                return Err(Reason::ByName);
            }
        }
        let users: Vec<&Arg> = options.values(&["u", "user"]).collect();
        if options.operands.is_empty() && users.iter().any(|user| self.is_own_user(user.text())) {
            return Err(Reason::ByName);
        }
        Ok(())
    }

    fn kill(&mut self, args: &[Arg]) -> Judged {
        let (mut signal, mut at) = (None, 0);
        // Only the first words are options; after a signal, `-5` is a group.
        while let Some(text) = args.get(at).map(Arg::text).filter(|text| text.starts_with('-') && text.len() > 1) {
            match text {
                "--" => {
                    at += 1;
                    break;
                }
                "-l" | "-L" | "--list" | "--table" => return Ok(()),
                "-s" | "-n" | "--signal" => {
                    signal = args.get(at + 1).map(|arg| arg.text().to_owned());
                    at += 2;
                }
                "-q" | "--queue" | "--timeout" => at += 2,
                "-a" | "--all" | "-p" | "--pid" | "-v" | "--verbose" => at += 1,
                // PowerShell calls its own program by this name.
                _ if text.eq_ignore_ascii_case("-name") || text.eq_ignore_ascii_case("-id") => at += 1,
                _ if text.starts_with("--signal=") => {
                    signal = Some(text["--signal=".len()..].to_owned());
                    at += 1;
                }
                _ if signal.is_some() || text[1..].parse::<u32>().is_ok_and(|number| number > SIGNAL_MAX) => break,
                _ => {
                    signal = Some(text[1..].to_owned());
                    at += 1;
                }
            }
        }
        if signal.as_deref().is_some_and(is_null_signal) {
            return Ok(());
        }
        let operands = args.get(at..).unwrap_or_default();
        for text in operands.iter().map(Arg::text) {
            match text.parse::<i64>() {
                Ok(-1) => return Err(Reason::Everything),
                Ok(number) if number.abs() == i64::from(self.guarded.pid) => return Err(Reason::ByNumber),
                Ok(_) => {}
                Err(_) if self.is_image(program_name(text)) => return Err(Reason::ByName),
                Err(_) => {}
            }
        }
        self.evidence.kills |= operands.is_empty() || operands.iter().any(|operand| !is_told(operand.text()));
        Ok(())
    }
}

/// Whether a target is known to be another process than the host: a number, or a job or child of the shell itself.
fn is_told(target: &str) -> bool {
    target.parse::<i64>().is_ok() || target.starts_with('%') || target == "$!" || target == "$$"
}

/// Whether a name is this one; a `*` at its end stands for anything.
pub(crate) fn is_named(name: &str, image: &str, ignore_case: bool) -> bool {
    let (name, image) =
        if ignore_case { (name.to_lowercase(), image.to_lowercase()) } else { (name.to_owned(), image.to_owned()) };
    match name.strip_suffix('*') {
        Some(start) => image.starts_with(start),
        None => name == image,
    }
}

/// Whether this signal only asks whether a process is there.
fn is_null_signal(signal: &str) -> bool {
    signal == "0"
}

fn is_harmless(signal: Option<&str>, options: &Options, names: &[&str]) -> bool {
    signal.is_some_and(is_null_signal) || options.values(names).any(|value| is_null_signal(value.text()))
}

/// Takes `-9` and `-KILL` out, so that they are not read as letters.
fn without_signal(args: &[Arg], kills: bool) -> (Option<String>, Vec<Arg>) {
    let mut signal = None;
    let rest = args
        .iter()
        .filter(|arg| {
            let Some(word) = arg.text().strip_prefix('-').filter(|_| kills && signal.is_none()) else { return true };
            let name = word.strip_prefix("SIG").unwrap_or(word);
            let found = word.parse::<u8>().is_ok() || SIGNALS.contains(&name) || name.starts_with("RTM");
            if found {
                signal = Some(word.to_owned());
            }
            !found
        })
        .cloned()
        .collect();
    (signal, rest)
}

/// A path without `.` and `..`, as far as they can be resolved by reading.
pub(crate) fn plain_path(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}
