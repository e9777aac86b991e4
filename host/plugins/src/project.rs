//! A plugin's project: what `hermes plugins new` writes, and how one of each language is built.
//!
//! Projects carry the SDK and the contract inside, at the version of this hermes: a plugin builds the same in a year,
//! whatever hermes is installed then. This module starts nothing: it says which commands build a project, and whoever
//! may start processes runs them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hermes_home::files;
use hermes_model::hook::Hook;
use hermes_model::id::PluginName;
use hermes_model::language::Language;

use crate::author::MANIFEST_FILE;

mod c;
mod js;
mod python;
mod rust;

/// Why a project was not written, or cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
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
    /// What the build left cannot be read.
    #[error("what the build left cannot be read")]
    Read(#[source] files::ReadError),
    /// What the build left cannot be made a component.
    #[error("'{path}' cannot be made a component: {reason}", path = path.display())]
    Encode {
        /// The core module.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The folder is no project of a known language.
    #[error(
        "'{path}' is no project hermes can build: it has none of Cargo.toml, package.json, requirements.txt and plugin.c",
        path = .0.display()
    )]
    NoProject(PathBuf),
}

/// One command of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it is for, for the progress line, such as `building` or `installing the compiler`.
    pub title: String,
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables set for it.
    pub environment: Vec<(OsString, OsString)>,
    /// What to do where the program is not there.
    pub missing: &'static str,
}

/// What a language contributes: each has a module with functions of these shapes.
struct Kit {
    /// The files of a project, relative to it, with `{{name}}` and `{{crate}}` to be filled.
    files: fn(Hook) -> Vec<(String, String)>,
    /// The commands that build it, run in its folder in this order; those that would change nothing are left out.
    steps: fn(&Path, &PluginName) -> Vec<Step>,
    /// Makes a component of what the commands left, where they do not do so themselves.
    finish: fn(&Path, &PluginName) -> Result<(), ProjectError>,
}

fn kit(language: Language) -> Kit {
    match language {
        Language::Rust => rust::KIT,
        Language::JavaScript => js::KIT,
        Language::Python => python::KIT,
        Language::C => c::KIT,
    }
}

/// Where a build of any language but Rust leaves the component, in the project's folder.
pub const BUILD_FOLDER: &str = "build";

/// The language of a project, by the file every project of it has.
pub fn language_of(folder: &Path) -> Option<Language> {
    let has = |file: &str| folder.join(file).is_file();
    match () {
        () if has("Cargo.toml") => Some(Language::Rust),
        () if has("package.json") => Some(Language::JavaScript),
        () if has("requirements.txt") => Some(Language::Python),
        () if has("plugin.c") => Some(Language::C),
        () => None,
    }
}

/// The commands that build a project.
///
/// # Errors
/// The folder is no project, or what it is built with cannot be put into its build folder.
pub fn steps(folder: &Path) -> Result<Vec<Step>, ProjectError> {
    let language = language_of(folder).ok_or_else(|| ProjectError::NoProject(folder.to_owned()))?;
    if language == Language::C {
        c::lay_out(folder)?;
    }
    Ok((kit(language).steps)(folder, &name_of(folder)))
}

/// What is left to do after the commands; call it when all of them succeeded.
///
/// # Errors
/// What they left cannot be made a component.
pub fn finish(folder: &Path) -> Result<(), ProjectError> {
    let language = language_of(folder).ok_or_else(|| ProjectError::NoProject(folder.to_owned()))?;
    (kit(language).finish)(folder, &name_of(folder))
}

/// The name its manifest gives; a project whose manifest is broken builds all the same, as `plugin`.
fn name_of(folder: &Path) -> PluginName {
    let manifest = std::fs::read(folder.join(MANIFEST_FILE)).unwrap_or_default();
    let named = crate::author::name_in(&manifest);
    named.unwrap_or_else(|| "plugin".parse().expect("a constant that is a name"))
}

/// Writes a project into `folder`, which must not exist or be empty. The files written, relative to it.
///
/// # Errors
/// The folder has files in it, or cannot be written.
pub fn write(folder: &Path, name: &PluginName, hook: Hook, language: Language) -> Result<Vec<PathBuf>, ProjectError> {
    let taken = folder.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    if taken || folder.is_file() {
        return Err(ProjectError::NotEmpty(folder.to_owned()));
    }
    let fill =
        |text: &str| text.replace("{{name}}", name.as_str()).replace("{{crate}}", &name.as_str().replace('-', "_"));
    let mut written = Vec::new();
    for (path, text) in (kit(language).files)(hook) {
        let target = folder.join(&path);
        let failed = |source| ProjectError::Write { path: target.clone(), source };
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        std::fs::write(&target, fill(&text)).map_err(failed)?;
        written.push(PathBuf::from(path));
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Manifest;

    #[test]
    fn every_language_and_hook_has_a_project_with_a_sound_manifest() {
        for language in Language::ALL {
            for hook in Hook::ALL {
                let folder = tempfile::tempdir().unwrap();
                let project = folder.path().join("mask-ids");
                let written = write(&project, &"mask-ids".parse().unwrap(), hook, language).unwrap();
                assert_eq!(language_of(&project), Some(language));
                let manifest = Manifest::parse(&std::fs::read(project.join("plugin.toml")).unwrap()).unwrap();
                assert_eq!((manifest.name.as_str(), manifest.hooks), ("mask-ids", vec![hook]));
                for file in written {
                    let text = std::fs::read_to_string(project.join(&file)).unwrap();
                    assert!(!text.contains("{{name}}") && !text.contains("{{crate}}"), "{}", file.display());
                }
                assert!(!steps(&project).unwrap().is_empty());
            }
        }
    }

    #[test]
    fn a_folder_with_files_in_it_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mine.txt"), "mine").unwrap();
        let refused = write(folder.path(), &"a".parse().unwrap(), Hook::Redact, Language::Rust);
        assert!(matches!(refused, Err(ProjectError::NotEmpty(_))));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_of_no_known_language_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let refused = steps(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("package.json"), "{refused}");
    }
}
