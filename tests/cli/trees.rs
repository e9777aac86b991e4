//! Whatever a command started ends with it: at the time limit, on a signal, and when it only left something behind.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;

use hermes_tests::home::TestHome;
use hermes_tests::{home, wait};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A command with children of every kind, each of which writes its id down: one in its group, one in a session of its
/// own, and one that nobody is the parent of any more.
const TREE: &str = "
    sleep 1000 & echo $! > child.pid
    setsid bash -c 'echo $$ > session.pid; exec sleep 1000' &
    (setsid bash -c 'echo $$ > orphan.pid; exec sleep 1000' &)
    echo $$ > leader.pid
";
const WRITTEN: [&str; 4] = ["child.pid", "session.pid", "orphan.pid", "leader.pid"];

fn pid_in(path: &Path) -> Option<i32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The ids, once all are written.
fn pids(home: &TestHome, files: &[&str]) -> Vec<i32> {
    wait::until("every process to begin", wait::PATIENCE, || {
        files.iter().map(|file| pid_in(&home.work().join(file))).collect()
    })
}

/// Whether a process runs. One that is dead and not yet collected by its parent does not.
fn runs(pid: i32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim().chars().next());
    !matches!(state, Some('Z' | 'X') | None)
}

fn assert_gone(pids: &[i32]) {
    // hermes has ended, and it ends after what it started: there is nothing to wait for.
    let left: Vec<i32> = pids.iter().copied().filter(|pid| runs(*pid)).collect();
    for pid in &left {
        // A failed test leaves nothing behind either.
        let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
    }
    assert!(left.is_empty(), "still running: {left:?} of {pids:?}");
}

#[test]
fn the_time_limit_ends_the_whole_tree() {
    let home = TestHome::new();
    let script = format!("{TREE} wait");
    // Long enough that the tree stands before it is ended.
    drop(home.run(["run", "--timeout", "5s", "-c", &script]).expect(124));
    assert_gone(&pids(&home, &WRITTEN));
}

/// Sends a signal to hermes while a tree runs.
fn ended_by(signal: Signal, code: i32) {
    let home = TestHome::new();
    let script = format!("{TREE} wait");
    for mode in [&["run"][..], &["run", "--json"]] {
        for file in WRITTEN {
            let _ = fs::remove_file(home.work().join(file));
        }
        let arguments: Vec<&str> = mode.iter().copied().chain(["-c", &script]).collect();
        let child = home.command(&arguments).spawn().unwrap();
        let hermes = Pid::from_raw(i32::try_from(child.id()).unwrap());
        let tree = pids(&home, &WRITTEN);
        assert!(tree.iter().all(|pid| runs(*pid)), "the tree fell by itself");
        kill(hermes, signal).unwrap();
        let ran = home::ran(wait::end_of("hermes", child, wait::PATIENCE));
        assert_gone(&tree);
        let ran = ran.expect(code);
        if mode.contains(&"--json") {
            assert_eq!(ran.json()["status"]["kind"], "stopped", "{ran:?}");
        }
    }
}

#[test]
fn an_interrupt_ends_the_whole_tree() {
    ended_by(Signal::SIGINT, 130);
}

#[test]
fn a_termination_ends_the_whole_tree() {
    ended_by(Signal::SIGTERM, 143);
}

#[test]
fn a_hangup_ends_the_whole_tree() {
    ended_by(Signal::SIGHUP, 129);
}

#[test]
fn what_outlives_its_command_is_named_and_ended() {
    let home = TestHome::new();
    let script = format!("{TREE} echo done; exit 4");
    let ran = home.run(["run", "-c", &script]).expect(4);
    let left = pids(&home, &["child.pid", "session.pid", "orphan.pid"]);
    assert_gone(&left);
    assert_eq!(ran.stdout, "done\n");
    for pid in &left {
        assert!(ran.stderr.contains(&pid.to_string()), "{pid} is not named: {}", ran.stderr);
    }

    let document = home.run(["run", "--json", "-c", &script]).expect(4).json();
    let left = pids(&home, &["child.pid", "session.pid", "orphan.pid"]);
    assert_gone(&left);
    let mut named: Vec<i64> =
        document["survivors"].as_array().unwrap().iter().map(|pid| pid.as_i64().unwrap()).collect();
    let mut left: Vec<i64> = left.into_iter().map(i64::from).collect();
    named.sort_unstable();
    left.sort_unstable();
    assert_eq!(named, left, "{document}");
    assert_eq!((&document["status"]["kind"], &document["exit_code"]), (&"exited".into(), &4.into()), "{document}");
}

#[test]
fn a_command_that_leaves_nothing_names_nobody() {
    let home = TestHome::new();
    let ran = home.run(["run", "-c", "sleep 0.1 & wait; echo done"]).expect(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("done\n", ""));
    assert_eq!(home.run(["run", "--json", "--", "true"]).expect(0).json()["survivors"], serde_json::json!([]));
}

#[test]
fn a_reader_that_goes_away_ends_the_command_quietly() {
    let home = TestHome::new();
    let mut child = home.command(["run", "-c", "echo $$ > leader.pid; exec yes"]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "y\n");
    let ended = wait::end_of("hermes", child, wait::PATIENCE);
    assert_gone(&pids(&home, &["leader.pid"]));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(!said.contains("panic") && !said.contains("error"), "{said}");
}

#[test]
fn output_is_shown_while_the_command_still_runs() {
    let home = TestHome::new();
    // It ends only when the test says so, and the test says so only when it has seen the line.
    let script = "echo ready; until [ -e go ]; do sleep 0.05; done; echo done";
    let mut child = home.command(["run", "-c", script]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        while let Some(Ok(line)) = lines.next() {
            let _ = sender.send(line);
        }
    });
    assert_eq!(receiver.recv_timeout(wait::PATIENCE).as_deref(), Ok("ready"));
    fs::write(home.work().join("go"), "").unwrap();
    assert_eq!(receiver.recv_timeout(wait::PATIENCE).as_deref(), Ok("done"));
    assert!(wait::end_of("hermes", child, wait::PATIENCE).status.success());
}
