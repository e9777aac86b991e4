//! The package graph, as `cargo metadata` tells it.

use std::process::Command;

use serde_json::Value;

use crate::tree;

/// A package of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its folder, from the root of the repository.
    pub folder: String,
    /// The names of the packages it asks for, for whatever purpose, without doubles.
    pub dependencies: Vec<String>,
}

/// Every package of the workspace.
///
/// # Panics
/// Cargo cannot be started or answers something unknown: no rule about packages can be checked then.
pub fn all() -> Vec<Package> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(tree::root())
        .output()
        .expect("cargo runs these tests, so it can be started");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata answers in JSON");
    parse(&answer)
}

/// Reads cargo's answer.
///
/// # Panics
/// The answer has not the documented shape.
pub fn parse(answer: &Value) -> Vec<Package> {
    let root = answer["workspace_root"].as_str().expect("metadata names the root").to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    list(&answer["packages"])
        .iter()
        .map(|package| {
            let manifest = text(&package["manifest_path"]);
            let folder = manifest.trim_end_matches("/Cargo.toml").trim_start_matches(&root).trim_start_matches('/');
            let mut dependencies: Vec<String> =
                list(&package["dependencies"]).iter().map(|d| text(&d["name"])).collect();
            dependencies.sort();
            dependencies.dedup();
            Package { name: text(&package["name"]), folder: folder.to_owned(), dependencies }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_workspace_is_read() {
        let packages = all();
        let own = packages.iter().find(|package| package.name == "hermes-tests").unwrap();
        assert_eq!(own.folder, "tests");
        assert!(own.dependencies.contains(&"serde_json".to_owned()), "{own:?}");
    }
}
