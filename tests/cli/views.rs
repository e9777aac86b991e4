//! What an agent gets: short, true, and with the exit status.

use hermes_tests::home::TestHome;

/// A build as builds are: much noise, one error in the middle of it, a summary at the end.
const BUILD: &str = "
    for i in $(seq 1 1500); do echo \"   Compiling crate-$i v0.$i.0\"; done
    echo 'warning: unused variable: `x`'
    echo 'error[E0308]: mismatched types'
    echo '  --> src/totals.rs:42:17'
    for i in $(seq 1 1500); do echo \"   Compiling other-$i v1.$i.0\"; done
    echo 'error: could not compile `shop` (lib) due to 1 previous error; 1 warning emitted'
    exit 101
";

#[test]
fn a_failing_noisy_build_keeps_its_error_and_its_exit_status() {
    let home = TestHome::new();
    let plain = home.run(["run", "-c", BUILD]).expect(101);
    let view = home.run(["run", "--view", "-c", BUILD]).expect(101);
    for kept in ["error[E0308]: mismatched types", "src/totals.rs:42:17", "could not compile `shop`", "exit 101"] {
        assert!(view.stdout.contains(kept), "{kept:?} is lost in\n{}", view.stdout);
    }
    let factor = plain.stdout.len() / view.stdout.len();
    assert!(factor >= 10, "only {factor} times smaller:\n{}", view.stdout);
    // The live output is whole.
    assert!(plain.stdout.contains("crate-700 ") && plain.stdout.contains("other-1500 "));
}

#[test]
fn a_view_names_who_changed_it() {
    let home = TestHome::new();
    let document = home.run(["run", "--json", "-c", BUILD]).expect(101).json();
    assert_eq!(document["policy"]["transformed_by"], serde_json::json!(["summarize-output"]), "{document}");
    let view = home.run(["run", "--view", "-c", BUILD]).expect(101);
    assert_eq!(document["output"].as_str().unwrap().trim_end(), view.stdout.trim_end(), "a view is what --json says");
}

#[test]
fn a_short_output_is_shown_as_it_is() {
    let home = TestHome::new();
    let view = home.run(["run", "--view", "--", "printf", "one\ntwo\n"]).expect(0);
    assert_eq!(view.stdout, "one\ntwo\n");
    assert_eq!(view.stderr, "");
    let document = home.run(["run", "--json", "--", "printf", "one\ntwo\n"]).expect(0).json();
    assert_eq!((&document["output"], &document["output_cut"]), (&"one\ntwo\n".into(), &false.into()));
    assert_eq!(document["policy"]["transformed_by"], serde_json::json!([]));
}

#[test]
fn a_view_has_no_control_sequences_and_progress_collapses() {
    let home = TestHome::new();
    let script = "printf '\\033[32mok\\033[0m\\n'; for i in 1 2 3; do printf '\\r%d%%' $i; done; printf '\\n\\007\\033]0;t\\007end\\n'";
    let view = home.run(["run", "--view", "-c", script]).expect(0);
    assert_eq!(view.stdout, "ok\n3%\nend\n");
    let live = home.run(["run", "-c", script]).expect(0);
    assert!(
        !live.stdout.contains('\u{1b}') && !live.stdout.contains('\u{7}') && !live.stdout.contains('\r'),
        "{live:?}"
    );
}

#[test]
fn an_output_over_the_limit_is_cut_and_says_so() {
    let home = TestHome::new();
    drop(home.run(["plugins", "disable", "summarize-output"]).expect(0));
    home.configure("[output]\nreply_bytes = 4096\n");
    let document = home.run(["run", "--json", "-c", "seq -f 'line %g of a long output' 1 5000"]).expect(0).json();
    let output = document["output"].as_str().unwrap();
    assert_eq!(document["output_cut"], true);
    assert!(output.len() < 4096 + 1024, "{}", output.len());
    assert!(output.starts_with("line 1 of") && output.trim_end().ends_with("line 5000 of a long output"), "{output}");
    assert!(output.contains("[..."), "nothing says what is missing: {output}");
}
