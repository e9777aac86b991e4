//! How a command ended is how hermes ends.

use std::fs;

use hermes_tests::home::TestHome;

#[test]
fn the_commands_exit_code_is_passed_on_in_every_mode() {
    let home = TestHome::new();
    for mode in [&["run"][..], &["run", "--view"], &["run", "--json"]] {
        let arguments: Vec<&str> = mode.iter().copied().chain(["-c", "echo shown; exit 3"]).collect();
        let ran = home.run(&arguments).expect(3);
        assert!(ran.stdout.contains("shown"), "{ran:?}");
    }
    drop(home.run(["run", "--", "true"]).expect(0));
    drop(home.run(["run", "--", "false"]).expect(1));
    drop(home.run(["run", "-c", "exit 255"]).expect(255));
}

#[test]
fn a_signal_is_128_and_its_number() {
    let home = TestHome::new();
    let ran = home.run(["run", "--json", "-c", "kill -TERM $$"]).expect(143);
    let document = ran.json();
    assert_eq!(
        (&document["status"]["kind"], &document["status"]["signal"]),
        (&"signalled".into(), &15.into()),
        "{document}"
    );
    assert_eq!(
        (&document["status"]["code"], &document["exit_code"]),
        (&serde_json::Value::Null, &143.into()),
        "{document}"
    );
    drop(home.run(["run", "-c", "kill -KILL $$"]).expect(137));
}

#[test]
fn a_missing_program_is_127_and_says_which() {
    let home = TestHome::new();
    let ran = home.run(["run", "--", "no-such-program-here"]).expect(127);
    assert!(ran.stderr.contains("no-such-program-here"), "{ran:?}");
    assert_eq!(ran.stdout, "");
    let document = home.run(["run", "--json", "--", "no-such-program-here"]).expect(127).json();
    assert_eq!(
        (&document["status"]["kind"], &document["exit_code"]),
        (&"failed-to-start".into(), &127.into()),
        "{document}"
    );
    assert!(document["status"]["reason"].is_string() && document["pid"].is_null(), "{document}");
}

#[test]
fn a_file_that_cannot_be_run_is_126_and_says_which() {
    let home = TestHome::new();
    fs::write(home.work().join("notes.txt"), "not a program\n").unwrap();
    let ran = home.run(["run", "--", "./notes.txt"]).expect(126);
    assert!(ran.stderr.contains("notes.txt"), "{ran:?}");
    drop(home.run(["run", "--", "/tmp"]).expect(126));
}

#[test]
fn a_failure_of_hermes_itself_is_125_and_runs_nothing() {
    let home = TestHome::new();
    home.configure("nonsense = true\n");
    let ran = home.run(["run", "--", "touch", "ran"]).expect(125);
    assert!(ran.stderr.contains("nonsense"), "{ran:?}");
    assert!(!home.work().join("ran").exists());
    home.configure("");
    let ran = home.run(["run", "--cwd", "no-such-folder", "--", "touch", "ran"]).expect(125);
    assert!(ran.stderr.contains("no-such-folder"), "{ran:?}");
    assert!(!home.work().join("ran").exists());
}

#[test]
fn a_time_limit_is_124_and_what_was_printed_is_kept() {
    let home = TestHome::new();
    for mode in [&["run"][..], &["run", "--view"]] {
        let arguments: Vec<&str> =
            mode.iter().copied().chain(["--timeout", "500ms", "-c", "echo begun; sleep 1000"]).collect();
        let ran = home.run(&arguments).expect(124);
        assert!(ran.stdout.contains("begun"), "{ran:?}");
        assert!(ran.stderr.contains("500ms") || ran.stderr.contains("0.5"), "no word about the limit: {ran:?}");
    }
    let document = home.run(["run", "--json", "--timeout", "500ms", "-c", "echo begun; sleep 1000"]).expect(124).json();
    assert_eq!(
        (&document["status"]["kind"], &document["output"]),
        (&"timed-out".into(), &"begun\n".into()),
        "{document}"
    );
}

#[test]
fn a_command_that_only_ignores_the_first_signal_is_ended_all_the_same() {
    let home = TestHome::new();
    home.configure("[terminal]\nterm_grace = \"300ms\"\n");
    drop(
        home.run(["run", "--timeout", "500ms", "-c", "trap '' TERM INT HUP; while :; do sleep 0.1; done"]).expect(124),
    );
}

#[test]
fn the_folder_and_the_variables_given_are_the_commands() {
    let home = TestHome::new();
    fs::create_dir(home.work().join("inside")).unwrap();
    let ran =
        home.run(["run", "--cwd", "inside", "--env", "COLOUR=blue", "-c", "basename \"$PWD\"; echo $COLOUR"]).expect(0);
    assert_eq!(ran.stdout, "inside\nblue\n");
}

#[test]
fn a_command_that_asks_gets_an_end_of_file() {
    let home = TestHome::new();
    let ran = home.run_with_input(["run", "-c", "read answer || echo nobody"], b"somebody\n").expect(0);
    assert_eq!(ran.stdout, "nobody\n");
}
