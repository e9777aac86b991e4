//! What is in force in a host that runs: the plugins of the current generation, taken up when it changes.
//!
//! Views and streams that have begun end with what they began with. It must never leave a moment without a policy: where
//! the new generation cannot be read, the old one stays in force, and the log says so.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use hermes_output::event::Notifier;
use hermes_output::policy::{InForce, Policy};
use hermes_plugins::chain::Chain;
use hermes_plugins::registry::{Depth, Plugins, store_of};

use crate::place::Place;

/// How often a host looks whether the generation is another one: whoever changed it hardly waits longer.
const LOOK: Duration = Duration::from_secs(1);

/// What could not be taken up, and was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refused {
    /// Which generation is current cannot be read.
    Store,
    /// The generation of this number.
    Generation(u64),
}

/// The chain that is in force now.
pub(crate) struct Current {
    chain: RwLock<Arc<Chain>>,
}

impl Current {
    pub(crate) fn new(chain: Arc<Chain>) -> Arc<Self> {
        Arc::new(Self { chain: RwLock::new(chain) })
    }

    fn chain(&self) -> Arc<Chain> {
        Arc::clone(&self.chain.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes up every generation that comes. Never returns.
    pub(crate) async fn keep_up(self: Arc<Self>, place: &Place) {
        let mut refused = None;
        loop {
            tokio::time::sleep(LOOK).await;
            let number = self.chain().generation();
            // A small file: reading it costs less than handing it to another thread once a second.
            let found = match store_of(&place.home).current() {
                Ok(generation)
                    if generation.number == number || refused == Some(Refused::Generation(generation.number)) =>
                {
                    continue;
                }
                Ok(generation) => generation.number,
                Err(error) => {
                    // Said once, not every second.
                    if refused.replace(Refused::Store) != Some(Refused::Store) {
                        tracing::warn!(%error, generation = number, "the plugins stay as they were");
                    }
                    continue;
                }
            };
            let (home, config, cache_dir) = (place.home.clone(), place.config.clone(), place.cache_dir.clone());
            // Opening compiles what is new, which takes seconds.
            let opened = tokio::task::spawn_blocking(move || Plugins::open(&home, &config, &cache_dir, Depth::Enabled));
            match opened.await {
                Ok(Ok(plugins)) => {
                    *self.chain.write().unwrap_or_else(PoisonError::into_inner) = plugins.policy();
                    refused = None;
                    tracing::info!(generation = plugins.generation(), "other plugins are in force");
                }
                Ok(Err(error)) => {
                    refused = Some(Refused::Generation(found));
                    tracing::warn!(%error, generation = number, "the plugins stay as they were");
                }
                Err(error) => tracing::error!(%error, "looking at the plugins broke down"),
            }
        }
    }
}

impl InForce for Current {
    fn policy(&self) -> Arc<dyn Policy> {
        self.chain()
    }

    fn notifier(&self) -> Arc<dyn Notifier> {
        self.chain()
    }
}
