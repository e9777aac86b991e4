//! `hermes plugins test` and `check`: a plugin on its own, without a home, in the same pipeline a host uses.
//!
//! What the plugin logged is returned raw: it is about the author's own canaries and cases, and for the author only.

use std::path::{Path, PathBuf};
use std::time::Instant;

use hermes_model::config::PluginConfig;
use hermes_model::hook::Hook;
use serde::Serialize;
use serde_json::Map;

use crate::against::{self, Against};
use crate::author::{self, PackError};
use crate::cache::CompileCache;
use crate::check;
use crate::contract::{Contract, UnknownContract};
use crate::engine::{Engine, EngineError, Metering};
use crate::examined::{Examined, LogLine};
use crate::load::Loader;
use crate::manifest::Expect;
use crate::problem::Problem;
use crate::registry::{Api, missing_grants};

mod answer;
mod budget;
pub mod costs;
mod cuts;
mod difference;
mod golden;
mod reuse;
pub mod speed;
mod subject;
mod texts;

use costs::Budget;
use golden::Golden;
use subject::{Ask, Subject};

/// Why nothing could be tested.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The plugin cannot be read.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// The engine does not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A contract to compare with is not known.
    #[error(transparent)]
    Contract(#[from] UnknownContract),
    /// A file of cases cannot be written.
    #[error("'{path}' cannot be written: check its permissions", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The plugin cannot load, so there is nothing to measure; the words are those of its first problem.
    #[error("the plugin cannot load: {0}")]
    Broken(String),
    /// The text to measure with cannot be read.
    #[error("the text cannot be read")]
    Text(#[source] hermes_home::files::ReadError),
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
    /// Whether it would load in the hosts of other contracts.
    pub against: Vec<Against>,
    /// What it logged during its trial.
    #[serde(skip)]
    pub log: Vec<LogLine>,
}

/// How `test` goes about it.
#[derive(Clone, Copy, Debug)]
pub struct TestOptions {
    /// What the random orders are drawn from: the same seed gives the same orders.
    pub seed: u64,
    /// Whether cases get what the plugin answers now as what they expect.
    pub update: bool,
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
    /// What the random orders were drawn from.
    pub seed: u64,
    /// How many cases got a new expectation.
    pub updated: usize,
    /// What it logged.
    #[serde(skip)]
    pub log: Vec<LogLine>,
}

/// What a case is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum About {
    /// Whether the plugin loads, and whether each of its hooks is asked anything.
    Load,
    /// A canary of its manifest.
    Canary,
    /// A case of its folder.
    Golden,
    /// A text in pieces.
    Cuts,
    /// What is left of one call in the next.
    Reuse,
    /// A limit.
    Budget,
}

/// One thing that was tried.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// A sentence.
    pub name: String,
    /// Whether it held.
    pub ok: bool,
    /// What went wrong, and what to do.
    pub message: Option<String>,
    /// What it is about.
    pub about: About,
    /// The file it stands in, for a golden case: `cases/NAME.jsonl`.
    pub file: Option<String>,
    /// The line, counted from 1.
    pub line: Option<usize>,
    /// What was expected (`-`) and what came (`+`), line by line, where that is more than a word.
    pub difference: Vec<String>,
}

impl Case {
    /// Something that held.
    fn good(about: About, name: impl Into<String>) -> Self {
        Self { name: name.into(), ok: true, message: None, about, file: None, line: None, difference: Vec::new() }
    }

    /// Something that did not.
    fn bad(about: About, name: impl Into<String>, message: impl Into<String>) -> Self {
        Self { ok: false, message: Some(message.into()), ..Self::good(about, name) }
    }

    /// One or the other.
    fn of(about: About, name: impl Into<String>, failed: Option<String>) -> Self {
        match failed {
            None => Self::good(about, name),
            Some(message) => Self::bad(about, name, message),
        }
    }
}

impl TestReport {
    /// Whether every case held.
    pub fn ok(&self) -> bool {
        self.cases.iter().all(|case| case.ok)
    }
}

/// Runs the load pipeline over a component or a plugin's folder, and compares it with the contracts of these versions
/// of `hermes:host`; with every known one if none is named.
///
/// # Errors
/// Nothing could be read, or a contract is not known.
pub fn check(path: &Path, cache_dir: &Path, against: &[String]) -> Result<CheckReport, LabError> {
    let contracts = Contract::named(against)?;
    let (examined, name, _) = examine(path, cache_dir, Metering::Epoch)?;
    let surface = examined.surface.as_ref();
    let (hook, host) = surface.map(check::tracks_of).unwrap_or_default();
    let mut problems = examined.problems.clone();
    problems.extend(missing_grants(examined.manifest.as_ref(), &[]));
    Ok(CheckReport {
        against: against::matrix(&examined, &contracts),
        name,
        version: examined.manifest.as_ref().map(|manifest| manifest.version.to_string()),
        ok: problems.is_empty(),
        hooks: surface.map(check::hooks_of).unwrap_or_default(),
        api: Api { hook, host },
        problems,
        log: examined.log,
    })
}

/// Tests a component or a plugin's folder: it loads, its canaries and cases show what they must, a redactor masks the
/// same for every chunking, nothing is left of a call in the next one, and no limit is near.
///
/// # Errors
/// Nothing could be read, or the cases could not be written. A plugin that fails is a report, not an error.
pub fn test(path: &Path, cache_dir: &Path, options: TestOptions) -> Result<TestReport, LabError> {
    let started = Instant::now();
    let (mut examined, name, loader) = examine(path, cache_dir, Metering::Epoch)?;
    let cold_ms = Some((started.elapsed().as_secs_f64() * 1e5).round() / 100.0);
    let mut cases = vec![loads(&examined)];
    cases.extend(without_canary(&examined));
    cases.extend(examined.canaries.iter().map(|canary| {
        let failed = (!canary.ok).then(|| format!("expected {}, got {}", canary.expected, canary.got));
        Case::of(About::Canary, format!("canary: {}", canary.name), failed)
    }));
    let mut report = TestReport {
        name,
        cases,
        budget: Budget { cold_ms, ..Budget::default() },
        seed: options.seed,
        updated: 0,
        log: std::mem::take(&mut examined.log),
    };
    let Some(manifest) = examined.manifest.clone() else { return Ok(report) };
    let golden = if path.is_dir() { golden::read(path, &manifest) } else { Golden::default() };
    report.cases.extend(golden.unreadable.iter().cloned());
    let Some(subject) = Subject::new(loader, examined, manifest) else { return Ok(report) };
    report.updated = golden::show(&subject, path, &golden, options.update, &mut report.cases)?;
    let asks: Vec<Ask> = subject.canaries().into_iter().chain(golden.asks()).collect();
    report.cases.extend(cuts::cases(&subject, &asks));
    report.cases.extend(reuse::cases(&subject, &asks, options.seed));
    let counting = examine(path, cache_dir, Metering::Fuel)?;
    let counting = counting.0.manifest.clone().and_then(|manifest| Subject::new(counting.2, counting.0, manifest));
    report.cases.extend(budget::measure(&subject, counting.as_ref(), &asks, &mut report.budget));
    report.log.extend(subject.take_log());
    Ok(report)
}

/// Reads a plugin and runs it through the pipeline.
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
    let failed = first.map(|problem| format!("{}: {} ({})", problem.code, problem.message, problem.next));
    Case::of(About::Load, "it loads", failed)
}

/// A hook that no canary asks anything could do nothing and still pass.
fn without_canary(examined: &Examined) -> Option<Case> {
    let manifest = examined.manifest.as_ref()?;
    let asked = |hook: &Hook| manifest.canaries.iter().any(|canary| hook_of(&canary.expect) == *hook);
    let unasked = manifest.hooks.iter().find(|hook| !asked(hook))?;
    let message = "add a [[canary]] to plugin.toml: without one nothing shows that the hook works";
    Some(Case::bad(About::Load, format!("{unasked}: a canary asks it something"), message))
}

/// The hook a canary asks.
fn hook_of(expect: &Expect) -> Hook {
    match expect {
        Expect::Rules(_) => Hook::Redact,
        Expect::Text { .. } => Hook::Transform,
        Expect::Verdict(_) => Hook::Notify,
    }
}
