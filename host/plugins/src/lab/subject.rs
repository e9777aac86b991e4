//! The plugin under test, ready to be asked: by an instance of its own for each question, or by one for many.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use hermes_model::config::TransformsSee;
use hermes_model::context::{Context, Surface};
use hermes_model::hook::Hook;
use hermes_output::event::Verdict;
use hermes_output::policy::{Findings, Transformed, Window};

use super::hook_of;
use crate::api::bindings::notifier::exports::hermes::hook::notify as told;
use crate::chain::Chain;
use crate::digest::Digest;
use crate::engine::Engine;
use crate::examined::{Examined, LogLine, Ready, ReadyHook};
use crate::instance::{CallError, Ended, Instance, Pre};
use crate::limits::Limits;
use crate::live::{Live, NoAnswer};
use crate::load::Loader;
use crate::manifest::{Canary, Manifest};
use crate::notify::neutral;
use crate::patterns::PatternSets;
use crate::strikes::Book;
use crate::trial;

/// Where the strikes of a test are written: nowhere, since they are nobody's business.
const NO_BOOK: &str = "/proc/self/hermes-lab";

/// One question to a hook.
#[derive(Clone)]
pub(super) struct Ask {
    /// The name of the canary or case it comes from.
    pub(super) name: String,
    /// Whom it is for.
    pub(super) hook: Hook,
    /// The text.
    pub(super) text: String,
    /// What goes with the text.
    pub(super) context: Context,
    /// The event a notifier is asked about.
    pub(super) event: Option<told::Event>,
    /// The settings of the instance that is asked; none for those the plugin was loaded with.
    pub(super) settings: Option<String>,
}

/// What a hook answered. Raw: it may quote the text, so it shows nothing of itself.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// A redactor's places, each of them in the text.
    Found(Findings),
    /// What a transform made of the text.
    Text(String),
    /// A notifier's verdict.
    Said(Verdict),
    /// The plugin said no, with this safe word.
    Failed(String),
    /// The call was ended.
    Ended(Ended),
    /// An answer that is none, in words.
    Wrong(String),
}

impl Answer {
    /// Whether it is one.
    pub(super) fn is_usable(&self) -> bool {
        matches!(self, Self::Found(_) | Self::Text(_) | Self::Said(_))
    }

    /// How many bytes were returned.
    pub(super) fn bytes(&self) -> u64 {
        /// Two offsets and the place and length of a rule, as the canonical ABI has them.
        const SPAN: usize = 16;
        let bytes = match self {
            Self::Found(found) => found.spans.iter().map(|span| SPAN + span.rule.len()).sum(),
            Self::Text(text) | Self::Said(Verdict::Rewrite(text) | Verdict::Suppress(text)) => text.len(),
            _ => 0,
        };
        bytes as u64
    }
}

/// A loaded plugin.
pub(super) struct Subject {
    pub(super) manifest: Manifest,
    pub(super) engine: Engine,
    digest: Digest,
    hooks: Vec<(Hook, Pre, Limits)>,
    settings: String,
    patterns: Arc<PatternSets>,
    counters: Vec<String>,
    log: Mutex<Vec<LogLine>>,
}

impl Subject {
    /// Takes over what a trial left; none if the plugin does not load.
    pub(super) fn new(loader: Loader, mut examined: Examined, manifest: Manifest) -> Option<Self> {
        let Ready { hooks, settings, patterns, counters } = examined.ready.take()?;
        Some(Self {
            manifest,
            engine: loader.engine,
            digest: examined.digest,
            hooks: hooks.into_iter().map(|ReadyHook { hook, pre, limits, .. }| (hook, pre, limits)).collect(),
            settings,
            patterns,
            counters,
            log: Mutex::default(),
        })
    }

    /// Its hooks.
    pub(super) fn hooks(&self) -> Vec<Hook> {
        self.hooks.iter().map(|(hook, _, _)| *hook).collect()
    }

    /// The limits of a hook.
    pub(super) fn limits(&self, hook: Hook) -> Limits {
        self.hooks.iter().find(|(of, _, _)| *of == hook).map_or_else(|| Limits::of(hook), |(_, _, limits)| *limits)
    }

    /// A hook without a past: no instance, no strikes. None if the plugin has no such hook.
    pub(super) fn fresh(&self, hook: Hook, settings: Option<&str>) -> Option<Live> {
        let (_, pre, limits) = self.hooks.iter().find(|(of, _, _)| *of == hook)?;
        let ready = Ready {
            hooks: vec![ReadyHook { hook, pre: pre.clone(), limits: *limits, warm: None }],
            settings: settings.unwrap_or(&self.settings).to_owned(),
            patterns: Arc::clone(&self.patterns),
            counters: self.counters.clone(),
        };
        let book = Book::at(Path::new(NO_BOOK));
        Live::new(self.manifest.name.clone(), self.digest, self.engine.clone(), ready, &book).pop()
    }

    /// Asks an instance that nobody asked before, and returns it warm.
    pub(super) fn alone(&self, ask: &Ask) -> (Answer, Option<Live>) {
        let Some(live) = self.fresh(ask.hook, ask.settings.as_deref()) else {
            return (Answer::Wrong(format!("the plugin has no {} hook", ask.hook)), None);
        };
        (self.again(&live, ask), Some(live))
    }

    /// Asks a hook again, on the instance the last call left.
    pub(super) fn again(&self, live: &Live, ask: &Ask) -> Answer {
        let answer = live.call(async |instance| put(instance, ask).await);
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        // What a plugin logs in every call is told once.
        for line in live.take_log() {
            if !log.contains(&line) {
                log.push(line);
            }
        }
        answer.unwrap_or_else(|no| match no {
            NoAnswer::Failure(code) => Answer::Failed(code),
            NoAnswer::Ended(ended) => Answer::Ended(ended),
            NoAnswer::Quarantined => Answer::Wrong("it failed too often to be asked again".to_owned()),
        })
    }

    /// A policy of the redactor alone.
    pub(super) fn policy(&self, settings: Option<&str>) -> Option<Chain> {
        let redactor = self.fresh(Hook::Redact, settings)?;
        Some(Chain {
            generation: 0,
            sees: TransformsSee::Masked,
            redactors: vec![Arc::new(redactor)],
            transforms: Vec::new(),
            notifiers: Vec::new(),
            withheld_by: Vec::new(),
            skipped: Vec::new(),
            unasked: Vec::new(),
            older: Vec::new(),
            required: Vec::new(),
        })
    }

    /// Its canaries as questions.
    pub(super) fn canaries(&self) -> Vec<Ask> {
        self.manifest.canaries.iter().map(Ask::of_canary).collect()
    }

    /// What it logged, each line once.
    pub(super) fn take_log(&self) -> Vec<LogLine> {
        std::mem::take(&mut *self.log.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Ask {
    fn of_canary(canary: &Canary) -> Self {
        let mut context = Context::new(Surface::Foreground);
        context.command.clone_from(&canary.command);
        context.exit_code = canary.exit_code;
        let hook = hook_of(&canary.expect);
        Self {
            name: canary.name.clone(),
            hook,
            text: canary.text.clone(),
            context,
            event: (hook == Hook::Notify).then(|| neutral(&canary.command, &canary.text)),
            settings: None,
        }
    }

    /// A question about a text nobody knows anything about.
    pub(super) fn about(hook: Hook, text: String) -> Self {
        Self {
            name: String::new(),
            hook,
            event: (hook == Hook::Notify).then(|| neutral("", &text)),
            text,
            context: Context::new(Surface::Foreground),
            settings: None,
        }
    }
}

/// Puts a question to an instance.
pub(super) async fn put(instance: &mut Instance, ask: &Ask) -> Result<Answer, CallError> {
    Ok(match ask.hook {
        Hook::Redact => {
            let window = Window { text: &ask.text, fresh_from: 0, front_cut: false, last: true };
            let found = instance.scan(&ask.context, &window).await?;
            match trial::wrong_span(&ask.text, &found) {
                Some(wrong) => Answer::Wrong(wrong),
                None => Answer::Found(found),
            }
        }
        Hook::Transform => match instance.apply(&ask.context, &ask.text).await? {
            Transformed::Edits(edits) => match edited(&ask.text, &edits) {
                Some(text) => Answer::Text(text),
                None => Answer::Wrong("edits that overlap, are out of order, or are no places in the text".to_owned()),
            },
            Transformed::Unchanged => Answer::Text(ask.text.clone()),
            Transformed::Replaced(text) => Answer::Text(text),
        },
        Hook::Notify => {
            let event = ask.event.clone().unwrap_or_else(|| neutral(&ask.context.command, &ask.text));
            Answer::Said(instance.decide(&event).await?)
        }
    })
}

/// A text with its edits made; none if they cannot be.
fn edited(text: &str, edits: &[(std::ops::Range<usize>, String)]) -> Option<String> {
    let (mut out, mut at) = (String::new(), 0);
    for (range, new) in edits {
        text.get(range.clone())?;
        out += text.get(at..range.start)?;
        out += new;
        at = range.end;
    }
    Some(out + text.get(at..)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_made_in_order_and_refused_where_they_are_no_places() {
        let edit = |range, text: &str| (range, text.to_owned());
        assert_eq!(edited("one two", &[edit(0..3, "1"), edit(4..7, "2")]).as_deref(), Some("1 2"));
        assert_eq!(edited("one two", &[edit(4..7, "2"), edit(0..3, "1")]), None);
        assert_eq!(edited("\u{e9}", &[edit(1..2, "x")]), None);
        assert_eq!(edited("one", &[edit(2..9, "x")]), None);
    }
}
