//! Resources that sessions subscribed to: a server is asked once for all of them, and again when it was started anew.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::ErrorData;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::asking::Caller;
use super::handle::Gateway;
use crate::servers::handle::{Ask, Phase};

/// How many sessions subscribed to each resource, by server and the server's own URI.
#[derive(Default)]
pub(super) struct Subscriptions {
    counts: Mutex<HashMap<(usize, String), usize>>,
}

impl Subscriptions {
    fn counts(&self) -> MutexGuard<'_, HashMap<(usize, String), usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn params(own: &str) -> Map<String, Value> {
    Map::from_iter([("uri".to_owned(), Value::String(own.to_owned()))])
}

impl Gateway {
    /// Subscribes one more session. The server is asked every time: that does no harm, and its answer is the session's.
    ///
    /// # Errors
    /// The server has no answer, or refuses.
    pub(crate) async fn subscribe(&self, caller: &Caller, server: usize, own: &str) -> Result<(), ErrorData> {
        self.plain(caller, server, "resources/subscribe", params(own)).await?;
        *self.subscriptions().counts().entry((server, own.to_owned())).or_default() += 1;
        Ok(())
    }

    /// One session less for each of these. Who was the last is not waited for.
    pub(crate) fn unsubscribed(&self, server: usize, owns: Vec<String>) {
        let mut last = Vec::new();
        {
            let mut counts = self.subscriptions().counts();
            for own in owns {
                let key = (server, own);
                let Some(count) = counts.get_mut(&key) else { continue };
                *count -= 1;
                if *count == 0 {
                    counts.remove(&key);
                    last.push(key.1);
                }
            }
        }
        self.ask_each(server, "resources/unsubscribe", last);
    }

    /// Subscribes again to everything, at a server that was started anew.
    pub(super) fn subscribe_again(&self, server: usize) {
        let owns =
            self.subscriptions().counts().keys().filter(|key| key.0 == server).map(|key| key.1.clone()).collect();
        self.ask_each(server, "resources/subscribe", owns);
    }

    /// Asks a server that runs, one after the other. One that does not run is not started for it.
    fn ask_each(&self, server: usize, method: &'static str, owns: Vec<String>) {
        let serving = self.server(server).clone();
        if owns.is_empty() || !matches!(serving.standing().phase, Phase::Ready | Phase::Proven) {
            return;
        }
        tokio::spawn(async move {
            for own in owns {
                let cancelled = CancellationToken::new();
                let ask = Ask { method, params: params(&own), progress: None, cancelled, patience: None };
                if let Err(error) = serving.ask(ask).await {
                    tracing::debug!(server = %serving.name(), %error, method, "a server did not take it");
                    return;
                }
            }
        });
    }
}
