//! Compiled components, kept outside the home in the user's cache folder.
//!
//! Compiled code is native code: running a forged entry would be running anything. So an entry is used only if its
//! folder and file are the user's alone, and it carries a message authentication code over all of it under a key that
//! only the user can read. A bad, old or foreign entry is a miss, never a plugin's error.

use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use hermes_home::files;
use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use wasmtime::component::Component;

use crate::digest::Digest;
use crate::engine::Engine;
use crate::surface::Surface;

/// The layout of an entry; another number is a miss. What is in the cache is not counted again: a limit of
/// [`crate::census`] that gets lower needs another number too.
const FORMAT: u32 = 1;
/// The largest description of an entry.
const DESCRIPTION_MAX: u64 = 4 * 1024 * 1024;
/// The wasmtime release whose code entries hold.
const ENGINE_VERSION: &str = "48.0.8";

/// A component ready to be linked, and what it imports and exports.
pub(crate) struct Compiled {
    pub(crate) component: Component,
    pub(crate) surface: Surface,
}

/// The cache of one user.
#[derive(Clone, Debug)]
pub struct CompileCache {
    folder: PathBuf,
}

/// What stands beside the compiled code.
#[derive(Serialize, Deserialize)]
struct Description {
    format: u32,
    surface: Surface,
    mac: String,
}

impl CompileCache {
    /// The cache in this folder, `compiled` under hermes' cache folder. Nothing is created until something is kept.
    pub fn at(cache_dir: &Path) -> Self {
        Self { folder: cache_dir.join("compiled") }
    }

    /// Where entries are, for `doctor`.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// An entry's component, if there is a good one.
    pub(crate) fn load(&self, engine: &Engine, digest: Digest) -> Option<Compiled> {
        let key = self.key()?;
        let name = entry_name(engine, digest);
        let description = files::read_bounded(&self.folder.join(format!("{name}.json")), DESCRIPTION_MAX).ok()?;
        let description: Description = serde_json::from_slice(&description).ok()?;
        if description.format != FORMAT {
            return None;
        }
        let mut file = fs::File::open(self.folder.join(format!("{name}.cwasm"))).ok()?;
        if !is_private(&file.metadata().ok()?) {
            return None;
        }
        let mut code = Vec::new();
        file.read_to_end(&mut code).ok()?;
        let mac = from_hex(&description.mac)?;
        authenticate(&key, &name, &description.surface, &code)?.verify_slice(&mac).ok()?;
        drop(code);
        // The descriptor, not the name: whatever is put in the file's place now is not what was authenticated.
        let authenticated = format!("/proc/self/fd/{}", file.as_raw_fd());
        #[expect(unsafe_code, reason = "wasmtime cannot know where compiled code comes from")]
        // SAFETY: the bytes behind this descriptor were made by `keep` and carry its authentication code; the file is
        // writable by this user only, and entries are replaced by renaming, never changed in place.
        let component = unsafe { Component::deserialize_file(engine.wasmtime(), authenticated) };
        Some(Compiled { component: component.ok()?, surface: description.surface })
    }

    /// Keeps a component. A cache that cannot be written costs time, not function, so failures are only logged.
    pub(crate) fn keep(&self, engine: &Engine, digest: Digest, compiled: &Compiled) {
        if let Err(error) = self.try_keep(engine, digest, compiled) {
            tracing::debug!(folder = %self.folder.display(), %error, "compiled code was not kept");
        }
    }

    fn try_keep(&self, engine: &Engine, digest: Digest, compiled: &Compiled) -> io::Result<()> {
        let other = |error: &dyn std::fmt::Display| io::Error::other(error.to_string());
        files::create_private_dir(&self.folder).map_err(|e| other(&e))?;
        let key = match self.key() {
            Some(key) => key,
            None => self.make_key()?,
        };
        let name = entry_name(engine, digest);
        let code = compiled.component.serialize().map_err(|e| other(&e))?;
        let mac =
            authenticate(&key, &name, &compiled.surface, &code).ok_or_else(|| other(&"no authentication code"))?;
        let mac = to_hex(&mac.finalize().into_bytes());
        let description = Description { format: FORMAT, surface: compiled.surface.clone(), mac };
        let description = serde_json::to_vec(&description).map_err(|e| other(&e))?;
        files::write_atomically(&self.folder.join(format!("{name}.cwasm")), &code).map_err(|e| other(&e))?;
        files::write_atomically(&self.folder.join(format!("{name}.json")), &description).map_err(|e| other(&e))
    }

    /// The user's key, if the folder and the key are the user's alone.
    pub(crate) fn key(&self) -> Option<[u8; 32]> {
        let folder = fs::symlink_metadata(&self.folder).ok()?;
        if !folder.is_dir() || !is_private(&folder) {
            return None;
        }
        let mut file = fs::File::open(self.folder.join("key")).ok()?;
        if !is_private(&file.metadata().ok()?) {
            return None;
        }
        let mut key = [0; 32];
        file.read_exact(&mut key).ok()?;
        Some(key)
    }

    fn make_key(&self) -> io::Result<[u8; 32]> {
        let folder = fs::symlink_metadata(&self.folder)?;
        if !is_private(&folder) {
            return Err(io::Error::other("the folder can be written by others"));
        }
        let mut key = [0; 32];
        fs::File::open("/dev/urandom")?.read_exact(&mut key)?;
        let path = self.folder.join("key");
        match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(mut file) => file.write_all(&key)?,
            // Another process was first, or an old key is damaged: entries under it are misses either way.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if let Some(key) = self.key() {
                    return Ok(key);
                }
                files::write_atomically(&path, &key).map_err(|e| io::Error::other(e.to_string()))?;
            }
            Err(error) => return Err(error),
        }
        Ok(key)
    }
}

/// Whether this user owns it and nobody else can write it.
fn is_private(metadata: &fs::Metadata) -> bool {
    metadata.uid() == nix::unistd::geteuid().as_raw() && metadata.permissions().mode() & 0o022 == 0
}

/// The name of an entry: everything compiled code depends on.
fn entry_name(engine: &Engine, digest: Digest) -> String {
    let mut hasher = std::hash::DefaultHasher::new();
    engine.wasmtime().precompile_compatibility_hash().hash(&mut hasher);
    (ENGINE_VERSION, FORMAT, engine.metering() == crate::engine::Metering::Fuel).hash(&mut hasher);
    format!("{}-{:016x}", digest.hex(), hasher.finish())
}

fn authenticate(key: &[u8; 32], name: &str, surface: &Surface, code: &[u8]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    let surface = serde_json::to_vec(surface).ok()?;
    for part in [name.as_bytes(), &surface, code] {
        mac.update(&(part.len() as u64).to_le_bytes());
        mac.update(part);
    }
    Some(mac)
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        text.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Metering;

    fn kept() -> (tempfile::TempDir, CompileCache, Engine, Digest) {
        let folder = tempfile::tempdir().unwrap();
        let cache = CompileCache::at(folder.path());
        let engine = Engine::start(Metering::Epoch).unwrap();
        let bytes = wat::parse_str("(component)").unwrap();
        let digest = Digest::of(&bytes);
        let component = Component::from_binary(engine.wasmtime(), &bytes).unwrap();
        cache.keep(&engine, digest, &Compiled { component, surface: Surface::default() });
        (folder, cache, engine, digest)
    }

    fn entry(cache: &CompileCache, ending: &str) -> PathBuf {
        let entries = fs::read_dir(cache.folder()).unwrap().map(|entry| entry.unwrap().path());
        entries.into_iter().find(|path| path.extension().is_some_and(|e| e == ending)).unwrap()
    }

    #[test]
    fn what_was_kept_is_loaded_and_everything_is_private() {
        let (_folder, cache, engine, digest) = kept();
        assert!(cache.load(&engine, digest).is_some());
        assert!(cache.load(&engine, Digest::of(b"another")).is_none());
        for entry in fs::read_dir(cache.folder()).unwrap() {
            assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o077, 0);
        }
    }

    #[test]
    fn a_changed_entry_is_a_miss() {
        for ending in ["cwasm", "json"] {
            let (_folder, cache, engine, digest) = kept();
            let path = entry(&cache, ending);
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(&path, bytes).unwrap();
            assert!(cache.load(&engine, digest).is_none(), "{ending}");
        }
    }

    #[test]
    fn an_entry_others_could_have_written_is_a_miss() {
        let (_folder, cache, engine, digest) = kept();
        let path = entry(&cache, "cwasm");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(cache.load(&engine, digest).is_none());
    }

    #[test]
    fn an_entry_of_another_engine_is_a_miss() {
        let (_folder, cache, _, digest) = kept();
        let metered = Engine::start(Metering::Fuel).unwrap();
        assert!(cache.load(&metered, digest).is_none());
    }

    #[test]
    fn another_users_key_authenticates_nothing() {
        let (_folder, cache, engine, digest) = kept();
        fs::write(cache.folder().join("key"), [7; 32]).unwrap();
        assert!(cache.load(&engine, digest).is_none());
    }
}
