//! Resources of an agent: the logs of its processes, results that were too large for their answer, and what servers offer.
//!
//! It must never show a log or a result to another agent than its own.

use hermes_process::registry::handle::Who;
use hermes_process::registry::request::Lines;
use rmcp::model::ErrorData;
use serde_json::{Map, Value, json};

use crate::gateway::asking::{Caller, no_resource, text};
use crate::gateway::pages::page;
use crate::gateway::store::Kept;
use crate::gateway::uris::{self, Named};

/// How much of a log is read as a resource, in bytes; 'process' reads the rest.
const LOG_MAX: usize = 1 << 20;

/// `resources/list`.
pub(super) async fn list(caller: &Caller, params: &Map<String, Value>) -> Result<Value, ErrorData> {
    let (offer, owner) = (&caller.session.offer, caller.owner());
    offer.gateway.settled_whole().await;
    let mut all = Vec::new();
    for row in offer.registry.list(&Who::Owner(owner.clone())).await {
        all.push(json!({
            "uri": uris::of_log(row.id.as_str()), "name": format!("{} log", row.id), "mimeType": "text/plain",
            "description": row.command,
        }));
    }
    for stored in offer.gateway.store().of(&owner) {
        let mime = match &stored.kept {
            Kept::Text { .. } => Some("text/plain"),
            Kept::Blob { mime, .. } => mime.as_deref(),
        };
        let mut resource = json!({
            "uri": uris::of_result(&stored.id), "name": stored.id, "description": format!("the whole result of {}", stored.of),
        });
        if let Some(mime) = mime {
            resource["mimeType"] = json!(mime);
        }
        all.push(resource);
    }
    all.extend(offer.gateway.catalogue().await.resources.iter().cloned());
    page("resources", &all, params)
}

/// `resources/templates/list`.
pub(super) async fn templates(caller: &Caller, params: &Map<String, Value>) -> Result<Value, ErrorData> {
    let gateway = &caller.session.offer.gateway;
    gateway.settled_whole().await;
    let mut all = vec![
        json!({"uriTemplate": uris::of_log("{id}"), "name": "log", "mimeType": "text/plain",
            "description": "The log of a command, by the id of its process."}),
        json!({"uriTemplate": uris::of_result("{id}"), "name": "result",
            "description": "A result that was too long for its answer, by the id that begins with 'res_'."}),
    ];
    all.extend(gateway.catalogue().await.templates.iter().cloned());
    page("resourceTemplates", &all, params)
}

/// `resources/read`.
pub(super) async fn read(caller: &Caller, params: Map<String, Value>) -> Result<Value, ErrorData> {
    let uri = text(&params, "uri")?.to_owned();
    let gateway = &caller.session.offer.gateway;
    let content = match uris::read(&uri) {
        Some(Named::Log(id)) => json!({"uri": uri, "mimeType": "text/plain", "text": log(caller, &id).await?}),
        Some(Named::Result(id)) => {
            let stored = gateway.store().find(&caller.owner(), &id).ok_or_else(no_resource)?;
            match &stored.kept {
                Kept::Text { text, .. } => json!({"uri": uri, "mimeType": "text/plain", "text": text}),
                Kept::Blob { mime, base64 } => {
                    let mime = mime.as_deref().unwrap_or("application/octet-stream");
                    json!({"uri": uri, "mimeType": mime, "blob": base64})
                }
            }
        }
        Some(Named::OfServer(..)) | None => return gateway.resource(caller, &uri, params).await,
    };
    Ok(json!({"contents": [content]}))
}

/// The log of a process from its beginning.
async fn log(caller: &Caller, id: &str) -> Result<String, ErrorData> {
    let registry = &caller.session.offer.registry;
    let who = Who::Owner(caller.owner());
    let (mut whole, mut next) = (String::new(), 0);
    loop {
        let lines = Lines { offset: Some(next), limit: Some(u64::MAX) };
        let part = registry.log(&who, id, lines).await;
        // Whose it is, or that there is none: the same to whoever may not see it.
        let part = part.map_err(|_| no_resource())?;
        whole.push_str(part.output.as_str());
        next = part.first_line + part.lines;
        if part.lines == 0 || next >= part.total_lines {
            return Ok(whole);
        }
        if !whole.ends_with('\n') {
            whole.push('\n');
        }
        if whole.len() >= LOG_MAX {
            let left = part.total_lines - next;
            whole.push_str(&format!(
                "[... {left} more lines; the rest: the tool 'process' with {{\"action\": \"log\", \"id\": \"{}\", \"offset\": {next}}}]\n",
                part.id
            ));
            return Ok(whole);
        }
    }
}

/// `resources/subscribe`.
pub(super) async fn subscribe(caller: &Caller, params: &Map<String, Value>) -> Result<Value, ErrorData> {
    let uri = text(params, "uri")?.to_owned();
    let gateway = &caller.session.offer.gateway;
    let Some((server, own)) = gateway.resource_of(&uri).await else {
        return Err(match uris::read(&uri) {
            Some(Named::Log(_) | Named::Result(_)) => ErrorData::invalid_params(
                "this resource cannot be subscribed to: start the command with \"notify\" or \"watch\" to be told of it",
                None,
            ),
            _ => no_resource(),
        });
    };
    if !caller.session.hearing.subscribe(server, own.clone(), uri) {
        return Err(ErrorData::internal_error("too many resources are subscribed to: give some up", None));
    }
    match gateway.subscribe(caller, server, &own).await {
        Ok(()) => Ok(json!({})),
        Err(error) => {
            caller.session.hearing.unsubscribe(server, &own);
            Err(error)
        }
    }
}

/// `resources/unsubscribe`.
pub(super) async fn unsubscribe(caller: &Caller, params: &Map<String, Value>) -> Result<Value, ErrorData> {
    let gateway = &caller.session.offer.gateway;
    let (server, own) = gateway.resource_of(text(params, "uri")?).await.ok_or_else(no_resource)?;
    if caller.session.hearing.unsubscribe(server, &own) {
        gateway.unsubscribed(server, vec![own]);
    }
    Ok(json!({}))
}
