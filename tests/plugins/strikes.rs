//! A plugin that keeps failing is not asked for a while, and says so; an operator can have it tried again.

use hermes_tests::home::TestHome;

fn view(home: &TestHome, text: &str) -> String {
    home.run(["run", "--view", "--", "echo", text]).expect(0).stdout.trim_end().to_owned()
}

fn with_a_plugin_that_traps() -> TestHome {
    let home = TestHome::new();
    home.install_guest("traps-on-text", "redact");
    home
}

#[test]
fn five_traps_quarantine_a_plugin_over_separate_runs_and_enabling_forgives_it() {
    let home = with_a_plugin_that_traps();
    for strike in 1..=5 {
        assert_eq!(home.row("traps-on-text")["state"], "loaded", "before strike {strike}");
        assert_eq!(view(&home, "BOOM"), "[output withheld: traps-on-text: trap]", "strike {strike}");
    }
    let row = home.row("traps-on-text");
    assert_eq!((&row["state"], &row["problems"][0]["code"]), (&"quarantined".into(), &"quarantined".into()), "{row}");
    let next = row["problems"][0]["next"].as_str().unwrap();
    assert!(next.contains("hermes plugins enable traps-on-text"), "{next}");
    drop(home.run(["plugins", "list", "--strict"]).expect(1));
    assert!(home.run(["plugins", "list"]).expect(0).stdout.contains("All output is withheld now"));
    assert!(home.run(["doctor"]).expect(1).all().contains("all of it is withheld"));
    // What it would have been asked about is withheld, even a text it could have answered.
    assert_eq!(view(&home, "plain"), "[output withheld: traps-on-text: quarantined]");

    drop(home.run(["plugins", "enable", "traps-on-text"]).expect(0));
    assert_eq!(home.row("traps-on-text")["state"], "loaded");
    assert_eq!(view(&home, "plain"), "plain");
}

#[test]
fn four_traps_do_not_quarantine() {
    let home = with_a_plugin_that_traps();
    for _ in 0..4 {
        assert_eq!(view(&home, "BOOM"), "[output withheld: traps-on-text: trap]");
    }
    assert_eq!(home.row("traps-on-text")["state"], "loaded");
    assert_eq!(view(&home, "plain"), "plain");
}

#[test]
fn a_failure_the_plugin_reports_is_no_strike() {
    let home = TestHome::new();
    home.install_guest("fails-with-text", "redact");
    for _ in 0..6 {
        assert_eq!(view(&home, "FAIL"), "[output withheld: fails-with-text: failure]");
    }
    assert_eq!(home.row("fails-with-text")["state"], "loaded");
}

#[test]
fn another_version_of_a_quarantined_plugin_begins_anew() {
    let home = with_a_plugin_that_traps();
    for _ in 0..5 {
        drop(view(&home, "BOOM"));
    }
    assert_eq!(home.row("traps-on-text")["state"], "quarantined");
    // The same component under a manifest that says something else: another digest.
    let manifest =
        hermes_tests::manifests::plain("traps-on-text", "redact").replace("of the tests", "of the tests, mended");
    let path = hermes_tests::guests::write(&home.work(), "traps-on-text", &manifest);
    drop(home.run(["plugins", "install", path.to_str().unwrap()]).expect(0));
    assert_eq!(home.row("traps-on-text")["state"], "loaded");
    assert_eq!(view(&home, "plain"), "plain");
}
