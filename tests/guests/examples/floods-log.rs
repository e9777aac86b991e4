//! Writes far more to its log than is kept, with an escape in each line.

use hermes_plugin_sdk::{Context, Failure, Findings, NoSettings, Plugin, Redact, Window, host};

struct FloodsLog;

impl Plugin for FloodsLog {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Redact for FloodsLog {
    fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
        for line in 0..20_000 {
            host::log(host::Level::Warn, &format!("{line} \u{1b}[31m{}", window.text));
        }
        Ok(Findings::whole_window(window))
    }
}

hermes_plugin_sdk::export!(FloodsLog: redact, name = "floods-log", version = "1.0.0");
