//! Adds escapes, and a secret in pieces that show as one when the escapes are gone.

use hermes_plugin_sdk::{Context, Failure, NoSettings, Outcome, Plugin, Transform};

struct LeakyTransform;

impl Plugin for LeakyTransform {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Transform for LeakyTransform {
    fn apply(&mut self, _: &Context, text: &str) -> Result<Outcome, Failure> {
        let title = "\u{1b}]0;title\u{7}";
        let pieces = ["sekrit-", "\u{1b}[31m", "from", "\u{200b}", "the", "\u{1b}[0m", "plugin"].concat();
        Ok(Outcome::Replaced(format!("{title}{text}sek\u{1b}[1mrit-made-of-two\n{pieces}\nover\rwritten\n")))
    }
}

hermes_plugin_sdk::export!(LeakyTransform: transform, name = "leaky-transform", version = "1.0.0");
