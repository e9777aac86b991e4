//! Projects in C: a C compiler makes a core module of the plugin, the SDK and the contract's bindings; what is left to make
//! of it is a component, which is done here.
//!
//! An author needs no compiler beforehand: Zig's, which is one for C, is installed from PyPI into the project, pinned and
//! with digests. Everything a project needs is text, so that its repository can be read.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use hermes_home::{files, variables};
use hermes_model::hook::Hook;
use hermes_model::id::PluginName;
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_component::ComponentEncoder;

use super::{BUILD_FOLDER, Kit, ProjectError, Step};
use crate::author::MANIFEST_FILE;
use crate::limits::FILE_MAX;

/// The folder with the SDK and the bindings.
const VENDOR: &str = "vendor";
/// Where compilers from PyPI are, in the project or in a folder above it.
const VENV: &str = ".venv";
/// What pip installs, within [`VENDOR`]. At the top of a project, it would make one in Python of it.
const REQUIREMENTS: &str = "compiler.txt";
/// The stack of a plugin, 256 KiB: Zig's own default is 16 MiB, which every instance would have to hold. It stands before
/// all else in memory, so that a call that overflows it traps.
const STACK: &str = "-Wl,-z,stack-size=262144";
/// What to do where Python is missing.
const NO_PYTHON: &str =
    "a C plugin is compiled by Zig, which comes from PyPI: install Python 3 with venv, or put `zig` in PATH";
/// What to do where the compiler is gone.
const NO_COMPILER: &str = "remove the folder .venv, and build again: the compiler is installed anew";

macro_rules! sdk {
    ($($file:literal),* $(,)?) => {
        [$(($file, include_str!(concat!("../../../../plugin-sdk/c/", $file)))),*]
    };
}

/// The SDK as it is in this repository.
const SDK: [(&str, &str); 6] = sdk![
    "hermes_plugin.h",
    "hermes_internal.h",
    "hermes_plugin.c",
    "hermes_settings.c",
    "hermes_exports.c",
    "compiler.txt",
];

macro_rules! bindings {
    ($world:literal) => {
        [
            (concat!($world, ".h"), include_str!(concat!(env!("OUT_DIR"), "/c/", $world, ".h"))),
            (concat!($world, ".c"), include_str!(concat!(env!("OUT_DIR"), "/c/", $world, ".c"))),
            (
                concat!($world, "_component_type.c"),
                include_str!(concat!(env!("OUT_DIR"), "/c/", $world, "_component_type.c")),
            ),
        ]
    };
}

/// The contract in C, of one hook.
fn bindings(hook: Hook) -> [(&'static str, &'static str); 3] {
    match hook {
        Hook::Redact => bindings!("redactor"),
        Hook::Transform => bindings!("transformer"),
        Hook::Notify => bindings!("notifier"),
    }
}

/// All of [`VENDOR`].
fn vendored(hook: Hook) -> impl Iterator<Item = (&'static str, &'static str)> {
    SDK.into_iter().chain(bindings(hook))
}

pub(super) const KIT: Kit = Kit { files, steps, finish };

fn files(hook: Hook) -> Vec<(String, String)> {
    let (source, manifest) = match hook {
        Hook::Redact => (include_str!("c/redact.c"), include_str!("rust/redact.toml")),
        Hook::Transform => (include_str!("c/transform.c"), include_str!("rust/transform.toml")),
        Hook::Notify => (include_str!("c/notify.c"), include_str!("rust/notify.toml")),
    };
    // The documentation quotes the source by its anchors.
    let source: String = source.split_inclusive('\n').filter(|line| !line.starts_with("/* ANCHOR")).collect();
    let own = [
        ("plugin.c", source.as_str()),
        ("plugin.toml", manifest),
        ("README.md", include_str!("c/readme.md")),
        (".gitignore", "/build\n/dist\n/.venv\n"),
    ];
    let own = own.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned()));
    own.chain(vendored(hook).map(|(path, text)| (format!("{VENDOR}/{path}"), text.to_owned()))).collect()
}

/// Where the SDK of a project is: its own, or the one of this hermes.
fn vendor(folder: &Path) -> PathBuf {
    let own = PathBuf::from(VENDOR);
    if folder.join(&own).is_dir() { own } else { Path::new(BUILD_FOLDER).join(VENDOR) }
}

/// Puts the SDK of this hermes into the build folder of a project that carries none.
///
/// # Errors
/// It cannot be written.
pub(super) fn lay_out(folder: &Path) -> Result<(), ProjectError> {
    let vendor = folder.join(vendor(folder));
    if vendor == folder.join(VENDOR) {
        return Ok(());
    }
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| ProjectError::Write { path, source }
    };
    // Bindings of another hook would make it that hook's.
    if vendor.exists() {
        std::fs::remove_dir_all(&vendor).map_err(failed(&vendor))?;
    }
    std::fs::create_dir_all(&vendor).map_err(failed(&vendor))?;
    for (name, text) in vendored(hook_of(folder)) {
        let path = vendor.join(name);
        std::fs::write(&path, text).map_err(failed(&path))?;
    }
    Ok(())
}

/// The hook its manifest names first; one that names none gets bindings all the same, and the check says what is wrong.
fn hook_of(folder: &Path) -> Hook {
    let named = std::fs::read_to_string(folder.join(MANIFEST_FILE)).ok().and_then(|text| {
        let manifest: toml::Table = toml::from_str(&text).ok()?;
        let first = manifest.get("hooks")?.as_array()?.first()?.as_str()?.to_owned();
        Hook::ALL.into_iter().find(|hook| hook.name() == first)
    });
    named.unwrap_or(Hook::Redact)
}

/// What compiles a project.
#[derive(Debug, PartialEq, Eq)]
enum Compiler {
    /// `zig`, from the search path.
    Zig(PathBuf),
    /// Zig from PyPI, in this environment.
    Installed(PathBuf),
}

/// The compiler in the project or in a folder above it, or else the one in the search path.
fn compiler(folder: &Path, search_path: Option<&OsStr>) -> Option<Compiler> {
    let installed = folder.ancestors().map(|above| above.join(VENV)).find(|venv| has_zig(venv));
    if let Some(venv) = installed {
        return Some(Compiler::Installed(venv));
    }
    let mut folders = search_path.map(std::env::split_paths).into_iter().flatten();
    let found = folders.find_map(|folder| Some(folder.join("zig")).filter(|zig| folder.is_absolute() && zig.is_file()));
    found.map(Compiler::Zig)
}

/// Whether a virtual environment has Zig: the folder of its packages has the version of Python in its name.
fn has_zig(venv: &Path) -> bool {
    let versions = venv.join("lib").read_dir().into_iter().flatten().flatten();
    versions.into_iter().any(|version| version.path().join("site-packages/ziglang/__main__.py").is_file())
}

fn steps(folder: &Path, name: &PluginName) -> Vec<Step> {
    // The commands run in the folder, where a path that was relative to another one leads nowhere.
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let mut steps = Vec::new();
    let compiler = compiler(&folder, variables::search_path().as_deref()).unwrap_or_else(|| {
        let venv = folder.join(VENV);
        steps.extend(installation(&folder, &venv));
        Compiler::Installed(venv)
    });
    steps.push(compilation(&folder, name, &compiler));
    steps
}

/// The commands that install Zig.
fn installation(folder: &Path, venv: &Path) -> Vec<Step> {
    let python = venv.join("bin").join("python");
    let mut steps = Vec::new();
    let step = |title: &str, program: OsString, args: Vec<OsString>| Step {
        title: title.to_owned(),
        program,
        args,
        environment: Vec::new(),
        missing: NO_PYTHON,
    };
    if !python.exists() {
        steps.push(step("making .venv", "python3".into(), vec!["-m".into(), "venv".into(), venv.into()]));
    }
    let options = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"];
    let mut args: Vec<OsString> = options.map(Into::into).to_vec();
    args.extend(["--only-binary".into(), ":all:".into(), "-r".into()]);
    args.push(vendor(folder).join(REQUIREMENTS).into());
    steps.push(step("installing the compiler (100 MB, from PyPI)", python.into(), args));
    steps
}

/// The command that compiles a project, whose folder is absolute.
fn compilation(folder: &Path, name: &PluginName, compiler: &Compiler) -> Step {
    let build = folder.join(BUILD_FOLDER);
    let local = build.join("zig-cache");
    // The C library is compiled once for all projects that share a compiler.
    let (program, mut args, shared): (OsString, Vec<OsString>, PathBuf) = match compiler {
        Compiler::Zig(zig) => (zig.into(), Vec::new(), local.clone()),
        Compiler::Installed(venv) => {
            (venv.join("bin").join("python").into(), vec!["-m".into(), "ziglang".into()], venv.join("zig-cache"))
        }
    };
    let options = [
        "cc",
        "-target",
        "wasm32-wasi",
        "-mexec-model=reactor",
        "-std=c11",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Wl,--strip-all",
        STACK,
        "-I",
    ];
    args.extend(options.map(Into::into));
    let vendor = vendor(folder);
    args.push(vendor.clone().into());
    args.extend(sources(folder, Path::new("")).into_iter().map(Into::into));
    args.extend(sources(folder, &vendor).into_iter().map(Into::into));
    args.extend(["-o".into(), core(name).into()]);
    Step {
        title: "building (zig cc)".to_owned(),
        program,
        args,
        environment: vec![("ZIG_LOCAL_CACHE_DIR".into(), local.into()), ("ZIG_GLOBAL_CACHE_DIR".into(), shared.into())],
        missing: NO_COMPILER,
    }
}

/// The C files in a folder of the project, in order of their names.
fn sources(folder: &Path, within: &Path) -> Vec<PathBuf> {
    let entries = folder.join(within).read_dir().into_iter().flatten().flatten();
    let mut sources: Vec<PathBuf> = entries
        .map(|entry| within.join(entry.file_name()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    sources.sort();
    sources
}

/// The core module, relative to the project. Its name is no component's.
fn core(name: &PluginName) -> PathBuf {
    Path::new(BUILD_FOLDER).join(format!("{name}.core.wasm"))
}

/// Makes the component. What the plugin uses of a C system, such as `printf`, is answered by an adapter inside it, which
/// is left out where nothing is used.
fn finish(folder: &Path, name: &PluginName) -> Result<(), ProjectError> {
    let core = folder.join(core(name));
    let module = files::read_bounded(&core, FILE_MAX).map_err(ProjectError::Read)?;
    let component = encode(&module).map_err(|reason| ProjectError::Encode { path: core, reason })?;
    let path = folder.join(BUILD_FOLDER).join(format!("{name}.wasm"));
    std::fs::write(&path, component).map_err(|source| ProjectError::Write { path, source })
}

fn encode(module: &[u8]) -> Result<Vec<u8>, String> {
    let mut encoder = ComponentEncoder::default();
    let encoded = encoder
        .validate(true)
        .module(module)
        .and_then(|encoder| {
            encoder.adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER)
        })
        .and_then(ComponentEncoder::encode);
    encoded.map_err(|error| format!("{error:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project;

    fn name() -> PluginName {
        "mask-ids".parse().unwrap()
    }

    fn with_compiler(folder: &Path) -> PathBuf {
        let zig = folder.join(VENV).join("lib/python3.12/site-packages/ziglang");
        std::fs::create_dir_all(&zig).unwrap();
        std::fs::write(zig.join("__main__.py"), "").unwrap();
        folder.join(VENV)
    }

    #[test]
    fn the_nearest_compiler_of_the_folders_above_wins_over_the_search_path() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("plugins/mask-ids");
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(compiler(&folder, None), None);
        let programs = above.path().join("bin");
        std::fs::create_dir(&programs).unwrap();
        std::fs::write(programs.join("zig"), "").unwrap();
        let search_path = std::env::join_paths([Path::new("bin"), &above.path().join("none"), &programs]).unwrap();
        assert_eq!(compiler(&folder, Some(&search_path)), Some(Compiler::Zig(programs.join("zig"))));
        let far = with_compiler(above.path());
        assert_eq!(compiler(&folder, Some(&search_path)), Some(Compiler::Installed(far)));
        let near = with_compiler(&folder);
        assert_eq!(compiler(&folder, None), Some(Compiler::Installed(near)));
    }

    #[test]
    fn an_environment_of_another_language_is_no_compiler_and_is_added_to() {
        let folder = tempfile::tempdir().unwrap();
        let packages = folder.path().join(".venv/lib/python3.12/site-packages/other");
        std::fs::create_dir_all(&packages).unwrap();
        assert_eq!(compiler(folder.path(), None), None);
        let whole = installation(folder.path(), &folder.path().join(VENV));
        assert_eq!(whole.len(), 2);
        std::fs::create_dir_all(folder.path().join(".venv/bin")).unwrap();
        std::fs::write(folder.path().join(".venv/bin/python"), "").unwrap();
        assert_eq!(installation(folder.path(), &folder.path().join(VENV)), whole[1..]);
    }

    #[test]
    fn a_project_is_compiled_with_the_sdk_it_carries_and_another_with_the_one_of_this_hermes() {
        let folder = tempfile::tempdir().unwrap();
        let written = folder.path().join("written");
        project::write(&written, &name(), Hook::Transform, hermes_model::language::Language::C).unwrap();
        lay_out(&written).unwrap();
        assert!(!written.join("build").exists());
        let step = compilation(&written, &name(), &Compiler::Zig("/bin/zig".into()));
        assert!(step.args.contains(&"vendor/transformer.c".into()) && step.args.contains(&"plugin.c".into()));

        let bare = folder.path().join("bare");
        std::fs::create_dir(&bare).unwrap();
        for hooks in ["\"redact\"", "\"notify\", \"transform\""] {
            std::fs::write(bare.join("plugin.toml"), format!("hooks = [{hooks}]\n")).unwrap();
            lay_out(&bare).unwrap();
        }
        let step = compilation(&bare, &name(), &Compiler::Zig("/bin/zig".into()));
        assert!(step.args.contains(&"build/vendor/notifier.c".into()));
        assert!(!step.args.iter().any(|arg| arg.to_string_lossy().contains("redactor")));
        assert!(step.environment.iter().all(|(_, cache)| Path::new(cache).starts_with(bare.join("build"))));
    }

    #[test]
    fn what_is_no_module_of_a_plugin_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(finish(folder.path(), &name()), Err(ProjectError::Read(_))));
        std::fs::create_dir(folder.path().join("build")).unwrap();
        std::fs::write(folder.path().join("build/mask-ids.core.wasm"), "no module").unwrap();
        let refused = finish(folder.path(), &name()).unwrap_err().to_string();
        assert!(refused.contains("mask-ids.core.wasm"), "{refused}");
        assert!(!folder.path().join("build/mask-ids.wasm").exists());
    }
}
