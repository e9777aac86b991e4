//! Says that it does not work.

use hermes_plugin_sdk::{Context, Failure, Findings, NoSettings, Plugin, Redact, Window};

struct FailsSelfTest;

impl Plugin for FailsSelfTest {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }

    fn self_test(&mut self) -> Result<(), Failure> {
        Err(Failure::new("broken", "this plugin never works"))
    }
}

impl Redact for FailsSelfTest {
    fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
        Ok(Findings::whole_window(window))
    }
}

hermes_plugin_sdk::export!(FailsSelfTest: redact, name = "fails-self-test", version = "1.0.0");
