//! One session as rmcp sees it: which tools there are, and what became of a call.
//!
//! A call that breaks down is answered as failed; nothing of it reaches another call or session.

use std::sync::Arc;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};

use crate::frames::Arguments;
use crate::session::Session;
use crate::tools::trouble::{Code, Trouble};
use crate::tools::{self, PROCESS, TERMINAL, schema};

/// What a model is told of the whole.
const INSTRUCTIONS: &str = "Runs commands for you and masks secrets in what they print. 'terminal' starts one, 'process' \
asks about those that run in the background.";

/// Answers for a session.
pub(crate) struct Speaker(pub(crate) Arc<Session>);

impl ServerHandler for Speaker {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("hermes", self.0.offer.about.version.clone()))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(schema::tools(&self.0.asker)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = match request.name.as_ref() {
            TERMINAL => TERMINAL,
            PROCESS => PROCESS,
            other => {
                let hint = hermes_model::suggest::hint(other, &[TERMINAL, PROCESS]);
                return Err(ErrorData::invalid_params(format!("there is no such tool{hint}"), None));
            }
        };
        let arguments = context.extensions.remove::<Arguments>().map(|Arguments(map)| map).unwrap_or_default();
        let Ok(place) = Arc::clone(&self.0.calls).try_acquire_owned() else {
            let busy = Trouble::new(Code::Busy, "too many calls of this session are under way: wait for an answer");
            return Ok(answer(Err(busy)));
        };
        let (session, cancelled) = (Arc::clone(&self.0), context.ct);
        // A task of its own: it goes on to its end when nobody waits any more, and what breaks in it breaks alone.
        let called = tokio::spawn(async move {
            let _place = place;
            tools::call(session, tool, arguments, cancelled).await
        });
        Ok(answer(called.await.unwrap_or_else(|_| {
            tracing::error!(tool, "a call broke down");
            Err(Trouble::failed("the call broke down in the host; its log says where"))
        })))
    }
}

fn answer(answer: Result<serde_json::Value, Trouble>) -> CallToolResponse {
    match answer {
        Ok(document) => CallToolResult::structured(document),
        Err(trouble) => CallToolResult::structured_error(trouble.document()),
    }
    .into()
}
