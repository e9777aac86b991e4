//! Projects in Rust: cargo builds them for `wasm32-wasip2`, which gives a component at once.

use std::path::Path;

use hermes_model::hook::Hook;
use hermes_model::id::PluginName;

use super::{Kit, Step};

/// The target every Rust toolchain with this name can build components for.
pub(super) const TARGET: &str = "wasm32-wasip2";

macro_rules! sdk {
    ($($file:literal),* $(,)?) => {
        [$((concat!("vendor/hermes-plugin-sdk/", $file), include_str!(concat!("../../../../plugin-sdk/rust/", $file)))),*]
    };
}

/// The SDK as it is in this repository.
const SDK: [(&str, &str); 10] = sdk![
    "Cargo.toml",
    "src/lib.rs",
    "src/bindings.rs",
    "src/export.rs",
    "src/hooks.rs",
    "src/host.rs",
    "src/outside.rs",
    "src/text.rs",
    "wit/host/v0.1/host.wit",
    "wit/hook/v0.1/hook.wit",
];

pub(super) const KIT: Kit = Kit { files, steps, finish: |_, _| Ok(()) };

fn files(hook: Hook) -> Vec<(String, String)> {
    let (source, manifest) = match hook {
        Hook::Redact => (include_str!("rust/redact.rs.txt"), include_str!("rust/redact.toml")),
        Hook::Transform => (include_str!("rust/transform.rs.txt"), include_str!("rust/transform.toml")),
        Hook::Notify => (include_str!("rust/notify.rs.txt"), include_str!("rust/notify.toml")),
    };
    let source = without_anchors(source);
    let mut files = vec![
        ("Cargo.toml", include_str!("rust/cargo.toml")),
        ("plugin.toml", manifest),
        ("src/lib.rs", &source),
        ("README.md", include_str!("rust/readme.md")),
        (".gitignore", "/target\n/dist\n"),
    ];
    files.extend(SDK);
    files.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect()
}

/// A source without the lines by which the documentation quotes it.
fn without_anchors(source: &str) -> String {
    source.split_inclusive('\n').filter(|line| !line.trim_start().starts_with("// ANCHOR")).collect()
}

fn steps(_: &Path, _: &PluginName) -> Vec<Step> {
    vec![Step {
        title: format!("building (cargo build --release --target {TARGET})"),
        program: "cargo".into(),
        args: ["build", "--release", "--target", TARGET, "--target-dir", "target"].map(Into::into).to_vec(),
        environment: Vec::new(),
        missing: "building a Rust plugin needs Rust: https://rustup.rs",
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_sdk_is_carried() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plugin-sdk/rust/src");
        for file in Path::new(folder).read_dir().unwrap() {
            let path = format!("vendor/hermes-plugin-sdk/src/{}", file.unwrap().file_name().to_str().unwrap());
            assert!(SDK.iter().any(|(carried, _)| *carried == path), "{path}");
        }
    }
}
