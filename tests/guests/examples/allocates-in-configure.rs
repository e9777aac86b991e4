//! Takes memory without end while it is configured.

use hermes_plugin_sdk::{Context, Failure, Findings, NoSettings, Plugin, Redact, Window};

struct AllocatesInConfigure;

impl Plugin for AllocatesInConfigure {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        let mut taken: Vec<Vec<u8>> = Vec::new();
        loop {
            taken.push(vec![1; 1024 * 1024]);
            std::hint::black_box(&taken);
        }
    }
}

impl Redact for AllocatesInConfigure {
    fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
        Ok(Findings::whole_window(window))
    }
}

hermes_plugin_sdk::export!(AllocatesInConfigure: redact, name = "allocates-in-configure", version = "1.0.0");
