//! What the gateway needs of a server: [`Serving`]. A [`Server`] is one, and whatever a test puts in its place.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use hermes_model::config::servers::ServerConfig;
use hermes_model::id::ServerName;
use hermes_output::exact::ExactValues;
use serde_json::{Map, Value};
use tokio::sync::{broadcast, watch};

use crate::servers::handle::{Ask, AskError, Offering, Server, Standing, Told};
use crate::servers::raw::Raw;

/// A future that may be sent to another thread.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A server as the gateway sees it.
pub trait Serving: Send + Sync {
    /// Its name.
    fn name(&self) -> &ServerName;

    /// How it is configured.
    fn config(&self) -> &ServerConfig;

    /// The secrets it was given, to be masked in everything it says.
    fn exact(&self) -> ExactValues;

    /// Begins to start it, where it does not run.
    fn wake(&self);

    /// Where it stands.
    fn standing(&self) -> Standing;

    /// What it offers: the last that is known.
    fn offering(&self) -> Arc<Offering>;

    /// A number that changes whenever the phase or the offering does.
    fn changes(&self) -> watch::Receiver<u64>;

    /// What it says to nobody in particular.
    fn told(&self) -> broadcast::Receiver<Told>;

    /// Sends a request and waits for the answer.
    ///
    /// # Errors
    /// [`AskError`].
    fn ask(&self, ask: Ask) -> Later<'_, Result<Raw, AskError>>;

    /// Sends a notification, where it runs.
    fn tell(&self, method: &'static str, params: Map<String, Value>) -> Later<'_, ()>;

    /// Ends it; it stays stopped until it is woken or asked.
    fn stop(&self) -> Later<'_, ()>;
}

impl Serving for Server {
    fn name(&self) -> &ServerName {
        self.name()
    }

    fn config(&self) -> &ServerConfig {
        self.config()
    }

    fn exact(&self) -> ExactValues {
        self.exact()
    }

    fn wake(&self) {
        self.wake();
    }

    fn standing(&self) -> Standing {
        self.standing()
    }

    fn offering(&self) -> Arc<Offering> {
        self.offering()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes()
    }

    fn told(&self) -> broadcast::Receiver<Told> {
        self.told()
    }

    fn ask(&self, ask: Ask) -> Later<'_, Result<Raw, AskError>> {
        Box::pin(self.ask(ask))
    }

    fn tell(&self, method: &'static str, params: Map<String, Value>) -> Later<'_, ()> {
        Box::pin(self.tell(method, params))
    }

    fn stop(&self) -> Later<'_, ()> {
        Box::pin(self.stop())
    }
}
