//! Turns the rules into the tables of the plugin while it is built, so that nothing is parsed or computed at its start.
//!
//! This must not read anything but this crate's own sources.

#![allow(clippy::print_stdout, reason = "cargo reads what a build script prints")]

mod anchors;
mod base64;
mod prefilter;
mod rules;
mod tables;
mod words;

use std::path::Path;

fn main() {
    for watched in ["build", "rules", "src/slot.rs", "src/bucket.rs", "src/beginnings.rs"] {
        println!("cargo:rerun-if-changed={watched}");
    }
    let rules = rules::read("rules");
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR for build scripts");
    let files = [
        ("rules.rs", tables::write(&rules)),
        ("anchors.rs", prefilter::write(anchors::all(&rules))),
        ("words.rs", words::write()),
    ];
    for (name, text) in files {
        let file = Path::new(&out).join(name);
        std::fs::write(&file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
}
