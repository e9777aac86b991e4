//! `hermes plugins test` and `check`: a plugin on its own, without a home, in the same pipeline a host uses.
//!
//! What the plugin logged is returned raw: it is about the author's own canaries, and for the author only.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_model::config::{PluginConfig, TransformsSee};
use hermes_model::context::{Context, Surface};
use hermes_model::hook::Hook;
use hermes_output::exact::ExactValues;
use hermes_output::stream::Stream;
use serde::Serialize;
use serde_json::Map;

use crate::author::{self, PackError};
use crate::cache::CompileCache;
use crate::chain::Chain;
use crate::engine::{Engine, EngineError, Metering};
use crate::examined::{CanaryResult, Examined, LogLine};
use crate::instance::Instance;
use crate::live::Live;
use crate::load::Loader;
use crate::manifest::{Canary, Expect, Manifest};
use crate::problem::Problem;
use crate::registry::{Api, missing_grants};
use crate::strikes::Book;
use crate::{check, trial};

/// How often a canary is shown to a warm instance for its time.
const WARM_ROUNDS: u32 = 50;
/// The longest canary that is cut at every byte; a longer one is cut at this many places.
const CUTS_MAX: usize = 512;

/// Why nothing could be tested.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The plugin cannot be read.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// The engine does not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// What `check` found.
#[derive(Serialize)]
pub struct CheckReport {
    /// The plugin's name, if its manifest gives one.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// Whether it would load.
    pub ok: bool,
    /// The hooks it exports.
    pub hooks: Vec<Hook>,
    /// The contract it was built for.
    pub api: Api,
    /// Why it would not load.
    pub problems: Vec<Problem>,
    /// What it logged during its trial.
    #[serde(skip)]
    pub log: Vec<LogLine>,
}

/// What `test` found.
#[derive(Serialize)]
pub struct TestReport {
    /// The plugin's name.
    pub name: Option<String>,
    /// What was tried.
    pub cases: Vec<Case>,
    /// What it costs.
    pub budget: Budget,
    /// What it logged.
    #[serde(skip)]
    pub log: Vec<LogLine>,
}

/// One thing that was tried.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// A sentence.
    pub name: String,
    /// Whether it held.
    pub ok: bool,
    /// What went wrong.
    pub message: Option<String>,
}

/// What a plugin costs, over its canaries. Unknown figures are none.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Budget {
    /// Instructions for each byte of text.
    pub fuel_per_byte: Option<f64>,
    /// The most memory of an instance, in bytes.
    pub peak_memory: Option<u64>,
    /// The largest result of a transform, as a multiple of its text.
    pub expansion: Option<f64>,
    /// Host functions called.
    pub host_calls: Option<u64>,
    /// From the file to the first answer, in milliseconds.
    pub cold_ms: Option<f64>,
    /// One canary on a warm instance, in microseconds, the median.
    pub warm_us: Option<f64>,
}

impl TestReport {
    /// Whether every case held.
    pub fn ok(&self) -> bool {
        self.cases.iter().all(|case| case.ok)
    }
}

/// Runs the load pipeline over a component or a plugin's folder.
///
/// # Errors
/// Nothing could be read.
pub fn check(path: &Path, cache_dir: &Path) -> Result<CheckReport, LabError> {
    let (examined, name, _) = examine(path, cache_dir, Metering::Epoch)?;
    let surface = examined.surface.as_ref();
    let (hook, host) = surface.map(check::tracks_of).unwrap_or_default();
    let mut problems = examined.problems;
    problems.extend(missing_grants(examined.manifest.as_ref(), &[]));
    Ok(CheckReport {
        name,
        version: examined.manifest.as_ref().map(|manifest| manifest.version.to_string()),
        ok: problems.is_empty(),
        hooks: surface.map(check::hooks_of).unwrap_or_default(),
        api: Api { hook, host },
        problems,
        log: examined.log,
    })
}

/// Tests a component or a plugin's folder: it loads, its canaries show what they must, a redactor masks the same for
/// every chunking, and a transform answers the same twice.
///
/// # Errors
/// Nothing could be read. A plugin that fails is a report, not an error.
pub fn test(path: &Path, cache_dir: &Path) -> Result<TestReport, LabError> {
    let started = Instant::now();
    let (mut examined, name, loader) = examine(path, cache_dir, Metering::Epoch)?;
    let cold_ms = Some((started.elapsed().as_secs_f64() * 1e5).round() / 100.0);
    let mut cases: Vec<Case> = vec![loads(&examined)];
    cases.extend(without_canary(&examined));
    cases.extend(examined.canaries.iter().map(|canary| Case {
        name: format!("canary: {}", canary.name),
        ok: canary.ok,
        message: (!canary.ok).then(|| format!("expected {}, got {}", canary.expected, canary.got)),
    }));
    let mut budget = Budget { cold_ms, ..Budget::default() };
    let mut log = std::mem::take(&mut examined.log);
    if let (Some(ready), Some(manifest)) = (examined.ready.take(), examined.manifest.clone()) {
        let canaries = manifest.canaries.clone();
        let folder = tempfile::tempdir().ok();
        // Strikes of a test are nobody's business: a book in a folder that is gone afterwards.
        let book = Book::at(folder.as_ref().map_or(Path::new("/nonexistent"), |folder| folder.path()));
        let live = Live::new(manifest.name.clone(), examined.digest, loader.engine.clone(), ready, &book);
        let live: Vec<Arc<Live>> = live.into_iter().map(Arc::new).collect();
        cases.extend(chunkings(&live, &canaries));
        cases.extend(repeats(&live, &canaries));
        budget.warm_us = warm(&live, &canaries);
        budget.expansion = expansion(&live, &canaries);
        measure(path, cache_dir, &mut budget);
        for live in &live {
            log.extend(live.take_log());
        }
    }
    Ok(TestReport { name, cases, budget, log })
}

fn examine(path: &Path, cache_dir: &Path, metering: Metering) -> Result<(Examined, Option<String>, Loader), LabError> {
    let source = author::read_source(path)?;
    let loader = Loader { engine: Engine::start(metering)?, cache: CompileCache::at(cache_dir) };
    let examined = loader.examine(&source.packed, None, &Map::new(), &PluginConfig::default());
    let name = examined.manifest.as_ref().map(|manifest| manifest.name.to_string());
    let name = name.or_else(|| source.name.map(|name| name.to_string()));
    Ok((examined, name, loader))
}

fn loads(examined: &Examined) -> Case {
    let first = examined.problems.first();
    Case {
        name: "it loads".to_owned(),
        ok: first.is_none(),
        message: first.map(|problem| format!("{}: {} ({})", problem.code, problem.message, problem.next)),
    }
}

/// A hook that no canary asks anything could do nothing and still pass.
fn without_canary(examined: &Examined) -> Option<Case> {
    let manifest = examined.manifest.as_ref()?;
    let asked = |hook: &Hook| manifest.canaries.iter().any(|canary| of(canary) == *hook);
    let unasked = manifest.hooks.iter().find(|hook| !asked(hook))?;
    Some(Case {
        name: format!("{unasked}: a canary asks it something"),
        ok: false,
        message: Some("add a [[canary]] to plugin.toml: without one nothing shows that the hook works".to_owned()),
    })
}

/// A policy of one redactor.
fn alone(live: &Arc<Live>) -> Chain {
    Chain {
        generation: 0,
        sees: TransformsSee::Masked,
        redactors: vec![Arc::clone(live)],
        transforms: Vec::new(),
        notifiers: Vec::new(),
        withheld_by: Vec::new(),
        skipped: Vec::new(),
        unasked: Vec::new(),
        required: Vec::new(),
    }
}

/// Each canary of a redactor, cut in two at every byte: the masks must be those of the whole.
fn chunkings(live: &[Arc<Live>], canaries: &[Canary]) -> Vec<Case> {
    let Some(redactor) = live.iter().find(|live| live.hook == Hook::Redact) else { return Vec::new() };
    let chain = alone(redactor);
    let shown = |pieces: &[&[u8]]| {
        let mut stream = Stream::new(Context::new(Surface::Stream), Arc::new(ExactValues::default()));
        let mut text = String::new();
        for piece in pieces {
            text += stream.push(&chain, piece).text.as_str();
        }
        text + stream.finish(&chain).text.as_str()
    };
    let mine = canaries.iter().filter(|canary| matches!(canary.expect, Expect::Rules(_)));
    mine.map(|canary| {
        let bytes = canary.text.as_bytes();
        let whole = shown(&[bytes]);
        let step = bytes.len().div_ceil(CUTS_MAX).max(1);
        let differs = (0..bytes.len()).step_by(step).find(|cut| {
            let (front, back) = bytes.split_at(*cut);
            shown(&[front, back]) != whole
        });
        Case {
            name: format!("the same masks for every chunking: {}", canary.name),
            ok: differs.is_none(),
            message: differs.map(|cut| format!("cut at byte {cut}, the text is shown otherwise than whole")),
        }
    })
    .collect()
}

/// Each canary twice on a warm instance and once on a fresh one: nothing may be remembered.
fn repeats(live: &[Arc<Live>], canaries: &[Canary]) -> Vec<Case> {
    live.iter()
        .map(|live| {
            let differs = canaries.iter().filter(|canary| of(canary) == live.hook).find(|canary| {
                let once = || live.call(async |instance| Ok(trial::show(instance, canary).await.0));
                let (first, second) = (once(), once());
                live.drop_warm();
                let fresh = once();
                let said = |result: &Result<CanaryResult, _>| result.as_ref().ok().map(|r| r.got.clone());
                said(&first).is_none() || said(&first) != said(&second) || said(&first) != said(&fresh)
            });
            Case {
                name: format!("{}: the same answer from a warm and a fresh instance", live.hook),
                ok: differs.is_none(),
                message: differs.map(|canary| format!("canary '{}' is answered otherwise", canary.name)),
            }
        })
        .collect()
}

fn of(canary: &Canary) -> Hook {
    match canary.expect {
        Expect::Rules(_) => Hook::Redact,
        Expect::Text { .. } => Hook::Transform,
        Expect::Verdict(_) => Hook::Notify,
    }
}

fn warm(live: &[Arc<Live>], canaries: &[Canary]) -> Option<f64> {
    let canary = canaries.first()?;
    let live = live.iter().find(|live| live.hook == of(canary))?;
    let mut times: Vec<Duration> = (0..WARM_ROUNDS)
        .map(|_| {
            let started = Instant::now();
            let _ = live.call(async |instance| Ok(trial::show(instance, canary).await.0));
            started.elapsed()
        })
        .collect();
    times.sort();
    times.get(times.len() / 2).map(|time| (time.as_secs_f64() * 1e7).round() / 10.0)
}

fn expansion(live: &[Arc<Live>], canaries: &[Canary]) -> Option<f64> {
    let live = live.iter().find(|live| live.hook == Hook::Transform)?;
    let ratios = canaries.iter().filter(|canary| !canary.text.is_empty()).filter_map(|canary| {
        let result = live.call(async |instance| trial::transformed(instance, canary).await).ok()?;
        Some(result.len() as f64 / canary.text.len() as f64)
    });
    ratios.reduce(f64::max).map(|ratio| (ratio * 100.0).round() / 100.0)
}

/// Counts instructions, memory and host calls over all canaries, in an engine that counts.
fn measure(path: &Path, cache_dir: &Path, budget: &mut Budget) {
    let Ok((mut examined, _, loader)) = examine(path, cache_dir, Metering::Fuel) else { return };
    let (Some(ready), Some(manifest)) = (examined.ready.take(), examined.manifest.clone()) else { return };
    for mut hook in ready.hooks {
        let Some(mut instance) = hook.warm.take() else { continue };
        let figures = loader.engine.drive(run_all(&mut instance, hook.hook, &manifest));
        let Some((fuel, bytes)) = figures else { continue };
        if bytes > 0 {
            let each = fuel as f64 / bytes as f64;
            budget.fuel_per_byte = Some(budget.fuel_per_byte.unwrap_or(0.0).max((each * 10.0).round() / 10.0));
        }
        budget.peak_memory = budget.peak_memory.max(Some(instance.memory_used()));
        budget.host_calls = Some(budget.host_calls.unwrap_or(0) + instance.host_calls());
    }
}

/// Instructions and bytes of all canaries of a hook; none if a call was ended.
async fn run_all(instance: &mut Instance, hook: Hook, manifest: &Manifest) -> Option<(u64, u64)> {
    let (mut fuel, mut bytes) = (0, 0);
    for canary in manifest.canaries.iter().filter(|canary| of(canary) == hook) {
        let before = instance.fuel();
        if trial::show(instance, canary).await.1.is_some() {
            return None;
        }
        fuel += before.saturating_sub(instance.fuel());
        bytes += canary.text.len() as u64;
    }
    Some((fuel, bytes))
}
