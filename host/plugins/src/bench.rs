//! One plugin on its own, for measuring: calls, instances, memory. The same code paths a host takes, and no others.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hermes_home::home::Home;
use hermes_model::config::PluginConfig;
use hermes_model::context::Context;
use hermes_model::hook::Hook;
use hermes_model::id::PluginName;
use hermes_output::policy::{Findings, Window};
use serde_json::Map;

use crate::author::{self, PackError};
use crate::bundled;
use crate::cache::CompileCache;
use crate::digest::Digest;
use crate::engine::{Engine, EngineError, Metering};
use crate::generation::{ChangeError, Entry, StoreError};
use crate::live::Live;
use crate::load::{Loader, hermes_version};
use crate::registry::store_of;
use crate::section;
use crate::strikes::Book;

/// Why there is nothing to measure.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The plugin cannot be read.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// The engine does not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// There is no bundled plugin of this name.
    #[error("hermes {version} bundles no plugin '{0}'", version = hermes_version())]
    NotBundled(String),
    /// The plugin cannot load; the words are those of its first problem.
    #[error("the plugin cannot load: {0}")]
    Broken(String),
    /// A call had no answer.
    #[error("a call had no answer: {0}")]
    NoAnswer(String),
    /// Copies cannot be installed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A loaded plugin.
pub struct Bench {
    loader: Loader,
    live: Vec<Arc<Live>>,
    steps: Vec<(&'static str, Duration)>,
}

impl Bench {
    /// Loads a bundled plugin.
    ///
    /// # Errors
    /// There is none of this name, or it does not load.
    pub fn bundled(name: &str, cache_dir: &Path) -> Result<Self, BenchError> {
        let plugin: PluginName = name.parse().map_err(|_| BenchError::NotBundled(name.to_owned()))?;
        let (bytes, _) = bundled::component(&plugin).ok_or_else(|| BenchError::NotBundled(name.to_owned()))?;
        Self::load(Self::loader(cache_dir)?, bytes, &PluginConfig::default())
    }

    /// Loads a component or a plugin's folder.
    ///
    /// # Errors
    /// It cannot be read, or does not load.
    pub fn open(path: &Path, cache_dir: &Path) -> Result<Self, BenchError> {
        Self::load(Self::loader(cache_dir)?, &author::read_source(path)?.packed, &PluginConfig::default())
    }

    /// Loads another packed component beside this one, in the same engine, as a host has them.
    ///
    /// # Errors
    /// It does not load.
    pub fn beside(&self, packed: &[u8], config: &PluginConfig) -> Result<Self, BenchError> {
        Self::load(self.loader.clone(), packed, config)
    }

    /// Loads a copy of the bundled redactor beside this one, with bytes of its own.
    ///
    /// # Errors
    /// It does not load.
    pub fn copy(&self, number: usize) -> Result<Self, BenchError> {
        let name: PluginName = "redact-secrets".parse().map_err(|_| BenchError::NotBundled(String::new()))?;
        let (bytes, _) = bundled::component(&name).ok_or_else(|| BenchError::NotBundled(name.to_string()))?;
        self.beside(&copied(bytes, number), &PluginConfig::default())
    }

    fn loader(cache_dir: &Path) -> Result<Loader, BenchError> {
        Ok(Loader { engine: Engine::start(Metering::Epoch)?, cache: CompileCache::at(cache_dir) })
    }

    fn load(loader: Loader, bytes: &[u8], config: &PluginConfig) -> Result<Self, BenchError> {
        let mut examined = loader.examine(bytes, None, &Map::new(), config);
        let (Some(manifest), Some(ready)) = (examined.manifest, examined.ready.take()) else {
            let first = examined.problems.first();
            return Err(BenchError::Broken(first.map(|problem| problem.message.clone()).unwrap_or_default()));
        };
        // Strikes of a measurement are nobody's business: a book where nothing can be written.
        let book = Book::at(Path::new("/proc/self/hermes-bench"));
        let live = Live::new(manifest.name, examined.digest, loader.engine.clone(), ready, &book);
        let steps = examined.steps.iter().map(|step| (step.step, Duration::from_secs_f64(step.ms / 1e3))).collect();
        Ok(Self { loader, live: live.into_iter().map(Arc::new).collect(), steps })
    }

    /// How long a step of loading it took, such as `compile`; all of them together for none of their names.
    pub fn step(&self, name: &str) -> Duration {
        let all = self.steps.iter().all(|(step, _)| *step != name);
        self.steps.iter().filter(|(step, _)| all || *step == name).map(|(_, time)| *time).sum()
    }

    /// Runs one of its pattern sets over a text as `scan.find` does, without the guest: how many hits there are.
    ///
    /// # Errors
    /// It declares no set of this name, or there are too many hits.
    pub fn find_natively(&self, set: &str, text: &str) -> Result<usize, BenchError> {
        let live = self.live.first().ok_or_else(|| BenchError::NoAnswer("no hook".to_owned()))?;
        let hits = live.patterns().find(set, text, || true);
        hits.map(|hits| hits.len()).map_err(|error| BenchError::NoAnswer(format!("{error:?}")))
    }

    /// Forgives every strike, so that a plugin that fails is asked again.
    pub fn forgive(&self) {
        self.live.iter().for_each(|live| live.forgive());
    }

    fn hook(&self, hook: Hook) -> Result<&Live, BenchError> {
        let live = self.live.iter().find(|live| live.hook == hook);
        live.map(Arc::as_ref).ok_or_else(|| BenchError::NoAnswer(format!("it has no {hook} hook")))
    }

    /// Asks the redactor about a window.
    ///
    /// # Errors
    /// There is no answer.
    pub fn redact(&self, context: &Context, window: &Window<'_>) -> Result<Findings, BenchError> {
        let live = self.hook(Hook::Redact)?;
        let answer = live.call(async |instance| instance.scan(context, window).await);
        answer.map_err(|no| BenchError::NoAnswer(no.word().to_owned()))
    }

    /// Makes a fresh, configured instance of the first hook and drops the one before it.
    ///
    /// # Errors
    /// It does not start.
    pub fn instantiate(&self) -> Result<(), BenchError> {
        let live = self.live.first().ok_or_else(|| BenchError::NoAnswer("no hook".to_owned()))?;
        live.drop_warm();
        live.call(async |_| Ok(())).map_err(|no| BenchError::NoAnswer(no.word().to_owned()))
    }

    /// The linear memory of a warm instance, in bytes.
    pub fn memory(&self) -> Option<u64> {
        let live = self.live.first()?;
        live.call(async |instance| Ok(instance.memory_used())).ok()
    }

    /// Puts copies of the bundled redactor into a home, each with bytes of its own, so that each is compiled and loaded
    /// for itself.
    ///
    /// # Errors
    /// The home cannot be written.
    pub fn fill_home(home: &Home, copies: usize) -> Result<(), BenchError> {
        let name: PluginName = "redact-secrets".parse().map_err(|_| BenchError::NotBundled(String::new()))?;
        let (bytes, _) = bundled::component(&name).ok_or_else(|| BenchError::NotBundled(name.to_string()))?;
        home.ensure().map_err(|error| BenchError::Broken(error.to_string()))?;
        for copy in 0..copies {
            let packed = copied(bytes, copy);
            let entry = Entry {
                name: format!("copy-{copy}").parse().map_err(|_| BenchError::NotBundled(String::new()))?,
                enabled: true,
                source: "file:/copy".to_owned(),
                digest: Some(Digest::of(&packed)),
                grants: Vec::new(),
                settings: Map::new(),
            };
            let made = store_of(home).change("copy", Some(&packed), |plugins| {
                plugins.push(entry);
                Ok::<_, Infallible>(())
            });
            if let Err(ChangeError::Store(error)) = made {
                return Err(error.into());
            }
        }
        Ok(())
    }
}

/// The same plugin with bytes of its own.
fn copied(bytes: &[u8], number: usize) -> Vec<u8> {
    let manifest = section::read(bytes).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default();
    section::embed(bytes, &format!("# copy {number}\n{manifest}"))
}
