//! Changes of `config.toml` by hermes: servers are put in, replaced and taken out, and everything else stays as a person
//! wrote it, comments and order included.
//!
//! It must never write a file that could not be read again, or one that means anything but what was asked for.

use std::path::PathBuf;

use hermes_model::config::Config;
use hermes_model::config::servers::ServerConfig;
use hermes_model::duration;
use hermes_model::id::ServerName;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use crate::config::{self, CONFIG_BYTES_MAX, ConfigError};
use crate::files::{self, CreateError, FileLock, LockError, WriteError};
use crate::home::Home;

/// The lock of changes: a file of its own, since `config.toml` itself is replaced by each.
const LOCK: &str = "config.lock";
/// The section.
const SECTION: &str = "mcp_servers";

/// Why `config.toml` was not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// There is no home and none could be made.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// Somebody else changes it.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// It is not in order as it is, or would not be.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// It would have come to mean something else.
    #[error("'{path}' is written in a way that hermes cannot change safely; change it by hand (nothing was changed)")]
    Shape {
        /// The file.
        path: PathBuf,
    },
    /// It would have become too large to be read.
    #[error("'{path}' would have more than {CONFIG_BYTES_MAX} bytes; take something out (nothing was changed)")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
}

/// What [`ConfigFile::put`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// There was no server of this name.
    Added,
    /// There was one, and it is another now.
    Replaced,
    /// It was the same already.
    Unchanged,
}

/// `config.toml` while it is changed. Others that want to change it wait. What is not saved is not done.
pub struct ConfigFile {
    path: PathBuf,
    document: DocumentMut,
    config: Config,
    changed: bool,
    _lock: FileLock,
}

impl ConfigFile {
    /// Opens the file of a home for changes, creating the home where there is none.
    ///
    /// # Errors
    /// The home cannot be made, somebody else changes the file, or it is not in order.
    pub fn open(home: &Home) -> Result<Self, EditError> {
        home.ensure()?;
        let lock = files::lock(&home.root().join(LOCK))?;
        // A link to a file that is kept elsewhere stays one: what it names is changed.
        let path = home.config_path();
        let path = path.canonicalize().unwrap_or(path);
        let bytes = match files::read_bounded(&path, CONFIG_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.is_missing() => Vec::new(),
            Err(error) => return Err(ConfigError::from(error).into()),
        };
        let config = config::parse(&path, &bytes)?;
        // It parsed as a configuration, so it is a document; were it none for this parser, nothing must be written.
        let document = String::from_utf8_lossy(&bytes).parse().map_err(|_| EditError::Shape { path: path.clone() })?;
        Ok(Self { path, document, config, changed: false, _lock: lock })
    }

    /// The configuration with the changes so far.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The file.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Puts a server in, in place of one of the same name: keys that the new one does not have are taken out. Comments
    /// of keys that stay are kept.
    pub fn put(&mut self, name: &ServerName, server: &ServerConfig) -> Put {
        if self.config.mcp_servers.get(name) == Some(server) {
            return Put::Unchanged;
        }
        let fresh = table_of(server);
        let section = self.document.as_table_mut().entry(SECTION).or_insert_with(|| {
            let mut section = Table::new();
            section.set_implicit(true);
            Item::Table(section)
        });
        let known = section.as_table_like_mut().and_then(|section| section.get_mut(name.as_str()));
        match known.and_then(Item::as_table_like_mut) {
            Some(old) => merge(old, &fresh),
            None => match section {
                Item::Table(section) => drop(section.insert(name.as_str(), Item::Table(fresh))),
                Item::Value(Value::InlineTable(section)) => {
                    drop(section.insert(name.as_str(), Value::InlineTable(fresh.into_inline_table())));
                }
                // Nothing else passes for a section; saving says so if it does.
                _ => {}
            },
        }
        self.changed = true;
        match self.config.mcp_servers.insert(name.clone(), server.clone()) {
            None => Put::Added,
            Some(_) => Put::Replaced,
        }
    }

    /// Takes a server out, with the comment that stands right above it. Whether there was one.
    pub fn remove(&mut self, name: &ServerName) -> bool {
        if self.config.mcp_servers.remove(name).is_none() {
            return false;
        }
        self.changed = true;
        let section = self.document.as_table_mut().get_mut(SECTION).and_then(Item::as_table_like_mut);
        let removed = section.and_then(|section| section.remove(name.as_str()));
        if let Some(Item::Table(table)) = removed {
            self.keep_what_is_above(&table);
        }
        true
    }

    /// A comment that a blank line parts from the table below it is about the file and not about the table.
    fn keep_what_is_above(&mut self, removed: &Table) {
        let above = removed.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
        let Some(end) = above.rfind("\n\n").map(|at| at + 2) else { return };
        let kept = &above[..end];
        if kept.trim().is_empty() {
            return;
        }
        let position = removed.position().unwrap_or_default();
        match next_table(self.document.as_table_mut(), position) {
            Some(next) => {
                let own = next.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
                let joined = format!("{kept}{}", own.trim_start_matches('\n'));
                next.decor_mut().set_prefix(joined);
            }
            None => {
                let joined = format!("{kept}{}", self.document.trailing().as_str().unwrap_or_default());
                self.document.set_trailing(joined);
            }
        }
    }

    /// Writes what was changed: whole or not at all, readable by its owner only. Whether anything was.
    ///
    /// # Errors
    /// The file would not mean what was asked for, or cannot be written. The old one is as it was.
    pub fn save(self) -> Result<bool, EditError> {
        if !self.changed {
            return Ok(false);
        }
        let text = self.document.to_string();
        if text.len() as u64 > CONFIG_BYTES_MAX {
            return Err(EditError::TooLarge { path: self.path });
        }
        self.config.validate().map_err(|bad| ConfigError::BadValue {
            path: self.path.clone(),
            line: 1,
            key: bad.key,
            reason: bad.rule,
        })?;
        if config::parse(&self.path, text.as_bytes()).ok().as_ref() != Some(&self.config) {
            return Err(EditError::Shape { path: self.path });
        }
        files::write_atomically(&self.path, text.as_bytes())?;
        Ok(true)
    }
}

/// The table that stands next behind a position.
fn next_table(table: &mut Table, behind: isize) -> Option<&mut Table> {
    fn positions(table: &Table, found: &mut Vec<isize>) {
        for (_, item) in table {
            if let Item::Table(inner) = item {
                found.extend(inner.position().filter(|_| !inner.is_implicit() && !inner.is_dotted()));
                positions(inner, found);
            }
        }
    }
    fn at(table: &mut Table, position: isize) -> Option<&mut Table> {
        table.iter_mut().find_map(|(_, item)| {
            let Item::Table(inner) = item else { return None };
            let is_it = inner.position() == Some(position) && !inner.is_implicit();
            if is_it { Some(inner) } else { at(inner, position) }
        })
    }
    let mut found = Vec::new();
    positions(table, &mut found);
    at(table, found.into_iter().filter(|position| *position > behind).min()?)
}

/// Makes one table of another, in place: what is in both keeps its place and its comments.
fn merge(old: &mut dyn TableLike, fresh: &dyn TableLike) {
    let gone: Vec<String> = old.iter().map(|(key, _)| key.to_owned()).filter(|key| !fresh.contains_key(key)).collect();
    for key in gone {
        old.remove(&key);
    }
    for (key, item) in fresh.iter() {
        let Some(known) = old.get_mut(key) else {
            old.insert(key, item.clone());
            continue;
        };
        if let (Some(known), Some(item)) = (known.as_table_like_mut(), item.as_table_like()) {
            merge(known, item);
            continue;
        }
        let mut item = item.clone();
        if let (Some(known), Some(value)) = (known.as_value(), item.as_value_mut()) {
            *value.decor_mut() = known.decor().clone();
        }
        *known = item;
    }
}

/// A server as a table: what is not as the default has it.
fn table_of(server: &ServerConfig) -> Table {
    let default = ServerConfig::default();
    let mut table = Table::new();
    let mut put = |key: &str, value: Value| drop(table.insert(key, Item::Value(value)));
    let list = |texts: &[String]| Value::Array(texts.iter().map(String::as_str).collect::<Array>());
    put("command", server.command.as_str().into());
    if !server.args.is_empty() {
        put("args", list(&server.args));
    }
    if !server.env.is_empty() {
        let variables: InlineTable =
            server.env.iter().map(|(name, value)| (name.as_str(), Value::from(value.as_str()))).collect();
        put("env", variables.into());
    }
    if !server.env_pass.is_empty() {
        put("env_pass", list(&server.env_pass));
    }
    if let Some(cwd) = &server.cwd {
        put("cwd", cwd.to_string_lossy().as_ref().into());
    }
    let times = [
        ("timeout", Some(server.timeout), Some(default.timeout)),
        ("connect_timeout", Some(server.connect_timeout), Some(default.connect_timeout)),
        ("idle_timeout", server.idle_timeout, default.idle_timeout),
        ("keepalive", server.keepalive, default.keepalive),
    ];
    for (key, time, usual) in times {
        if let Some(time) = time.filter(|time| Some(*time) != usual) {
            put(key, duration::display(time).into());
        }
    }
    let switches = [
        ("enabled", server.enabled, default.enabled),
        ("lazy", server.lazy, default.lazy),
        ("transform", server.transform, default.transform),
        ("confirmed", server.confirmed, default.confirmed),
    ];
    for (key, value, _) in switches.into_iter().filter(|(_, value, usual)| value != usual) {
        put(key, value.into());
    }
    if server.trust != default.trust {
        put("trust", "untrusted".into());
    }
    if server.parallel != default.parallel {
        put("parallel", i64::from(server.parallel).into());
    }
    let mut tools = InlineTable::new();
    if let Some(include) = &server.tools.include {
        tools.insert("include", list(include));
    }
    if !server.tools.exclude.is_empty() {
        tools.insert("exclude", list(&server.tools.exclude));
    }
    for (key, value) in [("resources", server.tools.resources), ("prompts", server.tools.prompts)] {
        if !value {
            tools.insert(key, false.into());
        }
    }
    if !tools.is_empty() {
        put("tools", tools.into());
    }
    table
}

#[cfg(test)]
mod tests;
