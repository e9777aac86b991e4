//! The guests: plugins of the package `hermes-guests`, one behaviour each, built for WASM before the tests run.

use std::path::{Path, PathBuf};

use crate::home;
use crate::manifests;

/// A guest's bare component.
///
/// # Panics
/// It has not been built.
pub fn component(name: &str) -> Vec<u8> {
    let file = format!("{}.wasm", name.replace('-', "_"));
    let path = home::target().join("wasm32-wasip2").join("plugin").join("examples").join(file);
    std::fs::read(&path)
        .unwrap_or_else(|error| panic!("guest {} is not there ({error}): run `cargo xtask test`", path.display()))
}

/// A guest with the plainest manifest inside.
pub fn packed(name: &str, hook: &str) -> Vec<u8> {
    manifests::pack(&component(name), &manifests::plain(name, hook))
}

/// A guest with a manifest inside, as a file in a folder.
///
/// # Panics
/// The file cannot be written.
pub fn write(folder: &Path, name: &str, manifest: &str) -> PathBuf {
    write_bytes(folder, name, &manifests::pack(&component(name), manifest))
}

/// Bytes as `NAME.wasm` in a folder.
///
/// # Panics
/// The file cannot be written.
pub fn write_bytes(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(format!("{name}.wasm"));
    std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    path
}
