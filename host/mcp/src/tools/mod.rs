//! The tools of a host: `terminal` starts commands, `process` asks about them, ends them and takes their events.
//!
//! Every answer is a document of texts that have been through the policy. It must never quote a value of an argument.
//!
//! - [`schema`]: what a model reads of them. [`arguments`]: reading what it sends. [`trouble`]: what it gets instead.
//! - [`terminal`], [`process`], [`events`], [`follow`]: what they do. `servers` and [`plugins`]: for the command line only.
//!   `readable`: an answer as a model reads it. `said`: what hermes says itself, through the policy.

pub(crate) mod arguments;
mod events;
pub(crate) mod follow;
pub mod plugins;
mod process;
pub(crate) mod readable;
mod said;
pub mod schema;
mod servers;
mod terminal;
pub mod trouble;

use std::sync::Arc;

use rmcp::model::JsonObject;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use self::said::Ears;
use self::trouble::Trouble;
use crate::session::Session;

/// The tool that starts commands.
pub const TERMINAL: &str = "terminal";
/// The tool for what was started.
pub const PROCESS: &str = "process";

/// How an agent reads all of a log, up to its id.
pub const LOG_BY: &str = "the tool 'process' with action 'log' and id";

/// The tool of the command line for the servers of this host. It is listed to nobody.
pub const SERVERS: &str = "servers";
/// The tool of the command line for the plugins of this host. It is listed to nobody.
pub const PLUGINS: &str = "plugins";

/// Carries out a call. It is never dropped before it returns, so that nothing is torn; `cancelled` ends every wait.
pub(crate) async fn call(
    session: Arc<Session>,
    tool: &'static str,
    arguments: JsonObject,
    cancelled: CancellationToken,
) -> Result<Value, Trouble> {
    let ears = Ears::of(&session.offer.in_force, &arguments);
    let answer = match tool {
        TERMINAL => terminal::call(&session, arguments, &cancelled).await,
        SERVERS => servers::call(&session, arguments).await,
        PLUGINS => plugins::call(&session, arguments).await,
        _ => process::call(&session, arguments, &cancelled).await,
    };
    ears.hear(answer).await
}

/// A document as JSON.
fn document(document: impl serde::Serialize) -> Result<Value, Trouble> {
    serde_json::to_value(document).map_err(|_| Trouble::failed("the answer could not be written as JSON"))
}
