//! Names more places than an answer may hold where the text holds `MANY`, and ten million where it holds `MILLIONS`.

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
        let (places, rule) = match window.text {
            // Without a rule each takes less room, so that as many as possible fit.
            text if text.contains("MILLIONS") => (10_000_000, ""),
            text if text.contains("MANY") => (100_000, "many"),
            _ => (0, ""),
        };
        for _ in 0..places {
            findings.mask(0..1, rule);
        }
        Ok(findings)
    }
}

hermes_plugin_sdk::export!(TooManySpans: redact, name = "too-many-spans", version = "1.0.0");
