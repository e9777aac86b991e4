//! Behaves: wakes nobody for a command that ended well.

use hermes_plugin_sdk::{Event, Failure, NoSettings, Notify, Plugin, Verdict};

struct QuietNotifier;

impl Plugin for QuietNotifier {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Notify for QuietNotifier {
    fn decide(&mut self, event: &Event) -> Result<Verdict, Failure> {
        Ok(match event.exit_code {
            Some(0) => Verdict::Suppress("it ended well".to_owned()),
            _ => Verdict::Deliver,
        })
    }
}

hermes_plugin_sdk::export!(QuietNotifier: notify, name = "quiet-notifier", version = "1.0.0");
