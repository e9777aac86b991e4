//! Programs that find processes by what they are or hold open, and those that kill what they so find.
//!
//! Finding is no reason to refuse: it must only be noted, unless the same program kills.

use std::path::Path;

use super::super::Reason;
use super::super::args::{Arg, Valued, program_name, split};
use super::{How, Judge, Judged, is_harmless, plain_path, without_signal};

/// How many letters and digits a pattern needs to be taken for the name of a program.
const FILTER_MIN: usize = 3;

impl Judge<'_> {
    pub(super) fn pidof(&mut self, args: &[Arg]) -> Judged {
        let options = split(args, Valued { short: "oSdt", long: &["omit-pid", "separator"] }, true);
        if options.operands.iter().any(|operand| self.is_image(program_name(operand.text()))) {
            self.evidence.looks_up = Some(Reason::ByName);
        }
        Ok(())
    }
    pub(super) fn skill(&mut self, args: &[Arg]) -> Judged {
        let (signal, args) = without_signal(args, true);
        let options =
            split(&args, Valued { short: "cptusn", long: &["command", "pid", "tty", "user", "signal"] }, true);
        if is_harmless(signal.as_deref(), &options, &["s", "signal"]) || options.has(&["l", "L", "list", "n"]) {
            return Ok(());
        }
        let targets = options.operands.iter().chain(options.values(&["c", "command", "p", "pid", "u", "user"]));
        for target in targets.map(Arg::text) {
            if self.is_own_number(target) {
                return Err(Reason::ByNumber);
            }
            if self.is_image(program_name(target)) || self.guarded.users.iter().any(|user| user == target) {
                return Err(Reason::ByName);
            }
        }
        Ok(())
    }

    fn is_socket(&self, text: &str) -> bool {
        self.guarded.socket.as_deref().is_some_and(|socket| is_same_path(text, socket))
    }

    pub(crate) fn is_pid_file(&self, text: &str) -> bool {
        self.guarded.pid_file.as_deref().is_some_and(|file| is_same_path(text, file))
    }

    pub(super) fn fuser(&mut self, args: &[Arg]) -> Judged {
        let (signal, args) = without_signal(args, true);
        let options = split(&args, Valued { short: "nN", long: &["namespace"] }, true);
        let kills = options.has(&["k", "kill"]) && !is_harmless(signal.as_deref(), &options, &[]);
        let whole_mount = options.has(&["m", "mount", "M", "c"]);
        for operand in options.operands.iter().map(Arg::text) {
            let above = |path: &Path| path.starts_with(operand) && Path::new(operand).is_absolute();
            let holds_it = self.is_socket(operand)
                || (whole_mount && (operand == "/" || self.guarded.socket.as_deref().is_some_and(above)));
            if holds_it && kills {
                return Err(Reason::BySocket);
            }
            if holds_it {
                self.evidence.looks_up = Some(Reason::BySocket);
            }
        }
        Ok(())
    }

    pub(super) fn lsof(&mut self, args: &[Arg]) {
        let options = split(args, Valued { short: "cgpsuADdFfiLSTx", long: &[] }, true);
        if options.operands.iter().any(|operand| self.is_socket(operand.text())) {
            self.evidence.looks_up = Some(Reason::BySocket);
        }
        let by_name = |start: &Arg| self.guarded.images.iter().any(|image| image.starts_with(start.text()));
        if options.values(&["c"]).any(|start| !start.text().is_empty() && by_name(start))
            || options.values(&["p"]).any(|pid| self.is_own_number(pid.text()))
        {
            self.evidence.looks_up = Some(Reason::ByName);
        }
    }

    pub(super) fn ps(&mut self, args: &[Arg]) {
        let options =
            split(args, Valued { short: "CGgopqstuUONk", long: &["pid", "ppid", "user", "sort", "format"] }, true);
        self.evidence.lists |= !options.has(&["p", "pid"]);
        if options.values(&["C"]).any(|names| names.text().split(',').any(|name| self.is_image(name))) {
            self.evidence.looks_up = Some(Reason::ByName);
        }
    }

    pub(super) fn grep(&mut self, args: &[Arg]) -> Judged {
        let options = split(args, Valued { short: "eABCmfdD", long: &["regexp", "max-count", "file"] }, true);
        if options.has(&["v", "invert-match"]) {
            return Ok(());
        }
        let mut patterns: Vec<Arg> = options.values(&["e", "regexp"]).cloned().collect();
        if patterns.is_empty() {
            patterns.extend(options.operands.first().cloned());
        }
        for pattern in patterns.iter().filter(|pattern| pattern.says_something()) {
            // Without -E a bar is written with a backslash.
            self.filter(&pattern.text().replace("\\|", "|"), options.has(&["i", "ignore-case"]))?;
        }
        Ok(())
    }

    /// Notes a pattern that lines are filtered by.
    pub(crate) fn filter(&mut self, pattern: &str, ignore_case: bool) -> Judged {
        // A shorter pattern looks for something else: the host is not found by a letter.
        if pattern.chars().filter(|c| c.is_alphanumeric()).count() >= FILTER_MIN {
            self.evidence.filters |= self.matches_host(pattern, How { full: true, whole: false, ignore_case })?;
        }
        Ok(())
    }

    pub(super) fn start_stop_daemon(&mut self, args: &[Arg]) -> Judged {
        let valued = Valued {
            short: "xnpuasgcrdNIkRPS",
            long: &[
                "exec", "name", "pidfile", "pid", "user", "startas", "signal", "group", "chuid", "chdir", "retry",
                "ppid",
            ],
        };
        let options = split(args, valued, true);
        if !options.has(&["K", "stop"]) || options.has(&["t", "test"]) {
            return Ok(());
        }
        if options.values(&["p", "pidfile"]).any(|path| self.is_pid_file(path.text())) {
            return Err(Reason::ByPidFile);
        }
        if options.values(&["pid"]).any(|pid| self.is_own_number(pid.text())) {
            return Err(Reason::ByNumber);
        }
        if options.values(&["n", "name", "x", "exec"]).any(|name| self.is_image(program_name(name.text()))) {
            return Err(Reason::ByName);
        }
        Ok(())
    }
}

/// Whether a text names this file: by its whole path, or by its last two parts where what is before them cannot be told.
fn is_same_path(text: &str, file: &Path) -> bool {
    let written = plain_path(Path::new(text));
    if written == file {
        return true;
    }
    let tail =
        |path: &Path| -> Vec<_> { path.components().rev().take(2).map(|part| part.as_os_str().to_owned()).collect() };
    !written.is_absolute() && tail(&written).len() == 2 && tail(&written) == tail(file)
}
