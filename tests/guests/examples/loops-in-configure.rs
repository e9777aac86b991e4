//! Never returns from `configure`.

use hermes_plugin_sdk::{Context, Failure, Findings, NoSettings, Plugin, Redact, Window};

struct LoopsInConfigure;

impl Plugin for LoopsInConfigure {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        loop {
            std::hint::spin_loop();
        }
    }
}

impl Redact for LoopsInConfigure {
    fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
        Ok(Findings::whole_window(window))
    }
}

hermes_plugin_sdk::export!(LoopsInConfigure: redact, name = "loops-in-configure", version = "1.0.0");
