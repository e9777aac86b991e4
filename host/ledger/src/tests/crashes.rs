//! Hosts that die, and hosts that share a home.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{Place, checkpoint, claims, host, id, names, new, receipt, undecided};
use crate::checkpoint::{Checkpoint, StoredCheckpoint};
use crate::event::Scope;
use crate::limits::{ATTEMPTS_MAX, LEASE, SETTLED_AGE};

#[tokio::test]
async fn what_was_answered_is_there_after_a_kill() {
    let place = Place::new();
    let ledger = place.open("a");
    ledger.started(checkpoint(1, &place)).await.unwrap();
    ledger.started(checkpoint(2, &place)).await.unwrap();
    ledger.finished(receipt(1, &place), Some(new("e", &place))).await.unwrap();

    let after = place.killed();
    let next = after.open("b");
    assert!(next.receipt(id(1)).await.unwrap().is_some());
    assert_eq!(names(&next.claim(Scope::All, 5).await.unwrap()), ["e"]);
    let taken = next.abandoned(|host| host.marker != "a").await.unwrap();
    assert_eq!(taken.iter().map(|taken| &taken.id).collect::<Vec<_>>(), [&id(2)]);
}

#[tokio::test]
async fn a_host_that_lives_keeps_its_processes_and_claims() {
    let place = Place::new();
    let (a, b) = (place.open("a"), place.open("b"));
    a.started(checkpoint(1, &place)).await.unwrap();
    a.record(new("e", &place)).await.unwrap();
    a.claim(Scope::All, 1).await.unwrap();
    assert!(b.abandoned(|_| true).await.unwrap().is_empty());
    assert!(b.claim(Scope::All, 1).await.unwrap().is_empty());
    // A host never takes over from itself, whatever is said of it.
    assert!(a.abandoned(|host| host.marker == "b").await.unwrap().is_empty());
}

#[tokio::test]
async fn what_persists_can_be_left_for_another_host() {
    let place = Place::new();
    let a = place.open("a");
    a.started(checkpoint(1, &place)).await.unwrap();
    a.started(Checkpoint { persist: true, ..checkpoint(2, &place) }).await.unwrap();
    let (b, c) = (place.open("b"), place.open("c"));
    let ids = |taken: Vec<StoredCheckpoint>| taken.into_iter().map(|taken| taken.id).collect::<Vec<_>>();
    assert_eq!(ids(b.abandoned_but_persistent(|host| host.marker != "a").await.unwrap()), [id(1)]);
    assert!(b.abandoned_but_persistent(|host| host.marker != "a").await.unwrap().is_empty());
    // The host is known to be over, and nobody is asked again.
    assert_eq!(ids(c.abandoned(|_| true).await.unwrap()), [id(2)]);
}

#[tokio::test]
async fn a_process_keeps_the_host_it_was_born_under_however_often_it_is_taken_over() {
    let place = Place::new();
    place.open("a").started(checkpoint(1, &place)).await.unwrap();
    let b = place.open("b");
    assert_eq!(b.abandoned(|_| false).await.unwrap()[0].host, host("a"));
    // What was taken over may be written again.
    b.started(checkpoint(1, &place)).await.unwrap();
    assert!(b.abandoned(|_| false).await.unwrap().is_empty());

    place.clock.pass(SETTLED_AGE * 2);
    let c = place.open("c");
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let taken = c
        .abandoned(move |host| {
            seen.lock().unwrap().push(host.marker.clone());
            false
        })
        .await
        .unwrap();
    assert_eq!((taken.len(), &taken[0].host), (1, &host("a")));
    // The first was seen dead already.
    assert_eq!(*asked.lock().unwrap(), ["b"]);
}

#[tokio::test]
async fn a_host_that_ended_in_order_is_not_asked_about_and_leaves_its_persistent_processes() {
    let place = Place::new();
    let a = place.open("a");
    a.started(checkpoint(1, &place)).await.unwrap();
    a.ended().await.unwrap();
    let taken = place.open("b").abandoned(|host| panic!("asked about {}", host.marker)).await.unwrap();
    assert_eq!(taken.len(), 1);
}

#[tokio::test]
async fn the_claims_of_a_dead_host_are_free_at_once_and_were_tries() {
    let place = Place::new();
    let a = place.open("a");
    a.record(new("e", &place)).await.unwrap();
    let held = claims(&a.claim(Scope::All, 1).await.unwrap());
    let b = place.open("b");
    b.abandoned(|_| false).await.unwrap();
    let again = b.claim(Scope::All, 1).await.unwrap();
    assert_eq!(again[0].attempts, 2);
    // It was not dead after all: its claim is stale.
    assert_eq!(a.acknowledge(&held).await.unwrap().stale, held);
}

#[tokio::test]
async fn an_event_that_kills_eight_hosts_is_dropped() {
    let place = Place::new();
    place.open("first").record(new("e", &place)).await.unwrap();
    for number in 0..=ATTEMPTS_MAX {
        let ledger = place.open(&format!("h{number}"));
        ledger.abandoned(|_| false).await.unwrap();
        let expected = usize::from(number < ATTEMPTS_MAX);
        assert_eq!(ledger.claim(Scope::All, 1).await.unwrap().len(), expected, "try {number}");
    }
}

#[tokio::test]
async fn a_host_that_dies_while_it_asks_notifiers_loses_no_event() {
    let place = Place::new();
    let a = place.open("a");
    a.finished(receipt(1, &place), Some(undecided("e", &place))).await.unwrap();
    let looked = place.killed();
    let ledger = looked.open("b");
    ledger.abandoned(|_| false).await.unwrap();
    assert_eq!(names(&ledger.claim(Scope::All, 1).await.unwrap()), ["e"]);

    let waited = place.killed();
    let ledger = waited.open("b");
    assert!(ledger.claim(Scope::All, 1).await.unwrap().is_empty());
    waited.clock.pass(LEASE);
    assert_eq!(names(&ledger.claim(Scope::All, 1).await.unwrap()), ["e"]);
}

#[test]
fn of_two_hosts_that_look_at_once_one_gets_each_process() {
    let place = Place::new();
    let run = || tokio::runtime::Builder::new_current_thread().build().unwrap();
    run().block_on(async {
        for number in 0..20 {
            let dead = place.open(&format!("dead{number}"));
            dead.started(checkpoint(number, &place)).await.unwrap();
        }
    });
    let hosts = [place.open("x"), place.open("y")];
    let taken: Vec<_> = std::thread::scope(|scope| {
        let looking: Vec<_> = hosts
            .iter()
            .map(|ledger| {
                scope.spawn(move || run().block_on(ledger.abandoned(|host| !host.marker.starts_with("dead"))).unwrap())
            })
            .collect();
        looking.into_iter().flat_map(|thread| thread.join().unwrap()).map(|taken| taken.id).collect()
    });
    assert_eq!((taken.len(), taken.iter().collect::<BTreeSet<_>>().len()), (20, 20));
}

#[test]
fn hosts_that_open_a_fresh_home_at_once_all_succeed() {
    let place = Place::new();
    std::thread::scope(|scope| {
        let opening: Vec<_> = (0..8)
            .map(|number| {
                let place = &place;
                scope.spawn(move || place.open(&format!("h{number}")))
            })
            .collect();
        for thread in opening {
            thread.join().unwrap();
        }
    });
}

#[tokio::test]
async fn a_host_that_comes_back_under_its_marker_is_alive_again() {
    let place = Place::new();
    let a = place.open("a");
    a.ended().await.unwrap();
    drop(a);
    let a = place.open("a");
    a.started(checkpoint(1, &place)).await.unwrap();
    let b = place.open("b");
    assert!(b.abandoned(|_| true).await.unwrap().is_empty());
    place.clock.pass(Duration::from_secs(1));
    assert_eq!(b.abandoned(|_| false).await.unwrap().len(), 1);
}
