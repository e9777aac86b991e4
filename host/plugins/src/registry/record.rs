//! Trials that were passed, written beside the compiled code, so that a list need not start every plugin again.
//!
//! A record stands for one file with its settings, limits and grants, under one build of hermes. It never says more than
//! that a host that starts now would load the same: a file that was touched since, or any other difference, is no record.
//! It is read by lists only; whatever lets text through runs the trial.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hermes_home::files;
use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::version::{Facts, Identity, Outcome, Version};
use crate::cache::CompileCache;
use crate::load::hermes_version;

/// How the name of a record ends.
const ENDING: &str = "passed";
/// The largest record: a row of a list.
const RECORD_MAX: u64 = 256 * 1024;
/// How many records are kept: those of several homes and builds.
const RECORDS_KEPT: usize = 2000;
/// How long a file must have been left alone before a record of it is written. Times of files go in steps of up to 10 ms
/// (the kernel's tick), and what is changed within one step looks the same.
const SETTLED: Duration = Duration::from_secs(1);

/// What tells one state of a file from another, without reading it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Self> {
        let found = fs::metadata(path)?;
        Ok(Self {
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }

    /// Whether the file was left alone for a while.
    fn is_settled(&self) -> bool {
        let changed = Duration::from_secs(u64::try_from(self.changed.0).unwrap_or(u64::MAX));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        now.checked_sub(changed).is_some_and(|age| age > SETTLED)
    }
}

/// A record as it is written.
#[derive(Serialize, Deserialize)]
struct Record {
    /// The state of the file in the store; none for what is inside the binary.
    file: Option<Stamp>,
    facts: Facts,
    mac: String,
}

/// The records of one user, under this build of hermes.
pub(super) struct Records {
    cache: CompileCache,
    key: Option<[u8; 32]>,
    /// This very program: another build may judge otherwise.
    program: Option<Stamp>,
}

impl Records {
    /// The records beside this cache. Nothing is created until one is kept.
    pub(super) fn at(cache: &CompileCache) -> Self {
        let program = std::env::current_exe().ok().and_then(|path| Stamp::of(&path).ok());
        Self { key: cache.key(), cache: cache.clone(), program }
    }

    /// What a list says of a plugin that passed, if it did and nothing changed. `file` is where its bytes are; none: inside
    /// the binary.
    pub(super) fn find(&self, identity: &Identity, file: Option<&Path>) -> Option<Facts> {
        let (name, key) = (self.name(identity)?, self.key?);
        let bytes = files::read_bounded(&self.path(&name), RECORD_MAX).ok()?;
        let record: Record = serde_json::from_slice(&bytes).ok()?;
        let stamp = match file {
            Some(path) => Some(Stamp::of(path).ok()?),
            None => None,
        };
        let mac = authenticate(&key, &name, &record.file, &record.facts)?;
        (record.file == stamp && mac == record.mac).then_some(record.facts)
    }

    /// Writes down that a version passed. What cannot be written costs time, not function.
    pub(super) fn keep(&self, version: &Version, file: Option<&Path>) {
        if version.outcome != Outcome::Good {
            return;
        }
        if let Err(error) = self.try_keep(version, file) {
            tracing::debug!(folder = %self.cache.folder().display(), %error, "a passed trial was not written down");
        }
    }

    fn try_keep(&self, version: &Version, file: Option<&Path>) -> io::Result<()> {
        let stamp = file.map(Stamp::of).transpose()?;
        if stamp.as_ref().is_some_and(|stamp| !stamp.is_settled()) {
            return Ok(());
        }
        let none = |what: &str| io::Error::other(what.to_owned());
        let key = self.cache.key().ok_or_else(|| none("there is no key"))?;
        let name = self.name(&version.identity).ok_or_else(|| none("it has no name"))?;
        let facts = version.facts.clone();
        let mac = authenticate(&key, &name, &stamp, &facts).ok_or_else(|| none("no authentication code"))?;
        let text = serde_json::to_vec(&Record { file: stamp, facts, mac }).map_err(io::Error::other)?;
        self.prune();
        // Not flushed to the disk: after a crash a damaged record is none.
        let fresh = self.cache.folder().join(format!(".{name}.{:?}", std::thread::current().id()));
        let mut out = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        let written = out.write_all(&text).and_then(|()| fs::rename(&fresh, self.path(&name)));
        if written.is_err() {
            let _ = fs::remove_file(&fresh);
        }
        written
    }

    /// Removes the oldest where there are too many.
    fn prune(&self) {
        let Ok(entries) = fs::read_dir(self.cache.folder()) else { return };
        let records = entries.flatten().filter(|entry| entry.path().extension().is_some_and(|ending| ending == ENDING));
        let paths: Vec<PathBuf> = records.map(|entry| entry.path()).collect();
        if paths.len() < RECORDS_KEPT {
            return;
        }
        let age = |path: &PathBuf| fs::metadata(path).and_then(|found| found.modified()).unwrap_or(UNIX_EPOCH);
        let mut aged: Vec<(SystemTime, PathBuf)> = paths.into_iter().map(|path| (age(&path), path)).collect();
        aged.sort();
        for (_, path) in aged.into_iter().take(RECORDS_KEPT / 10) {
            let _ = fs::remove_file(path);
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.cache.folder().join(format!("{name}.{ENDING}"))
    }

    /// The name of a record: everything a trial depends on, but for the state of the file.
    fn name(&self, identity: &Identity) -> Option<String> {
        let digest = identity.digest?;
        let config = serde_json::to_vec(&identity.config).ok()?;
        let settings = serde_json::to_vec(&identity.settings).ok()?;
        let grants = serde_json::to_vec(&identity.grants).ok()?;
        let program = serde_json::to_vec(self.program.as_ref()?).ok()?;
        let (version, digest_text) = (hermes_version().to_string(), digest.hex());
        let parts = [version.as_bytes(), &program, digest_text.as_bytes(), &settings, &grants, &config];
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let hash: String = hasher.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        Some(format!("{}-{hash}", digest.short()))
    }
}

fn authenticate(key: &[u8; 32], name: &str, file: &Option<Stamp>, facts: &Facts) -> Option<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(b"passed\0");
    mac.update(name.as_bytes());
    mac.update(&serde_json::to_vec(&(file, facts)).ok()?);
    Some(mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use hermes_model::config::PluginConfig;

    use super::*;
    use crate::digest::Digest;
    use crate::engine::{Engine, Metering};

    struct Place {
        folder: tempfile::TempDir,
        cache: CompileCache,
    }

    /// A cache with a key, and a file that was left alone since long ago.
    fn place() -> (Place, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let cache = CompileCache::at(folder.path());
        let engine = Engine::start(Metering::Epoch).unwrap();
        let bytes = wat::parse_str("(component)").unwrap();
        let component = wasmtime::component::Component::from_binary(engine.wasmtime(), &bytes).unwrap();
        let compiled = crate::cache::Compiled { component, surface: crate::surface::Surface::default() };
        cache.keep(&engine, Digest::of(&bytes), &compiled);
        let file = std::env::current_exe().unwrap();
        (Place { folder, cache }, file)
    }

    fn version(outcome: Outcome) -> Version {
        let identity = Identity {
            digest: Some(Digest::of(b"plugin")),
            settings: serde_json::Map::new(),
            grants: Vec::new(),
            config: PluginConfig::default(),
        };
        let mut version = Version::unexamined(identity, outcome, None);
        version.facts.version = Some("1.0.0".to_owned());
        version
    }

    #[test]
    fn a_passed_trial_is_found_as_long_as_nothing_changed() {
        let (place, file) = place();
        let records = Records::at(&place.cache);
        let passed = version(Outcome::Good);
        assert!(records.find(&passed.identity, Some(&file)).is_none());
        records.keep(&passed, Some(&file));
        assert_eq!(records.find(&passed.identity, Some(&file)), Some(passed.facts.clone()));
        assert!(records.find(&passed.identity, None).is_none(), "another file");
        let other = place.folder.path().join("other");
        fs::write(&other, "x").unwrap();
        assert!(records.find(&passed.identity, Some(&other)).is_none(), "another file");
        let mut set = passed.identity.clone();
        set.settings.insert("n".to_owned(), serde_json::json!(1));
        assert!(records.find(&set, Some(&file)).is_none(), "other settings");
        let mut limited = passed.identity.clone();
        limited.config.limits.memory_bytes = Some(1);
        assert!(records.find(&limited, Some(&file)).is_none(), "other limits");
    }

    #[test]
    fn what_failed_or_was_touched_just_now_is_not_written_down() {
        let (place, file) = place();
        let records = Records::at(&place.cache);
        for outcome in [Outcome::Failed, Outcome::Missing, Outcome::Idle] {
            records.keep(&version(outcome), Some(&file));
        }
        let fresh = place.folder.path().join("fresh");
        fs::write(&fresh, "x").unwrap();
        records.keep(&version(Outcome::Good), Some(&fresh));
        let names = fs::read_dir(place.cache.folder()).unwrap().map(|entry| entry.unwrap().path());
        assert!(names.into_iter().all(|path| path.extension().is_none_or(|ending| ending != ENDING)));
    }

    #[test]
    fn a_forged_record_is_none() {
        let (place, file) = place();
        let records = Records::at(&place.cache);
        let passed = version(Outcome::Good);
        records.keep(&passed, Some(&file));
        let path = records.path(&records.name(&passed.identity).unwrap());
        let text = fs::read_to_string(&path).unwrap().replace("1.0.0", "9.9.9");
        fs::write(&path, text).unwrap();
        assert!(records.find(&passed.identity, Some(&file)).is_none());
    }
}
