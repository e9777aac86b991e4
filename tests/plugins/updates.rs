//! `plugins update`: looks without touching, replaces what has changed, and never calls unknown what is unknown.

use std::fs;
use std::path::PathBuf;

use hermes_tests::home::{TestHome, snapshot};
use hermes_tests::{guests, manifests};
use serde_json::Value;

/// A home with a plugin from a file.
fn installed() -> (TestHome, PathBuf) {
    let home = TestHome::new();
    home.install_guest("good-redactor", "redact");
    let path = home.work().join("good-redactor.wasm");
    (home, path)
}

/// The plugin's source with another manifest.
fn rewrite(home: &TestHome, from: &str, to: &str) {
    let plain = manifests::plain("good-redactor", "redact");
    assert!(plain.contains(from), "{plain}");
    drop(guests::write(&home.work(), "good-redactor", &plain.replace(from, to)));
}

fn look(home: &TestHome, name: &str) -> Value {
    let document = home.run(["plugins", "update", name, "--check", "--json"]).expect(0).json();
    assert_eq!(document["changed"], false, "{document}");
    document["plugins"][0].clone()
}

#[test]
fn a_look_says_what_there_is_and_changes_nothing() {
    let (home, _) = installed();
    assert_eq!(look(&home, "good-redactor")["update"], false);
    rewrite(&home, "of the tests", "of the tests, mended");
    let before = snapshot(&home.root());
    let seen = look(&home, "good-redactor");
    assert_eq!((&seen["update"], &seen["updated"]), (&true.into(), &false.into()), "{seen}");
    assert_eq!(seen["current"]["version"], "1.0.0");
    assert_ne!(seen["current"]["digest"], seen["available"]["digest"]);
    assert_eq!(seen["reason"], "other bytes under the same version, 1.0.0");
    let shown = home.run(["plugins", "update", "--dry-run"]).expect(0);
    assert!(shown.stdout.lines().all(|line| line.chars().count() <= 80), "{}", shown.stdout);
    assert!(shown.stdout.contains("redact-secrets") && shown.all().contains("1 can be updated"), "{shown:?}");
    assert_eq!(snapshot(&home.root()), before);
}

#[test]
fn an_update_replaces_the_file_and_keeps_everything_else() {
    let (home, _) = installed();
    home.install_guest("good-transform", "transform");
    drop(home.run(["plugins", "order", "good-redactor", "good-transform"]).expect(0));
    drop(home.run(["plugins", "disable", "good-redactor"]).expect(0));
    rewrite(&home, "of the tests", "of the tests, mended");
    let done = home.run(["plugins", "update", "--json"]).expect(0).json();
    assert_eq!(done["changed"], true, "{done}");
    assert_eq!(done["generation"].as_u64().unwrap(), done["previous"].as_u64().unwrap() + 1, "{done}");
    let row = home.row("good-redactor");
    assert_eq!((&row["order"], &row["enabled"]), (&1.into(), &false.into()), "{row}");
    assert!(row["description"].as_str().unwrap().contains("mended"), "{row}");
    let again = home.run(["plugins", "update"]).expect(0);
    assert!(again.all().contains("nothing to change"), "{again:?}");
    drop(home.run(["plugins", "rollback"]).expect(0));
    assert!(!home.row("good-redactor")["description"].as_str().unwrap().contains("mended"));
}

#[test]
fn a_new_version_that_cannot_load_is_refused_and_stops_no_other() {
    let (home, _) = installed();
    home.install_guest("good-transform", "transform");
    // The component still says 1.0.0.
    rewrite(&home, "version = \"1.0.0\"", "version = \"1.1.0\"");
    let mended = manifests::plain("good-transform", "transform").replace("of the tests", "of the tests, mended");
    drop(guests::write(&home.work(), "good-transform", &mended));
    let before = home.row("good-redactor");
    let ran = home.run(["plugins", "update"]).expect(1);
    assert!(ran.stderr.contains("good-redactor: plugin 'good-redactor' cannot load and was not updated"), "{ran:?}");
    assert!(ran.stderr.contains("manifest: plugin.toml says"), "{ran:?}");
    assert_eq!(home.row("good-redactor")["digest"], before["digest"]);
    assert_eq!(home.row("good-redactor")["state"], "loaded");
    assert!(home.row("good-transform")["description"].as_str().unwrap().contains("mended"));
}

#[test]
fn a_downgrade_is_called_one() {
    let (home, path) = installed();
    rewrite(&home, "version = \"1.0.0\"", "version = \"2.0.0\"");
    drop(home.run(["plugins", "install", "--allow-broken", path.to_str().unwrap()]).expect(0));
    rewrite(&home, "version = \"1.0.0\"", "version = \"1.0.0\"");
    assert_eq!(look(&home, "good-redactor")["reason"], "a downgrade: 2.0.0 -> 1.0.0");
    let ran = home.run(["plugins", "update", "good-redactor"]).expect(0);
    assert!(ran.stdout.contains("a downgrade: 2.0.0 -> 1.0.0"), "{ran:?}");
    assert_eq!(home.row("good-redactor")["state"], "loaded");
}

#[test]
fn a_source_that_holds_another_plugin_now_is_refused() {
    let (home, path) = installed();
    fs::write(&path, guests::packed("good-transform", "transform")).unwrap();
    let seen = look(&home, "good-redactor");
    assert!(seen["update"].is_null(), "{seen}");
    let ran = home.run(["plugins", "update"]).expect(1);
    assert!(ran.stderr.contains("the source of plugin 'good-redactor' now holds 'good-transform'"), "{ran:?}");
    assert_eq!(home.row("good-redactor")["state"], "loaded");
}

#[test]
fn a_source_that_is_gone_is_unknown_and_not_up_to_date() {
    let (home, path) = installed();
    fs::remove_file(&path).unwrap();
    let seen = look(&home, "good-redactor");
    assert!(seen["update"].is_null() && seen["available"].is_null(), "{seen}");
    assert!(seen["reason"].as_str().unwrap().starts_with("its source cannot be read: there is no '"), "{seen}");
    let ran = home.run(["plugins", "update", "good-redactor"]).expect(1);
    assert!(ran.stdout.contains("refused") && ran.stderr.contains("it stays as it was"), "{ran:?}");
}

#[test]
fn a_bundled_plugin_changes_with_hermes() {
    let home = TestHome::new();
    let seen = look(&home, "redact-secrets");
    assert_eq!(seen["update"], false, "{seen}");
    assert_eq!(seen["reason"], "it comes with hermes, and changes with it");
    drop(home.run(["plugins", "update"]).expect(0));
    assert!(!home.root().exists(), "looking created the home");
    let unknown = home.run(["plugins", "update", "redact-secret"]).expect(1);
    assert!(unknown.stderr.contains("did you mean 'redact-secrets'"), "{unknown:?}");
}

#[test]
fn a_new_version_that_asks_for_more_waits_and_says_so() {
    let home = TestHome::new();
    home.install_guest("quiet-notifier", "notify");
    let asking = format!("{}permissions = [\"storage\"]\n", manifests::plain("quiet-notifier", "notify"));
    drop(guests::write(&home.work(), "quiet-notifier", &asking));
    let done = home.run(["plugins", "update", "--json"]).expect(0).json();
    let row = done["plugins"].as_array().unwrap().iter().find(|row| row["name"] == "quiet-notifier").unwrap();
    assert_eq!((&row["updated"], &row["problems"][0]["code"]), (&true.into(), &"needs-grant".into()), "{row}");
    assert_eq!(home.row("quiet-notifier")["state"], "needs-grant");
}

#[test]
fn a_file_lost_from_the_store_is_brought_back() {
    let (home, _) = installed();
    fs::remove_dir_all(home.root().join("plugins/store")).unwrap();
    assert_eq!(look(&home, "good-redactor")["update"], true);
    drop(home.run(["plugins", "update", "good-redactor"]).expect(0));
    assert_eq!(home.row("good-redactor")["state"], "loaded");
}
