//! What the socket tests share: a host with a real registry behind a real socket, and a policy that masks one word.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_fakes::policy::Fake;
use hermes_home::home::{Home, LocateArgs};
use hermes_ledger::live::handle::Ledger;
use hermes_mcp::client::{CallError, Client};
use hermes_mcp::gateway::handle::{Gateway, Means};
use hermes_mcp::gateway::serving::Serving;
use hermes_mcp::offer::{About, Offer, Patience};
use hermes_mcp::serve::Server;
use hermes_mcp::socket::{self, SocketPath};
use hermes_mcp::told::Told;
use hermes_mcp::tools::plugins::InstalledPlugins;
use hermes_model::config::{BackgroundNotifications, OutputConfig, TerminalConfig};
use hermes_model::report::Withheld;
use hermes_output::exact::ExactValues;
use hermes_output::policy::InForce;
use hermes_process::guard::Guarded;
use hermes_process::host::Host;
use hermes_process::order::Orders;
use hermes_process::registry::handle::{Registry, Settings};
use serde_json::{Value, json};

/// Long enough for anything that is not stuck.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// A host in a folder of its own.
pub(crate) struct House {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) at: SocketPath,
    pub(crate) server: Server,
    pub(crate) registry: Registry,
    pub(crate) offer: Arc<Offer>,
    pub(crate) ledger: Ledger,
}

impl House {
    pub(crate) fn new() -> Self {
        Self::with(Patience { wait: Duration::from_secs(180), foreground: Duration::from_secs(600) })
    }

    pub(crate) fn with(patience: Patience) -> Self {
        Self::with_servers(patience, Vec::new())
    }

    pub(crate) fn with_servers(patience: Patience, servers: Vec<Arc<dyn Serving>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::locate(&LocateArgs { home: Some(folder.path().join("home")), profile: None }).unwrap();
        home.ensure().unwrap();
        let host = Host::start().unwrap();
        let ledger = Ledger::open(&home, host.identity().unwrap()).unwrap();
        let settings = Settings {
            term_grace: Duration::from_millis(300),
            reply_bytes: 50_000,
            completion_bytes: 2000,
            mode: BackgroundNotifications::Concise,
            supervised: false,
            adopt: true,
            log_by: "hermes logs",
        };
        let in_force = masking();
        let registry = Registry::start(host.clone(), ledger.clone(), Arc::clone(&in_force), settings);
        let terminal = TerminalConfig {
            login_environment: false,
            term_grace: Duration::from_millis(300),
            ..TerminalConfig::default()
        };
        let guarded = Guarded::new(i32::MAX, "hermes serve");
        let orders =
            Orders::new(host, &terminal, &OutputConfig::default(), guarded, home.root().join("scratch")).unwrap();
        let about = About { version: "0".to_owned(), home: home.root().to_owned(), idle_exit: None };
        let means = Means {
            in_force: Arc::clone(&in_force),
            exact: ExactValues::default(),
            reply_bytes: 50_000,
            ledger: ledger.clone(),
        };
        let gateway = Gateway::start(servers, means);
        let plugins = Arc::new(NoPlugins);
        let offer = Arc::new(Offer { registry: registry.clone(), orders, in_force, plugins, patience, about, gateway });
        let at = SocketPath::in_home(home.root());
        let server = Server::start(socket::bind(&at).unwrap(), Arc::clone(&offer)).unwrap();
        Self { folder, at, server, registry, offer, ledger }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(&self.at).await.unwrap().unwrap()
    }

    pub(crate) fn path(&self) -> std::path::PathBuf {
        self.at.path()
    }
}

/// A host whose policy is no plugin's.
struct NoPlugins;

impl InstalledPlugins for NoPlugins {
    fn listed(&self) -> Value {
        json!({"generation": 0, "plugins": []})
    }

    fn take_up(&self) -> Result<(), String> {
        Err("there are none".to_owned())
    }
}

pub(crate) async fn call(client: &Client, tool: &'static str, arguments: Value) -> Result<Told, CallError> {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    tokio::time::timeout(LONG, client.call(tool, arguments)).await.unwrap().map(|reply| reply.into_told())
}

pub(crate) async fn terminal(client: &Client, arguments: Value) -> Told {
    call(client, "terminal", arguments).await.unwrap()
}

pub(crate) async fn process(client: &Client, arguments: Value) -> Told {
    call(client, "process", arguments).await.unwrap()
}

/// The code and words of a refusal.
pub(crate) fn refusal(answer: Result<Told, CallError>) -> (String, String) {
    match answer.unwrap_err() {
        CallError::Host { code, message, .. } => (code, message),
        other => panic!("{other}"),
    }
}

/// Starts a background command and returns its id.
pub(crate) async fn background(client: &Client, command: &str) -> String {
    let told = terminal(client, json!({"command": command, "background": true, "notify": true})).await;
    assert_eq!(told.text("/status/kind"), Some("running"), "{told:?}");
    told.text("id").unwrap().to_owned()
}

/// Takes events until there is one, without acknowledging any.
pub(crate) async fn events(client: &Client) -> Vec<Told> {
    let deadline = Instant::now() + LONG;
    loop {
        let told = process(client, json!({"action": "events", "wait_ms": 5000, "ack": []})).await;
        let events = told.items("events");
        if !events.is_empty() {
            return events;
        }
        assert!(Instant::now() < deadline, "no event came");
    }
}

/// Waits until `condition` holds, and fails when it has not within the deadline.
pub(crate) async fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !condition() {
        assert!(Instant::now() < deadline, "not within {LONG:?}: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// How many sockets this program has open.
pub(crate) fn open_sockets() -> usize {
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    descriptors.filter(|fd| is_socket(&fd.path())).count()
}

fn is_socket(path: &Path) -> bool {
    std::fs::read_link(path).is_ok_and(|target| target.to_string_lossy().starts_with("socket:"))
}

/// A policy that masks the word `secret`, withholds what is unspeakable, and turns a whisper into a shout.
pub(crate) fn masking() -> Arc<dyn InForce> {
    let (plugin, code, message) = ("strict".to_owned(), "word".to_owned(), "say it otherwise".to_owned());
    Fake::masking("secret")
        .withholding("unspeakable", Withheld { plugin, code, message })
        .replacing("loud", "whisper", "SHOUT")
        .in_force()
}
