//! What is removed because it is too old or too much. It must never remove what somebody holds.

use std::time::Duration;

use rusqlite::{Connection, Result, params};

use super::convert::duration_millis;
use crate::limits::{AUDIT_AGE, AUDITS_MAX, PENDING_AGE, PENDING_MAX, RECEIPT_AGE, RECEIPTS_MAX, SETTLED_AGE};
use crate::progress::{Millis, OPEN};

/// How many events were dropped that somebody may have wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Removed {
    /// They waited too long.
    pub(crate) too_old: u64,
    /// Too many waited.
    pub(crate) too_many: u64,
    /// They were claimed too often.
    pub(crate) tried_too_often: u64,
    /// They are damaged.
    pub(crate) unreadable: u64,
}

impl Removed {
    /// Counts more.
    pub(crate) fn add(&mut self, more: Self) {
        self.too_old += more.too_old;
        self.too_many += more.too_many;
        self.tried_too_often += more.tried_too_often;
        self.unreadable += more.unreadable;
    }

    /// Says it, if there is something to say.
    pub(crate) fn tell(self) {
        let Self { too_old, too_many, tried_too_often, unreadable } = self;
        if self != Self::default() {
            tracing::warn!(too_old, too_many, tried_too_often, unreadable, "events were dropped that nobody received");
        }
    }
}

/// Removes what is too old or too much at `now`.
pub(super) fn apply(connection: &Connection, now: Millis) -> Result<Removed> {
    let before = |age: Duration| now.saturating_sub(duration_millis(age));
    connection.execute(
        "DELETE FROM receipts WHERE ended_at < ?1
             OR id NOT IN (SELECT id FROM receipts ORDER BY ended_at DESC, rowid DESC LIMIT ?2)",
        params![before(RECEIPT_AGE), RECEIPTS_MAX],
    )?;
    connection.execute(&format!("DELETE FROM events WHERE NOT ({OPEN}) AND changed_at < ?1"), [before(SETTLED_AGE)])?;
    // A lease that ran out is held by nobody.
    let too_old = connection.execute(
        &format!(
            "UPDATE events SET state = 'dropped', until = NULL, changed_at = ?1
             WHERE {OPEN} AND (state = 'pending' OR until <= ?1) AND recorded_at < ?2"
        ),
        params![now, before(PENDING_AGE)],
    )?;
    let too_many = connection.execute(
        &format!(
            "UPDATE events SET state = 'dropped', until = NULL, changed_at = ?1
             WHERE seq IN (SELECT seq FROM events WHERE {OPEN} AND (state = 'pending' OR until <= ?1)
                 ORDER BY seq DESC LIMIT -1 OFFSET ?2)"
        ),
        params![now, PENDING_MAX],
    )?;
    connection.execute(
        "DELETE FROM hosts WHERE ended_at < ?1
             AND NOT EXISTS (SELECT 1 FROM running WHERE marker IN (running.host, running.born))",
        [before(SETTLED_AGE)],
    )?;
    connection.execute(
        "DELETE FROM audits WHERE last_at < ?1 OR (source, surface, generation) NOT IN
             (SELECT source, surface, generation FROM audits ORDER BY last_at DESC LIMIT ?2)",
        params![before(AUDIT_AGE), AUDITS_MAX],
    )?;
    Ok(Removed { too_old: too_old as u64, too_many: too_many as u64, ..Removed::default() })
}
