//! What fuzzing found worth keeping, loaded in every test run: `fuzz/corpus`, and ten thousand mutations of it.
//!
//! Tests only. Whatever the bytes, the pipeline ends in a plugin that passed every step or in problems with codes.

use std::fs;
use std::path::{Path, PathBuf};

use hermes_model::config::PluginConfig;

use crate::cache::CompileCache;
use crate::engine::{Engine, Metering};
use crate::load::Loader;
use crate::manifest::Manifest;
use crate::problem::{Code, is_plain};
use crate::section;

#[path = "../../../fuzz/src/mutate.rs"]
mod mutate;

/// The mutations of one run.
const MUTATIONS: usize = 10_000;
/// The largest file that is mutated: larger ones take their time to compile, and are loaded as they are only.
const MUTATED_MAX: usize = 16 * 1024;

/// How long the names of files are that libFuzzer wrote: a SHA-1 in hex.
const DIGEST_NAME: usize = 40;

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} is empty", folder.display());
    paths.into_iter().map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

fn loader() -> Loader {
    // No folder can be made there: everything is compiled anew.
    Loader { engine: Engine::start(Metering::Epoch).unwrap(), cache: CompileCache::at(Path::new("/dev/null/none")) }
}

/// Loads a file; the codes of what is wrong with it, none for a plugin that passed every step.
fn codes(loader: &Loader, file: &[u8], what: &dyn std::fmt::Display) -> Vec<Code> {
    let examined = loader.examine(file, None, &serde_json::Map::new(), &PluginConfig::default());
    assert_eq!(examined.ready.is_some(), examined.problems.is_empty(), "{what}: neither loaded nor refused");
    for problem in &examined.problems {
        assert!(!problem.message.is_empty() && !problem.next.is_empty(), "{what}: {} says nothing", problem.code);
        let texts = [Some(&problem.subject), Some(&problem.message), problem.wanted.as_ref(), problem.offered.as_ref()];
        assert!(texts.into_iter().flatten().all(|text| is_plain(text)), "{what}: {problem:?}");
    }
    examined.problems.iter().map(|problem| problem.code).collect()
}

#[test]
fn every_file_of_the_corpus_is_loaded_or_refused_with_a_code() {
    let (loader, files) = (loader(), corpus("load"));
    for (path, file) in &files {
        drop(codes(&loader, file, &path.display()));
    }
    // What a fuzzer found has a digest for a name and is loaded as it is; what we made is nearer to a plugin.
    let made = |path: &Path| path.file_name().is_some_and(|name| name.len() != DIGEST_NAME);
    let small: Vec<&(PathBuf, Vec<u8>)> =
        files.iter().filter(|(path, file)| made(path) && file.len() <= MUTATED_MAX).collect();
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..MUTATIONS {
        let (path, file) = small[seed % small.len()];
        let mutated = mutate::mutate(file, &mut mutate::Dice::new(seed as u64));
        seen.extend(codes(&loader, &mutated, &format_args!("{} with seed {seed}", path.display())));
    }
    // The mutations reach what they are made to reach.
    for code in [Code::NotWasm, Code::InvalidWasm, Code::Manifest, Code::ImportTooNew, Code::ExportMissing] {
        assert!(seen.contains(&code), "no mutation led to {code}: {seen:?}");
    }
}

#[test]
fn every_manifest_of_the_corpus_is_read_or_refused_in_one_line() {
    for (path, file) in corpus("manifest") {
        if let Err(error) = Manifest::parse(&file) {
            assert!(!error.to_string().contains('\n'), "{}", path.display());
        }
    }
}

#[test]
fn every_section_of_the_corpus_is_followed_or_left_alone() {
    for (path, file) in corpus("section") {
        let packed = section::embed(&[&section::COMPONENT_HEADER[..], &file].concat(), "one");
        assert!(packed.ends_with(b"hermes:pluginone"), "{}", path.display());
        let read = section::read(&packed);
        assert!(read.is_none_or(|manifest| manifest == b"one"), "{}", path.display());
    }
}
