//! Names places that do not exist: backwards, beyond the end, inside a character.

use std::ops::Range;

use hermes_plugin_sdk::{Context, Failure, Findings, NoSettings, Plugin, Redact, Span, Window};

struct SpansOutOfRange;

impl Plugin for SpansOutOfRange {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Redact for SpansOutOfRange {
    fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
        let mut findings = Findings::whole_window(window);
        let mut mask = |range| findings.spans.push(Span { range, rule: "odd".to_owned() });
        if let Some(at) = window.text.find("BACKWARDS") {
            mask(Range { start: at + "BACKWARDS".len(), end: at });
        }
        if let Some(at) = window.text.find("BEYOND") {
            mask(at..window.text.len() + 1_000_000);
        }
        for (at, _) in window.text.match_indices('é') {
            mask(at + 1..at + 1);
            mask(at..at + 1);
        }
        Ok(findings)
    }
}

hermes_plugin_sdk::export!(SpansOutOfRange: redact, name = "spans-out-of-range", version = "1.0.0");
