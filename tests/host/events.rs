//! What a host tells: once, in order, as much as was asked for, and not more often than anyone can bear.

use std::fs;
use std::time::Duration;

use hermes_home::home::{Home, LocateArgs};
use hermes_ledger::event::Scope;
use hermes_ledger::live::handle::Ledger;
use hermes_tests::home::TestHome;
use hermes_tests::hosted::{Hosted, lines};
use hermes_tests::wait;
use serde_json::Value;

/// Three windows of 15 s with more than one match in each, and room for a busy machine.
const STRIKES: Duration = Duration::from_secs(120);
/// The shortest heartbeat there is, and room for a busy machine.
const BEAT: Duration = Duration::from_secs(120);

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["kind"].as_str().unwrap()).collect()
}

#[test]
fn an_end_is_told_once() {
    let house = Hosted::new();
    let id = house.background(&["--notify", "-c", "echo the result; exit 3"]);
    let told = house.events(1, &[]);
    assert_eq!((&told[0]["process"], &told[0]["kind"]), (&id.as_str().into(), &"completion".into()));
    assert_eq!((&told[0]["exit_code"], &told[0]["output_cut"]), (&3.into(), &false.into()));
    assert!(told[0]["output"].as_str().unwrap().contains("the result"));
    assert!(house.take_events(&[]).is_empty());
    assert!(house.events_in_the_end().is_empty(), "the next host tells it again");
}

#[test]
fn ends_are_told_in_the_order_in_which_they_came() {
    let house = Hosted::new();
    let mut ids = Vec::new();
    for _ in 0..5 {
        let id = house.background(&["--notify", "--", "true"]);
        house.until_ended(&id);
        ids.push(id);
    }
    let told = house.events(5, &[]);
    let order: Vec<&str> = told.iter().map(|event| event["process"].as_str().unwrap()).collect();
    assert_eq!(order, ids);
    let numbers: Vec<u64> = told.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
}

#[test]
fn more_events_than_are_taken_at_once_are_all_told() {
    let house = Hosted::new();
    let mut wire = {
        house.background(&["--", "true"]);
        house.wire()
    };
    let mut ids: Vec<String> = (0..50)
        .map(|_| {
            let asked = serde_json::json!({"program": ["true"], "background": true, "notify": true});
            wire.call("terminal", asked).unwrap()["id"].as_str().unwrap().to_owned()
        })
        .collect();
    for id in &ids {
        house.until_ended(id);
    }
    let told = house.take_events(&[]);
    let mut named: Vec<String> = told.iter().map(|event| event["process"].as_str().unwrap().to_owned()).collect();
    named.sort();
    ids.sort();
    assert_eq!(named, ids);
}

#[test]
fn followers_share_the_events_and_each_goes_to_one_of_them() {
    let house = Hosted::new();
    house.background(&["--", "true"]);
    let files: Vec<_> = (0..2).map(|number| house.home().work().join(format!("told-{number}"))).collect();
    let mut followers: Vec<_> = files
        .iter()
        .map(|file| {
            let mut follower = house.home().command(["events", "--follow", "--json"]);
            follower.stdout(fs::File::create(file).unwrap()).spawn().unwrap()
        })
        .collect();
    let ids: Vec<String> = (0..30).map(|_| house.background(&["--notify", "--", "true"])).collect();
    let told = || files.iter().map(|file| fs::read_to_string(file).unwrap()).collect::<String>();
    let home = Home::locate(&LocateArgs { home: Some(house.root()), profile: None }).unwrap();
    wait::until("everything to be told and settled", wait::PATIENCE, || {
        let settled = || !Ledger::read(&home).unwrap().unwrap().has_undelivered(&Scope::All).unwrap();
        (told().lines().count() == ids.len() && settled()).then_some(())
    });
    for follower in &mut followers {
        hermes_tests::hosted::signal(i32::try_from(follower.id()).unwrap(), nix::sys::signal::Signal::SIGTERM);
        let _ = follower.wait();
    }
    let mut named: Vec<String> =
        lines(&told()).iter().map(|event| event["process"].as_str().unwrap().to_owned()).collect();
    assert!(house.take_events(&[]).is_empty(), "an event was told and not settled");
    named.sort();
    let mut ids = ids;
    ids.sort();
    assert_eq!(named, ids);
}

#[test]
fn a_completion_that_is_cut_says_so_and_where_the_rest_is() {
    let house = Hosted::with("[notifications]\ncompletion_bytes = 300\n");
    let id = house.background(&["--notify", "-c", "seq 1 2000"]);
    let told = house.events(1, &[]);
    assert_eq!(told[0]["output_cut"], true);
    let output = told[0]["output"].as_str().unwrap();
    assert!(output.contains("not shown") && output.contains(&format!("hermes logs {id}")), "{output}");
    assert!(output.len() < 600 && output.starts_with("1\n") && output.ends_with("2000\n"), "{output}");
    let log = house.json(&["logs", &id, "--offset", "0", "--limit", "3000"]);
    assert_eq!((&log["total_lines"], &log["output_cut"]), (&2000.into(), &false.into()));
}

#[test]
fn what_is_watched_for_is_told_with_its_line() {
    let house = Hosted::new();
    let script = "echo begins; echo 'server is ready on 80'; until [ -e go ]; do sleep 0.05; done; exit 2";
    let id = house.background(&["--watch", "ready", "--watch", "never", "-c", script]);
    let told = house.events(1, &[]);
    assert_eq!((&told[0]["kind"], &told[0]["process"]), (&"match".into(), &id.as_str().into()));
    assert_eq!((&told[0]["pattern"], &told[0]["status"]["kind"]), (&"ready".into(), &"running".into()));
    let output = told[0]["output"].as_str().unwrap();
    assert!(output.contains("server is ready on 80") && !output.contains("begins"), "{output}");
    fs::write(house.home().work().join("go"), "").unwrap();
    house.until_ended(&id);
    assert!(house.events_in_the_end().is_empty(), "nobody asked for its end");
}

#[test]
fn what_is_watched_for_is_found_where_a_line_comes_in_pieces() {
    let house = Hosted::new();
    let script = "printf 'it is re'; until [ -e go ]; do sleep 0.05; done; echo ady now";
    let id = house.background(&["--watch", "ready", "-c", script]);
    wait::until("the first piece", wait::PATIENCE, || house.row(&id).filter(|row| row["output_bytes"] != 0));
    fs::write(house.home().work().join("go"), "").unwrap();
    let told = house.events(1, &[]);
    assert!(told[0]["output"].as_str().unwrap().contains("it is ready now"), "{told:#?}");
}

#[test]
fn a_process_that_matches_too_often_is_watched_no_longer_and_its_end_is_told_instead() {
    let house = Hosted::new();
    let script = "until [ -e go ]; do echo ready; sleep 0.2; done; exit 9";
    let id = house.background(&["--watch", "ready", "-c", script]);
    let mut told = Vec::new();
    wait::until("the end of the watching", STRIKES, || {
        told.extend(house.take_events(&[]));
        told.iter().any(|event: &Value| event["kind"] == "watch-disabled").then_some(())
    });
    // One for each window of 15 s; what came between was counted.
    let names = kinds(&told);
    assert_eq!(names, ["match", "match", "match", "watch-disabled"], "{told:#?}");
    assert!(told[1]["suppressed"].as_u64().unwrap() > 10, "{told:#?}");
    assert!(house.row(&id).unwrap()["status"]["kind"] == "running" && house.take_events(&[]).is_empty());
    fs::write(house.home().work().join("go"), "").unwrap();
    let end = house.events(1, &[]);
    assert_eq!((&end[0]["kind"], &end[0]["exit_code"]), (&"completion".into(), &9.into()), "{end:#?}");
}

#[test]
fn a_heartbeat_has_a_floor_tells_what_is_new_and_brings_the_end_with_it() {
    let house = Hosted::new();
    let script = "echo early; until [ -e go ]; do sleep 0.2; done; echo late; exit 4";
    let id = house.background(&["--heartbeat", "1s", "-c", script]);
    assert_eq!(house.row(&id).unwrap()["heartbeat_ms"], 60_000);
    let mut told = Vec::new();
    wait::until("a heartbeat", BEAT, || {
        told.extend(house.take_events(&[]));
        (!told.is_empty()).then_some(())
    });
    assert_eq!(kinds(&told), ["heartbeat"], "{told:#?}");
    assert_eq!((&told[0]["process"], &told[0]["hidden"]), (&id.as_str().into(), &true.into()));
    assert!(told[0]["output"].as_str().unwrap().contains("early"), "{told:#?}");
    fs::write(house.home().work().join("go"), "").unwrap();
    let end = house.events(1, &[]);
    assert_eq!((&end[0]["kind"], &end[0]["exit_code"]), (&"completion".into(), &4.into()), "{end:#?}");
}

/// What is told in one mode of a command that ends well, one that does not, both asked for; one of each nobody asked
/// for; and one that is watched.
fn told_in(mode: &str) -> Vec<String> {
    let house = Hosted::with(&format!("[notifications]\nbackground = \"{mode}\"\n"));
    let all: Vec<(&str, String)> = [
        ("asked well", &["--notify", "-c", "exit 0"][..]),
        ("asked badly", &["--notify", "-c", "exit 1"]),
        ("unasked well", &["-c", "exit 0"]),
        ("unasked badly", &["-c", "exit 1"]),
        ("watched", &["--watch", "ready", "-c", "echo ready"]),
    ]
    .map(|(name, arguments)| (name, house.background(arguments)))
    .into();
    for (_, id) in &all {
        house.until_ended(id);
    }
    let mut told: Vec<String> = house
        .events_in_the_end()
        .iter()
        .map(|event| {
            let name = all.iter().find(|(_, id)| event["process"] == id.as_str()).map_or("?", |(name, _)| name);
            format!("{name}: {}", event["kind"].as_str().unwrap())
        })
        .collect();
    told.sort();
    told
}

#[test]
fn off_tells_nothing_of_processes() {
    assert_eq!(told_in("off"), [] as [String; 0]);
}

#[test]
fn error_tells_asked_for_ends_that_are_no_success() {
    assert_eq!(told_in("error"), ["asked badly: completion"]);
}

#[test]
fn result_tells_asked_for_ends_and_nothing_else() {
    assert_eq!(told_in("result"), ["asked badly: completion", "asked well: completion"]);
}

#[test]
fn concise_tells_what_was_asked_for() {
    assert_eq!(told_in("concise"), ["asked badly: completion", "asked well: completion", "watched: match"]);
}

#[test]
fn all_tells_every_end() {
    assert_eq!(
        told_in("all"),
        [
            "asked badly: completion",
            "asked well: completion",
            "unasked badly: completion",
            "unasked well: completion",
            "watched: completion",
            "watched: match"
        ]
    );
}

#[test]
fn a_notifier_keeps_back_what_it_wants_and_rewrites_what_it_wants() {
    let home = TestHome::new();
    home.install_guest("obeys-text", "notify");
    let house = Hosted::of(home, "");
    let kept = house.background(&["--notify", "-c", "echo SUPPRESS it is nothing"]);
    let rewritten = house.background(&["--notify", "-c", "echo REWRITE in other words; exit 3"]);
    let as_it_is = house.background(&["--notify", "-c", "echo plain"]);
    for id in [&kept, &rewritten, &as_it_is] {
        house.until_ended(id);
    }
    let told = house.events(2, &[]);
    let text_of = |id: &str| {
        let of_it: Vec<&Value> = told.iter().filter(|event| event["process"] == id).collect();
        assert_eq!(of_it.len(), 1, "{told:#?}");
        of_it[0]["output"].as_str().unwrap().trim().to_owned()
    };
    assert_eq!((text_of(&rewritten).as_str(), text_of(&as_it_is).as_str()), ("in other words", "plain"));
    assert!(house.events_in_the_end().is_empty(), "what was kept back is told later");
    // It is only not told: everything about it is known.
    assert_eq!(house.run(&["logs", &kept]).expect(0).stdout, "SUPPRESS it is nothing\n");
}

#[test]
fn a_notifier_that_breaks_down_keeps_nothing_back() {
    let home = TestHome::new();
    home.install_guest("obeys-text", "notify");
    let house = Hosted::of(home, "");
    for word in ["BOOM", "FAIL", "LOOP"] {
        let id = house.background(&["--notify", "-c", &format!("echo {word} tiramisu")]);
        let told = house.events(1, &[]);
        assert_eq!(told[0]["process"], id);
        assert!(told[0]["output"].as_str().unwrap().contains("tiramisu"), "{word}: {told:#?}");
        assert!(told[0]["policy"]["warnings"].to_string().contains("obeys-text"), "{word} goes unsaid: {told:#?}");
    }
}

#[test]
fn a_notifier_decides_by_the_exit_code() {
    let home = TestHome::new();
    home.install_guest("quiet-notifier", "notify");
    let house = Hosted::of(home, "");
    let well = house.background(&["--notify", "-c", "echo well"]);
    let badly = house.background(&["--notify", "-c", "echo badly; exit 1"]);
    house.until_ended(&well);
    assert_eq!(house.events(1, &[])[0]["process"], badly);
    assert!(house.events_in_the_end().is_empty());
}
