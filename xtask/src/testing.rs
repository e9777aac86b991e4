//! Runs the tests and the benchmarks.

use crate::error::TaskError;
use crate::examples;
use crate::peers;
use crate::plugins;
use crate::run;
use crate::steps::Steps;
use crate::tools;
use crate::workspace::Workspace;

/// What `cargo xtask bench` measures, if it is not the time of the hot paths.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum Measured {
    /// What the redactor and the summariser find, lose and cost.
    Quality,
}

/// The package with the benchmarks.
pub(crate) const BENCHES: &str = "hermes-bench";

/// `cargo xtask test`: every test, or those the arguments select.
pub(crate) fn test(arguments: &[String]) -> Result<(), TaskError> {
    let workspace = Workspace::find()?;
    let root = &workspace.root;
    let all = arguments.is_empty();
    let mut steps = Steps::new(if all { 7 } else { 6 });
    steps.step("the tools: the WASM target, cargo-nextest and a D-Bus daemon", || {
        tools::ensure_plugin_target()?;
        tools::ensure_dbus()?;
        tools::ensure_nextest(root)
    })?;
    steps.step("the peers of the tests: servers, clients and a test suite of others, from npm and PyPI", || {
        peers::ensure(&workspace)
    })?;
    steps.step("the plugins, and the guests of the tests", || {
        plugins::build(&workspace)?;
        plugins::build_guests(&workspace)
    })?;
    // Binaries and tests in one build, so that both have the same features and nothing heavy is compiled twice.
    steps.step("the host and the tests (the first build compiles a compiler: 5 to 10 minutes)", || {
        run::visibly(run::cargo(root).args(["build", "--workspace", "--bins", "--tests"]))
    })?;
    steps.step("the examples in other languages, and a component of another JavaScript engine", || {
        examples::build(&workspace, &workspace.target.join("debug").join("hermes"))?;
        examples::spidermonkey::ensure(&workspace)
    })?;
    steps.step("the tests", || {
        run::visibly(run::cargo(root).args(["nextest", "run", "--workspace", "--no-fail-fast"]).args(arguments))
    })?;
    if all {
        steps.step("the examples in the documentation", || {
            run::visibly(run::cargo(root).args(["test", "--doc", "--workspace"]))
        })?;
    }
    steps.finish(
        "test",
        &[
            "cargo xtask demo     the main job on real input",
            ".ci/run              what a change must pass: format, lints, tests",
        ],
    );
    Ok(())
}

/// `cargo xtask bench`.
pub(crate) fn bench(arguments: &[String]) -> Result<(), TaskError> {
    let workspace = Workspace::find()?;
    if !workspace.has(BENCHES) {
        return Err(TaskError::NoProgram {
            program: BENCHES.to_owned(),
            remedy: "this checkout has no folder bench in its workspace; use a whole one".to_owned(),
        });
    }
    let mut steps = Steps::new(4);
    steps.step("the WASM target", tools::ensure_plugin_target)?;
    steps.step("the plugins", || plugins::build(&workspace).map(drop))?;
    // Named together both times, so that both have the same features and nothing heavy is compiled twice.
    let packages = ["-p", "hermes", "-p", BENCHES];
    steps.step(
        "the examples in other languages (an optimised build of the host first: 10 minutes the first time)",
        || {
            run::visibly(run::cargo(&workspace.root).args(["build", "--release", "--bins"]).args(packages))?;
            examples::build(&workspace, &workspace.target.join("release").join("hermes"))
        },
    )?;
    steps.step("the benchmarks", || {
        let mut command = run::cargo(&workspace.root);
        command.args(["bench", "--bench", "*"]).args(packages);
        if !arguments.is_empty() {
            command.arg("--").args(arguments);
        }
        run::visibly(&mut command)
    })?;
    let reports = format!("{}/criterion    the figures, kept for the next comparison", workspace.target.display());
    steps.finish("bench", &[&reports]);
    Ok(())
}
