//! [`Unit`]: the name of a scope, and the command lines that start a command in it and stop it.
//!
//! The text of a command must never reach the journal: a scope that is given no description is described by its whole
//! command line.

use std::ffi::OsString;
use std::fmt;

use hermes_model::id::ProcessId;

use crate::spec::Program;

/// The program that runs a command in a scope.
pub(super) const SYSTEMD_RUN: &str = "systemd-run";
/// The program that stops units.
pub(super) const SYSTEMCTL: &str = "systemctl";

/// A scope of a command of ours: `hermes-process-ID.scope`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit(String);

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// How `$` in arguments is kept as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expansion {
    /// systemd-run is told to leave it alone.
    ToldOff,
    /// It is too old to be told, and leaves it alone anyway (the option came with 254; a scope never expanded before).
    Never,
}

impl Unit {
    /// The scope of a command.
    pub fn of(id: &ProcessId) -> Self {
        Self(format!("hermes-process-{id}.scope"))
    }

    /// The scope of a probe, made for the command that needs to know.
    pub(super) fn of_probe(id: &ProcessId) -> Self {
        Self(format!("hermes-probe-{id}.scope"))
    }

    /// The name, with its ending.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// The arguments for systemd-run that run a command in this scope with at most `memory_max` bytes.
    ///
    /// The command takes the place of systemd-run, so its pid, session and exit status are those of what was started.
    pub fn run_args(&self, program: &Program, memory_max: u64, expansion: Expansion) -> Vec<OsString> {
        let mut args: Vec<OsString> = ["--user", "--scope", "--quiet"].map(OsString::from).into();
        if expansion == Expansion::ToldOff {
            args.push("--expand-environment=no".into());
        }
        let (memory_max, description) = (format!("MemoryMax={memory_max}"), format!("hermes command {}", self.0));
        let rest = ["--unit", &self.0, "--description", &description, "--collect"];
        args.extend(rest.map(OsString::from));
        args.extend(["--property", "MemoryAccounting=yes", "--property", &memory_max, "--"].map(OsString::from));
        match program {
            Program::Shell { shell, text } => args.extend([shell.clone().into(), "-c".into(), text.into()]),
            Program::Exec { program, args: own } => args.extend(std::iter::once(program).chain(own).cloned()),
        }
        args
    }

    /// The arguments for systemctl that stop this scope.
    pub fn stop_args(&self) -> Vec<OsString> {
        ["--user", "stop", &self.0].map(OsString::from).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_run_in_a_scope_of_its_own_and_described_without_its_text() {
        let unit = Unit::of(&ProcessId::from_random([0xab; 6]));
        let shell = Program::Shell { shell: "/bin/bash".into(), text: "echo $HOME; --x".into() };
        let words = [
            "--user",
            "--scope",
            "--quiet",
            "--expand-environment=no",
            "--unit",
            "hermes-process-proc_abababababab.scope",
            "--description",
            "hermes command hermes-process-proc_abababababab.scope",
            "--collect",
            "--property",
            "MemoryAccounting=yes",
            "--property",
            "MemoryMax=1073741824",
            "--",
            "/bin/bash",
            "-c",
            "echo $HOME; --x",
        ];
        assert_eq!(unit.run_args(&shell, 1 << 30, Expansion::ToldOff), words);
        let old: Vec<_> = words.into_iter().filter(|word| *word != "--expand-environment=no").collect();
        assert_eq!(unit.run_args(&shell, 1 << 30, Expansion::Never), old);
    }

    #[test]
    fn a_program_keeps_its_words_and_a_stop_names_the_scope() {
        let unit = Unit::of(&ProcessId::from_random([0; 6]));
        let exec = Program::Exec { program: "--odd".into(), args: vec!["--".into(), "".into()] };
        let args = unit.run_args(&exec, 1, Expansion::Never);
        assert_eq!(args[args.len() - 4..], ["--", "--odd", "--", ""]);
        assert_eq!(unit.stop_args(), ["--user", "stop", "hermes-process-proc_000000000000.scope"]);
    }
}
