//! A redactor that ought to be in force and is not withholds everything, says so, and never costs an exit code.

use hermes_tests::home::TestHome;
use hermes_tests::{components, manifests};

const SHOWN: &str = "tiramisu";

fn broken_redactor() -> Vec<u8> {
    manifests::pack(&components::imports_of_another_host(), &manifests::plain("subject", "redact"))
}

#[test]
fn a_broken_redactor_withholds_until_it_is_disabled() {
    let home = TestHome::new();
    home.install_bytes("subject", &broken_redactor());
    let run = home.run(["run", "--view", "-c", "echo tiramisu; exit 3"]).expect(3);
    assert_eq!(run.stdout.trim_end(), "[output withheld: subject: import-unknown]");
    assert!(!run.all().contains(SHOWN), "{run:?}");

    let run = home.run(["run", "--json", "-c", "echo tiramisu; exit 3"]).expect(3);
    let document = run.json();
    let withheld = &document["policy"]["withheld"];
    assert_eq!((&withheld["plugin"], &withheld["code"]), (&"subject".into(), &"import-unknown".into()), "{document}");
    assert!(withheld["message"].as_str().unwrap().contains("hermes plugins why subject"), "{document}");
    assert_eq!(document["exit_code"], 3);
    assert!(!run.all().contains(SHOWN), "{run:?}");

    let run = home.run(["run", "-c", "echo tiramisu; exit 3"]).expect(3);
    assert!(run.stdout.contains("[output withheld: subject: import-unknown]"), "{run:?}");
    assert!(!run.all().contains(SHOWN), "{run:?}");

    let run = home.run_with_input(["redact"], b"tiramisu\n").expect(1);
    assert!(run.stdout.contains("[output withheld: subject: import-unknown]"), "{run:?}");
    assert!(!run.all().contains(SHOWN), "{run:?}");

    let list = home.run(["plugins", "list"]).expect(0);
    assert!(list.all().contains("withheld"), "the list does not say that output is withheld:\n{}", list.all());

    drop(home.run(["plugins", "disable", "subject"]).expect(0));
    assert_eq!(home.run(["run", "--view", "--", "echo", SHOWN]).expect(0).stdout.trim_end(), SHOWN);
    assert!(!home.run(["plugins", "list"]).expect(0).all().contains("withheld"));
}

#[test]
fn installing_a_broken_redactor_all_the_same_warns_of_what_it_does() {
    let home = TestHome::new();
    let path = hermes_tests::guests::write_bytes(&home.work(), "subject", &broken_redactor());
    let path = path.to_str().unwrap();
    let refused = home.run(["plugins", "install", path]).expect(1);
    assert!(refused.stderr.contains("import-unknown") && refused.stderr.contains("acme:tools/db@1.0.0"), "{refused:?}");
    assert!(refused.stderr.contains("next: ") && refused.stderr.contains("--allow-broken"), "{refused:?}");
    assert!(!home.root().exists(), "a refused installation created the home");
    let forced = home.run(["plugins", "install", "--allow-broken", path]).expect(0);
    assert!(forced.stderr.to_lowercase().contains("all output is withheld"), "no warning of the effect: {forced:?}");
    assert!(forced.all().contains("hermes plugins rollback"), "no way back is named: {forced:?}");
}

#[test]
fn a_file_of_which_nothing_is_known_withholds_too() {
    let home = TestHome::new();
    home.install_bytes("subject", b"hello");
    let run = home.run(["run", "--view", "--", "echo", SHOWN]).expect(0);
    assert_eq!(run.stdout.trim_end(), "[output withheld: subject: not-wasm]");
}

#[test]
fn a_broken_transform_is_skipped_and_named() {
    let home = TestHome::new();
    let transform = manifests::pack(&components::without_hooks(), &manifests::plain("subject", "transform"));
    home.install_bytes("subject", &transform);
    let run = home.run(["run", "--json", "--", "echo", SHOWN]).expect(0).json();
    assert_eq!(run["output"], "tiramisu\n");
    let warnings = run["policy"]["warnings"].to_string();
    assert!(warnings.contains("subject") && warnings.contains("no-hooks"), "{run}");
}

#[test]
fn a_broken_notifier_withholds_nothing() {
    let home = TestHome::new();
    home.install_bytes(
        "subject",
        &manifests::pack(&components::without_hooks(), &manifests::plain("subject", "notify")),
    );
    let run = home.run(["run", "--view", "--", "echo", SHOWN]).expect(0);
    assert_eq!(run.stdout.trim_end(), SHOWN);
}

#[test]
fn a_required_notifier_that_is_not_in_force_withholds_nothing_and_is_named() {
    let home = TestHome::new();
    home.configure("[policy]\nrequired = [\"subject\"]\n");
    home.install_bytes(
        "subject",
        &manifests::pack(&components::without_hooks(), &manifests::plain("subject", "notify")),
    );
    let run = home.run(["run", "--json", "--", "echo", SHOWN]).expect(0).json();
    assert_eq!(run["output"], "tiramisu\n");
    let warnings = run["policy"]["warnings"].to_string();
    assert!(warnings.contains("requires notifier subject") && warnings.contains("no-hooks"), "{run}");
    let doctor = home.run(["doctor"]).expect(1).all();
    assert!(doctor.contains("events are delivered without it") && !doctor.contains("output is withheld"), "{doctor}");
}

#[test]
fn a_required_plugin_that_is_not_installed_withholds_and_says_so() {
    let home = TestHome::new();
    home.configure("[policy]\nrequired = [\"mask-ids\"]\n");
    let run = home.run(["run", "--json", "--", "echo", SHOWN]).expect(0);
    let document = run.json();
    assert_eq!(document["output"].as_str().unwrap().trim_end(), "[output withheld: mask-ids: not-installed]");
    assert!(document["policy"]["withheld"]["message"].as_str().unwrap().contains("requires mask-ids"), "{document}");
    assert!(!run.all().contains(SHOWN), "{run:?}");
    let doctor = home.run(["doctor"]).expect(1);
    assert!(doctor.all().contains("mask-ids"), "{doctor:?}");
}

#[test]
fn a_required_plugin_that_is_disabled_withholds_and_says_so() {
    let home = TestHome::new();
    drop(home.run(["plugins", "disable", "summarize-output"]).expect(0));
    assert_eq!(home.run(["run", "--view", "--", "echo", SHOWN]).expect(0).stdout.trim_end(), SHOWN);
    home.configure("[policy]\nrequired = [\"summarize-output\"]\n");
    let run = home.run(["run", "--view", "--", "echo", SHOWN]).expect(0);
    assert_eq!(run.stdout.trim_end(), "[output withheld: summarize-output: disabled]");
    assert!(run.stderr.contains("hermes plugins enable summarize-output"), "{run:?}");
    drop(home.run(["plugins", "enable", "summarize-output"]).expect(0));
    assert_eq!(home.run(["run", "--view", "--", "echo", SHOWN]).expect(0).stdout.trim_end(), SHOWN);
}

#[test]
fn a_required_plugin_whose_canary_fails_withholds() {
    let home = TestHome::new();
    home.configure("[policy]\nrequired = [\"good-transform\"]\n");
    let canary = "\n[[canary]]\nname = \"two lines\"\ntext = \"one\\ntwo\\n\"\neffect = \"unchanged\"\n";
    let manifest = format!("{}{canary}", manifests::plain("good-transform", "transform"));
    home.install_bytes(
        "good-transform",
        &manifests::pack(&hermes_tests::guests::component("good-transform"), &manifest),
    );
    let run = home.run(["run", "--view", "--", "echo", SHOWN]).expect(0);
    assert_eq!(run.stdout.trim_end(), "[output withheld: good-transform: canary]");
}

#[test]
fn a_setting_that_changes_what_a_canary_shows_does_not_withhold() {
    let home = TestHome::new();
    home.configure("[plugins.redact-secrets.settings]\ndisable = [\"github-pat\"]\n");
    assert_eq!(home.row("redact-secrets")["state"], "loaded");
    let token = format!("ghp_{}", "Zq8xPl0aMn3vKc7dRt5yWb2eHu9jLs4gTf6k");
    let shown = home.run(["run", "--view", "--", "echo", &token, "password=hunter2"]).expect(0).stdout;
    assert!(shown.contains(&token) && !shown.contains("hunter2"), "the setting is not in force: {shown}");
}

#[test]
fn a_strict_list_fails_while_a_required_plugin_is_not_in_force() {
    let home = TestHome::new();
    home.configure("[policy]\nrequired = [\"redact-secrets\"]\n");
    drop(home.run(["plugins", "list", "--strict"]).expect(0));
    drop(home.run(["plugins", "disable", "redact-secrets"]).expect(0));
    drop(home.run(["plugins", "list", "--strict"]).expect(1));
    drop(home.run(["doctor"]).expect(1));
}

#[test]
fn without_any_redactor_the_list_and_doctor_say_so() {
    let home = TestHome::new();
    drop(home.run(["plugins", "disable", "redact-secrets"]).expect(0));
    assert!(home.run(["plugins", "list"]).expect(0).stdout.contains("No redactor is in force"));
    assert!(home.run(["doctor"]).expect(0).all().contains("no redactor is in force"));
}
