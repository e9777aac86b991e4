//! What should be in force and is not, and what that means: withheld, skipped, not asked, or served by an older version.

use hermes_model::config::Config;
use hermes_model::hook::Hook;

use super::State;
use super::installed::Installed;
use crate::chain::{Absent, Chain, OlderVersion};
use crate::generation::Generation;

/// Everything that is not as the generation and the policy want it.
#[derive(Default)]
pub(super) struct Absences {
    /// Redactors that are enabled and not loaded, and required plugins other than notifiers.
    pub(super) withheld_by: Vec<Absent>,
    /// Transforms that are enabled and not loaded.
    pub(super) skipped: Vec<Absent>,
    /// Notifiers that are enabled or required, and not loaded.
    pub(super) unasked: Vec<Absent>,
    /// Plugins whose last good version serves.
    pub(super) older: Vec<OlderVersion>,
}

impl Absences {
    /// Adds a plugin without which nothing is shown, once.
    fn withhold(&mut self, absent: Absent) {
        if self.withheld_by.iter().all(|known| known.name != absent.name) {
            self.withheld_by.push(absent);
        }
    }
}

/// Looks at every plugin.
pub(super) fn absences(config: &Config, plugins: &[Installed]) -> Absences {
    let mut found = Absences::default();
    for name in &config.policy.required {
        let Some(plugin) = plugins.iter().find(|plugin| plugin.entry.name == *name) else {
            found.withheld_by.push(Absent { name: name.to_string(), code: "not-installed".to_owned() });
            continue;
        };
        if plugin.serving().is_some() {
            continue;
        }
        let absent = Absent { name: name.to_string(), code: plugin.code() };
        if !plugin.wanted.only_notifies() {
            found.withheld_by.push(absent);
        } else if !plugin.entry.enabled {
            // One that is enabled follows below.
            found.unasked.push(absent);
        }
    }
    for plugin in plugins.iter().filter(|plugin| plugin.entry.enabled) {
        let absent = Absent { name: plugin.entry.name.to_string(), code: plugin.code() };
        match plugin.serving() {
            Some(version) if !plugin.wanted.is_good() => found.older.push(OlderVersion {
                name: absent.name,
                version: version.facts.version.clone().unwrap_or_default(),
                code: absent.code,
                redacts: version.may_be(Hook::Redact),
                only_notifies: version.only_notifies(),
            }),
            Some(_) => {}
            None if plugin.wanted.may_be(Hook::Redact) => found.withhold(absent),
            None if plugin.wanted.may_be(Hook::Transform) => found.skipped.push(absent),
            None if plugin.wanted.may_be(Hook::Notify) => found.unasked.push(absent),
            None => {}
        }
    }
    found
}

/// Why output is withheld as things stand: what is absent, and who is in force and may not be called.
pub(super) fn withheld(config: &Config, plugins: &[Installed]) -> Vec<(String, String)> {
    let absent = absences(config, plugins).withheld_by.into_iter().map(|absent| (absent.name, absent.code));
    let quarantined = plugins.iter().filter(|plugin| {
        let required = config.policy.required.contains(&plugin.entry.name);
        let raw = plugin
            .serving()
            .is_some_and(|version| version.may_be(Hook::Redact) || (required && version.may_be(Hook::Transform)));
        raw && plugin.is_quarantined()
    });
    let word = State::Quarantined.word();
    absent.chain(quarantined.map(|plugin| (plugin.entry.name.to_string(), word.to_owned()))).collect()
}

/// How many redactors are in force.
pub(super) fn redactors(plugins: &[Installed]) -> usize {
    plugins.iter().filter_map(Installed::serving).filter(|version| version.may_be(Hook::Redact)).count()
}

/// The policy that these plugins are.
pub(super) fn chain(generation: &Generation, config: &Config, plugins: &[Installed]) -> Chain {
    let Absences { withheld_by, skipped, unasked, older } = absences(config, plugins);
    let live = |hook: Hook| {
        plugins.iter().flat_map(Installed::live).filter(move |live| live.hook == hook).cloned().collect::<Vec<_>>()
    };
    Chain {
        generation: generation.number,
        sees: config.policy.transforms_see,
        redactors: live(Hook::Redact),
        transforms: live(Hook::Transform),
        notifiers: live(Hook::Notify),
        withheld_by,
        skipped,
        unasked,
        older,
        required: config.policy.required.iter().map(ToString::to_string).collect(),
    }
}
