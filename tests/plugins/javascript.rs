//! Plugins in JavaScript: the examples, a new project of each hook, and what is held of the engine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hermes_tests::examples::{self, NAMES};
use hermes_tests::home::{self, Ran, TestHome, finish};
use hermes_tests::{registries, tree, wait};

/// Folders in which the unit tests of JavaScript run.
const UNIT_TESTED: [&str; 2] = ["plugin-sdk/js", "plugins/examples/js"];

/// Runs hermes where npm keeps what it downloaded for all tests.
fn with_npm(home: &TestHome, arguments: &[&str]) -> Ran {
    let mut command = home.command(arguments);
    registries::npm(&mut command);
    finish(command, wait::BUILD_PATIENCE)
}

/// A built component beside its manifest, in a folder that is no project: nothing is built again.
fn placed(home: &TestHome, source: &Path, component: &Path) -> String {
    let folder = home.work().join("placed");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(source.join("plugin.toml"), folder.join("plugin.toml")).unwrap();
    assert!(component.is_file(), "{} is not there: run `cargo xtask test`", component.display());
    fs::copy(component, folder.join(component.file_name().unwrap())).unwrap();
    folder.to_str().unwrap().to_owned()
}

fn example(home: &TestHome, name: &str) -> String {
    let source = tree::root().join("plugins/examples/js").join(name);
    placed(home, &source, &source.join("build").join(format!("{name}.wasm")))
}

/// An example in force, alone.
fn installed(name: &str) -> TestHome {
    let home = TestHome::new();
    let folder = example(&home, name);
    drop(with_npm(&home, &["plugins", "install", &folder]).expect(0));
    home
}

fn node(arguments: &[&str], folder: &Path) {
    let mut command = Command::new("node");
    command.args(arguments).current_dir(folder).stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    drop(finish(command, wait::BUILD_PATIENCE).expect(0));
}

#[test]
fn every_example_loads_and_passes_its_test() {
    for (name, hook) in NAMES {
        let home = TestHome::new();
        let folder = example(&home, name);
        let tested = with_npm(&home, &["plugins", "test", &folder, "--json"]).expect(0).json();
        let cases = tested["cases"].as_array().unwrap();
        assert!(cases.len() > 2 && cases.iter().all(|case| case["ok"] == true), "{tested}");
        drop(with_npm(&home, &["plugins", "install", &folder]).expect(0));
        let row = home.row(name);
        assert_eq!((&row["state"], &row["hooks"][0]), (&"loaded".into(), &hook.into()), "{row}");
    }
}

#[test]
fn offsets_behind_characters_of_every_width_are_right() {
    let home = installed("mask-tickets");
    let text = "é文😀 ACME-1 🎫\nplain\nACME-22文";
    let shown = home.run_with_input(["redact"], text.as_bytes()).expect(0);
    assert_eq!(shown.stdout.trim_end(), "é文😀 [REDACTED:ticket] 🎫\nplain\n[REDACTED:ticket]文");
    // A stream is many windows, and most end in the middle of a line.
    let line = "é文😀 ACME-1234 ";
    let long = format!("{}\n", line.repeat(200)).repeat(40);
    let shown = home.run_with_input(["redact"], long.as_bytes()).expect(0);
    assert_eq!(shown.stdout, long.replace("ACME-1234", "[REDACTED:ticket]"));
}

#[test]
fn edits_of_a_transform_are_put_where_its_indexes_say() {
    let home = installed("fold-repeats");
    let text = "é文😀\\nagain 😀\\nagain 😀\\nagain 😀\\nend\\n";
    let shown = home.run(["run", "--view", "--", "printf", text]).expect(0);
    assert!(shown.stdout.contains("é文😀\nagain 😀\n[repeated 3 times]\nend\n"), "{shown:?}");
}

#[test]
fn an_exception_is_a_failure_with_a_code_and_its_text_is_nowhere() {
    let home = TestHome::new();
    drop(home.run(["plugins", "new", "throws", "--hook", "redact", "--lang", "js"]).expect(0));
    let source = home.work().join("throws/plugin.js");
    let text = fs::read_to_string(&source).unwrap();
    let throwing =
        "scan(context, window) {\n    if (window.text.includes(\"trip\")) throw new Error(`bad ${window.text}`);";
    fs::write(&source, text.replace("scan(context, window) {", throwing)).unwrap();
    drop(with_npm(&home, &["plugins", "build", "throws"]).expect(0));
    drop(with_npm(&home, &["plugins", "install", "throws"]).expect(0));
    let shown = home.run(["run", "--view", "--", "echo", "trip-wire-4711"]);
    assert!(shown.stdout.contains("[output withheld: throws: exception]"), "{shown:?}");
    assert!(!shown.all().replace("echo trip-wire-4711", "").contains("4711"), "{shown:?}");
    // It failed, and is as well as before.
    let shown = home.run(["run", "--view", "--", "echo", "user id-42 left"]).expect(0);
    assert!(shown.stdout.contains("user [REDACTED:id] left"), "{shown:?}");
    assert_eq!(home.files_with("bad trip-wire"), [] as [PathBuf; 0]);
}

/// From nothing to a row that says `loaded`, with one line of the program changed.
fn from_new_to_loaded(hook: &str, line: (&str, &str)) -> TestHome {
    let home = TestHome::new();
    drop(home.run(["plugins", "new", "mine", "--hook", hook, "--lang", "js"]).expect(0));
    let source = home.work().join("mine/plugin.js");
    let text = fs::read_to_string(&source).unwrap();
    assert!(text.contains(line.0), "{text}");
    fs::write(&source, text.replace(line.0, line.1)).unwrap();
    let built = with_npm(&home, &["plugins", "build", "mine"]).expect(0);
    assert!(built.stdout.contains("build/mine.wasm"), "{built:?}");
    let tested = with_npm(&home, &["plugins", "test", "mine", "--json"]).expect(0).json();
    let cases = tested["cases"].as_array().unwrap();
    assert!(cases.len() > 1 && cases.iter().all(|case| case["ok"] == true), "{tested}");
    node(&["--import", "hermes-plugin-sdk/standin", "--test"], &home.work().join("mine"));
    drop(with_npm(&home, &["plugins", "install", "mine"]).expect(0));
    let row = home.row("mine");
    assert_eq!((&row["state"], &row["hooks"][0]), (&"loaded".into(), &hook.into()), "{row}");
    home
}

#[test]
fn a_new_redactor_with_one_line_changed_is_in_force() {
    let home = from_new_to_loaded("redact", ("\"id-[0-9]+\"", "\"(?:id|usr)-[0-9]+\""));
    let shown = home.run(["run", "--", "echo", "user usr-7 left"]).expect(0);
    assert_eq!(shown.stdout.trim_end(), "user [REDACTED:id] left");
}

#[test]
fn a_new_transform_with_one_line_changed_is_in_force() {
    let home = from_new_to_loaded("transform", ("[\"DEBUG \"]", "[\"DEBUG \", \"TRACE \"]"));
    let shown = home.run(["run", "--view", "--", "printf", "one\\nTRACE two\\nthree\\n"]).expect(0);
    assert!(shown.stdout.contains("one\nthree\n"), "{shown:?}");
}

#[test]
fn a_new_notifier_with_one_line_changed_is_in_force() {
    drop(from_new_to_loaded("notify", ("[\"sleep\"]", "[\"sleep\", \"true\"]")));
}

#[test]
fn the_unit_tests_of_the_sdk_and_of_the_examples_pass() {
    for folder in UNIT_TESTED {
        let standin = tree::root().join("plugin-sdk/js/src/standin.js");
        node(&["--import", standin.to_str().unwrap(), "--test"], &tree::root().join(folder));
    }
}

#[test]
fn a_component_of_the_large_engine_loads_and_passes_its_test() {
    let home = TestHome::new();
    let built = home::target().join("spidermonkey");
    let folder = placed(&home, &built, &built.join("mask-tickets.wasm"));
    drop(with_npm(&home, &["plugins", "install", &folder]).expect(0));
    assert_eq!(home.row("mask-tickets")["state"], "loaded");
    let shown = home.run_with_input(["redact"], "é😀 ACME-12 OTHER-7\n".as_bytes()).expect(0);
    assert_eq!(shown.stdout, "é😀 [REDACTED:ticket] OTHER-7\n");
}

#[test]
fn a_redactor_that_searches_with_the_host_has_half_the_speed_of_the_search_or_more() {
    let (natively, called) = examples::search_and_call("js");
    assert!(called <= natively * 2, "{called:?} with the plugin, {natively:?} natively");
}

/// The pages of the book show files of this repository, and only places that are there.
#[test]
fn what_the_page_shows_is_the_tested_code() {
    let page = tree::root().join("docs/src/authors/javascript.md");
    let text = fs::read_to_string(&page).unwrap();
    let includes: Vec<&str> =
        text.split("{{#include ").skip(1).filter_map(|rest| rest.split_once("}}").map(|(path, _)| path)).collect();
    assert!(includes.len() > 2, "{includes:?}");
    for include in includes {
        let (path, place) = include.split_once(':').unwrap_or((include, ""));
        let shown =
            fs::read_to_string(page.with_file_name("").join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        if place.starts_with(|first: char| first.is_ascii_alphabetic()) {
            assert!(shown.contains(&format!("ANCHOR: {place}\n")), "{include}");
        } else if let Some((from, last)) = place.split_once(':') {
            let [from, last]: [usize; 2] = [from, last].map(|line| line.parse().unwrap());
            let lines: Vec<&str> = shown.lines().skip(from - 1).take(last + 1 - from).collect();
            assert_eq!(lines.len(), last + 1 - from, "{include}");
            assert!(!lines.concat().contains("{{"), "{include} shows a place to fill");
        }
    }
}
