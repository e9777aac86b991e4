//! Policies made of closures, and a redactor that keeps the contract of streams: what the tests of this crate ask.

use std::sync::atomic::{AtomicUsize, Ordering};

use hermes_model::config::TransformsSee;
use hermes_model::context::{Context, Surface};
use hermes_model::report::Withheld;

use crate::policy::{Findings, Policy, Span, Transformed, Window};

type Redact = Box<dyn Fn(&Window<'_>) -> Result<Findings, Withheld> + Send + Sync>;
type Transform = Box<dyn Fn(&str) -> Result<Transformed, String> + Send + Sync>;

/// A policy of closures.
pub(crate) struct Fake {
    pub(crate) redact: Redact,
    pub(crate) transforms: Vec<(&'static str, Transform)>,
    pub(crate) see: TransformsSee,
    pub(crate) fingerprint: u64,
    pub(crate) warnings: Vec<String>,
    /// How often the redactor was asked.
    pub(crate) asked: AtomicUsize,
}

impl Fake {
    pub(crate) fn new(redact: impl Fn(&Window<'_>) -> Result<Findings, Withheld> + Send + Sync + 'static) -> Self {
        Self {
            redact: Box::new(redact),
            transforms: Vec::new(),
            see: TransformsSee::Masked,
            fingerprint: 1,
            warnings: Vec::new(),
            asked: AtomicUsize::new(0),
        }
    }

    /// Finds nothing, needs nothing.
    pub(crate) fn nothing() -> Self {
        Self::new(|window| Ok(clear(window.text.len())))
    }

    /// Never has an answer.
    pub(crate) fn failing() -> Self {
        Self::new(|_| Err(trouble()))
    }

    pub(crate) fn with(
        mut self,
        name: &'static str,
        transform: impl Fn(&str) -> Result<Transformed, String> + Send + Sync + 'static,
    ) -> Self {
        self.transforms.push((name, Box::new(transform)));
        self
    }

    pub(crate) fn raw(mut self) -> Self {
        self.see = TransformsSee::Raw;
        self
    }
}

impl Policy for Fake {
    fn generation(&self) -> u64 {
        7
    }

    fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    fn transforms_see(&self) -> TransformsSee {
        self.see
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn redact(&self, _: &Context, window: &Window<'_>) -> Result<Findings, Withheld> {
        assert!(window.fresh_from <= window.text.len(), "the fresh part begins in the text");
        assert!(window.text.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'), "the text is normalised");
        self.asked.fetch_add(1, Ordering::Relaxed);
        (self.redact)(window)
    }

    fn redactor_digests(&self) -> Vec<String> {
        vec!["0".repeat(64)]
    }

    fn transforms(&self) -> usize {
        self.transforms.len()
    }

    fn transform_name(&self, index: usize) -> &str {
        self.transforms[index].0
    }

    fn transform(&self, index: usize, _: &Context, text: &str) -> Result<Transformed, String> {
        (self.transforms[index].1)(text)
    }
}

pub(crate) fn clear(len: usize) -> Findings {
    Findings { spans: Vec::new(), show_until: len, need_from: len }
}

pub(crate) fn trouble() -> Withheld {
    Withheld { plugin: "fake".to_owned(), code: "trap".to_owned(), message: "it stopped".to_owned() }
}

pub(crate) fn context() -> Context {
    Context::new(Surface::Foreground)
}

/// The letters secrets of the tests are made of, and nothing else is: one of them in a shown text is a leak.
pub(crate) fn is_private(c: char) -> bool {
    ('α'..='ω').contains(&c)
}

/// The first private letters of a text, if there are any.
pub(crate) fn leak(text: &str) -> Option<&str> {
    let at = text.find(is_private)?;
    let len = text[at..].find(|c| !is_private(c)).unwrap_or(text.len() - at);
    Some(&text[at..at + len])
}

/// How the reference redactor treats what is open at the end of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Open {
    /// It is held until it is closed.
    Hold,
    /// It is masked as it arrives, and released.
    Release,
}

const KEY: &str = "key=";
const BEGIN: &str = "BEGIN";
const END: &str = "END";

/// `key=value` in a line, and `BEGIN` to `END` over lines. What may be the rest of a secret at a cut front is masked.
pub(crate) fn reference(window: &Window<'_>, open: Open) -> Findings {
    let text = window.text;
    let mut findings = clear(text.len());
    let mut at = 0;
    if window.front_cut {
        // The rest of a value, of a block, or of nothing at all: a redactor cannot know, and this one does not guess.
        let ends = [text.find(ends_value), text.find(KEY), text.find(BEGIN)];
        let value = ends.into_iter().flatten().min().unwrap_or(text.len());
        let block = text.find(END).filter(|end| !text[..*end].contains(BEGIN)).map_or(0, |end| end + END.len());
        let letters = text.rfind(is_private).filter(|_| block == 0 && !text.contains(KEY) && !text.contains(BEGIN));
        at = value.max(block).max(letters.map_or(0, |last| last + 'α'.len_utf8()));
        // Nothing but the space inside a block, or the beginning of its end: it may go on.
        let goes_on = at == text.len() || block == 0 && text[at..].chars().all(|c| matches!(c, '\n' | 'E' | 'N'));
        if goes_on && !window.last {
            at = text.len();
            findings.need_from = 0;
        }
        if at > 0 {
            findings.spans.push(Span { start: 0, end: at, rule: "front".to_owned() });
        }
    }
    while at < text.len() {
        let key = text[at..].find(KEY).map(|from| at + from);
        let begin = text[at..].find(BEGIN).map(|from| at + from);
        let (start, secret, end, rule) = match (key, begin) {
            (Some(key), begin) if begin.is_none_or(|begin| key < begin) => {
                let value = key + KEY.len();
                (key, value, text[value..].find(ends_value).map(|len| value + len), "kv")
            }
            (_, Some(begin)) => (begin, begin, text[begin..].find(END).map(|len| begin + len + END.len()), "pem"),
            _ => break,
        };
        let to = end.unwrap_or(text.len());
        if to > secret {
            findings.spans.push(Span { start: secret, end: to, rule: rule.to_owned() });
        }
        at = to;
        if end.is_none() && !window.last {
            findings.need_from = start;
            findings.show_until = match open {
                Open::Hold => start,
                Open::Release => text.len(),
            };
            return findings;
        }
    }
    if !window.last && findings.need_from > 0 {
        let partial = [KEY, BEGIN].iter().flat_map(|word| (1..word.len()).map(|len| &word[..len]));
        let longest = partial.filter(|part| text[at..].ends_with(*part)).map(str::len).max().unwrap_or(0);
        findings.show_until = text.len() - longest;
        findings.need_from = text.len() - longest;
    }
    findings
}

fn ends_value(c: char) -> bool {
    matches!(c, ' ' | '\n' | '\t')
}
