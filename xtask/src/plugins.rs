//! Builds the plugins of this repository as components.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::error::TaskError;
use crate::run;
use crate::steps::Steps;
use crate::tools::{self, PLUGIN_TARGET};
use crate::workspace::Workspace;

/// The profile of the workspace that plugins are built with: small and fast, without unwinding.
const PROFILE: &str = "plugin";
/// The package of the tests' guests.
const GUESTS: &str = "hermes-guests";
/// Every host this is for runs 128-bit vectors, and text scanning is twice as fast with them.
const RUSTFLAGS: &str = "-C target-feature=+simd128";

/// `cargo xtask build-plugins`.
pub(crate) fn run() -> Result<(), TaskError> {
    let workspace = Workspace::find()?;
    let mut steps = Steps::new(3);
    steps.step("the WASM target", tools::ensure_plugin_target)?;
    let built = steps.step("the plugins", || build(&workspace))?;
    steps.step("the guests of the tests", || build_guests(&workspace))?;
    println!();
    for path in &built {
        let size = fs::metadata(path).map_err(TaskError::file("look at", path))?.len();
        println!("  {:>6} KiB  {}", size.div_ceil(1024), path.display());
    }
    steps.finish(
        "build-plugins",
        &[
            "cargo run -p hermes -- plugins check FILE    whether a component can load, and why not",
            "cargo xtask test                             every test",
        ],
    );
    Ok(())
}

/// Builds every plugin and says where each component is.
pub(crate) fn build(workspace: &Workspace) -> Result<Vec<PathBuf>, TaskError> {
    build_these(workspace, &workspace.plugins())
}

/// Builds plugins of the workspace by their names and says where each component is, in the same order.
pub(crate) fn build_these(workspace: &Workspace, plugins: &[&str]) -> Result<Vec<PathBuf>, TaskError> {
    for plugin in plugins {
        // As a component alone: a library that is one for Rust as well is not optimised as a whole, and is larger.
        run::visibly(command(workspace, "rustc").args(["--lib", "-p", plugin, "--crate-type", "cdylib"]))?;
    }
    let folder = folder(workspace);
    Ok(plugins.iter().map(|plugin| folder.join(format!("{}.wasm", plugin.replace('-', "_")))).collect())
}

/// Builds the guests of the tests: each is an example of its package.
pub(crate) fn build_guests(workspace: &Workspace) -> Result<(), TaskError> {
    run::visibly(command(workspace, "build").args(["--examples", "-p", GUESTS]))
}

/// A build of components, by this verb of cargo.
fn command(workspace: &Workspace, verb: &str) -> Command {
    let mut command = run::cargo(&workspace.root);
    command.args([verb, "--target", PLUGIN_TARGET, "--profile", PROFILE]);
    // Flags meant for the host would win over those of the target, and may not fit it.
    command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    command.env("CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS", RUSTFLAGS);
    command
}

/// Where components are built.
fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join(PLUGIN_TARGET).join(PROFILE)
}
