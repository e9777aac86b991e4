//! The way to a client: what a host tells it and asks it by itself.
//!
//! It must never wait for a client longer than it has to, and never take silence for a yes.

use std::time::Duration;

use rmcp::model::{ClientResult, CustomNotification, CustomRequest, ServerNotification, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions, RoleServer};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// How long a person may think about a question.
const THINK: Duration = Duration::from_secs(300);

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The person said yes.
    Yes,
    /// The person said no, or nothing.
    No,
    /// Nobody could be asked.
    Unasked,
}

/// A client that can be told something.
#[derive(Clone)]
pub(crate) struct Reach {
    peer: Peer<RoleServer>,
    /// Whether it puts questions to a person.
    asks: bool,
}

impl Reach {
    pub(crate) fn new(peer: Peer<RoleServer>, asks: bool) -> Self {
        Self { peer, asks }
    }

    /// Tells it something; returns when it was written. False: it is gone.
    pub(crate) async fn tell(&self, method: &'static str, params: Option<Value>) -> bool {
        let notification = CustomNotification::new(method, params);
        self.peer.send_notification(ServerNotification::CustomNotification(notification)).await.is_ok()
    }

    /// Puts a question to the person in front of it.
    pub(crate) async fn decide(&self, question: String, cancelled: &CancellationToken) -> Decision {
        if !self.asks {
            return Decision::Unasked;
        }
        let params = json!({"message": question, "requestedSchema": {"type": "object", "properties": {}}});
        let request = ServerRequest::CustomRequest(CustomRequest::new("elicitation/create", Some(params)));
        let Ok(mut asked) = self.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await else {
            return Decision::Unasked;
        };
        let answer = tokio::select! {
            answer = tokio::time::timeout(THINK, &mut asked.rx) => answer,
            () = cancelled.cancelled() => {
                // A client that is gone has no question open.
                let _ = asked.cancel(None).await;
                return Decision::No;
            }
        };
        match answer {
            Ok(Ok(Ok(ClientResult::CustomResult(result)))) if result.0["action"] == "accept" => Decision::Yes,
            Ok(Ok(Ok(_))) => Decision::No,
            Ok(_) => Decision::Unasked,
            Err(_) => {
                let _ = asked.cancel(None).await;
                Decision::No
            }
        }
    }
}
