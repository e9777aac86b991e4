//! `servers`: how the servers of this host stand, and starting one anew. For the command line only.

use std::sync::Arc;
use std::time::SystemTime;

use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::SERVERS;
use super::arguments::Given;
use super::trouble::{Code, Trouble};
use crate::gateway::handle::Gateway;
use crate::gateway::serving::Serving;
use crate::session::{Asker, Session};

/// Every field of the tool.
const FIELDS: [&str; 2] = ["action", "name"];
/// What can be asked of it.
const ACTIONS: [&str; 2] = ["list", "restart"];

/// Carries out a call.
pub(super) async fn call(session: &Arc<Session>, arguments: JsonObject) -> Result<Value, Trouble> {
    if session.asker != Asker::Person {
        return Err(Trouble::new(Code::Refused, "'servers' is for the command line"));
    }
    let gateway = &session.offer.gateway;
    let given = Given::new(SERVERS, arguments, &FIELDS)?;
    match given.text("action")?.unwrap_or("list") {
        "list" => {}
        "restart" => restart(gateway, given.needed("name", "restart")?).await?,
        other => {
            let hint = hermes_model::suggest::hint(other, &ACTIONS);
            return Err(Trouble::arguments(format!("servers: 'action' must be one it knows{hint}")));
        }
    }
    let mut servers = Vec::new();
    for (number, serving) in gateway.servers().enumerate() {
        servers.push(standing(gateway, number, serving).await);
    }
    Ok(json!({"servers": servers}))
}

async fn restart(gateway: &Gateway, name: &str) -> Result<(), Trouble> {
    let Some(serving) = gateway.servers().find(|serving| serving.name().as_str() == name) else {
        let known: Vec<&str> = gateway.servers().map(|serving| serving.name().as_str()).collect();
        let hint = hermes_model::suggest::hint(name, &known);
        return Err(Trouble::new(Code::NotFound, format!("this host has no such server{hint}")));
    };
    serving.stop().await;
    serving.wake();
    Ok(())
}

async fn standing(gateway: &Gateway, number: usize, serving: &Arc<dyn Serving>) -> Value {
    let standing = serving.standing();
    let config = serving.config();
    let command = [config.command.as_str()].into_iter().chain(config.args.iter().map(String::as_str));
    let command = command.collect::<Vec<_>>().join(" ");
    let uptime = standing.since.and_then(|since| SystemTime::now().duration_since(since).ok());
    let problem = match standing.problem {
        Some(problem) => Some(gateway.sentence(number, problem).await),
        None => None,
    };
    json!({
        "name": serving.name(), "command": gateway.sentence(number, command).await, "state": standing.phase,
        "tools": standing.tools, "pid": standing.pid,
        "uptime_ms": uptime.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        "restarts": standing.restarts, "protocol": standing.protocol, "problem": problem,
    })
}
