//! One plugin of a generation: the version that is wanted, and the last good one where that cannot load.
//!
//! Whether a plugin is in force is asked here and nowhere else.

use std::sync::Arc;

use hermes_model::id::PluginName;

use super::version::{Outcome, Version};
use super::{Permissions, Row, Serving, State};
use crate::generation::Entry;
use crate::live::Live;
use crate::problem::{Code, Problem};
use crate::strikes::{STRIKES_MAX, Standing, now_ms};

/// A plugin as a generation has it.
pub(super) struct Installed {
    pub(super) entry: Entry,
    /// What the generation wants.
    pub(super) wanted: Arc<Version>,
    /// What serves in its place, because it cannot load and this could.
    pub(super) last_good: Option<Arc<Version>>,
    /// How the one that serves stood when it was looked at.
    pub(super) standing: Standing,
}

impl Installed {
    /// The version that is in force, if one is.
    pub(super) fn serving(&self) -> Option<&Arc<Version>> {
        if !self.entry.enabled {
            return None;
        }
        if self.wanted.is_good() { Some(&self.wanted) } else { self.last_good.as_ref() }
    }

    /// What is called.
    pub(super) fn live(&self) -> &[Arc<Live>] {
        self.serving().map_or(&[], |version| version.live.as_slice())
    }

    /// How it stands now. A host that runs knows better than what was read when it started.
    fn standing(&self) -> Standing {
        let quarantined = self.live().iter().map(|live| live.standing()).find(Standing::is_quarantined);
        match quarantined {
            Some(standing) => standing,
            None if self.live().is_empty() && self.serving().is_some() => self.standing.clone(),
            None => Standing::default(),
        }
    }

    /// Its state.
    pub(super) fn state(&self) -> State {
        if !self.entry.enabled {
            return State::Disabled;
        }
        match self.wanted.outcome {
            Outcome::Good | Outcome::OnRecord if self.standing().is_quarantined() => State::Quarantined,
            Outcome::Good | Outcome::OnRecord => State::Loaded,
            Outcome::NeedsGrant => State::NeedsGrant,
            Outcome::Missing => State::Missing,
            Outcome::Failed | Outcome::Idle => State::Failed,
        }
    }

    /// Why it is not what the generation wants: a problem's code, or the word of its state.
    pub(super) fn code(&self) -> String {
        match (self.state(), self.wanted.problems.first()) {
            (State::Quarantined, _) | (_, None) => self.state().word().to_owned(),
            (_, Some(problem)) => problem.code.word().to_owned(),
        }
    }

    /// Whether nobody may call what is in force.
    pub(super) fn is_quarantined(&self) -> bool {
        self.serving().is_some() && self.standing().is_quarantined()
    }

    /// Its row in `list`.
    pub(super) fn row(&self, order: usize) -> Row {
        let live = self.live().first();
        let figures = live.map(|live| live.figures()).filter(|figures| figures.calls > 0);
        let mut problems = self.wanted.problems.clone();
        if let Standing::Quarantined { until, cause, .. } = self.standing() {
            problems.push(quarantine_problem(&self.entry.name, until, &cause));
        }
        let serving = self.last_good.as_ref().filter(|_| self.entry.enabled && !self.wanted.is_good());
        let mut row = Row {
            name: self.entry.name.to_string(),
            version: None,
            state: self.state(),
            enabled: self.entry.enabled,
            order,
            hooks: Vec::new(),
            api: super::Api::default(),
            source: self.entry.source.clone(),
            digest: self.wanted.identity.digest.map(|digest| digest.to_string()),
            description: None,
            permissions: Permissions { asked: Vec::new(), granted: self.entry.grants.clone() },
            serving: serving.map(|version| Serving {
                version: version.facts.version.clone().unwrap_or_default(),
                digest: version.identity.digest.map(|digest| digest.to_string()).unwrap_or_default(),
            }),
            calls: figures.as_ref().map(|figures| figures.calls),
            failures: figures.as_ref().map(|figures| figures.failures),
            p50_us: figures.as_ref().and_then(|figures| figures.p50_us),
            p99_us: figures.as_ref().and_then(|figures| figures.p99_us),
            problems,
        };
        self.wanted.facts.fill(&mut row);
        row
    }
}

fn quarantine_problem(name: &PluginName, until: u64, cause: &str) -> Problem {
    let left = until.saturating_sub(now_ms()).div_ceil(1000);
    Problem::new(
        Code::Quarantined,
        cause,
        format!("it failed {STRIKES_MAX} times in ten minutes, last by {cause}; it is tried again in {left} s"),
        format!("`hermes plugins enable {name}` tries it at once"),
    )
}
