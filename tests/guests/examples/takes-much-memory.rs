//! Takes 56 MiB for each text, and gives them back.

use hermes_plugin_sdk::{Context, Failure, Findings, NoSettings, Plugin, Redact, Window};

struct TakesMuchMemory;

impl Plugin for TakesMuchMemory {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Redact for TakesMuchMemory {
    fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
        let taken = vec![1_u8; 56 * 1024 * 1024];
        std::hint::black_box(&taken);
        Ok(Findings::whole_window(window))
    }
}

hermes_plugin_sdk::export!(TakesMuchMemory: redact, name = "takes-much-memory", version = "1.0.0");
