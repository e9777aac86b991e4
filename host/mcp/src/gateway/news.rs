//! What servers say by themselves: that their lists changed, what they log, which resource is another one now.
//!
//! Each of it is looked at once, however many sessions hear of it. It must never wait for a session.

use std::sync::{Arc, Weak};

use hermes_model::context::Surface;
use hermes_model::id::Owner;
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;

use super::handle::{Gateway, Shared};
use super::serving::Serving;
use crate::servers::handle::{Offering, Phase, Told};
use crate::servers::raw::Raw;

/// How much is kept for a session that is slow to take it; then it loses the oldest.
pub(crate) const KEPT: usize = 256;

/// What a session may want to pass on.
#[derive(Clone)]
pub(crate) enum News {
    /// Lists are others now.
    Changed(Changed),
    /// A log message of a server, as it may be shown.
    Logged {
        /// How grave it is.
        level: Level,
        /// The params of the notification.
        params: Arc<Value>,
    },
    /// A resource is another one now.
    Updated {
        /// The number of the server.
        server: usize,
        /// Its own URI for it: raw, to be compared and never shown.
        own: Arc<str>,
    },
}

/// Which lists changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
}

impl Changed {
    /// All of them, for whoever missed which.
    pub(crate) const ALL: Self = Self { tools: true, prompts: true, resources: true };

    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            tools: self.tools | other.tools,
            prompts: self.prompts | other.prompts,
            resources: self.resources | other.resources,
        }
    }

    pub(crate) fn any(self) -> bool {
        self.tools || self.prompts || self.resources
    }

    fn between(before: &Offering, now: &Offering) -> Self {
        let differ = |before: &[Raw], now: &[Raw]| !before.iter().map(Raw::value).eq(now.iter().map(Raw::value));
        Self {
            tools: differ(&before.tools, &now.tools),
            prompts: differ(&before.prompts, &now.prompts),
            resources: differ(&before.resources, &now.resources) || differ(&before.templates, &now.templates),
        }
    }
}

/// How grave a log message is (the levels of RFC 5424, the lightest first).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl Level {
    /// The level of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "debug" => Self::Debug,
            "info" => Self::Info,
            "notice" => Self::Notice,
            "warning" => Self::Warning,
            "error" => Self::Error,
            "critical" => Self::Critical,
            "alert" => Self::Alert,
            "emergency" => Self::Emergency,
            _ => return None,
        })
    }
}

/// Listens to a server for as long as the gateway lives.
pub(crate) async fn watch(shared: Weak<Shared>, at: usize, serving: Arc<dyn Serving>) {
    let (mut changes, mut told) = (serving.changes(), serving.told());
    let mut known = serving.offering();
    let mut subscribed_at = serving.standing().pid;
    let (mut ended, mut silent) = (false, false);
    while !(ended && silent) {
        tokio::select! {
            changed = changes.changed(), if !ended => {
                ended = changed.is_err();
                let (now, standing) = (serving.offering(), serving.standing());
                if matches!(standing.phase, Phase::Ready | Phase::Proven) && standing.pid != subscribed_at {
                    subscribed_at = standing.pid;
                    let Some(shared) = shared.upgrade() else { return };
                    Gateway::of(shared).subscribe_again(at);
                }
                if !Arc::ptr_eq(&known, &now) {
                    let changed = Changed::between(&known, &now);
                    known = now;
                    let Some(shared) = shared.upgrade() else { return };
                    if changed.any() {
                        // Nobody may listen.
                        let _ = shared.news.send(News::Changed(changed));
                    }
                }
            }
            told = told.recv(), if !silent => match told {
                Ok(told) => {
                    let Some(shared) = shared.upgrade() else { return };
                    if shared.news.receiver_count() > 0 {
                        pass_on(&Gateway::of(shared), at, &serving, told).await;
                    }
                }
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => silent = true,
            }
        }
    }
}

async fn pass_on(gateway: &Gateway, at: usize, serving: &Arc<dyn Serving>, told: Told) {
    match told.method.as_str() {
        "notifications/message" => {
            let level = told.params.value().get("level").and_then(Value::as_str).and_then(Level::named);
            let Some(level) = level else { return };
            let mut params = told.params.into_value();
            let logger = params.get("logger").and_then(Value::as_str);
            let logger = logger.map_or_else(|| serving.name().to_string(), |own| format!("{}/{own}", serving.name()));
            params["logger"] = Value::String(logger);
            let shown = gateway.reveal(at, Surface::McpResult, Owner::default(), params).await;
            // What may not be shown is not told: a log message is of no use without its text.
            if let Ok(shown) = shown {
                gateway.say(News::Logged { level, params: Arc::new(shown.value.into_value()) });
            }
        }
        "notifications/resources/updated" => {
            if let Some(own) = told.params.value().get("uri").and_then(Value::as_str) {
                gateway.say(News::Updated { server: at, own: own.into() });
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_lists_that_differ_have_changed() {
        let list = |names: &[&str]| names.iter().map(|name| Raw::of(json!({"name": name}))).collect::<Vec<_>>();
        let before = Offering { tools: list(&["a"]), ..Offering::default() };
        let now = Offering { tools: list(&["a", "b"]), ..Offering::default() };
        assert_eq!(Changed::between(&before, &before), Changed::default());
        assert_eq!(Changed::between(&before, &now), Changed { tools: true, ..Changed::default() });
    }

    #[test]
    fn graver_levels_come_later() {
        assert!(Level::named("debug") < Level::named("info") && Level::named("alert") < Level::named("emergency"));
        assert_eq!(Level::named("loud"), None);
    }
}
