//! An owner sees, waits for, ends and is told of what is its own, and of nothing else.

use hermes_tests::home::Ran;
use hermes_tests::hosted::Hosted;
use serde_json::Value;

fn ids(rows: &[Value]) -> Vec<&str> {
    let mut ids: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids
}

/// Refused, and nothing of the process is in the refusal.
fn refused(ran: &Ran) {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    assert!(!ran.stderr.contains("only-for-one") && !ran.stderr.contains("sleep"), "{ran:?}");
}

#[test]
fn a_list_shows_ones_own_and_all_shows_everybodys() {
    let house = Hosted::new();
    let one = house.background(&["--owner", "one", "--", "sleep", "1000"]);
    let two = house.background(&["--owner", "two", "--", "sleep", "1000"]);
    let mine = house.background(&["--", "sleep", "1000"]);
    assert_eq!(ids(&house.rows(&["--owner", "one"])), [one.as_str()]);
    assert_eq!(ids(&house.rows(&["--owner", "two"])), [two.as_str()]);
    assert_eq!(ids(&house.rows(&[])), [mine.as_str()]);
    assert_eq!(house.rows(&["--owner", "nobody"]).len(), 0);
    let mut all = [one.as_str(), &two, &mine];
    all.sort_unstable();
    assert_eq!(ids(&house.rows(&["--all"])), all);
}

#[test]
fn what_is_another_owners_is_neither_shown_nor_waited_for_nor_written_to_nor_ended() {
    let house = Hosted::new();
    let one = house.background(&["--owner", "one", "--stdin", "-c", "echo only-for-one; exec sleep 1000"]);
    for owner in [&["--owner", "two"][..], &[]] {
        for ask in [
            &["logs", &one][..],
            &["logs", &one, "--follow"],
            &["wait", &one, "--timeout", "5s"],
            &["send", &one, "text"],
            &["kill", &one],
        ] {
            let words: Vec<&str> = ask.iter().chain(owner).copied().collect();
            refused(&house.run(&words));
        }
    }
    assert_eq!(house.row(&one).unwrap()["status"]["kind"], "running");
    assert_eq!(house.json(&["kill", &one, "--owner", "one"])["result"], "killed");
    // What is over belongs to somebody as well.
    refused(&house.run(&["logs", &one, "--owner", "two"]));
    refused(&house.run(&["wait", &one]));
    let log = house.run(&["logs", &one, "--owner", "one"]).expect(0);
    assert_eq!(log.stdout, "only-for-one\n");
}

#[test]
fn an_ended_process_is_still_its_owners_after_the_host_is_gone() {
    let house = Hosted::new();
    let one = house.background(&["--owner", "one", "-c", "echo only-for-one"]);
    house.until_ended(&one);
    house.crash();
    refused(&house.run(&["logs", &one, "--owner", "two"]));
    assert_eq!(house.run(&["logs", &one, "--owner", "one"]).expect(0).stdout, "only-for-one\n");
}

#[test]
fn kill_all_ends_what_is_ones_own_and_spares_what_persists() {
    let house = Hosted::new();
    let one = house.background(&["--owner", "one", "--", "sleep", "1000"]);
    let two = house.background(&["--owner", "one", "--", "sleep", "1000"]);
    let persistent = house.background(&["--owner", "one", "--persist", "--", "sleep", "1000"]);
    let other = house.background(&["--owner", "two", "--", "sleep", "1000"]);
    let killed = house.json(&["kill", "--all", "--owner", "one"]);
    let mut wanted = [one.as_str(), &two];
    wanted.sort_unstable();
    assert_eq!(ids(killed["killed"].as_array().unwrap()), wanted, "{killed}");
    for (id, kind) in [(&one, "stopped"), (&two, "stopped"), (&persistent, "running"), (&other, "running")] {
        assert_eq!(house.row(id).unwrap()["status"]["kind"], kind, "{id}");
    }
    assert_eq!(house.json(&["kill", "--all", "--owner", "one"])["killed"], serde_json::json!([]));
    assert_eq!(house.json(&["kill", &persistent, "--owner", "one"])["result"], "killed", "by name it is ended");
}

#[test]
fn events_go_to_their_owner_and_to_nobody_else() {
    let house = Hosted::new();
    let one = house.background(&["--owner", "one", "--notify", "--", "true"]);
    let two = house.background(&["--owner", "two", "--notify", "--", "true"]);
    house.until_ended(&one);
    house.until_ended(&two);
    assert_eq!(house.events(1, &["--owner", "two"])[0]["process"], two);
    assert!(house.take_events(&["--owner", "two"]).is_empty());
    assert!(house.take_events(&[]).is_empty(), "the one at the command line is another owner");
    let told = house.events(1, &["--owner", "one"]);
    assert_eq!((&told[0]["process"], &told[0]["owner"]), (&one.as_str().into(), &"one".into()));
}

#[test]
fn a_wait_takes_the_event_away_and_a_wait_that_is_refused_does_not() {
    let house = Hosted::new();
    let waited = house.background(&["--owner", "one", "--notify", "-c", "exit 3"]);
    let other = house.background(&["--owner", "one", "--notify", "-c", "exit 4"]);
    drop(house.run(&["wait", &waited, "--owner", "one"]).expect(3));
    house.until_ended(&other);
    refused(&house.run(&["wait", &other, "--owner", "two"]));
    refused(&house.run(&["kill", &other, "--owner", "two"]));
    let told = house.events_in_the_end();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!((&told[0]["process"], &told[0]["exit_code"]), (&other.as_str().into(), &4.into()));
}

#[test]
fn reading_a_log_to_its_end_takes_the_event_away_and_listing_does_not() {
    let house = Hosted::new();
    let read = house.background(&["--notify", "-c", "echo one"]);
    let listed = house.background(&["--notify", "-c", "echo two"]);
    house.until_ended(&read);
    house.until_ended(&listed);
    assert_eq!(house.run(&["logs", &read]).expect(0).stdout, "one\n");
    let told = house.events_in_the_end();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!(told[0]["process"], listed);
}
