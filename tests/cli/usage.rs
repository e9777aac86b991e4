//! Wrong usage: exit 2, what is wrong, and how it is done right.

use hermes_tests::home::TestHome;

#[test]
fn nothing_to_run_is_answered_with_an_example() {
    let home = TestHome::new();
    for arguments in [&["run"][..], &["run", "--view"], &["run", "--"], &["run", "--json"]] {
        let ran = home.run(arguments).expect(2);
        assert!(ran.stderr.contains("hermes run -- "), "{arguments:?}: no example in {}", ran.stderr);
    }
    assert!(!home.root().exists());
}

#[test]
fn a_mistyped_verb_or_flag_is_answered_with_the_right_one() {
    let home = TestHome::new();
    for (arguments, meant) in [
        (&["plugin", "list"][..], "plugins"),
        (&["plugins", "instal", "x"], "install"),
        (&["plugins", "list", "--stric"], "--strict"),
        (&["run", "--timout", "3s", "--", "true"], "--timeout"),
    ] {
        let ran = home.run(arguments).expect(2);
        assert!(ran.stderr.contains(meant), "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{arguments:?}");
    }
}

#[test]
fn a_value_that_does_not_fit_is_answered_with_one_that_does() {
    let home = TestHome::new();
    let ran = home.run(["run", "--timeout", "soon", "--", "true"]).expect(2);
    assert!(ran.stderr.contains("30s"), "{}", ran.stderr);
    drop(home.run(["run", "--timeout", "0s", "--", "true"]).expect(2));
    let ran = home.run(["run", "--env", "NAME", "--", "true"]).expect(2);
    assert!(ran.stderr.contains("NAME=VALUE"), "{}", ran.stderr);
    let ran = home.run(["plugins", "show", "Not A Name"]).expect(2);
    assert!(ran.stderr.contains("mask-ids"), "{}", ran.stderr);
    drop(home.run(["run", "--view", "--json", "--", "true"]).expect(2));
    drop(home.run(["run", "-c", "true", "--", "true"]).expect(2));
}

#[test]
fn every_verb_shows_an_example_in_its_help() {
    let home = TestHome::new();
    let top = home.run(["--help"]).expect(0);
    assert!(top.stdout.contains("hermes run -- ") && top.stdout.contains("plugins"), "{}", top.stdout);
    for verb in ["run", "redact", "doctor", "completions"] {
        let help = home.run([verb, "--help"]).expect(0).stdout;
        assert!(help.contains(&format!("hermes {verb}")), "{verb}: {help}");
    }
    for verb in "list show why install remove enable disable order rollback new check test pack doctor".split(' ') {
        let help = home.run(["plugins", verb, "--help"]).expect(0).stdout;
        let example =
            help.lines().filter(|line| line.trim_start().starts_with(&format!("hermes plugins {verb}"))).count();
        assert!(example > 0, "{verb} has no example: {help}");
    }
    for verb in "list add remove import".split(' ') {
        let help = home.run(["mcp", verb, "--help"]).expect(0).stdout;
        assert!(help.contains(&format!("hermes mcp {verb}")), "{verb} has no example: {help}");
    }
    assert!(!home.root().exists());
}

#[test]
fn the_version_is_one_line_and_completions_are_for_every_shell() {
    let home = TestHome::new();
    let version = home.run(["--version"]).expect(0).stdout;
    assert!(version.starts_with("hermes 0.") && version.lines().count() == 1, "{version}");
    for shell in ["bash", "zsh", "fish"] {
        assert!(home.run(["completions", shell]).expect(0).stdout.contains("plugins"), "{shell}");
    }
}

#[test]
fn the_home_of_the_flag_wins_over_the_variable() {
    let home = TestHome::new();
    let other = home.work().join("other");
    let other = other.to_str().unwrap();
    for arguments in [["--home", other, "plugins", "list", "--json"], ["plugins", "list", "--json", "--home", other]] {
        assert_eq!(home.run(arguments).expect(0).json()["home"], other);
    }
    drop(home.run(["--home", other, "plugins", "disable", "summarize-output"]).expect(0));
    assert!(std::path::Path::new(other).is_dir() && !home.root().exists());
}

#[test]
fn output_in_a_pipe_has_no_colour_and_fits_a_page() {
    let home = TestHome::new();
    home.install_bytes("text", b"hello");
    for arguments in [&["plugins", "list"][..], &["plugins", "why", "text"], &["doctor"], &["plugins", "show", "text"]]
    {
        let ran = home.run(arguments);
        assert!(!ran.all().contains('\u{1b}'), "{arguments:?}: {:?}", ran.all());
    }
    let forced = home.run(["--color", "always", "plugins", "list"]).expect(0);
    assert!(forced.stdout.contains('\u{1b}'), "--color always gives none");
    let list = home.run(["plugins", "list"]).expect(0).stdout;
    for line in list.lines().filter(|line| !line.contains(home.root().to_str().unwrap())) {
        assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
    }
}
