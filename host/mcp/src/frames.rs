//! Messages on a stream of bytes: one JSON text a line, of bounded length.
//!
//! The arguments of a call never stand in the message itself: they travel beside it, in [`Arguments`], which nothing can
//! print, so whatever rmcp writes to the log holds none. It must never log a line it read, nor a part of one.

use std::io;
use std::sync::Arc;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, CustomRequest, ErrorData, JsonObject, JsonRpcMessage,
};
use rmcp::service::{RoleClient, RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// The longest message a client may send, in bytes: far more than any command, and little enough to hold one of each
/// session at once. rmcp has the same number for its own transports.
pub(crate) const REQUEST_MAX: usize = 16 << 20;
/// The longest message a host may answer with, in bytes: the largest reply that can be configured (64 MiB), twice, as
/// text and as structure, with room for escapes.
pub(crate) const ANSWER_MAX: usize = 256 << 20;

/// The arguments of a call, raw: no `Debug`, no `Display`.
#[derive(Clone)]
pub(crate) struct Arguments(pub(crate) JsonObject);

/// What came of reading.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    /// A whole line is in the buffer, its end included.
    Whole,
    /// It is longer than it may be.
    TooLong,
    /// The other end is gone.
    Gone,
}

struct Lines<R, W> {
    read: BufReader<R>,
    line: Vec<u8>,
    max: usize,
    write: Arc<Mutex<Option<W>>>,
}

impl<R: AsyncRead + Unpin + 'static, W: AsyncWrite + Unpin + Send + 'static> Lines<R, W> {
    fn new(read: R, write: W, max: usize) -> Self {
        Self { read: BufReader::new(read), line: Vec::new(), max, write: Arc::new(Mutex::new(Some(write))) }
    }

    /// Reads up to the end of the line. May be dropped and called again: nothing that was read is lost.
    async fn line(&mut self) -> Line {
        loop {
            let Ok(available) = self.read.fill_buf().await else { return Line::Gone };
            if available.is_empty() {
                return Line::Gone;
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |at| at + 1);
            if self.line.len() + taken > self.max {
                return Line::TooLong;
            }
            self.line.extend_from_slice(&available[..taken]);
            self.read.consume(taken);
            if end.is_some() {
                return Line::Whole;
            }
        }
    }

    fn send<M: Serialize + 'static>(
        &self,
        message: &M,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static + use<R, W, M> {
        let write = Arc::clone(&self.write);
        let bytes = serde_json::to_vec(message).map(|mut bytes| {
            bytes.push(b'\n');
            bytes
        });
        async move {
            let bytes = bytes?;
            let mut write = write.lock().await;
            let write = write.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            write.write_all(&bytes).await?;
            write.flush().await
        }
    }

    fn close(&self) {
        // What is being written now is for nobody: without the lock in hand the stream is dropped with the session.
        if let Ok(mut write) = self.write.try_lock() {
            *write = None;
        }
    }
}

/// The host's end of a connection.
pub(crate) struct ServerFrames<R, W> {
    lines: Lines<R, W>,
    gone: CancellationToken,
}

impl<R: AsyncRead + Unpin + 'static, W: AsyncWrite + Unpin + Send + 'static> ServerFrames<R, W> {
    /// Reads and writes messages. `gone` is cancelled as soon as the client is gone, so that nobody works for it any
    /// longer.
    pub(crate) fn new(read: R, write: W, gone: CancellationToken) -> Self {
        Self { lines: Lines::new(read, write, REQUEST_MAX), gone }
    }

    async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            match self.lines.line().await {
                Line::Whole => {}
                Line::Gone => return None,
                Line::TooLong => {
                    tracing::warn!(max = REQUEST_MAX, "a client sent a message that is too long and is cut off");
                    let error = ErrorData::invalid_request("the message is longer than 16 MiB", None);
                    self.last_words(error).await;
                    return None;
                }
            }
            let line = std::mem::take(&mut self.lines.line);
            if line.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice(&line) {
                Ok(message) => {
                    if let Some(message) = served(message) {
                        return Some(message);
                    }
                }
                Err(_) => {
                    tracing::warn!(bytes = line.len(), "a client does not speak the protocol and is cut off");
                    self.last_words(ErrorData::parse_error("this is no JSON-RPC message", None)).await;
                    return None;
                }
            }
        }
    }

    /// Says why the session ends, to a client that may not listen any more.
    async fn last_words(&mut self, error: ErrorData) {
        let message: TxJsonRpcMessage<RoleServer> = JsonRpcMessage::error(error, None);
        let sent = self.lines.send(&message);
        let _ = tokio::time::timeout(LAST_WORDS, sent).await;
    }
}

/// How long a client that broke the protocol may take to read that it did.
const LAST_WORDS: std::time::Duration = std::time::Duration::from_millis(200);

/// A message as it is handed on: without the arguments of a call, and without what hermes does not serve. None: nothing
/// is to be done about it.
fn served(message: ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
    match message {
        JsonRpcMessage::Request(mut request) => {
            request.request = match request.request {
                ClientRequest::CallToolRequest(mut call) => {
                    let arguments = call.params.arguments.take().unwrap_or_default();
                    (call.params.input_responses, call.params.request_state) = (None, None);
                    call.extensions.insert(Arguments(arguments));
                    ClientRequest::CallToolRequest(call)
                }
                request @ (ClientRequest::PingRequest(_)
                | ClientRequest::InitializeRequest(_)
                | ClientRequest::DiscoverRequest(_)
                | ClientRequest::ListToolsRequest(_)) => request,
                other => {
                    let method =
                        other.method().chars().filter(|c| !c.is_control()).take(METHOD_SHOWN).collect::<String>();
                    ClientRequest::CustomRequest(CustomRequest::new(method, None))
                }
            };
            Some(JsonRpcMessage::Request(request))
        }
        JsonRpcMessage::Notification(mut notification) => match &mut notification.notification {
            ClientNotification::CancelledNotification(cancelled) => {
                cancelled.params.reason = None;
                Some(JsonRpcMessage::Notification(notification))
            }
            ClientNotification::InitializedNotification(_) => Some(JsonRpcMessage::Notification(notification)),
            _ => None,
        },
        // A host asks its clients nothing.
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => None,
    }
}

/// How much is quoted of the name of a method that does not exist, in characters.
const METHOD_SHOWN: usize = 60;

impl<R, W> Transport<RoleServer> for ServerFrames<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.lines.send(&message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let message = self.next().await;
        if message.is_none() {
            self.gone.cancel();
        }
        message
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.lines.close();
        Ok(())
    }
}

/// The client's end of a connection.
pub(crate) struct ClientFrames<R, W> {
    lines: Lines<R, W>,
}

impl<R: AsyncRead + Unpin + 'static, W: AsyncWrite + Unpin + Send + 'static> ClientFrames<R, W> {
    pub(crate) fn new(read: R, write: W) -> Self {
        Self { lines: Lines::new(read, write, ANSWER_MAX) }
    }
}

impl<R, W> Transport<RoleClient> for ClientFrames<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        mut message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &mut message
            && let ClientRequest::CallToolRequest(call) = &mut request.request
            && let Some(Arguments(arguments)) = call.extensions.remove()
        {
            call.params.arguments = Some(arguments);
        }
        self.lines.send(&message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if self.lines.line().await != Line::Whole {
                return None;
            }
            let line = std::mem::take(&mut self.lines.line);
            if !line.trim_ascii().is_empty() {
                return serde_json::from_slice(&line).ok();
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.lines.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use tokio::io::{AsyncReadExt, duplex};

    use super::*;

    fn parsed(value: serde_json::Value) -> Option<ClientJsonRpcMessage> {
        served(serde_json::from_value(value).unwrap())
    }

    #[test]
    fn the_arguments_of_a_call_are_nowhere_in_what_can_be_logged() {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "terminal", "arguments": {"command": "echo hunter2"}, "requestState": "hunter2"}});
        let message = parsed(call).unwrap();
        assert!(!format!("{message:?}").contains("hunter2"));
        let JsonRpcMessage::Request(request) = message else { panic!("a request") };
        let ClientRequest::CallToolRequest(mut call) = request.request else { panic!("a call") };
        assert_eq!(call.extensions.remove::<Arguments>().unwrap().0["command"], "echo hunter2");
    }

    #[test]
    fn what_is_not_served_is_handed_on_without_its_text() {
        for method in ["prompts/get", "resources/read", "no/such/method"] {
            let params = json!({"name": "hunter2", "uri": "hunter2:hunter2", "x": "hunter2"});
            let message = parsed(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).unwrap();
            let shown = format!("{message:?}");
            assert!(shown.contains(method) && !shown.contains("hunter2"), "{shown}");
        }
        let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": 1, "reason": "hunter2"}});
        assert!(!format!("{:?}", parsed(cancelled).unwrap()).contains("hunter2"));
        let other = json!({"jsonrpc": "2.0", "method": "notifications/other", "params": {"x": "hunter2"}});
        assert!(parsed(other).is_none());
    }

    #[tokio::test]
    async fn a_client_writes_the_arguments_that_travel_beside_its_call() {
        let (ours, mut theirs) = duplex(4096);
        let (read, write) = tokio::io::split(ours);
        let mut call = rmcp::model::CallToolRequest::new(rmcp::model::CallToolRequestParams::new("terminal"));
        call.extensions.insert(Arguments(json!({"command": "true"}).as_object().unwrap().clone()));
        let request = ClientRequest::CallToolRequest(call);
        let message = JsonRpcMessage::request(request, rmcp::model::RequestId::Number(1));
        Transport::<RoleClient>::send(&mut ClientFrames::new(read, write), message).await.unwrap();
        let mut bytes = vec![0; 4096];
        let length = theirs.read(&mut bytes).await.unwrap();
        let written: serde_json::Value = serde_json::from_slice(&bytes[..length]).unwrap();
        assert_eq!(written["params"]["arguments"], json!({"command": "true"}));
    }

    fn in_pieces(pieces: Vec<Vec<u8>>, max: usize) -> (Vec<Vec<u8>>, Line) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async move {
            let (mut theirs, ours) = duplex(7);
            tokio::spawn(async move {
                for piece in pieces {
                    // The reader may have given up already.
                    let _ = theirs.write_all(&piece).await;
                }
            });
            let mut lines = Lines::new(ours, tokio::io::sink(), max);
            let mut read = Vec::new();
            loop {
                match lines.line().await {
                    Line::Whole => read.push(std::mem::take(&mut lines.line)),
                    end => return (read, end),
                }
            }
        })
    }

    proptest! {
        #[test]
        fn lines_are_the_same_however_they_arrive(
            pieces in proptest::collection::vec(proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'a')], 0..9), 0..9),
        ) {
            let whole: Vec<u8> = pieces.concat();
            let expected: Vec<Vec<u8>> =
                whole.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")).map(<[u8]>::to_vec).collect();
            let (read, end) = in_pieces(pieces, 1000);
            prop_assert_eq!(read, expected);
            prop_assert_eq!(end, Line::Gone);
        }

        #[test]
        fn a_line_that_is_too_long_is_noticed_and_never_kept(length in 0usize..40) {
            let line = [vec![b'a'; length], vec![b'\n']].concat();
            let (read, end) = in_pieces(vec![line], 20);
            let fits = length < 20;
            prop_assert_eq!(read.len(), usize::from(fits));
            prop_assert_eq!(end == Line::TooLong, !fits);
        }
    }
}
