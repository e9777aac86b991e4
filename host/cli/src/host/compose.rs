//! A running host, put together: the policy of the plugins, the ledger, the registry, the orders.
//!
//! The only place where these rooms meet. It decides nothing.

use std::sync::Arc;
use std::time::Duration;

use hermes_ledger::live::handle::Ledger;
use hermes_ledger::problem::OpenError;
use hermes_mcp::offer::{About, Offer, Patience};
use hermes_output::policy::InForce;
use hermes_process::environment::{BadPattern, Environment};
use hermes_process::guard::Guarded;
use hermes_process::host::{self, Host};
use hermes_process::order::Orders;
use hermes_process::registry::handle::{Registry, Settings};
use hermes_process::registry::recovery::Recovered;
use hermes_process::scope::{self, bus::User};

use crate::place::Place;

/// The file name this program usually has.
const IMAGE: &str = "hermes";

/// Why there is no host.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ComposeError {
    /// This program cannot be a host of processes.
    #[error(transparent)]
    Host(#[from] host::StartError),
    /// `/proc` does not say who this is.
    #[error("/proc does not say who this process is; mount it (mount -t proc proc /proc)")]
    Identity(#[source] std::io::Error),
    /// There is no ledger.
    #[error(transparent)]
    Ledger(#[from] OpenError),
    /// A pattern of the configuration is none.
    #[error("terminal.env_block or terminal.env_pass of config.toml: {0}")]
    Pattern(#[from] BadPattern),
}

/// A host that runs.
pub(crate) struct Composed {
    pub(crate) registry: Registry,
    pub(crate) offer: Arc<Offer>,
    pub(crate) recovered: Recovered,
}

/// Puts a host together and takes over what a crashed one left. Call it inside a runtime.
pub(crate) async fn compose(
    place: &Place,
    in_force: Arc<dyn InForce>,
    idle_exit: Option<Duration>,
) -> Result<Composed, ComposeError> {
    let host = Host::start()?;
    let identity = host.identity().map_err(ComposeError::Identity)?;
    let ledger = Ledger::open(&place.home, identity)?;
    let environment = Environment::inherit();
    let config = &place.config;
    let settings = Settings {
        term_grace: config.terminal.term_grace,
        reply_bytes: usize::try_from(config.output.reply_bytes).unwrap_or(usize::MAX),
        completion_bytes: usize::try_from(config.notifications.completion_bytes).unwrap_or(usize::MAX),
        mode: config.notifications.background,
        supervised: scope::is_supervised(environment.get("INVOCATION_ID")),
    };
    let registry = Registry::start(host.clone(), ledger, Arc::clone(&in_force), settings);
    let recovered = registry.recover().await.map_err(|error| ComposeError::Ledger(error.into()))?;
    let scratch = place.home.root().join("cache").join("scratch");
    let orders = Orders::new(host, &config.terminal, &config.output, guarded(place), scratch)?;
    let about = About { version: env!("CARGO_PKG_VERSION").to_owned(), home: place.home.root().to_owned(), idle_exit };
    let patience = Patience::from(&config.terminal);
    let offer = Offer { registry: registry.clone(), orders, in_force, patience, about };
    Ok(Composed { registry, offer: Arc::new(offer), recovered })
}

/// What is known of this host to those who might end it by name.
fn guarded(place: &Place) -> Guarded {
    let environment = Environment::inherit();
    let image = std::env::current_exe().ok();
    let image = image.as_deref().and_then(std::path::Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let mut images = vec![IMAGE.to_owned()];
    images.extend(image.filter(|image| image != IMAGE));
    images.extend(place.config.terminal.guard_images.iter().cloned());
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    Guarded {
        images,
        command_line: words.join(" "),
        pid: i32::try_from(std::process::id()).unwrap_or(i32::MAX),
        units: vec![IMAGE.to_owned(), "hermes-serve".to_owned()],
        socket: Some(hermes_mcp::socket::SocketPath::in_home(place.home.root()).path()),
        pid_file: None,
        users: users(&environment),
        home: environment.get("HOME").map(Into::into),
    }
}

/// The names of this user, and the number.
fn users(environment: &Environment) -> Vec<String> {
    let named = ["USER", "LOGNAME"].into_iter().filter_map(|name| environment.get(name)?.to_str().map(str::to_owned));
    named.chain([User::current().uid.to_string()]).collect()
}
