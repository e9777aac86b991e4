//! The plugins of a home: the current generation, loaded, with the truth about each.
//!
//! Opening runs the whole pipeline for every enabled plugin and fails for none of them: a plugin that cannot load is a
//! row with its problems. Nothing is created in the home by opening or looking.

mod absent;
mod installed;
mod opening;
mod record;
mod version;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use hermes_home::home::Home;
use hermes_model::config::Config;
use hermes_model::hook::Hook;
use hermes_model::id::PluginName;
use serde::{Deserialize, Serialize};

use self::installed::Installed;
use self::opening::Opening;
use self::record::Records;
use crate::bundled;
use crate::cache::CompileCache;
use crate::chain::Chain;
use crate::engine::{Engine, EngineError, Metering};
use crate::examined::{CanaryResult, LogLine, Step};
use crate::generation::{Generation, Store, StoreError};
use crate::load::Loader;
use crate::manifest::Manifest;
use crate::permission::{self, Permission};
use crate::problem::{Code, Problem};
use crate::strikes::Book;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Api {
    /// The newest version of `hermes:hook` it exports.
    pub hook: Option<String>,
    /// The newest version of `hermes:host` it imports.
    pub host: Option<String>,
}

/// The version that serves in place of one that cannot load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Serving {
    /// Its version; empty where its manifest says none.
    pub version: String,
    /// Its digest.
    pub digest: String,
}

/// What a plugin asked for and got.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permissions {
    /// Asked for in its manifest.
    pub asked: Vec<String>,
    /// Granted by the operator.
    pub granted: Vec<String>,
}

/// One plugin in `list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// What serves in its place: the last good version, where the one wanted cannot load.
    pub serving: Option<Serving>,
}

/// What `why` adds to a row.
pub struct Why {
    /// The row.
    pub row: Row,
    /// Its manifest, if it can be read.
    pub manifest: Option<Manifest>,
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

/// The plugins of a home, ready to be called.
pub struct Plugins {
    generation: Generation,
    plugins: Vec<Installed>,
    config: Config,
    chain: Arc<Chain>,
    loader: Loader,
}

/// The store of a home's plugins.
pub fn store_of(home: &Home) -> Store {
    Store::at(home.plugins_dir(), bundled::generation())
}

fn loader_at(cache_dir: &Path) -> Result<Loader, EngineError> {
    Ok(Loader { engine: Engine::start(Metering::Epoch)?, cache: CompileCache::at(cache_dir) })
}

impl Plugins {
    /// Opens the current generation of a home.
    ///
    /// # Errors
    /// The engine does not start, or the current generation cannot be read. A plugin's trouble is never an error here.
    pub fn open(home: &Home, config: &Config, cache_dir: &Path, depth: Depth) -> Result<Self, OpenError> {
        Self::load(home, config, loader_at(cache_dir)?, depth, None)
    }

    /// Opens the current generation in place of this one. The engine stays, and so does every plugin of which nothing
    /// changed, with its instances and its figures; what is called on this one goes on to its end. A plugin whose new
    /// version cannot load is served by the last good one.
    ///
    /// # Errors
    /// The current generation cannot be read. This one is as it was.
    pub fn reopen(&self, home: &Home, config: &Config) -> Result<Self, OpenError> {
        Self::load(home, config, self.loader.clone(), Depth::Enabled, Some(self))
    }

    fn load(
        home: &Home,
        config: &Config,
        loader: Loader,
        depth: Depth,
        before: Option<&Self>,
    ) -> Result<Self, OpenError> {
        let store = store_of(home);
        let generation = store.current()?;
        let book = Book::at(&home.plugins_dir());
        let plugins = Opening {
            before: before.map(|before| (before.generation.number, before.plugins.as_slice())),
            ..Opening::new(&|| Ok(&loader), home, config, &store, &book, &generation, depth)
        }
        .all()?;
        let chain = Arc::new(absent::chain(&generation, config, &plugins));
        Ok(Self { generation, plugins, config: config.clone(), chain, loader })
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
        rows(&self.plugins)
    }

    /// One plugin with the steps of its pipeline.
    pub fn why(&self, name: &PluginName) -> Option<Why> {
        let index = self.plugins.iter().position(|plugin| plugin.entry.name == *name)?;
        Some(why(&self.plugins[index], index + 1))
    }

    /// The manifest of a plugin, if it can be read.
    pub fn manifest(&self, name: &PluginName) -> Option<&Manifest> {
        self.plugins.iter().find(|plugin| plugin.entry.name == *name)?.wanted.manifest.as_ref()
    }

    /// Why output is withheld as things stand, if it is.
    pub fn withheld(&self) -> Vec<(String, String)> {
        absent::withheld(&self.config, &self.plugins)
    }

    /// How many redactors are in force. With none, and nothing withheld, secrets are shown as they are.
    pub fn redactors(&self) -> usize {
        absent::redactors(&self.plugins)
    }
}

/// One plugin of a home, examined alone as a host would: the others are not looked at. None: it is not installed.
///
/// # Errors
/// The engine does not start, or the current generation cannot be read.
pub fn examine(home: &Home, config: &Config, cache_dir: &Path, name: &PluginName) -> Result<Option<Why>, OpenError> {
    let store = store_of(home);
    let generation = store.current()?;
    let Some(index) = generation.plugins.iter().position(|entry| entry.name == *name) else { return Ok(None) };
    let loader = loader_at(cache_dir)?;
    let book = Book::at(&home.plugins_dir());
    let loader = || Ok(&loader);
    let opening = Opening::new(&loader, home, config, &store, &book, &generation, Depth::All);
    let installed = opening.one(&generation.plugins[index])?;
    Ok(Some(why(&installed, index + 1)))
}

/// What a host that starts now would have in force, for lists. A plugin that passed its trial before, of which nothing
/// changed since, is not loaded for it; every other one is. Nothing of it can be called.
pub struct Survey {
    generation: Generation,
    plugins: Vec<Installed>,
    config: Config,
}

impl Survey {
    /// Looks at the current generation of a home.
    ///
    /// # Errors
    /// The engine does not start where it is needed, or the current generation cannot be read.
    pub fn open(home: &Home, config: &Config, cache_dir: &Path) -> Result<Self, OpenError> {
        let store = store_of(home);
        let generation = store.current()?;
        let book = Book::at(&home.plugins_dir());
        let records = Records::at(&CompileCache::at(cache_dir));
        let started: OnceLock<Loader> = OnceLock::new();
        let starting = std::sync::Mutex::new(());
        let loader = || {
            let _one = starting.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            match started.get() {
                Some(loader) => Ok(loader),
                None => {
                    let loader = loader_at(cache_dir)?;
                    Ok(started.get_or_init(|| loader))
                }
            }
        };
        let plugins = Opening {
            records: Some(&records),
            ..Opening::new(&loader, home, config, &store, &book, &generation, Depth::Enabled)
        }
        .all()?;
        Ok(Self { generation, plugins, config: config.clone() })
    }

    /// The generation's number.
    pub fn generation(&self) -> u64 {
        self.generation.number
    }

    /// Every plugin, in order.
    pub fn rows(&self) -> Vec<Row> {
        rows(&self.plugins)
    }

    /// Why a host would withhold output, if it would.
    pub fn withheld(&self) -> Vec<(String, String)> {
        absent::withheld(&self.config, &self.plugins)
    }

    /// How many redactors a host would have in force.
    pub fn redactors(&self) -> usize {
        absent::redactors(&self.plugins)
    }
}

fn rows(plugins: &[Installed]) -> Vec<Row> {
    plugins.iter().enumerate().map(|(index, plugin)| plugin.row(index + 1)).collect()
}

fn why(plugin: &Installed, order: usize) -> Why {
    let run = plugin.wanted.run.as_ref();
    Why {
        row: plugin.row(order),
        manifest: plugin.wanted.manifest.clone(),
        steps: run.map(|run| run.steps.clone()).unwrap_or_default(),
        canaries: run.map(|run| run.canaries.clone()).unwrap_or_default(),
        log: run.map(|run| run.log.clone()).unwrap_or_default(),
    }
}

/// What a plugin asks for and was not granted.
pub(crate) fn missing_grants(manifest: Option<&Manifest>, granted: &[String]) -> Vec<Problem> {
    let Some(manifest) = manifest else { return Vec::new() };
    permission::missing(&manifest.permissions, granted)
        .into_iter()
        .map(|asked| {
            let message = match asked {
                Permission::HttpNamed => "it asks for requests to a host that you name, and none is granted".to_owned(),
                asked => format!("it asks for {asked}, which is not granted"),
            };
            let next = format!("`hermes plugins grant {} {}`, if you want that", manifest.name, asked.to_grant());
            Problem::new(Code::NeedsGrant, asked.to_string(), message, next)
        })
        .collect()
}

#[cfg(test)]
mod tests;
