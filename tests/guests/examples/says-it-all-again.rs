//! Returns each text and it four times over again.

use hermes_plugin_sdk::{Context, Failure, NoSettings, Outcome, Plugin, Transform};

struct SaysItAllAgain;

impl Plugin for SaysItAllAgain {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Transform for SaysItAllAgain {
    fn apply(&mut self, _: &Context, text: &str) -> Result<Outcome, Failure> {
        Ok(Outcome::Replaced(text.repeat(5)))
    }
}

hermes_plugin_sdk::export!(SaysItAllAgain: transform, name = "says-it-all-again", version = "1.0.0");
