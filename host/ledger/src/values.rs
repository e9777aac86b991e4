//! Small values that a notifier keeps between calls, by the plugin's name and a key.
//!
//! It must never create anything by reading or removing, and never show one plugin what another keeps.

use std::time::SystemTime;

use hermes_home::home::Home;
use rusqlite::{Connection, OptionalExtension, Result, TransactionBehavior, params};

use crate::file;
use crate::limits::{KEY_BYTES_MAX, KEYS_MAX, VALUE_BYTES_MAX, VALUES_BYTES_MAX};
use crate::problem::{LedgerError, OpenError};
use crate::reader::Reader;
use crate::store::convert;

/// Why a value was not kept or read. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum ValuesError {
    /// The key is too long.
    #[error("a key may have {KEY_BYTES_MAX} bytes at most")]
    Key,
    /// The value is too large.
    #[error("a value may have {VALUE_BYTES_MAX} bytes at most")]
    TooLarge,
    /// It keeps too many values.
    #[error("it keeps {KEYS_MAX} values already; remove one first")]
    TooMany,
    /// All together would be too large.
    #[error("all keys and values together may have {VALUES_BYTES_MAX} bytes at most; remove some first")]
    Quota,
    /// The file cannot be used.
    #[error(transparent)]
    Ledger(#[from] OpenError),
}

impl From<LedgerError> for ValuesError {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error.into())
    }
}

/// The values of one plugin in a home. Every verb blocks, for some milliseconds, or where another process writes for up
/// to [`BUSY_WAIT`](crate::limits::BUSY_WAIT).
#[derive(Clone, Debug)]
pub struct Values {
    home: Home,
    plugin: String,
}

impl Values {
    /// The values of the plugin of this name. Creates nothing.
    pub fn of(home: &Home, plugin: &str) -> Self {
        Self { home: home.clone(), plugin: plugin.to_owned() }
    }

    /// The value of a key, if it is set.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn get(&self, key: &str) -> std::result::Result<Option<Vec<u8>>, ValuesError> {
        let found = Reader::open(&self.home).and_then(|reader| match reader {
            Some(reader) => reader.look_up(|connection| get(connection, &self.plugin, key)),
            None => Ok(None),
        });
        match found {
            // An older file has no place for values, so there are none.
            Err(OpenError::Older { .. }) => Ok(None),
            found => Ok(found?),
        }
    }

    /// Sets a key. The value is on the disk when this returns.
    ///
    /// # Errors
    /// It is too large, the plugin keeps too much already, or the file cannot be written.
    pub fn put(&self, key: &str, value: &[u8]) -> std::result::Result<(), ValuesError> {
        if key.len() > KEY_BYTES_MAX {
            return Err(ValuesError::Key);
        }
        if value.len() > VALUE_BYTES_MAX {
            return Err(ValuesError::TooLarge);
        }
        let now = convert::millis(SystemTime::now());
        self.change(|connection| {
            connection.execute(
                "INSERT INTO plugin_values (plugin, key, value, changed_at) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (plugin, key) DO UPDATE SET value = ?3, changed_at = ?4",
                params![self.plugin, key, value, now],
            )?;
            let (count, bytes): (u32, i64) = connection.query_row(
                "SELECT count(*), coalesce(sum(octet_length(key) + length(value)), 0) FROM plugin_values WHERE plugin = ?1",
                [&self.plugin],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            Ok(match (count > KEYS_MAX, bytes > convert::number(VALUES_BYTES_MAX)) {
                (true, _) => Err(ValuesError::TooMany),
                (_, true) => Err(ValuesError::Quota),
                _ => Ok(()),
            })
        })
    }

    /// Removes a key; one that is not set is no error.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn remove(&self, key: &str) -> std::result::Result<(), ValuesError> {
        if self.nothing_is_written()? {
            return Ok(());
        }
        self.change(|connection| {
            connection
                .execute("DELETE FROM plugin_values WHERE plugin = ?1 AND key = ?2", [&self.plugin, key])
                .map(|_| Ok(()))
        })
    }

    /// Removes every key.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn clear(&self) -> std::result::Result<(), ValuesError> {
        if self.nothing_is_written()? {
            return Ok(());
        }
        self.change(|connection| {
            connection.execute("DELETE FROM plugin_values WHERE plugin = ?1", [&self.plugin]).map(|_| Ok(()))
        })
    }

    fn nothing_is_written(&self) -> std::result::Result<bool, ValuesError> {
        Ok(file::look(&file::place(&self.home)).map_err(ValuesError::from)?.is_none())
    }

    /// Does everything of `work`, or nothing where it refuses.
    fn change(
        &self,
        work: impl FnOnce(&Connection) -> Result<std::result::Result<(), ValuesError>>,
    ) -> std::result::Result<(), ValuesError> {
        let path = file::place(&self.home);
        let failed = |error: rusqlite::Error| LedgerError::of(&path, &error);
        let mut connection = file::open(&self.home)?;
        // A value is durable when `put` returns, also across a power cut.
        connection.pragma_update(None, "synchronous", "full").map_err(failed)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        // Dropped without a commit, it is rolled back.
        work(&transaction).map_err(failed)??;
        transaction.commit().map_err(failed)?;
        Ok(())
    }
}

fn get(connection: &Connection, plugin: &str, key: &str) -> Result<Option<Vec<u8>>> {
    connection
        .query_row("SELECT value FROM plugin_values WHERE plugin = ?1 AND key = ?2", [plugin, key], |row| row.get(0))
        .optional()
}
