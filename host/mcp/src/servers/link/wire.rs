//! The stream between rmcp and a server: rmcp sees who answers what, and nothing of what is said.
//!
//! It must never give rmcp a text of the server or of whoever asked, and never stop for a line that is no message.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ClientNotification, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, RequestId, RequestMetaObject, ServerResult,
};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::flight::{Flight, Outcome, Sent, Slot, Whose};
use super::hello::{Hello, Kind};
use super::sift::{self, Body, Message, Sifted};
use crate::lines::{Ends, Line, Lines, MESSAGE_MAX};
use crate::servers::handle::Told;
use crate::servers::listing::{Dirty, List};
use crate::servers::raw::Raw;

/// How many messages may wait to be written: each is a request that waits for its answer, or an answer to the server.
const QUEUE: usize = 64;

/// How many notes of what a server did wrong are kept: enough to see what it is, however often it does it.
const NOTES_MAX: usize = 3;

/// What a server did that is no message, without any of its text.
#[derive(Default)]
pub(crate) struct Counts {
    junk: AtomicU64,
    notes: Mutex<Vec<String>>,
}

impl Counts {
    /// How often it did.
    pub(crate) fn junk(&self) -> u64 {
        self.junk.load(Ordering::Relaxed)
    }

    /// What it did first.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins anew, with a new process.
    pub(crate) fn clear(&self) {
        self.junk.store(0, Ordering::Relaxed);
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn count(&self, what: impl FnOnce() -> String) {
        self.junk.fetch_add(1, Ordering::Relaxed);
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < NOTES_MAX {
            notes.push(what());
        }
    }
}

/// Where a server is heard that speaks to nobody in particular.
#[derive(Clone)]
pub(crate) struct Ears {
    /// Logging and resource updates.
    pub(crate) told: broadcast::Sender<Told>,
    /// Lists that changed.
    pub(crate) dirty: Arc<Dirty>,
    /// What is no message.
    pub(crate) counts: Arc<Counts>,
}

/// Why nothing more comes of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The server closed its output, or ended.
    Output,
    /// It closed its input, or ended.
    Input,
    /// It did not read a request within the time it had.
    Deaf,
    /// It did not answer a ping.
    Silent,
    /// The host closed it.
    Closed,
}

/// What both directions of a link share.
pub(super) struct Shared {
    pub(super) flight: Flight,
    pub(super) hello: Mutex<Hello>,
    pub(super) ears: Ears,
    pub(super) ended: CancellationToken,
    loss: OnceLock<Loss>,
    /// Since when the message of now is being written.
    writing: Mutex<Option<Instant>>,
}

impl Shared {
    pub(super) fn new(ears: Ears) -> Arc<Self> {
        Arc::new(Self {
            flight: Flight::default(),
            hello: Mutex::default(),
            ears,
            ended: CancellationToken::new(),
            loss: OnceLock::new(),
            writing: Mutex::new(None),
        })
    }

    /// For how long the server has not taken the message that is being written.
    pub(super) fn stuck_for(&self) -> Duration {
        let writing = *self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        writing.map(|since| since.elapsed()).unwrap_or_default()
    }

    fn set_writing(&self, since: Option<Instant>) {
        *self.writing.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// Nothing more comes of this link. The first reason stays.
    pub(super) fn lose(&self, loss: Loss) {
        self.loss.get_or_init(|| loss);
        self.ended.cancel();
    }

    pub(super) fn loss(&self) -> Option<Loss> {
        self.loss.get().copied()
    }

    fn hello<T>(&self, act: impl FnOnce(&mut Hello) -> T) -> T {
        act(&mut self.hello.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What travels beside a request or a notification: its params, and the slot of the answer.
#[derive(Clone)]
pub(super) struct Beside {
    pub(super) params: Arc<Map<String, Value>>,
    pub(super) slot: Option<Arc<Slot>>,
}

/// A message that waits to be written.
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    slot: Option<Arc<Slot>>,
    done: Option<oneshot::Sender<io::Result<()>>>,
}

/// What is to be written, in order.
pub(super) fn queue() -> (mpsc::Sender<Outgoing>, mpsc::Receiver<Outgoing>) {
    mpsc::channel(QUEUE)
}

/// Writes what comes, until the server takes no more. Dropping the future is the end of the server's input.
pub(super) async fn write<W: AsyncWrite + Unpin>(mut to: W, mut queue: mpsc::Receiver<Outgoing>, shared: Arc<Shared>) {
    while let Some(Outgoing { bytes, slot, done }) = queue.recv().await {
        let taken_back = slot.as_ref().is_some_and(|slot| !slot.begin());
        let mut written = Ok(());
        if !taken_back {
            shared.set_writing(Some(Instant::now()));
            written = async {
                to.write_all(&bytes).await?;
                to.flush().await
            }
            .await;
            shared.set_writing(None);
        }
        let over = written.is_err();
        if let Some(slot) = slot.filter(|_| !over) {
            slot.is_written();
        }
        if let Some(done) = done {
            // Whoever asked may have given up.
            let _ = done.send(written);
        }
        if over {
            // The answers to what was written before may still be on their way out of it: reading goes on for them.
            return shared.lose(Loss::Input);
        }
    }
}

/// The transport that rmcp is given. Cloning it gives another end of the same stream.
pub(super) struct Wire<R> {
    reading: Arc<tokio::sync::Mutex<Reading<R>>>,
    out: mpsc::Sender<Outgoing>,
    shared: Arc<Shared>,
}

impl<R> Clone for Wire<R> {
    fn clone(&self) -> Self {
        Self { reading: Arc::clone(&self.reading), out: self.out.clone(), shared: Arc::clone(&self.shared) }
    }
}

struct Reading<R> {
    lines: Lines<R>,
    ready: VecDeque<RxJsonRpcMessage<RoleClient>>,
}

impl<R: AsyncRead + Unpin + Send> Wire<R> {
    pub(super) fn new(read: R, out: mpsc::Sender<Outgoing>, shared: Arc<Shared>) -> Self {
        let reading = Reading { lines: Lines::new(read, MESSAGE_MAX), ready: VecDeque::new() };
        Self { reading: Arc::new(tokio::sync::Mutex::new(reading)), out, shared }
    }

    fn take(&self, line: Line, ready: &mut VecDeque<RxJsonRpcMessage<RoleClient>>) {
        let counts = &self.shared.ears.counts;
        match line {
            Line::Gone => self.shared.lose(Loss::Output),
            Line::TooLong(Ends { head, tail, .. }) => {
                counts.count(|| format!("a message longer than {} MiB", MESSAGE_MAX >> 20));
                match sift::answered(&head, &tail) {
                    Some(id) => ready.extend(self.answer(id, Outcome::Lost)),
                    None if sift::asks_or_tells(&head) => {}
                    // Nobody knows whose answer it was, and nobody is to wait for it in vain.
                    None => ready.extend(self.shared.flight.lose_all().into_iter().map(acknowledged)),
                }
            }
            Line::Whole(line) => match sift::sift(&line) {
                Sifted::Blank => {}
                Sifted::Junk { meant_for } => {
                    counts.count(|| format!("a line of {} bytes that is no message", line.len()));
                    ready.extend(meant_for.and_then(|id| self.answer(id, Outcome::Lost)));
                }
                Sifted::Messages(messages) => {
                    // The text of a long answer is not held beside what was read of it.
                    drop(line);
                    ready.extend(messages.into_iter().filter_map(|message| self.message(message)));
                }
            },
        }
    }

    /// What rmcp gets of a message; none: nothing.
    fn message(&self, message: Message) -> Option<RxJsonRpcMessage<RoleClient>> {
        match message {
            Message::Answer { id: None, .. } => {
                self.shared.ears.counts.count(|| "an answer to no request".to_owned());
                None
            }
            Message::Answer { id: Some(id), body } => self.answer(
                id,
                match body {
                    Body::Result(raw) => Outcome::Answer(raw),
                    Body::Error { code, error } => Outcome::Refused { code, error },
                },
            ),
            Message::Request { id, ping } => {
                // Nothing else was announced. A server that does not read its answers gets none.
                let answer = if ping {
                    json!({"jsonrpc": "2.0", "id": id, "result": {}})
                } else {
                    let error = json!({"code": ErrorCode::METHOD_NOT_FOUND, "message": "Method not found"});
                    json!({"jsonrpc": "2.0", "id": id, "error": error})
                };
                let bytes = line_of(&answer).unwrap_or_default();
                let _ = self.out.try_send(Outgoing { bytes, slot: None, done: None });
                None
            }
            Message::Notification { method, params } => {
                self.notified(method, params);
                None
            }
        }
    }

    fn answer(&self, id: i64, outcome: Outcome) -> Option<RxJsonRpcMessage<RoleClient>> {
        if let Some(kind) = self.shared.hello(|hello| hello.is_asked(id)) {
            return Some(self.shared.hello(|hello| hello.answered(kind, id, outcome)));
        }
        match self.shared.flight.answer(id, outcome) {
            Whose::Waiting => Some(acknowledged(id)),
            Whose::Late => None,
            Whose::Nobody => {
                self.shared.ears.counts.count(|| "an answer to no request, or a second one".to_owned());
                None
            }
        }
    }

    fn notified(&self, method: String, mut params: Value) {
        let ears = &self.shared.ears;
        match method.as_str() {
            "notifications/progress" => {
                let token = params.as_object_mut().and_then(|params| params.remove("progressToken"));
                let slot = token.as_ref().and_then(sift::own_id).and_then(|id| self.shared.flight.slot(id));
                if let Some(slot) = slot {
                    slot.alive.notify_one();
                    if let Some(progress) = &slot.progress {
                        // Whoever is slow to hear of it hears of the next.
                        let _ = progress.try_send(Raw::of(params));
                    }
                }
            }
            "notifications/tools/list_changed" => ears.dirty.mark(List::Tools),
            "notifications/prompts/list_changed" => ears.dirty.mark(List::Prompts),
            "notifications/resources/list_changed" => {
                ears.dirty.mark(List::Resources);
                ears.dirty.mark(List::Templates);
            }
            "notifications/message" | "notifications/resources/updated" => {
                // Nobody may be listening.
                let _ = ears.told.send(Told { method, params: Raw::of(params) });
            }
            _ => {}
        }
    }

    fn bytes_of(&self, message: TxJsonRpcMessage<RoleClient>) -> serde_json::Result<Option<Outgoing>> {
        let outgoing = |bytes, slot| Some(Outgoing { bytes, slot, done: None });
        Ok(match message {
            JsonRpcMessage::Request(mut message) => match &mut message.request {
                ClientRequest::CustomRequest(request) => {
                    let Some(Beside { params, slot }) = request.extensions.remove() else { return Ok(None) };
                    let mut meta = request.extensions.remove::<RequestMetaObject>().map(meta_of).unwrap_or_default();
                    meta.shift_remove("progressToken");
                    let RequestId::Number(id) = message.id else { return Ok(None) };
                    if let Some(slot) = &slot {
                        if slot.sent() == Sent::Withdrawn {
                            return Ok(None);
                        }
                        if slot.progress.is_some() {
                            meta.insert("progressToken".to_owned(), id.into());
                        }
                        self.shared.flight.begin(id, Arc::clone(slot));
                    }
                    let params = Params { params: &params, meta };
                    outgoing(line_of(&Written { id: Some(id), method: &request.method, params })?, slot)
                }
                request => {
                    let kind = match request {
                        ClientRequest::InitializeRequest(_) => Some(Kind::Initialize),
                        ClientRequest::DiscoverRequest(_) => Some(Kind::Discover),
                        _ => None,
                    };
                    if let (Some(kind), RequestId::Number(id)) = (kind, &message.id) {
                        self.shared.hello(|hello| hello.asks(kind, *id));
                    }
                    outgoing(line_of(&message)?, None)
                }
            },
            JsonRpcMessage::Notification(mut message) => match &mut message.notification {
                ClientNotification::CustomNotification(told) => {
                    let Some(Beside { params, .. }) = told.extensions.remove() else { return Ok(None) };
                    let params = Params { params: &params, meta: Map::new() };
                    outgoing(line_of(&Written { id: None, method: &told.method, params })?, None)
                }
                ClientNotification::CancelledNotification(cancelled) => {
                    let id = match &cancelled.params.request_id {
                        Some(RequestId::Number(id)) => *id,
                        _ => return Ok(None),
                    };
                    // What was never written, and what was answered, needs no end.
                    if self.shared.flight.is_abandoned(id) { outgoing(line_of(&message)?, None) } else { None }
                }
                _ => outgoing(line_of(&message)?, None),
            },
            message => outgoing(line_of(&message)?, None),
        })
    }
}

fn acknowledged(id: i64) -> RxJsonRpcMessage<RoleClient> {
    JsonRpcMessage::response(ServerResult::empty(()), RequestId::Number(id))
}

/// An error as rmcp may see it: its code, and versions of the protocol.
pub(super) fn refused(id: i64, code: i64, versions: &[&str]) -> RxJsonRpcMessage<RoleClient> {
    let code = ErrorCode(i32::try_from(code).unwrap_or(ErrorCode::INTERNAL_ERROR.0));
    let data = (!versions.is_empty()).then(|| json!({"supported": versions}));
    JsonRpcMessage::error(ErrorData::new(code, "refused", data), Some(RequestId::Number(id)))
}

fn meta_of(meta: RequestMetaObject) -> Map<String, Value> {
    match serde_json::to_value(meta) {
        Ok(Value::Object(meta)) => meta,
        _ => Map::new(),
    }
}

fn line_of(message: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// A request or a notification as it is written.
struct Written<'a> {
    id: Option<i64>,
    method: &'a str,
    params: Params<'a>,
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("jsonrpc", "2.0")?;
        if let Some(id) = self.id {
            map.serialize_entry("id", &id)?;
        }
        map.serialize_entry("method", self.method)?;
        if !(self.params.params.is_empty() && self.params.meta.is_empty()) {
            map.serialize_entry("params", &self.params)?;
        }
        map.end()
    }
}

/// Params, and what is added to their `_meta`.
struct Params<'a> {
    params: &'a Map<String, Value>,
    meta: Map<String, Value>,
}

impl Serialize for Params<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.meta.is_empty() {
            return self.params.serialize(serializer);
        }
        let mut meta = self.params.get("_meta").and_then(Value::as_object).cloned().unwrap_or_default();
        meta.extend(self.meta.clone());
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.params.iter().filter(|(name, _)| *name != "_meta") {
            map.serialize_entry(name, value)?;
        }
        map.serialize_entry("_meta", &meta)?;
        map.end()
    }
}

impl<R: AsyncRead + Unpin> Wire<R> {
    /// Reads on when nobody is interested any more, so that a server that is ending is not stopped by what it still says.
    pub(super) async fn drain(self) {
        let mut reading = self.reading.lock().await;
        while !matches!(reading.lines.next().await, Line::Gone) {}
    }
}

impl<R: AsyncRead + Unpin + Send + 'static> Transport<RoleClient> for Wire<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let outgoing = self.bytes_of(message);
        let out = self.out.clone();
        async move {
            let Some(mut outgoing) = outgoing? else { return Ok(()) };
            let (done, written) = oneshot::channel();
            outgoing.done = Some(done);
            out.send(outgoing).await.map_err(|_| io::ErrorKind::BrokenPipe)?;
            written.await.unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let reading = Arc::clone(&self.reading);
        let mut reading = reading.lock().await;
        loop {
            if let Some(message) = reading.ready.pop_front() {
                return Some(message);
            }
            let line = reading.lines.next().await;
            let gone = matches!(line, Line::Gone);
            self.take(line, &mut reading.ready);
            if gone {
                return None;
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // Whoever owns the link ends the writer, and with it the input of the server.
        Ok(())
    }
}
