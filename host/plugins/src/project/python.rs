//! Projects in Python: componentize-py puts the plugin, the interpreter and what it has imported into one component.
//!
//! The tool is installed from PyPI into a folder `.venv`, by the digests in the project's requirements. A `.venv` of a
//! folder above serves as well, so that several plugins share one. What happens to be in `PATH` does not: it may be of
//! another version.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hermes_model::hook::Hook;
use hermes_model::id::PluginName;

use super::{BUILD_FOLDER, Kit, ProjectError, Step};
use crate::author::MANIFEST_FILE;
use crate::manifest::Manifest;

/// Where packages are installed, in the project or above it.
const PACKAGES: &str = ".venv";
/// The tool, in there.
const TOOL: &str = "bin/componentize-py";
/// What to do where there is no Python.
const MISSING: &str = "building a Python plugin needs Python 3.10 or later: https://www.python.org/downloads";
/// What to do where the tool is gone, or is not for this machine.
const TOOL_MISSING: &str = "remove the folder .venv and build again: componentize-py is installed anew";

macro_rules! sdk {
    ($($file:literal),* $(,)?) => {
        [$((concat!("vendor/", $file), include_str!(concat!("../../../../plugin-sdk/python/", $file)))),*]
    };
}

/// The SDK as it is in this repository.
const SDK: [(&str, &str); 8] = sdk![
    "hermes_plugin/__init__.py",
    "hermes_plugin/export.py",
    "hermes_plugin/hooks.py",
    "hermes_plugin/host.py",
    "hermes_plugin/text.py",
    "hermes_plugin/world.py",
    "wit/host/v0.1/host.wit",
    "wit/hook/v0.1/hook.wit",
];

pub(super) const KIT: Kit = Kit { files, steps, finish };

fn files(hook: Hook) -> Vec<(String, String)> {
    let (source, tests, manifest) = match hook {
        Hook::Redact => (
            include_str!("python/redact/plugin.py"),
            include_str!("python/redact/test_plugin.py"),
            include_str!("python/redact/plugin.toml"),
        ),
        Hook::Transform => (
            include_str!("python/transform/plugin.py"),
            include_str!("python/transform/test_plugin.py"),
            include_str!("python/transform/plugin.toml"),
        ),
        Hook::Notify => (
            include_str!("python/notify/plugin.py"),
            include_str!("python/notify/test_plugin.py"),
            include_str!("python/notify/plugin.toml"),
        ),
    };
    let mut files = vec![
        ("requirements.txt", include_str!("python/requirements.txt")),
        ("plugin.toml", manifest),
        ("plugin.py", source),
        ("test_plugin.py", tests),
        ("README.md", include_str!("python/readme.md")),
        (".gitignore", "/.venv\n/build\n/dist\n__pycache__\n"),
    ];
    files.extend(SDK);
    files.into_iter().map(|(path, text)| (path.to_owned(), without_anchors(text))).collect()
}

/// A template without the marks by which the book quotes it.
fn without_anchors(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.starts_with("# ANCHOR")).collect()
}

fn steps(folder: &Path, name: &PluginName) -> Vec<Step> {
    // Programs are named whole: a relative path would be looked for from the folder the command runs in.
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let (packages, mut steps) = match installed(&folder) {
        Some(packages) => (packages, Vec::new()),
        None => (folder.join(PACKAGES), install(&folder)),
    };
    let mut args: Vec<OsString> =
        ["-q", "-d", "vendor/wit/host/v0.1", "-d", "vendor/wit/hook/v0.1"].map(Into::into).into();
    for world in worlds(&folder) {
        args.extend(["-w".into(), world.into()]);
    }
    // No stubs in place of WASI: with them a mere `print` is a trap, and hermes offers nothing behind WASI anyway.
    args.extend(["componentize", "-p", ".", "-p", "vendor", "plugin", "-o"].map(Into::into));
    args.push(unfinished(name).into());
    steps.push(Step {
        title: "building (componentize-py)".to_owned(),
        program: packages.join(TOOL).into(),
        args,
        // Where packages of the project are looked for; without it, wherever the machine's own Python has some.
        environment: vec![("VIRTUAL_ENV".into(), packages.into())],
        missing: TOOL_MISSING,
    });
    steps
}

/// The nearest folder with the tool in it, from the project upwards.
fn installed(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|above| above.join(PACKAGES)).find(|packages| packages.join(TOOL).is_file())
}

/// The commands that install the tool in the project.
fn install(folder: &Path) -> Vec<Step> {
    let step = |title: &str, program: OsString, args: &[&str]| Step {
        title: title.to_owned(),
        program,
        args: args.iter().map(Into::into).collect(),
        environment: Vec::new(),
        missing: MISSING,
    };
    let pip = ["-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--require-hashes", "-r"];
    vec![
        step("making .venv (python3 -m venv)", "python3".into(), &["-m", "venv", PACKAGES]),
        step(
            "installing componentize-py (pip, 17 MB)",
            folder.join(PACKAGES).join("bin/python").into(),
            &[&pip[..], &["requirements.txt"]].concat(),
        ),
    ]
}

/// The worlds of the hooks in the manifest; those of a redactor where it cannot be read, so that the build goes on and
/// the manifest's own problem is shown when the component is loaded.
fn worlds(folder: &Path) -> Vec<&'static str> {
    let manifest = std::fs::read(folder.join(MANIFEST_FILE)).unwrap_or_default();
    let hooks = Manifest::parse(&manifest).map_or_else(|_| vec![Hook::Redact], |manifest| manifest.hooks);
    let world = |hook: &Hook| match hook {
        Hook::Redact => "hermes:hook/redactor",
        Hook::Transform => "hermes:hook/transformer",
        Hook::Notify => "hermes:hook/notifier",
    };
    hooks.iter().map(world).collect()
}

/// What the tool writes, until it is whole: the tool makes no folders, and a broken build must not replace a good one.
fn unfinished(name: &PluginName) -> String {
    format!("{name}.wasm.new")
}

fn finish(folder: &Path, name: &PluginName) -> Result<(), ProjectError> {
    let target = folder.join(BUILD_FOLDER).join(format!("{name}.wasm"));
    let failed = |source| ProjectError::Write { path: target.clone(), source };
    std::fs::create_dir_all(folder.join(BUILD_FOLDER)).map_err(failed)?;
    std::fs::rename(folder.join(unfinished(name)), &target).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> (tempfile::TempDir, PathBuf) {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().canonicalize().unwrap().join("mask-ids");
        for (path, text) in files(Hook::Redact) {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text.replace("{{name}}", "mask-ids")).unwrap();
        }
        (above, folder)
    }

    fn name() -> PluginName {
        "mask-ids".parse().unwrap()
    }

    #[test]
    fn the_tool_is_installed_once_and_one_above_serves_all() {
        let (above, folder) = project();
        assert_eq!(steps(&folder, &name()).len(), 3);
        let tool = above.path().canonicalize().unwrap().join(PACKAGES).join(TOOL);
        std::fs::create_dir_all(tool.parent().unwrap()).unwrap();
        std::fs::write(&tool, "").unwrap();
        let steps = steps(&folder, &name());
        assert_eq!(steps.len(), 1);
        assert_eq!(steps[0].program, tool.into_os_string());
    }

    #[test]
    fn only_what_has_a_digest_is_installed() {
        let (_above, folder) = project();
        let pip = &steps(&folder, &name())[1];
        assert!(pip.args.contains(&"--require-hashes".into()), "{pip:?}");
        let requirements = std::fs::read_to_string(folder.join("requirements.txt")).unwrap();
        assert!(requirements.contains("componentize-py==") && requirements.contains("--hash=sha256:"));
    }

    #[test]
    fn the_world_is_that_of_the_hooks_in_the_manifest() {
        let (_above, folder) = project();
        let manifest = std::fs::read_to_string(folder.join(MANIFEST_FILE)).unwrap();
        std::fs::write(folder.join(MANIFEST_FILE), manifest.replace("[\"redact\"]", "[\"transform\", \"redact\"]"))
            .unwrap();
        assert_eq!(worlds(&folder), ["hermes:hook/transformer", "hermes:hook/redactor"]);
        std::fs::write(folder.join(MANIFEST_FILE), "no manifest").unwrap();
        assert_eq!(worlds(&folder), ["hermes:hook/redactor"]);
    }

    #[test]
    fn a_finished_component_replaces_the_last_one_whole() {
        let (_above, folder) = project();
        for text in ["one", "two"] {
            std::fs::write(folder.join(unfinished(&name())), text).unwrap();
            finish(&folder, &name()).unwrap();
            assert_eq!(std::fs::read_to_string(folder.join("build/mask-ids.wasm")).unwrap(), text);
        }
        assert!(matches!(finish(&folder, &name()), Err(ProjectError::Write { .. })));
    }
}
