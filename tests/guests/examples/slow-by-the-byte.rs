//! Looks at each byte of a text thousands of times.

use hermes_plugin_sdk::{Context, Failure, Findings, NoSettings, Plugin, Redact, Window};

struct SlowByTheByte;

impl Plugin for SlowByTheByte {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Redact for SlowByTheByte {
    fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
        for byte in window.text.bytes() {
            for times in 0..5_000_u32 {
                std::hint::black_box(times ^ u32::from(byte));
            }
        }
        Ok(Findings::whole_window(window))
    }
}

hermes_plugin_sdk::export!(SlowByTheByte: redact, name = "slow-by-the-byte", version = "1.0.0");
