//! The other end: how the command line asks a host that runs.
//!
//! It must never talk to a host of another user, and never take a reply from one for [`Told`].

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ClientRequest,
    Implementation, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RoleClient, RunningService, ServiceError, serve_client};
use serde_json::{Map, Value};
use tokio::net::UnixStream;

use crate::frames::{Arguments, ClientFrames};
use crate::socket::{self, SocketPath};
use crate::told::Told;

/// How long a host may take to answer for the first time: it may be compiling plugins on a busy machine.
const HANDSHAKE: Duration = Duration::from_secs(30);

/// Why a host that listens cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The system refused.
    #[error("cannot reach the host at '{path}': check the permissions of its folder")]
    System {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Somebody else listens.
    #[error(
        "'{path}' is listened at by user {user}, and this is user {own}: nothing was asked; name a home of your own"
    )]
    Foreign {
        /// The socket.
        path: PathBuf,
        /// Who listens.
        user: u32,
        /// Who asks.
        own: u32,
    },
    /// It closed the connection.
    #[error("the host at '{path}' closed the connection: it is ending, or has too many clients; try again")]
    Closed {
        /// The socket.
        path: PathBuf,
    },
    /// It does not answer.
    #[error("the host at '{path}' does not answer after {} s: end it and try again", HANDSHAKE.as_secs())]
    Silent {
        /// The socket.
        path: PathBuf,
    },
}

/// Why a call came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The host refused, and says why.
    #[error("{message}")]
    Host {
        /// The stable word for it: `not-found`, `refused`, ….
        code: String,
        /// What happened and what to do, as the host says it.
        message: String,
        /// The whole answer, with what is known beside the error.
        told: Box<Told>,
    },
    /// The host went away in the middle.
    #[error(
        "the host went away before it answered; `hermes ps` shows whether one runs, and what became of its processes"
    )]
    Gone,
    /// The host does not know what was asked, or answered something else.
    #[error("the host speaks another version of this protocol ({reason}): end it, and the next one is of this version")]
    Protocol {
        /// What was wrong.
        reason: &'static str,
    },
}

/// What a host answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    told: Told,
}

impl Reply {
    /// The document.
    pub fn told(&self) -> &Told {
        &self.told
    }

    /// The document, for whoever keeps it.
    pub fn into_told(self) -> Told {
        self.told
    }
}

/// A connection to a host. Dropping it ends the session: its calls are given up, and events it did not acknowledge are
/// told again.
pub struct Client {
    speaking: RunningService<RoleClient, Quiet>,
}

/// A client that answers nothing: a host asks nothing.
struct Quiet;

impl ClientHandler for Quiet {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("hermes", env!("CARGO_PKG_VERSION")))
    }
}

impl Client {
    /// Connects to the host of a home. None: nobody listens, also where a host that is gone left its socket.
    ///
    /// # Errors
    /// [`ConnectError`]: somebody listens, and cannot be asked.
    pub async fn connect(at: &SocketPath) -> Result<Option<Self>, ConnectError> {
        let system = |source| ConnectError::System { path: at.path(), source };
        let Some(stream) = socket::connect(at).await.map_err(system)? else { return Ok(None) };
        let user = socket::peer(&stream).map_err(system)?;
        Self::over(stream, user, socket::own_user(), at).await.map(Some)
    }

    async fn over(stream: UnixStream, user: u32, own: u32, at: &SocketPath) -> Result<Self, ConnectError> {
        if user != own {
            return Err(ConnectError::Foreign { path: at.path(), user, own });
        }
        let (read, write) = stream.into_split();
        match tokio::time::timeout(HANDSHAKE, serve_client(Quiet, ClientFrames::new(read, write))).await {
            Ok(Ok(speaking)) => Ok(Self { speaking }),
            Ok(Err(_)) => Err(ConnectError::Closed { path: at.path() }),
            Err(_) => Err(ConnectError::Silent { path: at.path() }),
        }
    }

    /// Calls a tool and waits for its answer, for as long as it takes. If the returned future is dropped, the call is
    /// cancelled: a foreground command is ended, a wait is given up.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn call(&self, tool: &'static str, arguments: Map<String, Value>) -> Result<Reply, CallError> {
        let mut call = CallToolRequest::new(CallToolRequestParams::new(tool));
        call.extensions.insert(Arguments(arguments));
        let peer = self.speaking.peer();
        let request = ClientRequest::CallToolRequest(call);
        let asked = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
        let mut asked = asked.map_err(|error| said(&error))?;
        let mut unanswered = Unanswered { client: self, id: Some(asked.id.clone()) };
        let answer = (&mut asked.rx).await;
        unanswered.id = None;
        let answer = answer.map_err(|_| CallError::Gone)?.map_err(|error| said(&error))?;
        match answer {
            ServerResult::CallToolResult(result) => read(result),
            _ => Err(CallError::Protocol { reason: "it answered something that is no result of a tool" }),
        }
    }
}

/// A call that is cancelled when nobody waits for its answer any more.
struct Unanswered<'a> {
    client: &'a Client,
    id: Option<rmcp::model::RequestId>,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let peer = self.client.speaking.peer().clone();
        // Without a runtime the program ends, and the connection with it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let cancelled = rmcp::model::CancelledNotificationParam::new(Some(id), None);
                // A host that is gone has nothing to cancel.
                let _ = peer.notify_cancelled(cancelled).await;
            });
        }
    }
}

fn read(result: CallToolResult) -> Result<Reply, CallError> {
    let document = result.structured_content.ok_or(CallError::Protocol { reason: "its answer has no document" })?;
    let told = Told::of(document);
    if result.is_error != Some(true) {
        return Ok(Reply { told });
    }
    let word = |place| told.text(place).map(str::to_owned);
    match (word("/error/code"), word("/error/message")) {
        (Some(code), Some(message)) => Err(CallError::Host { code, message, told: Box::new(told) }),
        _ => Err(CallError::Protocol { reason: "its error has no code" }),
    }
}

fn said(error: &ServiceError) -> CallError {
    match error {
        ServiceError::TransportSend(_) | ServiceError::TransportClosed | ServiceError::Cancelled { .. } => {
            CallError::Gone
        }
        ServiceError::McpError(_) => CallError::Protocol { reason: "it does not know this call" },
        _ => CallError::Protocol { reason: "it answered something else" },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_host_of_another_user_is_asked_nothing() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let own = socket::own_user();
        let at = SocketPath::in_home("/nowhere".as_ref());
        let error = Client::over(ours, own + 1, own, &at).await.err().unwrap();
        assert!(matches!(error, ConnectError::Foreign { user, .. } if user == own + 1));
        let mut bytes = [0; 1];
        theirs.readable().await.unwrap();
        assert_eq!(theirs.try_read(&mut bytes).unwrap(), 0, "closed without a word");
    }

    #[tokio::test]
    async fn a_host_that_hangs_up_at_once_is_said_to_be_ending() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        let own = socket::own_user();
        let at = SocketPath::in_home("/nowhere".as_ref());
        let error = Client::over(ours, own, own, &at).await.err().unwrap();
        assert!(error.to_string().contains("try again"), "{error}");
    }

    #[test]
    fn an_error_of_the_host_keeps_its_code_its_words_and_what_is_beside_it() {
        let document = json!({"error": {"code": "failed-to-start", "message": "no such program"}, "exit_code": 127});
        let Err(CallError::Host { code, message, told }) = read(CallToolResult::structured_error(document)) else {
            panic!("an error of the host")
        };
        assert_eq!(
            (code.as_str(), message.as_str(), told.number("exit_code")),
            ("failed-to-start", "no such program", Some(127))
        );
        let odd = read(CallToolResult::structured_error(json!({"x": 1})));
        assert!(matches!(odd, Err(CallError::Protocol { .. })));
    }
}
