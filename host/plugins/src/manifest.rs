//! `plugin.toml`: what a plugin says of itself and asks for. The file stands beside the source and, after `pack`, inside
//! the component. Unknown keys are refused with a suggestion.

use std::collections::BTreeMap;

use hermes_model::hook::Hook;
use hermes_model::id::PluginName;
use hermes_model::suggest;
use semver::{Version, VersionReq};
use serde::Deserialize;
use serde_json::Value;

use crate::permission::{BadPermission, Permission};

/// The largest manifest: it holds a schema and a few canaries, not data.
pub const MANIFEST_MAX: usize = 256 * 1024;

/// A manifest that has been read and checked.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The plugin's name.
    pub name: PluginName,
    /// Its version.
    pub version: Version,
    /// One line for lists.
    pub description: String,
    /// Who wrote it.
    pub authors: Vec<String>,
    /// An SPDX expression.
    pub license: String,
    /// The versions of hermes it is for.
    pub requires_hermes: VersionReq,
    /// The hooks it exports.
    pub hooks: Vec<Hook>,
    /// What it asks for beyond its world.
    pub permissions: Vec<Permission>,
    /// A JSON Schema of its settings, if it has any.
    pub settings: Option<Value>,
    /// What it must show to count as loaded.
    pub canaries: Vec<Canary>,
}

/// A text and what the plugin must make of it. A plugin whose canary fails is not loaded.
#[derive(Clone, Debug)]
pub struct Canary {
    /// A sentence for reports.
    pub name: String,
    /// The text given.
    pub text: String,
    /// The command line given with it.
    pub command: String,
    /// The exit code given with it.
    pub exit_code: Option<i32>,
    /// What must come of it.
    pub expect: Expect,
}

/// What a canary must show.
#[derive(Clone, Debug)]
pub enum Expect {
    /// Exactly these rules mask something; none for a text that must stay.
    Rules(Vec<String>),
    /// The text is changed or not, and the result holds and lacks these words.
    Text {
        /// Whether it must change.
        changed: bool,
        /// What must be in the result.
        contains: Vec<String>,
        /// What must not.
        lacks: Vec<String>,
    },
    /// The event is delivered, rewritten or suppressed.
    Verdict(VerdictKind),
}

/// The kind of a verdict, without its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerdictKind {
    /// Delivered as it is.
    Deliver,
    /// Delivered with another text.
    Rewrite,
    /// Not delivered.
    Suppress,
}

impl VerdictKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Deliver, Self::Rewrite, Self::Suppress];

    /// The word for it in manifests, cases and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Deliver => "deliver",
            Self::Rewrite => "rewrite",
            Self::Suppress => "suppress",
        }
    }
}

/// Why a manifest cannot be used. One line each, for a problem's message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// It is not UTF-8, or larger than [`MANIFEST_MAX`].
    #[error("the manifest is {0}")]
    Unreadable(&'static str),
    /// A key, a value or the syntax is wrong.
    #[error("plugin.toml{}: {message}", line.map_or_else(String::new, |line| format!(" line {line}")))]
    Wrong {
        /// Where, counted from 1.
        line: Option<usize>,
        /// What, with a suggestion where there is one.
        message: String,
    },
}

/// The file as written. Checked and turned into a [`Manifest`] by [`Manifest::parse`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    name: String,
    version: String,
    description: String,
    #[serde(default)]
    authors: Vec<String>,
    license: String,
    requires_hermes: String,
    hooks: Vec<String>,
    #[serde(default)]
    permissions: Vec<String>,
    #[serde(default)]
    settings: Option<BTreeMap<String, Value>>,
    #[serde(default, rename = "canary")]
    canaries: Vec<CanaryFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CanaryFile {
    name: String,
    text: String,
    #[serde(default)]
    command: String,
    exit_code: Option<i32>,
    rules: Option<Vec<String>>,
    effect: Option<Effect>,
    #[serde(default)]
    contains: Vec<String>,
    #[serde(default)]
    lacks: Vec<String>,
    verdict: Option<VerdictKind>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Effect {
    Changed,
    Unchanged,
}

/// The keys of the file, for suggestions.
const KEYS: [&str; 10] = [
    "name",
    "version",
    "description",
    "authors",
    "license",
    "requires-hermes",
    "hooks",
    "permissions",
    "settings",
    "canary",
];
/// The keys of a canary, for suggestions.
const CANARY_KEYS: [&str; 9] =
    ["name", "text", "command", "exit_code", "rules", "effect", "contains", "lacks", "verdict"];

impl Manifest {
    /// Reads and checks a manifest.
    ///
    /// # Errors
    /// The first thing wrong, with its line.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        if bytes.len() > MANIFEST_MAX {
            return Err(ManifestError::Unreadable("larger than 256 KiB"));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| ManifestError::Unreadable("not UTF-8"))?;
        let file: File = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| line_of(text, span.start));
            ManifestError::Wrong { line, message: with_suggestion(error.message()) }
        })?;
        file.check()
    }
}

impl File {
    fn check(self) -> Result<Manifest, ManifestError> {
        let wrong = |message: String| ManifestError::Wrong { line: None, message };
        let name = self.name.parse().map_err(|error| wrong(format!("name: {error}")))?;
        let version = Version::parse(&self.version)
            .map_err(|error| wrong(format!("version '{}' is not a semantic version: {error}", self.version)))?;
        let requires_hermes = VersionReq::parse(&self.requires_hermes).map_err(|error| {
            wrong(format!("requires-hermes '{}' is not a version range: {error}", self.requires_hermes))
        })?;
        let mut hooks = Vec::new();
        for word in &self.hooks {
            let hook = Hook::ALL.into_iter().find(|hook| hook.name() == word).ok_or_else(|| {
                let known: Vec<_> = Hook::ALL.iter().map(|hook| hook.name()).collect();
                wrong(format!("hook '{word}' is not known{}", suggest::hint(word, &known)))
            })?;
            if !hooks.contains(&hook) {
                hooks.push(hook);
            }
        }
        if hooks.is_empty() {
            return Err(wrong("hooks is empty: name at least one of transform, redact, notify".to_owned()));
        }
        let permissions = self.permissions.iter().map(|text| text.parse()).collect::<Result<Vec<_>, BadPermission>>();
        let permissions = permissions.map_err(|bad| wrong(bad.to_string()))?;
        let settings = self.settings.map(|table| Value::Object(table.into_iter().collect()));
        if let Some(schema) = &settings {
            jsonschema::validator_for(schema)
                .map_err(|error| wrong(format!("settings is not a JSON Schema: {error}")))?;
        }
        let canaries = self
            .canaries
            .into_iter()
            .map(|canary| canary.check(&hooks))
            .collect::<Result<Vec<_>, _>>()
            .map_err(wrong)?;
        Ok(Manifest {
            name,
            version,
            description: one_line(&self.description),
            authors: self.authors,
            license: self.license,
            requires_hermes,
            hooks,
            permissions,
            settings,
            canaries,
        })
    }
}

impl CanaryFile {
    fn check(self, hooks: &[Hook]) -> Result<Canary, String> {
        let name = one_line(&self.name);
        let text_words = !self.contains.is_empty() || !self.lacks.is_empty();
        let expect = match (self.rules, self.effect, self.verdict) {
            (Some(rules), None, None) if hooks.contains(&Hook::Redact) && !text_words => Expect::Rules(rules),
            (None, Some(effect), None) if hooks.contains(&Hook::Transform) => {
                Expect::Text { changed: effect == Effect::Changed, contains: self.contains, lacks: self.lacks }
            }
            (None, None, Some(verdict)) if hooks.contains(&Hook::Notify) && !text_words => Expect::Verdict(verdict),
            _ => {
                return Err(format!(
                    "canary '{name}' must say one thing it must show: 'rules' for a redact hook, 'effect' for a \
                     transform hook (with 'contains' and 'lacks'), or 'verdict' for a notify hook"
                ));
            }
        };
        Ok(Canary { name, text: self.text, command: self.command, exit_code: self.exit_code, expect })
    }
}

/// Which line, counted from 1, a byte of the text is on.
fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|b| **b == b'\n').count() + 1
}

/// A description as one line without control characters: it is shown in tables.
fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_control() || c.is_whitespace())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The parser's message, in one line, with "did you mean" where a key is not known.
fn with_suggestion(message: &str) -> String {
    let line = one_line(message);
    let Some(rest) = line.strip_prefix("unknown field `") else { return line };
    let Some((key, expected)) = rest.split_once('`') else { return line };
    let known = if expected.contains("exit_code") { &CANARY_KEYS[..] } else { &KEYS[..] };
    format!("unknown key '{key}'{}", suggest::hint(key, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
name = "mask-ids"
version = "1.2.3"
description = "Masks ids."
license = "MIT"
requires-hermes = ">=0.1, <0.2"
hooks = ["redact"]

[settings]
type = "object"

[[canary]]
name = "an id"
text = "id 7"
rules = ["id"]
"#;

    #[test]
    fn a_whole_manifest_is_read() {
        let manifest = Manifest::parse(GOOD.as_bytes()).unwrap();
        assert_eq!(manifest.name.as_str(), "mask-ids");
        assert_eq!(manifest.hooks, [Hook::Redact]);
        assert!(matches!(&manifest.canaries[0].expect, Expect::Rules(rules) if rules == &["id"]));
    }

    fn error_of(replace: &str, with: &str) -> String {
        Manifest::parse(GOOD.replacen(replace, with, 1).as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_a_suggestion() {
        assert_eq!(
            error_of("license", "licence"),
            "plugin.toml line 5: unknown key 'licence'; did you mean 'license'?"
        );
        assert!(error_of("rules", "rulez").contains("unknown key 'rulez'; did you mean 'rules'?"));
        assert!(error_of("redact", "redacts").contains("hook 'redacts' is not known; did you mean 'redact'?"));
        assert!(error_of("1.2.3", "1.2").contains("version '1.2' is not a semantic version"));
        assert!(error_of("rules = [\"id\"]", "effect = \"changed\"").contains("canary 'an id' must say one thing"));
        assert!(error_of("\"object\"", "7").contains("settings is not a JSON Schema"));
        assert!(error_of("hooks = [\"redact\"]", "hooks = []").contains("hooks is empty"));
    }
}
