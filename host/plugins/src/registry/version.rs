//! One version of a plugin with its settings and grants: examined once, and shared by every generation that wants it.
//!
//! It must never change after it was made: what is called on it, and how it stands, is its instances' business.

use std::sync::Arc;

use hermes_model::config::PluginConfig;
use hermes_model::hook::Hook;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Api, Row};
use crate::check;
use crate::digest::Digest;
use crate::examined::{CanaryResult, Examined, LogLine, Step};
use crate::generation::Entry;
use crate::live::Live;
use crate::manifest::Manifest;
use crate::permission::Permission;
use crate::problem::Problem;

/// Everything that decides what a version does. Two of the same name and identity are the same.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Identity {
    /// The digest, as the generation or the binary says.
    pub(super) digest: Option<Digest>,
    /// The settings of the generation.
    pub(super) settings: Map<String, Value>,
    /// What was granted.
    pub(super) grants: Vec<String>,
    /// What `config.toml` says of it.
    pub(super) config: PluginConfig,
}

impl Identity {
    pub(super) fn of(entry: &Entry, digest: Option<Digest>, config: &PluginConfig) -> Self {
        Self { digest, settings: entry.settings.clone(), grants: entry.grants.clone(), config: config.clone() }
    }
}

/// What became of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It loaded and showed its canaries.
    Good,
    /// It showed its canaries to somebody before, and was not loaded now.
    OnRecord,
    /// It cannot load.
    Failed,
    /// Its file is gone.
    Missing,
    /// It loads, and waits for a permission.
    NeedsGrant,
    /// Nobody asked whether it can load: it is disabled.
    Idle,
}

/// What lists say of a plugin, from its manifest and its component.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Facts {
    pub(super) version: Option<String>,
    pub(super) description: Option<String>,
    pub(super) hooks: Vec<Hook>,
    pub(super) api: Api,
    pub(super) asked: Vec<String>,
}

impl Facts {
    pub(super) fn of(manifest: Option<&Manifest>, examined: Option<&Examined>) -> Self {
        let surface = examined.and_then(|examined| examined.surface.as_ref());
        let (hook, host) = surface.map(check::tracks_of).unwrap_or_default();
        Self {
            version: manifest.map(|manifest| manifest.version.to_string()),
            description: manifest.map(|manifest| manifest.description.clone()),
            hooks: match manifest {
                Some(manifest) => manifest.hooks.clone(),
                None => surface.map(check::hooks_of).unwrap_or_default(),
            },
            api: Api { hook, host },
            asked: manifest
                .map(|manifest| manifest.permissions.iter().map(Permission::to_string).collect())
                .unwrap_or_default(),
        }
    }

    /// Puts them into a row.
    pub(super) fn fill(&self, row: &mut Row) {
        row.version.clone_from(&self.version);
        row.description.clone_from(&self.description);
        row.hooks.clone_from(&self.hooks);
        row.api.clone_from(&self.api);
        row.permissions.asked.clone_from(&self.asked);
    }
}

/// How the pipeline went, for `why`.
pub(super) struct Run {
    pub(super) steps: Vec<Step>,
    pub(super) canaries: Vec<CanaryResult>,
    pub(super) log: Vec<LogLine>,
}

/// A version of a plugin.
pub(super) struct Version {
    pub(super) identity: Identity,
    pub(super) outcome: Outcome,
    pub(super) facts: Facts,
    pub(super) manifest: Option<Manifest>,
    /// How the pipeline went, where it ran.
    pub(super) run: Option<Run>,
    pub(super) problems: Vec<Problem>,
    /// What is called, where it may be.
    pub(super) live: Vec<Arc<Live>>,
}

impl Version {
    /// One that is not there, or of which only the manifest was read.
    pub(super) fn unexamined(identity: Identity, outcome: Outcome, manifest: Option<Manifest>) -> Self {
        let facts = Facts::of(manifest.as_ref(), None);
        Self { identity, outcome, facts, manifest, run: None, problems: Vec::new(), live: Vec::new() }
    }

    /// Whether it can be in force.
    pub(super) fn is_good(&self) -> bool {
        matches!(self.outcome, Outcome::Good | Outcome::OnRecord)
    }

    /// Whether a host would put it in the chain of this hook. A plugin that says nothing of its hooks might be a redactor,
    /// so it counts as one.
    pub(super) fn may_be(&self, hook: Hook) -> bool {
        if self.facts.hooks.is_empty() { hook == Hook::Redact } else { self.facts.hooks.contains(&hook) }
    }

    /// Whether it sees events and no text before the policy has: then nothing is withheld for it.
    pub(super) fn only_notifies(&self) -> bool {
        self.may_be(Hook::Notify) && Hook::ALL.into_iter().all(|hook| !hook.sees_raw_text() || !self.may_be(hook))
    }
}
