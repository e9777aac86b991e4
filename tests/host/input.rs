//! Something to read for a process, a terminal of a size, and a log that is followed as it grows.

use std::fs;
use std::io::{BufRead, BufReader};

use hermes_tests::hosted::Hosted;
use hermes_tests::{home, wait};

/// Waits until a log holds a text, and returns it.
fn until_logged(house: &Hosted, id: &str, wanted: &str) -> String {
    wait::until(&format!("'{wanted}' in the log of {id}"), wait::PATIENCE, || {
        let log = house.run(&["logs", id]).expect(0).stdout;
        log.contains(wanted).then_some(log)
    })
}

#[test]
fn a_process_reads_what_it_is_sent_and_the_end_of_it() {
    let house = Hosted::new();
    let id = house.background(&["--stdin", "--", "cat"]);
    drop(house.run(&["send", &id, "one"]).expect(0));
    drop(house.run(&["send", &id, " two", "--enter"]).expect(0));
    drop(house.run(&["send", &id, "--enter"]).expect(0));
    drop(house.run(&["send", &id, "--eof"]).expect(0));
    let ran = house.run(&["wait", &id]).expect(0);
    assert_eq!(ran.stdout, "one two\n\n");
    let late = house.run(&["send", &id, "three"]).expect(1);
    assert!(late.stderr.contains("ended"), "{late:?}");
}

#[test]
fn what_is_sent_is_sent_as_it_is() {
    let house = Hosted::new();
    let id = house.background(&["--stdin", "-c", "head -c 13 | od -An -tx1 -v | tr -d ' \\n'"]);
    drop(house.run(&["send", &id, "a\\n\t'\"$(x)é\u{1}"]).expect(0));
    let ran = house.run(&["wait", &id, "--timeout", "20s"]).expect(0);
    assert_eq!(ran.stdout.trim(), "615c6e0927222428 7829c3a901".replace(' ', ""));
}

#[test]
fn a_process_that_reads_nothing_says_so() {
    let house = Hosted::new();
    let id = house.background(&["--", "sleep", "1000"]);
    for what in [&["text"][..], &["--eof"], &["--enter"]] {
        let words: Vec<&str> = ["send", &id].into_iter().chain(what.iter().copied()).collect();
        let ran = house.run(&words).expect(1);
        assert!(ran.stderr.contains("--pty") && ran.stderr.contains("--stdin"), "no next step: {ran:?}");
    }
}

#[test]
fn a_terminal_has_the_size_it_was_given_and_takes_another() {
    let house = Hosted::new();
    let script = "stty size; read answer; stty size; echo \"got <$answer>\"; tty >/dev/null && echo a terminal";
    let id = house.background(&["--pty=31x77", "-c", script]);
    until_logged(&house, &id, "31 77");
    drop(house.run(&["send", &id, "--size", "40x160"]).expect(0));
    drop(house.run(&["send", &id, "yes", "--enter"]).expect(0));
    let ran = house.run(&["wait", &id, "--timeout", "30s"]).expect(0);
    for wanted in ["31 77", "40 160", "got <yes>", "a terminal"] {
        assert!(ran.stdout.contains(wanted), "{wanted}: {ran:?}");
    }
    let usual = house.background(&["--pty", "--", "stty", "size"]);
    assert_eq!(house.run(&["wait", &usual]).expect(0).stdout.trim(), "30 120");
}

#[test]
fn the_end_of_what_it_reads_ends_a_program_in_a_terminal() {
    let house = Hosted::new();
    let id = house.background(&["--pty", "-c", "echo begun; cat; echo ended"]);
    until_logged(&house, &id, "begun");
    drop(house.run(&["send", &id, "--eof"]).expect(0));
    let ran = house.run(&["wait", &id, "--timeout", "30s"]).expect(0);
    assert!(ran.stdout.contains("ended"), "{ran:?}");
}

#[test]
fn a_log_is_followed_until_the_process_ends() {
    let house = Hosted::new();
    let id = house.background(&["-c", "echo one; until [ -e go ]; do sleep 0.05; done; echo two; exit 3"]);
    let mut child = house.home().command(["logs", &id, "--follow"]).spawn().unwrap();
    let mut shown = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    shown.read_line(&mut line).unwrap();
    assert_eq!(line, "one\n");
    fs::write(house.home().work().join("go"), "").unwrap();
    line.clear();
    shown.read_line(&mut line).unwrap();
    assert_eq!(line, "two\n");
    line.clear();
    assert_eq!(shown.read_line(&mut line).unwrap(), 0, "{line}");
    assert!(home::ran(wait::end_of("logs --follow", child, wait::PATIENCE)).code == Some(0));
}

#[test]
fn a_log_that_is_followed_late_is_whole() {
    let house = Hosted::new();
    let id = house.background(&["-c", "seq 1 3000"]);
    house.until_ended(&id);
    let wanted: String = (1..=3000).map(|n| format!("{n}\n")).collect();
    assert_eq!(house.run(&["logs", &id, "--follow"]).expect(0).stdout, wanted);
}

#[test]
fn a_wait_ends_when_the_command_does_whoever_it_left_behind() {
    let house = Hosted::new();
    let id = house.background(&["-c", "sleep 1000 & echo $! > left.pid; echo done; exit 6"]);
    let ran = house.run(&["wait", &id, "--timeout", "30s"]).expect(6);
    assert_eq!(ran.stdout, "done\n");
    let left = hermes_tests::hosted::pid_in(&house.home().work().join("left.pid"));
    let row = house.row(&id).unwrap();
    if hermes_tests::hosted::runs(left) {
        assert_eq!(row["survivors"], serde_json::json!([left]), "{row}");
    }
    drop(house.run(&["kill", &id]).expect(0));
    hermes_tests::hosted::until_gone(&[left]);
}

#[test]
fn the_time_limit_of_a_background_command_ends_it_and_is_told() {
    let house = Hosted::new();
    let id = house.background(&["--notify", "--timeout", "300ms", "-c", "echo begun; sleep 1000"]);
    let told = house.events(1, &[]);
    assert_eq!((&told[0]["process"], &told[0]["status"]["kind"]), (&id.as_str().into(), &"timed-out".into()));
    assert_eq!(told[0]["exit_code"], 124);
    drop(house.run(&["wait", &id]).expect(124));
}

#[test]
fn a_command_that_cannot_be_started_says_so_with_the_code_of_a_shell() {
    let house = Hosted::new();
    let missing = house.run(&["run", "-b", "--", "no-such-program-anywhere"]).expect(127);
    assert!(missing.stdout.is_empty() && missing.stderr.contains("no-such-program-anywhere"), "{missing:?}");
    fs::write(house.home().work().join("plain.txt"), "text").unwrap();
    drop(house.run(&["run", "-b", "--", "./plain.txt"]).expect(126));
    assert_eq!(house.rows(&["--all"]).len(), 0);
}
