//! Builds the first-party plugins for `wasm32-wasip2` and packs them, so that the binary carries them inside; and writes
//! the contract in C, for the projects `hermes plugins new` makes.
//!
//! A nested cargo with a target folder of its own does the building: a plugin is another target and another profile.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

mod bindings;
#[path = "src/section.rs"]
#[allow(dead_code, unreachable_pub, reason = "a file of the crate, of which only embedding is needed here")]
mod section;

/// The first-party plugins, those of a fresh home first, in the order of their chains.
const BUNDLED: [&str; 3] = ["redact-secrets", "summarize-output", "notify-webhook"];
/// What plugins are built for.
const TARGET: &str = "wasm32-wasip2";

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for watched in ["plugin-sdk/rust/src", "plugin-sdk/rust/Cargo.toml", "wit", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    println!("cargo::rerun-if-changed=src/section.rs");
    println!("cargo::rerun-if-changed=bindings.rs");
    bindings::write(&root, &out)?;
    let cargo = cargo()?;
    let target_dir = out.join("plugins-target");
    let mut table = String::from("&[\n");
    for name in BUNDLED {
        let folder = root.join("plugins").join(name);
        for watched in ["src", "build", "rules", "Cargo.toml", "plugin.toml", "build.rs"] {
            let watched = folder.join(watched);
            if watched.exists() {
                println!("cargo::rerun-if-changed={}", watched.display());
            }
        }
        build(&root, name, &target_dir, &cargo)?;
        let built = target_dir.join(TARGET).join("plugin").join(format!("{}.wasm", name.replace('-', "_")));
        let component = fs::read(&built).map_err(|error| format!("{}: {error}", built.display()))?;
        let manifest = fs::read_to_string(folder.join("plugin.toml"))?;
        let packed = out.join(format!("{name}.wasm"));
        fs::write(&packed, section::embed(&component, &manifest))?;
        table += &format!("    ({name:?}, include_bytes!({:?})),\n", packed.display().to_string());
    }
    table += "]\n";
    fs::write(out.join("bundled.rs"), table)?;
    Ok(())
}

/// The cargo that builds plugins: the one that builds this, whose target is added where it is missing. A nightly compiler
/// may be without that target on some days; the stable one builds them then.
fn cargo() -> Result<Vec<OsString>, Box<dyn Error>> {
    let this = || Ok(vec![env::var_os("CARGO").ok_or("cargo says which one it is")?]);
    let rustc = env::var("RUSTC")?;
    if has_target(Command::new(rustc)) {
        return this();
    }
    let added = Command::new("rustup").args(["target", "add", TARGET]).status();
    if added.is_ok_and(|status| status.success()) {
        return this();
    }
    let mut stable = Command::new("rustup");
    stable.args(["run", "stable", "rustc"]);
    if has_target(stable) {
        return Ok(["rustup", "run", "stable", "cargo"].map(OsString::from).into());
    }
    Err(format!("the target {TARGET} is missing: run `rustup target add {TARGET}`").into())
}

fn has_target(mut rustc: Command) -> bool {
    let libdir = rustc.args(["--print", "target-libdir", "--target", TARGET]).output();
    let libdir = libdir.ok().filter(|said| said.status.success()).and_then(|said| String::from_utf8(said.stdout).ok());
    libdir.is_some_and(|libdir| Path::new(libdir.trim()).is_dir())
}

fn build(root: &Path, name: &str, target_dir: &Path, program: &[OsString]) -> Result<(), Box<dyn Error>> {
    let mut cargo = Command::new(&program[0]);
    cargo
        .args(&program[1..])
        .current_dir(root)
        // As a component alone: a library that is one for Rust as well is not optimised as a whole, and is larger.
        .args(["rustc", "--quiet", "--profile", "plugin", "--target", TARGET, "--package", name, "--lib"])
        .args(["--crate-type", "cdylib"])
        .arg("--target-dir")
        .arg(target_dir)
        .env("CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS", "-Ctarget-feature=+simd128");
    // What cargo and clippy set for this build must not leak into one for another target.
    for variable in
        ["CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_TARGET"]
    {
        cargo.env_remove(variable);
    }
    if program.len() > 1 {
        // Another toolchain finds its own compiler.
        cargo.env_remove("RUSTC").env_remove("RUSTDOC").env_remove("CARGO");
    }
    let status = cargo.status()?;
    if status.success() { Ok(()) } else { Err(format!("plugin {name} does not build").into()) }
}
