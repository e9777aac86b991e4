//! Every value of the configuration in force, and where it came from. For people and scripts that ask what is so.
//!
//! Values of a plugin's own settings are not told: they are the plugin's business, and could be secrets.

use hermes_model::config::Config;
use serde::Serialize;
use toml::{Table, Value};

/// What stands for a value that is not told.
const NOT_TOLD: &str = "(set)";

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
        collect("", &all, Some(given), &mut found);
    }
    found.sort_by(|a, b| a.key.cmp(&b.key));
    found
}

fn collect(path: &str, all: &Table, given: Option<&Table>, found: &mut Vec<Effective>) {
    for (name, value) in all {
        let key = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let told = given.and_then(|given| given.get(name));
        match value {
            Value::Table(inner) => collect(&key, inner, told.and_then(Value::as_table), found),
            _ => {
                let source = if told.is_some() { Source::File } else { Source::Default };
                let of_a_plugin = key.starts_with("plugins.") && key.contains(".settings.");
                let value = if of_a_plugin { NOT_TOLD.to_owned() } else { value.to_string() };
                found.push(Effective { key, value, source });
            }
        }
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
}
