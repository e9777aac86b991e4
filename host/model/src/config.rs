//! `config.toml` as data: sections, defaults and the source of each number. Reading files is `home`'s.
//!
//! Unknown keys are refused; the reader adds "did you mean". A section a later version adds is added here.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::event::EventKind;
use crate::id::{PluginName, ServerName};

pub mod servers;

use servers::ServerConfig;

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// What must be in force before anything is shown.
    pub policy: PolicyConfig,
    /// Settings and limits by plugin.
    pub plugins: BTreeMap<PluginName, PluginConfig>,
    /// How much is kept and shown.
    pub output: OutputConfig,
    /// How commands run.
    pub terminal: TerminalConfig,
    /// What wakes an agent.
    pub notifications: NotificationsConfig,
    /// The running host.
    pub host: HostConfig,
    /// The MCP servers, by name.
    pub mcp_servers: BTreeMap<ServerName, ServerConfig>,
}

/// `[policy]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyConfig {
    /// Plugins without which output is withheld: each must be loaded and its canaries must pass.
    pub required: Vec<PluginName>,
    /// What transforms are given.
    pub transforms_see: TransformsSee,
}

/// What transforms are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TransformsSee {
    /// The text after redaction, so that nothing they drop can hide a secret from it.
    #[default]
    Masked,
    /// The text before redaction. Redaction then runs on what they return.
    Raw,
}

/// `[plugins.NAME]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PluginConfig {
    /// Settings, validated against the manifest's schema; they win over those of the generation.
    pub settings: BTreeMap<String, SettingValue>,
    /// Limits of this plugin.
    pub limits: PluginLimitsConfig,
}

/// A value of a plugin's settings: what TOML and JSON have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SettingValue {
    /// true or false.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<SettingValue>),
    /// A table.
    Table(BTreeMap<String, SettingValue>),
}

/// `[plugins.NAME.limits]`: what is not set keeps the default of the hook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PluginLimitsConfig {
    /// CPU time for one call, whatever the size of its text.
    #[serde(with = "optional_duration", skip_serializing_if = "Option::is_none")]
    pub call: Option<Duration>,
    /// More CPU time for each MiB of text.
    #[serde(with = "optional_duration", skip_serializing_if = "Option::is_none")]
    pub call_per_mib: Option<Duration>,
    /// Linear memory of all its memories together, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// What one call may return, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
}

/// `[output]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OutputConfig {
    /// The ring of the last bytes kept for a process.
    pub ring_bytes: u64,
    /// The longest text of one reply.
    pub reply_bytes: u64,
}

/// The smallest ring: below it, a reply of the default size would not fit.
pub const RING_BYTES_MIN: u64 = 64 * 1024;
/// The largest ring for one process (design: 8 MiB by default, to 64 MiB).
pub const RING_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The least processor time of a call: two ticks of the clock that keeps it.
pub const CALL_MIN: Duration = Duration::from_millis(10);
/// The least memory: what the smallest Rust component starts with (1.1 MiB), rounded up.
pub const MEMORY_BYTES_MIN: u64 = 2 * 1024 * 1024;
/// The least a call may return: the findings of a few masks.
pub const OUTPUT_BYTES_MIN: u64 = 4096;
/// The smallest reply that can hold a notice and a line.
pub const REPLY_BYTES_MIN: u64 = 1024;

impl Default for OutputConfig {
    fn default() -> Self {
        Self { ring_bytes: 8 * 1024 * 1024, reply_bytes: 50_000 }
    }
}

/// `[terminal]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TerminalConfig {
    /// The shell of `run -c`.
    pub shell: String,
    /// How long a process has between TERM and KILL.
    #[serde(with = "crate::duration::text")]
    pub term_grace: Duration,
    /// How long an agent's foreground command may run where it names no time.
    #[serde(with = "crate::duration::text")]
    pub timeout: Duration,
    /// How long an agent waits at most for a foreground command; then it goes on in the background.
    #[serde(with = "crate::duration::text")]
    pub foreground_max: Duration,
    /// Whether an agent's shell commands get the environment of a login shell.
    pub login_environment: bool,
    /// Variables that no background or agent's command inherits, beside those hermes knows to be secrets of the agent
    /// itself. A `*` at the end stands for anything.
    pub env_block: Vec<String>,
    /// Variables that are passed on although hermes would not.
    pub env_pass: Vec<String>,
    /// More programs that no command may kill by name while a host runs, such as the interpreter an agent runs in.
    pub guard_images: Vec<String>,
}

impl Default for TerminalConfig {
    fn default() -> Self {
        Self {
            shell: "/bin/bash".to_owned(),
            term_grace: Duration::from_secs(2),
            timeout: Duration::from_secs(180),
            foreground_max: Duration::from_secs(600),
            login_environment: true,
            env_block: Vec::new(),
            env_pass: Vec::new(),
            guard_images: Vec::new(),
        }
    }
}

/// `[notifications]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NotificationsConfig {
    /// Which events of background processes wake somebody.
    pub background: BackgroundNotifications,
    /// The longest output of a completion, in bytes, where the command asks for no other.
    pub completion_bytes: u64,
    /// Whether events are shown on the desktop too.
    pub desktop: bool,
    /// The kinds of events that are.
    pub desktop_kinds: Vec<EventKind>,
}

impl Default for NotificationsConfig {
    fn default() -> Self {
        Self {
            background: BackgroundNotifications::default(),
            completion_bytes: 2000,
            desktop: false,
            desktop_kinds: vec![EventKind::Completion, EventKind::Match, EventKind::Server],
        }
    }
}

/// Which events of background processes wake somebody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackgroundNotifications {
    /// What was asked for: completions, matches, heartbeats.
    #[default]
    Concise,
    /// The same, and the completion of every background process, asked for or not.
    All,
    /// Completions that were asked for, and nothing else.
    Result,
    /// Completions that were asked for, of processes that did not exit with 0.
    Error,
    /// None. Events that are about no process are told all the same.
    Off,
}

/// `[host]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostConfig {
    /// How long a host that was started for `run -b` stays with nothing to do: no process, no event that nobody took, no
    /// client.
    #[serde(with = "crate::duration::text")]
    pub idle_exit: Duration,
}

impl Default for HostConfig {
    fn default() -> Self {
        Self { idle_exit: Duration::from_secs(600) }
    }
}

/// The smallest output of a completion that can hold a line and the notice.
pub const COMPLETION_BYTES_MIN: u64 = 200;

/// What a value must be, where its type alone does not say.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: {rule}")]
pub struct BadValue {
    /// The key, with its section.
    pub key: String,
    /// The value given.
    pub value: String,
    /// What it must be.
    pub rule: String,
}

impl Config {
    /// Checks what the types cannot say.
    ///
    /// # Errors
    /// The first value out of its range, with the range.
    pub fn validate(&self) -> Result<(), BadValue> {
        let ring = self.output.ring_bytes;
        if !(RING_BYTES_MIN..=RING_BYTES_MAX).contains(&ring) {
            let rule = format!("must be between {RING_BYTES_MIN} and {RING_BYTES_MAX} bytes");
            return Err(BadValue { key: "output.ring_bytes".to_owned(), value: ring.to_string(), rule });
        }
        let reply = self.output.reply_bytes;
        if !(REPLY_BYTES_MIN..=RING_BYTES_MAX).contains(&reply) {
            let rule = format!("must be between {REPLY_BYTES_MIN} and {RING_BYTES_MAX} bytes");
            return Err(BadValue { key: "output.reply_bytes".to_owned(), value: reply.to_string(), rule });
        }
        if !self.terminal.shell.starts_with('/') {
            let rule = "must be an absolute path, as in '/bin/bash'".to_owned();
            return Err(BadValue { key: "terminal.shell".to_owned(), value: self.terminal.shell.clone(), rule });
        }
        let completion = self.notifications.completion_bytes;
        if !(COMPLETION_BYTES_MIN..=RING_BYTES_MAX).contains(&completion) {
            let rule = format!("must be between {COMPLETION_BYTES_MIN} and {RING_BYTES_MAX} bytes");
            let key = "notifications.completion_bytes".to_owned();
            return Err(BadValue { key, value: completion.to_string(), rule });
        }
        for (key, value) in [("timeout", self.terminal.timeout), ("foreground_max", self.terminal.foreground_max)] {
            if value.is_zero() {
                let rule = "must be more than nothing, as in '180s'".to_owned();
                return Err(BadValue { key: format!("terminal.{key}"), value: crate::duration::display(value), rule });
            }
        }
        self.plugins.iter().try_for_each(|(name, plugin)| plugin.limits.validate(name))?;
        self.mcp_servers.iter().try_for_each(|(name, server)| server.validate(name))
    }
}

impl PluginLimitsConfig {
    /// Checks the limits of the plugin `name`: with less than these no plugin can answer, and all output is withheld.
    fn validate(&self, name: &PluginName) -> Result<(), BadValue> {
        let wrong = |key: &str, value: String, rule: String| {
            Err(BadValue { key: format!("plugins.{name}.limits.{key}"), value, rule })
        };
        if let Some(call) = self.call.filter(|call| *call < CALL_MIN) {
            let rule = format!("must be at least {}", crate::duration::display(CALL_MIN));
            return wrong("call", crate::duration::display(call), rule);
        }
        if let Some(memory) = self.memory_bytes.filter(|memory| *memory < MEMORY_BYTES_MIN) {
            return wrong("memory_bytes", memory.to_string(), format!("must be at least {MEMORY_BYTES_MIN} bytes"));
        }
        if let Some(output) = self.output_bytes.filter(|output| *output < OUTPUT_BYTES_MIN) {
            return wrong("output_bytes", output.to_string(), format!("must be at least {OUTPUT_BYTES_MIN} bytes"));
        }
        Ok(())
    }
}

/// Serde for an optional duration.
mod optional_duration {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| crate::duration::parse(&text).map_err(serde::de::Error::custom)).transpose()
    }

    #[expect(clippy::ref_option, reason = "serde passes the field by reference")]
    pub(super) fn serialize<S: Serializer>(value: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(duration) => serializer.serialize_str(&crate::duration::display(*duration)),
            None => serializer.serialize_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_is_the_defaults() {
        assert_eq!(toml::from_str::<Config>("").unwrap(), Config::default());
        Config::default().validate().unwrap();
    }

    #[test]
    fn an_unknown_key_is_refused_by_name() {
        let error = toml::from_str::<Config>("[policy]\nrequird = []\n").unwrap_err().to_string();
        assert!(error.contains("requird"), "{error}");
    }

    #[test]
    fn a_value_out_of_range_names_the_range() {
        let config: Config = toml::from_str("[output]\nring_bytes = 10\n").unwrap();
        let error = config.validate().unwrap_err().to_string();
        assert!(error.contains("output.ring_bytes = 10: must be between 65536 and 67108864"), "{error}");
    }
}
