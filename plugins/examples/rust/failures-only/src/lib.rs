//! An example notifier: a command that succeeded wakes nobody, unless its program is one whose success is always told.
//! Everything else is delivered.

use hermes_plugin_sdk::{Event, Failure, Notify, Plugin, Verdict};

/// The plugin: the programs whose success is told as well.
pub struct FailuresOnly {
    always: Vec<String>,
}

/// The `[settings]` of `plugin.toml`.
#[derive(serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Programs whose success is told as well.
    pub always: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { always: vec!["deploy".to_owned()] }
    }
}

impl Plugin for FailuresOnly {
    type Settings = Settings;

    fn new(settings: Settings) -> Result<Self, Failure> {
        Ok(Self { always: settings.always })
    }
}

impl Notify for FailuresOnly {
    fn decide(&mut self, event: &Event) -> Result<Verdict, Failure> {
        if event.kind != "completion" || event.exit_code != Some(0) {
            return Ok(Verdict::Deliver);
        }
        let program = event.command.split_ascii_whitespace().next().unwrap_or_default();
        Ok(if self.always.iter().any(|always| always == program) {
            Verdict::Deliver
        } else {
            Verdict::Suppress(format!("{program} succeeded"))
        })
    }
}

hermes_plugin_sdk::export!(FailuresOnly: notify);

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(command: &str, exit_code: i32) -> Verdict {
        let event = Event {
            kind: "completion".to_owned(),
            command: command.to_owned(),
            exit_code: Some(exit_code),
            ..Event::default()
        };
        FailuresOnly::new(Settings::default()).unwrap().decide(&event).unwrap()
    }

    #[test]
    fn only_a_success_is_kept_back_and_not_every_one() {
        assert_eq!(decided("make test", 0), Verdict::Suppress("make succeeded".to_owned()));
        assert_eq!(decided("make test", 2), Verdict::Deliver);
        assert_eq!(decided("deploy production", 0), Verdict::Deliver);
    }
}
