//! A policy that is in force for ever, and a notifier that delivers.
//!
//! It must never change what is in force: a test that needs that has its own.

use std::sync::Arc;

use hermes_output::event::{Event, Notifier, Verdict};
use hermes_output::policy::{InForce, Policy};

/// One policy for ever.
pub struct Fixed {
    policy: Arc<dyn Policy>,
    notifier: Arc<Words>,
}

impl Fixed {
    /// This policy, and no notifier: every event is delivered.
    pub fn new(policy: Arc<dyn Policy>) -> Self {
        Self { policy, notifier: Arc::new(Words { suppresses: None }) }
    }

    /// With a notifier named `quiet`, which suppresses events whose output has this word, and gives the word as its reason.
    pub fn suppressing(self, word: &'static str) -> Self {
        Self { notifier: Arc::new(Words { suppresses: Some(word) }), ..self }
    }
}

impl InForce for Fixed {
    fn policy(&self) -> Arc<dyn Policy> {
        Arc::clone(&self.policy)
    }

    fn notifier(&self) -> Arc<dyn Notifier> {
        self.notifier.clone()
    }
}

/// One notifier that knows a word, or none.
struct Words {
    suppresses: Option<&'static str>,
}

impl Notifier for Words {
    fn notifiers(&self) -> usize {
        usize::from(self.suppresses.is_some())
    }

    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    fn notifier_name(&self, _: usize) -> &str {
        "quiet"
    }

    fn decide(&self, _: usize, _: u64, event: &Event) -> Result<Verdict, String> {
        Ok(match self.suppresses {
            Some(word) if event.output.as_str().contains(word) => Verdict::Suppress(word.to_owned()),
            _ => Verdict::Deliver,
        })
    }
}
