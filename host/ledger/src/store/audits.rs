//! Counters of what the policy did. Adding to them is all that is ever done.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension as _, Result, Row, params};

use super::convert::{self, count, json, number, rows, time, to_json};
use crate::audit::{Audit, AuditEntry};
use crate::progress::Millis;

type Counts = BTreeMap<String, u64>;

/// Adds to the counters of a source.
pub(super) fn add(connection: &Connection, entry: &AuditEntry, now: Millis) -> Result<()> {
    let AuditEntry { source, surface, generation, .. } = entry;
    let key = params![source, surface.name(), number(*generation)];
    let before = connection
        .prepare_cached("SELECT * FROM audits WHERE source = ?1 AND surface = ?2 AND generation = ?3")?
        .query_row(key, |row| {
            let digests: BTreeSet<String> = json(row, "redactor_digests")?;
            Ok((json::<Counts>(row, "redactions")?, json::<Counts>(row, "withheld")?, digests))
        })
        .optional()?;
    let (mut redactions, mut withheld, mut digests) = before.unwrap_or_default();
    grow(&mut redactions, &entry.redactions);
    grow(&mut withheld, &entry.withheld);
    digests.extend(entry.redactor_digests.iter().cloned());
    connection
        .prepare_cached(
            "INSERT INTO audits (source, surface, generation, texts, bytes, redactions, withheld, redactor_digests,
                 first_at, last_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9)
             ON CONFLICT (source, surface, generation) DO UPDATE SET texts = texts + ?4, bytes = bytes + ?5,
                 redactions = ?6, withheld = ?7, redactor_digests = ?8, last_at = max(last_at, ?9)",
        )?
        .execute(params![
            source,
            surface.name(),
            number(*generation),
            number(entry.texts),
            number(entry.bytes),
            to_json(&redactions)?,
            to_json(&withheld)?,
            to_json(&digests)?,
            now,
        ])?;
    Ok(())
}

fn grow(counts: &mut Counts, by: &Counts) {
    for (name, more) in by {
        let count = counts.entry(name.clone()).or_default();
        *count = count.saturating_add(*more);
    }
}

/// The counters that changed last.
pub(crate) fn list(connection: &Connection, limit: usize) -> Result<Vec<Audit>> {
    let mut statement = connection
        .prepare_cached("SELECT * FROM audits ORDER BY last_at DESC, source, surface, generation DESC LIMIT ?1")?;
    rows(&mut statement, [convert::limit(limit)], read)
}

fn read(row: &Row<'_>) -> Result<Audit> {
    Ok(Audit {
        source: row.get("source")?,
        surface: row.get("surface")?,
        generation: count(row, "generation")?,
        texts: count(row, "texts")?,
        bytes: count(row, "bytes")?,
        redactions: json(row, "redactions")?,
        withheld: json(row, "withheld")?,
        redactor_digests: json(row, "redactor_digests")?,
        first_at: time(row, "first_at")?,
        last_at: time(row, "last_at")?,
    })
}
