//! Masks words that begin with `sekrit-`, and shows a word that is not finished at once: it breaks the contract of streams.

use hermes_plugin_sdk::{Context, Failure, Findings, NoSettings, Plugin, Redact, Window};

struct HoldsNothing;

impl Plugin for HoldsNothing {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Redact for HoldsNothing {
    fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
        let mut findings = Findings::whole_window(window);
        for (start, _) in window.text.match_indices("sekrit-") {
            let word = window.text[start..].split(char::is_whitespace).next().unwrap_or_default();
            findings.mask(start..start + word.len(), "sekrit");
        }
        Ok(findings)
    }
}

hermes_plugin_sdk::export!(HoldsNothing: redact, name = "holds-nothing", version = "1.0.0");
