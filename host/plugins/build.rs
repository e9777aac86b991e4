//! Builds the first-party plugins for `wasm32-wasip2` and packs them, so that the binary carries them inside.
//!
//! A nested cargo with a target folder of its own does the building: a plugin is another target and another profile.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "src/section.rs"]
#[allow(dead_code, unreachable_pub, reason = "a file of the crate, of which only embedding is needed here")]
mod section;

/// The first-party plugins, in the order of their chains.
const BUNDLED: [&str; 2] = ["redact-secrets", "summarize-output"];
/// What plugins are built for.
const TARGET: &str = "wasm32-wasip2";

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for watched in ["plugin-sdk/rust/src", "plugin-sdk/rust/Cargo.toml", "wit", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    println!("cargo::rerun-if-changed=src/section.rs");
    have_target()?;
    let target_dir = out.join("plugins-target");
    let mut table = String::from("&[\n");
    for name in BUNDLED {
        let folder = root.join("plugins").join(name);
        for watched in ["src", "Cargo.toml", "plugin.toml", "build.rs"] {
            let watched = folder.join(watched);
            if watched.exists() {
                println!("cargo::rerun-if-changed={}", watched.display());
            }
        }
        build(&root, name, &target_dir)?;
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

/// Adds the target if the toolchain lacks it.
fn have_target() -> Result<(), Box<dyn Error>> {
    let rustc = env::var("RUSTC")?;
    let libdir = Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]).output()?;
    if libdir.status.success() && Path::new(String::from_utf8(libdir.stdout)?.trim()).is_dir() {
        return Ok(());
    }
    let added = Command::new("rustup").args(["target", "add", TARGET]).status();
    match added {
        Ok(status) if status.success() => Ok(()),
        _ => Err(format!("the target {TARGET} is missing: run `rustup target add {TARGET}`").into()),
    }
}

fn build(root: &Path, name: &str, target_dir: &Path) -> Result<(), Box<dyn Error>> {
    let mut cargo = Command::new(env::var("CARGO")?);
    cargo
        .current_dir(root)
        .args(["build", "--quiet", "--profile", "plugin", "--target", TARGET, "--package", name, "--lib"])
        .arg("--target-dir")
        .arg(target_dir)
        .env("CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS", "-Ctarget-feature=+simd128");
    // What cargo and clippy set for this build must not leak into one for another target.
    for variable in
        ["CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_TARGET"]
    {
        cargo.env_remove(variable);
    }
    let status = cargo.status()?;
    if status.success() { Ok(()) } else { Err(format!("plugin {name} does not build").into()) }
}
