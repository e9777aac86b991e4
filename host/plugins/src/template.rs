//! `hermes plugins new`: a project that builds, passes `hermes plugins test` at once, and needs nothing but Rust.
//!
//! The SDK and the contract are copied into the project, at the version of this hermes: a plugin builds the same in a
//! year, whatever hermes is installed then.

use std::path::{Path, PathBuf};

use hermes_model::hook::Hook;
use hermes_model::id::PluginName;

/// Why a project was not written.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The folder has files in it.
    #[error("'{path}' is not empty: choose another name, or remove it", path = .0.display())]
    NotEmpty(PathBuf),
    /// A file cannot be written.
    #[error("'{path}' cannot be written: check its folder's permissions and the free space", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

macro_rules! sdk {
    ($($file:literal),* $(,)?) => {
        [$((concat!("vendor/hermes-plugin-sdk/", $file), include_str!(concat!("../../../plugin-sdk/rust/", $file)))),*]
    };
}

/// The SDK as it is in this repository.
const SDK: [(&str, &str); 9] = sdk![
    "Cargo.toml",
    "src/lib.rs",
    "src/bindings.rs",
    "src/export.rs",
    "src/hooks.rs",
    "src/host.rs",
    "src/text.rs",
    "wit/host/v0.1/host.wit",
    "wit/hook/v0.1/hook.wit",
];

/// Writes a project into `folder`, which must not exist or be empty. The files written, relative to it.
///
/// # Errors
/// The folder has files in it, or cannot be written.
pub fn write(folder: &Path, name: &PluginName, hook: Hook) -> Result<Vec<PathBuf>, TemplateError> {
    let taken = folder.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    if taken || folder.is_file() {
        return Err(TemplateError::NotEmpty(folder.to_owned()));
    }
    let fill =
        |text: &str| text.replace("{{name}}", name.as_str()).replace("{{crate}}", &name.as_str().replace('-', "_"));
    let (source, manifest) = match hook {
        Hook::Redact => (include_str!("template/redact.rs.txt"), include_str!("template/redact.toml")),
        Hook::Transform => (include_str!("template/transform.rs.txt"), include_str!("template/transform.toml")),
        Hook::Notify => (include_str!("template/notify.rs.txt"), include_str!("template/notify.toml")),
    };
    let mut files = vec![
        ("Cargo.toml", fill(include_str!("template/cargo.toml"))),
        ("plugin.toml", fill(manifest)),
        ("src/lib.rs", fill(source)),
        ("README.md", fill(include_str!("template/readme.md"))),
        (".gitignore", "/target\n/dist\n".to_owned()),
    ];
    files.extend(SDK.map(|(path, text)| (path, text.to_owned())));
    let mut written = Vec::new();
    for (path, text) in files {
        let target = folder.join(path);
        let failed = |source| TemplateError::Write { path: target.clone(), source };
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        std::fs::write(&target, text).map_err(failed)?;
        written.push(PathBuf::from(path));
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Manifest;

    #[test]
    fn every_hook_has_a_project_with_a_sound_manifest() {
        for hook in Hook::ALL {
            let folder = tempfile::tempdir().unwrap();
            let project = folder.path().join("mask-ids");
            let written = write(&project, &"mask-ids".parse().unwrap(), hook).unwrap();
            assert!(written.contains(&PathBuf::from("src/lib.rs")));
            let manifest = Manifest::parse(&std::fs::read(project.join("plugin.toml")).unwrap()).unwrap();
            assert_eq!((manifest.name.as_str(), manifest.hooks), ("mask-ids", vec![hook]));
            assert!(!std::fs::read_to_string(project.join("src/lib.rs")).unwrap().contains("{{"));
        }
    }

    #[test]
    fn a_folder_with_files_in_it_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mine.txt"), "mine").unwrap();
        let refused = write(folder.path(), &"a".parse().unwrap(), Hook::Redact);
        assert!(matches!(refused, Err(TemplateError::NotEmpty(_))));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
