//! The load pipeline: from bytes to a plugin that has shown its canaries, or to the whole list of problems.
//!
//! Each step can end in an ordinary problem; none panics on any bytes. Guest code runs only in the last steps, in a
//! trial instance under the limits of every other call.

use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hermes_model::config::PluginConfig;
use hermes_model::hook::Hook;
use semver::Version;
use serde_json::Value;
use wasmtime::component::Component;

use crate::cache::{CompileCache, Compiled};
use crate::contract::Contract;
use crate::digest::Digest;
use crate::engine::Engine;
use crate::examined::{Examined, Step};
use crate::instance::Pre;
use crate::limits::{COMPILE_ALONE, COMPILE_MAX, FILE_MAX, Limits};
use crate::manifest::{Manifest, ManifestError};
use crate::problem::{Code, Problem};
use crate::section::{COMPONENT_HEADER, MODULE_HEADER};
use crate::surface::{self, SurfaceError};
use crate::{archive, census, check, section, settings, trial};

/// What a pipeline needs beside the bytes.
#[derive(Clone)]
pub struct Loader {
    /// The engine everything is compiled for.
    pub engine: Engine,
    /// Where compiled code is kept.
    pub cache: CompileCache,
}

/// The version of hermes manifests are compared with.
pub fn hermes_version() -> Version {
    Version::parse(env!("CARGO_PKG_VERSION")).expect("cargo only builds packages with a semantic version")
}

impl Loader {
    /// Examines a packed component: its bytes hold its manifest.
    ///
    /// `expected` is the digest the generation recorded, and `stored` its settings there.
    pub fn examine(
        &self,
        bytes: &[u8],
        expected: Option<Digest>,
        stored: &serde_json::Map<String, Value>,
        config: &PluginConfig,
    ) -> Examined {
        let mut pipeline = Pipeline {
            loader: self,
            found: Examined {
                digest: Digest::of(bytes),
                manifest: None,
                surface: None,
                problems: Vec::new(),
                steps: Vec::new(),
                canaries: Vec::new(),
                log: Vec::new(),
                ready: None,
            },
        };
        pipeline.run(bytes, expected, stored, config);
        pipeline.found
    }
}

struct Pipeline<'a> {
    loader: &'a Loader,
    found: Examined,
}

impl Pipeline<'_> {
    fn run(
        &mut self,
        bytes: &[u8],
        expected: Option<Digest>,
        stored: &serde_json::Map<String, Value>,
        config: &PluginConfig,
    ) {
        if !self.step("file", |found| file(bytes, expected, found)) {
            return;
        }
        if !self.step("header", |found| header(bytes, found)) {
            return;
        }
        let loader = self.loader;
        let mut compiled = None;
        let sized = self.step("size", |found| {
            // Whatever is in the cache was counted before it was compiled, and is not compiled again.
            compiled = loader.cache.load(&loader.engine, found.digest);
            if compiled.is_none() {
                found.problems.extend(census::over(bytes));
            }
        });
        if !sized {
            return;
        }
        // Both are read whatever the other says, so that the report names everything at once.
        self.step("manifest", |found| manifest(bytes, found));
        if !self.step("interfaces", |found| interfaces(compiled.as_ref(), bytes, found)) {
            return;
        }
        let mut effective = None;
        self.step("settings", |found| {
            if let Some(manifest) = &found.manifest {
                match settings::effective(manifest, stored, config) {
                    Ok(settings) => effective = Some(settings),
                    Err(problem) => found.problems.push(problem),
                }
            }
        });
        let (Some(settings), true) = (effective, self.found.problems.is_empty()) else { return };
        let mut component = None;
        if !self.step("compile", |found| component = compile(loader, bytes, compiled, found)) {
            return;
        }
        let Some(component) = component else { return };
        let mut pres = Vec::new();
        if !self.step("link", |found| pres = link(loader, &component, found)) {
            return;
        }
        self.step("trial", |found| found.ready = trial::run(&loader.engine, pres, settings, config, found));
    }

    /// Runs a step; whether it added no problem.
    fn step(&mut self, step: &'static str, run: impl FnOnce(&mut Examined)) -> bool {
        let (before, started) = (self.found.problems.len(), Instant::now());
        run(&mut self.found);
        let ok = self.found.problems.len() == before;
        let ms = (started.elapsed().as_secs_f64() * 1e5).round() / 100.0;
        self.found.steps.push(Step { step, ok, ms });
        ok
    }
}

fn file(bytes: &[u8], expected: Option<Digest>, found: &mut Examined) {
    if bytes.len() as u64 > FILE_MAX {
        found.problems.push(too_large(bytes.len() as u64));
    }
    if let Some(expected) = expected
        && expected != found.digest
    {
        found.problems.push(
            Problem::new(
                Code::Digest,
                "",
                "the file in the store is not the one that was installed",
                "install the plugin again, and find out who changed the file",
            )
            .compared(expected.to_string(), found.digest.to_string()),
        );
    }
}

/// The problem of a file over [`FILE_MAX`].
pub(crate) fn too_large(bytes: u64) -> Problem {
    Problem::new(
        Code::Limits,
        "size",
        format!("the file has {bytes} bytes; a plugin may have {FILE_MAX}"),
        "build it smaller: without debug information, with optimisation for size",
    )
    .compared(format!("{bytes} bytes"), format!("{FILE_MAX} bytes"))
}

fn header(bytes: &[u8], found: &mut Examined) {
    if bytes.starts_with(&COMPONENT_HEADER) {
        return;
    }
    found.problems.push(if bytes.starts_with(&MODULE_HEADER) {
        Problem::new(
            Code::CoreModule,
            "",
            "the file is a core WebAssembly module, not a component",
            "build it for wasm32-wasip2, or make a component of it with `wasm-tools component new`",
        )
    } else if bytes.starts_with(&COMPONENT_HEADER[..4]) {
        Problem::new(
            Code::InvalidWasm,
            "",
            "the file begins like WebAssembly, in a version this hermes does not know",
            "build it again with a current toolchain",
        )
    } else {
        match archive::kind(bytes) {
            Some(kind) => {
                let message = format!("the file is {kind}, not WebAssembly");
                Problem::new(Code::NotWasm, "", message, "unpack it and give the .wasm file that is inside")
            }
            None => {
                Problem::new(Code::NotWasm, "", "the file is not WebAssembly", "give the .wasm file the build wrote")
            }
        }
    });
}

fn manifest(bytes: &[u8], found: &mut Examined) {
    let manifests = section::count(bytes);
    if manifests > 1 {
        found.problems.push(Problem::new(
            Code::Manifest,
            "plugin.toml",
            format!("the component has {manifests} manifests inside, and nothing says which one counts"),
            "pack it again from its folder with `hermes plugins pack`",
        ));
        return;
    }
    let Some(text) = section::read(bytes) else {
        // A damaged file says so itself; a sound one without a manifest was never packed.
        if surface_quickly_sound(bytes) {
            found.problems.push(Problem::new(
                Code::Manifest,
                "plugin.toml",
                "the component has no manifest inside",
                "put plugin.toml beside it and run `hermes plugins pack`, or install the folder",
            ));
        }
        return;
    };
    match Manifest::parse(text) {
        Ok(manifest) => {
            found.problems.extend(for_hermes(&manifest, &hermes_version()));
            found.manifest = Some(manifest);
        }
        Err(error) => found.problems.push(manifest_problem(&error)),
    }
}

/// The problem of a manifest that asks for another hermes than this version.
pub(crate) fn for_hermes(manifest: &Manifest, version: &Version) -> Option<Problem> {
    let wanted = &manifest.requires_hermes;
    let next = "install a version of the plugin for this hermes, or the hermes it is for";
    let problem = || {
        let message = format!("it is for hermes {wanted}; this is {version}");
        Problem::new(Code::RequiresHermes, "requires-hermes", message, next)
            .compared(wanted.to_string(), version.to_string())
    };
    (!wanted.matches(version)).then(problem)
}

/// The problem of a manifest that cannot be used.
pub(crate) fn manifest_problem(error: &ManifestError) -> Problem {
    Problem::new(
        Code::Manifest,
        "plugin.toml",
        error.to_string(),
        "correct plugin.toml (the book's chapter on it lists every key) and pack the plugin again",
    )
}

/// Whether the sections of a file end where the file ends: false for a cut file, whose manifest was at its end.
fn surface_quickly_sound(bytes: &[u8]) -> bool {
    wasmparser::Parser::new(0).parse_all(bytes).all(|payload| payload.is_ok())
}

/// Reads what the component imports and exports, from the cache's entry if there is one.
fn interfaces(cached: Option<&Compiled>, bytes: &[u8], found: &mut Examined) {
    let surface = match cached {
        Some(compiled) => compiled.surface.clone(),
        None => match surface::read(bytes) {
            Ok(surface) => surface,
            Err(SurfaceError::Invalid(reason)) => {
                found.problems.push(Problem::new(
                    Code::InvalidWasm,
                    "",
                    format!("the file is damaged: {reason}"),
                    "copy or build it again; compare its digest with the author's",
                ));
                return;
            }
            Err(SurfaceError::TooLarge) => {
                found.problems.push(Problem::new(
                    Code::Limits,
                    "types",
                    "the types of its imports and exports have more parts than are compared",
                    "build it for one of the worlds of hermes:hook (see `hermes plugins new`)",
                ));
                return;
            }
            Err(SurfaceError::Feature(reason)) => {
                found.problems.push(Problem::new(
                    Code::WasmFeature,
                    "",
                    format!("it needs a feature of WebAssembly that this hermes does not enable: {reason}"),
                    "build it for wasm32-wasip2 without threads, garbage collection, 64-bit memory or async",
                ));
                return;
            }
        },
    };
    found.problems.extend(check::compare(&surface, Contract::current()));
    let exported = check::hooks_of(&surface);
    if let Some(manifest) = &found.manifest {
        found.problems.extend(hooks_differ(&manifest.hooks, &exported));
        found.problems.extend(permissions(manifest, &exported));
    }
    found.surface = Some(surface);
}

/// What the manifest says about hooks must be what the component exports.
fn hooks_differ(declared: &[Hook], exported: &[Hook]) -> Vec<Problem> {
    // A component of another track exports none of ours, and was told so already.
    if exported.is_empty() {
        return Vec::new();
    }
    let missing = declared.iter().filter(|hook| !exported.contains(hook)).map(|hook| {
        Problem::new(
            Code::ExportMissing,
            hook.name(),
            format!("plugin.toml names the hook {hook}, and the component does not export it"),
            "correct 'hooks' in plugin.toml, or export the hook",
        )
    });
    let undeclared = exported.iter().filter(|hook| !declared.contains(hook)).map(|hook| {
        Problem::new(
            Code::Manifest,
            hook.name(),
            format!("the component exports the hook {hook}, and plugin.toml does not name it"),
            "add it to 'hooks' in plugin.toml",
        )
    });
    missing.chain(undeclared).collect()
}

fn permissions(manifest: &Manifest, exported: &[Hook]) -> Vec<Problem> {
    let raw = exported.iter().find(|hook| hook.sees_raw_text());
    let mut problems = Vec::new();
    if let Some(raw) = raw {
        if exported.contains(&Hook::Notify) {
            problems.push(Problem::new(
                Code::MixedPrivilege,
                "notify",
                format!("it exports {raw}, which sees raw text, and notify, which may send what it remembers of it"),
                "split it into two components",
            ));
        }
        for permission in &manifest.permissions {
            problems.push(Problem::new(
                Code::MixedPrivilege,
                permission.to_string(),
                format!("it exports {raw}, which sees raw text, and asks for {permission}"),
                "remove the permission: whatever sees raw text can talk to nobody",
            ));
        }
    }
    problems
}

/// Compiles the component, or takes what the cache had.
fn compile(loader: &Loader, bytes: &[u8], cached: Option<Compiled>, found: &mut Examined) -> Option<Component> {
    let compiled = match cached {
        Some(compiled) => compiled,
        None => {
            let component = match compile_bounded(&loader.engine, bytes) {
                Ok(component) => component,
                Err(problem) => {
                    found.problems.push(problem);
                    return None;
                }
            };
            let compiled = Compiled { component, surface: found.surface.clone().unwrap_or_default() };
            loader.cache.keep(&loader.engine, found.digest, &compiled);
            compiled
        }
    };
    if let Some(needed) = compiled.component.resources_required()
        && let Some(memory) = needed.max_initial_memory_size
    {
        let limit = Limits::of(Hook::Redact).memory_bytes;
        // Only the largest counts here: an interpreter has one of 12 MB and three of a page. Their sum is limited when
        // they are made.
        if memory > limit {
            found.problems.push(
                Problem::new(
                    Code::Limits,
                    "memory",
                    format!("it starts with up to {memory} bytes in each of {} memories", needed.num_memories),
                    format!("build it with less, or raise plugins.NAME.limits.memory_bytes (now {limit})"),
                )
                .compared(format!("{memory} bytes"), format!("{limit} bytes")),
            );
        }
    }
    Some(compiled.component)
}

/// How often it is asked how much processor time a compilation has used.
const COMPILE_LOOK: Duration = Duration::from_millis(500);

/// Compiles on a thread of its own, within [`COMPILE_MAX`].
fn compile_bounded(engine: &Engine, bytes: &[u8]) -> Result<Component, Problem> {
    static LARGE: Mutex<()> = Mutex::new(());
    let _alone = (bytes.len() >= COMPILE_ALONE).then(|| LARGE.lock().unwrap_or_else(PoisonError::into_inner));
    let began = process_time();
    let (sender, receiver) = std::sync::mpsc::channel();
    let (engine, bytes) = (engine.wasmtime().clone(), bytes.to_vec());
    let worker = std::thread::Builder::new().name("hermes-compile".to_owned()).spawn(move || {
        // Nobody listens any more when the time was up; the result is of no use then.
        let _ = sender.send(Component::from_binary(&engine, &bytes));
    });
    let refused = |code, message: String, next: &str| Problem::new(code, "compile", message, next);
    if let Err(error) = worker {
        return Err(refused(Code::Limits, format!("no thread to compile on: {error}"), "free memory or threads"));
    }
    // The compiler uses several threads, so the time of all of them counts.
    let answer = loop {
        match receiver.recv_timeout(COMPILE_LOOK) {
            Err(RecvTimeoutError::Timeout) if process_time().saturating_sub(began) < COMPILE_MAX => {}
            answer => break answer,
        }
    };
    match answer {
        Ok(Ok(component)) => Ok(component),
        // What the pool has no room for is a matter of size, not of damage.
        Ok(Err(error)) if format!("{error:#}").contains("exceeds the configured maximum") => Err(refused(
            Code::Limits,
            format!("it needs too much at once: {}", first_line(&format!("{:#}", error.root_cause()))),
            "build it with fewer modules, memories and tables",
        )),
        Ok(Err(error)) => Err(refused(
            Code::InvalidWasm,
            format!("it cannot be compiled: {}", first_line(&format!("{error:#}"))),
            "build it again with a current toolchain",
        )),
        Err(_) => Err(refused(
            Code::Limits,
            format!("it did not compile within {} s of CPU time", COMPILE_MAX.as_secs()),
            "build it smaller, or on a faster machine",
        )),
    }
}

/// The processor time of this process.
fn process_time() -> Duration {
    nix::time::clock_gettime(nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}

/// Resolves all imports and looks up all exports: the authority the report was made to explain.
fn link(loader: &Loader, component: &Component, found: &mut Examined) -> Vec<(Hook, Pre)> {
    let Some(surface) = &found.surface else { return Vec::new() };
    let hooks = check::hooks_of(surface);
    let pre = match loader.engine.linker().instantiate_pre(component) {
        Ok(pre) => pre,
        Err(error) => {
            found.problems.push(Problem::new(
                Code::ImportShape,
                "",
                format!("it cannot be linked: {}", first_line(&format!("{error:#}"))),
                "rebuild the plugin with the SDK of this hermes",
            ));
            return Vec::new();
        }
    };
    let mut pres = Vec::new();
    for hook in hooks {
        match Pre::new(hook, pre.clone()) {
            Ok(pre) => pres.push((hook, pre)),
            Err(error) => found.problems.push(Problem::new(
                Code::ExportShape,
                hook.name(),
                format!("its exports cannot be used: {}", first_line(&format!("{error:#}"))),
                "rebuild the plugin with the SDK of this hermes",
            )),
        }
    }
    pres
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Metering;
    use crate::section::embed;

    const MANIFEST: &str = "name = \"a\"\nversion = \"1.0.0\"\ndescription = \"d\"\nlicense = \"MIT\"\n\
                            requires-hermes = \"*\"\nhooks = [\"redact\"]\n";

    fn codes(bytes: &[u8], expected: Option<Digest>) -> Vec<&'static str> {
        let folder = tempfile::tempdir().unwrap();
        let loader = Loader { engine: Engine::start(Metering::Epoch).unwrap(), cache: CompileCache::at(folder.path()) };
        let examined = loader.examine(bytes, expected, &serde_json::Map::new(), &PluginConfig::default());
        assert!(examined.ready.is_none() || examined.problems.is_empty());
        examined.problems.iter().map(|problem| problem.code.word()).collect()
    }

    fn component(text: &str) -> Vec<u8> {
        embed(&wat::parse_str(text).unwrap(), MANIFEST)
    }

    #[test]
    fn what_is_no_component_says_what_it_is() {
        assert_eq!(codes(b"hello", None), ["not-wasm"]);
        assert_eq!(codes(b"", None), ["not-wasm"]);
        assert_eq!(codes(&wat::parse_str("(module)").unwrap(), None), ["core-module"]);
        assert_eq!(codes(b"\0asm\x09\0\0\0", None), ["invalid-wasm"]);
        let whole = component("(component (core module (func)))");
        assert_eq!(codes(&whole[..20], None), ["invalid-wasm"]);
    }

    #[test]
    fn a_report_names_everything_wrong_at_once() {
        let bytes = component(
            "(component
                (import \"acme:tools/db@1.0.0\" (instance))
                (import \"wasi:http/types@0.2.6\" (instance))
                (import \"hermes:host/log@0.2.0\" (instance)))",
        );
        assert_eq!(codes(&bytes, None), ["import-unknown", "import-too-new", "import-denied", "no-hooks"]);
    }

    #[test]
    fn another_file_than_the_one_installed_is_a_digest_problem() {
        assert_eq!(codes(b"hello", Some(Digest::of(b"other"))), ["digest"]);
    }

    #[test]
    fn a_component_without_a_manifest_says_how_to_pack_it() {
        assert_eq!(codes(&wat::parse_str("(component)").unwrap(), None), ["manifest", "no-hooks"]);
    }

    #[test]
    fn a_feature_that_is_not_enabled_is_told_from_damage() {
        let bytes = component("(component (core module (memory i64 1)))");
        assert_eq!(codes(&bytes, None), ["wasm-feature"]);
    }

    #[test]
    fn the_bundled_plugins_load_and_show_their_canaries() {
        let folder = tempfile::tempdir().unwrap();
        let loader = Loader { engine: Engine::start(Metering::Epoch).unwrap(), cache: CompileCache::at(folder.path()) };
        for name in crate::bundled::names() {
            let (bytes, digest) = crate::bundled::component(&name).unwrap();
            // Twice: compiled, and from the cache.
            for _ in 0..2 {
                let config = PluginConfig::default();
                let examined = loader.examine(bytes, Some(digest), &serde_json::Map::new(), &config);
                assert_eq!(examined.problems, [], "{name}");
                assert!(!examined.canaries.is_empty(), "{name}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_after_a_header_end_in_problems(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
            let mut file = COMPONENT_HEADER.to_vec();
            file.extend(bytes);
            proptest::prop_assert!(!codes_quick(&file).is_empty());
        }
    }

    /// The steps before anything is compiled, on a shared engine.
    fn codes_quick(bytes: &[u8]) -> Vec<&'static str> {
        use std::sync::OnceLock;
        static LOADER: OnceLock<Loader> = OnceLock::new();
        let loader = LOADER.get_or_init(|| Loader {
            engine: Engine::start(Metering::Epoch).unwrap(),
            cache: CompileCache::at(Path::new("/nonexistent")),
        });
        let examined = loader.examine(bytes, None, &serde_json::Map::new(), &PluginConfig::default());
        examined.problems.iter().map(|problem| problem.code.word()).collect()
    }

    use std::path::Path;
}
