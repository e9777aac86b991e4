//! `plugins`: what is in force in this host, and telling it to look again. For the command line only.
//!
//! What it says is hermes' own: names, states, problems and figures. No text of a process or a plugin is in it.

use std::sync::Arc;

use rmcp::model::JsonObject;
use serde_json::Value;

use super::PLUGINS;
use super::arguments::Given;
use super::trouble::{Code, Trouble};
use crate::session::{Asker, Session};

/// Every field of the tool.
const FIELDS: [&str; 1] = ["action"];
/// What can be asked of it.
const ACTIONS: [&str; 2] = ["list", "take-up"];

/// The plugins of a host, as this room needs them.
pub trait InstalledPlugins: Send + Sync {
    /// What is in force, as a document: its generation, its plugins. It may block.
    fn listed(&self) -> Value;

    /// Takes up the current generation, as the poll would. It may block for as long as a plugin compiles.
    ///
    /// # Errors
    /// It cannot be read; what was in force stays. The sentence says why.
    fn take_up(&self) -> Result<(), String>;
}

/// Carries out a call.
pub(super) async fn call(session: &Arc<Session>, arguments: JsonObject) -> Result<Value, Trouble> {
    if session.asker != Asker::Person {
        return Err(Trouble::new(Code::Refused, "'plugins' is for the command line"));
    }
    let given = Given::new(PLUGINS, arguments, &FIELDS)?;
    let take_up = match given.text("action")?.unwrap_or("list") {
        "list" => false,
        "take-up" => true,
        other => {
            let hint = hermes_model::suggest::hint(other, &ACTIONS);
            return Err(Trouble::arguments(format!("plugins: 'action' must be one it knows{hint}")));
        }
    };
    let plugins = Arc::clone(&session.offer.plugins);
    let asked = tokio::task::spawn_blocking(move || {
        let problem = if take_up { plugins.take_up().err() } else { None };
        let mut document = plugins.listed();
        if let Some(fields) = document.as_object_mut() {
            fields.insert("pid".to_owned(), std::process::id().into());
            fields.insert("problem".to_owned(), problem.map_or(Value::Null, Value::String));
        }
        document
    });
    asked.await.map_err(|_| Trouble::failed("looking at the plugins broke down; the log of the host says why"))
}
