//! A trial of one server: is it there, does it answer, what does it offer.
//!
//! It must never leave the server running, and never show a name that has not been through the policy.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_model::context::{Context, Surface};
use hermes_output::exact::ExactValues;
use hermes_output::json::reveal_json;
use hermes_output::policy::InForce;
use hermes_output::reveal::reveal_text;
use hermes_output::visible::Visible;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::servers::handle::{Ask, AskError, Phase, Server};

/// How long a server that is ready may take to answer once more.
const ANSWER: Duration = Duration::from_secs(30);

/// What a trial showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// How long it took until the server was ready; none: it never was.
    pub connect: Option<Duration>,
    /// The version of the protocol that was agreed on.
    pub protocol: Option<String>,
    /// The names of its tools. None of them where the server is not well.
    pub tools: Vec<Visible>,
    /// What is wrong, and what to do. None: it is well.
    pub problem: Option<Visible>,
}

/// What shows what a server said.
struct Eyes<'a> {
    in_force: &'a Arc<dyn InForce>,
    source: &'a str,
    exact: ExactValues,
}

/// Starts a server, waits until it is ready, asks it once more, and ends it. Takes as long as the server may take to start.
pub async fn run(server: &Server, in_force: &Arc<dyn InForce>) -> Trial {
    let began = Instant::now();
    let mut changes = server.changes();
    server.wake();
    let ready = loop {
        let standing = server.standing();
        match standing.phase {
            Phase::Ready | Phase::Proven => break Ok(began.elapsed()),
            // One trial is one start: what it says about the first is what is to be known.
            Phase::Degraded | Phase::Parked => break Err(standing.problem),
            Phase::Stopped if standing.problem.is_some() => break Err(standing.problem),
            Phase::Starting | Phase::Stopped => {}
        }
        if changes.changed().await.is_err() {
            break Err(server.standing().problem);
        }
    };
    let (connect, problem) = match ready {
        Ok(connect) => (Some(connect), answers(server).await),
        Err(problem) => (None, Some(problem.unwrap_or_else(|| "it ended before it was ready".to_owned()))),
    };
    let protocol = server.standing().protocol;
    let eyes = Eyes { in_force, source: server.name().as_str(), exact: server.exact() };
    let mut problem = problem.map(|problem| eyes.text(&problem));
    let names = server.offering().tools.iter().filter_map(|tool| tool.value().get("name").cloned()).collect();
    let tools = match problem {
        Some(_) => Vec::new(),
        None => eyes.names(names).unwrap_or_else(|notice| {
            problem = Some(notice);
            Vec::new()
        }),
    };
    server.shut_down().await;
    Trial { connect, protocol, tools, problem }
}

/// What is wrong with a server that is ready, as its next answer shows it: one that ends after its first words is not well.
async fn answers(server: &Server) -> Option<String> {
    let ask = Ask {
        method: "ping",
        params: Map::new(),
        progress: None,
        cancelled: CancellationToken::new(),
        patience: Some(ANSWER),
    };
    match server.ask(ask).await {
        // Not every server knows ping; it answered.
        Ok(_) | Err(AskError::Refused { .. }) => None,
        Err(error) => Some(server.standing().problem.unwrap_or_else(|| error.to_string())),
    }
}

impl Eyes<'_> {
    fn context(&self, surface: Surface) -> Context {
        Context { source: self.source.to_owned(), ..Context::new(surface) }
    }

    /// Plugins are asked on this thread: a trial is all that its program does.
    fn text(&self, text: &str) -> Visible {
        reveal_text(&*self.in_force.policy(), &self.context(Surface::McpError), text, &self.exact).text
    }

    /// The names, or what stands for them where they are withheld.
    fn names(&self, names: Vec<Value>) -> Result<Vec<Visible>, Visible> {
        let (policy, count) = (self.in_force.policy(), names.len());
        let context = self.context(Surface::McpResult);
        let revealed =
            reveal_json(&*policy, &context, Value::Array(names), &self.exact).map_err(|withheld| withheld.notice)?;
        Ok((0..count).filter_map(|at| revealed.value.text(&format!("/{at}"))).collect())
    }
}
