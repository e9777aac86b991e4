//! Hosts: which used this file, and which of them are over.

use rusqlite::{Connection, Result, Row, params};

use super::convert::{count, number, rows};
use crate::host::HostIdentity;
use crate::progress::{Millis, OPEN};

/// A host begins to use the file.
pub(super) fn opened(connection: &Connection, host: &HostIdentity, now: Millis) -> Result<()> {
    connection.execute(
        "INSERT INTO hosts (marker, boot_id, pid_namespace, pid, start_ticks, opened_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (marker) DO UPDATE SET boot_id = ?2, pid_namespace = ?3, pid = ?4, start_ticks = ?5,
             opened_at = ?6, ended_at = NULL",
        params![host.marker, host.boot_id, number(host.pid_namespace), host.pid, number(host.start_ticks), now],
    )?;
    Ok(())
}

/// A host is over, in order or not.
pub(super) fn ended(connection: &Connection, marker: &str, now: Millis) -> Result<()> {
    connection
        .execute("UPDATE hosts SET ended_at = ?2 WHERE marker = ?1 AND ended_at IS NULL", params![marker, now])?;
    Ok(())
}

/// The markers of hosts that are over, other than `ours`. Whoever ended in order, or was seen dead, is not asked about;
/// it is among them where it left something behind.
pub(super) fn dead(
    connection: &Connection,
    ours: &str,
    is_alive: &dyn Fn(&HostIdentity) -> bool,
) -> Result<Vec<String>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT * FROM hosts WHERE marker <> ?1 AND (ended_at IS NULL
             OR EXISTS (SELECT 1 FROM running WHERE running.host = hosts.marker)
             OR EXISTS (SELECT 1 FROM events WHERE {OPEN} AND until IS NOT NULL AND holder = hosts.marker))
         ORDER BY opened_at, marker"
    ))?;
    let read = |row: &Row<'_>| Ok((identity(row, "")?, row.get::<_, Option<Millis>>("ended_at")?));
    let hosts = rows(&mut statement, [ours], read)?;
    let over = hosts.into_iter().filter(|(host, ended)| ended.is_some() || !is_alive(host));
    Ok(over.map(|(host, _)| host.marker).collect())
}

/// Reads a host out of columns that begin so.
pub(super) fn identity(row: &Row<'_>, prefix: &str) -> Result<HostIdentity> {
    let column = |name: &str| format!("{prefix}{name}");
    Ok(HostIdentity {
        boot_id: row.get(column("boot_id").as_str())?,
        pid_namespace: count(row, &column("pid_namespace"))?,
        pid: row.get(column("pid").as_str())?,
        start_ticks: count(row, &column("start_ticks"))?,
        marker: row.get(column("marker").as_str())?,
    })
}
