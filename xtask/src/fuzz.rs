//! `cargo xtask fuzz [SECONDS]`: feeds the load pipeline what nobody meant to feed it.
//!
//! Finds are files in `fuzz/artifacts`. Each belongs into `fuzz/corpus`, where a test loads it from then on.

use std::process::Command;

use crate::error::TaskError;
use crate::run;
use crate::steps::Steps;
use crate::tools;
use crate::workspace::Workspace;

/// The targets of `fuzz/`, with the share of the time each gets, in tenths. The pipeline has the most code behind it.
const TARGETS: [(&str, u64); 3] = [("load", 6), ("manifest", 3), ("section", 1)];
/// The longest input: larger ones are slower and find nothing else.
const LENGTH_MAX: u64 = 64 * 1024;
/// What an input may take before it counts as a hang, in seconds. On a busy machine most of it is waiting.
const INPUT_MAX: u64 = 60;

/// `cargo xtask fuzz`.
pub(crate) fn run(seconds: u64) -> Result<(), TaskError> {
    let workspace = Workspace::find()?;
    let mut steps = Steps::new(1 + TARGETS.len());
    steps.step("the tools: nightly Rust and cargo-fuzz", || {
        tools::require("rustup", "fuzzing needs a nightly compiler: https://rustup.rs")?;
        if !run::works(Command::new("rustup").args(["run", "nightly", "rustc", "--version"])) {
            run::visibly(Command::new("rustup").args(["toolchain", "install", "nightly", "--profile", "minimal"]))?;
        }
        if run::works(run::cargo(&workspace.root).args(["fuzz", "--version"])) {
            return Ok(());
        }
        run::visibly(run::cargo(&workspace.root).args(["install", "cargo-fuzz", "--locked"]))
    })?;
    for (target, tenths) in TARGETS {
        let time = (seconds * tenths / 10).max(1);
        steps.step(&format!("{target}, for {time} s (the first build compiles a compiler)"), || {
            // The cargo of the nightly toolchain: the one that runs this is told to be another by its environment.
            let mut command = Command::new("rustup");
            command.current_dir(&workspace.root).env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
            // What is looked for are panics and hangs, and without a sanitizer far more inputs are tried.
            command.args(["run", "nightly", "cargo", "fuzz", "run", "--sanitizer", "none", target, "--"]);
            command.arg(format!("-max_total_time={time}")).arg(format!("-max_len={LENGTH_MAX}"));
            run::visibly(command.arg(format!("-timeout={INPUT_MAX}")))
        })?;
    }
    steps.finish(
        "fuzz",
        &[
            "ls fuzz/artifacts                        what it found: empty",
            "cargo +nightly fuzz cmin load            keeps one input for each way through the code",
        ],
    );
    Ok(())
}
