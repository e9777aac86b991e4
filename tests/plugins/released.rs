//! Plugins as released SDKs built them: every hermes loads them all, and they show what they always showed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Cursor, Read};

use hermes_plugins::contract::Contract;
use hermes_plugins::digest::Digest;
use hermes_tests::home::TestHome;
use hermes_tests::{guests, tree};
use serde_json::Value;

/// The languages of the SDK since its release 0.1.1; the one before was for Rust alone.
const LANGUAGES: [&str; 4] = ["rust", "js", "python", "c"];
/// The largest file of an archive: a component may have 64 MiB.
const FILE_MAX: u64 = 64 * 1024 * 1024;

/// What an index says of one plugin.
struct Entry {
    file: String,
    language: String,
    hooks: Vec<String>,
    sdk: String,
    host: String,
    sha256: String,
    bytes: u64,
}

/// A release of the SDK: its archive's name, what its index says, and what the archive holds.
struct Release {
    stem: String,
    entries: Vec<Entry>,
    files: BTreeMap<String, Vec<u8>>,
}

/// Every release.
fn releases() -> Vec<Release> {
    let folder = tree::root().join("tests/released");
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut archives: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "zst")).collect();
    archives.sort();
    assert!(!archives.is_empty(), "{} holds no archive", folder.display());
    let read = |archive: std::path::PathBuf| {
        let stem = archive.file_name().unwrap().to_str().unwrap().trim_end_matches(".tar.zst").to_owned();
        let index = fs::read_to_string(folder.join(format!("{stem}.toml"))).unwrap();
        Release { stem, entries: entries(&index), files: unpacked(&fs::read(&archive).unwrap()) }
    };
    archives.into_iter().map(read).collect()
}

fn entries(index: &str) -> Vec<Entry> {
    let table: toml::Table = toml::from_str(index).unwrap();
    let text = |entry: &toml::Value, key: &str| entry[key].as_str().unwrap().to_owned();
    let words = |value: &toml::Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let entry = |entry: &toml::Value| Entry {
        file: text(entry, "file"),
        language: text(entry, "language"),
        hooks: words(&entry["hooks"]),
        sdk: text(entry, "sdk"),
        host: text(entry, "host"),
        sha256: text(entry, "sha256"),
        bytes: u64::try_from(entry["bytes"].as_integer().unwrap()).unwrap(),
    };
    table["plugin"].as_array().unwrap().iter().map(entry).collect()
}

fn unpacked(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let decoder = ruzstd::decoding::StreamingDecoder::new(Cursor::new(archive)).unwrap();
    let mut archive = tar::Archive::new(decoder);
    let mut files = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let entry = entry.unwrap();
        if entry.header().entry_type().is_file() {
            let path = entry.path().unwrap().to_str().unwrap().trim_start_matches("./").to_owned();
            let mut bytes = Vec::new();
            entry.take(FILE_MAX).read_to_end(&mut bytes).unwrap();
            files.insert(path, bytes);
        }
    }
    files
}

/// Loads a plugin in a home of its own.
fn loads(entry: &Entry, bytes: &[u8]) {
    let (home, what) = (TestHome::new(), format!("{} of SDK {}", entry.file, entry.sdk));
    let path = guests::write_bytes(&home.work(), "released", bytes);
    let path = path.to_str().unwrap();
    let checked = home.run(["plugins", "check", path, "--json"]).expect(0).json();
    assert_eq!((&checked["ok"], &checked["problems"]), (&true.into(), &Value::Array(Vec::new())), "{what}: {checked}");
    assert_eq!(checked["api"]["host"].as_str().unwrap_or("none"), entry.host, "{what}");
    let hooks: Vec<&str> = checked["hooks"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(hooks, entry.hooks, "{what}");
    let name = checked["name"].as_str().unwrap();
    drop(home.run(["plugins", "install", path]).expect(0));
    let row = home.row(name);
    assert_eq!((&row["state"], &row["problems"]), (&"loaded".into(), &Value::Array(Vec::new())), "{what}: {row}");
    let why = home.run(["plugins", "why", name, "--json"]).expect(0).json();
    let canaries = why["canaries"].as_array().unwrap();
    assert!(!canaries.is_empty() && canaries.iter().all(|canary| canary["ok"] == true), "{what}: {why}");
}

#[test]
fn every_released_plugin_loads_and_shows_its_canaries() {
    for Release { entries, files, .. } in releases() {
        for entry in entries {
            loads(&entry, &files[&entry.file]);
        }
    }
}

#[test]
fn an_archive_holds_what_its_index_says_and_nothing_else() {
    for Release { stem, entries, files } in releases() {
        let named: BTreeSet<&String> = entries.iter().map(|entry| &entry.file).collect();
        assert_eq!(named, files.keys().collect(), "{stem}");
        for entry in &entries {
            let bytes = &files[&entry.file];
            assert_eq!((bytes.len() as u64, Digest::of(bytes).hex()), (entry.bytes, entry.sha256.clone()), "{stem}");
            assert_eq!(stem, format!("sdk-{}", entry.sdk));
        }
    }
}

#[test]
fn every_release_of_the_contract_has_a_plugin_of_each_language_and_hook() {
    let kept: BTreeSet<(String, String, String)> = releases()
        .into_iter()
        .flat_map(|release| release.entries)
        .flat_map(|entry| {
            let hooks = entry.hooks.clone();
            hooks.into_iter().map(move |hook| (entry.sdk.clone(), entry.language.clone(), hook))
        })
        .collect();
    for contract in Contract::known() {
        let sdk = contract.host.to_string();
        let languages = if sdk == "0.1.0" { &LANGUAGES[..1] } else { &LANGUAGES[..] };
        for language in languages {
            for hook in ["redact", "transform", "notify"] {
                let wanted = (sdk.clone(), (*language).to_owned(), hook.to_owned());
                assert!(kept.contains(&wanted), "tests/released lacks {wanted:?}: cargo xtask freeze {sdk}");
            }
        }
    }
}
