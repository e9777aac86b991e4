//! Checkpoints, receipts, their retention, and counters.

use std::collections::BTreeMap;
use std::time::Duration;

use hermes_model::context::Surface;
use hermes_model::id::Owner;
use hermes_model::status::Status;

use super::{Place, checkpoint, host, id, names, new, receipt, shown, visible};
use crate::audit::AuditEntry;
use crate::event::Scope;
use crate::limits::{AUDIT_AGE, RECEIPT_AGE, RECEIPTS_MAX, RETENTION_PAUSE};
use crate::receipt::Receipt;

#[tokio::test]
async fn a_checkpoint_comes_back_with_the_host_it_was_born_under() {
    let place = Place::new();
    let ledger = place.open("a");
    let written = checkpoint(1, &place);
    ledger.started(written.clone()).await.unwrap();
    let back = ledger.running(Scope::All).await.unwrap().pop().unwrap();
    assert_eq!((back.id, back.owner, back.leader), (written.id, written.owner, written.leader));
    assert_eq!((shown(&back.command), shown(&back.cwd)), ("make all".into(), "/src".into()));
    assert_eq!((back.pty, back.persist, back.notify), (true, false, true));
    assert_eq!((back.completion_bytes, back.heartbeat), (2000, Some(Duration::from_secs(60))));
    assert_eq!(back.watch.iter().map(shown).collect::<Vec<_>>(), ["error:", "\"done\""]);
    assert_eq!((back.started_at, back.scope_unit), (written.started_at, written.scope_unit));
    assert_eq!(back.host, host("a"));
    assert_eq!(ledger.running(Scope::Owner(Owner::new("nobody"))).await.unwrap().len(), 0);
}

#[tokio::test]
async fn a_finished_process_is_a_receipt_with_its_event_and_runs_no_more() {
    let place = Place::new();
    let ledger = place.open("a");
    ledger.started(checkpoint(1, &place)).await.unwrap();
    let written = receipt(1, &place);
    let seq = ledger.finished(written.clone(), Some(new("e", &place))).await.unwrap();
    assert!(ledger.running(Scope::All).await.unwrap().is_empty());
    let back = ledger.receipt(id(1)).await.unwrap().unwrap();
    assert_eq!((back.id, back.owner, back.status), (written.id, written.owner, Status::Exited(3)));
    assert_eq!(
        (back.started_at, back.ended_at, back.duration),
        (written.started_at, written.ended_at, written.duration)
    );
    assert_eq!((shown(&back.command), shown(&back.cwd)), ("make all".into(), "/src".into()));
    assert_eq!((shown(&back.output), back.output_bytes, back.output_cut), ("all\ndone\n".into(), 9, false));
    assert_eq!(back.policy, written.policy);
    let claimed = ledger.claim(Scope::All, 5).await.unwrap();
    assert_eq!((names(&claimed), Some(claimed[0].claim.seq)), (vec!["e"], seq));
}

#[tokio::test]
async fn a_second_end_changes_nothing_and_is_no_event() {
    let place = Place::new();
    let ledger = place.open("a");
    assert_eq!(ledger.finished(receipt(1, &place), None).await.unwrap(), None);
    let other = Receipt { status: Status::Exited(0), ..receipt(1, &place) };
    assert_eq!(ledger.finished(other, Some(new("e", &place))).await.unwrap(), None);
    assert_eq!(ledger.receipt(id(1)).await.unwrap().unwrap().status, Status::Exited(3));
    assert_eq!(ledger.pending(Scope::All).await.unwrap(), 0);
}

#[tokio::test]
async fn a_start_that_its_end_overtook_does_not_run() {
    let place = Place::new();
    let ledger = place.open("a");
    ledger.finished(receipt(1, &place), None).await.unwrap();
    ledger.started(checkpoint(1, &place)).await.unwrap();
    assert!(ledger.running(Scope::All).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_kill_that_raced_the_exit_rewrites_the_receipt() {
    let place = Place::new();
    let ledger = place.open("a");
    ledger.finished(receipt(1, &place), None).await.unwrap();
    assert!(ledger.amend(id(1), Status::Stopped("kill".into())).await.unwrap());
    assert!(!ledger.amend(id(2), Status::TimedOut).await.unwrap());
    assert_eq!(ledger.receipt(id(1)).await.unwrap().unwrap().status, Status::Stopped("kill".into()));
}

#[tokio::test]
async fn a_text_larger_than_a_capture_keeps_comes_back_whole() {
    let place = Place::new();
    let ledger = place.open("a");
    let long = "word ".repeat(100_000);
    ledger.finished(Receipt { output: visible(&long), ..receipt(1, &place) }, None).await.unwrap();
    let back = ledger.receipt(id(1)).await.unwrap().unwrap().output;
    assert_eq!((back.seen(), back.dropped()), (500_000, 0));
}

#[tokio::test]
async fn receipts_are_newest_first_and_of_their_owner() {
    let place = Place::new();
    let ledger = place.open("a");
    for number in 1..=4 {
        let owner = Owner::new(if number == 2 { "other" } else { "agent" });
        ledger.finished(Receipt { owner, ..receipt(number, &place) }, None).await.unwrap();
        place.clock.pass(Duration::from_millis(1));
    }
    let ids = |found: Vec<crate::receipt::StoredReceipt>| found.into_iter().map(|found| found.id).collect::<Vec<_>>();
    assert_eq!(ids(ledger.receipts(Scope::All, 3).await.unwrap()), [id(4), id(3), id(2)]);
    let agent = Scope::Owner(Owner::new("agent"));
    assert_eq!(ids(ledger.receipts(agent, 10).await.unwrap()), [id(4), id(3), id(1)]);
}

#[tokio::test]
async fn the_beginning_of_an_id_finds_what_runs_and_what_ended() {
    let place = Place::new();
    let ledger = place.open("a");
    ledger.started(checkpoint(0x12, &place)).await.unwrap();
    ledger.finished(receipt(0x13, &place), None).await.unwrap();
    ledger.finished(receipt(0x21, &place), None).await.unwrap();
    assert_eq!(ledger.ids_with_prefix("proc_00000000ab1").await.unwrap(), [id(0x12), id(0x13)]);
    assert_eq!(ledger.ids_with_prefix("").await.unwrap().len(), 3);
    assert_eq!(ledger.ids_with_prefix("proc_%").await.unwrap(), []);
    assert_eq!(ledger.ids_with_prefix("proc_00000000ab13x").await.unwrap(), []);
}

#[tokio::test]
async fn of_many_receipts_the_newest_stay_and_of_old_ones_none() {
    let place = Place::new();
    let ledger = place.open("a");
    let last = u8::try_from(RECEIPTS_MAX).unwrap() + 6;
    for number in 0..last {
        ledger.finished(receipt(number, &place), None).await.unwrap();
        place.clock.pass(Duration::from_millis(1));
    }
    place.clock.pass(RETENTION_PAUSE);
    ledger.finished(receipt(last, &place), None).await.unwrap();
    let kept = ledger.receipts(Scope::All, 1000).await.unwrap();
    assert_eq!(kept.len(), usize::try_from(RECEIPTS_MAX).unwrap());
    assert_eq!((&kept[0].id, &kept[kept.len() - 1].id), (&id(last), &id(7)));

    place.clock.pass(RECEIPT_AGE + Duration::from_millis(1));
    drop(ledger);
    assert_eq!(place.open("b").receipts(Scope::All, 1000).await.unwrap().len(), 0);
}

#[tokio::test]
async fn counters_grow_by_source_surface_and_generation() {
    let place = Place::new();
    let ledger = place.open("a");
    let entry = |generation, rule: &str| AuditEntry {
        source: "proc_1".into(),
        surface: Surface::McpResult,
        generation,
        texts: 1,
        bytes: 100,
        redactions: BTreeMap::from([(rule.to_owned(), 2)]),
        withheld: BTreeMap::from([("timeout".to_owned(), 50)]),
        redactor_digests: [format!("sha256:{rule}")].into(),
    };
    for (generation, rule) in [(1, "token"), (1, "token"), (1, "key"), (2, "key")] {
        ledger.audit(entry(generation, rule)).await.unwrap();
        place.clock.pass(Duration::from_secs(1));
    }
    let audits = ledger.audits(10).await.unwrap();
    assert_eq!(audits.iter().map(|audit| (audit.generation, audit.texts)).collect::<Vec<_>>(), [(2, 1), (1, 3)]);
    let first = &audits[1];
    assert_eq!((first.source.as_str(), first.surface.as_str(), first.bytes), ("proc_1", "mcp-result", 300));
    assert_eq!(first.redactions, BTreeMap::from([("key".to_owned(), 2), ("token".to_owned(), 4)]));
    assert_eq!(first.withheld, BTreeMap::from([("timeout".to_owned(), 150)]));
    assert_eq!(first.redactor_digests.len(), 2);
    assert_eq!(first.last_at.duration_since(first.first_at).unwrap(), Duration::from_secs(2));
    assert_eq!(ledger.audits(1).await.unwrap().len(), 1);

    place.clock.pass(AUDIT_AGE);
    drop(ledger);
    assert_eq!(place.open("b").audits(10).await.unwrap().len(), 0);
}
