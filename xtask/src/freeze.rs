//! `cargo xtask freeze VERSION`: keeps a compiled plugin of every language and hook, as this SDK builds them, in
//! `tests/released`. Every later hermes must load them.
//!
//! An archive that is there is a promise: it is never written again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::error::TaskError;
use crate::examples;
use crate::plugins;
use crate::run;
use crate::steps::Steps;
use crate::tools;
use crate::workspace::Workspace;

/// Where archives and their indexes are kept.
const RELEASED: &str = "tests/released";
/// The folders of the examples, one a language.
const LANGUAGES: [&str; 4] = ["rust", "js", "python", "c"];
/// The one that the examples step does not build.
const RUST: &str = "rust";
/// How a packed file is compressed. Plugins of one language carry the same interpreter: found again within 64 MiB, it
/// costs nothing the second time. What reads the archive allows no wider window than 128 MiB.
const ZSTD: [&str; 7] = ["--quiet", "--force", "--ultra", "-20", "--long=26", "--threads=1", "--rm"];
/// What makes an archive the same wherever and whenever it is written.
const TAR: [&str; 6] = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--format=ustar"];

/// What `freeze` is asked for.
#[derive(clap::Args)]
pub(crate) struct FreezeArgs {
    /// The version of the SDKs.
    version: String,
    /// A folder of packed plugins, LANGUAGE/NAME.wasm, in place of the examples: for an SDK of another commit.
    #[arg(long, value_name = "FOLDER")]
    built: Option<PathBuf>,
    /// How those were made, for the index.
    #[arg(long, value_name = "TEXT", requires = "built")]
    made: Option<String>,
}

/// A plugin for the archive.
struct Frozen {
    /// Its path in the archive.
    file: String,
    language: String,
    hooks: Vec<String>,
    host: String,
    hook: String,
    digest: String,
    bytes: u64,
    made: String,
}

/// `cargo xtask freeze`.
pub(crate) fn run(args: &FreezeArgs) -> Result<(), TaskError> {
    let workspace = Workspace::find()?;
    let kept = workspace.root.join(RELEASED);
    let archive = kept.join(format!("sdk-{}.tar.zst", args.version));
    if archive.exists() {
        return Err(TaskError::Frozen { archive, reason: "it is kept already, and is never written again".to_owned() });
    }
    let folder = tempfile::tempdir().map_err(TaskError::file("create a folder in", std::env::temp_dir()))?;
    let mut steps = Steps::new(4);
    steps.step("the tools: the WASM target, tar and zstd", || {
        tools::ensure_plugin_target()?;
        tools::require("tar", "install GNU tar: `apt install tar`")?;
        tools::require("zstd", "install it: `apt install zstd`")
    })?;
    steps.step("the host, which builds, packs and checks", || {
        // As the tests build it, so that nothing heavy is compiled twice.
        run::visibly(run::cargo(&workspace.root).args(["build", "--workspace", "--bins", "--tests"]))
    })?;
    let hermes = workspace.target.join("debug").join("hermes");
    let frozen = steps.step("the plugins", || match &args.built {
        Some(built) => take(&hermes, built, folder.path(), args.made.as_deref().unwrap_or("unknown")),
        None => build(&hermes, &workspace, folder.path()),
    })?;
    steps.step("the archive and its index", || {
        fs::create_dir_all(&kept).map_err(TaskError::file("create", &kept))?;
        pack(folder.path(), &archive)?;
        let index = kept.join(format!("sdk-{}.toml", args.version));
        fs::write(&index, index_of(&args.version, &frozen)).map_err(TaskError::file("write", &index))
    })?;
    let size = fs::metadata(&archive).map_err(TaskError::file("look at", &archive))?.len();
    println!("\n  {} plugins, {} KiB in {}", frozen.len(), size.div_ceil(1024), archive.display());
    steps.finish("freeze", &["cargo xtask test -- released    that this hermes loads them"]);
    Ok(())
}

/// Builds every example and packs it.
fn build(hermes: &Path, workspace: &Workspace, into: &Path) -> Result<Vec<Frozen>, TaskError> {
    examples::build(workspace, hermes)?;
    let mut frozen = Vec::new();
    for language in LANGUAGES {
        let examples = folders(&workspace.root.join("plugins/examples").join(language))?;
        // Rust's are members of this workspace, which knows how to build them.
        let rust = if language == RUST { rust(workspace, &examples)? } else { Vec::new() };
        for (index, example) in examples.iter().enumerate() {
            let file = into.join(language).join(format!("{}.wasm", name_of(example)));
            let shown = format!("plugins/examples/{language}/{}", name_of(example));
            let folder = tempfile::tempdir().map_err(TaskError::file("create a folder in", std::env::temp_dir()))?;
            let (from, made) = match rust.get(index) {
                Some(component) => (beside(example, component, folder.path())?, "cargo xtask build-plugins".to_owned()),
                None => (example.clone(), format!("hermes plugins build {shown}")),
            };
            run::visibly(Command::new(hermes).args(["plugins", "pack"]).arg(from).arg("-o").arg(&file))?;
            frozen.push(looked_at(hermes, &file, into, language, &format!("{made}; hermes plugins pack {shown}"))?);
        }
    }
    Ok(frozen)
}

/// The components of the examples in Rust, in the order of their folders.
fn rust(workspace: &Workspace, examples: &[PathBuf]) -> Result<Vec<PathBuf>, TaskError> {
    let names: Vec<String> = examples.iter().map(|example| name_of(example)).collect();
    plugins::build_these(workspace, &names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A folder with a component and the manifest of its example, for `pack`.
fn beside(example: &Path, component: &Path, folder: &Path) -> Result<PathBuf, TaskError> {
    let manifest = example.join("plugin.toml");
    fs::copy(&manifest, folder.join("plugin.toml")).map_err(TaskError::file("copy", &manifest))?;
    let to = folder.join(format!("{}.wasm", name_of(example)));
    fs::copy(component, to).map_err(TaskError::file("copy", component))?;
    Ok(folder.to_owned())
}

/// Takes what was built before.
fn take(hermes: &Path, from: &Path, into: &Path, made: &str) -> Result<Vec<Frozen>, TaskError> {
    let mut frozen = Vec::new();
    for language in LANGUAGES {
        let mut files = entries(&from.join(language))?;
        files.retain(|path| path.extension().is_some_and(|extension| extension == "wasm"));
        for file in files {
            let to = into.join(language).join(file.file_name().unwrap_or_default());
            fs::create_dir_all(into.join(language)).map_err(TaskError::file("create", into))?;
            fs::copy(&file, &to).map_err(TaskError::file("copy", &file))?;
            frozen.push(looked_at(hermes, &to, into, language, made)?);
        }
    }
    Ok(frozen)
}

/// What the index says of a packed plugin, which must load in the hermes that keeps it.
fn looked_at(hermes: &Path, file: &Path, into: &Path, language: &str, made: &str) -> Result<Frozen, TaskError> {
    let checked = answer(Command::new(hermes).args(["plugins", "check", "--json"]).arg(file))?;
    let digested = run::answer(Command::new("sha256sum").arg("--").arg(file))?;
    let text = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    let path = file.strip_prefix(into).unwrap_or(file);
    Ok(Frozen {
        file: path.to_string_lossy().into_owned(),
        language: language.to_owned(),
        hooks: checked["hooks"].as_array().into_iter().flatten().map(text).collect(),
        host: text(&checked["api"]["host"]),
        hook: text(&checked["api"]["hook"]),
        digest: digested.split_whitespace().next().unwrap_or_default().trim_start_matches('\\').to_owned(),
        bytes: fs::metadata(file).map_err(TaskError::file("look at", file))?.len(),
        made: made.to_owned(),
    })
}

fn answer(command: &mut Command) -> Result<Value, TaskError> {
    let text = run::answer(command)?;
    let broken =
        |error: serde_json::Error| TaskError::Answer { command: run::shown(command), reason: error.to_string() };
    serde_json::from_str(&text).map_err(broken)
}

fn pack(folder: &Path, archive: &Path) -> Result<(), TaskError> {
    let plain = archive.with_extension("");
    run::visibly(Command::new("tar").args(TAR).arg("-C").arg(folder).arg("-cf").arg(&plain).arg("."))?;
    run::visibly(Command::new("zstd").args(ZSTD).arg(&plain).arg("-o").arg(archive))
}

/// The index beside the archive, for people and for the test.
fn index_of(version: &str, frozen: &[Frozen]) -> String {
    let mut text = format!(
        "# What is in sdk-{version}.tar.zst: plugins as this SDK built them. Written by `cargo xtask freeze`.\n"
    );
    for plugin in frozen {
        let hooks: Vec<String> = plugin.hooks.iter().map(|hook| format!("{hook:?}")).collect();
        text += &format!(
            "\n[[plugin]]\nfile = {:?}\nlanguage = {:?}\nhooks = [{}]\nsdk = {version:?}\nhost = {:?}\nhook = {:?}\n\
             sha256 = {:?}\nbytes = {}\nmade = {:?}\n",
            plugin.file,
            plugin.language,
            hooks.join(", "),
            plugin.host,
            plugin.hook,
            plugin.digest,
            plugin.bytes,
            plugin.made
        );
    }
    text
}

/// The folders of plugins in a folder, in order; none if it is not there.
fn folders(folder: &Path) -> Result<Vec<PathBuf>, TaskError> {
    let mut found = entries(folder)?;
    found.retain(|path| path.join("plugin.toml").is_file());
    Ok(found)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, TaskError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).map_err(TaskError::file("read", folder))?;
    let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.sort();
    Ok(found)
}

fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_names_everything_about_a_plugin() {
        let plugin = Frozen {
            file: "rust/a.wasm".to_owned(),
            language: "rust".to_owned(),
            hooks: vec!["redact".to_owned()],
            host: "0.1.1".to_owned(),
            hook: "0.1.0".to_owned(),
            digest: "ab".to_owned(),
            bytes: 7,
            made: "a \"quoted\" command".to_owned(),
        };
        let text = index_of("0.1.1", &[plugin]);
        for line in ["hooks = [\"redact\"]", "sdk = \"0.1.1\"", "bytes = 7", r#"made = "a \"quoted\" command""#] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }

    #[test]
    fn only_folders_with_a_manifest_are_plugins() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b", "a", "node_modules"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        for name in ["b", "a"] {
            fs::write(folder.path().join(name).join("plugin.toml"), "").unwrap();
        }
        let names: Vec<String> = folders(folder.path()).unwrap().iter().map(|path| name_of(path)).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(folders(&folder.path().join("nowhere")).unwrap().is_empty());
    }
}
