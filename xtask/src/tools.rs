//! The tools a task needs beside cargo, installed where they are missing.

use std::path::Path;
use std::process::Command;

use crate::error::TaskError;
use crate::run;

/// What plugins are compiled for: a target that emits components directly.
pub(crate) const PLUGIN_TARGET: &str = "wasm32-wasip2";

/// Adds the plugin target, unless the compiler has it.
pub(crate) fn ensure_plugin_target() -> Result<(), TaskError> {
    let libraries = run::answer(Command::new("rustc").args(["--print", "target-libdir", "--target", PLUGIN_TARGET]))?;
    if Path::new(libraries.trim()).is_dir() {
        println!("  the compiler has the target {PLUGIN_TARGET}");
        return Ok(());
    }
    if !run::works(Command::new("rustup").arg("--version")) {
        return Err(TaskError::NoProgram {
            program: "rustup".to_owned(),
            remedy: format!(
                "the compiler lacks the target {PLUGIN_TARGET}; get rustup from https://rustup.rs, or add the target the way this compiler was installed"
            ),
        });
    }
    run::visibly(Command::new("rustup").args(["target", "add", PLUGIN_TARGET]))
}

/// Installs cargo-nextest, unless it works.
pub(crate) fn ensure_nextest(root: &Path) -> Result<(), TaskError> {
    if run::works(run::cargo(root).args(["nextest", "--version"])) {
        println!("  cargo-nextest is installed");
        return Ok(());
    }
    println!("  cargo-nextest is missing: it is built from source now, which takes some minutes, once");
    run::visibly(run::cargo(root).args(["install", "cargo-nextest", "--locked"]))
}

/// Installs a D-Bus daemon, unless there is one: the tests of desktop notifications talk to a real one.
pub(crate) fn ensure_dbus() -> Result<(), TaskError> {
    let works = || run::works(Command::new("dbus-daemon").arg("--version"));
    if works() {
        println!("  dbus-daemon is installed");
        return Ok(());
    }
    // Only where that needs no password: a task never asks for one.
    if run::works(Command::new("apt-get").arg("--version")) && run::works(Command::new("test").args(["-w", "/usr/bin"]))
    {
        println!("  dbus-daemon is missing: it is installed now");
        run::visibly(Command::new("apt-get").args(["install", "--yes", "--no-install-recommends", "dbus"]))?;
    }
    if works() {
        return Ok(());
    }
    Err(TaskError::NoProgram {
        program: "dbus-daemon".to_owned(),
        remedy: "the tests of desktop notifications need one: install the package 'dbus'".to_owned(),
    })
}

/// Says how to get a program, unless it works.
pub(crate) fn require(program: &str, remedy: &str) -> Result<(), TaskError> {
    if run::works(Command::new(program).arg("--version")) {
        return Ok(());
    }
    Err(TaskError::NoProgram { program: program.to_owned(), remedy: remedy.to_owned() })
}
