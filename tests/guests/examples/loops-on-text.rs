//! Never returns where the text holds `LOOP`.

use hermes_plugin_sdk::{Context, Failure, Findings, NoSettings, Plugin, Redact, Window};

struct LoopsOnText;

impl Plugin for LoopsOnText {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Redact for LoopsOnText {
    fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
        while window.text.contains("LOOP") {
            std::hint::spin_loop();
        }
        Ok(Findings::whole_window(window))
    }
}

hermes_plugin_sdk::export!(LoopsOnText: redact, name = "loops-on-text", version = "1.0.0");
