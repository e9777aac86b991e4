//! Where the workspace is and what is in it, as cargo tells it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::TaskError;
use crate::run;

/// The workspace.
pub(crate) struct Workspace {
    /// Its root folder.
    pub(crate) root: PathBuf,
    /// Where cargo builds.
    pub(crate) target: PathBuf,
    packages: Vec<(String, PathBuf)>,
}

impl Workspace {
    /// Asks cargo.
    pub(crate) fn find() -> Result<Self, TaskError> {
        // The folder of this package is known from its build; the root is above it.
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut command = run::cargo(here);
        command.args(["metadata", "--format-version", "1", "--no-deps"]);
        let text = run::answer(&mut command)?;
        let broken = |reason: String| TaskError::Answer { command: run::shown(&command), reason };
        let answer: Value = serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        let path = |value: &Value, key: &str| {
            value[key].as_str().map(PathBuf::from).ok_or_else(|| broken(format!("it has no {key}")))
        };
        let mut packages = Vec::new();
        for package in answer["packages"].as_array().into_iter().flatten() {
            let name = package["name"].as_str().ok_or_else(|| broken("a package has no name".to_owned()))?;
            let manifest = path(package, "manifest_path")?;
            packages.push((name.to_owned(), manifest.parent().unwrap_or(&manifest).to_owned()));
        }
        Ok(Self { root: path(&answer, "workspace_root")?, target: path(&answer, "target_directory")?, packages })
    }

    /// Names of the packages that are plugins, in order: those below `plugins/`.
    pub(crate) fn plugins(&self) -> Vec<&str> {
        let folder = self.root.join("plugins");
        let mut names: Vec<&str> = self
            .packages
            .iter()
            .filter(|(_, package)| package.starts_with(&folder))
            .map(|(name, _)| name.as_str())
            .collect();
        names.sort_unstable();
        names
    }

    /// Whether there is a package of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.packages.iter().any(|(package, _)| package == name)
    }
}
