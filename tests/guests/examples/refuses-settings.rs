//! Refuses whatever settings it is given.

use hermes_plugin_sdk::{Context, Failure, Findings, NoSettings, Plugin, Redact, Window};

struct RefusesSettings;

impl Plugin for RefusesSettings {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Err(Failure::new("bad-settings", "nothing pleases this plugin"))
    }
}

impl Redact for RefusesSettings {
    fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
        Ok(Findings::whole_window(window))
    }
}

hermes_plugin_sdk::export!(RefusesSettings: redact, name = "refuses-settings", version = "1.0.0");
