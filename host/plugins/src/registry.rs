//! The plugins of a home: the current generation, loaded, with the truth about each.
//!
//! Opening runs the whole pipeline for every enabled plugin and fails for none of them: a plugin that cannot load is a
//! row with its problems. Nothing is created in the home by opening or looking.

use std::path::Path;
use std::sync::Arc;

use hermes_home::home::Home;
use hermes_model::config::{Config, PluginConfig};
use hermes_model::hook::Hook;
use hermes_model::id::PluginName;
use serde::Serialize;

use crate::cache::CompileCache;
use crate::chain::{Absent, Chain};
use crate::digest::Digest;
use crate::engine::{Engine, EngineError, Metering};
use crate::examined::{CanaryResult, Examined, LogLine, Step};
use crate::generation::{BUNDLED, Entry, Generation, Store, StoreError};
use crate::live::Live;
use crate::load::Loader;
use crate::manifest::{Manifest, Permission};
use crate::problem::{Code, Problem};
use crate::strikes::{Book, Standing, now_ms};
use crate::{bundled, check, section};

/// Why the plugins of a home cannot be opened at all.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The engine does not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The generations cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The state of a plugin, as `list` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// In force.
    Loaded,
    /// Installed and not wanted.
    Disabled,
    /// It cannot load.
    Failed,
    /// Its file is gone.
    Missing,
    /// It waits for a permission.
    NeedsGrant,
    /// It failed too often.
    Quarantined,
}

impl State {
    /// The word in lists.
    pub fn word(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::Disabled => "disabled",
            Self::Failed => "failed",
            Self::Missing => "missing",
            Self::NeedsGrant => "needs-grant",
            Self::Quarantined => "quarantined",
        }
    }
}

/// The tracks of the contract a plugin was built for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Api {
    /// The newest version of `hermes:hook` it exports.
    pub hook: Option<String>,
    /// The newest version of `hermes:host` it imports.
    pub host: Option<String>,
}

/// What a plugin asked for and got.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Permissions {
    /// Asked for in its manifest.
    pub asked: Vec<String>,
    /// Granted by the operator.
    pub granted: Vec<String>,
}

/// One plugin in `list`.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its version, if its manifest can be read.
    pub version: Option<String>,
    /// Its state.
    pub state: State,
    /// Whether it should be in force.
    pub enabled: bool,
    /// Its place in the order of all plugins, from 1.
    pub order: usize,
    /// Its hooks.
    pub hooks: Vec<Hook>,
    /// The contract it was built for.
    pub api: Api,
    /// Where it came from.
    pub source: String,
    /// Its digest.
    pub digest: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// Its permissions.
    pub permissions: Permissions,
    /// Calls since it was loaded; none before a host ran it.
    pub calls: Option<u64>,
    /// Calls without an answer.
    pub failures: Option<u64>,
    /// Half of the calls took at most this long, in microseconds.
    pub p50_us: Option<u64>,
    /// Of a hundred calls, ninety-nine took at most this long.
    pub p99_us: Option<u64>,
    /// Why it is not in force.
    pub problems: Vec<Problem>,
}

/// What `why` adds to a row.
pub struct Why {
    /// The row.
    pub row: Row,
    /// The steps of its pipeline.
    pub steps: Vec<Step>,
    /// Its canaries.
    pub canaries: Vec<CanaryResult>,
    /// What it logged during its trial.
    pub log: Vec<LogLine>,
}

/// How much is done when the plugins of a home are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Only enabled plugins are loaded, as a host does.
    Enabled,
    /// Disabled ones are loaded too, as `why` does.
    All,
}

/// The plugins of a home.
pub struct Plugins {
    generation: Generation,
    plugins: Vec<Installed>,
    chain: Arc<Chain>,
    loader: Loader,
}

/// One plugin of the generation, examined.
struct Installed {
    entry: Entry,
    digest: Option<Digest>,
    manifest: Option<Manifest>,
    examined: Option<Examined>,
    live: Vec<Arc<Live>>,
    standing: Standing,
    state: State,
    problems: Vec<Problem>,
}

/// The store of a home's plugins.
pub fn store_of(home: &Home) -> Store {
    Store::at(home.plugins_dir(), bundled::generation())
}

impl Plugins {
    /// Opens the current generation of a home.
    ///
    /// # Errors
    /// The engine does not start, or the current generation cannot be read. A plugin's trouble is never an error here.
    pub fn open(home: &Home, config: &Config, cache_dir: &Path, depth: Depth) -> Result<Self, OpenError> {
        let loader = Loader { engine: Engine::start(Metering::Epoch)?, cache: CompileCache::at(cache_dir) };
        let store = store_of(home);
        let generation = store.current()?;
        let book = Book::at(&home.plugins_dir());
        let plugins = open_all(&generation, |entry| {
            let config = config.plugins.get(&entry.name).cloned().unwrap_or_default();
            open_one(&loader, &store, &book, entry, &config, depth)
        });
        let chain = Arc::new(chain(&generation, config, &plugins));
        Ok(Self { generation, plugins, chain, loader })
    }

    /// The policy in force.
    pub fn policy(&self) -> Arc<Chain> {
        Arc::clone(&self.chain)
    }

    /// The generation's number.
    pub fn generation(&self) -> u64 {
        self.generation.number
    }

    /// The engine and the cache, for `doctor`.
    pub fn loader(&self) -> &Loader {
        &self.loader
    }

    /// Every plugin, in order.
    pub fn rows(&self) -> Vec<Row> {
        self.plugins.iter().enumerate().map(|(index, plugin)| plugin.row(index + 1)).collect()
    }

    /// One plugin with the steps of its pipeline.
    pub fn why(&self, name: &PluginName) -> Option<Why> {
        let index = self.plugins.iter().position(|plugin| plugin.entry.name == *name)?;
        let plugin = &self.plugins[index];
        let examined = plugin.examined.as_ref();
        Some(Why {
            row: plugin.row(index + 1),
            steps: examined.map(|examined| examined.steps.clone()).unwrap_or_default(),
            canaries: examined.map(|examined| examined.canaries.clone()).unwrap_or_default(),
            log: examined.map(|examined| examined.log.clone()).unwrap_or_default(),
        })
    }

    /// The manifest of a plugin, if it can be read.
    pub fn manifest(&self, name: &PluginName) -> Option<&Manifest> {
        self.plugins.iter().find(|plugin| plugin.entry.name == *name)?.manifest.as_ref()
    }

    /// Why output is withheld as things stand, if it is.
    pub fn withheld(&self) -> Vec<(String, String)> {
        let absent = self.chain.withheld_by.iter().map(|absent| (absent.name.clone(), absent.code.clone()));
        let quarantined = self.chain.redactors.iter().filter(|live| live.standing().is_quarantined());
        absent.chain(quarantined.map(|live| (live.name.to_string(), State::Quarantined.word().to_owned()))).collect()
    }

    /// How many redactors are in force. With none, and nothing withheld, secrets are shown as they are.
    pub fn redactors(&self) -> usize {
        self.chain.redactors.len()
    }
}

/// Opens every entry, on as many threads as there are processors: plugins have nothing to do with each other.
fn open_all(generation: &Generation, open: impl Fn(&Entry) -> Installed + Sync) -> Vec<Installed> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(generation.plugins.len());
    if threads <= 1 {
        return generation.plugins.iter().map(open).collect();
    }
    let next = std::sync::atomic::AtomicUsize::new(0);
    let mut opened: Vec<(usize, Installed)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut mine = Vec::new();
                    loop {
                        let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        let Some(entry) = generation.plugins.get(index) else { return mine };
                        mine.push((index, open(entry)));
                    }
                })
            })
            .collect();
        let done = workers.into_iter().map(|worker| worker.join());
        done.flat_map(|mine| mine.expect("the load pipeline does not panic")).collect()
    });
    opened.sort_by_key(|(index, _)| *index);
    opened.into_iter().map(|(_, installed)| installed).collect()
}

fn open_one(
    loader: &Loader,
    store: &Store,
    book: &Book,
    entry: &Entry,
    config: &PluginConfig,
    depth: Depth,
) -> Installed {
    let mut installed = Installed {
        entry: entry.clone(),
        digest: entry.digest,
        manifest: None,
        examined: None,
        live: Vec::new(),
        standing: Standing::default(),
        state: State::Disabled,
        problems: Vec::new(),
    };
    let bytes = match bytes_of(store, entry, &mut installed) {
        Some(bytes) => bytes,
        None => {
            installed.state = if entry.enabled { State::Missing } else { State::Disabled };
            return installed;
        }
    };
    if let Some(digest) = installed.digest {
        installed.standing = book.standing(digest).on(crate::strikes::Event::Ask, now_ms());
    }
    if !entry.enabled && depth == Depth::Enabled {
        installed.manifest = section::read(&bytes).and_then(|text| Manifest::parse(text).ok());
        return installed;
    }
    let mut examined = loader.examine(&bytes, installed.digest, &entry.settings, config);
    installed.digest.get_or_insert(examined.digest);
    installed.manifest.clone_from(&examined.manifest);
    installed.problems.append(&mut examined.problems.clone());
    let needed = missing_grants(examined.manifest.as_ref(), &entry.grants);
    if let (Some(ready), true) = (examined.ready.take(), entry.enabled) {
        let live = Live::new(entry.name.clone(), examined.digest, loader.engine.clone(), ready, book);
        installed.live = live.into_iter().map(Arc::new).collect();
    }
    installed.examined = Some(examined);
    installed.state = match (entry.enabled, installed.problems.is_empty()) {
        (false, _) => State::Disabled,
        (true, false) => State::Failed,
        (true, true) if !needed.is_empty() => {
            installed.problems.extend(needed);
            installed.live.clear();
            State::NeedsGrant
        }
        (true, true) => match &installed.standing {
            Standing::Quarantined { until, cause, .. } => {
                installed.problems.push(quarantine_problem(&entry.name, *until, cause));
                State::Quarantined
            }
            _ => State::Loaded,
        },
    };
    installed
}

fn bytes_of(store: &Store, entry: &Entry, installed: &mut Installed) -> Option<Vec<u8>> {
    if entry.source == BUNDLED {
        let bytes = bundled::component(&entry.name);
        if let Some((bytes, digest)) = bytes {
            installed.digest = Some(digest);
            return Some(bytes.to_vec());
        }
        installed.problems.push(Problem::new(
            Code::MissingFile,
            entry.name.as_str(),
            format!("this hermes bundles no plugin '{}'", entry.name),
            format!("`hermes plugins remove {}`, or install it from a file", entry.name),
        ));
        return None;
    }
    let Some(digest) = entry.digest else {
        installed.problems.push(Problem::new(
            Code::MissingFile,
            entry.name.as_str(),
            "the generation names no digest for it",
            format!("install it again: `hermes plugins install {}`", entry.source.trim_start_matches("file:")),
        ));
        return None;
    };
    match store.component(digest) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            installed.problems.push(Problem::new(
                Code::MissingFile,
                store.component_path(digest).display().to_string(),
                error.to_string(),
                format!("install it again: `hermes plugins install {}`", entry.source.trim_start_matches("file:")),
            ));
            None
        }
    }
}

/// What a plugin asks for and was not granted.
pub(crate) fn missing_grants(manifest: Option<&Manifest>, granted: &[String]) -> Vec<Problem> {
    let asked = manifest.map(|manifest| manifest.permissions.as_slice()).unwrap_or_default();
    asked
        .iter()
        .map(Permission::to_string)
        .filter(|asked| !granted.contains(asked))
        .map(|asked| {
            Problem::new(
                Code::NeedsGrant,
                &asked,
                format!("it asks for {asked}, which is not granted"),
                "install a version that does not ask for it: this hermes grants nothing to notifiers yet",
            )
        })
        .collect()
}

fn quarantine_problem(name: &PluginName, until: u64, cause: &str) -> Problem {
    let left = until.saturating_sub(now_ms()).div_ceil(1000);
    Problem::new(
        Code::Quarantined,
        cause,
        format!(
            "it failed {} times in ten minutes, last by {cause}; it is tried again in {left} s",
            crate::strikes::STRIKES_MAX
        ),
        format!("`hermes plugins enable {name}` tries it at once"),
    )
}

impl Installed {
    fn row(&self, order: usize) -> Row {
        let surface = self.examined.as_ref().and_then(|examined| examined.surface.as_ref());
        let (hook, host) = surface.map(check::tracks_of).unwrap_or_default();
        let hooks = match &self.manifest {
            Some(manifest) => manifest.hooks.clone(),
            None => surface.map(check::hooks_of).unwrap_or_default(),
        };
        let figures = self.live.first().map(|live| live.figures()).filter(|figures| figures.calls > 0);
        // The standing of a host that runs is newer than what was read when it started.
        let quarantined_since = self.live.iter().find_map(|live| match live.standing() {
            Standing::Quarantined { until, cause, .. } => Some((until, cause)),
            _ => None,
        });
        let (mut state, mut problems) = (self.state, self.problems.clone());
        if let (State::Loaded, Some((until, cause))) = (state, quarantined_since) {
            state = State::Quarantined;
            problems.push(quarantine_problem(&self.entry.name, until, &cause));
        }
        Row {
            name: self.entry.name.to_string(),
            version: self.manifest.as_ref().map(|manifest| manifest.version.to_string()),
            state,
            enabled: self.entry.enabled,
            order,
            hooks,
            api: Api { hook, host },
            source: self.entry.source.clone(),
            digest: self.digest.map(|digest| digest.to_string()),
            description: self.manifest.as_ref().map(|manifest| manifest.description.clone()),
            permissions: Permissions {
                asked: self
                    .manifest
                    .as_ref()
                    .map(|manifest| manifest.permissions.iter().map(ToString::to_string).collect())
                    .unwrap_or_default(),
                granted: self.entry.grants.clone(),
            },
            calls: figures.as_ref().map(|figures| figures.calls),
            failures: figures.as_ref().map(|figures| figures.failures),
            p50_us: figures.as_ref().and_then(|figures| figures.p50_us),
            p99_us: figures.as_ref().and_then(|figures| figures.p99_us),
            problems,
        }
    }

    /// Whether it sees events and no text before the policy has: then nothing is withheld for it.
    fn only_notifies(&self) -> bool {
        self.may_be(Hook::Notify) && Hook::ALL.into_iter().all(|hook| !hook.sees_raw_text() || !self.may_be(hook))
    }

    /// Whether a host would put it in the chain of this hook: what its manifest says, or what it exports. A plugin that
    /// says nothing of either might be a redactor, so it counts as one.
    fn may_be(&self, hook: Hook) -> bool {
        if let Some(manifest) = &self.manifest {
            return manifest.hooks.contains(&hook);
        }
        let surface = self.examined.as_ref().and_then(|examined| examined.surface.as_ref());
        match surface.map(check::hooks_of) {
            Some(hooks) if !hooks.is_empty() => hooks.contains(&hook),
            _ => hook == Hook::Redact,
        }
    }

    fn code(&self) -> String {
        self.problems.first().map_or_else(|| self.state.word().to_owned(), |problem| problem.code.word().to_owned())
    }
}

fn chain(generation: &Generation, config: &Config, plugins: &[Installed]) -> Chain {
    let mut chain = Chain {
        generation: generation.number,
        sees: config.policy.transforms_see,
        redactors: Vec::new(),
        transforms: Vec::new(),
        notifiers: Vec::new(),
        withheld_by: Vec::new(),
        skipped: Vec::new(),
        unasked: Vec::new(),
        required: config.policy.required.iter().map(ToString::to_string).collect(),
    };
    for name in &config.policy.required {
        let name = name.to_string();
        match plugins.iter().find(|plugin| plugin.entry.name.as_str() == name) {
            None => chain.withheld_by.push(Absent { name, code: "not-installed".to_owned() }),
            Some(plugin) if plugin.state == State::Loaded => {}
            Some(plugin) if plugin.only_notifies() => {
                // One that is enabled follows below, and one that is quarantined is asked and has no answer.
                if !plugin.entry.enabled {
                    chain.unasked.push(Absent { name, code: plugin.code() });
                }
            }
            Some(plugin) => chain.withheld_by.push(Absent { name, code: plugin.code() }),
        }
    }
    for plugin in plugins.iter().filter(|plugin| plugin.entry.enabled) {
        for live in &plugin.live {
            match live.hook {
                Hook::Redact => chain.redactors.push(Arc::clone(live)),
                Hook::Transform => chain.transforms.push(Arc::clone(live)),
                Hook::Notify => chain.notifiers.push(Arc::clone(live)),
            }
        }
        if !plugin.live.is_empty() {
            continue;
        }
        let absent = Absent { name: plugin.entry.name.to_string(), code: plugin.code() };
        if plugin.may_be(Hook::Redact) {
            if chain.withheld_by.iter().all(|known| known.name != absent.name) {
                chain.withheld_by.push(absent);
            }
        } else if plugin.may_be(Hook::Transform) {
            chain.skipped.push(absent);
        } else if plugin.may_be(Hook::Notify) {
            chain.unasked.push(absent);
        }
    }
    chain
}
