//! Adds what it saw in earlier calls.

use hermes_plugin_sdk::{Context, Failure, NoSettings, Outcome, Plugin, Transform};

struct Remembers {
    seen: String,
}

impl Plugin for Remembers {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self { seen: String::new() })
    }
}

impl Transform for Remembers {
    fn apply(&mut self, _: &Context, text: &str) -> Result<Outcome, Failure> {
        let earlier = std::mem::replace(&mut self.seen, text.to_owned());
        Ok(Outcome::Replaced(format!("{text}earlier: {earlier}\n")))
    }
}

hermes_plugin_sdk::export!(Remembers: transform, name = "remembers", version = "1.0.0");
