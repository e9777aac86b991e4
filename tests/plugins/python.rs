//! Plugins in Python: the SDK's own tests, the examples, and the way from a new project to a plugin in force.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use hermes_tests::home::{Ran, TestHome, finish};
use hermes_tests::policy::{open, streamed, view};
use hermes_tests::{examples as shared, tree, wait};

/// A word no rule knows.
const WORD: &str = "tiramisu-4711";

fn examples() -> PathBuf {
    tree::root().join("plugins/examples/python").canonicalize().unwrap()
}

/// A home with one of the examples in it, alone, and loaded: so its canaries are shown.
fn with_example(name: &str) -> TestHome {
    let folder = examples().join(name);
    let component = folder.join("build").join(format!("{name}.wasm"));
    assert!(component.is_file(), "{} is not there: run `cargo xtask test`", component.display());
    let home = TestHome::new();
    drop(large(&home, &["plugins", "install", folder.to_str().unwrap()]).expect(0));
    for bundled in ["redact-secrets", "summarize-output"] {
        drop(home.run(["plugins", "disable", bundled]).expect(0));
    }
    assert_eq!(home.row(name)["state"], "loaded");
    home
}

/// How long a test of a plugin may take: a build, two compilations of an interpreter, and hundreds of calls. That is
/// 90 seconds of processor time.
const PATIENCE: Duration = Duration::from_secs(540);

/// hermes, with the time that an interpreter takes.
fn large(home: &TestHome, arguments: &[&str]) -> Ran {
    finish(home.command(arguments), PATIENCE)
}

/// The plugin's own tests, as an author runs them.
fn unit_tests(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("python3");
    command.args(["-B", "-m", "unittest"]).args(arguments).current_dir(folder).env("PYTHONPATH", ".");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = finish(command, wait::PATIENCE).expect(0);
    assert!(ran.stderr.contains("\nOK") && !ran.stderr.contains("Ran 0 tests"), "{ran:?}");
}

#[test]
fn the_sdk_and_the_examples_pass_their_own_tests() {
    unit_tests(&tree::root().join("plugin-sdk/python"), &["discover", "-s", "tests"]);
    for name in ["mask-tickets", "fold-repeats", "failures-only"] {
        unit_tests(&examples().join(name), &[]);
    }
}

#[test]
fn the_examples_of_every_language_say_the_same_of_themselves() {
    for name in ["mask-tickets", "fold-repeats", "failures-only"] {
        let ours = fs::read_to_string(examples().join(name).join("plugin.toml")).unwrap();
        for language in fs::read_dir(examples().join("..")).unwrap() {
            let manifest = language.unwrap().path().join(name).join("plugin.toml");
            if let Ok(theirs) = fs::read_to_string(&manifest) {
                assert_eq!(ours, theirs, "{}", manifest.display());
            }
        }
    }
}

#[test]
fn the_example_redactor_masks_in_bytes_whatever_the_pieces() {
    let home = with_example("mask-tickets");
    let plugins = open(&home);
    let policy = plugins.policy();
    let text = "👋 see ACME-1, ü€ACME-22\n👩👩👧 OTHER-3 ACME-4👋\nACME-5";
    let shown = "👋 see [REDACTED:ticket], ü€[REDACTED:ticket]\n👩👩👧 OTHER-3 [REDACTED:ticket]👋\n[REDACTED:ticket]";
    assert_eq!(view(&*policy, text).text.as_str(), shown);
    for cut in 0..=text.len() {
        let (front, back) = text.as_bytes().split_at(cut);
        assert_eq!(streamed(&*policy, [front, back]), shown, "cut at {cut}");
    }
}

/// On text without a hit, nothing is looked at in Python.
#[test]
fn the_example_redactor_has_half_the_speed_of_the_search_or_more() {
    drop(with_example("mask-tickets"));
    let (natively, called) = shared::search_and_call("python");
    assert!(called <= natively * 2, "{called:?} with the plugin, {natively:?} natively");
}

#[test]
fn the_example_transform_replaces_bytes_and_not_characters() {
    let home = with_example("fold-repeats");
    let plugins = open(&home);
    let policy = plugins.policy();
    let shown = view(&*policy, "ü👋\nü👋\nü👋\nend €\n");
    assert_eq!(shown.text.as_str().trim_end(), "ü👋\n[repeated 3 times]\nend €");
}

#[test]
fn the_example_notifier_shows_its_canaries() {
    drop(with_example("failures-only"));
}

/// A new project that finds the packages of the examples above itself, so that nothing is downloaded. What is compiled
/// here is never seen again, so it goes into a cache of its own.
fn new_project(hook: &str) -> (TestHome, PathBuf) {
    let home = TestHome::new();
    let cache = home.work().join("cache");
    let home = home.with("XDG_CACHE_HOME", cache.to_str().unwrap());
    let packages = examples().join(".venv");
    assert!(packages.join("bin/componentize-py").is_file(), "{}: run `cargo xtask test`", packages.display());
    symlink(packages, home.work().join(".venv")).unwrap();
    drop(home.run(["plugins", "new", "my-rule", "--hook", hook, "--lang", "python"]).expect(0));
    let folder = home.work().join("my-rule");
    unit_tests(&folder, &[]);
    (home, folder)
}

/// From a new project to a row that says `loaded`.
fn to_loaded(home: &TestHome, folder: &Path, hook: &str) {
    let folder = folder.to_str().unwrap();
    let tested = large(home, &["plugins", "test", folder, "--json"]).expect(0).json();
    let cases = tested["cases"].as_array().unwrap();
    assert!(cases.len() > 1 && cases.iter().all(|case| case["ok"] == true), "{tested}");
    drop(large(home, &["plugins", "install", folder]).expect(0));
    let row = home.row("my-rule");
    assert_eq!((&row["state"], &row["hooks"][0]), (&"loaded".into(), &hook.into()), "{row}");
}

#[test]
fn a_new_redactor_in_python_masks_and_its_exceptions_say_nothing() {
    let (home, folder) = new_project("redact");
    let source = fs::read_to_string(folder.join("plugin.py")).unwrap();
    let line = "        findings = Findings.whole_lines(window)\n";
    let raises = "        if 'BOOM' in window.text:\n            raise ValueError(window.text)\n";
    assert!(source.contains(line), "{source}");
    fs::write(folder.join("plugin.py"), source.replace(line, &format!("{raises}{line}"))).unwrap();
    to_loaded(&home, &folder, "redact");

    let ran = home.run(["run", "--", "echo", "👋 user id-42 left"]).expect(0);
    assert_eq!(ran.stdout.trim_end(), "👋 user [REDACTED:id] left");
    // The command line holds the words too, so they come from a file that is no file of hermes.
    let input = tempfile::NamedTempFile::new().unwrap();
    fs::write(input.path(), format!("BOOM {WORD}\n")).unwrap();
    let path = input.path().to_str().unwrap();
    let ran = home.run(["run", "--view", "--", "cat", path]).expect(0);
    assert_eq!(ran.stdout.trim_end(), "[output withheld: my-rule: exception]");
    for arguments in [
        &["run", "--json", "--", "cat", path][..],
        &["run", "--", "cat", path],
        &["redact", path],
        &["plugins", "why", "my-rule", "-v"],
    ] {
        let mut command = home.command(arguments);
        command.env("HERMES_LOG", "trace");
        let ran = finish(command, wait::PATIENCE);
        assert!(!ran.all().contains(WORD) && !ran.all().contains("BOOM"), "{arguments:?}: {ran:?}");
    }
    assert_eq!(home.files_with(WORD), Vec::<PathBuf>::new());
}

#[test]
fn a_new_transform_in_python_passes_its_test_and_is_in_force() {
    let (home, folder) = new_project("transform");
    to_loaded(&home, &folder, "transform");
}

#[test]
fn a_new_notifier_in_python_passes_its_test_and_is_in_force() {
    let (home, folder) = new_project("notify");
    to_loaded(&home, &folder, "notify");
}

#[test]
fn a_source_that_python_cannot_read_is_a_failed_build_that_leaves_the_last_component() {
    let (home, folder) = new_project("redact");
    fs::create_dir(folder.join("build")).unwrap();
    fs::write(folder.join("build/my-rule.wasm"), "the last one").unwrap();
    fs::write(folder.join("plugin.py"), "this is no Python\n").unwrap();
    let failed = large(&home, &["plugins", "build", folder.to_str().unwrap()]).expect(1);
    assert!(failed.stderr.contains("SyntaxError") && failed.stderr.contains("does not build"), "{failed:?}");
    assert_eq!(fs::read_to_string(folder.join("build/my-rule.wasm")).unwrap(), "the last one");
}

/// The pages of the book show files of this repository, and only places that are there.
#[test]
fn what_the_page_on_python_shows_is_the_tested_code() {
    let page = tree::root().join("docs/src/authors/python.md");
    let text = fs::read_to_string(&page).unwrap();
    let includes: Vec<(&str, &str)> = text
        .split("{{#include ")
        .skip(1)
        .map(|rest| rest.split_once("}}").unwrap().0.split_once(':').expect("an anchor"))
        .collect();
    assert!(includes.len() > 4, "{includes:?}");
    for (path, anchor) in includes {
        let path = page.parent().unwrap().join(path);
        let shown = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for mark in ["ANCHOR", "ANCHOR_END"] {
            assert!(shown.contains(&format!("# {mark}: {anchor}\n")), "{}: {anchor}", path.display());
        }
    }
}
