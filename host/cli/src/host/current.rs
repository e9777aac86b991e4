//! What is in force in a host that runs: the plugins of the current generation, taken up when it changes.
//!
//! Views and streams that have begun end with what they began with. It must never leave a moment without a policy: where
//! the new generation cannot be read, the old one stays in force, and the log says so.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use hermes_home::home::Home;
use hermes_mcp::tools::plugins::InstalledPlugins;
use hermes_model::config::Config;
use hermes_output::event::Notifier;
use hermes_output::policy::{InForce, Policy};
use hermes_plugins::chain::Chain;
use hermes_plugins::registry::{OpenError, Plugins, Row, store_of};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::place::Place;
use crate::report::Report;

/// How often a host looks whether the generation is another one: whoever changed it tells every host it finds, and this is
/// for those it did not.
const LOOK: Duration = Duration::from_secs(1);

/// What could not be taken up, and was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refused {
    /// Which generation is current cannot be read.
    Store,
    /// The generation of this number.
    Generation(u64),
}

/// What a host says of its plugins: the answer of the tool `plugins`, but for who answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Listed {
    /// The home it works on.
    pub(crate) home: PathBuf,
    /// Its version of hermes.
    pub(crate) version: String,
    /// The generation in force.
    pub(crate) generation: u64,
    /// Its plugins, in order.
    pub(crate) plugins: Vec<Row>,
    /// Why output is withheld now, if it is: the plugin and a code.
    pub(crate) withheld: Vec<(String, String)>,
    /// How many redactors are in force.
    pub(crate) redactors: usize,
}

/// The plugins that are in force now.
pub(crate) struct Current {
    home: Home,
    config: Config,
    plugins: RwLock<Arc<Plugins>>,
    /// Held by whoever takes up a generation: one after the other.
    taking_up: Mutex<()>,
}

impl Current {
    /// These plugins, of this place.
    pub(crate) fn new(plugins: Plugins, place: &Place) -> Arc<Self> {
        Arc::new(Self {
            home: place.home.clone(),
            config: place.config.clone(),
            plugins: RwLock::new(Arc::new(plugins)),
            taking_up: Mutex::default(),
        })
    }

    fn plugins(&self) -> Arc<Plugins> {
        Arc::clone(&self.plugins.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn chain(&self) -> Arc<Chain> {
        self.plugins().policy()
    }

    /// Takes up the current generation, also where its number is the same: strikes may have been forgiven. It blocks for as
    /// long as what is new compiles, which may be seconds.
    fn renew(&self) -> Result<u64, OpenError> {
        let _alone = self.taking_up.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.plugins();
        let next = Arc::new(before.reopen(&self.home, &self.config)?);
        let generation = next.generation();
        *self.plugins.write().unwrap_or_else(PoisonError::into_inner) = next;
        if before.generation() != generation {
            tracing::info!(generation, "other plugins are in force");
        }
        Ok(generation)
    }

    /// Takes up every generation that comes. Never returns.
    pub(crate) async fn keep_up(self: Arc<Self>) {
        let mut refused = None;
        loop {
            let number = self.plugins().generation();
            // A small file: reading it costs less than handing it to another thread once a second.
            let found = match store_of(&self.home).current() {
                Ok(generation)
                    if generation.number == number || refused == Some(Refused::Generation(generation.number)) =>
                {
                    None
                }
                Ok(generation) => Some(generation.number),
                Err(error) => {
                    // Said once, not every second.
                    if refused.replace(Refused::Store) != Some(Refused::Store) {
                        tracing::warn!(%error, generation = number, "the plugins stay as they were");
                    }
                    None
                }
            };
            if let Some(found) = found {
                let current = Arc::clone(&self);
                match tokio::task::spawn_blocking(move || current.renew()).await {
                    Ok(Ok(_)) => refused = None,
                    Ok(Err(error)) => {
                        refused = Some(Refused::Generation(found));
                        tracing::warn!(%error, generation = number, "the plugins stay as they were");
                    }
                    Err(error) => tracing::error!(%error, "looking at the plugins broke down"),
                }
            }
            tokio::time::sleep(LOOK).await;
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

impl InstalledPlugins for Current {
    fn listed(&self) -> Value {
        let plugins = self.plugins();
        let listed = Listed {
            home: self.home.root().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            generation: plugins.generation(),
            plugins: plugins.rows(),
            withheld: plugins.withheld(),
            redactors: plugins.redactors(),
        };
        serde_json::to_value(listed).unwrap_or_default()
    }

    fn take_up(&self) -> Result<(), String> {
        self.renew().map(drop).map_err(|error| Report::of(&error).sentence())
    }
}
