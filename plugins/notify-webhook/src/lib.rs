//! Sends events to a webhook, a Slack channel or an ntfy topic.
//!
//! It must never silence an event: whatever becomes of the message, the verdict is to deliver. And it must never log a
//! URL, a header or a text: any of them may hold a secret.
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

pub mod message;
pub mod sending;
pub mod sent;

use hermes_plugin_sdk::host::{self, Level};
use hermes_plugin_sdk::{Descriptor, Event, Failure, Notify, Plugin, Verdict};
use serde::Deserialize;
use std::collections::BTreeMap;

use crate::message::Format;
use crate::sending::{Outcome, Outside, Tries};
use crate::sent::Sent;

/// Events that were sent.
pub const SENT: &str = "sent";
/// Events that were sent before, and not again.
pub const REPEATED: &str = "repeated";
/// Tries that were made again.
pub const RETRIED: &str = "retried";
/// Events that could not be sent.
pub const FAILED: &str = "failed";

/// What a user may set. It has no `Debug`: the URL and the headers may hold a token.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Where to; nothing is sent without.
    pub url: String,
    /// What is sent.
    pub format: Format,
    /// The kinds of events that are sent.
    pub kinds: Vec<String>,
    /// Headers sent with each request.
    pub headers: BTreeMap<String, String>,
    /// Milliseconds for one event, with every try.
    pub budget_ms: u32,
    /// How often one event is tried at most.
    pub tries: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            url: String::new(),
            format: Format::default(),
            kinds: ["completion", "match", "server"].map(str::to_owned).to_vec(),
            headers: BTreeMap::new(),
            budget_ms: 8000,
            tries: 5,
        }
    }
}

/// The plugin.
pub struct NotifyWebhook {
    settings: Settings,
}

impl Plugin for NotifyWebhook {
    type Settings = Settings;

    fn new(settings: Settings) -> Result<Self, Failure> {
        // Without a URL it loads, so that it can be installed first and set then.
        if !settings.url.is_empty() && !settings.url.contains("://") {
            return Err(Failure::new("bad-url", "url must be a whole URL, beginning with https://"));
        }
        Ok(Self { settings })
    }

    fn descriptor() -> Descriptor {
        Descriptor { counters: [SENT, REPEATED, RETRIED, FAILED].map(str::to_owned).to_vec(), ..Descriptor::default() }
    }
}

impl Notify for NotifyWebhook {
    fn decide(&mut self, event: &Event) -> Result<Verdict, Failure> {
        let settings = &self.settings;
        if settings.url.is_empty() || !settings.kinds.contains(&event.kind) || is_hidden(event) {
            return Ok(Verdict::Deliver);
        }
        // Where nothing can be kept, an event may be sent twice: better than not at all.
        if Sent::load().holds(&event.id) {
            host::count(REPEATED, 1);
            return Ok(Verdict::Deliver);
        }
        let request = message::request(settings, event);
        let tries = Tries { most: settings.tries, budget_ms: u64::from(settings.budget_ms) };
        let (outcome, made) = sending::send(&mut Host, request, tries);
        host::count(RETRIED, u64::from(made.saturating_sub(1)));
        match outcome {
            Outcome::Sent => {
                host::count(SENT, 1);
                // Read again: other events were sent while this one was.
                let mut sent = Sent::load();
                sent.add(&event.id);
                sent.keep();
            }
            Outcome::Failed(why) => {
                host::count(FAILED, 1);
                host::log(Level::Warn, &format!("an event could not be sent: {}", why.words()));
            }
        }
        Ok(Verdict::Deliver)
    }
}

/// Whether an event is for the agent only, and nothing a person needs to see.
fn is_hidden(event: &Event) -> bool {
    event.labels.iter().any(|(name, value)| name == "hidden" && value == "true")
}

/// The host's network and clock.
struct Host;

impl Outside for Host {
    fn send(
        &mut self,
        request: &hermes_plugin_sdk::outside::Request,
    ) -> Result<hermes_plugin_sdk::outside::Response, hermes_plugin_sdk::outside::HttpError> {
        hermes_plugin_sdk::outside::send(request)
    }

    fn now_ms(&mut self) -> u64 {
        host::unix_ms()
    }

    fn sleep(&mut self, ms: u32) -> u32 {
        hermes_plugin_sdk::outside::sleep(ms)
    }
}

hermes_plugin_sdk::export!(NotifyWebhook: notify);
