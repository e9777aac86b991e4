//! Recording, claiming and settling.

use std::collections::BTreeMap;
use std::future::Future as _;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use hermes_model::event::EventKind;
use hermes_model::id::Owner;
use hermes_model::report::PolicyReport;
use hermes_model::status::Status;
use hermes_output::event::Event;

use super::{Place, claims, event, id, names, new, shown, undecided, visible};
use crate::event::{Claim, Delivery, NewEvent, Scope};
use crate::limits::{ATTEMPTS_MAX, LEASE, PENDING_AGE, PENDING_MAX, RETENTION_PAUSE};
use crate::live::handle::Ledger;

const MOMENT: Duration = Duration::from_millis(1);

#[tokio::test]
async fn an_event_comes_back_as_it_was_recorded() {
    let place = Place::new();
    let ledger = place.open("a");
    let recorded = Event {
        pattern: Some(visible("error:")),
        kind: EventKind::Match,
        policy: PolicyReport { generation: 9, warnings: vec!["one".into()], ..PolicyReport::default() },
        ..event("e", &place)
    };
    let seq = ledger.record(NewEvent { event: recorded.clone(), delivery: Delivery::Pending }).await.unwrap();
    let claimed = ledger.claim(Scope::All, 10).await.unwrap().pop().unwrap();
    let back = claimed.event;
    assert_eq!((claimed.claim.seq, claimed.attempts, back.seq), (seq, 1, seq));
    assert_eq!((back.id, back.kind, back.process), (recorded.id, EventKind::Match, Some(id(1))));
    assert_eq!((back.owner, back.at, back.status), (recorded.owner, recorded.at, Some(Status::Exited(3))));
    assert_eq!((shown(&back.command), shown(&back.output)), ("make all".to_owned(), "done\n".to_owned()));
    assert_eq!(back.pattern.as_ref().map(shown), Some("error:".to_owned()));
    assert_eq!((back.output_cut, back.suppressed, back.hidden, back.policy), (true, 4, true, recorded.policy));
}

#[tokio::test]
async fn an_event_about_no_process_comes_back_so() {
    let place = Place::new();
    let ledger = place.open("a");
    let about_nothing = Event { process: None, status: None, kind: EventKind::Server, ..event("e", &place) };
    ledger.record(NewEvent { event: about_nothing, delivery: Delivery::Pending }).await.unwrap();
    let back = ledger.claim(Scope::All, 1).await.unwrap().pop().unwrap().event;
    assert_eq!((back.process, back.status, back.pattern.is_none()), (None, None, true));
}

#[tokio::test]
async fn the_same_id_is_one_event_even_after_its_delivery() {
    let place = Place::new();
    let ledger = place.open("a");
    let first = ledger.record(new("e", &place)).await.unwrap();
    assert_eq!(ledger.record(new("e", &place)).await.unwrap(), first);
    let claimed = ledger.claim(Scope::All, 10).await.unwrap();
    assert_eq!(names(&claimed), ["e"]);
    ledger.acknowledge(&claims(&claimed)).await.unwrap();
    assert_eq!(ledger.record(new("e", &place)).await.unwrap(), first);
    assert_eq!(ledger.pending(Scope::All).await.unwrap(), 0);
}

#[tokio::test]
async fn the_oldest_comes_first_and_owners_get_only_their_own() {
    let place = Place::new();
    let ledger = place.open("a");
    for name in ["e1", "e2", "e3"] {
        let owner = Owner::new(if name == "e2" { "other" } else { "agent" });
        let event = Event { owner, ..event(name, &place) };
        ledger.record(NewEvent { event, delivery: Delivery::Pending }).await.unwrap();
    }
    let agent = Scope::Owner(Owner::new("agent"));
    assert_eq!(ledger.pending(agent.clone()).await.unwrap(), 2);
    assert_eq!(names(&ledger.claim(agent.clone(), 1).await.unwrap()), ["e1"]);
    assert_eq!(names(&ledger.claim(agent.clone(), 5).await.unwrap()), ["e3"]);
    assert_eq!(names(&ledger.claim(Scope::All, 5).await.unwrap()), ["e2"]);
}

#[tokio::test]
async fn an_event_that_is_held_is_not_delivered() {
    let place = Place::new();
    let ledger = place.open("a");
    ledger.record(new("e", &place)).await.unwrap();
    let claimed = claims(&ledger.claim(Scope::All, 1).await.unwrap());
    let reader = Ledger::read(&place.home()).unwrap().unwrap();
    assert!(reader.has_undelivered(&Scope::All).unwrap());
    assert!(!reader.has_undelivered(&Scope::Owner(Owner::new("another"))).unwrap());
    ledger.acknowledge(&claimed).await.unwrap();
    assert!(!reader.has_undelivered(&Scope::All).unwrap());
}

#[tokio::test]
async fn a_claim_holds_for_its_lease_and_is_stale_once_somebody_else_has_the_event() {
    let place = Place::new();
    let ledger = place.open("a");
    ledger.record(new("e", &place)).await.unwrap();
    let first = claims(&ledger.claim(Scope::All, 1).await.unwrap());
    place.clock.pass(LEASE - MOMENT);
    assert!(ledger.claim(Scope::All, 1).await.unwrap().is_empty());
    assert_eq!(ledger.pending(Scope::All).await.unwrap(), 0);
    place.clock.pass(MOMENT);
    assert_eq!(ledger.pending(Scope::All).await.unwrap(), 1);
    let second = ledger.claim(Scope::All, 1).await.unwrap();
    assert_eq!(second[0].attempts, 2);

    let settled = ledger.acknowledge(&first).await.unwrap();
    assert_eq!((settled.done, settled.stale), (vec![], first));
    let second = claims(&second);
    assert_eq!(ledger.acknowledge(&second).await.unwrap().done, second);
    assert_eq!(ledger.acknowledge(&second).await.unwrap().stale, second);
}

#[tokio::test]
async fn who_is_late_but_alone_still_settles() {
    let place = Place::new();
    let ledger = place.open("a");
    ledger.record(new("e", &place)).await.unwrap();
    let late = claims(&ledger.claim(Scope::All, 1).await.unwrap());
    place.clock.pass(LEASE * 2);
    assert_eq!(ledger.acknowledge(&late).await.unwrap().done, late);
    assert_eq!(ledger.pending(Scope::All).await.unwrap(), 0);
}

#[tokio::test]
async fn a_claim_of_nothing_is_stale() {
    let place = Place::new();
    let none = [Claim { seq: 999, token: 1 }, Claim { seq: u64::MAX, token: 0 }];
    assert_eq!(place.open("a").acknowledge(&none).await.unwrap().stale, none);
}

#[tokio::test]
async fn an_event_released_eight_times_is_dropped_and_a_deferred_try_does_not_count() {
    let place = Place::new();
    let ledger = place.open("a");
    ledger.record(new("e", &place)).await.unwrap();
    for _ in 0..3 {
        let held = claims(&ledger.claim(Scope::All, 1).await.unwrap());
        assert_eq!(ledger.defer(&held).await.unwrap().done, held);
    }
    for attempt in 1..=ATTEMPTS_MAX {
        let held = ledger.claim(Scope::All, 1).await.unwrap();
        assert_eq!(held[0].attempts, attempt);
        let settled = ledger.release(&claims(&held)).await.unwrap();
        assert_eq!(settled.dropped.len(), usize::from(attempt == ATTEMPTS_MAX));
        assert_eq!(settled.done.len(), usize::from(attempt < ATTEMPTS_MAX));
    }
    assert!(ledger.claim(Scope::All, 1).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_event_whose_eight_deliverers_vanished_is_dropped() {
    let place = Place::new();
    let ledger = place.open("a");
    ledger.record(new("poison", &place)).await.unwrap();
    for _ in 0..ATTEMPTS_MAX {
        assert_eq!(ledger.claim(Scope::All, 1).await.unwrap().len(), 1);
        place.clock.pass(LEASE);
    }
    ledger.record(new("next", &place)).await.unwrap();
    assert_eq!(names(&ledger.claim(Scope::All, 1).await.unwrap()), ["next"]);
}

#[tokio::test]
async fn a_dropped_event_never_comes_again() {
    let place = Place::new();
    let ledger = place.open("a");
    ledger.record(new("e", &place)).await.unwrap();
    let held = claims(&ledger.claim(Scope::All, 1).await.unwrap());
    assert_eq!(ledger.drop_events(&held).await.unwrap().done, held);
    place.clock.pass(LEASE);
    assert!(ledger.claim(Scope::All, 1).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_undecided_event_waits_for_the_verdict() {
    let place = Place::new();
    let ledger = place.open("a");
    let seq = ledger.record(undecided("e", &place)).await.unwrap();
    assert!(ledger.claim(Scope::All, 1).await.unwrap().is_empty());
    let rewritten = Event { output: visible("rewritten"), ..event("e", &place) };
    assert!(ledger.decided(seq, rewritten.clone(), Delivery::Pending).await.unwrap());
    // It was answered: a second answer comes too late.
    assert!(!ledger.decided(seq, rewritten, Delivery::Muted).await.unwrap());
    let claimed = ledger.claim(Scope::All, 1).await.unwrap();
    assert_eq!(shown(&claimed[0].event.output), "rewritten");
}

#[tokio::test]
async fn without_a_verdict_an_event_is_delivered_as_it_was() {
    let place = Place::new();
    let ledger = place.open("a");
    let seq = ledger.record(undecided("e", &place)).await.unwrap();
    place.clock.pass(LEASE);
    let claimed = ledger.claim(Scope::All, 1).await.unwrap();
    let late = Event { output: visible("late"), ..event("e", &place) };
    assert!(!ledger.decided(seq, late, Delivery::Muted).await.unwrap());
    let held = claims(&claimed);
    ledger.release(&held).await.unwrap();
    let again = ledger.claim(Scope::All, 1).await.unwrap();
    assert_eq!(shown(&again[0].event.output), "done\n");
}

#[tokio::test]
async fn a_verdict_about_another_event_changes_nothing() {
    let place = Place::new();
    let ledger = place.open("a");
    let seq = ledger.record(undecided("e", &place)).await.unwrap();
    assert!(!ledger.decided(seq, event("other", &place), Delivery::Pending).await.unwrap());
    assert!(!ledger.decided(seq + 1, event("e", &place), Delivery::Pending).await.unwrap());
    assert_eq!(ledger.pending(Scope::All).await.unwrap(), 0);
}

#[tokio::test]
async fn muted_and_suppressed_events_wake_nobody() {
    let place = Place::new();
    let ledger = place.open("a");
    let suppressed = Delivery::Suppressed { by: "quiet".into(), reason: visible("nothing new") };
    ledger.record(NewEvent { event: event("e1", &place), delivery: Delivery::Muted }).await.unwrap();
    ledger.record(NewEvent { event: event("e2", &place), delivery: suppressed.clone() }).await.unwrap();
    let seq = ledger.record(undecided("e3", &place)).await.unwrap();
    assert!(ledger.decided(seq, event("e3", &place), suppressed).await.unwrap());
    place.clock.pass(LEASE);
    assert_eq!(ledger.pending(Scope::All).await.unwrap(), 0);
    assert!(ledger.claim(Scope::All, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn what_somebody_saw_is_not_delivered_even_when_it_is_claimed() {
    let place = Place::new();
    let ledger = place.open("a");
    ledger.record(new("claimed", &place)).await.unwrap();
    let held = claims(&ledger.claim(Scope::All, 1).await.unwrap());
    ledger.record(new("pending", &place)).await.unwrap();
    ledger.record(undecided("undecided", &place)).await.unwrap();
    let heartbeat = Event { kind: EventKind::Heartbeat, ..event("heartbeat", &place) };
    ledger.record(NewEvent { event: heartbeat, delivery: Delivery::Pending }).await.unwrap();
    let other = Event { process: Some(id(2)), ..event("other", &place) };
    ledger.record(NewEvent { event: other, delivery: Delivery::Pending }).await.unwrap();

    assert_eq!(ledger.consume(id(1)).await.unwrap(), 3);
    assert_eq!(ledger.consume(id(1)).await.unwrap(), 0);
    assert_eq!(ledger.acknowledge(&held).await.unwrap().stale, held);
    place.clock.pass(LEASE);
    assert_eq!(names(&ledger.claim(Scope::All, 10).await.unwrap()), ["heartbeat", "other"]);
}

#[tokio::test]
async fn a_claim_that_nobody_waited_for_is_given_back_and_was_no_try() {
    let place = Place::new();
    let ledger = place.open("a");
    ledger.record(new("e", &place)).await.unwrap();
    let answered = {
        let mut asked = pin!(ledger.claim(Scope::All, 1));
        // Asked, and the caller leaves.
        asked.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    };
    if let Poll::Ready(claimed) = answered {
        // The answer was quicker than the caller, who settles it then like everybody.
        ledger.defer(&claims(&claimed.unwrap())).await.unwrap();
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut claimed = Vec::new();
    while claimed.is_empty() && Instant::now() < deadline {
        claimed = ledger.claim(Scope::All, 1).await.unwrap();
    }
    // The clock of the ledger stands: no lease has run out.
    assert_eq!((names(&claimed), claimed[0].attempts), (vec!["e"], 1));
}

#[test]
fn eight_threads_of_two_hosts_get_each_event_exactly_once() {
    const EVENTS: usize = 200;
    let place = Place::new();
    let ledgers = [place.open("a"), place.open("b")];
    let run = || tokio::runtime::Builder::new_current_thread().build().unwrap();
    run().block_on(async {
        for number in 0..EVENTS {
            ledgers[number % 2].record(new(&format!("e{number}"), &place)).await.unwrap();
        }
    });
    let seen: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (ledger, seen) = (ledgers[thread % 2].clone(), Arc::clone(&seen));
            scope.spawn(move || {
                run().block_on(async {
                    loop {
                        let claimed = ledger.claim(Scope::All, 3).await.unwrap();
                        if claimed.is_empty() {
                            return;
                        }
                        let settled = ledger.acknowledge(&claims(&claimed)).await.unwrap();
                        assert_eq!(settled.done.len(), claimed.len());
                        for claimed in claimed {
                            *seen.lock().unwrap().entry(claimed.event.id).or_default() += 1;
                        }
                    }
                });
            });
        }
    });
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), EVENTS);
    assert!(seen.values().all(|&times| times == 1), "{seen:?}");
}

#[tokio::test]
async fn many_that_record_at_once_all_get_their_own_number() {
    let place = Place::new();
    let ledger = place.open("a");
    let mut asked = tokio::task::JoinSet::new();
    for number in 0..500 {
        let (ledger, event) = (ledger.clone(), new(&format!("e{number}"), &place));
        asked.spawn(async move { ledger.record(event).await.unwrap() });
    }
    let mut numbers = asked.join_all().await;
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=500).collect::<Vec<u64>>());
}

#[tokio::test]
async fn of_too_many_the_oldest_give_way_and_whoever_is_too_old_too() {
    let place = Place::new();
    let ledger = place.open("a");
    for number in 0..PENDING_MAX + 5 {
        ledger.record(new(&format!("e{number}"), &place)).await.unwrap();
    }
    let held = ledger.claim(Scope::All, 1).await.unwrap();
    assert_eq!(names(&held), ["e0"]);
    place.clock.pass(RETENTION_PAUSE);
    ledger.record(new("last", &place)).await.unwrap();
    assert_eq!(ledger.pending(Scope::All).await.unwrap(), u64::from(PENDING_MAX));
    // What is held is not taken away.
    assert_eq!(ledger.acknowledge(&claims(&held)).await.unwrap().stale, []);
    assert_eq!(names(&ledger.claim(Scope::All, 1).await.unwrap()), ["e6"]);

    place.clock.pass(PENDING_AGE + MOMENT);
    ledger.record(new("young", &place)).await.unwrap();
    assert_eq!(names(&ledger.claim(Scope::All, 10).await.unwrap()), ["young"]);
}

#[tokio::test]
async fn a_damaged_event_does_not_stand_before_the_others() {
    let place = Place::new();
    let ledger = place.open("a");
    for name in ["e1", "e2", "e3"] {
        ledger.record(new(name, &place)).await.unwrap();
    }
    let other = rusqlite::Connection::open(place.file()).unwrap();
    other.execute("UPDATE events SET policy = '{' WHERE id = 'e1'", []).unwrap();
    other.execute("UPDATE events SET kind = 'later' WHERE id = 'e2'", []).unwrap();
    assert_eq!(names(&ledger.claim(Scope::All, 1).await.unwrap()), ["e3"]);
}

#[test]
fn looking_for_open_events_reads_no_others() {
    let place = Place::new();
    let _ledger = place.open("a");
    let connection = rusqlite::Connection::open(place.file()).unwrap();
    let query = format!("EXPLAIN QUERY PLAN SELECT seq FROM events WHERE {}", crate::progress::OPEN);
    let plan: String = connection.query_row(&query, [], |row| row.get("detail")).unwrap();
    assert!(plan.contains("events_open"), "{plan}");
}
