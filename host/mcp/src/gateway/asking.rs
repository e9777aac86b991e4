//! Requests of an agent to a server: looked up, allowed, sent once, answered.
//!
//! It must never send a request twice, and never change what an agent gives a tool.

use std::sync::Arc;

use hermes_model::config::servers::Trust;
use hermes_model::context::Surface;
use hermes_model::id::Owner;
use rmcp::model::{ErrorCode, ErrorData};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::catalogue::Target;
use super::handle::Gateway;
use super::{fitting, results, uris};
use crate::reach::{Decision, Reach};
use crate::servers::handle::{Ask, AskError};
use crate::servers::raw::Raw;
use crate::session::Session;
use crate::tools::readable;
use crate::tools::trouble::{Code, Trouble};

/// How many reports of progress wait for a client that is slow; then they are dropped.
const PROGRESS_KEPT: usize = 32;
/// How much of what a tool is to be called with is shown to whoever decides about it, in characters.
const ASKED_SHOWN: usize = 1000;

/// Who asks.
pub(crate) struct Caller {
    pub(crate) session: Arc<Session>,
    pub(crate) reach: Reach,
    /// Where the client wants to hear of progress.
    pub(crate) token: Option<Value>,
    pub(crate) cancelled: CancellationToken,
}

impl Caller {
    pub(crate) fn owner(&self) -> Owner {
        self.session.asker.owner()
    }
}

/// Why a server has no result: something an agent reads, or an error of the protocol.
enum Unanswered {
    Trouble(Trouble),
    Error(ErrorData),
}

impl Gateway {
    /// Calls a tool of a server.
    ///
    /// # Errors
    /// There is no such tool, or the server answered with an error of the protocol.
    pub(crate) async fn call(&self, caller: &Caller, mut params: Map<String, Value>) -> Result<Value, ErrorData> {
        let name = text(&params, "name")?.to_owned();
        let target = self.tool(&name).await?;
        let arguments = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
        if let Err(trouble) = self.allowed(caller, &target, &name, arguments).await {
            return Ok(readable::failure(&trouble));
        }
        params.insert("name".to_owned(), Value::String(target.own.clone()));
        // What belongs to forms of a call that hermes does not speak.
        for field in ["task", "inputResponses", "requestState"] {
            params.remove(field);
        }
        match self.ask(caller, target.server, "tools/call", params).await {
            Ok(raw) => Ok(self.result_of(caller, &target, &name, raw).await),
            Err(Unanswered::Trouble(trouble)) => Ok(readable::failure(&trouble)),
            Err(Unanswered::Error(error)) => Err(error),
        }
    }

    /// The tool of this name. One of a server that is not ready yet is waited for.
    async fn tool(&self, name: &str) -> Result<Target, ErrorData> {
        let mut catalogue = self.catalogue().await;
        if catalogue.tool(name).is_none() {
            self.settled_for(name).await;
            catalogue = self.catalogue().await;
        }
        catalogue.tool(name).cloned().ok_or_else(|| {
            let missing = catalogue.withheld.iter().map(|notice| format!("; {notice}")).collect::<String>();
            ErrorData::invalid_params(format!("there is no such tool{}{missing}", catalogue.tool_hint(name)), None)
        })
    }

    /// Whether a call may be made: of a server that is not trusted, only what says that it only reads, and what the user
    /// agrees to.
    async fn allowed(&self, caller: &Caller, target: &Target, name: &str, arguments: Value) -> Result<(), Trouble> {
        let serving = self.server(target.server);
        if serving.config().trust == Trust::Full || target.read_only {
            return Ok(());
        }
        let server = serving.name();
        let shown = self.reveal(target.server, Surface::McpResult, caller.owner(), arguments).await;
        let shown = shown.map_or_else(|nothing| nothing.notice.to_string(), |shown| shown.value.as_value().to_string());
        let cut: String = shown.chars().take(ASKED_SHOWN).collect();
        let more = if cut.len() < shown.len() { "…" } else { "" };
        let question = format!(
            "The agent wants to call the tool '{name}'. The server '{server}' is not trusted (mcp_servers.{server}.trust), and \
             the tool does not say that it only reads. It is to be called with: {cut}{more}"
        );
        match caller.reach.decide(question, &caller.cancelled).await {
            Decision::Yes => Ok(()),
            Decision::No => Err(Trouble::new(Code::Refused, "the user did not agree to this call; nothing was sent")),
            Decision::Unasked => Err(Trouble::new(
                Code::Refused,
                format!(
                    "the server '{server}' is not trusted, this tool does not say that it only reads, and this client \
                     cannot ask its user; nothing was sent. The user may set mcp_servers.{server}.trust to \"full\""
                ),
            )),
        }
    }

    /// Gets a prompt of a server.
    ///
    /// # Errors
    /// There is none, or the server has no answer.
    pub(crate) async fn prompt(&self, caller: &Caller, mut params: Map<String, Value>) -> Result<Value, ErrorData> {
        let name = text(&params, "name")?.to_owned();
        let mut catalogue = self.catalogue().await;
        if catalogue.prompt(&name).is_none() {
            self.settled_whole_for(&name).await;
            catalogue = self.catalogue().await;
        }
        let Some(target) = catalogue.prompt(&name) else {
            return Err(ErrorData::invalid_params(
                format!("there is no such prompt{}", catalogue.prompt_hint(&name)),
                None,
            ));
        };
        params.insert("name".to_owned(), Value::String(target.own.clone()));
        let raw = self.plain(caller, target.server, "prompts/get", params).await?;
        self.answer_of(caller, target.server, &name, raw).await.map(Value::Object)
    }

    /// Reads a resource of a server.
    ///
    /// # Errors
    /// There is none, or the server has no answer.
    pub(crate) async fn resource(
        &self,
        caller: &Caller,
        uri: &str,
        mut params: Map<String, Value>,
    ) -> Result<Value, ErrorData> {
        let (server, own) = self.resource_of(uri).await.ok_or_else(no_resource)?;
        params.insert("uri".to_owned(), Value::String(own.clone()));
        let raw = self.plain(caller, server, "resources/read", params).await?;
        let mut answer = self.answer_of(caller, server, uri, raw).await?;
        let name = self.server(server).name();
        for content in answer.get_mut("contents").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(Value::String(shown)) = content.get_mut("uri") {
                *shown = if *shown == own { uri.to_owned() } else { uris::of_resource(name, shown) };
            }
        }
        Ok(Value::Object(answer))
    }

    /// Which server a URI of this host belongs to, and what that calls it; none: no server's, or one that does not offer
    /// resources.
    pub(crate) async fn resource_of(&self, uri: &str) -> Option<(usize, String)> {
        if let Some(target) = self.catalogue().await.resource(uri) {
            return Some((target.server, target.own.clone()));
        }
        let Some(uris::Named::OfServer(name, own)) = uris::read(uri) else { return None };
        let server = self.servers().position(|serving| serving.name().as_str() == name)?;
        self.server(server).config().tools.resources.then_some((server, own))
    }

    /// Completes an argument of a prompt or a template of a server.
    ///
    /// # Errors
    /// There is no such prompt or template, or the server has no answer.
    pub(crate) async fn complete(&self, caller: &Caller, mut params: Map<String, Value>) -> Result<Value, ErrorData> {
        let catalogue = self.catalogue().await;
        let reference = params.get_mut("ref").and_then(Value::as_object_mut);
        let reference = reference.ok_or_else(|| ErrorData::invalid_params("'ref' must be an object", None))?;
        let by_name = reference.get("type").is_some_and(|kind| kind == "ref/prompt");
        let field = if by_name { "name" } else { "uri" };
        let named = text(reference, field)?;
        let target = if by_name { catalogue.prompt(named) } else { catalogue.resource(named) };
        let target = target.ok_or_else(|| ErrorData::invalid_params("there is no such prompt or template", None))?;
        reference.insert(field.to_owned(), Value::String(target.own.clone()));
        let raw = self.plain(caller, target.server, "completion/complete", params).await?;
        self.answer_of(caller, target.server, "completion", raw).await.map(Value::Object)
    }

    /// A request whose failure is an error of the protocol.
    pub(crate) async fn plain(
        &self,
        caller: &Caller,
        server: usize,
        method: &'static str,
        params: Map<String, Value>,
    ) -> Result<Raw, ErrorData> {
        self.ask(caller, server, method, params).await.map_err(|unanswered| match unanswered {
            Unanswered::Error(error) => error,
            Unanswered::Trouble(trouble) => {
                let document = trouble.document();
                ErrorData::internal_error(trouble.message, Some(document))
            }
        })
    }

    async fn ask(
        &self,
        caller: &Caller,
        server: usize,
        method: &'static str,
        mut params: Map<String, Value>,
    ) -> Result<Raw, Unanswered> {
        without_token(&mut params);
        let serving = self.server(server);
        let (progress, forwarding) = match &caller.token {
            None => (None, None),
            Some(token) => {
                let (send, receive) = mpsc::channel(PROGRESS_KEPT);
                let forwarding =
                    forward(self.clone(), server, caller.owner(), caller.reach.clone(), token.clone(), receive);
                (Some(send), Some(tokio::spawn(forwarding)))
            }
        };
        let ask = Ask { method, params, progress, cancelled: caller.cancelled.clone(), patience: None };
        let answer = serving.ask(ask).await;
        if let Some(forwarding) = forwarding {
            // What was reported before the answer is told before it, and a slow client does not hold it up.
            let _ = tokio::time::timeout(super::handle::LAST_PROGRESS, forwarding).await;
        }
        match answer {
            Ok(raw) => Ok(raw),
            Err(error) => Err(self.unanswered(server, error).await),
        }
    }

    async fn unanswered(&self, server: usize, error: AskError) -> Unanswered {
        let code = match &error {
            AskError::Unavailable(_) => Code::Unavailable,
            AskError::Uncertain(_) => Code::Uncertain,
            AskError::TimedOut { .. } => Code::TimedOut,
            AskError::Cancelled => return Unanswered::Trouble(Trouble::cancelled()),
            AskError::Refused { .. } => Code::Failed,
        };
        if let AskError::Refused { code, error } = error {
            return Unanswered::Error(self.refused(server, code, error.0).await);
        }
        let message = self.sentence(server, error.to_string()).await;
        let trouble = match code {
            Code::Uncertain => {
                Trouble::new(code, format!("{message}; whether it was done is unknown, and it was not asked again"))
                    .beside("outcome_uncertain", json!(true))
            }
            _ => Trouble::new(code, message),
        };
        Unanswered::Trouble(trouble)
    }

    /// The error of a server as it may be passed on.
    async fn refused(&self, server: usize, code: i64, error: Raw) -> ErrorData {
        let code = i32::try_from(code).map_or(ErrorCode::INTERNAL_ERROR, ErrorCode);
        let revealed = self.reveal(server, Surface::McpError, Owner::default(), error.into_value()).await;
        match revealed {
            Err(withheld) => ErrorData { code, ..results::refusal(&withheld) },
            Ok(revealed) => {
                let message = revealed.value.text("/message").map(|text| fitting::short(&text, self.reply_bytes()));
                let message = message.map_or_else(|| "the server refused".to_owned(), |text| text.as_str().to_owned());
                let mut shown = revealed.value.into_value();
                let data = shown.as_object_mut().and_then(|error| error.remove("data"));
                // What is beside the sentence is of use only whole.
                let data = data.filter(|data| data.to_string().len() <= self.reply_bytes());
                ErrorData::new(code, message, data)
            }
        }
    }
}

/// The error for a URI that names nothing.
pub(crate) fn no_resource() -> ErrorData {
    ErrorData::resource_not_found("there is no such resource; resources/list names those there are", None)
}

/// Tells a client how far a server is, under the client's own token. Of what comes faster than it is told, only the last.
async fn forward(
    gateway: Gateway,
    server: usize,
    owner: Owner,
    reach: Reach,
    token: Value,
    mut reports: mpsc::Receiver<Raw>,
) {
    while let Some(mut report) = reports.recv().await {
        while let Ok(newer) = reports.try_recv() {
            report = newer;
        }
        let shown = gateway.reveal(server, Surface::McpResult, owner.clone(), report.into_value()).await;
        let Ok(shown) = shown else { continue };
        let mut params = shown.value.into_value();
        if !params.is_object() {
            continue;
        }
        params["progressToken"] = token.clone();
        if !reach.tell("notifications/progress", Some(params)).await {
            return;
        }
    }
}

/// Takes what belongs to this client's own connection out of what a server gets.
fn without_token(params: &mut Map<String, Value>) {
    let Some(Value::Object(meta)) = params.get_mut("_meta") else { return };
    meta.retain(|key, _| key != "progressToken" && !key.starts_with("io.modelcontextprotocol/"));
    if meta.is_empty() {
        params.remove("_meta");
    }
}

/// A text that must be there.
pub(crate) fn text<'a>(params: &'a Map<String, Value>, field: &'static str) -> Result<&'a str, ErrorData> {
    let text = params.get(field).and_then(Value::as_str);
    text.ok_or_else(|| ErrorData::invalid_params(format!("'{field}' must be a text"), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_this_connection_is_not_passed_on_and_the_rest_of_meta_is() {
        let mut params = json!({"name": "x", "_meta": {"progressToken": 1, "io.modelcontextprotocol/protocolVersion": "y",
            "trace": 2}});
        without_token(params.as_object_mut().unwrap());
        assert_eq!(params, json!({"name": "x", "_meta": {"trace": 2}}));
        let mut params = json!({"_meta": {"progressToken": 1}});
        without_token(params.as_object_mut().unwrap());
        assert_eq!(params, json!({}));
    }
}
