//! Processes: a row while one runs, a receipt once it has ended, never both.

use std::time::Duration;

use hermes_model::id::{Owner, ProcessId};
use hermes_model::status::Status;
use hermes_output::captured::Captured;
use rusqlite::{Connection, OptionalExtension as _, Result, Row, params};

use super::convert::{self, count, json, millis, number, process, rows, text, time, to_json};
use super::hosts;
use crate::checkpoint::{Checkpoint, LeaderIdentity, StoredCheckpoint, Taken};
use crate::event::Scope;
use crate::receipt::{Receipt, StoredReceipt};

/// What is read of a running process, with the host that started it.
const RUNNING: &str = "SELECT running.*, hosts.boot_id AS host_boot_id, hosts.pid_namespace AS host_pid_namespace,
        hosts.pid AS host_pid, hosts.start_ticks AS host_start_ticks, hosts.marker AS host_marker
    FROM running JOIN hosts ON hosts.marker = running.born";

/// A process runs on this host.
pub(super) fn started(connection: &Connection, checkpoint: &Checkpoint, host: &str) -> Result<()> {
    let Checkpoint { id, owner, command, cwd, leader, pty, persist, notify, .. } = checkpoint;
    // One that has a receipt has ended already: its end overtook this. One that was taken over keeps the host it was
    // born under, whose boot and namespace its leader is of.
    connection.execute(
        "INSERT INTO running (id, host, born, owner, command, cwd, pid, start_ticks, pty, persist, notify,
             completion_bytes, heartbeat, watch, started_at, scope_unit)
         SELECT ?1, ?2, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15
         WHERE NOT EXISTS (SELECT 1 FROM receipts WHERE id = ?1)
         ON CONFLICT (id) DO UPDATE SET host = ?2, owner = ?3, command = ?4, cwd = ?5, pid = ?6, start_ticks = ?7,
             pty = ?8, persist = ?9, notify = ?10, completion_bytes = ?11, heartbeat = ?12, watch = ?13,
             started_at = ?14, scope_unit = ?15",
        params![
            id.as_str(),
            host,
            owner.as_str(),
            command.as_str(),
            cwd.as_str(),
            leader.pid,
            number(leader.start_ticks),
            pty,
            persist,
            notify,
            number(checkpoint.completion_bytes),
            checkpoint.heartbeat.map(convert::duration_millis),
            to_json(&checkpoint.watch)?,
            millis(checkpoint.started_at),
            checkpoint.scope_unit,
        ],
    )?;
    Ok(())
}

/// A process has ended. Says whether that is news.
pub(super) fn finished(connection: &Connection, receipt: &Receipt) -> Result<bool> {
    let Receipt { id, owner, command, cwd, output, .. } = receipt;
    let written = connection.execute(
        "INSERT INTO receipts (id, owner, command, cwd, started_at, ended_at, status, output, output_bytes, output_cut,
             duration, policy)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT (id) DO NOTHING",
        params![
            id.as_str(),
            owner.as_str(),
            command.as_str(),
            cwd.as_str(),
            millis(receipt.started_at),
            millis(receipt.ended_at),
            to_json(&receipt.status)?,
            output.as_str(),
            number(receipt.output_bytes),
            receipt.output_cut,
            convert::duration_millis(receipt.duration),
            to_json(&receipt.policy)?,
        ],
    )?;
    connection.execute("DELETE FROM running WHERE id = ?1", [id.as_str()])?;
    Ok(written > 0)
}

/// A process ended in another way than its receipt says.
pub(super) fn amend(connection: &Connection, id: &ProcessId, status: &Status) -> Result<bool> {
    let changed =
        connection.execute("UPDATE receipts SET status = ?2 WHERE id = ?1", params![id.as_str(), to_json(status)?])?;
    Ok(changed > 0)
}

/// Gives the processes of one host to another.
pub(super) fn take_over(connection: &Connection, from: &str, to: &str, which: Taken) -> Result<Vec<StoredCheckpoint>> {
    let all = which == Taken::All;
    let mut statement = connection.prepare_cached(&format!(
        "{RUNNING} WHERE running.host = ?1 AND (?2 OR NOT running.persist) ORDER BY running.started_at, running.id"
    ))?;
    let taken = rows(&mut statement, params![from, all], checkpoint)?;
    connection
        .execute("UPDATE running SET host = ?2 WHERE host = ?1 AND (?3 OR NOT persist)", params![from, to, all])?;
    Ok(taken)
}

/// The processes that run.
pub(crate) fn running(connection: &Connection, scope: &Scope) -> Result<Vec<StoredCheckpoint>> {
    let mut statement = connection.prepare_cached(&format!(
        "{RUNNING} WHERE ?1 IS NULL OR running.owner = ?1 ORDER BY running.started_at, running.id"
    ))?;
    rows(&mut statement, [convert::owner(scope)], checkpoint)
}

/// The receipt of a process.
pub(crate) fn receipt(connection: &Connection, id: &ProcessId) -> Result<Option<StoredReceipt>> {
    connection.query_row("SELECT * FROM receipts WHERE id = ?1", [id.as_str()], stored_receipt).optional()
}

/// The receipts that ended last.
pub(crate) fn receipts(connection: &Connection, scope: &Scope, limit: usize) -> Result<Vec<StoredReceipt>> {
    let mut statement = connection.prepare_cached(
        "SELECT * FROM receipts WHERE ?1 IS NULL OR owner = ?1 ORDER BY ended_at DESC, rowid DESC LIMIT ?2",
    )?;
    rows(&mut statement, params![convert::owner(scope), convert::limit(limit)], stored_receipt)
}

/// The ids that begin so.
pub(crate) fn ids_with_prefix(connection: &Connection, prefix: &str) -> Result<Vec<ProcessId>> {
    let mut statement = connection.prepare_cached(
        "SELECT id FROM running WHERE substr(id, 1, length(?1)) = ?1
         UNION SELECT id FROM receipts WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id",
    )?;
    rows(&mut statement, [prefix], |row| process(row, "id"))
}

fn checkpoint(row: &Row<'_>) -> Result<StoredCheckpoint> {
    let watch: Vec<String> = json(row, "watch")?;
    let heartbeat: Option<i64> = row.get("heartbeat")?;
    Ok(StoredCheckpoint {
        id: process(row, "id")?,
        owner: Owner::new(row.get::<_, String>("owner")?),
        command: text(row, "command")?,
        cwd: text(row, "cwd")?,
        leader: LeaderIdentity { pid: row.get("pid")?, start_ticks: count(row, "start_ticks")? },
        pty: row.get("pty")?,
        persist: row.get("persist")?,
        notify: row.get("notify")?,
        completion_bytes: count(row, "completion_bytes")?,
        heartbeat: heartbeat.map(|_| count(row, "heartbeat")).transpose()?.map(Duration::from_millis),
        watch: watch.iter().map(|text| Captured::of(text)).collect(),
        started_at: time(row, "started_at")?,
        scope_unit: row.get("scope_unit")?,
        host: hosts::identity(row, "host_")?,
    })
}

fn stored_receipt(row: &Row<'_>) -> Result<StoredReceipt> {
    Ok(StoredReceipt {
        id: process(row, "id")?,
        owner: Owner::new(row.get::<_, String>("owner")?),
        command: text(row, "command")?,
        cwd: text(row, "cwd")?,
        started_at: time(row, "started_at")?,
        ended_at: time(row, "ended_at")?,
        status: json(row, "status")?,
        output: text(row, "output")?,
        output_bytes: count(row, "output_bytes")?,
        output_cut: row.get("output_cut")?,
        duration: Duration::from_millis(count(row, "duration")?),
        policy: json(row, "policy")?,
    })
}
