//! Panics where the text holds `BOOM`, with the text as its last words.

use hermes_plugin_sdk::{Context, Failure, Findings, NoSettings, Plugin, Redact, Window};

struct TrapsOnText;

impl Plugin for TrapsOnText {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Redact for TrapsOnText {
    fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
        assert!(!window.text.contains("BOOM"), "{}", window.text);
        Ok(Findings::whole_window(window))
    }
}

hermes_plugin_sdk::export!(TrapsOnText: redact, name = "traps-on-text", version = "1.0.0");
