//! Whoever only looks creates nothing: not in a fresh home, not in a wrong one, not beside it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use hermes_tests::home::{TestHome, snapshot};
use hermes_tests::{guests, manifests};

/// Verbs that only look. The code says whether they find everything well in a fresh home.
const LOOKING: [&[&str]; 12] = [
    &["plugins", "list"],
    &["plugins", "list", "--json"],
    &["plugins", "list", "--strict"],
    &["plugins", "show", "summarize-output"],
    &["plugins", "show", "summarize-output", "--json"],
    &["plugins", "why", "summarize-output"],
    &["plugins", "why", "summarize-output", "-v"],
    &["plugins", "doctor"],
    &["doctor"],
    &["doctor", "--json"],
    &["run", "--", "true"],
    &["completions", "bash"],
];

#[test]
fn looking_at_a_fresh_home_creates_nothing() {
    let home = TestHome::new();
    let before = snapshot(home.everything());
    for verb in LOOKING {
        drop(home.run(verb).expect(0));
        assert_eq!(snapshot(home.everything()), before, "{verb:?}");
    }
    let path = guests::write(&home.work(), "good-redactor", &manifests::plain("good-redactor", "redact"));
    let before = snapshot(home.everything());
    drop(home.run(["plugins", "check", path.to_str().unwrap()]).expect(0));
    drop(home.run_with_input(["redact"], b"plain\n").expect(0));
    assert_eq!(snapshot(home.everything()), before);
}

#[test]
fn looking_at_an_empty_home_creates_nothing_in_it() {
    let home = TestHome::new();
    fs::create_dir(home.root()).unwrap();
    fs::set_permissions(home.root(), fs::Permissions::from_mode(0o700)).unwrap();
    let before = snapshot(home.everything());
    for verb in LOOKING {
        drop(home.run(verb).expect(0));
        assert_eq!(snapshot(home.everything()), before, "{verb:?}");
    }
}

#[test]
fn looking_at_a_home_with_plugins_changes_nothing_in_it() {
    let home = TestHome::new();
    home.install_guest("good-redactor", "redact");
    home.install_bytes("text", b"hello");
    drop(home.run(["plugins", "disable", "text"]).expect(0));
    let before = snapshot(home.everything());
    for verb in LOOKING {
        drop(home.run(verb).expect(0));
        assert_eq!(snapshot(home.everything()), before, "{verb:?}");
    }
}

#[test]
fn a_file_in_place_of_the_home_is_one_clear_error_and_stays() {
    let home = TestHome::new();
    fs::write(home.root(), "in the way").unwrap();
    for verb in [&["plugins", "list"][..], &["plugins", "why", "summarize-output"], &["plugins", "doctor"], &["doctor"]]
    {
        let ran = home.run(verb).expect(1);
        assert!(ran.all().contains("is not a folder") && ran.all().contains("--home"), "{verb:?}: {ran:?}");
    }
    let ran = home.run(["run", "--", "touch", "ran"]).expect(125);
    assert!(ran.stderr.contains("is not a folder"), "{ran:?}");
    assert!(!home.work().join("ran").exists(), "the command ran without a policy");
    assert_eq!(fs::read_to_string(home.root()).unwrap(), "in the way");
}

#[test]
fn a_home_others_can_change_is_refused() {
    let home = TestHome::new();
    fs::create_dir(home.root()).unwrap();
    fs::set_permissions(home.root(), fs::Permissions::from_mode(0o777)).unwrap();
    let ran = home.run(["plugins", "list"]).expect(1);
    assert!(ran.stderr.contains("chmod 700"), "{ran:?}");
}

#[test]
fn what_is_created_is_private() {
    let home = TestHome::new();
    home.install_guest("good-redactor", "redact");
    for line in snapshot(&home.root()) {
        let path = line.split(' ').next().unwrap();
        let metadata = fs::symlink_metadata(path).unwrap();
        if !metadata.is_symlink() {
            assert_eq!(metadata.permissions().mode() & 0o077, 0, "{path} is open to others");
        }
    }
}

#[test]
fn doctor_has_exactly_its_documented_fields() {
    let home = TestHome::new();
    let document = home.run(["doctor", "--json"]).expect(0).json();
    assert_eq!(document.as_object().unwrap().keys().collect::<Vec<_>>(), ["ok", "checks"]);
    assert_eq!(document["ok"], true);
    for check in document["checks"].as_array().unwrap() {
        assert_eq!(
            check.as_object().unwrap().keys().collect::<Vec<_>>(),
            ["name", "state", "message", "next"],
            "{check}"
        );
        assert!(["ok", "warn", "fail"].contains(&check["state"].as_str().unwrap()), "{check}");
    }
    home.install_bytes("text", b"hello");
    let document = home.run(["doctor", "--json"]).expect(1).json();
    assert_eq!(document["ok"], false);
    let failed: Vec<_> =
        document["checks"].as_array().unwrap().iter().filter(|check| check["state"] == "fail").collect();
    assert!(!failed.is_empty() && failed.iter().all(|check| check["next"].is_string()), "{document}");
}

#[test]
fn a_notifier_in_force_is_shown_as_any_other_plugin() {
    let home = TestHome::new();
    home.install_guest("quiet-notifier", "notify");
    let row = home.row("quiet-notifier");
    assert_eq!((&row["state"], row["problems"].as_array().unwrap().len()), (&"loaded".into(), 0), "{row}");
    let doctor = home.run(["doctor", "--json"]).expect(0).json();
    let checks = doctor["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "plugin quiet-notifier").unwrap();
    assert_eq!((&check["state"], &check["message"]), (&"ok".into(), &"loaded 1.0.0".into()), "{doctor}");
}

#[test]
fn doctor_says_where_each_value_in_force_came_from() {
    let home = TestHome::new();
    home.configure("[output]\nreply_bytes = 20000\n[plugins.redact-secrets.limits]\ncall = \"100ms\"\n");
    let told = home.run(["doctor"]).expect(0).stdout;
    assert!(told.contains("output.reply_bytes = 20000 (config.toml)"), "{told}");
    assert!(told.contains("output.ring_bytes = 8388608 (default)"), "{told}");
    let shown = home.run(["plugins", "show", "redact-secrets"]).expect(0).stdout;
    let words: Vec<_> = shown.split_whitespace().collect();
    assert!(words.join(" ").contains("(call set in config.toml)"), "{shown}");
}
