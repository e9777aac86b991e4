//! The servers of a configuration: started together, each on its own, and ended together.
//!
//! It must never let one server wait for another.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hermes_model::config::servers::ServerConfig;
use hermes_model::id::ServerName;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::handle::{Phase, Server, Setting};

/// How long the end of all servers may take: the steps of one, and a little.
const END: Duration = Duration::from_secs(6);

/// All servers of a host. Cloning it gives another handle to the same ones.
#[derive(Clone)]
pub struct Servers {
    servers: Arc<BTreeMap<ServerName, Server>>,
    changes: watch::Sender<u64>,
}

impl Servers {
    /// Makes them, and begins to start those that are not lazy. `setting` says what each is run with. Returns at once;
    /// call it inside a runtime.
    pub fn start(
        configs: impl IntoIterator<Item = (ServerName, ServerConfig)>,
        mut setting: impl FnMut(&ServerName) -> Setting,
    ) -> Self {
        let made = configs.into_iter().map(|(name, config)| {
            let setting = setting(&name);
            (name.clone(), Server::new(name, config, setting))
        });
        let servers: BTreeMap<ServerName, Server> = made.collect();
        let changes = watch::channel(0).0;
        for server in servers.values() {
            tokio::spawn(pass_on(server.changes(), changes.clone()));
            if server.config().enabled && !server.config().lazy {
                server.wake();
            }
        }
        Self { servers: Arc::new(servers), changes }
    }

    /// Each of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Server> {
        self.servers.values()
    }

    /// The server of this name.
    pub fn get(&self, name: &str) -> Option<&Server> {
        self.servers.iter().find(|(known, _)| known.as_str() == name).map(|(_, server)| server)
    }

    /// A number that changes whenever the phase or the offering of any of them does.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Waits until none of those that were to be started at once is on its first way up any more, or until the deadline.
    pub async fn settled(&self, deadline: Instant) {
        let waiting = async {
            for server in self.iter().filter(|server| server.config().enabled && !server.config().lazy) {
                let mut changes = server.changes();
                while !is_settled(server) {
                    if changes.changed().await.is_err() {
                        break;
                    }
                }
            }
        };
        // Whoever is late is published later.
        let _ = tokio::time::timeout_at(deadline, waiting).await;
    }

    /// Nobody needs any of them for now: those that are not asked anything are ended, and started again when they are.
    pub fn retire_idle(&self) {
        self.iter().for_each(Server::retire);
    }

    /// Ends all of them at the same time, for good, within about six seconds.
    pub async fn shut_down(&self) {
        let mut ending = JoinSet::new();
        for server in self.iter() {
            let server = server.clone();
            ending.spawn(async move { server.shut_down().await });
        }
        let all = async { while ending.join_next().await.is_some() {} };
        if tokio::time::timeout(END, all).await.is_err() {
            tracing::warn!("not every server ended in time; what is left of them is killed");
        }
    }
}

/// Whether it is decided how its start went. One that was woken and has not begun yet is not.
fn is_settled(server: &Server) -> bool {
    let standing = server.standing();
    match standing.phase {
        Phase::Starting => false,
        Phase::Stopped => standing.problem.is_some() || standing.restarts > 0,
        Phase::Ready | Phase::Proven | Phase::Degraded | Phase::Parked => true,
    }
}

async fn pass_on(mut from: watch::Receiver<u64>, to: watch::Sender<u64>) {
    while from.changed().await.is_ok() {
        to.send_modify(|number| *number = number.wrapping_add(1));
    }
}
