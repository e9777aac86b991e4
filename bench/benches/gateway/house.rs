//! A host for agents in a temporary home, with servers, and the policies it is measured with.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hermes_fakes::force::Fixed;
use hermes_fakes::policy::Fake;
use hermes_home::home::{Home, LocateArgs};
use hermes_ledger::live::handle::Ledger;
use hermes_mcp::gateway::handle::{Gateway, Means};
use hermes_mcp::gateway::serving::Serving;
use hermes_mcp::offer::{About, Offer, Patience};
use hermes_mcp::serve::{Clients, converse};
use hermes_mcp::servers::all::Servers;
use hermes_mcp::servers::handle::{Phase, Setting};
use hermes_mcp::session::{Asker, Session};
use hermes_mcp::tools::plugins::InstalledPlugins;
use hermes_model::config::servers::ServerConfig;
use hermes_model::config::{BackgroundNotifications, Config, OutputConfig, TerminalConfig};
use hermes_model::id::Owner;
use hermes_output::exact::ExactValues;
use hermes_output::policy::InForce;
use hermes_plugins::registry::{Depth, Plugins};
use hermes_process::environment::Environment;
use hermes_process::guard::Guarded;
use hermes_process::guardian::Fallback;
use hermes_process::host::Host;
use hermes_process::order::Orders;
use hermes_process::registry::handle::{Registry, Settings};
use hermes_process::spec::TERM_GRACE;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::agent::{Agent, pair};
use crate::{SERVER_ROLE, SUPERVISOR_ROLE};

/// Nobody asks about plugins here.
struct NotAsked;

impl InstalledPlugins for NotAsked {
    fn listed(&self) -> serde_json::Value {
        serde_json::Value::Null
    }

    fn take_up(&self) -> Result<(), String> {
        Ok(())
    }
}

/// How long servers may take to be ready before the measurement is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// The budget of an answer as it is configured by default (`output.reply_bytes`), in bytes.
pub(crate) const REPLY_BYTES: usize = 50_000;

/// What is in force where nothing is redacted.
pub(crate) fn nothing() -> Arc<dyn InForce> {
    Fake::nothing().in_force()
}

/// What is in force by default: the bundled plugins, compiled into a cache in this folder.
pub(crate) fn redacting(folder: &Path) -> Arc<dyn InForce> {
    let home = home_in(folder);
    let plugins = Plugins::open(&home, &Config::default(), folder, Depth::Enabled).expect("the plugins open");
    assert!(plugins.redactors() > 0, "the bundled redactor is in force");
    Arc::new(Fixed::new(plugins.policy()))
}

fn home_in(folder: &Path) -> Home {
    let home = Home::locate(&LocateArgs { home: Some(folder.join("home")), profile: None }).expect("a home");
    home.ensure().expect("a home can be made");
    home
}

/// A secret of the host, to be looked for in everything.
fn a_secret() -> ExactValues {
    ExactValues::new([("API_TOKEN".to_owned(), "k3y-that-is-in-no-answer".to_owned())])
}

/// A host as it starts servers in earnest.
pub(crate) fn host() -> Host {
    Host::start_with(Fallback::Itself(SUPERVISOR_ROLE)).expect("a host")
}

/// This program, which is the server too.
pub(crate) fn this() -> String {
    std::env::current_exe().expect("this program has a path").to_str().expect("a path of letters").to_owned()
}

/// A host for agents. Its home goes with it.
pub(crate) struct House {
    _folder: tempfile::TempDir,
    offer: Arc<Offer>,
    clients: Clients,
    servers: Servers,
    sessions: JoinSet<()>,
    /// How long it took until everything was ready.
    pub(crate) ready_after: Duration,
}

impl House {
    /// A host with this many servers, `s0` and so on, all of them ready.
    pub(crate) async fn open(in_force: Arc<dyn InForce>, servers: usize, reply_bytes: usize) -> Self {
        let began = Instant::now();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let home = home_in(folder.path());
        let host = host();
        let ledger = Ledger::open(&home, host.identity().expect("/proc")).expect("a ledger");
        let settings = Settings {
            term_grace: TERM_GRACE,
            reply_bytes,
            completion_bytes: 2000,
            mode: BackgroundNotifications::Concise,
            supervised: true,
            adopt: true,
            log_by: "hermes logs",
        };
        let registry = Registry::start(host.clone(), ledger.clone(), Arc::clone(&in_force), settings);
        let terminal = TerminalConfig { login_environment: false, ..TerminalConfig::default() };
        let guarded = Guarded::new(i32::MAX, "hermes mcp serve");
        let scratch = home.root().join("scratch");
        let orders = Orders::new(host.clone(), &terminal, &OutputConfig::default(), guarded, scratch).expect("orders");
        let config = || ServerConfig { command: this(), args: vec![SERVER_ROLE.to_owned()], ..ServerConfig::default() };
        let configs = (0..servers).map(|n| (format!("s{n}").parse().expect("a name"), config()));
        let servers = Servers::start(configs, |name| Setting {
            host: host.clone(),
            in_force: Arc::clone(&in_force),
            environment: Environment::inherit(),
            logs: home.root().join(format!("mcp-{name}.log")),
        });
        servers.settled(Instant::now() + PATIENCE).await;
        let serving: Vec<_> = servers.iter().map(|server| Arc::new(server.clone()) as Arc<dyn Serving>).collect();
        for server in &serving {
            let standing = server.standing();
            assert!(matches!(standing.phase, Phase::Ready | Phase::Proven), "it is ready: {standing:?}");
        }
        let means = Means { in_force: Arc::clone(&in_force), exact: a_secret(), reply_bytes, ledger };
        let offer = Arc::new(Offer {
            registry,
            orders,
            in_force,
            plugins: Arc::new(NotAsked),
            patience: Patience::from(&terminal),
            about: About { version: "0".to_owned(), home: home.root().to_owned(), idle_exit: None },
            gateway: Gateway::start(serving, means),
        });
        let (clients, sessions, ready_after) = (Clients::default(), JoinSet::new(), began.elapsed());
        Self { _folder: folder, offer, clients, servers, sessions, ready_after }
    }

    /// An agent with a session of its own. It has not said who it is.
    pub(crate) fn agent(&mut self, name: &str) -> Agent {
        let (stream, read, write) = pair();
        let session = Session::new(Arc::clone(&self.offer), Asker::Agent(Owner::new(name)), self.clients.clone());
        self.sessions.spawn(converse(session, read, write, std::future::pending()));
        Agent::of(stream)
    }

    /// Returns when every agent has left and nothing of its session is left.
    pub(crate) async fn agents_left(&mut self) {
        while self.sessions.join_next().await.is_some() {}
    }

    /// Ends it, when its agents have left.
    pub(crate) async fn end(mut self) {
        self.agents_left().await;
        self.servers.shut_down().await;
        self.offer.registry.shut_down().await;
    }
}
