//! What was started to persist is taken over from a host that was killed: it is known, can be ended, and its end is lost
//! once. Everything else has ended with its host, and is lost once too.

use std::fs;

use hermes_tests::hosted::{Hosted, pid_in, runs, signal, until_gone};
use hermes_tests::leavings::supervisor_of;
use hermes_tests::wait;
use nix::sys::signal::Signal;
use serde_json::Value;

fn begin(house: &Hosted, more: &[&str], file: &str) -> (String, i32) {
    let script = format!("echo $$ > {file}; exec sleep 1000");
    let words: Vec<&str> = ["--notify"].iter().chain(more).copied().chain(["-c", &script]).collect();
    let id = house.background(&words);
    (id, pid_in(&house.home().work().join(file)))
}

fn lost_once(house: &Hosted, id: &str) {
    let told = house.events(1, &[]);
    assert_eq!((&told[0]["process"], &told[0]["status"]["kind"]), (&id.into(), &"lost".into()), "{told:#?}");
    assert_eq!((&told[0]["exit_code"], &told[0]["kind"]), (&Value::Null, &"completion".into()), "{told:#?}");
    assert!(house.events_in_the_end().is_empty(), "it is told twice");
}

#[test]
fn what_survives_its_host_is_taken_over_and_listed() {
    let house = Hosted::new();
    let (id, pid) = begin(&house, &["--persist"], "persistent.pid");
    house.crash();
    let row = house.row(&id).unwrap_or_else(|| panic!("{id} is not listed"));
    assert_eq!((&row["detached"], &row["status"]["kind"]), (&true.into(), &"running".into()), "{row}");
    assert_eq!(row["pid"], pid, "{row}");
    assert!(runs(pid), "what persists ended with its host");
    assert!(house.take_events(&[]).is_empty(), "it runs");
}

#[test]
fn what_was_not_to_persist_ends_with_its_host_and_is_lost_once() {
    let house = Hosted::new();
    let (plain, plain_pid) = begin(&house, &[], "plain.pid");
    let (persistent, persistent_pid) = begin(&house, &["--persist"], "persistent.pid");
    house.crash();
    until_gone(&[plain_pid]);
    assert_eq!(house.row(&persistent).unwrap()["status"]["kind"], "running");
    assert!(runs(persistent_pid));
    drop(house.run(&["kill", &persistent]).expect(0));
    lost_once(&house, &plain);
}

#[test]
fn what_neither_its_host_nor_a_supervisor_ended_is_ended_by_the_next_host() {
    let house = Hosted::new();
    let (plain, plain_pid) = begin(&house, &[], "plain.pid");
    let host = house.host().expect("a host runs");
    let supervisor = supervisor_of(host);
    // Stopped first, so that neither sees the end of the other.
    for (pid, order) in [(supervisor, Signal::SIGSTOP), (host, Signal::SIGKILL), (supervisor, Signal::SIGKILL)] {
        signal(pid, order);
    }
    until_gone(&[host, supervisor]);
    assert!(runs(plain_pid));
    let told = house.events(1, &[]);
    assert_eq!(
        (&told[0]["process"], &told[0]["status"]["kind"]),
        (&plain.as_str().into(), &"lost".into()),
        "{told:#?}"
    );
    assert!(told[0]["status"]["reason"].as_str().unwrap().contains("it was ended after it"), "{told:#?}");
    assert!(!runs(plain_pid), "it was told as lost and runs");
}

#[test]
fn whoever_carries_the_marker_of_a_host_that_is_gone_is_ended_by_the_next_one() {
    let house = Hosted::new();
    let script =
        "setsid bash -c 'env -u HERMES_PROCESS bash -c \"echo \\$\\$ > far.pid; exec sleep 1000\" &' & sleep 1000";
    house.background(&["-c", script]);
    let far = pid_in(&house.home().work().join("far.pid"));
    let host = house.host().expect("a host runs");
    let supervisor = supervisor_of(host);
    for (pid, order) in [(supervisor, Signal::SIGSTOP), (host, Signal::SIGKILL), (supervisor, Signal::SIGKILL)] {
        signal(pid, order);
    }
    until_gone(&[host, supervisor]);
    assert!(runs(far));
    house.background(&["--", "true"]);
    until_gone(&[far]);
}

#[test]
fn what_was_taken_over_is_ended_by_its_identity() {
    let house = Hosted::new();
    let (id, pid) = begin(&house, &["--persist"], "persistent.pid");
    house.crash();
    let killed = house.json(&["kill", &id]);
    assert_eq!((&killed["result"], &killed["survivors"]), (&"killed".into(), &serde_json::json!([])), "{killed}");
    assert_eq!((&killed["status"]["kind"], &killed["output"]), (&"stopped".into(), &"".into()), "{killed}");
    assert!(!runs(pid), "{id} runs");
    assert!(house.events_in_the_end().is_empty(), "whoever ended it knows");
}

#[test]
fn the_end_of_what_was_taken_over_is_told_as_lost_once() {
    let house = Hosted::new();
    let script = "echo $$ > leader.pid; until [ -e go ]; do sleep 0.02; done; exit 0";
    let id = house.background(&["--notify", "--persist", "-c", script]);
    pid_in(&house.home().work().join("leader.pid"));
    house.crash();
    assert_eq!(house.row(&id).unwrap()["detached"], true);
    fs::write(house.home().work().join("go"), "").unwrap();
    lost_once(&house, &id);
    let over = house.run(&["wait", &id, "--json"]).expect(125);
    assert_eq!(over.json()["status"]["kind"], "lost", "an exit was invented");
}

#[test]
fn what_ended_while_no_host_looked_is_told_as_lost_once() {
    let house = Hosted::new();
    let (id, pid) = begin(&house, &["--persist"], "leader.pid");
    house.crash();
    signal(pid, Signal::SIGKILL);
    until_gone(&[pid]);
    lost_once(&house, &id);
}

#[test]
fn what_nobody_wanted_to_be_told_of_is_lost_quietly() {
    let house = Hosted::new();
    let id = house.background(&["--persist", "-c", "echo $$ > leader.pid; exec sleep 1000"]);
    let pid = pid_in(&house.home().work().join("leader.pid"));
    house.crash();
    signal(pid, Signal::SIGKILL);
    until_gone(&[pid]);
    assert_eq!(house.run(&["wait", &id, "--json"]).expect(125).json()["status"]["kind"], "lost");
    assert!(house.events_in_the_end().is_empty());
}

#[test]
fn what_is_taken_over_again_and_again_is_one_process_and_lost_once() {
    let house = Hosted::new();
    let (id, pid) = begin(&house, &["--persist"], "leader.pid");
    for _ in 0..5 {
        house.crash();
        let row = house.row(&id).unwrap();
        assert_eq!((&row["pid"], &row["status"]["kind"]), (&pid.into(), &"running".into()), "{row}");
        assert!(house.take_events(&[]).is_empty());
    }
    signal(pid, Signal::SIGKILL);
    lost_once(&house, &id);
}

#[test]
fn an_orderly_end_ends_what_was_taken_over() {
    let house = Hosted::new();
    let (id, pid) = begin(&house, &["--persist"], "leader.pid");
    house.crash();
    assert_eq!(house.row(&id).unwrap()["detached"], true);
    let told = house.events_in_the_end();
    assert!(!runs(pid), "it outlived an orderly end");
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!((&told[0]["process"], &told[0]["status"]["kind"]), (&id.as_str().into(), &"stopped".into()));
}

#[test]
fn an_exit_that_was_written_before_the_crash_is_known_after_it() {
    let house = Hosted::new();
    let id = house.background(&["--notify", "-c", "echo the last words; exit 7"]);
    house.until_ended(&id);
    house.crash();
    let told = house.events(1, &[]);
    assert_eq!((&told[0]["status"]["kind"], &told[0]["exit_code"]), (&"exited".into(), &7.into()), "{told:#?}");
    assert!(told[0]["output"].as_str().unwrap().contains("the last words"));
    assert_eq!(house.run(&["logs", &id]).expect(0).stdout, "the last words\n");
    drop(house.run(&["wait", &id]).expect(7));
    assert!(house.events_in_the_end().is_empty());
}

#[test]
fn an_event_that_was_taken_and_not_acknowledged_is_told_again_and_one_that_was_is_not() {
    let house = Hosted::new();
    let (first, second) =
        (house.background(&["--notify", "-c", "exit 1"]), house.background(&["--notify", "-c", "exit 2"]));
    house.until_ended(&first);
    house.until_ended(&second);
    let mut wire = house.wire();
    let asked = serde_json::json!({"action": "events", "max": 2, "ack": [], "wait_ms": 5000});
    let mut taken = Vec::new();
    wait::until("two events", wait::PATIENCE, || {
        taken.extend(wire.call("process", asked.clone()).unwrap()["events"].as_array().unwrap().clone());
        (taken.len() == 2).then_some(())
    });
    let acknowledged = taken.iter().find(|event| event["process"] == first.as_str()).unwrap();
    let claim = serde_json::json!({"action": "ack", "ack": [acknowledged["claim"]]});
    assert_eq!(wire.call("process", claim).unwrap()["acknowledged"], 1);
    house.crash();
    let told = house.events(1, &[]);
    let again = taken.iter().find(|event| event["process"] == second.as_str()).unwrap();
    assert_eq!((&told[0]["id"], &told[0]["seq"]), (&again["id"], &again["seq"]), "the same event has the same id");
    assert!(house.events_in_the_end().is_empty());
}

#[test]
fn whoever_outlived_a_leader_nobody_saw_end_is_known_and_ended() {
    let house = Hosted::new();
    let script = "setsid bash -c 'echo $$ > child.pid; exec sleep 1000' & echo $$ > leader.pid; exec sleep 1000";
    let id = house.background(&["--notify", "--persist", "-c", script]);
    let leader = pid_in(&house.home().work().join("leader.pid"));
    let child = pid_in(&house.home().work().join("child.pid"));
    house.crash();
    signal(leader, Signal::SIGKILL);
    until_gone(&[leader]);
    let told = house.events(1, &[]);
    assert_eq!((&told[0]["process"], &told[0]["status"]["kind"]), (&id.as_str().into(), &"lost".into()), "{told:#?}");
    assert!(runs(child), "it was not to be ended");
    drop(house.run(&["kill", &id]).expect(0));
    until_gone(&[child]);
}
