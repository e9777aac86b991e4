//! Plugins of other releases: what loads in which host, and what the matrix of `check` says of it.

use hermes_plugins::contract::Contract;
use hermes_tests::home::{Ran, TestHome};
use hermes_tests::{components, guests, manifests, tree};
use serde_json::Value;

/// `check` of a component under the name it says of itself.
fn check(component: &[u8], name: &str, hook: &str, options: &[&str]) -> Ran {
    let home = TestHome::new();
    let path = guests::write_bytes(&home.work(), name, &manifests::pack(component, &manifests::plain(name, hook)));
    let mut arguments = vec!["plugins", "check", path.to_str().unwrap()];
    arguments.extend_from_slice(options);
    home.run(arguments)
}

/// A row of the matrix as lines.
fn told(row: &Value) -> String {
    let word = |name: &str| row[name].as_str().unwrap_or("none").to_owned();
    let mut lines = vec![format!("host {} hook {} ok {}", word("host"), word("hook"), row["ok"])];
    for problem in row["problems"].as_array().unwrap() {
        let word = |name: &str| problem[name].as_str().unwrap_or("none");
        lines.push(format!("  {}: {}: {}", word("code"), word("subject"), word("message")));
        lines.push(format!("  next: {}", word("next")));
    }
    lines.join("\n")
}

fn matrix(checked: &Value) -> String {
    checked["against"].as_array().unwrap().iter().map(told).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_plugin_of_the_first_release_loads_in_every_host() {
    let old = components::built_for(&guests::component("floods-log"), "0.1.1", "0.1.0");
    let checked = check(&old, "floods-log", "redact", &["--json"]).expect(0).json();
    assert_eq!(checked["api"]["host"], "0.1.0", "{checked}");
    insta::assert_snapshot!(matrix(&checked), @r"
    host 0.1.0 hook 0.1.0 ok true
    host 0.1.1 hook 0.1.0 ok true
    ");
}

#[test]
fn a_plugin_built_for_the_next_release_loads_if_it_uses_what_is_known() {
    let next = components::built_for(&guests::component("floods-log"), "0.1.1", "0.1.2");
    let home = TestHome::new();
    home.install_bytes("floods-log", &manifests::pack(&next, &manifests::plain("floods-log", "redact")));
    let row = home.row("floods-log");
    assert_eq!((&row["state"], &row["api"]["host"]), (&"loaded".into(), &"0.1.2".into()), "{row}");
    let checked = check(&next, "floods-log", "redact", &["--json"]).expect(0).json();
    assert!(checked["against"].as_array().unwrap().iter().all(|row| row["ok"] == true), "{checked}");
}

#[test]
fn a_plugin_that_waits_is_too_new_for_the_first_release_and_names_the_function() {
    let checked = check(&components::waits(), "subject", "notify", &["--json", "--against", "0.1.0"]).expect(1).json();
    let rows = checked["against"].as_array().unwrap();
    assert_eq!(rows.len(), 1);
    let first = &rows[0]["problems"][0];
    assert_eq!(first["code"], "import-too-new");
    assert_eq!(first["subject"], "hermes:host/clock@0.1.1#sleep");
    assert_eq!(first["message"], "hermes:host@0.1.0 has no function 'sleep' in 'clock'");
    assert_eq!(first["offered"], "hermes:host@0.1.0");
    assert_eq!(first["next"], "update hermes, or build the plugin for the contract this hermes offers");
    // Here the import is no problem: all that is wrong is what its trial shows, which this fixture always fails.
    assert_eq!(checked["problems"][0]["code"], "start-trap", "{checked}");
    assert_eq!(checked["problems"].as_array().unwrap().len(), 1, "{checked}");
}

#[test]
fn a_working_plugin_that_waits_loads_here_and_not_in_the_first_release() {
    let home = TestHome::new();
    let (bytes, _) = hermes_plugins::bundled::component(&"notify-webhook".parse().unwrap()).unwrap();
    let path = guests::write_bytes(&home.work(), "notify-webhook", bytes);
    // It needs grants before it is in force, which is no matter of releases.
    let checked = home.run(["plugins", "check", path.to_str().unwrap(), "--json"]).json();
    insta::assert_snapshot!(matrix(&checked), @r"
    host 0.1.0 hook 0.1.0 ok false
      import-too-new: hermes:host/clock@0.1.1#sleep: hermes:host@0.1.0 has no function 'sleep' in 'clock'
      next: update hermes, or build the plugin for the contract this hermes offers
    host 0.1.1 hook 0.1.0 ok true
    ");
}

#[test]
fn what_only_the_next_release_has_is_too_new() {
    let function = components::imports_a_function_of_the_next_release();
    let interface = components::imports_an_interface_of_the_next_release();
    let said = [function, interface].map(|component| {
        let checked = check(&component, "subject", "redact", &["--json", "--against", "0.1.1"]).expect(1).json();
        assert_eq!(checked["problems"], checked["against"][0]["problems"], "this host and its copy say the same");
        matrix(&checked)
    });
    insta::assert_snapshot!(said.join("\n"), @r"
    host 0.1.1 hook 0.1.0 ok false
      import-too-new: hermes:host/log@0.1.2#flush: hermes:host@0.1.1 has no function 'flush' in 'log'
      next: update hermes, or build the plugin for the contract this hermes offers
    host 0.1.1 hook 0.1.0 ok false
      import-too-new: hermes:host/locale@0.1.2: hermes:host/locale@0.1.2 came with a later hermes:host than 0.1.1
      next: update hermes
    ");
}

#[test]
fn a_track_that_is_gone_or_not_here_yet_is_the_reason_in_every_row() {
    let dropped = check(&components::imports_a_dropped_track(), "subject", "redact", &["--json"]).expect(1).json();
    insta::assert_snapshot!(matrix(&dropped), @r"
    host 0.1.0 hook 0.1.0 ok false
      import-removed: hermes:host/log@0.0.9: built for hermes:host 0.0.9, which is no longer offered; this hermes offers 0.1
      next: rebuild the plugin with the SDK of this hermes
    host 0.1.1 hook 0.1.0 ok false
      import-removed: hermes:host/log@0.0.9: built for hermes:host 0.0.9, which is no longer offered; this hermes offers 0.1
      next: rebuild the plugin with the SDK of this hermes
    ");
    let newer = check(&components::hook_of_the_next_track(), "subject", "redact", &["--json"]).expect(1).json();
    for row in newer["against"].as_array().unwrap() {
        assert_eq!((&row["ok"], &row["problems"][0]["code"]), (&false.into(), &"import-too-new".into()), "{row}");
    }
}

#[test]
fn a_plugin_for_another_hermes_fails_in_the_rows_of_the_others() {
    let home = TestHome::new();
    let manifest = manifests::plain("floods-log", "redact").replace(">=0.1", ">=9");
    let path = guests::write(&home.work(), "floods-log", &manifest);
    let checked = home.run(["plugins", "check", path.to_str().unwrap(), "--json"]).expect(1).json();
    for row in checked["against"].as_array().unwrap() {
        let codes: Vec<&Value> = row["problems"].as_array().unwrap().iter().map(|problem| &problem["code"]).collect();
        assert_eq!(codes, ["requires-hermes"], "{row}");
    }
}

#[test]
fn a_file_that_is_no_plugin_loads_nowhere() {
    let home = TestHome::new();
    let path = guests::write_bytes(&home.work(), "text", b"hello");
    let checked = home.run(["plugins", "check", path.to_str().unwrap(), "--json"]).expect(1).json();
    for row in checked["against"].as_array().unwrap() {
        assert_eq!((&row["ok"], &row["problems"][0]["code"]), (&false.into(), &"not-wasm".into()), "{row}");
    }
}

#[test]
fn a_release_nobody_knows_is_refused_with_those_that_are() {
    let refused = check(&components::waits(), "subject", "notify", &["--against", "0.1.0,0.9.0"]).expect(2);
    assert!(refused.stderr.contains("no contract '0.9.0' of hermes:host is known here; known: 0.1.0, 0.1.1"));
}

#[test]
fn people_are_shown_a_table() {
    let checked = check(&components::waits(), "subject", "notify", &[]).expect(1);
    let at = checked.stdout.find("Hosts it loads in:").unwrap();
    insta::assert_snapshot!(&checked.stdout[at..], @r"
    Hosts it loads in:
      HOST   HOOK   HERMES            LOADS  PROBLEMS
      0.1.0  0.1.0  0.1.0             fail   import-too-new: hermes:host@0.1.0 has no function 'sleep'
                                             in 'clock'
      0.1.1  0.1.0  0.1.0 (this one)  fail   start-trap: it trapped in describe
    ");
}

#[test]
fn a_row_of_the_matrix_has_exactly_its_documented_fields() {
    let checked = check(&guests::component("floods-log"), "floods-log", "redact", &["--json"]).expect(0).json();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(keys(&checked), "name version ok hooks api problems against");
    assert_eq!(keys(&checked["against"][0]), "host hook hermes ok problems");
}

#[test]
fn a_release_that_was_named_counts_for_the_exit_code() {
    let old = components::built_for(&guests::component("floods-log"), "0.1.1", "0.1.0");
    drop(check(&old, "floods-log", "redact", &["--against", "0.1.0"]).expect(0));
    let home = TestHome::new();
    let path = guests::write(&home.work(), "quiet-notifier", &manifests::plain("quiet-notifier", "notify"));
    drop(home.run(["plugins", "check", path.to_str().unwrap(), "--against", "0.1.0,0.1.1"]).expect(0));
    drop(check(&components::waits(), "subject", "notify", &["--against", "0.1.0"]).expect(1));
}

/// The cells of the first table of a page.
fn table(page: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(tree::root().join(page)).unwrap();
    let rows =
        text.lines().skip_while(|line| !line.starts_with("|--")).skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

#[test]
fn the_table_of_the_book_is_what_the_host_knows() {
    let table = table("docs/src/reference/compatibility.md");
    let known: Vec<[String; 3]> = Contract::known()
        .iter()
        .map(|contract| [contract.hermes.to_string(), contract.host.to_string(), contract.hook.to_string()])
        .collect();
    let written: Vec<[String; 3]> = table.iter().map(|row| [row[0].clone(), row[1].clone(), row[2].clone()]).collect();
    assert_eq!(written, known);
    // An SDK has the version of the host package it is made for.
    for row in &table {
        assert_eq!(row[3], row[1], "{row:?}");
    }
    let current = &table.last().unwrap()[3];
    for (file, line) in [
        ("plugin-sdk/rust/Cargo.toml", format!("version = \"{current}\"")),
        ("plugin-sdk/js/package.json", format!("\"version\": \"{current}\"")),
        ("plugin-sdk/js/src/lifecycle.js", format!("\"js {current}\"")),
        ("plugin-sdk/python/hermes_plugin/export.py", format!("\"python {current}\"")),
        ("plugin-sdk/c/hermes_exports.c", format!("\"c {current}\"")),
    ] {
        let text = std::fs::read_to_string(tree::root().join(file)).unwrap();
        assert!(text.contains(&line), "{file} does not say {line}");
    }
}
