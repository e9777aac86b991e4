//! Changes to a home's plugins: each runs the whole pipeline where it must, and makes a new generation or nothing.

use std::path::{Path, PathBuf};

use hermes_home::files;
use hermes_home::home::Home;
use hermes_model::config::Config;
use hermes_model::id::PluginName;
use hermes_model::suggest;
use serde_json::Map;

use crate::author::{self, PackError};
use crate::bundled;
use crate::cache::CompileCache;
use crate::digest::Digest;
use crate::engine::{Engine, EngineError, Metering};
use crate::examined::Examined;
use crate::generation::{BUNDLED, ChangeError, Entry, Generation, Store, StoreError};
use crate::load::Loader;
use crate::problem::Problem;
use crate::registry::{missing_grants, store_of};
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
    /// The file is not the one that was asked for. Never published, whatever is allowed.
    #[error(
        "the file has the digest {found}, not {wanted}: it is not the plugin you asked for, so nothing was installed"
    )]
    Digest {
        /// The digest given.
        wanted: Digest,
        /// The file's.
        found: Digest,
    },
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
    /// A component, a plugin's folder, or the name of a bundled plugin.
    pub source: PathBuf,
    /// The name, where the file gives none.
    pub name: Option<PluginName>,
    /// Publish it although it cannot load.
    pub allow_broken: bool,
    /// The digest it must have.
    pub digest: Option<Digest>,
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
        let bundled_name = install.source.to_str().and_then(|text| text.parse().ok());
        if let Some(name) = bundled_name
            && !install.source.exists()
            && bundled::component(&name).is_some()
        {
            if let (Some(wanted), Some((_, found))) = (install.digest, bundled::component(&name))
                && wanted != found
            {
                return Err(EditError::Digest { wanted, found });
            }
            return self.install_bundled(name);
        }
        let source = author::read_source(&install.source)?;
        if let Some(wanted) = install.digest {
            let found = Digest::of(&source.packed);
            if found != wanted {
                return Err(EditError::Digest { wanted, found });
            }
        }
        let config = self.config_of(&source, install);
        let mut examined = self.loader.examine(&source.packed, None, &Map::new(), &config);
        let name = self.name_of(&source, install, &examined)?;
        if !examined.problems.is_empty() && !install.allow_broken {
            return Err(EditError::Broken { name, verb: "installed", problems: examined.problems });
        }
        // It loads, and yet is not in force: that is said now, and not only by `list`.
        examined.problems.extend(missing_grants(examined.manifest.as_ref(), &[]));
        let path = std::path::absolute(&install.source).unwrap_or_else(|_| install.source.clone());
        let entry = Entry {
            name: name.clone(),
            enabled: true,
            source: format!("file:{}", path.display()),
            digest: Some(examined.digest),
            grants: Vec::new(),
            settings: Map::new(),
        };
        let version = examined.manifest.as_ref().map_or_else(String::new, |manifest| format!(" {}", manifest.version));
        let change = format!("install {name}{version}");
        self.put(entry, &change, Some(&source.packed)).map(|(generation, replaced)| Changed {
            generation,
            examined: Some(examined),
            name: Some(name),
            replaced,
            forgiven: false,
        })
    }

    fn install_bundled(&self, name: PluginName) -> Result<Changed, EditError> {
        let entry = Entry {
            name: name.clone(),
            enabled: true,
            source: BUNDLED.to_owned(),
            digest: None,
            grants: Vec::new(),
            settings: Map::new(),
        };
        let (generation, replaced) = self.put(entry, &format!("install {name} (bundled)"), None)?;
        Ok(Changed { generation, examined: None, name: Some(name), replaced, forgiven: false })
    }

    /// Puts an entry in place of one of the same name, or at the end.
    fn put(
        &self,
        entry: Entry,
        change: &str,
        component: Option<&[u8]>,
    ) -> Result<(Generation, Option<String>), EditError> {
        let mut replaced = None;
        let generation = self.change(change, component, |plugins| {
            match plugins.iter_mut().find(|known| known.name == entry.name) {
                Some(known) => {
                    replaced = Some(known.digest.map_or_else(|| known.source.clone(), |digest| digest.to_string()));
                    // Settings belong to the name, not to the file.
                    let settings = std::mem::take(&mut known.settings);
                    *known = Entry { settings, ..entry };
                }
                None => plugins.push(entry),
            }
            Ok(())
        })?;
        Ok((generation, replaced))
    }

    fn config_of(&self, source: &author::Source, install: &Install) -> hermes_model::config::PluginConfig {
        let name = source.name.as_ref().or(install.name.as_ref());
        name.and_then(|name| self.config.plugins.get(name)).cloned().unwrap_or_default()
    }

    fn name_of(
        &self,
        source: &author::Source,
        install: &Install,
        examined: &Examined,
    ) -> Result<PluginName, EditError> {
        let from_manifest = examined.manifest.as_ref().map(|manifest| manifest.name.clone());
        let named = from_manifest.or_else(|| source.name.clone()).or_else(|| install.name.clone());
        let stem = || {
            let stem = install.source.file_stem()?.to_str()?;
            stem.to_lowercase().replace('_', "-").parse().ok()
        };
        named.or_else(stem).ok_or_else(|| EditError::NoName(install.source.clone()))
    }

    /// Removes a plugin.
    ///
    /// # Errors
    /// It is not installed.
    pub fn remove(&self, name: &PluginName) -> Result<Generation, EditError> {
        self.change(&format!("remove {name}"), None, |plugins| {
            let at = position(plugins, name)?;
            plugins.remove(at);
            Ok(())
        })
    }

    /// Enables a plugin that can load, and forgives its strikes.
    ///
    /// # Errors
    /// It is not installed, or cannot load and `allow_broken` is not set.
    pub fn enable(&self, name: &PluginName, allow_broken: bool) -> Result<Changed, EditError> {
        let current = self.store.current()?;
        let entry = &current.plugins[position(&current.plugins, name)?];
        let config = self.config.plugins.get(name).cloned().unwrap_or_default();
        let bytes = match (entry.source.as_str(), entry.digest) {
            (BUNDLED, _) => bundled::component(name).map(|(bytes, _)| bytes.to_vec()),
            (_, Some(digest)) => self.store.component(digest).ok(),
            _ => None,
        };
        let examined = bytes.map(|bytes| self.loader.examine(&bytes, entry.digest, &entry.settings, &config));
        let problems = match &examined {
            Some(examined) => examined.problems.clone(),
            None => vec![Problem::new(
                crate::problem::Code::MissingFile,
                name.as_str(),
                "its file is not in the store",
                format!("install it again: `hermes plugins install {}`", entry.source.trim_start_matches("file:")),
            )],
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

fn position(plugins: &[Entry], name: &PluginName) -> Result<usize, EditError> {
    plugins.iter().position(|entry| entry.name == *name).ok_or_else(|| {
        let known: Vec<&str> = plugins.iter().map(|entry| entry.name.as_str()).collect();
        EditError::NotInstalled { name: name.clone(), hint: suggest::hint(name.as_str(), &known) }
    })
}
