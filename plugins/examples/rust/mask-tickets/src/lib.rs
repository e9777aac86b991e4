//! An example redactor: masks ticket numbers such as `ACME-1234`.
//!
//! A ticket number never crosses a line break, so the last, unfinished line is all that must wait for more text.

use hermes_plugin_sdk::{Context, Failure, Findings, Plugin, Redact, Window};

/// The plugin: the project keys it masks.
pub struct MaskTickets {
    projects: Vec<String>,
}

/// The `[settings]` of `plugin.toml`.
#[derive(serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Project keys whose ticket numbers are masked.
    pub projects: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { projects: vec!["ACME".to_owned()] }
    }
}

impl Plugin for MaskTickets {
    type Settings = Settings;

    fn new(settings: Settings) -> Result<Self, Failure> {
        Ok(Self { projects: settings.projects })
    }
}

impl Redact for MaskTickets {
    fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
        let mut findings = Findings::whole_lines(window);
        for project in &self.projects {
            for (start, _) in window.text.match_indices(&format!("{project}-")) {
                let digits_from = start + project.len() + 1;
                let digits = window.text[digits_from..].bytes().take_while(u8::is_ascii_digit).count();
                if digits > 0 {
                    findings.mask(start..digits_from + digits, "ticket");
                }
            }
        }
        Ok(findings)
    }
}

hermes_plugin_sdk::export!(MaskTickets: redact);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_number_is_masked_and_the_words_around_it_are_not() {
        let mut plugin = MaskTickets::new(Settings::default()).unwrap();
        let findings = plugin.scan(&Context::default(), &Window::view("see ACME-12, please")).unwrap();
        assert_eq!(findings.spans[0].range, 4..11);
    }
}
