//! What is done about each request of HTTP.
//!
//! It must never hand on a part of a body it refuses.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::time::{Interval, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::event::{self, EventId};
use super::gate;
use super::message::{Kind, Message, Messages, Method as Called};
use super::outbox::{Read, Reader};
use super::refusal::{Refusal, VERSIONS};
use super::server::HttpOptions;
use super::session::handle::Session;
use super::session::state::Posted;
use super::streams::{SessionId, Streams};
use crate::frames::REQUEST_MAX;

/// The header that names the session.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The header that names the version of the protocol.
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The header that names the event to go on from.
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// How long an answer may take to be sent as it is. What takes longer, or says something first, becomes a stream.
const AT_ONCE: Duration = Duration::from_millis(50);
/// How long a body may take to come.
const BODY: Duration = Duration::from_secs(60);
/// From this version on, clients take an event that says nothing.
const PRIMED_SINCE: &str = "2025-11-25";

/// The body of an answer: a text, or a stream of events.
pub(super) type Answer = Either<Full<Bytes>, Events>;

/// What makes the streams of a new session.
pub(super) type Connect = dyn Fn(SessionId) -> Streams + Send + Sync;

struct Known {
    session: Session,
    primed: bool,
}

/// The one place of the server.
pub(super) struct Endpoint {
    options: HttpOptions,
    connect: Box<Connect>,
    sessions: Mutex<HashMap<SessionId, Arc<Known>>>,
    ending: CancellationToken,
}

impl Endpoint {
    pub(super) fn new(options: HttpOptions, connect: Box<Connect>, ending: CancellationToken) -> Arc<Self> {
        Arc::new(Self { options, connect, sessions: Mutex::default(), ending })
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Known>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request.
    pub(super) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Answer> {
        let (head, body) = request.into_parts();
        let entered =
            gate::let_in(&head.method, &head.uri, &head.headers, self.options.path, self.options.token.as_ref());
        let answered = match (entered, head.method) {
            (Err(refusal), _) => Err(refusal),
            (Ok(()), Method::POST) => self.post(&head.headers, body).await,
            (Ok(()), Method::GET) => self.get(&head.headers).await,
            (Ok(()), _) => self.delete(&head.headers).await,
        };
        answered.unwrap_or_else(Refusal::response)
    }

    async fn post(self: &Arc<Self>, headers: &HeaderMap, body: Incoming) -> Result<Response<Answer>, Refusal> {
        if !gate::accepts(headers, "application/json") || !gate::accepts(headers, "text/event-stream") {
            return Err(Refusal::NotAcceptable);
        }
        if !gate::is_json(headers) {
            return Err(Refusal::MediaType);
        }
        let Messages { messages, batch } = Messages::parse(&whole(headers, body).await?)?;
        let (id, known) = match begins(&messages) {
            Some(version) if !headers.contains_key(&SESSION) => {
                if batch {
                    return Err(Refusal::Handshake);
                }
                self.make_room().await;
                self.begin(version)?
            }
            _ => self.named(headers).await?,
        };
        let posted = known.session.post(messages).await?;
        let mut response = match posted {
            Posted::Taken => {
                let mut response = Response::new(Either::Left(Full::default()));
                *response.status_mut() = StatusCode::ACCEPTED;
                response
            }
            Posted::Answers(mut reader) => match tokio::time::timeout(AT_ONCE, reader.answers()).await {
                Ok(Some(answers)) => together(&answers, batch),
                Ok(None) | Err(_) => self.stream(reader, known.primed, false),
            },
        };
        name(&mut response, &id);
        Ok(response)
    }

    async fn get(&self, headers: &HeaderMap) -> Result<Response<Answer>, Refusal> {
        if !gate::accepts(headers, "text/event-stream") {
            return Err(Refusal::NotAcceptable);
        }
        let (id, known) = self.named(headers).await?;
        let after = match headers.get(&LAST_EVENT) {
            None => None,
            Some(value) => Some(value.to_str().ok().and_then(EventId::parse).ok_or(Refusal::NoEvent)?),
        };
        let reader = known.session.get(after).await?;
        let mut response = self.stream(reader, known.primed, after.is_some());
        name(&mut response, &id);
        Ok(response)
    }

    async fn delete(&self, headers: &HeaderMap) -> Result<Response<Answer>, Refusal> {
        let (id, known) = self.named(headers).await?;
        self.sessions().remove(&id);
        known.session.end().await;
        Ok(Response::new(Either::Left(Full::default())))
    }

    fn stream(&self, reader: Reader, primed: bool, resumed: bool) -> Response<Answer> {
        let first = (primed && !resumed).then(|| event::priming(reader.place()));
        let mut response = Response::new(Either::Right(Events::new(reader, first, self.options.beat)));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
        response
    }

    /// Where there are as many sessions as there may be, ends the one that was left alone for the longest time: many
    /// clients go without a word. One that is in use, or was a moment ago, stays.
    async fn make_room(&self) {
        let all: Vec<_> = {
            let sessions = self.sessions();
            if sessions.len() < self.options.sessions_max {
                return;
            }
            sessions.iter().map(|(id, known)| (id.clone(), Arc::clone(known))).collect()
        };
        let mut spare = None;
        for (id, known) in all {
            let Some(since) = known.session.spare().await else { continue };
            if since.elapsed() >= self.options.spare && spare.as_ref().is_none_or(|(_, _, oldest)| since < *oldest) {
                spare = Some((id, known, since));
            }
        }
        if let Some((id, known, _)) = spare {
            tracing::debug!("a session that was left alone makes room for a new one");
            self.sessions().remove(&id);
            known.session.end().await;
        }
    }

    /// Begins a session with a client that asks for `version`.
    fn begin(self: &Arc<Self>, version: &str) -> Result<(SessionId, Arc<Known>), Refusal> {
        let id = SessionId::random().map_err(|_| Refusal::System)?;
        let (known, over) = {
            let mut sessions = self.sessions();
            if self.ending.is_cancelled() || sessions.len() >= self.options.sessions_max {
                return Err(Refusal::Full);
            }
            let streams = (self.connect)(id.clone());
            let (session, over) = Session::start(streams, self.options.idle, self.ending.clone());
            // Versions are dates.
            let known = Arc::new(Known { session, primed: version >= PRIMED_SINCE });
            sessions.insert(id.clone(), Arc::clone(&known));
            (known, over)
        };
        let (endpoint, ended) = (Arc::clone(self), id.clone());
        tokio::spawn(async move {
            if over.await.is_err() {
                tracing::error!("a session broke down; the others go on");
            }
            endpoint.sessions().remove(&ended);
        });
        Ok((id, known))
    }

    /// The session a request names, if it speaks the version the request names.
    async fn named(&self, headers: &HeaderMap) -> Result<(SessionId, Arc<Known>), Refusal> {
        let wanted = headers.get(&SESSION).ok_or(Refusal::NoSessionNamed)?.as_bytes();
        let found = {
            let sessions = self.sessions();
            let found = sessions.iter().find(|(id, _)| id.as_str().as_bytes() == wanted);
            found.map(|(id, known)| (id.clone(), Arc::clone(known)))
        };
        let (id, known) = found.ok_or(Refusal::NoSession)?;
        if let Some(version) = headers.get(&VERSION) {
            let version = version.to_str().map_err(|_| Refusal::Version)?;
            if !VERSIONS.contains(&version) && !known.session.speaks(version).await? {
                return Err(Refusal::Version);
            }
        }
        Ok((id, known))
    }
}

/// The version a client begins with, if this begins a session.
fn begins(messages: &[Message]) -> Option<&str> {
    messages.iter().find_map(|message| match &message.kind {
        Kind::Request { method: Called::Initialize(version), .. } => Some(version.as_str()),
        _ => None,
    })
}

/// The whole body, if it is short enough and comes in time.
async fn whole(headers: &HeaderMap, body: Incoming) -> Result<Bytes, Refusal> {
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > REQUEST_MAX as u64) {
        return Err(Refusal::TooLong);
    }
    let collected = tokio::time::timeout(BODY, Limited::new(body, REQUEST_MAX).collect()).await;
    match collected.map_err(|_| Refusal::TooSlow)? {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(Refusal::TooLong),
        // The client is gone, or its chunks are none.
        Err(_) => Err(Refusal::NoJson),
    }
}

/// Answers that are all there, as JSON.
fn together(answers: &[Bytes], batch: bool) -> Response<Answer> {
    let body = match answers {
        [answer] if !batch => answer.clone(),
        answers => Bytes::from([b"[", answers.join(&b',').as_slice(), b"]"].concat()),
    };
    let mut response = Response::new(Either::Left(Full::new(body)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn name(response: &mut Response<Answer>, id: &SessionId) {
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        response.headers_mut().insert(SESSION, value);
    }
}

type Reading = Pin<Box<dyn Future<Output = (Reader, Read)> + Send>>;

/// A stream of events, with a beat where nothing happens.
pub(super) struct Events {
    first: Option<Bytes>,
    stream: u64,
    reading: Option<Reading>,
    beat: Interval,
}

fn next(mut reader: Reader) -> Reading {
    Box::pin(async move {
        let read = reader.next().await;
        (reader, read)
    })
}

impl Events {
    fn new(reader: Reader, first: Option<Bytes>, beat: Duration) -> Self {
        let mut beat = tokio::time::interval_at(tokio::time::Instant::now() + beat, beat);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { first, stream: reader.stream(), reading: Some(next(reader)), beat }
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = |bytes| Poll::Ready(Some(Ok(Frame::data(bytes))));
        if let Some(first) = self.first.take() {
            return frame(first);
        }
        let Some(reading) = &mut self.reading else { return Poll::Ready(None) };
        if let Poll::Ready((reader, read)) = reading.as_mut().poll(cx) {
            return match read {
                Read::Over => {
                    self.reading = None;
                    Poll::Ready(None)
                }
                Read::Said(said) => {
                    self.reading = Some(next(reader));
                    self.beat.reset();
                    frame(event::message(EventId { stream: self.stream, event: said.event }, &said.line))
                }
            };
        }
        match self.beat.poll_tick(cx) {
            Poll::Ready(_) => frame(Bytes::from_static(event::BEAT)),
            Poll::Pending => Poll::Pending,
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
