//! Granting and revoking: what a notifier may use is a part of the generation, and changes like everything else in it.
//!
//! Nothing is granted that the installed version does not ask for, and nothing at all to what sees raw text.

use hermes_model::hook::Hook;
use hermes_model::id::PluginName;

use super::{EditError, Editor, position};
use crate::generation::{Entry, Generation};
use crate::manifest::Manifest;
use crate::permission::{self, Grant, Permission};
use crate::section;

/// Why nothing was granted or revoked. Everything is as it was.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// It asks for nothing.
    #[error("plugin '{0}' asks for no permission, so there is none to grant")]
    AsksNothing(PluginName),
    /// It asks for something else.
    #[error("plugin '{name}' does not ask for '{grant}'; it asks for: {asked}")]
    NotAsked {
        /// The plugin.
        name: PluginName,
        /// What was to be granted.
        grant: String,
        /// What it asks for.
        asked: String,
    },
    /// It sees raw text.
    #[error(
        "plugin '{name}' has the hook {hook}, which sees raw text: nothing is granted to it, because whatever sees raw text can talk to nobody"
    )]
    RawText {
        /// The plugin.
        name: PluginName,
        /// The hook.
        hook: Hook,
    },
    /// Everything it asks for was to be granted, and that needs a host.
    #[error("plugin '{0}' asks for requests to a host that you name: `hermes plugins grant {0} http:HOST`")]
    NameAHost(PluginName),
    /// Its manifest cannot be read.
    #[error("what plugin '{0}' asks for cannot be read: `hermes plugins why {0}` says why")]
    Unreadable(PluginName),
    /// It was not granted.
    #[error("plugin '{name}' has no grant '{grant}'; granted: {granted}")]
    NotGranted {
        /// The plugin.
        name: PluginName,
        /// What was to be revoked.
        grant: String,
        /// What is granted.
        granted: String,
    },
}

/// What is to be granted or revoked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// These.
    These(Vec<Grant>),
    /// Everything that is asked for, or everything that is granted.
    All,
}

/// What a plugin asks for and has, after a change or without one.
pub struct Granted {
    /// The generation in force.
    pub generation: Generation,
    /// What its manifest asks for.
    pub asked: Vec<Permission>,
    /// What is granted.
    pub granted: Vec<String>,
    /// What is asked for and not granted, as it would be granted.
    pub missing: Vec<String>,
}

impl Editor<'_> {
    /// Grants a plugin something it asks for. A grant for the same host and port replaces the one before.
    ///
    /// # Errors
    /// The plugin is not installed, sees raw text, or does not ask for it.
    pub fn grant(&self, name: &PluginName, which: &Which) -> Result<Granted, EditError> {
        let current = self.store.current()?;
        let entry = &current.plugins[position(&current.plugins, name)?];
        let asked = self.asked(entry)?;
        let grants = match which {
            Which::These(grants) => grants.clone(),
            Which::All => all_asked(name, &asked, &entry.grants)?,
        };
        for grant in &grants {
            if !asked.iter().any(|permission| permission.is_met_by(grant)) {
                let (name, grant) = (name.clone(), grant.to_string());
                return Err(GrantError::NotAsked { name, grant, asked: words(&asked) }.into());
            }
        }
        let mut next = entry.grants.clone();
        for grant in &grants {
            next.retain(|text| text.parse::<Grant>().is_ok_and(|known| !same_place(&known, grant)));
            next.push(grant.to_string());
        }
        next.sort();
        let generation = self.set_grants(&current, name, next, &format!("grant {name} {}", words(&grants)))?;
        Ok(Granted::of(generation, name, asked))
    }

    /// Takes back what was granted.
    ///
    /// # Errors
    /// The plugin is not installed, or was not granted it.
    pub fn revoke(&self, name: &PluginName, which: &Which) -> Result<Granted, EditError> {
        let current = self.store.current()?;
        let entry = &current.plugins[position(&current.plugins, name)?];
        let (next, revoked) = match which {
            Which::All => (Vec::new(), words(&entry.grants)),
            Which::These(grants) => {
                let mut next = entry.grants.clone();
                for grant in grants {
                    let before = next.len();
                    next.retain(|text| text.parse::<Grant>().is_ok_and(|known| !same_place(&known, grant)));
                    if next.len() == before {
                        let (name, grant) = (name.clone(), grant.to_string());
                        return Err(GrantError::NotGranted { name, grant, granted: words(&entry.grants) }.into());
                    }
                }
                (next, words(grants))
            }
        };
        // A manifest that cannot be read asks for nothing, and what was granted can be taken back all the same.
        let asked = self.asked(entry).unwrap_or_default();
        let generation = self.set_grants(&current, name, next, &format!("revoke {name} {revoked}"))?;
        Ok(Granted::of(generation, name, asked))
    }

    fn set_grants(
        &self,
        current: &Generation,
        name: &PluginName,
        grants: Vec<String>,
        change: &str,
    ) -> Result<Generation, EditError> {
        let before = current.plugins[position(&current.plugins, name)?].clone();
        if before.grants == grants {
            return Ok(current.clone());
        }
        self.change(change, None, move |plugins| {
            let at = position(plugins, name)?;
            // Another version may have been installed meanwhile, which asks for other things.
            if plugins[at].digest != before.digest || plugins[at].grants != before.grants {
                return Err(EditError::Raced(name.clone()));
            }
            plugins[at].grants = grants;
            Ok(())
        })
    }

    /// What an installed plugin asks for.
    fn asked(&self, entry: &Entry) -> Result<Vec<Permission>, EditError> {
        let name = &entry.name;
        let bytes = self.store.bytes_of(entry).ok();
        let manifest = bytes.as_deref().and_then(section::read).and_then(|text| Manifest::parse(text).ok());
        let manifest = manifest.ok_or_else(|| GrantError::Unreadable(name.clone()))?;
        if let Some(hook) = manifest.hooks.iter().copied().find(|hook| hook.sees_raw_text()) {
            return Err(GrantError::RawText { name: name.clone(), hook }.into());
        }
        if manifest.permissions.is_empty() {
            return Err(GrantError::AsksNothing(name.clone()).into());
        }
        Ok(manifest.permissions)
    }
}

impl Granted {
    fn of(generation: Generation, name: &PluginName, asked: Vec<Permission>) -> Self {
        let granted = generation.find(name).map(|entry| entry.grants.clone()).unwrap_or_default();
        let missing = permission::missing(&asked, &granted).into_iter().map(Permission::to_grant).collect();
        Self { generation, asked, granted, missing }
    }
}

/// What a version that takes the place of another keeps of its grants: what it asks for itself.
pub(crate) fn kept(asked: &[Permission], granted: &[String]) -> Vec<String> {
    permission::in_force(asked, granted).iter().map(ToString::to_string).collect()
}

/// A grant for each thing that is asked for. A host that the operator must name is none, unless one is named already.
fn all_asked(name: &PluginName, asked: &[Permission], granted: &[String]) -> Result<Vec<Grant>, EditError> {
    let mut grants = Vec::new();
    for permission in asked {
        match permission {
            Permission::Storage => grants.push(Grant::Storage),
            // Where it is granted for a private network, that stays.
            Permission::Http(_) if permission::missing(std::slice::from_ref(permission), granted).is_empty() => {}
            Permission::Http(target) => grants.push(Grant::Http(target.clone())),
            Permission::HttpNamed if permission::missing(&[Permission::HttpNamed], granted).is_empty() => {}
            Permission::HttpNamed => return Err(GrantError::NameAHost(name.clone()).into()),
        }
    }
    Ok(grants)
}

fn same_place(one: &Grant, other: &Grant) -> bool {
    match (one, other) {
        (Grant::Http(one), Grant::Http(other)) => one.same_place(other),
        (Grant::Storage, Grant::Storage) => true,
        _ => false,
    }
}

fn words(items: &[impl ToString]) -> String {
    if items.is_empty() {
        return "nothing".to_owned();
    }
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
