//! Behaves: keeps the first line and says how many there were.

use hermes_plugin_sdk::{Context, Failure, NoSettings, Outcome, Plugin, Transform};

struct GoodTransform;

impl Plugin for GoodTransform {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Transform for GoodTransform {
    fn apply(&mut self, _: &Context, text: &str) -> Result<Outcome, Failure> {
        let lines = text.lines().count();
        if lines < 2 {
            return Ok(Outcome::Unchanged);
        }
        let first = text.lines().next().unwrap_or_default();
        Ok(Outcome::Replaced(format!("{first}\n({lines} lines)\n")))
    }
}

hermes_plugin_sdk::export!(GoodTransform: transform, name = "good-transform", version = "1.0.0");
