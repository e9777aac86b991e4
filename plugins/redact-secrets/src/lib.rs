//! Finds secrets in what processes print: tokens by their shape, values by their name, credentials by their place.
//!
//! The plugin keeps nothing between calls: an answer depends on the window alone, and is the same for every chunking of
//! the same text. It only names places; how a mask looks is the host's.
//!
//! Functions that ordinary output never reaches are `#[inline(never)]`: it makes the component a quarter smaller.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

mod assignment;
mod beginnings;
mod beside;
mod bucket;
mod check;
mod code;
mod column;
mod command;
mod digits;
mod encoded;
mod escaped;
mod extra;
mod form;
mod gate;
mod group;
mod hash;
mod header;
mod json;
mod kubernetes;
mod literal;
mod loose;
mod money;
mod name;
mod order;
mod pem;
mod personal;
mod prefilter;
mod record;
mod rules;
mod scan;
mod service;
mod settings;
mod simd;
mod slot;
mod strict;
mod terraform;
mod text;
mod token;
mod url;
mod value;
mod window;
mod words;
mod worth;

use hermes_plugin_sdk::{Context, Failure, Findings, Plugin, Redact, Span, Window};

use crate::scan::{Found, Outcome, Scan};
use crate::settings::Policy;

pub use crate::extra::ExtraRule;
pub use crate::settings::{Mode, Settings};

/// The redactor.
pub struct RedactSecrets {
    policy: Policy,
}

impl Plugin for RedactSecrets {
    type Settings = Settings;

    fn new(settings: Settings) -> Result<Self, Failure> {
        Ok(Self { policy: Policy::new(settings)? })
    }

    fn self_test(&mut self) -> Result<(), Failure> {
        let text = "token ghp_Zq8xPl0aMn3vKc7dRt5yWb2eHu9jLs4gTf6k end";
        // Whatever is turned off or allowed, the token is found.
        let found = self.look(&Window::view(text), &|_| true);
        if found.spans.first().is_some_and(|span| span.range == (6..46)) {
            Ok(())
        } else {
            Err(Failure::new("self-test", "a token that must be masked was not"))
        }
    }
}

impl RedactSecrets {
    /// What is found in a window, of that which `on` lets through.
    #[inline(never)]
    fn look(&self, window: &Window<'_>, on: &dyn Fn(&Found) -> bool) -> Outcome {
        let mut scan = Scan::new(window.text, window.front_cut, window.last);
        scan.all(&self.policy);
        scan.finish(on)
    }
}

impl Redact for RedactSecrets {
    fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
        let found = self.look(window, &|found| self.policy.masks(window.text.as_bytes(), found));
        let floor = |at: usize| window.text.floor_char_boundary(at);
        let spans = found
            .spans
            .into_iter()
            .map(|found| Span {
                range: floor(found.range.start)..window.text.ceil_char_boundary(found.range.end),
                rule: found.rule.name.to_owned(),
            })
            .collect();
        Ok(Findings { spans, show_until: floor(found.show_until), need_from: floor(found.need_from) })
    }
}

hermes_plugin_sdk::export!(RedactSecrets: redact);

#[cfg(test)]
mod asked;
#[cfg(test)]
mod cases;
#[cfg(test)]
mod catalogue;
#[cfg(test)]
mod hostile;
