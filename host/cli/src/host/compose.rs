//! A running host, put together: the policy of the plugins, the ledger, the registry, the orders.
//!
//! The only place where these rooms meet. It decides nothing.

use std::sync::Arc;
use std::time::Duration;

use hermes_desktop::sink::Desktop;
use hermes_ledger::live::handle::Ledger;
use hermes_ledger::problem::OpenError;
use hermes_mcp::gateway::handle::{Gateway, Means};
use hermes_mcp::gateway::serving::Serving;
use hermes_mcp::offer::{About, Offer, Patience};
use hermes_mcp::servers::all::Servers;
use hermes_mcp::servers::handle::Setting;
use hermes_output::exact;
use hermes_output::policy::InForce;
use hermes_process::environment::{BadPattern, Environment};
use hermes_process::guard::Guarded;
use hermes_process::host::{self, Host};
use hermes_process::order::Orders;
use hermes_process::registry::handle::{Registry, Settings};
use hermes_process::registry::recovery::Recovered;
use hermes_process::scope::{self, bus::User};

use super::current::Current;
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

/// A host of agents that runs: it has servers, and takes over nothing of others.
pub(crate) struct ForAgents {
    pub(crate) registry: Registry,
    pub(crate) offer: Arc<Offer>,
    pub(crate) servers: Servers,
}

/// Puts a host together and takes over what a crashed one left. Call it inside a runtime.
pub(crate) async fn compose(
    place: &Place,
    current: Arc<Current>,
    idle_exit: Option<Duration>,
) -> Result<Composed, ComposeError> {
    let (registry, offer, _) = parts(place, current, idle_exit, false)?;
    let recovered = registry.recover().await.map_err(|error| ComposeError::Ledger(error.into()))?;
    Ok(Composed { registry, offer, recovered })
}

/// Puts a host of agents together, and begins to start its servers. Call it inside a runtime.
pub(crate) async fn compose_for_agents(place: &Place, current: Arc<Current>) -> Result<ForAgents, ComposeError> {
    let (registry, offer, servers) = parts(place, current, None, true)?;
    // What a killed host left, where its supervisor was killed with it, is ended by whoever comes next.
    registry.recover().await.map_err(|error| ComposeError::Ledger(error.into()))?;
    Ok(ForAgents { registry, offer, servers })
}

fn parts(
    place: &Place,
    current: Arc<Current>,
    idle_exit: Option<Duration>,
    for_agents: bool,
) -> Result<(Registry, Arc<Offer>, Servers), ComposeError> {
    let in_force: Arc<dyn InForce> = current.clone();
    let host = Host::start_with(crate::SUPERVISOR)?;
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
        // What is to outlive a host is not for one that ends with its client.
        adopt: !for_agents,
        log_by: if for_agents { hermes_mcp::tools::LOG_BY } else { "hermes logs" },
    };
    let reply_bytes = settings.reply_bytes;
    let registry = Registry::start(host.clone(), ledger.clone(), Arc::clone(&in_force), settings);
    if config.notifications.desktop {
        match Desktop::start(config.notifications.desktop_kinds.clone()) {
            Ok(desktop) => registry.show_in(Arc::new(desktop)),
            Err(error) => tracing::warn!(%error, "no thread for the desktop; its notifications are not shown"),
        }
    }
    let configs = config.mcp_servers.iter().filter(|(_, server)| for_agents && server.enabled);
    let servers = Servers::start(configs.map(|(name, server)| (name.clone(), server.clone())), |name| Setting {
        host: host.clone(),
        in_force: Arc::clone(&in_force),
        environment: environment.clone(),
        logs: place.home.root().join("logs").join(format!("mcp-{name}.log")),
    });
    let variables = environment.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
    let exact = exact::from_environment(variables);
    let means = Means { in_force: Arc::clone(&in_force), exact, reply_bytes, ledger };
    let gateway =
        Gateway::start(servers.iter().map(|server| Arc::new(server.clone()) as Arc<dyn Serving>).collect(), means);
    let scratch = place.home.root().join("cache").join("scratch");
    let orders = Orders::new(host, &config.terminal, &config.output, guarded(place), scratch)?;
    let about = About { version: env!("CARGO_PKG_VERSION").to_owned(), home: place.home.root().to_owned(), idle_exit };
    let patience = Patience::from(&config.terminal);
    let offer = Offer { registry: registry.clone(), orders, in_force, plugins: current, patience, about, gateway };
    Ok((registry, Arc::new(offer), servers))
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
