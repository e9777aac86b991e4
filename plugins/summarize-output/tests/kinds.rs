//! The kinds of outputs that summarisers are known to get wrong, and the canaries of the manifest.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

use hermes_plugin_sdk::{Context, Outcome, Plugin as _, Transform as _};
use serde::Deserialize;
use summarize_output::{Settings, SummarizeOutput};

fn shown(context: &Context, budget_tokens: usize, text: &str) -> (bool, String) {
    let mut plugin = SummarizeOutput::new(Settings { budget_tokens }).unwrap();
    match plugin.apply(context, text).unwrap() {
        Outcome::Unchanged => (false, text.to_owned()),
        Outcome::Replaced(summary) => (true, summary),
        Outcome::Edits(_) => panic!("this plugin makes no edits"),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    name: String,
    exit_code: i32,
    settings: KindSettings,
    contains: Vec<String>,
    lacks: Vec<String>,
    #[serde(default)]
    command: String,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KindSettings {
    budget_tokens: usize,
}

#[test]
fn every_kind_keeps_what_matters_and_claims_nothing_false() {
    let kinds = include_str!("../cases/kinds.jsonl").lines().map(|line| serde_json::from_str::<Kind>(line).unwrap());
    let mut failures = Vec::new();
    for kind in kinds {
        let context = Context { command: kind.command, exit_code: Some(kind.exit_code), ..Context::default() };
        let (changed, summary) = shown(&context, kind.settings.budget_tokens, &kind.text);
        if changed && !summary.contains(&format!("exit {}", kind.exit_code)) {
            failures.push(format!("{}: the exit status is missing", kind.name));
        }
        if summary.len() > kind.text.len().min(kind.settings.budget_tokens * 4) && changed {
            failures.push(format!("{}: {} bytes", kind.name, summary.len()));
        }
        for keep in kind.contains.iter().filter(|keep| !summary.contains(*keep)) {
            failures.push(format!("{}: lost {keep:?}", kind.name));
        }
        for claim in kind.lacks.iter().filter(|claim| summary.contains(*claim)) {
            failures.push(format!("{}: claims {claim:?}", kind.name));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[derive(Deserialize)]
struct Manifest {
    name: String,
    version: String,
    canary: Vec<Canary>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Canary {
    name: String,
    text: String,
    #[serde(default)]
    command: String,
    exit_code: Option<i32>,
    effect: String,
    #[serde(default)]
    contains: Vec<String>,
    #[serde(default)]
    lacks: Vec<String>,
}

#[test]
fn the_canaries_of_the_manifest_show_their_effect() {
    let manifest: Manifest = toml::from_str(include_str!("../plugin.toml")).unwrap();
    assert_eq!(
        (manifest.name.as_str(), manifest.version.as_str()),
        (env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
    );
    assert_eq!(manifest.canary.len(), 3);
    for canary in manifest.canary {
        let context = Context { command: canary.command, exit_code: canary.exit_code, ..Context::default() };
        let (changed, summary) = shown(&context, Settings::default().budget_tokens, &canary.text);
        assert_eq!(changed, canary.effect == "changed", "{}", canary.name);
        for text in canary.contains {
            assert!(summary.contains(&text), "{}: {text:?} is missing in {summary}", canary.name);
        }
        for text in canary.lacks {
            assert!(!summary.contains(&text), "{}: {text:?} is in {summary}", canary.name);
        }
    }
}

#[test]
fn a_budget_outside_the_schema_is_refused() {
    assert_eq!(SummarizeOutput::new(Settings { budget_tokens: 99 }).unwrap_err().code, "bad-settings");
    assert!(serde_json::from_str::<Settings>(r#"{"budget": 5}"#).is_err());
    assert_eq!(serde_json::from_str::<Settings>("{}").unwrap(), Settings::default());
}
