//! Panics in each call of its hook.

use hermes_plugin_sdk::{Context, Failure, Findings, NoSettings, Plugin, Redact, Window};

struct TrapsOnEachCall;

impl Plugin for TrapsOnEachCall {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Redact for TrapsOnEachCall {
    fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
        panic!("{}", window.text);
    }
}

hermes_plugin_sdk::export!(TrapsOnEachCall: redact, name = "traps-on-each-call", version = "1.0.0");
