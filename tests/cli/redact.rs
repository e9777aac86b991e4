//! `hermes redact`: a pipe through the policy.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::sync::mpsc;

use hermes_tests::home::TestHome;
use hermes_tests::wait;

const TOKEN: &str = "ghp_Zq8xPl0aMn3vKc7dRt5yWb2eHu9jLs4gTf6k";

#[test]
fn a_pipe_shows_everything_but_the_secrets() {
    let home = TestHome::new();
    let ran = home.run_with_input(["redact"], format!("one\ntoken {TOKEN} end\nthree\n").as_bytes()).expect(0);
    assert_eq!(ran.stdout, "one\ntoken [REDACTED:github-pat] end\nthree\n");
    assert_eq!(ran.stderr, "");
}

#[test]
fn a_file_is_read_like_a_pipe_and_a_missing_one_is_named() {
    let home = TestHome::new();
    std::fs::write(home.work().join("build.log"), format!("{TOKEN}\n")).unwrap();
    assert_eq!(home.run(["redact", "build.log"]).expect(0).stdout, "[REDACTED:github-pat]\n");
    let missing = home.run(["redact", "nothing.log"]).expect(1);
    assert!(missing.stderr.contains("nothing.log"), "{missing:?}");
    let folder = home.run(["redact", "."]).expect(1);
    assert!(folder.stderr.contains("folder") || folder.stderr.contains("directory"), "{folder:?}");
}

#[test]
fn the_hosts_own_secrets_are_known_by_value() {
    let home = TestHome::new().with("DEPLOY_PASSWORD", "swordfish and chips");
    let ran = home.run_with_input(["redact"], b"it is swordfish and chips today\n").expect(0);
    assert_eq!(ran.stdout, "it is [REDACTED:env:DEPLOY_PASSWORD] today\n");
}

#[test]
fn nothing_in_is_nothing_out_and_a_missing_newline_stays_missing() {
    let home = TestHome::new();
    assert_eq!(home.run_with_input(["redact"], b"").expect(0).stdout, "");
    assert_eq!(home.run_with_input(["redact"], b"no newline").expect(0).stdout, "no newline");
    assert_eq!(home.run_with_input(["redact"], TOKEN.as_bytes()).expect(0).stdout, "[REDACTED:github-pat]");
    let odd = home.run_with_input(["redact"], b"caf\xff \x1b[31mred\x1b[0m\n").expect(0);
    assert_eq!(odd.stdout, "caf\u{fffd} red\n");
}

#[test]
fn a_line_is_shown_before_the_next_one_is_written() {
    let home = TestHome::new();
    let mut child = home.command(["redact"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        while let Some(Ok(line)) = lines.next() {
            let _ = sender.send(line);
        }
    });
    for number in 0..5 {
        writeln!(input, "line {number} {TOKEN}").unwrap();
        let shown = receiver.recv_timeout(wait::PATIENCE).unwrap();
        assert_eq!(shown, format!("line {number} [REDACTED:github-pat]"));
    }
    drop(input);
    assert!(wait::end_of("hermes", child, wait::PATIENCE).status.success());
}

/// Memory a process ever had, in KiB.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn memory_does_not_grow_with_the_input() {
    let home = TestHome::new();
    let mut child = home.command(["redact"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || std::io::copy(&mut output.by_ref(), &mut std::io::sink()).unwrap());
    let line = "2026-01-02T03:04:05Z INFO worker finished a job of no interest in 17 ms\n".repeat(1024);
    let mut feed = |mebibytes: usize| {
        for _ in 0..mebibytes * 1024 * 1024 / line.len() {
            input.write_all(line.as_bytes()).unwrap();
        }
    };
    feed(2);
    let early = peak(child.id());
    feed(24);
    let late = peak(child.id());
    drop(input);
    assert!(wait::end_of("hermes", child, wait::BUILD_PATIENCE).status.success());
    assert!(reader.join().unwrap() > 25 * 1024 * 1024);
    assert!(late < early + 8 * 1024, "from {early} to {late} KiB");
}

#[test]
fn what_was_withheld_is_said_and_is_exit_1() {
    let home = TestHome::new();
    home.install_guest("traps-on-text", "redact");
    let ran = home.run_with_input(["redact"], b"before\nBOOM tiramisu\nafter\n").expect(1);
    assert!(ran.stdout.contains("[output withheld: traps-on-text: trap]"), "{ran:?}");
    assert!(!ran.all().contains("tiramisu"), "{ran:?}");
    assert!(ran.stderr.contains("traps-on-text"), "{ran:?}");
}
