//! A policy that masks a word, withholds the texts with another, or does nothing.
//!
//! It must never release the beginning of a word that it masks, as no redactor may.

use std::sync::Arc;

use hermes_model::config::TransformsSee;
use hermes_model::context::Context;
use hermes_model::report::Withheld;
use hermes_output::policy::{Findings, InForce, Policy, Span, Transformed, Window};

use crate::force::Fixed;

/// A policy made of words, of generation 7.
#[derive(Default)]
pub struct Fake {
    masks: Option<&'static str>,
    withholds: Option<(&'static str, Withheld)>,
    replaces: Option<Replacement>,
}

/// A transform: its name, the words it looks for, and what it makes of them.
struct Replacement {
    name: &'static str,
    from: &'static str,
    to: &'static str,
}

impl Fake {
    /// Finds nothing and transforms nothing.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Masks this word wherever it stands, under the rule `word`.
    pub fn masking(word: &'static str) -> Self {
        Self { masks: Some(word), ..Self::default() }
    }

    /// Has this answer, which is none, to every text with this word. The empty word is in every text.
    pub fn withholding(self, word: &'static str, why: Withheld) -> Self {
        Self { withholds: Some((word, why)), ..self }
    }

    /// Has a transform of this name, which puts `to` in the place of `from`.
    pub fn replacing(self, name: &'static str, from: &'static str, to: &'static str) -> Self {
        Self { replaces: Some(Replacement { name, from, to }), ..self }
    }

    /// Puts it in force for ever, with nobody who decides about events: all of them are delivered.
    pub fn in_force(self) -> Arc<dyn InForce> {
        Arc::new(Fixed::new(Arc::new(self)))
    }
}

/// How many bytes at the end of the text may be the beginning of the word.
fn begun(text: &str, word: &str) -> usize {
    let beginnings = word.char_indices().skip(1).map(|(len, _)| len);
    beginnings.filter(|len| text.ends_with(&word[..*len])).max().unwrap_or(0)
}

impl Policy for Fake {
    fn generation(&self) -> u64 {
        7
    }

    fn fingerprint(&self) -> u64 {
        1
    }

    fn transforms_see(&self) -> TransformsSee {
        TransformsSee::Masked
    }

    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    fn redact(&self, _: &Context, window: &Window<'_>) -> Result<Findings, Withheld> {
        let text = window.text;
        if let Some((word, why)) = &self.withholds
            && text.contains(word)
        {
            return Err(why.clone());
        }
        let Some(word) = self.masks else {
            return Ok(Findings { spans: Vec::new(), show_until: text.len(), need_from: text.len() });
        };
        let places = text.match_indices(word);
        let spans =
            places.map(|(at, word)| Span { start: at, end: at + word.len(), rule: "word".to_owned() }).collect();
        let until = if window.last { text.len() } else { text.len() - begun(text, word) };
        Ok(Findings { spans, show_until: until, need_from: until })
    }

    fn redactor_digests(&self) -> Vec<String> {
        self.masks.map(|_| "d".repeat(64)).into_iter().collect()
    }

    fn transforms(&self) -> usize {
        usize::from(self.replaces.is_some())
    }

    fn transform_name(&self, _: usize) -> &str {
        self.replaces.as_ref().map_or("", |replacement| replacement.name)
    }

    fn transform(&self, _: usize, _: &Context, text: &str) -> Result<Transformed, String> {
        Ok(match &self.replaces {
            Some(Replacement { from, to, .. }) if text.contains(from) => Transformed::Replaced(text.replace(from, to)),
            _ => Transformed::Unchanged,
        })
    }
}

#[cfg(test)]
mod tests {
    use hermes_model::context::Surface;

    use super::*;

    #[test]
    fn a_word_is_masked_and_its_beginning_is_held_until_it_is_known() {
        let policy = Fake::masking("secret");
        let found = |text, last| {
            let window = Window { text, fresh_from: 0, front_cut: false, last };
            let found = policy.redact(&Context::new(Surface::Stream), &window).unwrap();
            (found.spans.iter().map(|span| (span.start, span.end)).collect::<Vec<_>>(), found.show_until)
        };
        assert_eq!(found("a secret s", false), (vec![(2, 8)], 9));
        assert_eq!(found("a secre", false), (vec![], 2));
        assert_eq!(found("a secre", true), (vec![], 7));
        assert_eq!(found("a secret", false), (vec![(2, 8)], 8));
    }

    #[test]
    fn a_text_with_a_forbidden_word_has_no_answer() {
        let why = Withheld { plugin: "p".to_owned(), code: "c".to_owned(), message: "m".to_owned() };
        let policy = Fake::masking("secret").withholding("forbidden", why.clone());
        let asked = |text| {
            policy.redact(&Context::new(Surface::Stream), &Window { text, fresh_from: 0, front_cut: false, last: true })
        };
        assert_eq!(asked("it is forbidden").unwrap_err(), why);
        assert!(asked("it is not").is_ok());
    }
}
