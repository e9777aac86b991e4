//! The chain: one generation of loaded plugins as the policy of `hermes-output`, and (in `notify`) as its notifier.
//!
//! What should be in force and is not never passes for "nothing found": a redactor that cannot answer withholds, a
//! transform that cannot is named in the reply.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use hermes_model::config::TransformsSee;
use hermes_model::context::Context;
use hermes_model::report::Withheld;
use hermes_output::policy::{Findings, Policy, Transformed, Window};

use crate::instance::Ended;
use crate::live::{Live, NoAnswer};

/// A plugin that should be in force and is not.
#[derive(Clone, Debug)]
pub(crate) struct Absent {
    pub(crate) name: String,
    /// A problem's code, or `disabled`, `not-installed`.
    pub(crate) code: String,
}

/// A plugin whose new version cannot load and whose last good one serves.
#[derive(Clone, Debug)]
pub(crate) struct OlderVersion {
    pub(crate) name: String,
    /// The version that serves.
    pub(crate) version: String,
    /// Why the one that is wanted does not: a problem's code.
    pub(crate) code: String,
    /// Whether it is a redactor.
    pub(crate) redacts: bool,
    /// Whether it only sees events.
    pub(crate) only_notifies: bool,
}

impl OlderVersion {
    /// What replies say of it.
    pub(crate) fn sentence(&self) -> String {
        let Self { name, version, code, .. } = self;
        format!(
            "plugin {name} cannot load as it is installed ({code}), so version {version} is still in force; see \
             `hermes plugins why {name}`"
        )
    }
}

/// One generation's plugins, in order.
pub struct Chain {
    pub(crate) generation: u64,
    pub(crate) sees: TransformsSee,
    pub(crate) redactors: Vec<Arc<Live>>,
    pub(crate) transforms: Vec<Arc<Live>>,
    pub(crate) notifiers: Vec<Arc<Live>>,
    /// Redactors that are enabled and not loaded, and required plugins, other than notifiers, that are not in force:
    /// while there is one, everything is withheld.
    pub(crate) withheld_by: Vec<Absent>,
    /// Transforms that are enabled and not loaded.
    pub(crate) skipped: Vec<Absent>,
    /// Notifiers that are enabled or required, and not loaded.
    pub(crate) unasked: Vec<Absent>,
    /// Plugins whose last good version is in the lists above.
    pub(crate) older: Vec<OlderVersion>,
    /// Names of required plugins: quarantined redactors and transforms among them withhold too.
    pub(crate) required: Vec<String>,
}

impl Chain {
    /// A redactor that is in force and had no answer for this text.
    fn unanswered(name: &str, no: &NoAnswer) -> Withheld {
        let code = no.word();
        let message = match no {
            NoAnswer::Quarantined => return Self::refuse(name, code),
            NoAnswer::Ended(Ended::Timeout | Ended::HostTimeout) => format!(
                "redactor {name} did not answer in time, so this text is not shown; try again, or raise its limits in \
                 [plugins.{name}.limits] of config.toml"
            ),
            NoAnswer::Ended(_) => format!(
                "redactor {name} broke down over this text ({code}), so it is not shown; report it to the plugin's author"
            ),
            NoAnswer::Failure(_) => format!("redactor {name} has no answer for this text ({code}), so it is not shown"),
        };
        Withheld { plugin: name.to_owned(), code: code.to_owned(), message }
    }

    /// A plugin that must be in force and is not.
    fn refuse(name: &str, code: &str) -> Withheld {
        let message = match code {
            "quarantined" => {
                format!(
                    "redactor {name} failed too often and is quarantined; `hermes plugins why {name}` says until when"
                )
            }
            "disabled" => format!("the policy requires {name}, which is disabled: `hermes plugins enable {name}`"),
            "not-installed" => {
                format!("the policy requires {name}, which is not installed: `hermes plugins install` it")
            }
            _ => format!("{name} must be in force and is not ({code}); see `hermes plugins why {name}`"),
        };
        Withheld { plugin: name.to_owned(), code: code.to_owned(), message }
    }

    /// A required plugin that was loaded and is quarantined by now.
    fn required_quarantined(&self) -> Option<&Live> {
        let mut live = self.redactors.iter().chain(&self.transforms);
        live.find(|live| {
            self.required.iter().any(|name| name == live.name.as_str()) && live.standing().is_quarantined()
        })
        .map(Arc::as_ref)
    }
}

impl Policy for Chain {
    fn generation(&self) -> u64 {
        self.generation
    }

    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.generation, self.sees == TransformsSee::Raw).hash(&mut hasher);
        for live in self.redactors.iter().chain(&self.transforms) {
            (live.digest, live.turns()).hash(&mut hasher);
        }
        for absent in self.withheld_by.iter().chain(&self.skipped) {
            (&absent.name, &absent.code).hash(&mut hasher);
        }
        for older in &self.older {
            (&older.name, &older.version, &older.code).hash(&mut hasher);
        }
        hasher.finish()
    }

    fn transforms_see(&self) -> TransformsSee {
        self.sees
    }

    fn warnings(&self) -> Vec<String> {
        let transforms = self.skipped.iter().map(|absent| {
            format!(
                "transform {} is not in force ({}); see `hermes plugins why {}`",
                absent.name, absent.code, absent.name
            )
        });
        // An event tells of a notifier, and a text only where the policy requires it.
        let told = |older: &&OlderVersion| !older.only_notifies || self.required.contains(&older.name);
        let older = self.older.iter().filter(told).map(OlderVersion::sentence);
        older.chain(transforms).chain(self.required_notifiers_missing()).collect()
    }

    fn redactor_warnings(&self) -> Vec<String> {
        self.older.iter().filter(|older| older.redacts).map(OlderVersion::sentence).collect()
    }

    fn redact(&self, context: &Context, window: &Window<'_>) -> Result<Findings, Withheld> {
        if let Some(absent) = self.withheld_by.first() {
            return Err(Self::refuse(&absent.name, &absent.code));
        }
        if let Some(live) = self.required_quarantined() {
            return Err(Self::refuse(live.name.as_str(), NoAnswer::Quarantined.word()));
        }
        let all = window.text.len();
        let mut united = Findings { spans: Vec::new(), show_until: all, need_from: all };
        for live in &self.redactors {
            let found = live
                .call(async |instance| instance.scan(context, window).await)
                .map_err(|no| Self::unanswered(live.name.as_str(), &no))?;
            united.spans.extend(found.spans);
            united.show_until = united.show_until.min(found.show_until);
            united.need_from = united.need_from.min(found.need_from);
        }
        Ok(united)
    }

    fn redactor_digests(&self) -> Vec<String> {
        self.redactors.iter().map(|live| live.digest.to_string()).collect()
    }

    fn transforms(&self) -> usize {
        self.transforms.len()
    }

    fn transform_name(&self, index: usize) -> &str {
        self.transforms.get(index).map_or("", |live| live.name.as_str())
    }

    fn transform(&self, index: usize, context: &Context, text: &str) -> Result<Transformed, String> {
        let Some(live) = self.transforms.get(index) else { return Ok(Transformed::Unchanged) };
        live.call(async |instance| instance.apply(context, text).await).map_err(|no| {
            format!("transform {} was skipped ({}); see `hermes plugins why {}`", live.name, no.word(), live.name)
        })
    }
}
