//! Updates: whether a plugin's source holds something else than what is installed, and putting that in its place.
//!
//! A look changes nothing. What cannot be known is said to be unknown, and never to be up to date.

use hermes_model::id::PluginName;
use semver::Version;
use serde::Serialize;

use super::grants::kept;
use super::{Changed, EditError, Editor, position};
use crate::author::{self, Found};
use crate::bundled;
use crate::digest::Digest;
use crate::generation::{Entry, Generation};
use crate::manifest::Manifest;
use crate::permission::Permission;
use crate::registry::missing_grants;
use crate::section;
use crate::source::Source;

/// One build of a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Build {
    /// Its version, if its manifest can be read.
    pub version: Option<String>,
    /// Its digest.
    pub digest: Option<Digest>,
}

/// What a look at a plugin's source came to.
#[derive(Clone, Debug, Serialize)]
pub struct Look {
    /// The plugin.
    pub name: PluginName,
    /// What is installed.
    pub current: Build,
    /// What its source holds, if it can be read.
    pub available: Option<Build>,
    /// Whether that is something else; none if it cannot be known.
    pub update: Option<bool>,
    /// Why it cannot be known, or what is odd about the update.
    pub reason: Option<String>,
}

/// What became of one plugin.
pub struct Updated {
    /// What was seen of it.
    pub look: Look,
    /// The change, if one was made.
    pub changed: Option<Changed>,
    /// Why none was made, where one should have been. The plugin is as it was.
    pub refused: Option<EditError>,
}

/// A look with what was read.
struct Seen {
    look: Look,
    found: Option<Found>,
    refused: Option<EditError>,
}

impl Seen {
    fn unknown(name: &PluginName, current: Build, reason: impl Into<String>) -> Self {
        let look = Look { name: name.clone(), current, available: None, update: None, reason: Some(reason.into()) };
        Self { look, found: None, refused: None }
    }
}

impl Editor<'_> {
    /// Looks at the sources of these plugins, or of all, and changes nothing.
    ///
    /// # Errors
    /// One is not installed, or the generation cannot be read.
    pub fn look(&self, names: &[PluginName]) -> Result<Vec<Look>, EditError> {
        let current = self.store.current()?;
        let entries = chosen(&current, names)?;
        Ok(entries.into_iter().map(|entry| self.see(entry).look).collect())
    }

    /// Updates these plugins, or all. Each is updated whole or not at all; one that is refused stops no other.
    ///
    /// # Errors
    /// One is not installed, or the generation cannot be read. Then nothing was updated.
    pub fn update(&self, names: &[PluginName]) -> Result<Vec<Updated>, EditError> {
        let current = self.store.current()?;
        let entries = chosen(&current, names)?;
        Ok(entries.into_iter().map(|entry| self.update_one(entry)).collect())
    }

    fn update_one(&self, entry: &Entry) -> Updated {
        let Seen { mut look, found, refused } = self.see(entry);
        let (Some(found), true, None) = (found, look.update == Some(true), &refused) else {
            return Updated { look, changed: None, refused };
        };
        match self.replace(entry, &found, &look) {
            Ok(changed) => Updated { look, changed: Some(changed), refused: None },
            Err(error) => {
                look.reason.get_or_insert_with(|| "refused".to_owned());
                Updated { look, changed: None, refused: Some(error) }
            }
        }
    }

    /// Puts what was found in place of what is installed, if it can load.
    fn replace(&self, entry: &Entry, found: &Found, look: &Look) -> Result<Changed, EditError> {
        let config = self.config.plugins.get(&entry.name).cloned().unwrap_or_default();
        let mut examined = self.loader.examine(&found.packed, None, &entry.settings, &config);
        let name = entry.name.clone();
        if !examined.problems.is_empty() {
            return Err(EditError::Broken { name, verb: "updated", problems: examined.problems });
        }
        let grants = kept(asked_in(examined.manifest.as_ref()), &entry.grants);
        examined.problems.extend(missing_grants(examined.manifest.as_ref(), &grants));
        let change = format!("update {name} {} -> {}", version_word(&look.current), version_word_of(look));
        let digest = examined.digest;
        let generation = self.change(&change, Some(&found.packed), |plugins| {
            let at = position(plugins, &entry.name)?;
            // Somebody may have changed it since it was looked at: then nobody asked for this.
            if plugins[at].digest != entry.digest || plugins[at].source != entry.source {
                return Err(EditError::Raced(entry.name.clone()));
            }
            plugins[at].digest = Some(digest);
            plugins[at].grants.clone_from(&grants);
            Ok(())
        })?;
        let replaced = entry.digest.map(|digest| digest.to_string());
        Ok(Changed { generation, examined: Some(examined), name: Some(name), replaced, forgiven: false })
    }

    /// Reads the source of a plugin and compares.
    fn see(&self, entry: &Entry) -> Seen {
        let stored = entry.digest.map(|digest| self.store.component(digest));
        let current = match (&stored, entry.digest) {
            (Some(Ok(bytes)), digest) => Build { version: version_in(bytes), digest },
            (_, digest) => Build { version: None, digest },
        };
        match Source::of_stored(&entry.name, &entry.source) {
            None => Seen::unknown(&entry.name, current, "where it came from cannot be read"),
            Some(Source::Bundled(name)) => bundled_look(&name),
            Some(Source::Https(url)) => {
                let said = format!("pinned by its digest: `hermes plugins install '{url}#sha256=HEX'` takes another");
                Seen::unknown(&entry.name, current, said)
            }
            Some(Source::Path(path)) => match author::read_source(&path) {
                Ok(found) => compare(entry, current, found, matches!(stored, Some(Ok(_)))),
                Err(error) => {
                    let mut seen = Seen::unknown(&entry.name, current, format!("its source cannot be read: {error}"));
                    seen.refused = Some(error.into());
                    seen
                }
            },
        }
    }
}

fn bundled_look(name: &PluginName) -> Seen {
    let Some((bytes, digest)) = bundled::component(name) else {
        let none = Build { version: None, digest: None };
        return Seen::unknown(name, none, "this hermes no longer bundles it");
    };
    let build = Build { version: version_in(bytes), digest: Some(digest) };
    let look = Look {
        name: name.clone(),
        current: build.clone(),
        available: Some(build),
        update: Some(false),
        reason: Some("it comes with hermes, and changes with it".to_owned()),
    };
    Seen { look, found: None, refused: None }
}

fn compare(entry: &Entry, current: Build, found: Found, stored: bool) -> Seen {
    let digest = Digest::of(&found.packed);
    let available = Build { version: version_in(&found.packed), digest: Some(digest) };
    if let Some(other) = found.name.as_ref().filter(|name| **name != entry.name) {
        let mut seen = Seen::unknown(
            &entry.name,
            current,
            format!("its source now holds another plugin, '{other}': install that one under its own name"),
        );
        seen.look.available = Some(available);
        seen.refused = Some(EditError::Renamed { name: entry.name.clone(), other: other.clone() });
        return seen;
    }
    let differs = entry.digest != Some(digest);
    let reason = match (differs, stored) {
        (true, _) => odd(&current, &available),
        (false, true) => None,
        (false, false) => Some("its file is not in the store".to_owned()),
    };
    let update = Some(differs || !stored);
    let look = Look { name: entry.name.clone(), current, available: Some(available), update, reason };
    Seen { look, found: Some(found), refused: None }
}

/// What is odd about an update: it goes back, or does not say that it is one.
fn odd(current: &Build, available: &Build) -> Option<String> {
    let version = |build: &Build| build.version.as_ref().and_then(|version| Version::parse(version).ok());
    match (version(current), version(available)) {
        (Some(now), Some(then)) if then < now => Some(format!("a downgrade: {now} -> {then}")),
        (Some(now), Some(then)) if then == now => Some(format!("other bytes under the same version, {now}")),
        (_, None) => Some("its manifest cannot be read".to_owned()),
        _ => None,
    }
}

fn chosen<'g>(generation: &'g Generation, names: &[PluginName]) -> Result<Vec<&'g Entry>, EditError> {
    if names.is_empty() {
        return Ok(generation.plugins.iter().collect());
    }
    names.iter().map(|name| Ok(&generation.plugins[position(&generation.plugins, name)?])).collect()
}

fn version_in(packed: &[u8]) -> Option<String> {
    let manifest = Manifest::parse(section::read(packed)?).ok()?;
    Some(manifest.version.to_string())
}

fn version_word(build: &Build) -> String {
    build.version.clone().unwrap_or_else(|| "unknown".to_owned())
}

fn version_word_of(look: &Look) -> String {
    look.available.as_ref().map_or_else(|| "unknown".to_owned(), version_word)
}

/// What a manifest asks for; nothing where it cannot be read.
fn asked_in(manifest: Option<&Manifest>) -> &[Permission] {
    manifest.map(|manifest| manifest.permissions.as_slice()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(version: &str) -> Build {
        Build { version: Some(version.to_owned()), digest: None }
    }

    #[test]
    fn a_downgrade_is_called_one_and_an_upgrade_is_not_odd() {
        assert_eq!(odd(&build("1.2.0"), &build("1.10.0")), None);
        assert_eq!(odd(&build("1.10.0"), &build("1.2.0")).unwrap(), "a downgrade: 1.10.0 -> 1.2.0");
        assert_eq!(odd(&build("1.0.0"), &build("1.0.0-rc.1")).unwrap(), "a downgrade: 1.0.0 -> 1.0.0-rc.1");
        assert_eq!(odd(&build("1.0.0"), &build("1.0.0")).unwrap(), "other bytes under the same version, 1.0.0");
        let unreadable = Build { version: None, digest: None };
        assert_eq!(odd(&build("1.0.0"), &unreadable).unwrap(), "its manifest cannot be read");
    }

    #[test]
    fn only_grants_that_are_still_asked_for_are_kept() {
        let text = "name = \"a\"\nversion = \"1.0.0\"\ndescription = \"d\"\nlicense = \"MIT\"\nrequires-hermes = \"*\"\n\
                    hooks = [\"notify\"]\npermissions = [\"storage\", \"http:a.example\"]\n";
        let manifest = Manifest::parse(text.as_bytes()).unwrap();
        let grants = ["storage", "http:a.example+private", "http:b.example"].map(str::to_owned);
        assert_eq!(kept(asked_in(Some(&manifest)), &grants), ["storage", "http:a.example+private"]);
        assert!(kept(asked_in(None), &grants).is_empty());
    }
}
