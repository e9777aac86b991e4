//! Changes to a home's plugins: each runs the whole pipeline where it must, and makes a new generation or nothing.

pub mod grants;
pub mod update;

use std::path::{Path, PathBuf};

use hermes_home::files;
use hermes_home::home::Home;
use hermes_ledger::values::{Values, ValuesError};
use hermes_model::config::Config;
use hermes_model::id::PluginName;
use hermes_model::suggest;
use serde_json::Map;

use self::grants::{GrantError, kept};
use crate::author::{self, Found, PackError};
use crate::bundled;
use crate::cache::CompileCache;
use crate::digest::Digest;
use crate::engine::{Engine, EngineError, Metering};
use crate::examined::Examined;
use crate::fetch::{self, FetchError};
use crate::generation::{BUNDLED, ChangeError, Entry, Generation, Store, StoreError};
use crate::load::Loader;
use crate::permission::Permission;
use crate::problem::Problem;
use crate::registry::{missing_grants, store_of};
use crate::section;
use crate::source::{self, Source, SourceError};
use crate::strikes::{Book, Standing};

/// Why a change was not made. Everything is as it was.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// There is no such plugin.
    #[error("plugin '{name}' is not installed{hint}")]
    NotInstalled {
        /// The name given.
        name: PluginName,
        /// A suggestion, or the list.
        hint: String,
    },
    /// It cannot load. The problems are those `list` would show.
    #[error("plugin '{name}' cannot load and was not {verb}")]
    Broken {
        /// The plugin.
        name: PluginName,
        /// What was refused.
        verb: &'static str,
        /// Why.
        problems: Vec<Problem>,
    },
    /// The file names no plugin, and neither does its name.
    #[error("'{path}' gives no name for the plugin: pack it with a plugin.toml, or give --name", path = .0.display())]
    NoName(PathBuf),
    /// The order names a plugin twice, or not all fit.
    #[error("the order names '{0}' twice")]
    Twice(PluginName),
    /// It was changed by somebody else since it was looked at.
    #[error("plugin '{0}' was changed by somebody else meanwhile: look at it again and repeat")]
    Raced(PluginName),
    /// Its source holds another plugin.
    #[error("the source of plugin '{name}' now holds '{other}': install that one under its own name")]
    Renamed {
        /// The plugin.
        name: PluginName,
        /// What its manifest says now.
        other: PluginName,
    },
    /// It cannot be granted or revoked.
    #[error(transparent)]
    Grant(#[from] GrantError),
    /// What the plugin kept cannot be removed with it.
    #[error("what plugin '{0}' keeps could not be removed")]
    Values(PluginName, #[source] ValuesError),
    /// What was given is no source.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It cannot be fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The plugin cannot be read or packed.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// The home cannot be created.
    #[error("the home cannot be created")]
    Home(#[source] files::CreateError),
    /// The engine does not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What an installation takes.
#[derive(Clone, Debug)]
pub struct Install {
    /// A component, a plugin's folder, a URL, or the name of a bundled plugin, as [`Source::parse`] takes it.
    pub source: PathBuf,
    /// The name, where the file gives none.
    pub name: Option<PluginName>,
    /// Publish it although it cannot load.
    pub allow_broken: bool,
    /// The digest it must have.
    pub digest: Option<Digest>,
    /// Whether a URL may lead to a private address.
    pub allow_private: bool,
}

/// What a change made.
pub struct Changed {
    /// The new generation.
    pub generation: Generation,
    /// The plugin that was examined, if one was.
    pub examined: Option<Examined>,
    /// Its name.
    pub name: Option<PluginName>,
    /// What it replaced, if there was one: its digest or `bundled`.
    pub replaced: Option<String>,
    /// Whether strikes were forgiven, so that a quarantined plugin is asked again.
    pub forgiven: bool,
}

/// Changes of one home.
pub struct Editor<'a> {
    home: &'a Home,
    config: &'a Config,
    store: Store,
    loader: Loader,
}

impl<'a> Editor<'a> {
    /// An editor. Nothing is created until a change is made.
    ///
    /// # Errors
    /// The engine does not start.
    pub fn new(home: &'a Home, config: &'a Config, cache_dir: &Path) -> Result<Self, EngineError> {
        let loader = Loader { engine: Engine::start(Metering::Epoch)?, cache: CompileCache::at(cache_dir) };
        Ok(Self { home, config, store: store_of(home), loader })
    }

    /// Installs a plugin, enabled, in place of one of the same name.
    ///
    /// # Errors
    /// It cannot be read, or cannot load and `allow_broken` is not set.
    pub fn install(&self, install: &Install) -> Result<Changed, EditError> {
        let source = Source::parse(&install.source)?;
        let found = match &source {
            Source::Bundled(name) => return self.install_bundled(name.clone(), install.digest),
            Source::Path(path) => author::read_pinned(path, install.digest)?,
            Source::Https(url) => fetched(url, install)?,
        };
        let config = self.config_of(&found, install);
        let mut examined = self.loader.examine(&found.packed, None, &Map::new(), &config);
        let name = name_of(&source, &found, install, &examined)?;
        if !examined.problems.is_empty() && !install.allow_broken {
            return Err(EditError::Broken { name, verb: "installed", problems: examined.problems });
        }
        let asked = examined.manifest.as_ref().map(|manifest| manifest.permissions.clone()).unwrap_or_default();
        let before = self.store.current()?.find(&name).map(|entry| entry.grants.clone()).unwrap_or_default();
        // It loads, and yet is not in force: that is said now, and not only by `list`.
        examined.problems.extend(missing_grants(examined.manifest.as_ref(), &before));
        let entry = Entry {
            name: name.clone(),
            enabled: true,
            source: source.stored(),
            digest: Some(examined.digest),
            grants: Vec::new(),
            settings: Map::new(),
        };
        let version = examined.manifest.as_ref().map_or_else(String::new, |manifest| format!(" {}", manifest.version));
        let change = format!("install {name}{version}");
        self.put(entry, &asked, &change, Some(&found.packed)).map(|(generation, replaced)| Changed {
            generation,
            examined: Some(examined),
            name: Some(name),
            replaced,
            forgiven: false,
        })
    }

    fn install_bundled(&self, name: PluginName, digest: Option<Digest>) -> Result<Changed, EditError> {
        if let (Some(wanted), Some((_, found))) = (digest, bundled::component(&name))
            && wanted != found
        {
            return Err(PackError::Digest { wanted, found }.into());
        }
        let entry = Entry {
            name: name.clone(),
            enabled: true,
            source: BUNDLED.to_owned(),
            digest: None,
            grants: Vec::new(),
            settings: Map::new(),
        };
        let config = self.config.plugins.get(&name).cloned().unwrap_or_default();
        let mut examined =
            bundled::component(&name).map(|(bytes, _)| self.loader.examine(bytes, None, &Map::new(), &config));
        let manifest = examined.as_ref().and_then(|examined| examined.manifest.clone());
        let asked = manifest.as_ref().map(|manifest| manifest.permissions.clone()).unwrap_or_default();
        let before = self.store.current()?.find(&name).map(|entry| entry.grants.clone()).unwrap_or_default();
        if let Some(examined) = &mut examined {
            examined.problems.extend(missing_grants(manifest.as_ref(), &before));
        }
        let (generation, replaced) = self.put(entry, &asked, &format!("install {name} (bundled)"), None)?;
        Ok(Changed { generation, examined, name: Some(name), replaced, forgiven: false })
    }

    /// Puts an entry in place of one of the same name, or at the end.
    fn put(
        &self,
        entry: Entry,
        asked: &[Permission],
        change: &str,
        component: Option<&[u8]>,
    ) -> Result<(Generation, Option<String>), EditError> {
        let mut replaced = None;
        let generation = self.change(change, component, |plugins| {
            match plugins.iter_mut().find(|known| known.name == entry.name) {
                Some(known) => {
                    replaced = Some(known.digest.map_or_else(|| known.source.clone(), |digest| digest.to_string()));
                    // Settings belong to the name, not to the file; grants too, as far as this file asks for them.
                    let settings = std::mem::take(&mut known.settings);
                    let grants = kept(asked, &known.grants);
                    *known = Entry { settings, grants, ..entry };
                }
                None => plugins.push(entry),
            }
            Ok(())
        })?;
        Ok((generation, replaced))
    }

    fn config_of(&self, source: &Found, install: &Install) -> hermes_model::config::PluginConfig {
        let name = source.name.as_ref().or(install.name.as_ref());
        name.and_then(|name| self.config.plugins.get(name)).cloned().unwrap_or_default()
    }

    /// Removes a plugin, and what it kept.
    ///
    /// # Errors
    /// It is not installed, or what it kept cannot be removed: the plugin is gone all the same then.
    pub fn remove(&self, name: &PluginName) -> Result<Generation, EditError> {
        let generation = self.change(&format!("remove {name}"), None, |plugins| {
            let at = position(plugins, name)?;
            plugins.remove(at);
            Ok(())
        })?;
        Values::of(self.home, name.as_str()).clear().map_err(|error| EditError::Values(name.clone(), error))?;
        Ok(generation)
    }

    /// Enables a plugin that can load, and forgives its strikes.
    ///
    /// # Errors
    /// It is not installed, or cannot load and `allow_broken` is not set.
    pub fn enable(&self, name: &PluginName, allow_broken: bool) -> Result<Changed, EditError> {
        let current = self.store.current()?;
        let entry = &current.plugins[position(&current.plugins, name)?];
        let config = self.config.plugins.get(name).cloned().unwrap_or_default();
        let (examined, problems) = match self.store.bytes_of(entry) {
            Ok(bytes) => {
                let examined = self.loader.examine(&bytes, entry.digest, &entry.settings, &config);
                let problems = examined.problems.clone();
                (Some(examined), problems)
            }
            Err(problem) => (None, vec![problem]),
        };
        if !problems.is_empty() && !allow_broken {
            return Err(EditError::Broken { name: name.clone(), verb: "enabled", problems });
        }
        let mut forgiven = false;
        if let Some(examined) = &examined {
            let book = Book::at(&self.home.plugins_dir());
            forgiven = book.standing(examined.digest) != Standing::default();
            book.forgive(examined.digest).map_err(StoreError::Write)?;
        }
        let generation = self.set_enabled(name, true, &format!("enable {name}"))?;
        Ok(Changed { generation, examined, name: Some(name.clone()), replaced: None, forgiven })
    }

    /// Disables a plugin.
    ///
    /// # Errors
    /// It is not installed.
    pub fn disable(&self, name: &PluginName) -> Result<Generation, EditError> {
        self.set_enabled(name, false, &format!("disable {name}"))
    }

    fn set_enabled(&self, name: &PluginName, enabled: bool, change: &str) -> Result<Generation, EditError> {
        let current = self.store.current()?;
        let at = position(&current.plugins, name)?;
        if current.plugins[at].enabled == enabled {
            return Ok(current);
        }
        self.change(change, None, |plugins| {
            let at = position(plugins, name)?;
            plugins[at].enabled = enabled;
            Ok(())
        })
    }

    /// Puts the named plugins first, in this order; the others keep theirs behind them.
    ///
    /// # Errors
    /// One is not installed or named twice.
    pub fn order(&self, names: &[PluginName]) -> Result<Generation, EditError> {
        let words = names.iter().map(PluginName::as_str).collect::<Vec<_>>().join(" ");
        let current = self.store.current()?;
        let in_place = current.plugins.iter().map(|entry| &entry.name).zip(names).all(|(now, wanted)| now == wanted);
        if in_place && names.len() <= current.plugins.len() {
            return Ok(current);
        }
        self.change(&format!("order {words}"), None, |plugins| {
            let mut ordered = Vec::with_capacity(plugins.len());
            for name in names {
                match position(plugins, name) {
                    Ok(at) => ordered.push(plugins.remove(at)),
                    Err(_) if ordered.iter().any(|entry: &Entry| entry.name == *name) => {
                        return Err(EditError::Twice(name.clone()));
                    }
                    Err(error) => return Err(error),
                }
            }
            ordered.append(plugins);
            *plugins = ordered;
            Ok(())
        })
    }

    /// Returns to an earlier generation.
    ///
    /// # Errors
    /// There is none.
    pub fn rollback(&self, to: Option<u64>) -> Result<Generation, EditError> {
        // A home that does not exist has nothing to go back to; asking must not create it.
        if !self.home.plugins_dir().exists() {
            return Err(match to {
                Some(number) if number > 0 => StoreError::NoGeneration(number, "none".to_owned()),
                _ => StoreError::AtTheBeginning("none".to_owned()),
            }
            .into());
        }
        Ok(self.store.rollback(to)?)
    }

    fn change(
        &self,
        change: &str,
        component: Option<&[u8]>,
        edit: impl FnOnce(&mut Vec<Entry>) -> Result<(), EditError>,
    ) -> Result<Generation, EditError> {
        // What would be refused is refused before anything is created.
        let current = self.store.current()?;
        if !self.home.exists() && component.is_none() {
            let mut plugins = current.plugins;
            edit(&mut plugins)?;
            self.home.ensure().map_err(EditError::Home)?;
            return self.publish(change, None, move |next| {
                *next = plugins;
                Ok(())
            });
        }
        self.home.ensure().map_err(EditError::Home)?;
        self.publish(change, component, edit)
    }

    fn publish(
        &self,
        change: &str,
        component: Option<&[u8]>,
        edit: impl FnOnce(&mut Vec<Entry>) -> Result<(), EditError>,
    ) -> Result<Generation, EditError> {
        self.store.change(change, component, edit).map_err(|error| match error {
            ChangeError::Refused(error) => error,
            ChangeError::Store(error) => error.into(),
        })
    }
}

/// The component behind a URL, which must have its digest before anything of it is looked at.
fn fetched(url: &source::Url, install: &Install) -> Result<Found, EditError> {
    let wanted = url.pinned(install.digest)?;
    let packed = fetch::bytes(url, install.allow_private)?;
    let found = Digest::of(&packed);
    if found != wanted {
        return Err(PackError::Digest { wanted, found }.into());
    }
    let name = section::read(&packed).and_then(author::name_in);
    Ok(Found { packed, component: PathBuf::from(url.to_string()), folder: None, name })
}

/// The name under which a plugin is installed: its manifest's, the one given, or that of its file.
fn name_of(source: &Source, found: &Found, install: &Install, examined: &Examined) -> Result<PluginName, EditError> {
    let from_manifest = examined.manifest.as_ref().map(|manifest| manifest.name.clone());
    let named = from_manifest.or_else(|| found.name.clone()).or_else(|| install.name.clone());
    let stored = PathBuf::from(source.stored());
    let stem = || stored.file_stem()?.to_str()?.to_lowercase().replace('_', "-").parse().ok();
    named.or_else(stem).ok_or_else(|| EditError::NoName(found.component.clone()))
}

fn position(plugins: &[Entry], name: &PluginName) -> Result<usize, EditError> {
    plugins.iter().position(|entry| entry.name == *name).ok_or_else(|| {
        let known: Vec<&str> = plugins.iter().map(|entry| entry.name.as_str()).collect();
        EditError::NotInstalled { name: name.clone(), hint: suggest::hint(name.as_str(), &known) }
    })
}
