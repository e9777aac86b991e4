//! Fails where the text holds `FAIL`, with the text as the code and as the message.

use hermes_plugin_sdk::{Context, Failure, Findings, NoSettings, Plugin, Redact, Window};

struct FailsWithText;

impl Plugin for FailsWithText {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Redact for FailsWithText {
    fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
        if window.text.contains("FAIL") {
            return Err(Failure::new(window.text, window.text));
        }
        Ok(Findings::whole_window(window))
    }
}

hermes_plugin_sdk::export!(FailsWithText: redact, name = "fails-with-text", version = "1.0.0");
