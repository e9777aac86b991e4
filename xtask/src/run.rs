//! Runs programs: visibly, or for their answer.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::TaskError;

/// Variables `cargo run` sets for this program. Passed on, they would make build scripts of others run again.
const OF_THIS_PACKAGE: [&str; 5] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_BIN_", "CARGO_PRIMARY_"];

/// A command of the cargo that runs this program, in the root of the workspace.
pub(crate) fn cargo(root: &Path) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.current_dir(root);
    for (name, _) in std::env::vars_os() {
        if OF_THIS_PACKAGE.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command
}

/// A command line as a person would type it, good enough to be copied.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Runs a command whose output the person sees.
pub(crate) fn visibly(command: &mut Command) -> Result<(), TaskError> {
    let text = shown(command);
    println!("  $ {text}");
    let status = command.status().map_err(|source| TaskError::Start { program: text.clone(), source })?;
    if status.success() { Ok(()) } else { Err(TaskError::Command { command: text, status }) }
}

/// Runs a command for what it prints on stdout; its stderr is the person's.
pub(crate) fn answer(command: &mut Command) -> Result<String, TaskError> {
    let text = shown(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| TaskError::Start { program: text.clone(), source })?;
    if !output.status.success() {
        return Err(TaskError::Command { command: text, status: output.status });
    }
    String::from_utf8(output.stdout).map_err(|_| TaskError::Answer { command: text, reason: "not UTF-8".to_owned() })
}

/// Whether a command can be started and ends well; says nothing.
pub(crate) fn works(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_command_can_be_typed() {
        let mut command = Command::new("/usr/bin/bash");
        command.args(["-c", "echo 'a b'", ""]);
        assert_eq!(shown(&command), r"bash -c 'echo '\''a b'\''' ''");
    }
}
