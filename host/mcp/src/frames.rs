//! Messages on a stream of bytes: one JSON text a line, of bounded length.
//!
//! What a client asks with never stands in the message itself: it travels beside it, in [`Params`] and [`Arguments`], which
//! nothing can print, so whatever rmcp writes to the log holds none. It must never log a line it read, nor a part of one.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ClientResult, CustomRequest, CustomResult, ErrorCode,
    ErrorData, GetMeta, JsonObject, JsonRpcMessage, RequestId, RequestMetaObject,
};
use rmcp::service::{RoleClient, RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The longest message a client may send, in bytes: far more than any command, and little enough to hold one of each
/// session at once. rmcp has the same number for its own transports.
pub(crate) const REQUEST_MAX: usize = 16 << 20;
/// The longest message a host may answer with, in bytes: the largest reply that can be configured (64 MiB), twice, as
/// text and as structure, with room for escapes.
pub(crate) const ANSWER_MAX: usize = 256 << 20;

/// How long a client may read nothing while something is written to it: longer than any pause of a program that lives, and
/// soon enough that what waits for it does not pile up.
const STALLED: Duration = Duration::from_secs(30);

/// The arguments of a call on their way to a host, raw: no `Debug`, no `Display`.
#[derive(Clone)]
pub(crate) struct Arguments(pub(crate) JsonObject);

/// The params of a request as a client sent them, raw: no `Debug`, no `Display`.
#[derive(Clone)]
pub(crate) struct Params(pub(crate) JsonObject);

/// What came of reading.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A whole line is in the buffer, its end included.
    Whole,
    /// It is longer than it may be.
    TooLong,
    /// The other end is gone.
    Gone,
}

/// Reads and writes lines of bounded length.
pub(crate) struct Lines<R, W> {
    read: BufReader<R>,
    pub(crate) line: Vec<u8>,
    max: usize,
    write: Arc<Mutex<Option<W>>>,
}

impl<R: AsyncRead + Unpin + 'static, W: AsyncWrite + Unpin + Send + 'static> Lines<R, W> {
    pub(crate) fn new(read: R, write: W, max: usize) -> Self {
        Self { read: BufReader::new(read), line: Vec::new(), max, write: Arc::new(Mutex::new(Some(write))) }
    }

    /// Reads up to the end of the line. May be dropped and called again: nothing that was read is lost.
    pub(crate) async fn line(&mut self) -> Line {
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
        let bytes = line_of(message);
        async move {
            let bytes = bytes?;
            let mut write = write.lock().await;
            let write = write.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            put(write, &bytes, STALLED).await
        }
    }

    fn close(&self) {
        // What is being written now is for nobody: without the lock in hand the stream is dropped with the session.
        if let Ok(mut write) = self.write.try_lock() {
            *write = None;
        }
    }
}

/// A message as one line. rmcp writes the params of a notification that has none as `null`, which JSON-RPC does not know
/// and strict clients refuse: they are left out.
fn line_of(message: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    const NO_PARAMS: &[u8] = br#","params":null}"#;
    let mut bytes = serde_json::to_vec(message)?;
    if bytes.ends_with(NO_PARAMS) {
        bytes.truncate(bytes.len() - NO_PARAMS.len());
        bytes.push(b'}');
    }
    bytes.push(b'\n');
    Ok(bytes)
}

/// Writes all of it, as long as the other end takes some of it from time to time.
async fn put<W: AsyncWrite + Unpin>(write: &mut W, mut bytes: &[u8], patience: Duration) -> io::Result<()> {
    let stalled = |_| io::Error::from(io::ErrorKind::TimedOut);
    while !bytes.is_empty() {
        match tokio::time::timeout(patience, write.write(bytes)).await.map_err(stalled)?? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            taken => bytes = &bytes[taken..],
        }
    }
    tokio::time::timeout(patience, write.flush()).await.map_err(stalled)?
}

/// The host's end of a connection.
pub(crate) struct ServerFrames<R, W> {
    lines: Lines<R, W>,
    gone: CancellationToken,
    /// The answer to a line that is no message, while it is written. Reading may be broken off at any time, and writing
    /// must not: half a line would be the end of the session.
    refusing: Option<JoinHandle<bool>>,
}

impl<R: AsyncRead + Unpin + 'static, W: AsyncWrite + Unpin + Send + 'static> ServerFrames<R, W> {
    /// Reads and writes messages. `gone` is cancelled as soon as the client is gone, so that nobody works for it any
    /// longer.
    pub(crate) fn new(read: R, write: W, gone: CancellationToken) -> Self {
        Self { lines: Lines::new(read, write, REQUEST_MAX), gone, refusing: None }
    }

    async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            // A client that sends nonsense and reads nothing is waited for, so that its answers do not pile up.
            if let Some(refusing) = &mut self.refusing {
                let is_read = refusing.await.unwrap_or(false);
                self.refusing = None;
                if !is_read {
                    return None;
                }
            }
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
            let text = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
            if text.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice(text).ok().and_then(served) {
                Some(Served::Message(message)) => return Some(*message),
                Some(Served::Nothing) => {}
                // One bad line is no reason to end everything the client has running.
                None => {
                    tracing::warn!(bytes = line.len(), "a client sent a line that is no message");
                    self.refusing = Some(tokio::spawn(refuse(Arc::clone(&self.lines.write))));
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

/// What some programs write in front of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// The answer to a line that is no message: rmcp would leave out the id, which JSON-RPC wants as `null` then.
const NO_MESSAGE: &str =
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"this is no JSON-RPC message\"}}\n";

/// Answers a line that is no message. False: the client does not read.
async fn refuse<W: AsyncWrite + Unpin>(write: Arc<Mutex<Option<W>>>) -> bool {
    let mut write = write.lock().await;
    let Some(write) = write.as_mut() else { return false };
    put(write, NO_MESSAGE.as_bytes(), STALLED).await.is_ok()
}

/// How long a client that broke the protocol may take to read that it did.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What becomes of a line.
enum Served {
    /// It is handed on.
    Message(Box<ClientJsonRpcMessage>),
    /// Nothing is to be done about it.
    Nothing,
}

/// A message as it is handed on: what it is about travels beside it. None: it is none.
fn served(value: Value) -> Option<Served> {
    let Value::Object(mut object) = value else { return None };
    let method = object.get("method").and_then(Value::as_str).map(str::to_owned);
    let message = match (method, object.contains_key("id")) {
        (Some(method), true) => asked(&method, object)?,
        (Some(method), false) => return told(&method, object),
        // The answer to something this host asked: only what was decided is of interest, and a code.
        (None, _) => {
            let id = serde_json::from_value::<RequestId>(object.remove("id")?).ok()?;
            match (object.remove("result"), object.remove("error")) {
                (Some(result), _) => {
                    let action =
                        result.get("action").and_then(Value::as_str).filter(|action| DECISIONS.contains(action));
                    let result = CustomResult::new(json!({"action": action}));
                    JsonRpcMessage::response(ClientResult::CustomResult(result), id)
                }
                (None, Some(error)) => {
                    let code = error.get("code").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
                    let code = code.map_or(ErrorCode::INTERNAL_ERROR, ErrorCode);
                    JsonRpcMessage::error(ErrorData::new(code, "the client refused", None), Some(id))
                }
                (None, None) => return None,
            }
        }
    };
    Some(Served::Message(Box::new(message)))
}

/// What a person may answer to a question (the actions of an elicitation).
const DECISIONS: [&str; 3] = ["accept", "decline", "cancel"];
/// The requests that rmcp serves itself: the handshake and signs of life. They hold nothing of a person's.
const HANDSHAKES: [&str; 3] = ["initialize", "ping", "server/discover"];

fn asked(method: &str, mut object: Map<String, Value>) -> Option<ClientJsonRpcMessage> {
    if HANDSHAKES.contains(&method) {
        return serde_json::from_value(Value::Object(object)).ok();
    }
    let id = serde_json::from_value::<RequestId>(object.remove("id")?).ok()?;
    let params = match object.remove("params") {
        Some(Value::Object(params)) => params,
        None | Some(Value::Null) => Map::new(),
        Some(_) => return None,
    };
    let shown = method.chars().filter(|c| !c.is_control()).take(METHOD_SHOWN).collect::<String>();
    let mut request = CustomRequest::new(shown, None);
    *request.get_meta_mut() = meta_of(&params);
    request.extensions.insert(Params(params));
    Some(JsonRpcMessage::request(ClientRequest::CustomRequest(request), id))
}

/// What the protocol itself needs of `_meta`.
fn meta_of(params: &Map<String, Value>) -> RequestMetaObject {
    let mut meta = params.get("_meta").and_then(Value::as_object).cloned().unwrap_or_default();
    meta.retain(|key, _| key.starts_with("io.modelcontextprotocol/"));
    serde_json::from_value(Value::Object(meta)).unwrap_or_default()
}

fn told(method: &str, object: Map<String, Value>) -> Option<Served> {
    if !["notifications/cancelled", "notifications/initialized"].contains(&method) {
        return Some(Served::Nothing);
    }
    let mut message = serde_json::from_value::<ClientJsonRpcMessage>(Value::Object(object)).ok()?;
    if let JsonRpcMessage::Notification(notification) = &mut message {
        match &mut notification.notification {
            ClientNotification::CancelledNotification(cancelled) => cancelled.params.reason = None,
            ClientNotification::InitializedNotification(_) => {}
            _ => return Some(Served::Nothing),
        }
    }
    Some(Served::Message(Box::new(message)))
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
        let (sent, gone) = (self.lines.send(&message), self.gone.clone());
        async move {
            let sent = sent.await;
            // Who does not read what is written is as good as gone.
            if sent.is_err() {
                gone.cancel();
            }
            sent
        }
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

    fn parsed(value: Value) -> Option<ClientJsonRpcMessage> {
        match served(value) {
            Some(Served::Message(message)) => Some(*message),
            Some(Served::Nothing) => None,
            None => panic!("no message"),
        }
    }

    #[tokio::test]
    async fn an_answer_to_nonsense_is_written_whole_though_reading_is_broken_off() {
        let (mut theirs, ours) = duplex(4096);
        let (read, write) = tokio::io::split(ours);
        let mut frames = ServerFrames::new(read, write, CancellationToken::new());
        theirs.write_all(b"not json\n").await.unwrap();
        // Something else is being written, and rmcp turns to it.
        let held = Arc::clone(&frames.lines.write).lock_owned().await;
        {
            let mut next = std::pin::pin!(frames.next());
            std::future::poll_fn(|context| {
                assert!(next.as_mut().poll(context).is_pending());
                std::task::Poll::Ready(())
            })
            .await;
        }
        drop(held);
        let mut said = vec![0; NO_MESSAGE.len()];
        theirs.read_exact(&mut said).await.unwrap();
        assert_eq!(said, NO_MESSAGE.as_bytes());
    }

    #[test]
    fn a_notification_without_params_is_written_without_them() {
        let changed = rmcp::model::ServerNotification::ToolListChangedNotification(Default::default());
        let message: TxJsonRpcMessage<RoleServer> = JsonRpcMessage::notification(changed);
        let written: Value = serde_json::from_slice(&line_of(&message).unwrap()).unwrap();
        assert_eq!(written, json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
        let kept = json!({"jsonrpc": "2.0", "id": 1, "result": {"params": null}});
        assert_eq!(serde_json::from_slice::<Value>(&line_of(&kept).unwrap()).unwrap(), kept);
    }

    #[test]
    fn what_is_asked_with_is_nowhere_in_what_can_be_logged() {
        for method in ["tools/call", "prompts/get", "resources/read", "completion/complete", "no/such/method"] {
            let params = json!({"name": "hunter2", "uri": "hunter2:hunter2", "arguments": {"command": "echo hunter2"},
                "_meta": {"x": "hunter2", "progressToken": "hunter2"}});
            let message = parsed(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).unwrap();
            let shown = format!("{message:?}");
            assert!(shown.contains(method) && !shown.contains("hunter2"), "{shown}");
            let JsonRpcMessage::Request(request) = message else { panic!("a request") };
            let ClientRequest::CustomRequest(mut request) = request.request else { panic!("handed on as it came") };
            assert_eq!(Value::Object(request.extensions.remove::<Params>().unwrap().0), params);
        }
    }

    #[test]
    fn of_what_is_told_only_what_hermes_serves_is_handed_on() {
        let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": 1, "reason": "hunter2"}});
        assert!(!format!("{:?}", parsed(cancelled).unwrap()).contains("hunter2"));
        let other = json!({"jsonrpc": "2.0", "method": "notifications/other", "params": {"x": "hunter2"}});
        assert!(parsed(other).is_none());
    }

    #[test]
    fn of_an_answer_to_a_question_the_decision_is_handed_on_and_nothing_else() {
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"action": "accept", "content": {"x": "hunter2"}}});
        let shown = format!("{:?}", parsed(answer).unwrap());
        assert!(shown.contains("accept") && !shown.contains("hunter2"), "{shown}");
        let refused = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "hunter2"}});
        let shown = format!("{:?}", parsed(refused).unwrap());
        assert!(shown.contains("-32601") && !shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn what_is_no_message_is_none() {
        for odd in [
            json!([]),
            json!({}),
            json!({"id": 1}),
            json!({"id": {}, "method": "tools/list"}),
            json!({"id": 1, "method": "tools/list", "params": 5}),
        ] {
            assert!(served(odd.clone()).is_none(), "{odd}");
        }
    }

    #[tokio::test]
    async fn a_client_that_reads_nothing_is_given_up_and_one_that_reads_slowly_is_not() {
        let (mut ours, _theirs) = duplex(16);
        let error = put(&mut ours, &[0; 100], Duration::from_millis(20)).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let (mut ours, mut theirs) = duplex(16);
        let read = tokio::spawn(async move {
            let mut bytes = Vec::new();
            theirs.read_to_end(&mut bytes).await.map(|_| bytes.len())
        });
        put(&mut ours, &[0; 100], STALLED).await.unwrap();
        drop(ours);
        assert_eq!(read.await.unwrap().unwrap(), 100);
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
