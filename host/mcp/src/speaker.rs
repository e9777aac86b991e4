//! One session as rmcp sees it: what there is, and what became of what was asked.
//!
//! rmcp does the handshake and the numbers of messages. What a client asks with reaches this module beside the message, and
//! every answer is a document as it is to be written: no type between here and the client leaves out a field it does not
//! know. A call that breaks down is answered as failed; nothing of it reaches another call or session.

mod instructions;
mod resources;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    ClientNotification, ClientRequest, CustomRequest, CustomResult, ErrorCode, ErrorData, Implementation,
    ProtocolVersion, ServerCapabilities, ServerConfig, ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, Service};
use serde_json::{Map, Value, json};

use crate::frames::Params;
use crate::gateway::asking::{Caller, text};
use crate::gateway::news::Level;
use crate::gateway::pages::page;
use crate::hearing::Hearing;
use crate::reach::Reach;
use crate::session::{Asker, Session};
use crate::tools::trouble::{Code, Trouble};
use crate::tools::{self, PLUGINS, PROCESS, SERVERS, TERMINAL, readable, schema};

/// What a person's command line is told of the whole.
const FOR_PEOPLE: &str = "Runs commands for you and masks secrets in what they print. 'terminal' starts one, 'process' \
asks about those that run in the background.";

/// Answers for a session.
pub(crate) struct Speaker {
    session: Arc<Session>,
    handshake: Handshake,
}

/// What rmcp is told of this host when a client says who it is.
struct Handshake {
    session: Arc<Session>,
    /// What the servers say of themselves, as an agent is told it.
    from_servers: Mutex<String>,
}

impl Handshake {
    fn said(&self) -> MutexGuard<'_, String> {
        self.from_servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What this host says of itself to an agent.
    fn own(&self) -> String {
        let names = self.session.offer.gateway.servers().map(|serving| serving.name().as_str());
        instructions::of(&names.collect::<Vec<_>>())
    }
}

impl ServerHandler for Handshake {
    fn get_info(&self) -> ServerConfig {
        let offer = &self.session.offer;
        let about = Implementation::new("hermes", offer.about.version.clone());
        let (capabilities, instructions) = match &self.session.asker {
            Asker::Person => (ServerCapabilities::builder().enable_tools().build(), FOR_PEOPLE.to_owned()),
            Asker::Agent(_) => (capabilities(), self.own() + &self.said()),
        };
        ServerConfig::new(capabilities).with_server_info(about).with_instructions(instructions)
    }
}

/// What an agent can use.
fn capabilities() -> ServerCapabilities {
    // Read from the form in which it is written: the builder knows these only as deprecated, and clients use them.
    serde_json::from_value(json!({
        "tools": {"listChanged": true}, "prompts": {"listChanged": true},
        "resources": {"subscribe": true, "listChanged": true}, "completions": {}, "logging": {},
    }))
    .unwrap_or_default()
}

impl Service<RoleServer> for Speaker {
    async fn handle_request(
        &self,
        request: ClientRequest,
        mut context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let (method, params) = match (request, context.extensions.remove::<Params>()) {
            (ClientRequest::CustomRequest(CustomRequest { method, .. }), Some(Params(params))) => (method, params),
            (other, _) => {
                let hello = matches!(other, ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_));
                if hello && matches!(self.session.asker, Asker::Agent(_)) {
                    self.hear_servers().await;
                }
                return Service::handle_request(&self.handshake, other, context).await;
            }
        };
        let modern = context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        let mut answer = self.answer(&method, params, context).await?;
        if modern && let Some(fields) = answer.as_object_mut() {
            // What newer clients are promised of every answer: it is whole, and nobody is to keep it.
            fields.entry("resultType").or_insert_with(|| json!("complete"));
            if method.ends_with("/list") || method == "resources/read" {
                fields.entry("ttlMs").or_insert_with(|| json!(0));
                fields.entry("cacheScope").or_insert_with(|| json!("private"));
            }
        }
        Ok(ServerResult::CustomResult(CustomResult::new(answer)))
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let agent = matches!(self.session.asker, Asker::Agent(_));
        if agent && matches!(notification, ClientNotification::InitializedNotification(_)) {
            Hearing::begin(&self.session, Reach::new(context.peer, false));
        }
        Ok(())
    }

    fn get_info(&self) -> ServerConfig {
        ServerHandler::get_info(&self.handshake)
    }
}

impl Speaker {
    pub(crate) fn new(session: Arc<Session>) -> Self {
        Self { handshake: Handshake { session: Arc::clone(&session), from_servers: Mutex::default() }, session }
    }

    /// Learns what the servers say of themselves: a client asks who this is once.
    async fn hear_servers(&self) {
        let gateway = &self.session.offer.gateway;
        gateway.introduced().await;
        let catalogue = gateway.catalogue().await;
        let said = catalogue.instructions.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let own = self.handshake.own();
        *self.handshake.said() = instructions::from_servers(&own, said);
    }

    /// The answer to a request.
    async fn answer(
        &self,
        method: &str,
        params: Map<String, Value>,
        context: RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        let agent = matches!(self.session.asker, Asker::Agent(_));
        if method == "tools/list" && !agent {
            return page(
                "tools",
                &schema::tools(&self.session.asker).iter().map(|tool| json!(tool)).collect::<Vec<_>>(),
                &params,
            );
        }
        if method == "logging/setLevel" && agent {
            let level = Level::named(text(&params, "level")?);
            self.session
                .hearing
                .set_level(level.ok_or_else(|| ErrorData::invalid_params("there is no such level", None))?);
            return Ok(json!({}));
        }
        let call = method == "tools/call";
        let Ok(place) = Arc::clone(&self.session.calls).try_acquire_owned() else {
            let busy = Trouble::new(Code::Busy, "too many calls of this session are under way: wait for an answer");
            return if call {
                Ok(readable::failure(&busy))
            } else {
                Err(ErrorData::internal_error(busy.message, None))
            };
        };
        let asks = context.client_capabilities().is_some_and(|client| client.elicitation.is_some());
        let caller = Caller {
            session: Arc::clone(&self.session),
            reach: Reach::new(context.peer, asks),
            token: token_of(&params),
            cancelled: context.ct,
        };
        let method = method.to_owned();
        // A task of its own: it goes on to its end when nobody waits any more, and what breaks in it breaks alone.
        let answered = tokio::spawn(async move {
            let _place = place;
            if call {
                called(caller, params).await
            } else if agent {
                asked(&method, caller, params).await
            } else {
                Err(unknown(&method))
            }
        });
        answered.await.unwrap_or_else(|_| {
            tracing::error!("a request broke down");
            let broken = Trouble::failed("the call broke down in the host; its log says where");
            if call { Ok(readable::failure(&broken)) } else { Err(ErrorData::internal_error(broken.message, None)) }
        })
    }
}

/// Where a client wants to hear of progress.
fn token_of(params: &Map<String, Value>) -> Option<Value> {
    let token = params.get("_meta")?.get("progressToken")?;
    (token.is_string() || token.is_number()).then(|| token.clone())
}

/// `tools/call`.
async fn called(caller: Caller, mut params: Map<String, Value>) -> Result<Value, ErrorData> {
    let tool = match (text(&params, "name")?, &caller.session.asker) {
        (TERMINAL, _) => TERMINAL,
        (PROCESS, _) => PROCESS,
        (SERVERS, Asker::Person) => SERVERS,
        (PLUGINS, Asker::Person) => PLUGINS,
        (other, Asker::Person) => {
            let hint = hermes_model::suggest::hint(other, &[TERMINAL, PROCESS]);
            return Err(ErrorData::invalid_params(format!("there is no such tool{hint}"), None));
        }
        (_, Asker::Agent(_)) => {
            let gateway = caller.session.offer.gateway.clone();
            return gateway.call(&caller, params).await;
        }
    };
    let arguments = match params.remove("arguments") {
        Some(Value::Object(arguments)) => arguments,
        None | Some(Value::Null) => Map::new(),
        Some(_) => return Err(ErrorData::invalid_params("'arguments' must be an object", None)),
    };
    let is_read = caller.session.asker != Asker::Person;
    Ok(match tools::call(caller.session, tool, arguments, caller.cancelled).await {
        Ok(document) => readable::success(document, is_read),
        Err(trouble) => readable::failure(&trouble),
    })
}

/// Everything else an agent may ask.
async fn asked(method: &str, caller: Caller, params: Map<String, Value>) -> Result<Value, ErrorData> {
    let gateway = caller.session.offer.gateway.clone();
    match method {
        "tools/list" => {
            gateway.settled().await;
            let own = schema::tools(&caller.session.asker);
            let own = own.iter().map(|tool| json!(tool));
            let all: Vec<Value> = own.chain(gateway.catalogue().await.tools.iter().cloned()).collect();
            page("tools", &all, &params)
        }
        "prompts/list" => {
            gateway.settled_whole().await;
            page("prompts", &gateway.catalogue().await.prompts, &params)
        }
        "prompts/get" => gateway.prompt(&caller, params).await,
        "resources/list" => resources::list(&caller, &params).await,
        "resources/templates/list" => resources::templates(&caller, &params).await,
        "resources/read" => resources::read(&caller, params).await,
        "resources/subscribe" => resources::subscribe(&caller, &params).await,
        "resources/unsubscribe" => resources::unsubscribe(&caller, &params).await,
        "completion/complete" => gateway.complete(&caller, params).await,
        other => Err(unknown(other)),
    }
}

fn unknown(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.to_owned(), None)
}
