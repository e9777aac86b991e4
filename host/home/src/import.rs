//! Reads the MCP servers out of a file that another program keeps: `mcpServers`, `servers` or `context_servers` in JSON,
//! with comments or without.
//!
//! It must never leave a server or a setting out without saying so, and never quote a value: notes name fields only.

use std::collections::BTreeMap;
use std::time::Duration;

use hermes_model::config::servers::{ServerConfig, Trust};
use hermes_model::id::{SERVER_NAME_MAX, ServerName};
use hermes_model::{duration, interpolate, pattern};
use serde_json::{Map, Value};

mod comments;

/// The largest file read: programs keep much beside their servers in such files.
pub const IMPORT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Sections that hold servers by name, and sections of which one of these is a part.
const SECTIONS: [&str; 4] = ["mcpServers", "mcp_servers", "servers", "context_servers"];
const OUTER_SECTIONS: [&str; 2] = ["mcp", "amp.mcp"];
/// What stands at the beginning of an address of a server that is not started but called.
const ADDRESSES: [&str; 5] = ["url", "serverUrl", "httpUrl", "uri", "endpoint"];
/// Fields that say nothing hermes would have to do something about.
const NO_MATTER: [&str; 8] = ["description", "gallery", "icon", "name", "source", "title", "type", "version"];
/// Numbers below this are seconds: no server answers in less, and programs differ in the unit.
const MILLISECONDS_FROM: f64 = 1000.0;
/// How much of a field's name is shown.
const SHOWN_MAX: usize = 64;

/// A file without servers that could be read.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It is not JSON.
    #[error("line {line} is not JSON; correct it, or give the JSON file in which the other program keeps its servers")]
    NotJson {
        /// The line, from 1.
        line: usize,
    },
    /// There is no section with servers in it.
    #[error(
        "there are no MCP servers in it: none of {} is there; give the file in which the other program keeps its servers",
        SECTIONS.join(", ")
    )]
    NoServers,
}

/// A file with servers. Raw: what other programs keep may be secret, so it shows nothing of itself.
pub struct Imported {
    /// The servers, in the order of the file.
    pub servers: Vec<Found>,
    /// What of the file is not taken, and why.
    pub notes: Vec<String>,
}

/// One server of the file, as raw as the whole.
pub struct Found {
    /// The name it gets.
    pub name: ServerName,
    /// Its name in the file, where it is another one. Without control characters and not without end.
    pub original: Option<String>,
    /// The entry; or why there cannot be one.
    pub server: Result<ServerConfig, &'static str>,
    /// What is not as it was in the file.
    pub notes: Vec<String>,
}

/// Reads the servers of a file.
///
/// # Errors
/// It is not JSON, or there is no section with servers.
pub fn read(text: &str) -> Result<Imported, ImportError> {
    let plain = comments::without(text.trim_start_matches('\u{feff}'));
    let document: Value =
        serde_json::from_str(&plain).map_err(|error| ImportError::NotJson { line: error.line().max(1) })?;
    let Value::Object(document) = document else { return Err(ImportError::NoServers) };
    let mut notes = Vec::new();
    let sections = sections(&document, &mut notes);
    if sections.is_empty() {
        return Err(ImportError::NoServers);
    }
    let mut servers: Vec<Found> = Vec::new();
    for (original, entry) in sections.into_iter().flatten() {
        let taken = |name: &str| servers.iter().any(|found| found.name.as_str().eq_ignore_ascii_case(name));
        let name = name_of(original, &taken);
        let mut notes = Vec::new();
        let original = (name.as_str() != original).then(|| shown(original));
        if original.is_some() {
            notes.push("has another name here: names have letters, digits, '-', '_' and '.', each once".to_owned());
        }
        let server = Entry { notes: &mut notes, server: ServerConfig::default() }.read(entry);
        servers.push(Found { name, original, server, notes });
    }
    Ok(Imported { servers, notes })
}

/// The sections with servers; or the whole document, where it is one.
fn sections<'a>(document: &'a Map<String, Value>, notes: &mut Vec<String>) -> Vec<&'a Map<String, Value>> {
    let outer = OUTER_SECTIONS.iter().filter_map(|name| document.get(*name)?.as_object());
    let places = std::iter::once(document).chain(outer);
    let mut found: Vec<_> =
        places.flat_map(|place| SECTIONS.iter().filter_map(|name| place.get(*name)?.as_object())).collect();
    let looks_like = |entry: &Value| {
        entry.as_object().is_some_and(|entry| {
            entry.contains_key("command") || ADDRESSES.iter().any(|address| entry.contains_key(*address))
        })
    };
    if found.is_empty() && !document.is_empty() && document.values().all(looks_like) {
        found.push(document);
    }
    let projects = document.get("projects").and_then(Value::as_object);
    let of_projects = projects
        .into_iter()
        .flat_map(Map::values)
        .filter_map(|project| project.get("mcpServers")?.as_object())
        .map(Map::len)
        .sum::<usize>();
    if of_projects > 0 {
        notes.push(format!("servers of single projects are not read: {of_projects}"));
    }
    found
}

/// The nearest name that hermes allows and that is free.
fn name_of(original: &str, taken: &dyn Fn(&str) -> bool) -> ServerName {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mapped: String = original.chars().map(|c| if allowed(c) { c } else { '-' }).collect();
    let trimmed = mapped.trim_start_matches(|c: char| !c.is_ascii_alphanumeric()).trim_end_matches('-');
    let base = if trimmed.is_empty() { "server" } else { trimmed };
    (1u32..)
        .filter_map(|n| {
            let end = if n == 1 { String::new() } else { format!("-{n}") };
            let text = format!("{}{end}", &base[..base.len().min(SERVER_NAME_MAX - end.len())]);
            text.parse::<ServerName>().ok().filter(|name| !taken(name.as_str()))
        })
        .next()
        .unwrap_or_else(|| unreachable!("there are more numbers than servers in a file"))
}

/// A name out of the file, as a note shows it.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(SHOWN_MAX).collect()
}

/// An entry while it is read.
struct Entry<'a> {
    notes: &'a mut Vec<String>,
    server: ServerConfig,
}

impl Entry<'_> {
    fn read(mut self, entry: &Value) -> Result<ServerConfig, &'static str> {
        let Value::Object(fields) = entry else { return Err("is not an object") };
        let kind = fields.get("type").and_then(Value::as_str).unwrap_or("stdio");
        let address = ADDRESSES.iter().find(|address| fields.get(**address).is_some_and(|value| !value.is_null()));
        let command = fields.get("command").filter(|command| !command.is_null());
        if !matches!(kind, "stdio" | "local" | "custom") || (address.is_some() && command.is_none()) {
            return Err("is reached over the network; hermes runs servers that speak over their standard streams");
        }
        if let Some(address) = address {
            self.notes.push(format!("{address} is left out: command is what is used"));
        }
        self.command(command.ok_or("has no command")?)?;
        for (field, value) in fields {
            self.field(field, value)?;
        }
        self.split_command();
        self.references();
        let empty = self.server.command.trim().is_empty();
        if empty { Err("has no command") } else { Ok(self.server) }
    }

    /// A text; or the words of the command line; or a table with the program and the rest.
    fn command(&mut self, command: &Value) -> Result<(), &'static str> {
        match command {
            Value::String(text) => self.server.command.clone_from(text),
            Value::Array(_) => {
                let mut words = texts(command).ok_or("has a command that is no list of texts")?.into_iter();
                self.server.command = words.next().unwrap_or_default();
                self.server.args = words.collect();
            }
            Value::Object(parts) => {
                for (field, value) in parts {
                    match field.as_str() {
                        "path" | "command" => match value.as_str() {
                            Some(path) => path.clone_into(&mut self.server.command),
                            None => return Err("has a command that is no text"),
                        },
                        _ => self.field(field, value)?,
                    }
                }
            }
            _ => return Err("has a command that is no text"),
        }
        Ok(())
    }

    fn field(&mut self, field: &str, value: &Value) -> Result<(), &'static str> {
        let server = &mut self.server;
        let misread = match field {
            "command" => false,
            _ if value.is_null() || NO_MATTER.contains(&field) || ADDRESSES.contains(&field) => false,
            "args" | "arguments" => {
                server.args.extend(texts(value).ok_or("has args that are no list of texts")?);
                false
            }
            "env" | "environment" => return self.env(value),
            "cwd" | "workingDirectory" | "working_directory" => match value.as_str().filter(|cwd| !cwd.is_empty()) {
                Some(cwd) => {
                    server.cwd = Some(cwd.into());
                    false
                }
                None => true,
            },
            "disabled" => truth(value).map(|off| server.enabled = !off).is_none(),
            "enabled" => truth(value).map(|on| server.enabled = on).is_none(),
            "trust" => {
                let trust = |trusted| if trusted { Trust::Full } else { Trust::Untrusted };
                truth(value).map(|trusted| server.trust = trust(trusted)).is_none()
            }
            "timeout" => return self.timeout(value),
            "includeTools" | "tools" => match patterns(value) {
                // Everything is what is offered where nothing is said.
                Some(names) if names == ["*"] => false,
                Some(names) => {
                    server.tools.include = Some(names);
                    false
                }
                None => true,
            },
            "excludeTools" => patterns(value).map(|names| server.tools.exclude = names).is_none(),
            "envFile" => {
                let note = "envFile is not read: set its variables where hermes runs, and name them in env_pass";
                self.notes.push(note.to_owned());
                false
            }
            _ => true,
        };
        if misread {
            self.notes.push(format!("{} is left out: hermes knows nothing like it", shown(field)));
        }
        Ok(())
    }

    fn env(&mut self, value: &Value) -> Result<(), &'static str> {
        let mut pairs: BTreeMap<String, Option<String>> = BTreeMap::new();
        match value {
            Value::Object(variables) => {
                pairs.extend(variables.iter().map(|(name, value)| (name.clone(), text(value))));
            }
            // `["NAME=VALUE"]`
            Value::Array(lines) => {
                let pair = |line: &Value| {
                    let (name, value) = line.as_str()?.split_once('=')?;
                    Some((name.to_owned(), Some(value.to_owned())))
                };
                pairs.extend(lines.iter().map(pair).collect::<Option<Vec<_>>>().ok_or("has an env that is no table")?);
            }
            _ => return Err("has an env that is no table"),
        }
        for (name, value) in pairs {
            let wrong = name.is_empty() || name.chars().any(|c| c == '=' || c.is_control() || c.is_whitespace());
            match value {
                Some(value) if !wrong => drop(self.server.env.insert(name, value)),
                _ => self.notes.push(format!("env.{} is left out: it is no variable with a text", shown(&name))),
            }
        }
        Ok(())
    }

    fn timeout(&mut self, value: &Value) -> Result<(), &'static str> {
        let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
        let time = match number {
            Some(number) if number > 0.0 && number < MILLISECONDS_FROM => {
                self.notes.push("timeout is taken as seconds: it is too small for milliseconds".to_owned());
                Duration::try_from_secs_f64(number).ok()
            }
            Some(number) => Duration::try_from_secs_f64(number / 1000.0).ok(),
            None => value.as_str().and_then(|text| duration::parse(text).ok()),
        };
        // Whole milliseconds are what the configuration can say.
        let time = time.map(|time| Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)));
        match time.filter(|time| !time.is_zero()) {
            Some(time) => self.server.timeout = time,
            None => self.notes.push("timeout is left out: it is no time".to_owned()),
        }
        Ok(())
    }

    /// Some programs take a whole command line as the command.
    fn split_command(&mut self) {
        let command = &self.server.command;
        let is_path = command.contains('/') && self.server.args.is_empty() && !command.trim().contains(" -");
        if !self.server.args.is_empty() || is_path || command.contains(['"', '\'', '\\', '$']) {
            return;
        }
        let mut words = command.split_whitespace().map(str::to_owned);
        let (first, rest) = (words.next(), words.collect::<Vec<_>>());
        if let (Some(first), false) = (first, rest.is_empty()) {
            self.server.command = first;
            self.server.args = rest;
            self.notes.push("command is cut at its spaces: the first word is the program".to_owned());
        }
    }

    /// Writes references in hermes' way, where it is plain what they stand for.
    fn references(&mut self) {
        for (name, value) in &mut self.server.env {
            let input = value.starts_with("${input:") && value.ends_with('}') && !value[2..].contains('{');
            let variable = value.strip_prefix('$').is_some_and(interpolate::is_variable);
            if variable {
                *value = format!("${{{}}}", &value[1..]);
            } else if input && interpolate::is_variable(name) {
                *value = format!("${{{name}}}");
                self.notes.push(format!("env.{name} was asked for by the other program: set {name} where hermes runs"));
            }
        }
        let args = self.server.args.iter().enumerate().map(|(n, text)| (format!("args[{n}]"), text.as_str()));
        let env = self.server.env.iter().map(|(name, text)| (format!("env.{}", shown(name)), text.as_str()));
        let command = [("command".to_owned(), self.server.command.as_str())];
        for (key, text) in command.into_iter().chain(args).chain(env) {
            if !interpolate::is_known(text) {
                self.notes.push(format!(
                    "{key} has a reference that hermes does not know; correct it before the first start"
                ));
            }
        }
    }
}

/// A text; numbers and truths as they are written.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// A list of texts; one text is a list of one.
fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Array(items) => items.iter().map(text).collect(),
        single => text(single).map(|text| vec![text]),
    }
}

/// A list of names that can be patterns.
fn patterns(value: &Value) -> Option<Vec<String>> {
    texts(value).filter(|names| value.is_array() && names.iter().all(|name| pattern::is_pattern(name)))
}

/// A truth, in any of the ways people write one.
fn truth(value: &Value) -> Option<bool> {
    match text(value)?.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
