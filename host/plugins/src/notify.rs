//! The notify hook: the chain as whoever decides about events, and what a notifier is told of one.
//!
//! A notifier that has no answer, or is not there, never silences an event: it is passed over and named.

use std::time::UNIX_EPOCH;

use hermes_model::event::EventKind;
use hermes_model::id::{Owner, ProcessId};
use hermes_model::status::Status;
use hermes_output::event::{Event, Notifier, Verdict};

use crate::api::bindings::notifier::exports::hermes::hook::notify as wit;
use crate::chain::{Absent, Chain, OlderVersion};
use crate::live::NoAnswer;

impl Notifier for Chain {
    fn notifiers(&self) -> usize {
        self.notifiers.len()
    }

    fn warnings(&self) -> Vec<String> {
        let older = self.older.iter().filter(|older| older.only_notifies).map(OlderVersion::sentence);
        older.chain(self.unasked.iter().map(|absent| self.not_in_force(absent))).collect()
    }

    fn notifier_name(&self, index: usize) -> &str {
        self.notifiers.get(index).map_or("", |live| live.name.as_str())
    }

    fn decide(&self, index: usize, seq: u64, event: &Event) -> Result<Verdict, String> {
        let Some(live) = self.notifiers.get(index) else { return Ok(Verdict::Deliver) };
        let told = told(seq, event);
        live.call(async |instance| instance.decide(&told).await).map_err(|no| {
            format!("notifier {} was skipped ({}); see `hermes plugins why {}`", live.name, no.word(), live.name)
        })
    }
}

impl Chain {
    /// What is said of required notifiers that are not in force. They withhold nothing, since they change no text.
    pub(crate) fn required_notifiers_missing(&self) -> Vec<String> {
        let quarantined = self
            .notifiers
            .iter()
            .filter(|live| live.standing().is_quarantined())
            .map(|live| Absent { name: live.name.to_string(), code: NoAnswer::Quarantined.word().to_owned() });
        let absent = self.unasked.iter().cloned().chain(quarantined);
        absent.filter(|absent| self.required.contains(&absent.name)).map(|absent| self.not_in_force(&absent)).collect()
    }

    fn not_in_force(&self, absent: &Absent) -> String {
        let Absent { name, code } = absent;
        if self.required.contains(name) {
            format!(
                "the policy requires notifier {name}, which is not in force ({code}); see `hermes plugins why {name}`"
            )
        } else {
            format!("notifier {name} is not in force ({code}); see `hermes plugins why {name}`")
        }
    }
}

/// An event in the words of the contract. Labels are there only where they say something.
fn told(seq: u64, event: &Event) -> wit::Event {
    let since = event.at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut labels = Vec::new();
    if event.suppressed > 0 {
        labels.push(("suppressed".to_owned(), event.suppressed.to_string()));
    }
    for (name, is_so) in [("hidden", event.hidden), ("output-cut", event.output_cut)] {
        if is_so {
            labels.push((name.to_owned(), "true".to_owned()));
        }
    }
    wit::Event {
        id: event.id.clone(),
        seq,
        kind: event.kind.name().to_owned(),
        source: event.process.as_ref().map(ProcessId::to_string).unwrap_or_default(),
        command: event.command.as_str().to_owned(),
        owner: event.owner.as_str().to_owned(),
        at_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
        status: event.status.as_ref().map(Status::kind).unwrap_or_default().to_owned(),
        exit_code: event.status.as_ref().and_then(Status::exit_code),
        text: event.output.as_str().to_owned(),
        pattern: event.pattern.as_ref().map(|pattern| pattern.as_str().to_owned()),
        labels,
    }
}

/// The event of a trial: the completion, with exit code 0, of a command that printed this text.
pub(crate) fn neutral(command: &str, text: &str) -> wit::Event {
    let status = Status::Exited(0);
    wit::Event {
        id: "canary".to_owned(),
        seq: 0,
        kind: EventKind::Completion.name().to_owned(),
        source: String::new(),
        command: command.to_owned(),
        owner: Owner::default().as_str().to_owned(),
        at_ms: 0,
        status: status.kind().to_owned(),
        exit_code: status.exit_code(),
        text: text.to_owned(),
        pattern: None,
        labels: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
