//! Events: recorded once, claimed by one, settled by whoever holds the claim. What may follow what is in
//! [`progress`](crate::progress); this reads where an event stands, asks, and writes the answer.

use hermes_model::event::EventKind;
use hermes_model::id::{Owner, ProcessId};
use hermes_output::event::Event;
use rusqlite::{Connection, OptionalExtension as _, Result, Row, params};

use super::convert::{
    self, count, from_json, is_of_a_row, json, millis, number, optional_text, process, rows, text, time,
};
use super::convert::{to_json, word};
use super::retention::Removed;
use crate::event::{Claim, Claimed, Delivery, NewEvent, Scope, Settled, StoredEvent};
use crate::progress::{Millis, OPEN, Progress, State, Verb, lease};

/// Those of open events that anybody could claim at ?2, of the owner ?1.
const FREE: &str = "(?1 IS NULL OR owner = ?1) AND (state = 'pending' OR until <= ?2)";

/// Writes an event down, unless its id was. Says its number.
pub(super) fn record(connection: &Connection, new: &NewEvent, host: &str, now: Millis) -> Result<u64> {
    let NewEvent { event, delivery } = new;
    let known = connection
        .prepare_cached("SELECT seq FROM events WHERE id = ?1")?
        .query_row([&event.id], |row| count(row, "seq"))
        .optional()?;
    if let Some(seq) = known {
        return Ok(seq);
    }
    let Progress { state, attempts, token } = Progress::new(state_of(delivery, now));
    let (by, reason) = verdict_of(delivery);
    connection
        .prepare_cached(
            "INSERT INTO events (id, kind, process, owner, command, at, status, output, output_cut, pattern, suppressed,
                 hidden, policy, recorded_at, changed_at, state, until, attempts, token, holder, decided_by, reason)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
        )?
        .execute(params![
            event.id,
            event.kind.name(),
            event.process.as_ref().map(ProcessId::as_str),
            event.owner.as_str(),
            event.command.as_str(),
            millis(event.at),
            event.status.as_ref().map(to_json).transpose()?,
            event.output.as_str(),
            event.output_cut,
            event.pattern.as_ref().map(|pattern| pattern.as_str()),
            number(event.suppressed),
            event.hidden,
            to_json(&event.policy)?,
            now,
            state.word(),
            state.until(),
            attempts,
            number(token),
            host,
            by,
            reason,
        ])?;
    Ok(u64::try_from(connection.last_insert_rowid()).unwrap_or_default())
}

/// Writes what notifiers made of an event. Says whether they were still waited for.
pub(super) fn decided(
    connection: &Connection,
    seq: u64,
    event: &Event,
    delivery: &Delivery,
    now: Millis,
) -> Result<bool> {
    let Some(before) = progress(connection, seq)? else { return Ok(false) };
    let Some(after) = before.decided(state_of(delivery, now)) else { return Ok(false) };
    let (by, reason) = verdict_of(delivery);
    let changed = connection.execute(
        "UPDATE events SET command = ?3, output = ?4, output_cut = ?5, pattern = ?6, suppressed = ?7, hidden = ?8,
             policy = ?9, decided_by = ?10, reason = ?11
         WHERE seq = ?1 AND id = ?2",
        params![
            number(seq),
            event.id,
            event.command.as_str(),
            event.output.as_str(),
            event.output_cut,
            event.pattern.as_ref().map(|pattern| pattern.as_str()),
            number(event.suppressed),
            event.hidden,
            to_json(&event.policy)?,
            by,
            reason,
        ],
    )?;
    if changed > 0 {
        write(connection, seq, after, now)?;
    }
    Ok(changed > 0)
}

/// Claims events that are free, the oldest first. Says what was dropped on the way: events tried too often, and events
/// that cannot be read.
pub(super) fn claim(
    connection: &Connection,
    scope: &Scope,
    max: usize,
    host: &str,
    now: Millis,
) -> Result<(Vec<Claimed>, Removed)> {
    let mut statement =
        connection.prepare_cached(&format!("SELECT seq FROM events WHERE {OPEN} AND {FREE} ORDER BY seq"))?;
    let candidates = rows(&mut statement, params![convert::owner(scope), now], |row| count(row, "seq"))?;
    let mut claimed = Vec::new();
    let mut removed = Removed::default();
    for seq in candidates {
        if claimed.len() >= max {
            break;
        }
        let Some(after) = progress(connection, seq)?.and_then(|before| before.claim(now)) else { continue };
        if after.state == State::Dropped {
            write(connection, seq, after, now)?;
            removed.tried_too_often += 1;
            continue;
        }
        match event(connection, seq) {
            Ok(event) => {
                write(connection, seq, after, now)?;
                connection
                    .prepare_cached("UPDATE events SET holder = ?2 WHERE seq = ?1")?
                    .execute(params![number(seq), host])?;
                let claim = Claim { seq, token: after.token };
                claimed.push(Claimed { claim, attempts: after.attempts, event });
            }
            // It would stand before the others for ever.
            Err(error) if is_of_a_row(&error) => {
                write(connection, seq, Progress { state: State::Dropped, ..after }, now)?;
                removed.unreadable += 1;
            }
            Err(error) => return Err(error),
        }
    }
    Ok((claimed, removed))
}

/// Settles claims that are live, and says which were not.
pub(super) fn settle(connection: &Connection, verb: Verb, claims: &[Claim], now: Millis) -> Result<Settled> {
    let mut settled = Settled::default();
    for &claim in claims {
        match progress(connection, claim.seq)?.and_then(|before| before.settle(verb, claim.token)) {
            None => settled.stale.push(claim),
            Some(after) => {
                write(connection, claim.seq, after, now)?;
                let too_often = verb == Verb::Release && after.state == State::Dropped;
                if too_often { settled.dropped.push(claim) } else { settled.done.push(claim) }
            }
        }
    }
    Ok(settled)
}

/// Ends the completion events of a process that are open.
pub(super) fn consume(connection: &Connection, id: &ProcessId, now: Millis) -> Result<u64> {
    let changed = connection.execute(
        &format!(
            "UPDATE events SET state = ?3, until = NULL, changed_at = ?4 WHERE process = ?1 AND kind = ?2 AND {OPEN}"
        ),
        params![id.as_str(), EventKind::Completion.name(), State::Consumed.word(), now],
    )?;
    Ok(changed as u64)
}

/// Frees what a host held that is over.
pub(super) fn orphaned(connection: &Connection, host: &str, now: Millis) -> Result<()> {
    let mut statement = connection
        .prepare_cached(&format!("SELECT seq FROM events WHERE {OPEN} AND until IS NOT NULL AND holder = ?1"))?;
    for seq in rows(&mut statement, [host], |row| count(row, "seq"))? {
        if let Some(after) = progress(connection, seq)?.and_then(Progress::orphaned) {
            write(connection, seq, after, now)?;
        }
    }
    Ok(())
}

/// How many events are free.
pub(super) fn count_free(connection: &Connection, scope: &Scope, now: Millis) -> Result<u64> {
    connection
        .prepare_cached(&format!("SELECT count(*) AS free FROM events WHERE {OPEN} AND {FREE}"))?
        .query_row(params![convert::owner(scope), now], |row| count(row, "free"))
}

/// Events that are free, the oldest first.
pub(crate) fn free(connection: &Connection, scope: &Scope, now: Millis, limit: usize) -> Result<Vec<StoredEvent>> {
    let mut statement =
        connection.prepare_cached(&format!("SELECT * FROM events WHERE {OPEN} AND {FREE} ORDER BY seq LIMIT ?3"))?;
    rows(&mut statement, params![convert::owner(scope), now, convert::limit(limit)], stored)
}

/// Where an event stands. `None`: there is none, or nobody can tell.
fn progress(connection: &Connection, seq: u64) -> Result<Option<Progress>> {
    let mut statement = connection.prepare_cached("SELECT state, until, attempts, token FROM events WHERE seq = ?1")?;
    let read = |row: &Row<'_>| {
        let state = State::read(row.get_ref("state")?.as_str()?, row.get("until")?);
        Ok(Progress { state: word(state)?, attempts: row.get("attempts")?, token: count(row, "token")? })
    };
    Ok(rows(&mut statement, [number(seq)], read)?.pop())
}

fn write(connection: &Connection, seq: u64, progress: Progress, now: Millis) -> Result<()> {
    let Progress { state, attempts, token } = progress;
    connection
        .prepare_cached(
            "UPDATE events SET state = ?2, until = ?3, attempts = ?4, token = ?5, changed_at = ?6 WHERE seq = ?1",
        )?
        .execute(params![number(seq), state.word(), state.until(), attempts, number(token), now])?;
    Ok(())
}

fn event(connection: &Connection, seq: u64) -> Result<StoredEvent> {
    connection.prepare_cached("SELECT * FROM events WHERE seq = ?1")?.query_row([number(seq)], stored)
}

fn stored(row: &Row<'_>) -> Result<StoredEvent> {
    let owner: String = row.get("owner")?;
    let kind: String = row.get("kind")?;
    let about: Option<String> = row.get("process")?;
    let status: Option<String> = row.get("status")?;
    Ok(StoredEvent {
        seq: count(row, "seq")?,
        id: row.get("id")?,
        kind: word(kind.parse().ok())?,
        process: about.map(|_| process(row, "process")).transpose()?,
        command: text(row, "command")?,
        owner: Owner::new(owner),
        at: time(row, "at")?,
        status: status.as_deref().map(from_json).transpose()?,
        output: text(row, "output")?,
        output_cut: row.get("output_cut")?,
        pattern: optional_text(row, "pattern")?,
        suppressed: count(row, "suppressed")?,
        hidden: row.get("hidden")?,
        policy: json(row, "policy")?,
    })
}

fn state_of(delivery: &Delivery, now: Millis) -> State {
    match delivery {
        Delivery::Pending => State::Pending,
        Delivery::Undecided => State::Undecided { until: lease(now) },
        Delivery::Muted => State::Muted,
        Delivery::Suppressed { .. } => State::Suppressed,
    }
}

/// Who kept an event back, and why.
fn verdict_of(delivery: &Delivery) -> (Option<&str>, Option<&str>) {
    match delivery {
        Delivery::Suppressed { by, reason } => (Some(by), Some(reason.as_str())),
        _ => (None, None),
    }
}
