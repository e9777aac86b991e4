//! Every value of the configuration in force, and where it came from. For people and scripts that ask what is so.
//!
//! Values of a plugin's own settings are not told: they are the plugin's business, and could be secrets. Nor is what a
//! server is started with.

use hermes_model::config::Config;
use serde::Serialize;
use toml::{Table, Value};

/// What stands for a value that is not told.
const NOT_TOLD: &str = "(set)";

/// What of a server's entry is told: numbers, times and words of ours. Commands, arguments, variables and folders are not.
const TOLD_OF_SERVERS: [&str; 11] = [
    "confirmed",
    "connect_timeout",
    "enabled",
    "idle_timeout",
    "keepalive",
    "lazy",
    "parallel",
    "timeout",
    "tools",
    "transform",
    "trust",
];

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Nobody set it.
    Default,
    /// `config.toml` does.
    File,
}

impl Source {
    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File => "config.toml",
        }
    }
}

/// One value in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Effective {
    /// The key, with its section.
    pub key: String,
    /// The value, as TOML has it.
    pub value: String,
    /// Where it came from.
    pub source: Source,
}

/// The values in force, in the order of their keys. `given` is what the file says, as far as it could be read.
pub(crate) fn of(config: &Config, given: &Table) -> Vec<Effective> {
    let mut found = Vec::new();
    if let Ok(all) = Table::try_from(config) {
        collect(&mut Vec::new(), &all, Some(given), &mut found);
    }
    found.sort_by(|a, b| a.key.cmp(&b.key));
    found
}

fn collect<'a>(path: &mut Vec<&'a str>, all: &'a Table, given: Option<&Table>, found: &mut Vec<Effective>) {
    for (name, value) in all {
        let told = given.and_then(|given| given.get(name));
        path.push(name);
        match value {
            Value::Table(inner) => collect(path, inner, told.and_then(Value::as_table), found),
            // Each server has a dozen of defaults, and nobody asks which they are twenty times.
            _ if told.is_none() && path[0] == "mcp_servers" => {}
            _ => {
                let source = if told.is_some() { Source::File } else { Source::Default };
                let value = if may_be_told(path) { value.to_string() } else { NOT_TOLD.to_owned() };
                found.push(Effective { key: path.join("."), value, source });
            }
        }
        path.pop();
    }
}

/// Whether the value at a path is no secret of anybody.
fn may_be_told(path: &[&str]) -> bool {
    match path {
        ["plugins", _, "settings", ..] => false,
        ["mcp_servers", _, key, ..] => TOLD_OF_SERVERS.contains(key),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_told_with_its_source_and_a_plugins_settings_are_not() {
        let text = "[output]\nreply_bytes = 20000\n[plugins.a.settings]\nkey = \"hunter2\"\n[plugins.a.limits]\ncall = \"1s\"\n";
        let config: Config = toml::from_str(text).unwrap();
        let found = of(&config, &text.parse().unwrap());
        let told =
            |key: &str| found.iter().find(|effective| effective.key == key).map(|e| (e.value.as_str(), e.source));
        assert_eq!(told("output.reply_bytes"), Some(("20000", Source::File)));
        assert_eq!(told("output.ring_bytes"), Some(("8388608", Source::Default)));
        assert_eq!(told("policy.transforms_see"), Some(("\"masked\"", Source::Default)));
        assert_eq!(told("plugins.a.limits.call"), Some(("\"1s\"", Source::File)));
        assert_eq!(told("plugins.a.settings.key"), Some((NOT_TOLD, Source::File)));
    }

    #[test]
    fn what_a_server_is_started_with_is_not_told() {
        let text = "[mcp_servers.git]\ncommand = \"c-hunter2\"\nargs = [\"hunter2\"]\nenv = { timeout = \"hunter2\" }\n\
                    cwd = \"/hunter2\"\nenv_pass = [\"hunter2\"]\ntimeout = \"5s\"\ntools.exclude = [\"delete_*\"]\n";
        let config: Config = toml::from_str(text).unwrap();
        let found = of(&config, &text.parse().unwrap());
        assert!(found.iter().all(|effective| !effective.value.contains("hunter2")), "{found:?}");
        let told = |key: &str| found.iter().find(|effective| effective.key == key).map(|e| e.value.as_str());
        assert_eq!(told("mcp_servers.git.timeout"), Some("\"5s\""));
        assert_eq!(told("mcp_servers.git.tools.exclude"), Some("[\"delete_*\"]"));
        assert_eq!(told("mcp_servers.git.env.timeout"), Some(NOT_TOLD));
        assert_eq!(told("mcp_servers.git.parallel"), None, "only what the file says");
    }
}
