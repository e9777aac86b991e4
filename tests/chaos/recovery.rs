//! What a host that was killed leaves is taken over by the next one: it is known, can be ended, and its end is lost once.

use std::fs;

use hermes_tests::hosted::{Hosted, pid_in, runs, signal, until_gone};
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
    let (plain, plain_pid) = begin(&house, &[], "plain.pid");
    let (persistent, persistent_pid) = begin(&house, &["--persist"], "persistent.pid");
    house.crash();
    assert!(runs(persistent_pid), "what persists ended with its host");
    for (id, pid) in [(&plain, plain_pid), (&persistent, persistent_pid)] {
        let row = house.row(id).unwrap_or_else(|| panic!("{id} is not listed"));
        assert_eq!((&row["detached"], &row["status"]["kind"]), (&true.into(), &"running".into()), "{row}");
        assert_eq!(row["pid"], pid, "{row}");
        assert!(runs(pid));
    }
    assert!(house.take_events(&[]).is_empty(), "both run");
}

#[test]
fn what_was_taken_over_is_ended_by_its_identity() {
    let house = Hosted::new();
    let (plain, plain_pid) = begin(&house, &[], "plain.pid");
    let (persistent, persistent_pid) = begin(&house, &["--persist"], "persistent.pid");
    house.crash();
    for (id, pid) in [(&plain, plain_pid), (&persistent, persistent_pid)] {
        let killed = house.json(&["kill", id]);
        assert_eq!((&killed["result"], &killed["survivors"]), (&"killed".into(), &serde_json::json!([])), "{killed}");
        assert_eq!((&killed["status"]["kind"], &killed["output"]), (&"stopped".into(), &"".into()), "{killed}");
        assert!(!runs(pid), "{id} runs");
    }
    assert!(house.events_in_the_end().is_empty(), "whoever ended them knows");
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
    let (id, pid) = begin(&house, &[], "leader.pid");
    house.crash();
    signal(pid, Signal::SIGKILL);
    until_gone(&[pid]);
    lost_once(&house, &id);
}

#[test]
fn what_nobody_wanted_to_be_told_of_is_lost_quietly() {
    let house = Hosted::new();
    let id = house.background(&["-c", "echo $$ > leader.pid; exec sleep 1000"]);
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
    let id = house.background(&["--notify", "-c", script]);
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
