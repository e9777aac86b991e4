//! Two hundred hosts of a few homes, each killed at a random point while commands start, exit and are told.

use std::fs;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hermes_tests::hosted::{Hosted, runs, signal};
use hermes_tests::wait;
use hermes_tests::wire::{Gone, Wire};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::random::Random;
use crate::record::{Kind, Record, Started, script};

/// How many hosts of one home are killed; there are four such tests.
const LIVES: usize = 50;
/// The longest life of a host after it began.
const LIFE: Duration = Duration::from_millis(400);
/// So many processes that ended are known at least. Some of those that are were started without an answer.
const KNOWN: usize = 20;
/// How long a host takes to begin, about: kills within this time hit its beginning.
const BEGINNING: u64 = 80;

/// What happens most in a host's life.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mostly {
    Starts,
    Exits,
    Deliveries,
    Everything,
}

/// The host of one life. It does not outlive the test.
struct Life {
    host: Child,
}

impl Drop for Life {
    fn drop(&mut self) {
        // Best effort: it may be gone already.
        let _ = self.host.kill();
        let _ = self.host.wait();
    }
}

impl Life {
    fn begin(house: &Hosted) -> Self {
        let mut command = house.home().command(["serve"]);
        let log = fs::File::options().create(true).append(true).open(house.home().work().join("hosts.log")).unwrap();
        command.stdout(Stdio::null()).stderr(log);
        Self { host: command.spawn().unwrap() }
    }

    fn connect(&mut self, house: &Hosted) -> Wire {
        wait::until("a host that listens", wait::PATIENCE, || {
            let ended = self.host.try_wait().unwrap();
            assert_eq!(ended, None, "the host ended by itself: {}", log(house));
            Wire::connect(&house.root())
        })
    }
}

/// What the hosts said at last.
fn log(house: &Hosted) -> String {
    let log = fs::read_to_string(house.home().work().join("hosts.log")).unwrap_or_default();
    log.lines().rev().take(3).collect::<Vec<_>>().join(" | ")
}

/// Starts commands until the host is gone.
fn start_commands(mut wire: Wire, record: &Record, mut random: Random, gate: &str, mostly: Mostly, steps: &Sender<()>) {
    // As many as one life may bring, so that a home never holds thousands.
    for _ in 0..12 {
        let _ = steps.send(());
        let kind = match (mostly, random.below(10)) {
            (_, 0) => Kind::Outliving,
            (Mostly::Exits, _) | (_, 1..=3) => Kind::Short,
            _ => Kind::Fast,
        };
        let code = i64::try_from(random.below(100)).unwrap();
        let notify = !random.chance(10);
        let text = script(kind, code, gate);
        let asked = json!({"command": text, "background": true, "notify": notify, "persist": random.chance(20)});
        let Ok(answer) = wire.call("terminal", asked) else { return };
        match answer["id"].as_str() {
            Some(id) => record.started(id, Started { kind, code, notify, ended: false }),
            None => record.wrong(format!("not started: {answer}")),
        }
        let _ = steps.send(());
        if random.chance(5)
            && let Some(id) = record.one_of_the_last(random.next())
        {
            record.ending(&id);
            if wire.call("process", json!({"action": "kill", "id": id})).is_err() {
                return;
            }
        }
    }
}

/// Takes events and acknowledges them until the host is gone.
fn take_events(mut wire: Wire, record: &Record, mut random: Random, steps: &Sender<()>) {
    loop {
        let _ = steps.send(());
        let max = 1 + random.below(8);
        if take_once(&mut wire, record, max, 100).is_err() {
            return;
        }
        let _ = steps.send(());
    }
}

/// Takes events once and acknowledges them. Returns how many wait.
fn take_once(wire: &mut Wire, record: &Record, max: u64, wait_ms: u64) -> Result<u64, Gone> {
    let asked = json!({"action": "events", "max": max, "wait_ms": wait_ms, "ack": [], "all": true});
    let taken = wire.call("process", asked)?;
    let events = taken["events"].as_array().unwrap_or_else(|| panic!("no events: {taken}")).clone();
    events.iter().for_each(|event| record.told(event));
    if !events.is_empty() {
        let claims: Vec<&Value> = events.iter().map(|event| &event["claim"]).collect();
        let answer = wire.call("process", json!({"action": "ack", "ack": claims}))?;
        record.settled(&events, answer["acknowledged"].as_u64().unwrap());
    }
    Ok(taken["pending"].as_u64().unwrap_or(0))
}

/// Waits for a random number of steps or a random time, whichever comes first.
fn random_point(random: &mut Random, mostly: Mostly, steps: &Receiver<()>) {
    let most = if mostly == Mostly::Starts { 24 } else { 60 };
    let until = Instant::now() + Duration::from_micros(random.below(u64::try_from(LIFE.as_micros()).unwrap()));
    for _ in 0..random.below(most) {
        let left = until.saturating_duration_since(Instant::now());
        if steps.recv_timeout(left).is_err() {
            return;
        }
    }
}

fn killed_again_and_again(what: &str, mostly: Mostly) {
    let mut random = Random::seeded(what);
    let house = Hosted::new();
    let record = Arc::new(Record::default());
    // The same words as a command of a host, and no marker: a stranger.
    let mut stranger = Command::new("/bin/bash");
    stranger.args(["-c", &script(Kind::Outliving, 1, "never")]).env_clear().env("PATH", "/usr/bin:/bin");
    let mut stranger = stranger.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let stranger_pid = i32::try_from(stranger.id()).unwrap();
    let open = |life: usize| fs::write(house.home().work().join(format!("gate-{life}")), "").unwrap();

    for life in 0..LIVES {
        let mut host = Life::begin(&house);
        // What outlived the last host ends while this one begins, or after that.
        let late = random.chance(50);
        if life > 0 && !late {
            open(life - 1);
        }
        let (sender, steps) = channel();
        if random.chance(12) {
            // It is killed while it begins, or while it takes over.
            let time = Duration::from_millis(random.below(BEGINNING));
            let _ = steps.recv_timeout(time);
            drop(host);
        } else {
            let count = if mostly == Mostly::Deliveries { 1 } else { 2 };
            let mut workers: Vec<JoinHandle<()>> = Vec::new();
            for _ in 0..count {
                let (wire, record, random, sender) =
                    (host.connect(&house), Arc::clone(&record), random.fork(), sender.clone());
                let gate = format!("gate-{life}");
                workers.push(std::thread::spawn(move || {
                    start_commands(wire, &record, random, &gate, mostly, &sender);
                }));
            }
            for _ in 0..3 - count {
                let (wire, record, random, sender) =
                    (host.connect(&house), Arc::clone(&record), random.fork(), sender.clone());
                workers.push(std::thread::spawn(move || take_events(wire, &record, random, &sender)));
            }
            random_point(&mut random, mostly, &steps);
            drop(host);
            for worker in workers {
                worker.join().unwrap();
            }
        }
        if life > 0 && late {
            open(life - 1);
        }
    }
    open(LIVES - 1);

    let mut host = Life::begin(&house);
    let mut wire = host.connect(&house);
    wait::until("everything to end and to be told", wait::PATIENCE, || {
        // First the list: what has an end there has its event written, and the next look at the events finds it. A status
        // alone may be ahead of both.
        let list = wire.call("process", json!({"action": "list", "all": true})).unwrap();
        let under_way = list["processes"].as_array().unwrap().iter().any(|row| row["ended_at"].is_null());
        let pending = take_once(&mut wire, &record, 100, 0).unwrap();
        (pending == 0 && !under_way).then_some(())
    });
    // A home keeps the last 64 of them.
    let mut known = 0;
    for id in record.ids() {
        let asked = json!({"action": "wait", "id": id, "all": true, "timeout_ms": 10_000});
        let over = wire.call("process", asked).unwrap();
        if over["error"]["code"] != "not-found" {
            record.compare(&id, &over["status"]);
            known += 1;
        }
    }
    assert!(known >= KNOWN.min(record.ids().len()), "only {known} of {} are known", record.ids().len());
    drop(wire);
    // The end of the host is in order, and what it tells then is nothing new.
    signal(i32::try_from(host.host.id()).unwrap(), Signal::SIGTERM);
    wait::until("the end of the host", wait::PATIENCE, || host.host.try_wait().unwrap());
    let mut next = Life::begin(&house);
    assert_eq!(take_once(&mut next.connect(&house), &record, 100, 200), Ok(0));
    let survived = runs(stranger_pid);
    let _ = stranger.kill();
    let _ = stranger.wait();
    assert!(survived, "a stranger was signalled");
    record.check();
    let (started, exited, lost) = record.counts();
    let _ = writeln!(std::io::stderr(), "{what}: {started} commands, {exited} told as exited, {lost} as lost");
    assert!(started >= LIVES / 2 && exited > 0 && lost > 0, "too little happened: {started} {exited} {lost}");
}

#[test]
fn fifty_hosts_are_killed_while_commands_start() {
    killed_again_and_again("starts", Mostly::Starts);
}

#[test]
fn fifty_hosts_are_killed_while_commands_exit() {
    killed_again_and_again("exits", Mostly::Exits);
}

#[test]
fn fifty_hosts_are_killed_while_events_are_delivered() {
    killed_again_and_again("deliveries", Mostly::Deliveries);
}

#[test]
fn fifty_hosts_are_killed_in_the_middle_of_everything() {
    killed_again_and_again("everything", Mostly::Everything);
}
