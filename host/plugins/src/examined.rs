//! What the load pipeline finds out about a plugin: problems, steps, what its canaries showed, and the plugin itself if
//! nothing is wrong. Data only.

use std::sync::Arc;

use hermes_model::hook::Hook;
use serde::Serialize;

use crate::digest::Digest;
use crate::instance::{Instance, Pre};
use crate::limits::Limits;
use crate::manifest::Manifest;
use crate::patterns::PatternSets;
use crate::problem::Problem;
use crate::surface::Surface;

/// One step of the pipeline, for `why`.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// What was done.
    pub step: &'static str,
    /// Whether it found nothing wrong.
    pub ok: bool,
    /// How long it took, in milliseconds.
    pub ms: f64,
}

/// What a canary showed.
#[derive(Clone, Debug, Serialize)]
pub struct CanaryResult {
    /// Its name.
    pub name: String,
    /// Whether it showed what it must.
    pub ok: bool,
    /// What it must show.
    pub expected: String,
    /// What it showed.
    pub got: String,
}

/// A line of the plugin's log during its trial. Raw: for its author only.
pub type LogLine = (tracing::Level, String);

/// Everything the pipeline found out.
pub struct Examined {
    /// The digest of the bytes.
    pub digest: Digest,
    /// The manifest, if it could be read.
    pub manifest: Option<Manifest>,
    /// What the component imports and exports, if it could be read.
    pub surface: Option<Surface>,
    /// Everything wrong, the most telling first.
    pub problems: Vec<Problem>,
    /// The steps done, in order.
    pub steps: Vec<Step>,
    /// What the canaries showed.
    pub canaries: Vec<CanaryResult>,
    /// What the plugin logged during its trial.
    pub log: Vec<LogLine>,
    /// The plugin, if nothing is wrong.
    pub(crate) ready: Option<Ready>,
}

/// A plugin that may be called.
pub(crate) struct Ready {
    pub(crate) hooks: Vec<ReadyHook>,
    pub(crate) settings: String,
    pub(crate) patterns: Arc<PatternSets>,
    pub(crate) counters: Vec<String>,
}

/// One hook of a plugin, with its limits and the instance its trial left warm.
pub(crate) struct ReadyHook {
    pub(crate) hook: Hook,
    pub(crate) pre: Pre,
    pub(crate) limits: Limits,
    pub(crate) warm: Option<Instance>,
}
