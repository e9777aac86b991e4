//! A notifier that does what an event's text tells it to: `REWRITE`, `SUPPRESS`, `TELL`, `FAIL`, `BOOM`, `LOOP`, `FLOOD`.

use hermes_plugin_sdk::{Event, Failure, NoSettings, Notify, Plugin, Verdict};

/// More than a notifier may return.
const FLOOD_BYTES: usize = 256 * 1024;

struct ObeysText;

impl Plugin for ObeysText {
    type Settings = NoSettings;

    fn new(_: NoSettings) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Notify for ObeysText {
    fn decide(&mut self, event: &Event) -> Result<Verdict, Failure> {
        let (word, rest) = event.text.split_once(' ').unwrap_or((&event.text, ""));
        Ok(match word.trim_end() {
            "REWRITE" => Verdict::Rewrite(rest.to_owned()),
            "SUPPRESS" => Verdict::Suppress(rest.to_owned()),
            "TELL" => Verdict::Rewrite(format!("{event:#?}")),
            "FAIL" => return Err(Failure::new("no-idea", event.text.clone())),
            "BOOM" => panic!("{}", event.text),
            "LOOP" => loop {
                std::hint::spin_loop();
            },
            "FLOOD" => Verdict::Rewrite("x".repeat(FLOOD_BYTES)),
            _ => Verdict::Deliver,
        })
    }
}

hermes_plugin_sdk::export!(ObeysText: notify, name = "obeys-text", version = "1.0.0");
