//! The one seam between captured text and whoever decides about it: the [`Policy`] trait and its words.
//!
//! `hermes-plugins` implements it with a chain of WASM plugins; tests implement it with closures. This module knows
//! neither. It must never let a failure pass as "nothing found".

use std::sync::Arc;

use hermes_model::config::TransformsSee;
use hermes_model::context::Context;
use hermes_model::report::Withheld;

use crate::event::Notifier;

/// A text handed to the redact chain: a whole view, or the newest part of a stream.
#[derive(Clone, Copy)]
pub struct Window<'a> {
    /// Normalised text.
    pub text: &'a str,
    /// Where text not seen before begins, in bytes.
    pub fresh_from: usize,
    /// Whether text before this window was dropped.
    pub front_cut: bool,
    /// Whether nothing follows.
    pub last: bool,
}

/// A place that must be masked, as a redactor said it: possibly out of range, off a boundary, or backwards.
///
/// [`crate::mask`] makes the best of a bad one: it widens, and never drops it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte masked.
    pub start: usize,
    /// First byte after those masked.
    pub end: usize,
    /// The rule that says so, as the redactor named it.
    pub rule: String,
}

/// The united answer of all redactors for one window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Places to mask, in any order.
    pub spans: Vec<Span>,
    /// Text from here on may still become part of a secret: the least that any redactor named.
    pub show_until: usize,
    /// Text from here on must be in the next window: the least that any redactor named.
    pub need_from: usize,
}

/// What one transform made of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transformed {
    /// It stays as it is.
    Unchanged,
    /// Edits (replaced bytes, new text) in order of their start, not overlapping, on character boundaries of the text given.
    Edits(Vec<(std::ops::Range<usize>, String)>),
    /// A new text.
    Replaced(String),
}

/// One generation of the policy. A view or a stream uses one from beginning to end; the next one may get a newer.
pub trait Policy: Send + Sync {
    /// The number of the generation, for the report.
    fn generation(&self) -> u64;

    /// A key that changes whenever the same text might get another answer: another generation, another state of a
    /// plugin, other settings. Results are remembered under it.
    fn fingerprint(&self) -> u64;

    /// What transforms are given.
    fn transforms_see(&self) -> TransformsSee;

    /// What should be in force and is not, in words for the reply (for example a transform that did not load).
    fn warnings(&self) -> Vec<String>;

    /// Those of [`Policy::warnings`] that are about redactors: they hold for a text no transform is asked about too.
    fn redactor_warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Asks every redactor about the same window and unites their answers.
    ///
    /// # Errors
    /// A redactor has no answer, or one that should be in force is not: the text must be withheld.
    fn redact(&self, context: &Context, window: &Window<'_>) -> Result<Findings, Withheld>;

    /// The digests of the redactors that are asked, for the record of what was in force.
    fn redactor_digests(&self) -> Vec<String>;

    /// How many transforms there are; [`Policy::transform`] takes an index below it.
    fn transforms(&self) -> usize;

    /// The name of the transform at `index`.
    fn transform_name(&self, index: usize) -> &str;

    /// Asks the transform at `index` about a text.
    ///
    /// # Errors
    /// It has no answer: a warning for the reply, which quotes neither the text nor the plugin's own message.
    fn transform(&self, index: usize, context: &Context, text: &str) -> Result<Transformed, String>;
}

/// Whoever knows which policy is in force now: a view or a stream asks once, at its beginning.
pub trait InForce: Send + Sync {
    /// What decides about text.
    fn policy(&self) -> Arc<dyn Policy>;

    /// What decides about events.
    fn notifier(&self) -> Arc<dyn Notifier>;
}

/// A policy without its transforms: for text that must stay line for line what was printed, such as a log that is read
/// in parts.
pub struct RedactOnly<'a>(pub &'a dyn Policy);

impl Policy for RedactOnly<'_> {
    fn generation(&self) -> u64 {
        self.0.generation()
    }

    fn fingerprint(&self) -> u64 {
        // Another answer than the whole policy's, so another key.
        !self.0.fingerprint()
    }

    fn transforms_see(&self) -> TransformsSee {
        TransformsSee::Masked
    }

    fn warnings(&self) -> Vec<String> {
        self.0.redactor_warnings()
    }

    fn redact(&self, context: &Context, window: &Window<'_>) -> Result<Findings, Withheld> {
        self.0.redact(context, window)
    }

    fn redactor_digests(&self) -> Vec<String> {
        self.0.redactor_digests()
    }

    fn transforms(&self) -> usize {
        0
    }

    fn transform_name(&self, _: usize) -> &str {
        ""
    }

    fn transform(&self, _: usize, _: &Context, _: &str) -> Result<Transformed, String> {
        Ok(Transformed::Unchanged)
    }
}
