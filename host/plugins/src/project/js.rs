//! Projects in JavaScript: npm installs the compiler as locked, which puts the plugin, the SDK and the engine QuickJS
//! into one component. It reads several modules by itself, so nothing has to bundle them.

use std::path::{Path, PathBuf};

use hermes_model::hook::Hook;
use hermes_model::id::PluginName;
use serde_json::Value;

use super::{BUILD_FOLDER, Kit, ProjectError, Step};
use crate::author::MANIFEST_FILE;

/// The compiler, as npm calls its program.
const COMPILER: &str = "componentize-qjs";
/// The package of the SDK.
const SDK_PACKAGE: &str = "hermes-plugin-sdk";
/// Where a project of its own has the SDK.
const VENDORED: &str = "vendor/hermes-plugin-sdk";
/// The file every plugin begins in.
const ENTRY: &str = "plugin.js";
/// What npm writes when it has installed everything.
const INSTALLED: &str = "node_modules/.package-lock.json";
const LOCK: &str = "package-lock.json";
const NO_NODE: &str = "building a JavaScript plugin needs Node.js 20 or later: https://nodejs.org";

macro_rules! sdk {
    ($($file:literal),* $(,)?) => {
        [$((concat!("vendor/hermes-plugin-sdk/", $file), include_str!(concat!("../../../../plugin-sdk/js/", $file)))),*]
    };
}

/// The SDK as it is in this repository.
const SDK: [(&str, &str); 12] = sdk![
    "package.json",
    "src/host.js",
    "src/kernel.js",
    "src/lifecycle.js",
    "src/notify.js",
    "src/redact.js",
    "src/standin.js",
    "src/testing.js",
    "src/text.js",
    "src/transform.js",
    "wit/hook.wit",
    "wit/deps/host/host.wit",
];

pub(super) const KIT: Kit = Kit { files, steps, finish };

fn files(hook: Hook) -> Vec<(String, String)> {
    let (source, test, manifest) = match hook {
        Hook::Redact => {
            (include_str!("js/redact.js"), include_str!("js/redact.test.js"), include_str!("js/redact.toml"))
        }
        // What these do is the same in Rust, and so is what they say of themselves.
        Hook::Transform => {
            (include_str!("js/transform.js"), include_str!("js/transform.test.js"), include_str!("rust/transform.toml"))
        }
        Hook::Notify => {
            (include_str!("js/notify.js"), include_str!("js/notify.test.js"), include_str!("rust/notify.toml"))
        }
    };
    let mut files = vec![
        ("package.json", include_str!("js/package.json")),
        (LOCK, include_str!("js/package-lock.json")),
        ("plugin.toml", manifest),
        (ENTRY, source),
        ("plugin.test.js", test),
        ("README.md", include_str!("js/readme.md")),
        (".gitignore", "/node_modules\n/build\n/dist\n"),
    ];
    files.extend(SDK);
    files.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect()
}

fn steps(folder: &Path, name: &PluginName) -> Vec<Step> {
    // The commands run in the folder; what they are given must not depend on where that is seen from.
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    // The compiler makes no folder. Where this fails it says itself that it cannot write there.
    let _ = std::fs::create_dir_all(folder.join(BUILD_FOLDER));
    let packages = packages(&folder);
    let install = Step {
        title: "installing the compiler (npm ci)".to_owned(),
        program: "npm".into(),
        args: ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"]
            .into_iter()
            .map(Into::into)
            .chain([packages.clone().into()])
            .collect(),
        environment: Vec::new(),
        missing: NO_NODE,
    };
    let sdk = sdk(&packages);
    let compile = Step {
        title: format!("building ({COMPILER})"),
        program: packages.join("node_modules/.bin").join(COMPILER).into(),
        args: vec![
            "--js".into(),
            folder.join(ENTRY).into(),
            "--module-root".into(),
            common(&folder, &sdk).into(),
            "--wit".into(),
            sdk.join("wit").into(),
            "--world".into(),
            world(&folder).into(),
            // A plugin has nothing to ask of a system, and hermes calls none that waits.
            "--stub-wasi".into(),
            "--sync".into(),
            "--output".into(),
            component(&folder, name).into(),
        ],
        environment: Vec::new(),
        missing: NO_NODE,
    };
    if is_installed(&packages) { vec![compile] } else { vec![install, compile] }
}

/// What is installed next must be what was just built.
fn finish(folder: &Path, name: &PluginName) -> Result<(), ProjectError> {
    let path = component(folder, name);
    match path.metadata() {
        Ok(found) if found.is_file() => Ok(()),
        _ => Err(ProjectError::Encode { path, reason: "the compiler left nothing there".to_owned() }),
    }
}

fn component(folder: &Path, name: &PluginName) -> PathBuf {
    folder.join(BUILD_FOLDER).join(format!("{name}.wasm"))
}

/// The folder whose packages a project uses: its own or, where several projects share them, the nearest above that is
/// locked.
fn packages(folder: &Path) -> PathBuf {
    folder.ancestors().find(|above| above.join(LOCK).is_file()).unwrap_or(folder).to_owned()
}

/// Whether what the lock says is installed.
fn is_installed(packages: &Path) -> bool {
    let changed = |file: &str| packages.join(file).metadata().and_then(|found| found.modified()).ok();
    match (changed(LOCK), changed(INSTALLED)) {
        (Some(locked), Some(installed)) => installed >= locked,
        // Somebody else's way to install: it counts if the compiler is there.
        (None, _) => packages.join("node_modules/.bin").join(COMPILER).exists(),
        (Some(_), None) => false,
    }
}

/// Where the SDK is, as `package.json` says it: it need not be installed yet.
fn sdk(packages: &Path) -> PathBuf {
    let text = std::fs::read(packages.join("package.json")).unwrap_or_default();
    let package: Value = serde_json::from_slice(&text).unwrap_or_default();
    let given = package["dependencies"][SDK_PACKAGE].as_str().and_then(|given| given.strip_prefix("file:"));
    let path = packages.join(given.unwrap_or(VENDORED));
    path.canonicalize().unwrap_or(path)
}

/// The folder both are in: the compiler reads modules below one folder only.
fn common(one: &Path, other: &Path) -> PathBuf {
    one.ancestors().find(|above| other.starts_with(above)).unwrap_or(Path::new("/")).to_owned()
}

/// The world of the first hook the manifest names, even if the rest of it is wrong.
fn world(folder: &Path) -> &'static str {
    let manifest = std::fs::read_to_string(folder.join(MANIFEST_FILE)).unwrap_or_default();
    let table: toml::Table = toml::from_str(&manifest).unwrap_or_default();
    let first = table.get("hooks").and_then(|hooks| hooks.as_array()?.first()?.as_str()).unwrap_or_default();
    match Hook::ALL.into_iter().find(|hook| hook.name() == first) {
        Some(Hook::Transform) => "transformer",
        Some(Hook::Notify) => "notifier",
        Some(Hook::Redact) | None => "redactor",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(hook: Hook) -> (tempfile::TempDir, Vec<Step>) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files(hook) {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text.replace("{{name}}", "mask-ids")).unwrap();
        }
        let steps = steps(folder.path(), &"mask-ids".parse().unwrap());
        (folder, steps)
    }

    fn argument(step: &Step, name: &str) -> PathBuf {
        let at = step.args.iter().position(|argument| argument == name).unwrap();
        PathBuf::from(&step.args[at + 1])
    }

    #[test]
    fn a_project_is_installed_once_and_again_when_its_lock_changes() {
        let (folder, first) = project(Hook::Redact);
        assert_eq!(first.len(), 2);
        std::fs::create_dir_all(folder.path().join("node_modules")).unwrap();
        std::fs::write(folder.path().join(INSTALLED), "{}").unwrap();
        let name = "mask-ids".parse().unwrap();
        assert_eq!(steps(folder.path(), &name).len(), 1);
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
        std::fs::File::options().write(true).open(folder.path().join(LOCK)).unwrap().set_modified(later).unwrap();
        assert_eq!(steps(folder.path(), &name).len(), 2);
    }

    #[test]
    fn each_hook_has_its_world_and_the_contract_of_its_own_sdk() {
        for (hook, world) in [(Hook::Redact, "redactor"), (Hook::Transform, "transformer"), (Hook::Notify, "notifier")]
        {
            let (folder, steps) = project(hook);
            let compile = steps.last().unwrap();
            assert_eq!(argument(compile, "--world"), Path::new(world));
            let folder = folder.path().canonicalize().unwrap();
            assert_eq!(argument(compile, "--wit"), folder.join(VENDORED).join("wit"));
            assert_eq!(argument(compile, "--module-root"), folder);
            assert_eq!(argument(compile, "--output"), folder.join("build/mask-ids.wasm"));
        }
    }

    #[test]
    fn projects_that_share_their_packages_use_those_above_them() {
        let above = tempfile::tempdir().unwrap();
        let above = above.path().canonicalize().unwrap();
        let (sdk, shared) = (above.join("sdk"), above.join("js"));
        let folder = shared.join("mask-ids");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::create_dir(&sdk).unwrap();
        std::fs::write(shared.join(LOCK), "{}").unwrap();
        let package = r#"{"dependencies": {"hermes-plugin-sdk": "file:../sdk"}}"#;
        std::fs::write(shared.join("package.json"), package).unwrap();
        let steps = steps(&folder, &"mask-ids".parse().unwrap());
        assert_eq!(steps[0].args.last().map(PathBuf::from), Some(shared.clone()));
        assert_eq!(steps[1].program, shared.join("node_modules/.bin").join(COMPILER));
        assert_eq!(argument(&steps[1], "--wit"), sdk.join("wit"));
        assert_eq!(argument(&steps[1], "--module-root"), above);
    }

    #[test]
    fn a_build_that_left_nothing_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let name = "mask-ids".parse().unwrap();
        assert!(matches!(finish(folder.path(), &name), Err(ProjectError::Encode { .. })));
        std::fs::create_dir(folder.path().join(BUILD_FOLDER)).unwrap();
        std::fs::write(folder.path().join("build/mask-ids.wasm"), "x").unwrap();
        finish(folder.path(), &name).unwrap();
    }
}
