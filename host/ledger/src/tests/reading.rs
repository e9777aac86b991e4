//! Reading without a host: it finds what is there, and leaves no trace.

use std::fs;

use super::{Place, checkpoint, event, id, new, receipt, shown};
use crate::event::{Delivery, NewEvent, Scope};
use crate::live::handle::Ledger;
use crate::problem::OpenError;

/// Waits until the thread of a dropped ledger has closed its file.
fn closed(place: &Place) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while place.names().contains(&"state.db-wal".to_owned()) {
        assert!(std::time::Instant::now() < deadline, "the file was not closed");
        std::thread::yield_now();
    }
}

#[test]
fn a_fresh_home_has_no_ledger_and_reading_creates_none() {
    let place = Place::new();
    assert!(Ledger::read(&place.home()).unwrap().is_none());
    assert!(!place.root().exists());
    place.home().ensure().unwrap();
    assert!(Ledger::read(&place.home()).unwrap().is_none());
    assert!(place.names().is_empty());
}

#[test]
fn a_file_that_nothing_was_written_to_is_no_ledger() {
    let place = Place::new();
    place.home().ensure().unwrap();
    fs::write(place.file(), "").unwrap();
    assert!(Ledger::read(&place.home()).unwrap().is_none());
    assert_eq!(place.names(), ["state.db"]);
}

#[tokio::test]
async fn what_a_host_left_is_read_without_a_trace() {
    let place = Place::new();
    let ledger = place.open("a");
    ledger.started(checkpoint(1, &place)).await.unwrap();
    ledger.finished(receipt(2, &place), Some(new("e", &place))).await.unwrap();
    ledger.record(NewEvent { event: event("muted", &place), delivery: Delivery::Muted }).await.unwrap();
    drop(ledger);
    closed(&place);

    let (names, looked) = (place.names(), place.file().metadata().unwrap());
    let reader = Ledger::read(&place.home()).unwrap().unwrap();
    assert_eq!(reader.running(&Scope::All).unwrap()[0].id, id(1));
    assert_eq!(shown(&reader.receipt(&id(2)).unwrap().unwrap().output), "all\ndone\n");
    assert!(reader.receipt(&id(3)).unwrap().is_none());
    assert_eq!(reader.receipts(&Scope::All, 5).unwrap().len(), 1);
    assert_eq!(reader.ids_with_prefix("proc_").unwrap(), [id(1), id(2)]);
    let pending = reader.pending(&Scope::All, 5).unwrap();
    assert_eq!(pending.iter().map(|event| event.id.as_str()).collect::<Vec<_>>(), ["e"]);
    assert!(reader.audits(5).unwrap().is_empty());
    assert_eq!(place.names(), names);
    let after = place.file().metadata().unwrap();
    assert_eq!((after.len(), after.modified().unwrap()), (looked.len(), looked.modified().unwrap()));
}

#[tokio::test]
async fn what_a_running_host_writes_is_seen_by_the_next_look() {
    let place = Place::new();
    let ledger = place.open("a");
    let reader = Ledger::read(&place.home()).unwrap().unwrap();
    for number in 1..=3 {
        ledger.finished(receipt(number, &place), None).await.unwrap();
        assert!(reader.receipt(&id(number)).unwrap().is_some());
    }
    drop(ledger);
    closed(&place);
    assert_eq!(reader.receipts(&Scope::All, 10).unwrap().len(), 3);
}

#[tokio::test]
async fn what_a_killed_host_left_in_the_log_is_read() {
    let place = Place::new();
    let ledger = place.open("a");
    ledger.finished(receipt(1, &place), None).await.unwrap();
    let after = place.killed();
    let log = after.root().join("state.db-wal");
    let (file_before, log_before) = (fs::read(after.file()).unwrap(), fs::read(&log).unwrap());
    let reader = Ledger::read(&after.home()).unwrap().unwrap();
    assert!(reader.receipt(&id(1)).unwrap().is_some());
    assert_eq!((fs::read(after.file()).unwrap(), fs::read(&log).unwrap()), (file_before, log_before));
}

#[tokio::test]
async fn a_path_with_every_sign_in_it_is_read() {
    let mut place = Place::new();
    let odd = place.folder.path().join("a?b#c%20d");
    fs::create_dir(&odd).unwrap();
    place.folder = tempfile::tempdir_in(odd).unwrap();
    let ledger = place.open("a");
    ledger.finished(receipt(1, &place), None).await.unwrap();
    drop(ledger);
    closed(&place);
    let reader = Ledger::read(&place.home()).unwrap().unwrap();
    assert!(reader.receipt(&id(1)).unwrap().is_some());
}

#[test]
fn a_file_that_is_replaced_by_something_else_is_named() {
    let place = Place::new();
    place.home().ensure().unwrap();
    fs::write(place.file(), "this is no database, and never was one, whatever its name says".repeat(20)).unwrap();
    let said = Ledger::read(&place.home()).unwrap_err().to_string();
    assert!(said.contains("state.db' is damaged") && said.contains("move it away"), "{said}");
    fs::remove_file(place.file()).unwrap();
    fs::create_dir(place.file()).unwrap();
    assert!(matches!(Ledger::read(&place.home()), Err(OpenError::NotAFile { .. })));
}

#[tokio::test]
async fn one_damaged_row_does_not_hide_the_others() {
    let place = Place::new();
    let ledger = place.open("a");
    for number in 1..=2 {
        ledger.finished(receipt(number, &place), None).await.unwrap();
        ledger.started(checkpoint(number + 2, &place)).await.unwrap();
    }
    let other = rusqlite::Connection::open(place.file()).unwrap();
    other.execute("UPDATE receipts SET status = 'gone' WHERE id = ?1", [id(1).as_str()]).unwrap();
    other.execute("UPDATE running SET started_at = -5 WHERE id = ?1", [id(3).as_str()]).unwrap();
    assert_eq!(ledger.receipts(Scope::All, 5).await.unwrap().len(), 1);
    assert_eq!(ledger.running(Scope::All).await.unwrap().len(), 1);
    let said = ledger.receipt(id(1)).await.unwrap_err().to_string();
    assert!(said.contains("is damaged") && !said.contains("gone"), "{said}");
}
