//! The file: who may read it, which versions are taken, and disks that refuse.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hermes_home::home::{Home, LocateArgs, LocateError};
use nix::unistd::{Uid, geteuid, setfsuid};
use rusqlite::Connection;

use super::{Place, checkpoint, host, id, new, receipt, visible};
use crate::event::Scope;
use crate::file;
use crate::live::handle::Ledger;
use crate::problem::{LedgerError, OpenError};
use crate::receipt::Receipt;
use crate::store::Store;

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// From here on this thread, and those it starts, get what an ordinary user gets: permissions do not stop root.
fn as_an_ordinary_user() {
    if geteuid().is_root() {
        setfsuid(Uid::from_raw(65534));
    }
}

/// A ledger on a connection with a setting of its own.
fn with_setting(place: &Place, name: &str, value: i64) -> Ledger {
    let connection = file::open(&place.home()).unwrap();
    connection.pragma_update(None, name, value).unwrap();
    let clock = place.clock.clone();
    let store = Store::new(connection, place.file(), host("a"), Box::new(move || clock.now()));
    Ledger::serve(store, place.file()).unwrap()
}

#[tokio::test]
async fn only_the_owner_can_read_the_file_and_its_companions() {
    let place = Place::new();
    place.open("a").record(new("e", &place)).await.unwrap();
    chmod(&place.file(), 0o644);
    let ledger = place.open("b");
    ledger.record(new("f", &place)).await.unwrap();
    assert_eq!(place.names(), ["state.db", "state.db-shm", "state.db-wal", "state.db.lock"]);
    for name in place.names() {
        assert_eq!(mode(&place.root().join(&name)), 0o600, "{name}");
    }
    assert_eq!(mode(&place.root()), 0o700);
}

#[test]
fn a_file_of_a_newer_hermes_is_left_alone_and_both_versions_are_named() {
    let place = Place::new();
    place.home().ensure().unwrap();
    let connection = Connection::open(place.file()).unwrap();
    connection.execute_batch("CREATE TABLE later (x); PRAGMA user_version = 4242;").unwrap();
    drop(connection);
    let bytes = fs::read(place.file()).unwrap();
    for error in [
        Ledger::open(&place.home(), host("a")).map(drop).unwrap_err(),
        Ledger::read(&place.home()).map(drop).unwrap_err(),
    ] {
        let said = error.to_string();
        assert!(matches!(error, OpenError::Newer { found: 4242, known: 2, .. }), "{said}");
        for part in ["version 4242", "knows 2", "update hermes", "state.db"] {
            assert!(said.contains(part), "{said}");
        }
    }
    assert_eq!(fs::read(place.file()).unwrap(), bytes);
}

#[test]
fn something_else_in_its_place_is_named_and_left_alone() {
    let place = Place::new();
    place.home().ensure().unwrap();
    let text = "no database at all, but a text that somebody wrote".repeat(30);
    fs::write(place.file(), &text).unwrap();
    let said = Ledger::open(&place.home(), host("a")).map(drop).unwrap_err().to_string();
    assert!(said.contains("no file of hermes"), "{said}");
    assert_eq!(fs::read_to_string(place.file()).unwrap(), text);

    let elsewhere = place.folder.path().join("elsewhere");
    fs::write(&elsewhere, "").unwrap();
    fs::remove_file(place.file()).unwrap();
    std::os::unix::fs::symlink(&elsewhere, place.file()).unwrap();
    let error = Ledger::open(&place.home(), host("a")).map(drop).unwrap_err();
    assert!(matches!(error, OpenError::NotAFile { .. }), "{error}");
}

#[test]
fn a_profile_that_was_deleted_meanwhile_is_not_brought_back() {
    let place = Place::new();
    let args = LocateArgs { home: Some(place.root()), profile: Some("old".into()) };
    let home = Home::locate(&args).unwrap();
    let tombstones = place.root().join("profiles/.deleted");
    hermes_home::files::create_private_dir(&tombstones).unwrap();
    fs::write(tombstones.join("old"), "").unwrap();
    let error = Ledger::open(&home, host("a")).map(drop).unwrap_err();
    assert!(matches!(error, OpenError::Home(LocateError::DeletedProfile { .. })), "{error}");
    assert!(!home.exists());
}

#[test]
fn a_profile_has_a_ledger_of_its_own() {
    let place = Place::new();
    let home = Home::locate(&LocateArgs { home: Some(place.root()), profile: Some("work".into()) }).unwrap();
    let ledger = Ledger::open(&home, host("a")).unwrap();
    assert_eq!(ledger.path(), place.root().join("profiles/work/state.db"));
    assert!(Ledger::read(&place.home()).unwrap().is_none());
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let place = Place::new();
    let home = place.home();
    home.ensure().unwrap();
    chmod(place.folder.path(), 0o755);
    chmod(&place.root(), 0o555);
    as_an_ordinary_user();
    let said = Ledger::open(&home, host("a")).map(drop).unwrap_err().to_string();
    assert!(said.contains(&place.root().display().to_string()) && said.contains("permissions"), "{said}");
    assert!(place.names().is_empty());
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_still_read() {
    let place = Place::new();
    let home = place.home();
    let ledger = place.open("a");
    ledger.finished(receipt(1, &place), None).await.unwrap();
    // What is in a log needs an index to be read: only a settled file can be.
    let settled = Connection::open(place.file()).unwrap();
    settled.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    chmod(place.folder.path(), 0o755);
    chmod(&place.root(), 0o555);
    chmod(&place.file(), 0o444);
    as_an_ordinary_user();
    let reader = Ledger::read(&home).unwrap().unwrap();
    assert!(reader.receipt(&id(1)).unwrap().is_some());
}

#[tokio::test]
async fn a_full_disk_is_an_error_of_that_verb_and_the_next_one_works() {
    let place = Place::new();
    let ledger = with_setting(&place, "max_page_count", 60);
    // The host is not registered here, and has no process.
    ledger.record(new("before", &place)).await.unwrap();
    let huge = Receipt { output: visible(&"x".repeat(1_000_000)), ..receipt(1, &place) };
    let (failed, small) = tokio::join!(
        ledger.finished(huge, Some(new("of the huge one", &place))),
        ledger.finished(receipt(2, &place), Some(new("after", &place))),
    );
    let error = failed.unwrap_err();
    assert_eq!(error, LedgerError::Full { path: place.file() });
    let said = error.to_string();
    assert!(said.contains("state.db") && said.contains("free some space"), "{said}");
    assert!(small.unwrap().is_some());
    assert!(ledger.receipt(id(1)).await.unwrap().is_none());
    let claimed = ledger.claim(Scope::All, 5).await.unwrap();
    assert_eq!(super::names(&claimed), ["before", "after"]);
}

#[tokio::test]
async fn a_file_that_became_read_only_is_an_error_that_says_so_and_reading_goes_on() {
    let place = Place::new();
    place.open("a").finished(receipt(1, &place), None).await.unwrap();
    let ledger = with_setting(&place, "query_only", 1);
    let error = ledger.record(new("e", &place)).await.unwrap_err();
    assert_eq!(error, LedgerError::ReadOnly { path: place.file() });
    assert!(error.to_string().contains("read-only"), "{error}");
    assert!(ledger.receipt(id(1)).await.unwrap().is_some());
    assert_eq!(ledger.pending(Scope::All).await.unwrap(), 0);
}

#[tokio::test]
async fn a_process_that_does_not_let_go_of_the_file_is_named_as_the_reason() {
    let place = Place::new();
    let ledger = with_setting(&place, "busy_timeout", 1);
    let other = Connection::open(place.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = ledger.record(new("e", &place)).await.unwrap_err();
    assert_eq!(error, LedgerError::Busy { path: place.file() });
    // Who reads does not wait for who writes.
    assert_eq!(ledger.pending(Scope::All).await.unwrap(), 0);
    other.execute_batch("ROLLBACK").unwrap();
    ledger.record(new("e", &place)).await.unwrap();
}

#[tokio::test]
async fn a_process_of_an_unknown_host_is_refused_without_quoting_it() {
    let place = Place::new();
    let ledger = with_setting(&place, "foreign_keys", 1);
    let said = ledger.started(checkpoint(1, &place)).await.unwrap_err().to_string();
    assert!(said.contains("state.db") && !said.contains("make all"), "{said}");
}
