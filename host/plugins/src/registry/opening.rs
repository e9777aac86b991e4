//! Opening a generation: each plugin is taken over from the generation before, or examined, or replaced by its last good
//! version.
//!
//! A plugin that was removed or disabled since a version of it was good must never come back by itself.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use hermes_home::home::Home;
use hermes_ledger::values::Values;
use hermes_model::config::{Config, PluginConfig};
use hermes_model::id::PluginName;

use super::installed::Installed;
use super::record::Records;
use super::version::{Facts, Identity, Outcome, Run, Version};
use super::{Depth, missing_grants};
use crate::bundled;
use crate::digest::Digest;
use crate::engine::EngineError;
use crate::generation::{BUNDLED, Entry, Generation, Store};
use crate::granted::Granted;
use crate::live::Live;
use crate::load::Loader;
use crate::manifest::Manifest;
use crate::permission;
use crate::section;
use crate::strikes::{Book, Event, Standing, now_ms};

/// How many earlier versions are tried where the wanted one cannot load: each may have to be compiled.
const TRIED_MAX: usize = 8;

/// What a generation is opened with.
pub(super) struct Opening<'a> {
    /// The engine and the cache; started when the first plugin needs it.
    pub(super) loader: &'a (dyn Fn() -> Result<&'a Loader, EngineError> + Sync),
    pub(super) home: &'a Home,
    pub(super) store: &'a Store,
    pub(super) book: &'a Book,
    /// How each digest stands, read once.
    pub(super) standings: BTreeMap<Digest, Standing>,
    pub(super) config: &'a Config,
    pub(super) depth: Depth,
    pub(super) generation: &'a Generation,
    /// The generation that was in force, and its plugins.
    pub(super) before: Option<(u64, &'a [Installed])>,
    /// Trials that were passed; then what passed one is not loaded.
    pub(super) records: Option<&'a Records>,
    pub(super) lineage: OnceLock<Vec<Generation>>,
}

impl<'a> Opening<'a> {
    /// Opens a generation on its own: nothing is taken over, and every trial is made.
    pub(super) fn new(
        loader: &'a (dyn Fn() -> Result<&'a Loader, EngineError> + Sync),
        home: &'a Home,
        config: &'a Config,
        store: &'a Store,
        book: &'a Book,
        generation: &'a Generation,
        depth: Depth,
    ) -> Self {
        Self {
            loader,
            home,
            store,
            book,
            standings: book.standings(),
            config,
            depth,
            generation,
            before: None,
            records: None,
            lineage: OnceLock::new(),
        }
    }

    /// Opens every entry, on as many threads as there are processors: plugins have nothing to do with each other.
    ///
    /// # Errors
    /// The engine does not start.
    pub(super) fn all(&self) -> Result<Vec<Installed>, EngineError> {
        let entries = &self.generation.plugins;
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(entries.len());
        if threads <= 1 || self.before.is_some_and(|(_, before)| self.changed(before) < 2) {
            return entries.iter().map(|entry| self.one(entry)).collect();
        }
        let next = std::sync::atomic::AtomicUsize::new(0);
        let mut opened: Vec<(usize, Result<Installed, EngineError>)> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|_| {
                    scope.spawn(|| {
                        let mut mine = Vec::new();
                        loop {
                            let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                            let Some(entry) = entries.get(index) else { return mine };
                            mine.push((index, self.one(entry)));
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

    /// How many entries are not as they were: threads are not worth their start for one.
    fn changed(&self, before: &[Installed]) -> usize {
        let same = |entry: &Entry| before.iter().any(|known| known.entry == *entry);
        self.generation.plugins.iter().filter(|entry| !same(entry)).count()
    }

    /// Opens one entry.
    ///
    /// # Errors
    /// The engine does not start.
    pub(super) fn one(&self, entry: &Entry) -> Result<Installed, EngineError> {
        let wanted = self.version(entry)?;
        let keeps = match wanted.outcome {
            Outcome::Failed | Outcome::Missing | Outcome::NeedsGrant => entry.enabled,
            Outcome::Good | Outcome::OnRecord | Outcome::Idle => false,
        };
        let last_good = if keeps { self.last_good(entry, &wanted)? } else { None };
        let digest = last_good.as_ref().unwrap_or(&wanted).identity.digest;
        let standing = digest.map(|digest| self.standing(digest)).unwrap_or_default();
        Ok(Installed { entry: entry.clone(), wanted, last_good, standing })
    }

    fn config_of(&self, name: &PluginName) -> PluginConfig {
        self.config.plugins.get(name).cloned().unwrap_or_default()
    }

    fn standing(&self, digest: Digest) -> Standing {
        self.standings.get(&digest).cloned().unwrap_or_default().on(Event::Ask, now_ms())
    }

    /// The version an entry names: the one that is there, or a new one.
    fn version(&self, entry: &Entry) -> Result<Arc<Version>, EngineError> {
        let config = self.config_of(&entry.name);
        let digest = if entry.source == BUNDLED {
            bundled::component(&entry.name).map(|(_, digest)| digest)
        } else {
            entry.digest
        };
        let identity = Identity::of(entry, digest, &config);
        let wants_load = entry.enabled || self.depth == Depth::All;
        if let Some(known) = self.taken_over(&entry.name, &identity, wants_load) {
            return Ok(known);
        }
        let file = entry.digest.filter(|_| entry.source != BUNDLED).map(|digest| self.store.component_path(digest));
        if wants_load && let Some(facts) = self.records.and_then(|records| records.find(&identity, file.as_deref())) {
            let mut version = Version::unexamined(identity, Outcome::OnRecord, None);
            version.facts = facts;
            return Ok(Arc::new(version));
        }
        let bytes = match self.store.bytes_of(entry) {
            Ok(bytes) => bytes,
            Err(problem) => {
                let mut version = Version::unexamined(identity, Outcome::Missing, None);
                version.problems.push(problem);
                return Ok(Arc::new(version));
            }
        };
        if !wants_load {
            let manifest = section::read(&bytes).and_then(|text| Manifest::parse(text).ok());
            return Ok(Arc::new(Version::unexamined(identity, Outcome::Idle, manifest)));
        }
        let version = self.examined(entry, identity, &bytes, &config)?;
        if let (Some(records), true) = (self.records, version.run.is_some()) {
            records.keep(&version, file.as_deref());
        }
        Ok(Arc::new(version))
    }

    /// The version of the generation before, if nothing of it changed. It keeps its instances and its figures.
    fn taken_over(&self, name: &PluginName, identity: &Identity, wants_load: bool) -> Option<Arc<Version>> {
        let (_, before) = self.before?;
        let known = before.iter().find(|known| known.entry.name == *name)?;
        let versions = [Some(&known.wanted), known.last_good.as_ref()];
        let same = versions.into_iter().flatten().find(|version| version.identity == *identity)?;
        if !wants_load {
            same.identity.digest?;
            // What is not called any more keeps no instances.
            let idle = Version::unexamined(identity.clone(), Outcome::Idle, same.manifest.clone());
            return same.manifest.is_some().then(|| Arc::new(idle));
        }
        if same.outcome != Outcome::Good {
            return None;
        }
        for live in &same.live {
            // An operator may have forgiven its strikes.
            live.stand(self.standings.get(&live.digest).cloned().unwrap_or_default());
        }
        Some(Arc::clone(same))
    }

    fn examined(
        &self,
        entry: &Entry,
        mut identity: Identity,
        bytes: &[u8],
        config: &PluginConfig,
    ) -> Result<Version, EngineError> {
        let loader = (self.loader)()?;
        let mut found = loader.examine(bytes, identity.digest, &entry.settings, config);
        identity.digest.get_or_insert(found.digest);
        let facts = Facts::of(found.manifest.as_ref(), Some(&found));
        let mut problems = std::mem::take(&mut found.problems);
        let mut outcome = if problems.is_empty() { Outcome::Good } else { Outcome::Failed };
        let mut live = Vec::new();
        let ready = found.ready.take();
        if entry.enabled && outcome == Outcome::Good {
            problems = missing_grants(found.manifest.as_ref(), &entry.grants);
            if !problems.is_empty() {
                outcome = Outcome::NeedsGrant;
            } else if let Some(ready) = ready {
                let hooks = Live::new(entry.name.clone(), found.digest, loader.engine.clone(), ready, self.book);
                let asked = found.manifest.as_ref().map(|manifest| manifest.permissions.as_slice()).unwrap_or_default();
                let values = Values::of(self.home, entry.name.as_str());
                let granted = Granted::new(values, &permission::in_force(asked, &entry.grants));
                live = hooks.into_iter().map(|live| Arc::new(live.granting(&granted))).collect();
            }
        }
        let run = Run { steps: found.steps, canaries: found.canaries, log: found.log };
        Ok(Version { identity, outcome, facts, manifest: found.manifest, run: Some(run), problems, live })
    }

    /// The version that served last under this name, as long as nobody removed or disabled the plugin since.
    fn last_good(&self, entry: &Entry, wanted: &Version) -> Result<Option<Arc<Version>>, EngineError> {
        let earlier = self.earlier(&entry.name);
        if let Some(known) = self.in_memory(entry, wanted) {
            return Ok(Some(known));
        }
        let mut tried: Vec<Entry> = Vec::new();
        for earlier in earlier {
            // What was granted is what is granted now.
            let candidate = Entry { grants: entry.grants.clone(), ..earlier.clone() };
            let same_file = candidate.source == BUNDLED && entry.source == BUNDLED || candidate.digest == entry.digest;
            let is_wanted = same_file && candidate.settings == entry.settings;
            // A permission that was taken away is not to be had by an older entry of the same file.
            let revoked = same_file && wanted.outcome == Outcome::NeedsGrant;
            if is_wanted || revoked || tried.contains(&candidate) {
                continue;
            }
            if tried.len() >= TRIED_MAX {
                break;
            }
            let version = self.version(&candidate)?;
            if version.is_good() {
                return Ok(Some(version));
            }
            tried.push(candidate);
        }
        Ok(None)
    }

    /// The version that serves in this program until now.
    fn in_memory(&self, entry: &Entry, wanted: &Version) -> Option<Arc<Version>> {
        let (number, before) = self.before?;
        let stopped = |generation: &Generation| {
            generation.number > number && generation.find(&entry.name).is_none_or(|entry| !entry.enabled)
        };
        if self.lineage().iter().any(stopped) {
            return None;
        }
        let serving = before.iter().find(|known| known.entry.name == entry.name)?.serving()?;
        let asked = serving.manifest.as_ref().map(|manifest| manifest.permissions.as_slice()).unwrap_or_default();
        // It reaches what was granted when it was loaded, so that must be what is granted now.
        let granted = permission::missing(asked, &entry.grants).is_empty()
            && permission::in_force(asked, &entry.grants) == permission::in_force(asked, &serving.identity.grants);
        let revoked = serving.identity.digest == wanted.identity.digest && wanted.outcome == Outcome::NeedsGrant;
        (granted && !revoked && serving.outcome == Outcome::Good).then(|| Arc::clone(serving))
    }

    /// The entries of earlier generations under a name, newest first, back to where it was absent or disabled.
    fn earlier(&self, name: &PluginName) -> impl Iterator<Item = &Entry> {
        let entries = self.lineage().iter().map(|generation| generation.find(name));
        entries.map_while(|entry| entry.filter(|entry| entry.enabled))
    }

    fn lineage(&self) -> &[Generation] {
        self.lineage.get_or_init(|| self.store.lineage(self.generation))
    }
}
