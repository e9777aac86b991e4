//! Generations: published sets of plugins, kept as files, one of them current.
//!
//! Every change makes a new file and then swaps one symbolic link, so that a change is whole or has not happened. What
//! a generation names lies in the store, addressed by its digest. Nothing here runs or judges a plugin.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hermes_home::files;
use hermes_model::id::PluginName;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::bundled;
use crate::digest::Digest;
use crate::limits::FILE_MAX;
use crate::problem::{Code, Problem};
use crate::source;

/// How many generations are kept to go back to.
pub const GENERATIONS_KEPT: usize = 50;
/// The largest generation file: some hundred bytes a plugin.
const GENERATION_MAX: u64 = 4 * 1024 * 1024;
/// The source of plugins inside the binary.
pub const BUNDLED: &str = "bundled";

/// One published set of plugins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Generation {
    /// Its number; 0 is inside the binary.
    pub number: u64,
    /// The one it was made from.
    pub parent: u64,
    /// What was changed, for people.
    pub change: String,
    /// The plugins, in the order of their chains.
    #[serde(default, rename = "plugin")]
    pub plugins: Vec<Entry>,
}

/// One plugin of a generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name.
    pub name: PluginName,
    /// Whether it should be in force.
    pub enabled: bool,
    /// Where it came from, as [`crate::source::Source::stored`] writes it.
    pub source: String,
    /// Its digest; none for bundled ones, which are whatever this binary bundles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The permissions granted.
    #[serde(default)]
    pub grants: Vec<String>,
    /// Its settings; the configuration wins over them.
    #[serde(default)]
    pub settings: Map<String, Value>,
}

impl Generation {
    /// The generation inside the binary: the first-party plugins, enabled.
    pub fn bundled(names: impl IntoIterator<Item = PluginName>) -> Self {
        let plugins = names.into_iter().map(|name| Entry {
            name,
            enabled: true,
            source: BUNDLED.to_owned(),
            digest: None,
            grants: Vec::new(),
            settings: Map::new(),
        });
        Self { number: 0, parent: 0, change: "bundled with hermes".to_owned(), plugins: plugins.collect() }
    }

    /// A plugin by its name.
    pub fn find(&self, name: &PluginName) -> Option<&Entry> {
        self.plugins.iter().find(|entry| entry.name == *name)
    }
}

/// Why the generations cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Something else is where the plugins folder belongs.
    #[error("'{path}' is not a folder: move it away; the plugins of this home belong there", path = .0.display())]
    NotAFolder(PathBuf),
    /// The current generation cannot be read.
    #[error("the current generation of plugins cannot be read; `hermes plugins rollback` returns to the one before")]
    Current(#[source] files::ReadError),
    /// The current generation is damaged.
    #[error("generation file '{path}' is damaged ({reason}); `hermes plugins rollback` returns to the one before", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Why, without its content.
        reason: String,
    },
    /// There is no such generation.
    #[error("there is no generation {0} to return to; kept: {1}")]
    NoGeneration(u64, String),
    /// The bundled generation is in force, and nothing came before it.
    #[error(
        "generation 0, the bundled one, is in force: nothing came before it; `--to N` goes to a later one (kept: {0})"
    )]
    AtTheBeginning(String),
    /// A folder cannot be created.
    #[error("the plugins folder cannot be created")]
    Create(#[source] files::CreateError),
    /// Another change is being made.
    #[error("the plugins of this home cannot be changed now")]
    Locked(#[source] files::LockError),
    /// A file cannot be written; nothing has changed.
    #[error("the change could not be written; the plugins are as they were")]
    Write(#[source] files::WriteError),
    /// The link to the current generation cannot be swapped; nothing has changed.
    #[error("the change could not be published in '{path}'; the plugins are as they were", path = path.display())]
    Publish {
        /// The link.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// The plugins folder of a home.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    bundled: Generation,
}

impl Store {
    /// The store in this folder, with the generation of the binary. Nothing is created by reading.
    pub fn at(folder: PathBuf, bundled: Generation) -> Self {
        Self { folder, bundled }
    }

    /// The current generation.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn current(&self) -> Result<Generation, StoreError> {
        match fs::symlink_metadata(self.link()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(self.bundled.clone()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                Err(StoreError::NotAFolder(self.folder.clone()))
            }
            _ => self.read(&self.link()),
        }
    }

    /// A kept generation by its number.
    fn numbered(&self, number: u64) -> Result<Generation, StoreError> {
        if number == 0 {
            return Ok(self.bundled.clone());
        }
        let path = self.generation_path(number);
        if path.exists() {
            return self.read(&path);
        }
        Err(StoreError::NoGeneration(number, self.kept_words()))
    }

    /// The generations this one was made from, newest first, as far as they are kept. One that cannot be read ends them.
    pub(crate) fn lineage(&self, of: &Generation) -> Vec<Generation> {
        let mut found: Vec<Generation> = Vec::new();
        let (mut number, mut parent) = (of.number, of.parent);
        // A file written by somebody else may name any parent: numbers only go down.
        while parent < number {
            let Ok(generation) = self.numbered(parent) else { break };
            (number, parent) = (parent, generation.parent);
            found.push(generation);
        }
        found
    }

    fn kept_words(&self) -> String {
        let kept = self.kept();
        if kept.is_empty() {
            return "none".to_owned();
        }
        kept.into_iter().map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
    }

    fn read(&self, path: &Path) -> Result<Generation, StoreError> {
        let bytes = files::read_bounded(path, GENERATION_MAX).map_err(StoreError::Current)?;
        let damaged = |reason: String| StoreError::Damaged { path: path.to_owned(), reason };
        let text = String::from_utf8(bytes).map_err(|_| damaged("not UTF-8".to_owned()))?;
        toml::from_str(&text).map_err(|error| damaged(error.message().to_owned()))
    }

    /// A component's bytes.
    ///
    /// # Errors
    /// The file is missing, too large or cannot be read.
    pub fn component(&self, digest: Digest) -> Result<Vec<u8>, files::ReadError> {
        files::read_bounded(&self.component_path(digest), FILE_MAX)
    }

    /// Where a component's bytes are.
    pub fn component_path(&self, digest: Digest) -> PathBuf {
        self.folder.join("store").join(format!("{}.wasm", digest.hex()))
    }

    /// The bytes an entry names, or why there are none.
    pub(crate) fn bytes_of(&self, entry: &Entry) -> Result<Vec<u8>, Problem> {
        if entry.source == BUNDLED {
            let bytes = bundled::component(&entry.name).map(|(bytes, _)| bytes.to_vec());
            return bytes.ok_or_else(|| {
                Problem::new(
                    Code::MissingFile,
                    entry.name.as_str(),
                    format!("this hermes bundles no plugin '{}'", entry.name),
                    format!("`hermes plugins remove {}`, or install it from a file", entry.name),
                )
            });
        }
        let again = format!("install it again: {}", source::install_again(&entry.source));
        let Some(digest) = entry.digest else {
            let message = "the generation names no digest for it";
            return Err(Problem::new(Code::MissingFile, entry.name.as_str(), message, again));
        };
        self.component(digest).map_err(|error| {
            Problem::new(Code::MissingFile, self.component_path(digest).display().to_string(), error.to_string(), again)
        })
    }

    /// Publishes a change: `edit` makes the next set of plugins of the current one, under a lock, so that two changes
    /// at the same time both survive. `component` is put into the store first.
    ///
    /// # Errors
    /// `edit` refused, or something could not be written; the plugins are as they were.
    pub fn change<E>(
        &self,
        change: &str,
        component: Option<&[u8]>,
        edit: impl FnOnce(&mut Vec<Entry>) -> Result<(), E>,
    ) -> Result<Generation, ChangeError<E>> {
        files::create_private_dir(&self.folder).map_err(StoreError::Create)?;
        let _lock = files::lock(&self.folder.join("lock")).map_err(StoreError::Locked)?;
        self.settle();
        let current = self.current()?;
        let mut plugins = current.plugins.clone();
        edit(&mut plugins).map_err(ChangeError::Refused)?;
        let number = self.kept().last().copied().unwrap_or(0).max(current.number) + 1;
        let next = Generation { number, parent: current.number, change: change.to_owned(), plugins };
        let written = self.write(&next, component).and_then(|()| self.publish(number));
        if let Err(error) = written {
            self.settle();
            return Err(error.into());
        }
        let _ = fs::remove_file(self.marker());
        self.prune(&next);
        Ok(next)
    }

    /// Writes a generation with its component. Until the marker is gone it has not happened.
    fn write(&self, next: &Generation, component: Option<&[u8]>) -> Result<(), StoreError> {
        files::write_atomically(&self.marker(), next.number.to_string().as_bytes()).map_err(StoreError::Write)?;
        if let Some(bytes) = component {
            files::create_private_dir(&self.folder.join("store")).map_err(StoreError::Create)?;
            files::write_atomically(&self.component_path(Digest::of(bytes)), bytes).map_err(StoreError::Write)?;
        }
        let path = self.generation_path(next.number);
        let text = toml::to_string(next)
            .map_err(|error| StoreError::Damaged { path: path.clone(), reason: error.to_string() })?;
        files::create_private_dir(&self.folder.join("generations")).map_err(StoreError::Create)?;
        files::write_atomically(&path, text.as_bytes()).map_err(StoreError::Write)
    }

    /// Clears away what a change left that was ended in the middle: its generation, if it was not published, and temporary
    /// files. Only under the lock, so that whatever is found is nobody's any more. What cannot be removed stays.
    fn settle(&self) {
        let unpublished = fs::read_to_string(self.marker()).ok().and_then(|text| text.trim().parse::<u64>().ok());
        if let Some(number) = unpublished {
            let current = fs::read_link(self.link()).ok().and_then(|target| number_of(&target));
            if current != Some(number) {
                let _ = fs::remove_file(self.generation_path(number));
            }
            let _ = fs::remove_file(self.marker());
            // Its component goes with the next change, as any that no generation names.
        }
        for (folder, is_left) in [
            (self.folder.clone(), is_left_link as fn(&str) -> bool),
            (self.folder.join("store"), is_temporary),
            (self.folder.join("generations"), is_temporary),
        ] {
            for file in fs::read_dir(folder).into_iter().flatten().flatten() {
                if file.file_name().to_str().is_some_and(is_left) {
                    let _ = fs::remove_file(file.path());
                }
            }
        }
    }

    /// Names the generation that is being written.
    fn marker(&self) -> PathBuf {
        self.folder.join("pending")
    }

    /// Returns to an earlier generation: `to`, or the one the current was made from.
    ///
    /// # Errors
    /// There is no such generation, or the link cannot be swapped.
    pub fn rollback(&self, to: Option<u64>) -> Result<Generation, StoreError> {
        files::create_private_dir(&self.folder).map_err(StoreError::Create)?;
        let _lock = files::lock(&self.folder.join("lock")).map_err(StoreError::Locked)?;
        self.settle();
        let number = match (to, self.current()) {
            (Some(number), _) => number,
            (None, Ok(current)) if current.number == 0 => {
                return Err(StoreError::AtTheBeginning(self.kept_words()));
            }
            (None, Ok(current)) => current.parent,
            // The current one is unreadable: the newest readable one before it.
            (None, Err(_)) => {
                let broken = fs::read_link(self.link()).ok().and_then(|target| number_of(&target));
                let readable = self.kept().into_iter().rev().filter(|n| Some(*n) != broken);
                readable.into_iter().find(|n| self.numbered(*n).is_ok()).unwrap_or(0)
            }
        };
        let generation = self.numbered(number)?;
        self.publish(number)?;
        Ok(generation)
    }

    /// Points the link at a generation, in one step. Generation 0 has no file: it is in force where there is no link.
    fn publish(&self, number: u64) -> Result<(), StoreError> {
        let link = self.link();
        let failed = |source| StoreError::Publish { path: link.clone(), source };
        if number == 0 {
            return match fs::remove_file(&link) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
                _ => Ok(()),
            };
        }
        let fresh = self.folder.join(format!(".current-{}", std::process::id()));
        let _ = fs::remove_file(&fresh);
        let target = Path::new("generations").join(format!("{number}.toml"));
        std::os::unix::fs::symlink(target, &fresh).map_err(failed)?;
        fs::rename(&fresh, &link).map_err(failed)?;
        fs::File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(failed)
    }

    /// Removes the oldest generations and the components none of the kept names. What cannot be removed stays, and so does
    /// the generation that `rollback` returns to.
    fn prune(&self, current: &Generation) {
        let kept = self.kept();
        let surplus = kept.len().saturating_sub(GENERATIONS_KEPT);
        for number in kept.into_iter().take(surplus) {
            if number != current.number && number != current.parent {
                let _ = fs::remove_file(self.generation_path(number));
            }
        }
        let name = |digest: &Digest| format!("{}.wasm", digest.hex());
        let Ok(files) = fs::read_dir(self.folder.join("store")) else { return };
        let mut unnamed: BTreeSet<String> =
            files.flatten().filter_map(|file| file.file_name().into_string().ok()).collect();
        unnamed.retain(|file| file.strip_suffix(".wasm").is_some_and(|stem| stem.parse::<Digest>().is_ok()));
        let strike = |generation: &Generation, unnamed: &mut BTreeSet<String>| {
            for digest in generation.plugins.iter().filter_map(|entry| entry.digest.as_ref()) {
                unnamed.remove(&name(digest));
            }
        };
        strike(current, &mut unnamed);
        for number in self.kept().into_iter().rev() {
            // Mostly the newest name everything there is, and the others need not be read.
            if unnamed.is_empty() {
                return;
            }
            // One that cannot be read may name anything: then nothing is removed.
            let Ok(generation) = self.numbered(number) else { return };
            strike(&generation, &mut unnamed);
        }
        for file in unnamed {
            let _ = fs::remove_file(self.folder.join("store").join(file));
        }
    }

    /// The numbers of the kept generations, in order.
    fn kept(&self) -> Vec<u64> {
        let Ok(files) = fs::read_dir(self.folder.join("generations")) else { return Vec::new() };
        let mut numbers: Vec<u64> = files.flatten().filter_map(|file| number_of(&file.path())).collect();
        numbers.sort_unstable();
        numbers
    }

    fn generation_path(&self, number: u64) -> PathBuf {
        self.folder.join("generations").join(format!("{number}.toml"))
    }

    fn link(&self) -> PathBuf {
        self.folder.join("current")
    }
}

/// A temporary file as [`files::write_atomically`] names it.
fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".tmp")
}

/// A link that was to become the current one, or the marker before it had its name.
fn is_left_link(name: &str) -> bool {
    name.starts_with(".current-") || (name.starts_with(".pending.") && name.ends_with(".tmp"))
}

fn number_of(path: &Path) -> Option<u64> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".toml")?;
    stem.parse().ok()
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError<E> {
    /// The edit itself refused.
    #[error(transparent)]
    Refused(E),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let bundled = Generation::bundled(["redact-secrets".parse().unwrap()]);
        let store = Store::at(folder.path().join("plugins"), bundled);
        (folder, store)
    }

    fn entry(name: &str, bytes: &[u8]) -> Entry {
        let mut settings = Map::new();
        settings.insert("n".into(), Value::from(1));
        Entry {
            name: name.parse().unwrap(),
            enabled: true,
            source: "file:/x".into(),
            digest: Some(Digest::of(bytes)),
            grants: vec![],
            settings,
        }
    }

    fn install(store: &Store, name: &str) -> Generation {
        let bytes = name.as_bytes().to_vec();
        store
            .change(&format!("install {name}"), Some(&bytes), |plugins| {
                plugins.push(entry(name, &bytes));
                Ok::<_, Infallible>(())
            })
            .unwrap()
    }

    #[test]
    fn reading_a_fresh_home_creates_nothing_and_gives_the_bundled_generation() {
        let (folder, store) = store();
        assert_eq!(store.current().unwrap().number, 0);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_killed_change_left_is_cleared_away_by_the_next_and_what_was_published_stays() {
        let (_folder, store) = store();
        let first = install(&store, "a");
        let left = |name: &str, text: &str| fs::write(store.folder.join(name), text).unwrap();
        // Killed between writing generation 2 and publishing it.
        left("pending", "2");
        left("generations/2.toml", "number = 2");
        left("generations/.2.toml.abc.tmp", "num");
        left("store/.00.wasm.abc.tmp", "half");
        left(".current-1", "");
        left("store/README", "not ours");
        assert_eq!(store.current().unwrap(), first);
        let second = install(&store, "b");
        assert_eq!((second.number, second.parent), (2, 1));
        assert_eq!(store.current().unwrap(), second);
        for gone in ["pending", "generations/.2.toml.abc.tmp", "store/.00.wasm.abc.tmp", ".current-1"] {
            assert!(!store.folder.join(gone).exists(), "{gone}");
        }
        assert!(store.folder.join("store/README").exists());
        // Killed after publishing and before its marker was gone.
        left("pending", "2");
        assert_eq!(store.rollback(None).unwrap(), first);
        assert!(!store.folder.join("pending").exists());
        assert_eq!(store.rollback(Some(2)).unwrap(), second);
    }

    #[test]
    fn a_change_is_a_new_generation_that_reads_back_whole() {
        let (_folder, store) = store();
        let first = install(&store, "a");
        let second = install(&store, "b");
        assert_eq!((first.number, second.number, second.parent), (1, 2, 1));
        assert_eq!(store.current().unwrap(), second);
        assert_eq!(store.component(Digest::of(b"b")).unwrap(), b"b");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&store.component_path(Digest::of(b"b"))), 0o600);
        assert_eq!(mode(&store.folder), 0o700);
    }

    #[test]
    fn a_refused_change_leaves_exactly_what_was() {
        let (_folder, store) = store();
        install(&store, "a");
        let before = store.current().unwrap();
        let refused = store.change("remove", None, |plugins| {
            plugins.clear();
            Err::<(), _>("no")
        });
        assert!(matches!(refused, Err(ChangeError::Refused("no"))));
        assert_eq!(store.current().unwrap(), before);
        assert_eq!(store.kept(), [1]);
    }

    #[test]
    fn rollback_goes_back_and_a_change_after_it_gets_a_new_number() {
        let (_folder, store) = store();
        install(&store, "a");
        install(&store, "b");
        assert_eq!(store.rollback(None).unwrap().number, 1);
        assert_eq!(store.current().unwrap().number, 1);
        assert_eq!(install(&store, "c").number, 3);
        assert_eq!(store.rollback(Some(2)).unwrap().plugins.len(), 3);
        assert_eq!(store.rollback(Some(0)).unwrap().number, 0);
        assert_eq!(store.current().unwrap().number, 0);
        assert!(matches!(store.rollback(None), Err(StoreError::AtTheBeginning(_))));
        assert!(matches!(store.rollback(Some(9)), Err(StoreError::NoGeneration(9, _))));
    }

    #[test]
    fn a_damaged_generation_is_an_error_and_rollback_leaves_it() {
        let (_folder, store) = store();
        install(&store, "a");
        install(&store, "b");
        fs::write(store.generation_path(2), "number = ").unwrap();
        assert!(matches!(store.current(), Err(StoreError::Damaged { .. })));
        assert_eq!(store.rollback(None).unwrap().number, 1);
    }

    #[test]
    fn changes_at_the_same_time_all_survive() {
        let (_folder, store) = store();
        std::thread::scope(|scope| {
            for index in 0..8 {
                let store = &store;
                scope.spawn(move || install(store, &format!("p{index}")));
            }
        });
        let current = store.current().unwrap();
        assert_eq!((current.number, current.plugins.len()), (8, 9));
    }

    #[test]
    fn old_generations_and_what_only_they_named_are_removed() {
        let (_folder, store) = store();
        install(&store, "old");
        let drop_old = |plugins: &mut Vec<Entry>| {
            plugins.retain(|entry| entry.name.as_str() != "old");
            Ok::<_, Infallible>(())
        };
        for _ in 0..=GENERATIONS_KEPT {
            store.change("again", None, drop_old).unwrap();
        }
        assert_eq!(store.kept().len(), GENERATIONS_KEPT);
        assert!(store.component(Digest::of(b"old")).is_err());
    }
}
