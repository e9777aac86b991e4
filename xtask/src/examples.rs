//! Builds the example plugins in every language but Rust, where they are: in `plugins/examples/LANG/NAME/build`, with
//! the toolchain their lock files name. What has not changed is not built again.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::TaskError;
use crate::run;
use crate::workspace::Workspace;

mod c;
mod js;
mod python;
pub(crate) mod spidermonkey;

/// One language of the examples.
struct Language {
    /// Its folder in `plugins/examples`, `plugin-sdk` and, as a file, in `host/plugins/src/project`.
    folder: &'static str,
    /// Installs what its examples are built with, or says what is missing.
    install: fn(&Workspace) -> Result<(), TaskError>,
}

/// The languages. Each has a module here for its toolchain.
const LANGUAGES: [Language; 3] = [
    Language { folder: "js", install: js::install },
    Language { folder: "python", install: python::ensure },
    Language { folder: "c", install: c::install },
];

/// What a build left beside the component: which inputs it is made of.
const STAMP: &str = "inputs";
/// Folders that hold what was built or installed.
const MADE: [&str; 6] = ["build", "dist", "node_modules", ".venv", "__pycache__", "target"];

/// Builds every example with this hermes, in a home of its own.
pub(crate) fn build(workspace: &Workspace, hermes: &Path) -> Result<(), TaskError> {
    for Language { folder, install } in &LANGUAGES {
        let examples = examples(&workspace.root.join("plugins").join("examples").join(folder))?;
        if examples.is_empty() {
            continue;
        }
        install(workspace)?;
        for example in examples {
            build_one(workspace, hermes, folder, &example)?;
        }
    }
    Ok(())
}

fn build_one(workspace: &Workspace, hermes: &Path, language: &str, example: &Path) -> Result<(), TaskError> {
    let inputs = inputs(workspace, language, example)?;
    let stamp = example.join("build").join(STAMP);
    if fs::read_to_string(&stamp).is_ok_and(|built| built == inputs) {
        println!("  {} is built", example.strip_prefix(&workspace.root).unwrap_or(example).display());
        return Ok(());
    }
    // The policy of the person who builds this repository has nothing to do with it.
    let (home, cache) = (workspace.target.join("examples-home"), workspace.target.join("examples-cache"));
    let mut command = Command::new(hermes);
    command.args(["plugins", "build"]).arg(example);
    run::visibly(command.env("HERMES_HOME", home).env("XDG_CACHE_HOME", cache))?;
    fs::write(&stamp, inputs).map_err(TaskError::file("write", &stamp))
}

/// The examples of a language, in order.
fn examples(folder: &Path) -> Result<Vec<PathBuf>, TaskError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).map_err(TaskError::file("read", folder))?;
    let found: BTreeSet<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.join("plugin.toml").is_file()).collect();
    Ok(found.into_iter().collect())
}

/// All that the component is made of: its sources, the files beside the examples, the SDK, the contract, and how hermes
/// builds the language.
fn inputs(workspace: &Workspace, language: &str, example: &Path) -> Result<String, TaskError> {
    let root = &workspace.root;
    let mut files = BTreeSet::new();
    for folder in [example.to_owned(), root.join("plugin-sdk").join(language), root.join("wit")] {
        below(&folder, &mut files)?;
    }
    let beside = example.parent().unwrap_or(example);
    let entries = fs::read_dir(beside).map_err(TaskError::file("read", beside))?;
    files.extend(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()));
    files.insert(root.join("host/plugins/src/project").join(format!("{language}.rs")));
    digest(&files)
}

/// What files hold, and where they are: a toolchain may write paths into what it makes.
fn digest<'a>(files: impl IntoIterator<Item = &'a PathBuf>) -> Result<String, TaskError> {
    let mut hasher = DefaultHasher::new();
    for file in files {
        hasher.write(file.as_os_str().as_encoded_bytes());
        hasher.write(&fs::read(file).map_err(TaskError::file("read", file))?);
        hasher.write_u8(0);
    }
    Ok(format!("{:016x}\n", hasher.finish()))
}

fn below(folder: &Path, found: &mut BTreeSet<PathBuf>) -> Result<(), TaskError> {
    for entry in fs::read_dir(folder).map_err(TaskError::file("read", folder))? {
        let entry = entry.map_err(TaskError::file("read", folder))?;
        let (path, name) = (entry.path(), entry.file_name());
        if !path.is_dir() {
            found.insert(path);
        } else if !MADE.iter().any(|made| name == *made) {
            below(&path, found)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_source_is_another_input_and_a_build_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let read = || {
            let mut files = BTreeSet::new();
            below(folder.path(), &mut files).unwrap();
            digest(&files).unwrap()
        };
        fs::write(folder.path().join("plugin.js"), "1").unwrap();
        let before = read();
        fs::create_dir(folder.path().join("build")).unwrap();
        fs::write(folder.path().join("build/a.wasm"), "").unwrap();
        assert_eq!(read(), before);
        fs::write(folder.path().join("plugin.js"), "2").unwrap();
        assert_ne!(read(), before);
    }

    #[test]
    fn only_folders_with_a_manifest_are_examples() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b", "a", "node_modules"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("a/plugin.toml"), "").unwrap();
        fs::write(folder.path().join("b/plugin.toml"), "").unwrap();
        assert_eq!(examples(folder.path()).unwrap(), [folder.path().join("a"), folder.path().join("b")]);
        assert_eq!(examples(&folder.path().join("none")).unwrap(), [] as [PathBuf; 0]);
    }
}
