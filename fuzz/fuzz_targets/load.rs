//! The whole load pipeline over a damaged component: never a panic, never a hang, and always a plugin that passed every
//! step or problems with codes and plain words.

#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use hermes_model::config::PluginConfig;
use hermes_plugins::cache::CompileCache;
use hermes_plugins::engine::{Engine, Metering};
use hermes_plugins::load::Loader;
use hermes_plugins::problem;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

#[path = "../src/mutate.rs"]
mod mutate;

fn loader() -> &'static Loader {
    static LOADER: OnceLock<Loader> = OnceLock::new();
    LOADER.get_or_init(|| Loader {
        engine: Engine::start(Metering::Epoch).expect("this machine can run WebAssembly"),
        // No folder can be made there: everything is compiled anew.
        cache: CompileCache::at(Path::new("/dev/null/none")),
    })
}

fuzz_target!(|file: &[u8]| {
    let examined = loader().examine(file, None, &serde_json::Map::new(), &PluginConfig::default());
    let passed = examined.steps.last().is_some_and(|step| step.step == "trial" && step.ok);
    assert!(passed || !examined.problems.is_empty(), "neither loaded nor refused");
    for found in &examined.problems {
        assert!(!found.message.is_empty() && !found.next.is_empty(), "{}: nothing is said", found.code);
        let texts = [Some(&found.message), Some(&found.subject), found.wanted.as_ref(), found.offered.as_ref()];
        for text in texts.into_iter().flatten() {
            assert!(problem::is_plain(text), "{}: not a plain word", found.code);
        }
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    // Every fourth is libFuzzer's own, which knows what it has reached.
    if seed % 4 == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let mutated = mutate::mutate(&data[..size], &mut mutate::Dice::new(u64::from(seed)));
    let length = mutated.len().min(max_size);
    data[..length].copy_from_slice(&mutated[..length]);
    length
});
