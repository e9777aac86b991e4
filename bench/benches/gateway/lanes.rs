//! The ways from an agent to a server that are compared.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use hermes_mcp::wrap::{self, WrapEnd, Wrapped};
use hermes_output::policy::InForce;
use hermes_process::environment::Environment;
use tokio::task::JoinHandle;

use crate::SERVER_ROLE;
use crate::agent::{Agent, pair};
use crate::house::{self, House, REPLY_BYTES};

/// A way from an agent to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The agent's pipes are those of the server.
    Direct,
    /// A process of tokio that copies bytes stands between: what any program between would cost.
    Copied,
    /// The gateway, which redacts nothing.
    Gateway,
    /// The gateway, with the policy that is in force by default.
    GatewayRedacting,
    /// The same, and nothing is left out of an answer.
    GatewayWhole,
    /// `hermes mcp wrap`, which redacts nothing.
    Wrap,
    /// The same with the policy that is in force by default.
    WrapRedacting,
}

impl Way {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Direct => "directly",
            Self::Copied => "through plain tokio that copies",
            Self::Gateway => "through the gateway",
            Self::GatewayRedacting => "through the gateway, redacted",
            Self::GatewayWhole => "through the gateway, redacted, whole",
            Self::Wrap => "through wrap",
            Self::WrapRedacting => "through wrap, redacted",
        }
    }
}

/// An agent on one of the ways.
pub(crate) struct Lane {
    pub(crate) way: Way,
    pub(crate) agent: Agent,
    /// What stands before the server's own names of its tools.
    prefix: &'static str,
    between: Between,
}

/// What is to be ended when the agent has left.
enum Between {
    Nobody(Child),
    Copying(JoinHandle<()>),
    House(Box<House>),
    Wrap(JoinHandle<WrapEnd>),
}

fn server() -> Command {
    let mut command = Command::new(house::this());
    command.arg(SERVER_ROLE).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

fn direct() -> (Agent, Between) {
    let mut child = server().spawn().expect("the server starts");
    let (input, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
    (Agent::new(output, input), Between::Nobody(child))
}

fn copied() -> (Agent, Between) {
    let (stream, mut from_agent, mut to_agent) = pair();
    let mut child = tokio::process::Command::from(server()).spawn().expect("the server starts");
    let (mut input, mut output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
    let copying = tokio::spawn(async move {
        let there = async move { tokio::io::copy(&mut from_agent, &mut input).await };
        let back = async move { tokio::io::copy(&mut output, &mut to_agent).await };
        let (_, _) = tokio::join!(there, back);
        child.wait().await.expect("its end is known");
    });
    (Agent::of(stream), Between::Copying(copying))
}

fn wrapped(in_force: Arc<dyn InForce>) -> (Agent, Between) {
    let environment = Environment::inherit();
    let wrapped = Wrapped {
        name: "bench".to_owned(),
        program: house::this().into(),
        args: vec![SERVER_ROLE.into()],
        exact: Arc::new(wrap::secrets(&environment, &[])),
        environment,
        cwd: None,
        host: house::host(),
        in_force,
        reply_bytes: None,
        kept: Arc::default(),
        complaints: Arc::new(|_| {}),
    };
    let (stream, read, write) = pair();
    let session = tokio::spawn(wrap::run(wrapped, read, write, std::future::pending()));
    (Agent::of(stream), Between::Wrap(session))
}

async fn gateway(in_force: Arc<dyn InForce>, reply_bytes: usize) -> (Agent, Between) {
    let mut house = House::open(in_force, 1, reply_bytes).await;
    (house.agent("bench"), Between::House(Box::new(house)))
}

impl Lane {
    /// An agent that has said who it is, with a server of its own. `redacting` is the policy of those ways that redact.
    async fn open(way: Way, redacting: &Arc<dyn InForce>) -> Self {
        let (mut agent, between) = match way {
            Way::Direct => direct(),
            Way::Copied => copied(),
            Way::Gateway => gateway(house::nothing(), REPLY_BYTES).await,
            Way::GatewayRedacting => gateway(Arc::clone(redacting), REPLY_BYTES).await,
            Way::GatewayWhole => gateway(Arc::clone(redacting), usize::MAX).await,
            Way::Wrap => wrapped(house::nothing()),
            Way::WrapRedacting => wrapped(Arc::clone(redacting)),
        };
        let agent = tokio::task::spawn_blocking(move || {
            agent.begin();
            // A client asks for the tools before it calls one.
            agent.ask("tools/list", "{}");
            agent
        });
        let agent = agent.await.expect("the server answers");
        let prefix = if matches!(between, Between::House(_)) { "s0__" } else { "" };
        Self { way, agent, prefix, between }
    }

    /// A lane for each way. The plugins of those that redact are compiled into a cache in this folder.
    pub(crate) async fn open_all(ways: &[Way], folder: &Path) -> Vec<Self> {
        let redacting = house::redacting(folder);
        let mut lanes = Vec::with_capacity(ways.len());
        for way in ways {
            lanes.push(Self::open(*way, &redacting).await);
        }
        lanes
    }

    /// The name by which a tool of the server is called here.
    pub(crate) fn tool(&self, own: &str) -> String {
        format!("{}{own}", self.prefix)
    }

    /// Leaves, and waits until nothing is left.
    pub(crate) async fn end(self) {
        drop(self.agent);
        match self.between {
            Between::Nobody(mut child) => drop(child.wait().expect("its end is known")),
            Between::Copying(copying) => copying.await.expect("copying does not break down"),
            Between::House(house) => house.end().await,
            Between::Wrap(session) => drop(session.await.expect("wrap does not break down")),
        }
    }
}
