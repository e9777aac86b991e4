//! Behaves: masks words that begin with `sekrit-`.

use hermes_plugin_sdk::{Context, Failure, Findings, NoSettings, Plugin, Redact, Window};

struct GoodRedactor;

impl Plugin for GoodRedactor {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Redact for GoodRedactor {
    fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
        let mut findings = Findings::whole_lines(window);
        for (start, _) in window.text.match_indices("sekrit-") {
            let word = window.text[start..].split(char::is_whitespace).next().unwrap_or_default();
            findings.mask(start..start + word.len(), "sekrit");
        }
        Ok(findings)
    }
}

hermes_plugin_sdk::export!(GoodRedactor: redact, name = "good-redactor", version = "1.0.0");
