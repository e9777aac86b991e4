//! Names that cross rooms: plugins, processes, owners. No bare string stands for one of them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest plugin name, so that it fits a table column and a file name.
pub const PLUGIN_NAME_MAX: usize = 64;

/// A plugin's name: lower-case letters, digits and single `-` between them, starting with a letter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PluginName(String);

/// Why a text is not a plugin name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a plugin name: use 1 to 64 lower-case letters, digits and '-', starting with a letter, as in 'mask-ids'"
)]
pub struct BadPluginName(String);

impl PluginName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PluginName {
    type Err = BadPluginName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let shaped = text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.len() <= PLUGIN_NAME_MAX
            && !text.ends_with('-')
            && !text.contains("--")
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if shaped {
            Ok(Self(text.to_owned()))
        } else {
            // The text may be anything, a path or worse: enough of it to recognise, no control characters.
            let shown: String = text.chars().filter(|c| !c.is_control()).take(PLUGIN_NAME_MAX).collect();
            Err(BadPluginName(shown))
        }
    }
}

impl TryFrom<String> for PluginName {
    type Error = BadPluginName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<PluginName> for String {
    fn from(name: PluginName) -> Self {
        name.0
    }
}

impl fmt::Display for PluginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The longest name of a server: with a tool's name behind it, it must fit the 64 characters clients allow.
pub const SERVER_NAME_MAX: usize = 48;

/// The name of an MCP server: letters, digits, `-`, `_` and `.`, starting with a letter or a digit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ServerName(String);

/// Why a text is not the name of a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a server name: use 1 to {SERVER_NAME_MAX} letters, digits, '-', '_' and '.', starting with a letter or a digit, as in 'github'"
)]
pub struct BadServerName(String);

impl ServerName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ServerName {
    type Err = BadServerName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let shaped = text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.len() <= SERVER_NAME_MAX
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
        if shaped {
            Ok(Self(text.to_owned()))
        } else {
            let shown: String = text.chars().filter(|c| !c.is_control()).take(SERVER_NAME_MAX).collect();
            Err(BadServerName(shown))
        }
    }
}

impl TryFrom<String> for ServerName {
    type Error = BadServerName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ServerName> for String {
    fn from(name: ServerName) -> Self {
        name.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The id of one running or finished command: `proc_` and 12 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ProcessId(String);

impl ProcessId {
    /// Makes an id of 6 random bytes.
    pub fn from_random(bytes: [u8; 6]) -> Self {
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        Self(format!("proc_{hex}"))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What every process id begins with.
pub const PROCESS_ID_PREFIX: &str = "proc_";
/// How many hexadecimal digits follow.
pub const PROCESS_ID_DIGITS: usize = 12;

/// Why a text is not a process id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a process id: it is '{PROCESS_ID_PREFIX}' and {PROCESS_ID_DIGITS} hexadecimal digits")]
pub struct BadProcessId(String);

impl FromStr for ProcessId {
    type Err = BadProcessId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix(PROCESS_ID_PREFIX).unwrap_or_default();
        if digits.len() == PROCESS_ID_DIGITS && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadProcessId(text.chars().filter(|c| !c.is_control()).take(40).collect()))
        }
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Who may see and end a process: an MCP session, a command-line user, a named agent task.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Owner(String);

impl Owner {
    /// Names an owner. Any text does; only equality is ever asked.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The owner as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Owner {
    /// The owner of what a person runs at a command line.
    fn default() -> Self {
        Self::new("cli")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_name_is_lower_case_words_joined_by_single_dashes() {
        for good in ["a", "redact-secrets", "x9", "a-1-b"] {
            assert!(good.parse::<PluginName>().is_ok(), "{good}");
        }
        let long = "a".repeat(PLUGIN_NAME_MAX + 1);
        for bad in ["", "-a", "a-", "a--b", "A", "a_b", "../x", "a b", "1a", "ä", &long] {
            assert!(bad.parse::<PluginName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_bad_name_is_quoted_without_its_control_characters() {
        let error = "a\u{1b}[31m".parse::<PluginName>().unwrap_err().to_string();
        assert!(!error.contains('\u{1b}'), "{error}");
    }

    #[test]
    fn a_process_id_is_proc_and_twelve_hex_digits() {
        let id = ProcessId::from_random([0, 1, 0xab, 0xff, 16, 9]);
        assert_eq!(id.as_str(), "proc_0001abff1009");
        assert_eq!(id.as_str().parse(), Ok(id));
        for bad in ["", "proc_", "proc_0001abff100", "proc_0001ABFF1009", "0001abff1009", "proc_0001abff10099"] {
            assert!(bad.parse::<ProcessId>().is_err(), "{bad}");
        }
    }
}
