//! Finds secrets in what processes print: tokens by their shape, values by their name, credentials by their place.
//!
//! The plugin keeps nothing between calls: an answer depends on the window alone, and is the same for every chunking of
//! the same text. It only names places; how a mask looks is the host's.
//!
//! Functions that ordinary output never reaches are `#[inline(never)]`: it makes the component a quarter smaller.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

mod assignment;
mod command;
mod encoded;
mod gate;
mod header;
mod json;
mod kubernetes;
mod literal;
mod loose;
mod name;
mod pem;
mod prefilter;
mod rules;
mod scan;
mod simd;
mod terraform;
mod text;
mod token;
mod url;
mod window;

use hermes_plugin_sdk::{Context, Failure, Findings, Plugin, Redact, Span, Window};
use serde::Deserialize;

use crate::prefilter::Prefilter;
use crate::scan::Scan;

/// The settings; `plugin.toml` has their schema.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Names of rules that mask nothing.
    pub disable: Vec<String>,
    /// Whether telephone numbers in international form are masked.
    pub phones: bool,
}

/// The redactor.
pub struct RedactSecrets {
    prefilter: Prefilter,
    disable: Vec<String>,
}

impl Plugin for RedactSecrets {
    type Settings = Settings;

    fn new(settings: Settings) -> Result<Self, Failure> {
        if let Some(unknown) = settings.disable.iter().find(|name| !rules::exists(name)) {
            return Err(Failure::new(
                "unknown-rule",
                format!("no rule is called {unknown}; the README lists them all"),
            ));
        }
        Ok(Self { prefilter: Prefilter::new(settings.phones), disable: settings.disable })
    }

    fn self_test(&mut self) -> Result<(), Failure> {
        if self.disable.iter().any(|name| name == "github-pat") {
            return Ok(());
        }
        let text = "token ghp_Zq8xPl0aMn3vKc7dRt5yWb2eHu9jLs4gTf6k end";
        let found = self.scan(&Context::default(), &Window::view(text))?;
        if found.spans.first().is_some_and(|span| span.range == (6..46)) {
            Ok(())
        } else {
            Err(Failure::new("self-test", "a token that must be masked was not"))
        }
    }
}

impl Redact for RedactSecrets {
    fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
        let mut scan = Scan::new(window.text, window.front_cut, window.last);
        scan.all(&self.prefilter);
        let found = scan.finish(|rule| !self.disable.iter().any(|name| name == rule.name));
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
mod cases;
