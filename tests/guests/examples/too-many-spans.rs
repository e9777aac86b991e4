//! Names more places than an answer may hold where the text holds `MANY`.

use hermes_plugin_sdk::{Context, Failure, Findings, NoSettings, Plugin, Redact, Window};

struct TooManySpans;

impl Plugin for TooManySpans {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Redact for TooManySpans {
    fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
        let mut findings = Findings::whole_window(window);
        if window.text.contains("MANY") {
            for _ in 0..100_000 {
                findings.mask(0..1, "many");
            }
        }
        Ok(findings)
    }
}

hermes_plugin_sdk::export!(TooManySpans: redact, name = "too-many-spans", version = "1.0.0");
