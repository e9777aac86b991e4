//! How a host ends: in order, with everything it started, telling later what nobody saw, and by itself when idle.

use std::fs;
use std::time::Duration;

use hermes_tests::hosted::{Hosted, pid_in, runs, signal, throughout, until_gone};
use hermes_tests::wait;
use nix::sys::signal::Signal;
use serde_json::json;

/// How long a host with nothing to do may stay.
const IDLE: &[&str] = &["--idle-exit", "1s"];
/// Several times that.
const LONG: Duration = Duration::from_millis(3500);

fn ended_in_order_by(caught: Signal) {
    let house = Hosted::new();
    let mut host = house.serve(&[]);
    let tree = "setsid bash -c 'echo $$ > session.pid; exec sleep 1000' & echo $$ > leader.pid; exec sleep 1000";
    let plain = house.background(&["--notify", "-c", tree]);
    let persistent = house.background(&["--notify", "--persist", "-c", "echo $$ > persist.pid; exec sleep 1000"]);
    let deaf = house.background(&["-c", "trap '' TERM; echo $$ > deaf.pid; while :; do sleep 1; done"]);
    let pids: Vec<i32> = ["leader.pid", "session.pid", "persist.pid", "deaf.pid"]
        .iter()
        .map(|file| pid_in(&house.home().work().join(file)))
        .collect();
    assert!(pids.iter().all(|pid| runs(*pid)), "something fell by itself");

    signal(i32::try_from(host.id()).unwrap(), caught);
    let ended = wait::until("the end of the host", wait::PATIENCE, || host.try_wait().unwrap());
    assert_eq!(ended.code(), Some(0), "{caught} is an orderly end");
    // The host ends after what it started.
    let left: Vec<i32> = pids.iter().copied().filter(|pid| runs(*pid)).collect();
    assert!(left.is_empty(), "{caught}: still running: {left:?}");
    assert!(!house.root().join("host.sock").exists(), "the socket is left");

    let mut told = house.events(2, &[]);
    told.sort_by_key(|event| event["process"].to_string());
    let mut wanted = [plain.clone(), persistent];
    wanted.sort();
    for (event, id) in told.iter().zip(&wanted) {
        assert_eq!(event["process"], *id, "{event}");
        assert_eq!((&event["kind"], &event["status"]["kind"]), (&"completion".into(), &"stopped".into()), "{event}");
        assert_ne!(event["exit_code"], 0, "{event}");
    }
    assert!(house.take_events(&[]).is_empty(), "something is told twice");
    // Nobody wanted to be told of this one, and it is known all the same.
    assert_eq!(house.json(&["wait", &deaf])["status"]["kind"], "stopped");
    assert_eq!(house.json(&["wait", &plain])["status"]["kind"], "stopped");
}

#[test]
fn a_termination_ends_the_host_in_order() {
    ended_in_order_by(Signal::SIGTERM);
}

#[test]
fn an_interrupt_ends_the_host_in_order() {
    ended_in_order_by(Signal::SIGINT);
}

#[test]
fn a_hangup_ends_the_host_in_order() {
    ended_in_order_by(Signal::SIGHUP);
}

#[test]
fn what_is_under_way_when_the_host_ends_is_refused_or_ended() {
    let house = Hosted::new();
    let mut host = house.serve(&[]);
    let begun: Vec<_> = (0..8)
        .map(|_| house.home().command(["run", "-b", "-c", "echo $$ >> pids; exec sleep 1000"]).spawn().unwrap())
        .collect();
    wait::until("the first of them", wait::PATIENCE, || house.home().work().join("pids").exists().then_some(()));
    signal(i32::try_from(host.id()).unwrap(), Signal::SIGTERM);
    let ended = wait::until("the end of the host", wait::PATIENCE, || host.try_wait().unwrap());
    assert_eq!(ended.code(), Some(0));
    for child in begun {
        // Each is told its id, or why there is none; or it found no host any more and started the next one.
        let _ = wait::end_of("hermes", child, wait::PATIENCE);
    }
    // Whatever runs now is known to the next host, if there is one.
    let known: Vec<i64> = house
        .rows(&["--all"])
        .iter()
        .filter(|row| row["status"]["kind"] == "running")
        .map(|row| row["pid"].as_i64().unwrap())
        .collect();
    let pids = fs::read_to_string(house.home().work().join("pids")).unwrap();
    let left: Vec<i32> = pids.lines().map(|line| line.parse().unwrap()).filter(|pid| runs(*pid)).collect();
    let orphans: Vec<i32> = left.into_iter().filter(|pid| !known.contains(&i64::from(*pid))).collect();
    assert!(orphans.is_empty(), "nobody knows of {orphans:?}");
}

#[test]
fn a_host_without_anything_to_do_ends_by_itself() {
    let house = Hosted::new();
    let mut host = house.serve(IDLE);
    let ended = wait::until("the end of the host", wait::PATIENCE, || host.try_wait().unwrap());
    assert_eq!(ended.code(), Some(0));
    assert!(!house.root().join("host.sock").exists(), "the socket is left");
}

#[test]
fn a_host_in_the_background_ends_as_the_configuration_says() {
    let house = Hosted::untouched();
    house.home().configure("[host]\nidle_exit = \"1s\"\n");
    let id = house.background(&["--", "true"]);
    let host = house.host().expect("a host runs");
    until_gone(&[host]);
    // What it knew is known to the next one.
    assert_eq!(house.json(&["wait", &id])["exit_code"], 0);
}

#[test]
fn a_host_stays_while_a_process_runs() {
    let house = Hosted::new();
    let mut host = house.serve(IDLE);
    house.background(&["-c", "until [ -e go ]; do sleep 0.05; done"]);
    throughout(LONG, || assert_eq!(host.try_wait().unwrap(), None, "it left a process alone"));
    fs::write(house.home().work().join("go"), "").unwrap();
    let ended = wait::until("the end of the host", wait::PATIENCE, || host.try_wait().unwrap());
    assert_eq!(ended.code(), Some(0));
}

#[test]
fn a_host_stays_while_an_event_waits() {
    let house = Hosted::new();
    let mut host = house.serve(IDLE);
    let id = house.background(&["--notify", "--", "true"]);
    throughout(LONG, || assert_eq!(host.try_wait().unwrap(), None, "it left an event alone"));
    assert_eq!(house.events(1, &[])[0]["process"], id);
    let ended = wait::until("the end of the host", wait::PATIENCE, || host.try_wait().unwrap());
    assert_eq!(ended.code(), Some(0));
}

#[test]
fn a_host_stays_while_a_client_is_connected() {
    let house = Hosted::new();
    let mut host = house.serve(IDLE);
    let mut client = house.wire();
    throughout(LONG, || assert_eq!(host.try_wait().unwrap(), None, "it left a client alone"));
    let list = client.call("process", json!({"action": "list"})).unwrap();
    assert_eq!(list["processes"], json!([]));
    drop(client);
    let ended = wait::until("the end of the host", wait::PATIENCE, || host.try_wait().unwrap());
    assert_eq!(ended.code(), Some(0));
}

#[test]
fn an_event_nobody_took_is_told_by_the_next_host() {
    let house = Hosted::new();
    let id = house.background(&["--notify", "-c", "echo the last words; exit 5"]);
    house.until_ended(&id);
    let told = house.events_in_the_end();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!((&told[0]["process"], &told[0]["exit_code"]), (&id.as_str().into(), &5.into()));
    assert!(told[0]["output"].as_str().unwrap().contains("the last words"), "{told:#?}");
    assert!(house.take_events(&[]).is_empty(), "something is told twice");
}
