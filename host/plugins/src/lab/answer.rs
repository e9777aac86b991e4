//! What a case expects, and whether an answer is that.

use hermes_output::event::Verdict;
use hermes_output::exact::ExactValues;
use hermes_output::policy::Span;
use hermes_output::reveal::reveal_text;
use serde_json::{Map, Value, json};

use super::difference;
use super::subject::{Answer, Ask, Subject};
use crate::manifest::VerdictKind;

/// A piece of a secret this long is the secret: whoever sees it recognises the rest.
const PIECE_BYTES: usize = 12;

/// What a case expects.
#[derive(Clone)]
pub(super) enum Want {
    /// Exactly these places, in any order.
    Spans(Vec<Span>),
    /// The text as hermes shows it, with its masks.
    Masked(String),
    /// What the transform makes of the text.
    Becomes(String),
    /// The text as it was given: no place, no change.
    Unchanged,
    /// Words that must and must not be in what is shown.
    Words {
        /// What must be there.
        contains: Vec<String>,
        /// What must not.
        lacks: Vec<String>,
    },
    /// The verdict; with its text or reason, where the case says one.
    Verdict(VerdictKind, Option<String>),
}

/// An answer that is not the one expected.
pub(super) struct Miss {
    /// What is wrong, in a sentence.
    pub(super) message: String,
    /// Line by line, where that says more.
    pub(super) difference: Vec<String>,
    /// The key and the value that would be right now; none where only the author can say.
    pub(super) now: Option<(&'static str, Value)>,
}

impl Miss {
    fn new(message: impl Into<String>, difference: Vec<String>, now: Option<(&'static str, Value)>) -> Self {
        Self { message: message.into(), difference, now }
    }
}

/// Compares an answer with what a case expects.
pub(super) fn judge(subject: &Subject, ask: &Ask, want: &Want, answer: &Answer) -> Result<(), Miss> {
    match (answer, want) {
        (Answer::Failed(code), _) => {
            Err(Miss::new(format!("the plugin has no answer: the failure {code}"), vec![], None))
        }
        (Answer::Ended(ended), _) => Err(Miss::new(
            format!("the call was ended ({}): `-v` shows what the plugin logged", ended.word()),
            vec![],
            None,
        )),
        (Answer::Wrong(wrong), _) => Err(Miss::new(format!("the answer is none: {wrong}"), vec![], None)),
        (Answer::Found(found), Want::Spans(spans)) => {
            let (want, got) = (sorted(spans), sorted(&found.spans));
            if want == got {
                return Ok(());
            }
            let lines = difference::spans(&ask.text, &want, &got);
            Err(Miss::new("other places are masked", lines, Some(("spans", spans_value(&got)))))
        }
        (Answer::Found(found), Want::Unchanged) => {
            let got = sorted(&found.spans);
            if got.is_empty() {
                return Ok(());
            }
            let lines = difference::spans(&ask.text, &[], &got);
            Err(Miss::new("places are masked, and the text must stay", lines, Some(("spans", spans_value(&got)))))
        }
        (Answer::Found(_), Want::Masked(want)) => same_text(want, &masked(subject, ask), "masked"),
        (Answer::Found(_), Want::Words { contains, lacks }) => words(&masked(subject, ask), contains, lacks, true),
        (Answer::Text(text), Want::Words { contains, lacks }) => words(text, contains, lacks, false),
        (Answer::Text(text), Want::Becomes(want)) => same_text(want, text, "becomes"),
        (Answer::Text(text), Want::Unchanged) if *text == ask.text => Ok(()),
        (Answer::Text(text), Want::Unchanged) => {
            let lines = difference::texts(&ask.text, text);
            Err(Miss::new("the text is changed, and must stay", lines, Some(("becomes", json!(text)))))
        }
        (Answer::Said(verdict), Want::Verdict(kind, text)) => verdicts(verdict, *kind, text.as_deref()),
        _ => Err(Miss::new("the case expects what this hook does not answer", vec![], None)),
    }
}

/// The text as hermes shows it.
pub(super) fn masked(subject: &Subject, ask: &Ask) -> String {
    let Some(policy) = subject.policy(ask.settings.as_deref()) else { return ask.text.clone() };
    reveal_text(&policy, &ask.context, &ask.text, &ExactValues::default()).text.as_str().to_owned()
}

/// What a case would expect that says what the plugin answers now.
pub(super) fn expectation(subject: &Subject, ask: &Ask, answer: &Answer) -> Option<(&'static str, Value)> {
    match answer {
        Answer::Found(_) => Some(("masked", json!(masked(subject, ask)))),
        Answer::Text(text) if *text == ask.text => Some(("unchanged", json!(true))),
        Answer::Text(text) => Some(("becomes", json!(text))),
        Answer::Said(verdict) => Some(("verdict", verdict_value(verdict))),
        Answer::Failed(_) | Answer::Ended(_) | Answer::Wrong(_) => None,
    }
}

fn sorted(spans: &[Span]) -> Vec<Span> {
    let mut spans = spans.to_vec();
    spans.sort_by(|a, b| (a.start, a.end, &a.rule).cmp(&(b.start, b.end, &b.rule)));
    spans.dedup();
    spans
}

fn spans_value(spans: &[Span]) -> Value {
    let value = |span: &Span| {
        let mut object = Map::new();
        object.insert("start".to_owned(), json!(span.start));
        object.insert("end".to_owned(), json!(span.end));
        object.insert("rule".to_owned(), json!(span.rule));
        Value::Object(object)
    };
    Value::Array(spans.iter().map(value).collect())
}

fn same_text(want: &str, got: &str, key: &'static str) -> Result<(), Miss> {
    if want == got {
        return Ok(());
    }
    Err(Miss::new(format!("another text than '{key}' says"), difference::texts(want, got), Some((key, json!(got)))))
}

fn words(shown: &str, contains: &[String], lacks: &[String], secret: bool) -> Result<(), Miss> {
    let lost = contains.iter().filter(|word| !shown.contains(word.as_str()));
    let lost = lost.map(|word| format!("- {}", difference::plain(word)));
    let kept =
        lacks.iter().filter(|word| if secret { holds_piece(shown, word) } else { shown.contains(word.as_str()) });
    let kept = kept.map(|word| format!("+ {}", difference::plain(word)));
    let lines: Vec<String> = lost.chain(kept).collect();
    if lines.is_empty() {
        return Ok(());
    }
    let message = "what is shown lacks words of 'contains' (-) or holds words of 'lacks' (+)";
    Err(Miss::new(message, lines, None))
}

/// Whether a secret, or so much of it that it is recognised, is in a text.
fn holds_piece(shown: &str, secret: &str) -> bool {
    let pieces = secret.as_bytes().windows(PIECE_BYTES);
    let mut pieces = pieces.filter_map(|piece| std::str::from_utf8(piece).ok());
    shown.contains(secret) || pieces.any(|piece| shown.contains(piece))
}

fn verdicts(got: &Verdict, want: VerdictKind, text: Option<&str>) -> Result<(), Miss> {
    let (kind, said) = match got {
        Verdict::Deliver => (VerdictKind::Deliver, ""),
        Verdict::Rewrite(text) => (VerdictKind::Rewrite, text.as_str()),
        Verdict::Suppress(reason) => (VerdictKind::Suppress, reason.as_str()),
    };
    if kind == want && text.is_none_or(|text| text == said) {
        return Ok(());
    }
    let line = |mark: &str, kind: VerdictKind, text: &str| {
        let text = if text.is_empty() { String::new() } else { format!(": {}", difference::plain(text)) };
        format!("{mark} {}{text}", kind.word())
    };
    let lines = vec![line("-", want, text.unwrap_or_default()), line("+", kind, said)];
    Err(Miss::new("another verdict", lines, Some(("verdict", verdict_value(got)))))
}

fn verdict_value(verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Deliver => json!("deliver"),
        Verdict::Rewrite(text) => json!({ "rewrite": text }),
        Verdict::Suppress(reason) => json!({ "suppress": reason }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_of_a_secret_is_the_secret_and_a_short_one_is_not() {
        assert!(holds_piece("x abcdefghijkl y", "0abcdefghijklm"));
        assert!(!holds_piece("x abcdefghijk y", "0abcdefghijklm"));
        assert!(holds_piece("a kiwi b", "kiwi"));
        assert!(!holds_piece("a kiw b", "kiwi"));
    }

    #[test]
    fn words_name_everything_that_is_lost_or_left() {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert!(words("one two", &list(&["one"]), &list(&["three"]), false).is_ok());
        let Err(miss) = words("one two", &list(&["zero", "one"]), &list(&["two"]), false) else { panic!() };
        assert_eq!(miss.difference, ["- zero", "+ two"]);
        assert!(miss.now.is_none());
    }

    #[test]
    fn a_verdict_is_compared_with_its_words_only_where_the_case_says_them() {
        let suppress = Verdict::Suppress("quiet".to_owned());
        assert!(verdicts(&suppress, VerdictKind::Suppress, None).is_ok());
        assert!(verdicts(&suppress, VerdictKind::Suppress, Some("quiet")).is_ok());
        let Err(miss) = verdicts(&suppress, VerdictKind::Deliver, None) else { panic!() };
        assert_eq!(miss.difference, ["- deliver", "+ suppress: quiet"]);
        assert_eq!(miss.now, Some(("verdict", json!({ "suppress": "quiet" }))));
        assert!(verdicts(&suppress, VerdictKind::Suppress, Some("other")).is_err());
    }
}
