//! `process`: what was started, asked about, sent something, ended, told of.

use std::collections::BTreeSet;
use std::sync::Arc;

use hermes_model::duration;
use hermes_model::id::Owner;
use hermes_process::registry::asks::Input;
use hermes_process::registry::handle::{Registry, Who};
use hermes_process::registry::request::{Lines, Source};
use hermes_process::registry::shown::{Killed, Log, Row, SendResult};
use hermes_process::spec::PtySize;
use rmcp::model::JsonObject;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::arguments::Given;
use super::trouble::{Code, Trouble};
use super::{PROCESS, document, events, follow};
use crate::gateway::store::{self, Store};
use crate::gateway::uris;
use crate::session::{Asker, Session, WHOSE};

/// What can be asked of the tool, with the fields that mean something for it beside those that say whose process it is.
pub(super) const ACTIONS: [(&str, &[&str]); 13] = [
    ("list", &[]),
    ("poll", &["id"]),
    ("log", &["id", "offset", "limit"]),
    ("wait", &["id", "timeout_ms"]),
    ("kill", &["id"]),
    ("kill_all", &[]),
    ("send", &["id", "data", "enter", "eof"]),
    ("resize", &["id", "rows", "cols"]),
    ("events", &["max", "wait_ms", "ack", "skip_observed"]),
    ("ack", &["ack"]),
    ("follow", &["id", "cursor", "wait_ms"]),
    ("unfollow", &["cursor"]),
    ("status", &[]),
];

/// Every field of the tool.
pub(super) const FIELDS: [&str; 17] = [
    "action",
    "id",
    "offset",
    "limit",
    "timeout_ms",
    "data",
    "enter",
    "eof",
    "rows",
    "cols",
    "max",
    "wait_ms",
    "ack",
    "skip_observed",
    "cursor",
    "owner",
    "all",
];

/// Carries out a call.
pub(super) async fn call(
    session: &Arc<Session>,
    arguments: JsonObject,
    cancelled: &CancellationToken,
) -> Result<Value, Trouble> {
    let given = Given::new(PROCESS, arguments, &FIELDS)?;
    let action = action(&given)?;
    let who = session.who(&given)?;
    let registry = &session.offer.registry;
    match action {
        "list" => Ok(json!({"processes": document(registry.list(&who).await)?})),
        "poll" => poll(registry, &who, given.needed("id", action)?).await,
        "log" => {
            let (id, lines) = (
                given.needed("id", action)?,
                Lines { offset: given.number("offset")?, limit: given.positive("limit")? },
            );
            if Store::is_id(id) { result(session, id, lines) } else { document(registry.log(&who, id, lines).await?) }
        }
        "wait" => wait(session, &who, &given, cancelled).await,
        "kill" => document(registry.kill(&who, given.needed("id", action)?, Source::Kill).await?),
        "kill_all" => Ok(json!({"killed": document(kill_all(registry, &who).await)?})),
        "send" => send(registry, &who, &given).await,
        "resize" => resize(registry, &who, &given).await,
        "events" => events::take(session, &given, cancelled).await,
        "ack" => events::acknowledge(session, &given).await,
        "follow" => follow::follow(session, &given, cancelled).await,
        "unfollow" => follow::unfollow(session, &given),
        _ => status(session).await,
    }
}

fn action(given: &Given) -> Result<&'static str, Trouble> {
    let names: Vec<&str> = ACTIONS.iter().map(|(name, _)| *name).collect();
    let asked = given.text("action")?.unwrap_or_default();
    let found = ACTIONS.iter().find(|(name, _)| *name == asked);
    let (name, meant) = found.ok_or_else(|| {
        let hint = hermes_model::suggest::hint(asked, &names);
        Trouble::arguments(format!("process: 'action' must be one it knows{hint}"))
    })?;
    let meant: Vec<&str> = meant.iter().chain(&WHOSE).chain(&["action"]).copied().collect();
    given.only(name, &meant)?;
    Ok(name)
}

/// One row of the list. Only the ledger knows what ended long ago, and less of it.
async fn poll(registry: &Registry, who: &Who, asked: &str) -> Result<Value, Trouble> {
    if let Some(row) = registry.look(who, asked).await? {
        return document(row);
    }
    // No line of it: what is asked for is where it stands, or why there is no answer.
    let log = registry.log(who, asked, Lines { offset: Some(0), limit: Some(0) }).await?;
    document(past(log))
}

/// What is known of a process that ended long ago, with the fields of a [`Row`].
fn past(log: Log) -> Value {
    json!({
        "id": log.id, "command": log.command, "owner": null, "pid": null, "pty": null, "cwd": null, "started_at": null,
        "ended_at": null, "uptime_ms": null, "status": log.status, "exit_code": log.exit_code,
        "output_bytes": log.output_bytes, "preview": log.output, "watch": [], "notify": null, "heartbeat_ms": null,
        "persist": null, "detached": null, "survivors": [],
    })
}

/// Lines of a result of a server that was too long for its answer.
fn result(session: &Session, id: &str, Lines { offset, limit }: Lines) -> Result<Value, Trouble> {
    let gateway = &session.offer.gateway;
    let gone = || {
        Trouble::new(
            Code::NotFound,
            "there is no such result: it was another session's, or newer ones took its place; call the tool again, and ask \
             for less at a time",
        )
    };
    let stored = gateway.store().find(&session.asker.owner(), id).ok_or_else(gone)?;
    store::page(&stored, offset, limit, gateway.reply_bytes()).ok_or_else(|| {
        let uri = uris::of_result(id);
        Trouble::new(Code::Refused, format!("this result is no text: read the resource {uri}"))
    })
}

async fn wait(session: &Session, who: &Who, given: &Given, cancelled: &CancellationToken) -> Result<Value, Trouble> {
    let longest = session.offer.patience.wait;
    let asked = given.time("timeout_ms")?.unwrap_or(longest);
    let patience = asked.min(longest);
    let id = given.needed("id", "wait")?;
    let waited = session.offer.registry.wait(who, id, patience, cancelled.cancelled()).await?;
    let mut run = waited.ok_or_else(Trouble::cancelled)?;
    if asked > longest && run.timed_out == Some(true) {
        run.notes.insert(
            0,
            format!(
                "one wait lasts at most {}, and {} were asked for: wait again",
                duration::display(longest),
                duration::display(asked)
            ),
        );
    }
    document(run)
}

async fn kill_all(registry: &Registry, who: &Who) -> Vec<Killed> {
    let owners: BTreeSet<Owner> = match who {
        Who::Owner(owner) => BTreeSet::from([owner.clone()]),
        Who::Anybody => registry.list(who).await.into_iter().map(|Row { owner, .. }| owner).collect(),
    };
    let mut killed = Vec::new();
    for owner in owners {
        killed.extend(registry.kill_all(&owner, &BTreeSet::new(), Source::KillAll).await);
    }
    killed
}

async fn send(registry: &Registry, who: &Who, given: &Given) -> Result<Value, Trouble> {
    let id = given.needed("id", "send")?;
    let mut bytes = given.text("data")?.unwrap_or_default().as_bytes().to_vec();
    if given.flag("enter")? {
        bytes.push(b'\n');
    }
    let end = given.flag("eof")?;
    if bytes.is_empty() && !end {
        return Err(Trouble::arguments("process: 'send' needs 'data', 'enter' or 'eof'"));
    }
    if bytes.is_empty() {
        return document(registry.send(who, id, Input::End).await?);
    }
    let mut sent = registry.send(who, id, Input::Bytes(bytes)).await?;
    if end && sent.result == SendResult::Ok {
        sent.result = registry.send(who, id, Input::End).await?.result;
    }
    document(sent)
}

async fn resize(registry: &Registry, who: &Who, given: &Given) -> Result<Value, Trouble> {
    let id = given.needed("id", "resize")?;
    let side = |field| {
        let side = given.positive(field)?.and_then(|side| u16::try_from(side).ok());
        side.ok_or_else(|| Trouble::arguments("process: 'resize' needs 'rows' and 'cols', each from 1 to 65535"))
    };
    document(registry.resize(who, id, PtySize { rows: side("rows")?, cols: side("cols")? }).await?)
}

async fn status(session: &Session) -> Result<Value, Trouble> {
    let offer = &session.offer;
    let who = match &session.asker {
        Asker::Person => Who::Anybody,
        Asker::Agent(owner) => Who::Owner(owner.clone()),
    };
    Ok(json!({
        "version": offer.about.version,
        "pid": std::process::id(),
        "home": offer.about.home.to_string_lossy(),
        "running": offer.registry.count_running(),
        "pending": offer.registry.pending(&who).await?,
        "clients": session.clients.count(),
        "generation": offer.in_force.policy().generation(),
        "idle_exit_ms": offer.about.idle_exit.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(fields: Value) -> Result<&'static str, String> {
        let given = Given::new(PROCESS, fields.as_object().unwrap().clone(), &FIELDS).map_err(|error| error.message)?;
        action(&given).map_err(|error| error.message)
    }

    #[test]
    fn an_unknown_action_is_answered_with_the_one_that_was_meant() {
        assert!(checked(json!({"action": "lst"})).unwrap_err().contains("did you mean 'list'?"));
        assert!(checked(json!({})).unwrap_err().contains("known: list, poll"));
    }

    #[test]
    fn a_field_of_another_action_is_refused_where_it_says_something() {
        assert_eq!(checked(json!({"action": "kill", "id": "proc_0", "data": "", "eof": false})).unwrap(), "kill");
        let error = checked(json!({"action": "kill", "id": "proc_0", "data": "x"})).unwrap_err();
        assert!(error.contains("'data' means nothing for 'kill'"), "{error}");
    }

    #[test]
    fn every_field_means_something_for_some_action() {
        for field in FIELDS {
            let general = field == "action" || WHOSE.contains(&field);
            assert!(general || ACTIONS.iter().any(|(_, meant)| meant.contains(&field)), "{field}");
        }
    }
}
