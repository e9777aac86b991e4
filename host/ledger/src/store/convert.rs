//! Between values and columns. What is read as text comes out as [`Captured`], which nobody can show by mistake.

use std::time::{Duration, SystemTime};

use hermes_model::id::ProcessId;
use hermes_output::captured::{Captured, HEAD_BYTES};
use rusqlite::types::Type;
use rusqlite::{Error, Params, Result, Row, Statement};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::event::Scope;
use crate::progress::Millis;

/// Milliseconds since 1970; 0 before it.
pub(crate) fn millis(time: SystemTime) -> Millis {
    duration_millis(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}

/// A duration in milliseconds.
pub(crate) fn duration_millis(duration: Duration) -> Millis {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A count as a column holds it.
pub(crate) fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A limit as SQL has it.
pub(crate) fn limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// The owner that a query is about; none for all.
pub(crate) fn owner(scope: &Scope) -> Option<&str> {
    match scope {
        Scope::All => None,
        Scope::Owner(owner) => Some(owner.as_str()),
    }
}

/// A value with a shape of its own, as JSON.
pub(crate) fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::ToSqlConversionFailure(Box::new(error)))
}

/// A row that is not what hermes writes. Says nothing of what is in it.
fn unreadable(kind: Type) -> Error {
    Error::FromSqlConversionFailure(0, kind, "not what hermes writes".into())
}

/// A count.
pub(crate) fn count(row: &Row<'_>, column: &str) -> Result<u64> {
    u64::try_from(row.get::<_, i64>(column)?).map_err(|_| unreadable(Type::Integer))
}

/// A time.
pub(crate) fn time(row: &Row<'_>, column: &str) -> Result<SystemTime> {
    let since = Duration::from_millis(count(row, column)?);
    SystemTime::UNIX_EPOCH.checked_add(since).ok_or_else(|| unreadable(Type::Integer))
}

/// A text that was revealed when it was written, and must be again before it is shown.
pub(crate) fn text(row: &Row<'_>, column: &str) -> Result<Captured> {
    let bytes = row.get_ref(column)?.as_bytes().map_err(|_| unreadable(Type::Text))?;
    Ok(captured(bytes))
}

/// As [`text`], where there may be none.
pub(crate) fn optional_text(row: &Row<'_>, column: &str) -> Result<Option<Captured>> {
    let bytes = row.get_ref(column)?.as_bytes_or_null().map_err(|_| unreadable(Type::Text))?;
    Ok(bytes.map(captured))
}

fn captured(bytes: &[u8]) -> Captured {
    let mut captured = Captured::new(bytes.len().saturating_sub(HEAD_BYTES));
    captured.push(bytes);
    captured
}

/// A value with a shape of its own.
pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<T> {
    from_json(&row.get::<_, String>(column)?)
}

/// As [`json`], of a text that was read already.
pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T> {
    // The parser's own message may quote the text.
    serde_json::from_str(text).map_err(|_| unreadable(Type::Text))
}

/// The id of a process.
pub(crate) fn process(row: &Row<'_>, column: &str) -> Result<ProcessId> {
    row.get::<_, String>(column)?.parse().map_err(|_| unreadable(Type::Text))
}

/// A word out of a closed list.
pub(crate) fn word<T>(found: Option<T>) -> Result<T> {
    found.ok_or_else(|| unreadable(Type::Text))
}

/// Whether an error is about one row, and not about the file.
pub(crate) fn is_of_a_row(error: &Error) -> bool {
    matches!(error, Error::FromSqlConversionFailure(..) | Error::InvalidColumnType(..) | Error::Utf8Error(..))
}

/// The rows of a query that can be read. One that cannot must not hide the others.
pub(crate) fn rows<T>(
    statement: &mut Statement<'_>,
    parameters: impl Params,
    read: impl Fn(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut rows = statement.query(parameters)?;
    let mut found = Vec::new();
    let mut damaged = 0_usize;
    while let Some(row) = rows.next()? {
        match read(row) {
            Ok(value) => found.push(value),
            Err(error) if is_of_a_row(&error) => damaged += 1,
            Err(error) => return Err(error),
        }
    }
    if damaged > 0 {
        tracing::warn!(rows = damaged, "rows of the ledger are damaged and were passed over");
    }
    Ok(found)
}
