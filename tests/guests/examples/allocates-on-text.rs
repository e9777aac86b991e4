//! Takes memory without end where the text holds `ALLOCATE`.

use hermes_plugin_sdk::{Context, Failure, Findings, NoSettings, Plugin, Redact, Window};

struct AllocatesOnText;

impl Plugin for AllocatesOnText {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Redact for AllocatesOnText {
    fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
        let mut taken: Vec<Vec<u8>> = Vec::new();
        while window.text.contains("ALLOCATE") {
            taken.push(vec![1; 1024 * 1024]);
            std::hint::black_box(&taken);
        }
        Ok(Findings::whole_window(window))
    }
}

hermes_plugin_sdk::export!(AllocatesOnText: redact, name = "allocates-on-text", version = "1.0.0");
