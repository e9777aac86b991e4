//! What happened and may wake somebody, and the seam to whoever decides whether it does: the [`Notifier`] trait.
//!
//! An [`Event`] is made of [`Visible`] text only. `hermes-plugins` implements the trait with its notify chain; this module
//! knows no plugin. It must never let a notifier that fails silence an event.

use std::time::SystemTime;

use hermes_model::context::{Context, Surface};
use hermes_model::event::EventKind;
use hermes_model::id::{Owner, ProcessId};
use hermes_model::report::PolicyReport;
use hermes_model::status::Status;

use crate::exact::ExactValues;
use crate::policy::Policy;
use crate::reveal::reveal_text;
use crate::visible::Visible;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Stable: the same event delivered twice has the same id.
    pub id: String,
    /// What happened.
    pub kind: EventKind,
    /// The process it is about; none for events about the host, its servers or its plugins.
    pub process: Option<ProcessId>,
    /// The command line; empty where there is none.
    pub command: Visible,
    /// Who may see it.
    pub owner: Owner,
    /// When it happened.
    pub at: SystemTime,
    /// Where the process stood then; none where the event is about no process.
    pub status: Option<Status>,
    /// The text of the event.
    pub output: Visible,
    /// Whether a part of the output is not in `output`.
    pub output_cut: bool,
    /// The watch pattern that matched.
    pub pattern: Option<Visible>,
    /// How many events like it were dropped since the last one.
    pub suppressed: u64,
    /// Whether it is for the agent only, and nothing a person needs to see.
    pub hidden: bool,
    /// What the policy did to its text.
    pub policy: PolicyReport,
}

/// What a notifier makes of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is delivered as it is.
    Deliver,
    /// It is delivered with this text, once that has been through the policy.
    Rewrite(String),
    /// It wakes nobody; says why.
    Suppress(String),
}

/// The notify chain of one generation.
pub trait Notifier: Send + Sync {
    /// How many notifiers there are; the other functions take an index below it.
    fn notifiers(&self) -> usize;

    /// What is said of every event: notifiers that should be asked and are not there to ask.
    fn warnings(&self) -> Vec<String>;

    /// The name of the notifier at `index`.
    fn notifier_name(&self, index: usize) -> &str;

    /// Asks the notifier at `index` about an event that got the number `seq`.
    ///
    /// # Errors
    /// It has no answer: a warning for the event, which quotes neither the event nor the plugin's own message.
    fn decide(&self, index: usize, seq: u64, event: &Event) -> Result<Verdict, String>;
}

/// Where events are shown to a person, beside being delivered.
pub trait Sink: Send + Sync {
    /// Takes an event that is delivered: decided about, not suppressed, not hidden. Returns at once, and never fails:
    /// what cannot be shown is the sink's business.
    fn show(&self, event: &Event);
}

/// Why an event wakes nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppressed {
    /// The notifier that said so.
    pub by: String,
    /// What it said, as far as it may be shown.
    pub reason: Visible,
}

/// Asks every notifier in turn, each about what the one before made of the event. The first that suppresses has the last
/// word; one that fails is passed over, and the event says so, as it does of those that are not there to ask.
pub fn decide(
    policy: &dyn Policy,
    notifier: &dyn Notifier,
    seq: u64,
    mut event: Event,
    exact: &ExactValues,
) -> (Event, Option<Suppressed>) {
    for warning in notifier.warnings() {
        warn(&mut event, warning);
    }
    for index in 0..notifier.notifiers() {
        let verdict = match notifier.decide(index, seq, &event) {
            Ok(verdict) => verdict,
            Err(warning) => {
                warn(&mut event, warning);
                continue;
            }
        };
        let by = notifier.notifier_name(index);
        match verdict {
            Verdict::Deliver => {}
            Verdict::Rewrite(text) => rewrite(policy, &mut event, by, &text, exact),
            Verdict::Suppress(reason) => {
                let reason = reveal_text(policy, &context_of(&event), &reason, exact).text;
                return (event, Some(Suppressed { by: by.to_owned(), reason }));
            }
        }
    }
    (event, None)
}

/// Adds a warning, unless the policy gave the event the same one already.
fn warn(event: &mut Event, warning: String) {
    if !event.policy.warnings.contains(&warning) {
        event.policy.warnings.push(warning);
    }
}

/// What hooks are told about text that goes with an event.
pub fn context_of(event: &Event) -> Context {
    Context {
        source: event.process.as_ref().map_or_else(String::new, ToString::to_string),
        command: event.command.as_str().to_owned(),
        owner: event.owner.clone(),
        exit_code: event.status.as_ref().and_then(Status::exit_code),
        ..Context::new(surface(event.kind))
    }
}

fn surface(kind: EventKind) -> Surface {
    match kind {
        EventKind::Heartbeat => Surface::Heartbeat,
        EventKind::Match => Surface::Match,
        _ => Surface::Completion,
    }
}

/// Puts a notifier's text in the place of the event's. A text that is withheld leaves the event as it was.
fn rewrite(policy: &dyn Policy, event: &mut Event, by: &str, text: &str, exact: &ExactValues) {
    let revealed = reveal_text(policy, &context_of(event), text, exact);
    if revealed.report.withheld.is_some() {
        event.policy.warnings.push(format!("what {by} made of this event was withheld; it is shown as it was"));
        return;
    }
    for (rule, count) in revealed.report.redactions {
        *event.policy.redactions.entry(rule).or_default() += count;
    }
    event.output = revealed.text;
    event.policy.transformed_by.push(by.to_owned());
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::policy::Span;
    use crate::reveal::fakes::{Fake, clear};

    struct Chain(Vec<Result<Verdict, String>>, Mutex<Vec<String>>);

    impl Notifier for Chain {
        fn notifiers(&self) -> usize {
            self.0.len()
        }

        fn warnings(&self) -> Vec<String> {
            vec!["notifier fourth is not in force".to_owned()]
        }

        fn notifier_name(&self, index: usize) -> &str {
            ["first", "second", "third"][index]
        }

        fn decide(&self, index: usize, _seq: u64, event: &Event) -> Result<Verdict, String> {
            self.1.lock().unwrap().push(event.output.as_str().to_owned());
            self.0[index].clone()
        }
    }

    /// Masks the word "secret".
    fn policy() -> Fake {
        Fake::new(|window| {
            let mut found = clear(window.text.len());
            let places = window.text.match_indices("secret");
            found.spans =
                places.map(|(at, word)| Span { start: at, end: at + word.len(), rule: "word".into() }).collect();
            Ok(found)
        })
    }

    fn event() -> Event {
        let text =
            |text: &str| reveal_text(&policy(), &Context::new(Surface::Completion), text, &ExactValues::default()).text;
        Event {
            id: "e".into(),
            kind: EventKind::Completion,
            process: None,
            command: text("make"),
            owner: Owner::default(),
            at: SystemTime::UNIX_EPOCH,
            status: Some(Status::Exited(0)),
            output: text("done"),
            output_cut: false,
            pattern: None,
            suppressed: 0,
            hidden: false,
            policy: PolicyReport::default(),
        }
    }

    fn ask(verdicts: Vec<Result<Verdict, String>>) -> (Event, Option<Suppressed>, Vec<String>) {
        let chain = Chain(verdicts, Mutex::default());
        let (event, suppressed) = decide(&policy(), &chain, 1, event(), &ExactValues::default());
        (event, suppressed, chain.1.into_inner().unwrap())
    }

    #[test]
    fn each_notifier_sees_what_the_one_before_made_of_it_with_its_secrets_masked() {
        let (event, suppressed, saw) = ask(vec![Ok(Verdict::Rewrite("a secret".into())), Ok(Verdict::Deliver)]);
        assert_eq!(saw, ["done", "a [REDACTED:word]"]);
        assert_eq!(event.output.as_str(), "a [REDACTED:word]");
        assert_eq!(event.policy.transformed_by, ["first"]);
        assert_eq!(suppressed, None);
    }

    #[test]
    fn the_first_that_suppresses_has_the_last_word_and_its_reason_is_masked() {
        let (_, suppressed, saw) = ask(vec![Ok(Verdict::Suppress("secret".into())), Ok(Verdict::Deliver)]);
        let suppressed = suppressed.unwrap();
        assert_eq!((suppressed.by.as_str(), suppressed.reason.as_str()), ("first", "[REDACTED:word]"));
        assert_eq!(saw.len(), 1);
    }

    #[test]
    fn a_notifier_that_fails_delivers_and_says_so() {
        let (event, suppressed, _) = ask(vec![Err("notifier first was skipped (trap)".into())]);
        assert_eq!((event.output.as_str(), suppressed), ("done", None));
        assert_eq!(event.policy.warnings, ["notifier fourth is not in force", "notifier first was skipped (trap)"]);
    }

    #[test]
    fn an_event_says_once_which_notifiers_are_not_there_to_ask_even_if_it_is_suppressed() {
        let chain = Chain(vec![Ok(Verdict::Suppress("no".into()))], Mutex::default());
        let mut known = event();
        known.policy.warnings = chain.warnings();
        for event in [event(), known] {
            let (event, suppressed) = decide(&policy(), &chain, 1, event, &ExactValues::default());
            assert_eq!(event.policy.warnings, ["notifier fourth is not in force"]);
            assert!(suppressed.is_some());
        }
    }
}
