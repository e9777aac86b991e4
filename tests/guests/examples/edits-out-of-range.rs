//! Edits places that do not exist where the text holds `EDIT`.

use hermes_plugin_sdk::{Context, Edit, Failure, NoSettings, Outcome, Plugin, Transform};

struct EditsOutOfRange;

impl Plugin for EditsOutOfRange {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Transform for EditsOutOfRange {
    fn apply(&mut self, _: &Context, text: &str) -> Result<Outcome, Failure> {
        if !text.contains("EDIT") {
            return Ok(Outcome::Unchanged);
        }
        let beyond = text.len() + 10..text.len() + 20;
        Ok(Outcome::Edits(vec![Edit { range: beyond, text: "edited".to_owned() }]))
    }
}

hermes_plugin_sdk::export!(EditsOutOfRange: transform, name = "edits-out-of-range", version = "1.0.0");
