//! The tables, and how an older file becomes a newer one. A migration that was released must never change.
//!
//! Times are milliseconds since 1970. Texts of processes are there only as they were revealed.

use rusqlite_migration::{M, Migrations};

/// Each moves a file one version forward; there is no way back.
const STEPS: &[M<'static>] = &[
    M::up(
        "CREATE TABLE hosts (
        marker TEXT PRIMARY KEY,
        boot_id TEXT NOT NULL,
        pid_namespace INTEGER NOT NULL,
        pid INTEGER NOT NULL,
        start_ticks INTEGER NOT NULL,
        opened_at INTEGER NOT NULL,
        ended_at INTEGER
    ) STRICT;

    CREATE TABLE running (
        id TEXT PRIMARY KEY,
        host TEXT NOT NULL REFERENCES hosts (marker),
        born TEXT NOT NULL REFERENCES hosts (marker),
        owner TEXT NOT NULL,
        command TEXT NOT NULL,
        cwd TEXT NOT NULL,
        pid INTEGER NOT NULL,
        start_ticks INTEGER NOT NULL,
        pty INTEGER NOT NULL,
        persist INTEGER NOT NULL,
        notify INTEGER NOT NULL,
        completion_bytes INTEGER NOT NULL,
        heartbeat INTEGER,
        watch TEXT NOT NULL,
        started_at INTEGER NOT NULL,
        scope_unit TEXT
    ) STRICT;

    CREATE TABLE receipts (
        id TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        command TEXT NOT NULL,
        cwd TEXT NOT NULL,
        started_at INTEGER NOT NULL,
        ended_at INTEGER NOT NULL,
        status TEXT NOT NULL,
        output TEXT NOT NULL,
        output_bytes INTEGER NOT NULL,
        output_cut INTEGER NOT NULL,
        duration INTEGER NOT NULL,
        policy TEXT NOT NULL
    ) STRICT;

    CREATE TABLE events (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        process TEXT,
        owner TEXT NOT NULL,
        command TEXT NOT NULL,
        at INTEGER NOT NULL,
        status TEXT,
        output TEXT NOT NULL,
        output_cut INTEGER NOT NULL,
        pattern TEXT,
        suppressed INTEGER NOT NULL,
        hidden INTEGER NOT NULL,
        policy TEXT NOT NULL,
        recorded_at INTEGER NOT NULL,
        state TEXT NOT NULL,
        until INTEGER,
        changed_at INTEGER NOT NULL,
        attempts INTEGER NOT NULL,
        token INTEGER NOT NULL,
        holder TEXT NOT NULL,
        decided_by TEXT,
        reason TEXT
    ) STRICT;
    CREATE INDEX events_open ON events (seq) WHERE state IN ('undecided', 'pending', 'claimed');
    CREATE INDEX events_of_a_process ON events (process) WHERE process IS NOT NULL;

    CREATE TABLE audits (
        source TEXT NOT NULL,
        surface TEXT NOT NULL,
        generation INTEGER NOT NULL,
        texts INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        redactions TEXT NOT NULL,
        withheld TEXT NOT NULL,
        redactor_digests TEXT NOT NULL,
        first_at INTEGER NOT NULL,
        last_at INTEGER NOT NULL,
        PRIMARY KEY (source, surface, generation)
    ) STRICT, WITHOUT ROWID;",
    ),
    M::up(
        "CREATE TABLE plugin_values (
        plugin TEXT NOT NULL,
        key TEXT NOT NULL,
        value BLOB NOT NULL,
        changed_at INTEGER NOT NULL,
        PRIMARY KEY (plugin, key)
    ) STRICT, WITHOUT ROWID;",
    ),
];

/// All steps, from an empty file to the latest version.
pub(crate) const MIGRATIONS: Migrations<'static> = Migrations::from_slice(STEPS);

/// The version that the last step leads to.
pub(crate) const LATEST: i64 = STEPS.len() as i64;

/// What the version of a file means to this hermes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Age {
    /// Nothing was written yet.
    Empty,
    /// It can be brought forward.
    Older,
    /// It is ours.
    Current,
    /// Only a newer hermes knows it.
    Newer,
}

/// Compares the version of a file with the latest known.
pub(crate) fn age(found: i64, known: i64) -> Age {
    match found {
        0 => Age::Empty,
        _ if found > known => Age::Newer,
        _ if found < known => Age::Older,
        _ => Age::Current,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_are_valid_and_lead_to_the_latest_version() {
        MIGRATIONS.validate().unwrap();
        let mut connection = rusqlite::Connection::open_in_memory().unwrap();
        MIGRATIONS.to_latest(&mut connection).unwrap();
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(version, LATEST);
    }

    #[test]
    fn a_version_is_older_current_or_newer_than_what_is_known() {
        assert_eq!([0, 1, 2, 3].map(|found| age(found, 2)), [Age::Empty, Age::Older, Age::Current, Age::Newer]);
    }
}
