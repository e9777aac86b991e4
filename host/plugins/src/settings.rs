//! A plugin's settings: what the generation and the configuration say, validated against the manifest's schema.
//!
//! A text of the configuration that is `${NAME}` stands for a variable, so that a token need not be written into a file.

use hermes_home::variables;
use hermes_model::config::{PluginConfig, SettingValue};
use hermes_model::interpolate;
use serde_json::{Map, Value};

use crate::manifest::Manifest;
use crate::problem::{Code, Problem};

/// The settings as the JSON object a plugin is configured with. The configuration wins over the generation.
///
/// # Errors
/// A setting the schema refuses, by name and rule; values are not quoted.
pub(crate) fn effective(
    manifest: &Manifest,
    stored: &Map<String, Value>,
    config: &PluginConfig,
) -> Result<String, Problem> {
    effective_with(manifest, stored, config, &variables::named)
}

/// [`effective`], with how a variable is looked up.
fn effective_with(
    manifest: &Manifest,
    stored: &Map<String, Value>,
    config: &PluginConfig,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<String, Problem> {
    let refused = |subject: String, message: String| {
        let next = format!("correct [plugins.{}.settings] in config.toml", manifest.name);
        Problem::new(Code::ConfigInvalid, subject, message, next)
    };
    let mut settings = stored.clone();
    for (name, value) in &config.settings {
        let value = json(value, lookup).map_err(|Unset(variable)| {
            let message = format!("setting '{name}' names the variable {variable}, which is not set where hermes runs");
            refused(name.clone(), message)
        })?;
        settings.insert(name.clone(), value);
    }
    match &manifest.settings {
        None => {
            if let Some(name) = settings.keys().next() {
                return Err(refused(
                    name.clone(),
                    format!("setting '{name}' is given, and the plugin has no settings"),
                ));
            }
        }
        Some(schema) => {
            let validator = jsonschema::validator_for(schema)
                .map_err(|error| refused("settings".to_owned(), format!("the schema cannot be used: {error}")))?;
            let given = Value::Object(settings.clone());
            if let Some(error) = validator.iter_errors(&given).next() {
                let path = error.instance_path().to_string();
                let path =
                    if path.is_empty() { "settings".to_owned() } else { path.trim_start_matches('/').to_owned() };
                return Err(refused(path.clone(), format!("setting '{path}': {}", error.masked())));
            }
        }
    }
    Ok(Value::Object(settings).to_string())
}

/// Whether the plugin can be without settings: its schema asks for none that has no default.
pub(crate) fn may_be_default(manifest: &Manifest) -> bool {
    let Some(schema) = &manifest.settings else { return true };
    jsonschema::validator_for(schema).is_ok_and(|validator| validator.is_valid(&Value::Object(Map::new())))
}

/// A variable that is not set, or holds no text.
struct Unset(String);

fn json(value: &SettingValue, lookup: &dyn Fn(&str) -> Option<String>) -> Result<Value, Unset> {
    Ok(match value {
        SettingValue::Bool(value) => Value::Bool(*value),
        SettingValue::Integer(value) => Value::from(*value),
        SettingValue::Float(value) => Value::from(*value),
        SettingValue::Text(value) => Value::String(text(value, lookup)?),
        SettingValue::List(items) => {
            Value::Array(items.iter().map(|item| json(item, lookup)).collect::<Result<_, _>>()?)
        }
        SettingValue::Table(items) => Value::Object(
            items.iter().map(|(name, value)| Ok((name.clone(), json(value, lookup)?))).collect::<Result<_, _>>()?,
        ),
    })
}

/// What a text stands for: `${NAME}`, all of it, is a variable, and `$${NAME}` the text without its first `$`.
fn text(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, Unset> {
    let inner = |text: &str| {
        let name = text.strip_prefix("${")?.strip_suffix('}')?;
        interpolate::is_variable(name).then(|| name.to_owned())
    };
    if let Some(name) = inner(text) {
        return lookup(&name).filter(|value| !value.is_empty()).ok_or(Unset(name));
    }
    let escaped = text.strip_prefix('$').filter(|rest| inner(rest).is_some());
    Ok(escaped.unwrap_or(text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(settings: &str) -> Manifest {
        let text = format!(
            "name = \"a\"\nversion = \"1.0.0\"\ndescription = \"d\"\nlicense = \"MIT\"\nrequires-hermes = \"*\"\n\
             hooks = [\"redact\"]\n{settings}"
        );
        Manifest::parse(text.as_bytes()).unwrap()
    }

    const SCHEMA: &str = "[settings]\ntype = \"object\"\nadditionalProperties = false\nproperties.n = { type = \"integer\", minimum = 3 }\n";

    #[test]
    fn the_configuration_wins_over_the_generation() {
        let mut stored = Map::new();
        stored.insert("n".into(), Value::from(5));
        let mut config = PluginConfig::default();
        assert_eq!(effective(&manifest(SCHEMA), &stored, &config).unwrap(), r#"{"n":5}"#);
        config.settings.insert("n".into(), SettingValue::Integer(7));
        assert_eq!(effective(&manifest(SCHEMA), &stored, &config).unwrap(), r#"{"n":7}"#);
    }

    #[test]
    fn a_text_that_names_a_variable_stands_for_its_value() {
        let schema = "[settings]\ntype = \"object\"\n";
        let lookup = |name: &str| (name == "TOKEN").then(|| "s3cret".to_owned());
        let of = |written: &str| {
            let mut config = PluginConfig::default();
            config.settings.insert("t".into(), SettingValue::List(vec![SettingValue::Text(written.into())]));
            effective_with(&manifest(schema), &Map::new(), &config, &lookup)
        };
        assert_eq!(of("${TOKEN}").unwrap(), r#"{"t":["s3cret"]}"#);
        assert_eq!(of("$${TOKEN}").unwrap(), r#"{"t":["${TOKEN}"]}"#);
        for as_it_is in ["a ${TOKEN}", "${TOKEN} b", "${}", "${a-b}", "$5", "$$"] {
            assert_eq!(of(as_it_is).unwrap(), format!(r#"{{"t":["{as_it_is}"]}}"#));
        }
        let problem = of("${OTHER}").unwrap_err();
        assert_eq!(problem.message, "setting 't' names the variable OTHER, which is not set where hermes runs");
    }

    #[test]
    fn a_refused_setting_is_named_and_its_value_is_not_quoted() {
        let mut config = PluginConfig::default();
        config.settings.insert("n".into(), SettingValue::Text("hunter2".into()));
        let problem = effective(&manifest(SCHEMA), &Map::new(), &config).unwrap_err();
        assert_eq!((problem.code, problem.subject.as_str()), (Code::ConfigInvalid, "n"));
        assert!(!problem.message.contains("hunter2"), "{}", problem.message);
        assert_eq!(effective(&manifest(""), &Map::new(), &config).unwrap_err().code, Code::ConfigInvalid);
    }
}
