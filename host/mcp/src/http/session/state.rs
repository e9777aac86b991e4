//! Which message goes where.
//!
//! An answer goes to the stream of its request, and so does progress. What asks or tells something while a request is being
//! answered goes there too: a tool that asks its client something asks in the middle of a call. What remains goes to the
//! stream that is opened by GET, and waits for it. It must never hand one message to two streams.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use tokio::time::Instant;

use crate::http::event::EventId;
use crate::http::message::{Key, Kind, Message, Method};
use crate::http::outbox::{Outbox, Reader};
use crate::http::refusal::Refusal;

/// How many requests of one client may be without an answer: far more than any agent makes at once.
const OPEN_MAX: usize = 256;
/// How many streams that are over are kept for a client that did not read their end.
const OVER_MAX: usize = 16;
/// How many bytes of them are kept.
const OVER_BYTES_MAX: usize = 8 << 20;
/// How long a peer may still answer a request that was given up. Many never do, and the stream must end.
const LAST_ANSWER: Duration = Duration::from_secs(2);
/// The number of the stream that is opened by GET.
const STANDING: u64 = 0;

/// What came of messages of a client.
pub(in crate::http) enum Posted {
    /// None of them wants an answer.
    Taken,
    /// This is where the answers will be.
    Answers(Reader),
}

/// What is to be done after a message of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Go on.
    On,
    /// The session never came to be: end it.
    End,
}

/// A request of the client that has no answer yet.
struct Open {
    stream: u64,
    progress: Option<Key>,
    first: bool,
    given_up: Option<Instant>,
}

/// Everything a session knows.
pub(super) struct State {
    open: HashMap<Key, Open>,
    progress: HashMap<Key, u64>,
    posts: BTreeMap<u64, Arc<Outbox>>,
    over: VecDeque<Arc<Outbox>>,
    standing: Arc<Outbox>,
    streams: u64,
    begun: bool,
    version: Option<String>,
    active: Instant,
}

impl State {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            open: HashMap::new(),
            progress: HashMap::new(),
            posts: BTreeMap::new(),
            over: VecDeque::new(),
            standing: Outbox::new(STANDING),
            streams: STANDING,
            begun: false,
            version: None,
            active: now,
        }
    }

    /// The client sends messages. Refused, none of them may be handed on.
    pub(super) fn posted(&mut self, messages: &[Message], now: Instant) -> Result<Posted, Refusal> {
        self.active = now;
        let requests: Vec<_> = messages
            .iter()
            .filter_map(|message| match &message.kind {
                Kind::Request { id, method, progress } => Some((id, method, progress)),
                _ => None,
            })
            .collect();
        let begins = requests.iter().any(|(_, method, _)| matches!(method, Method::Initialize(_)));
        if begins && (self.begun || messages.len() != 1) {
            return Err(Refusal::Handshake);
        }
        self.begun |= begins;
        let mut ids: Vec<_> = requests.iter().map(|(id, ..)| *id).collect();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) || ids.iter().any(|id| self.open.contains_key(*id)) {
            return Err(Refusal::SameId);
        }
        if self.open.len() + requests.len() > OPEN_MAX {
            return Err(Refusal::Busy);
        }
        for message in messages {
            if let Kind::Cancelled(id) = &message.kind
                && let Some(open) = self.open.get_mut(id)
            {
                open.given_up.get_or_insert(now);
            }
        }
        if requests.is_empty() {
            return Ok(Posted::Taken);
        }
        self.streams += 1;
        let stream = self.streams;
        for (id, method, progress) in requests {
            if let Some(token) = progress {
                self.progress.insert(token.clone(), stream);
            }
            let first = matches!(method, Method::Initialize(_));
            self.open.insert(id.clone(), Open { stream, progress: progress.clone(), first, given_up: None });
        }
        let outbox = Outbox::new(stream);
        let reader = outbox.read(None).ok_or(Refusal::NoEvent)?;
        self.posts.insert(stream, outbox);
        Ok(Posted::Answers(reader))
    }

    /// The peer says something.
    pub(super) fn said(&mut self, message: Message, now: Instant) -> Next {
        let Message { line, kind } = message;
        match kind {
            Kind::Answer { id, failed, version } => return self.answered(id, failed, version, line, now),
            Kind::Progress(token) => {
                let stream = self.progress.get(&token).and_then(|stream| self.posts.get(stream));
                let outbox = stream.map_or_else(|| self.anywhere(), Arc::clone);
                self.tell(&outbox, line, now);
            }
            Kind::News => {
                let outbox = if self.standing.is_read() { Arc::clone(&self.standing) } else { self.anywhere() };
                self.tell(&outbox, line, now);
            }
            Kind::Request { .. } | Kind::Cancelled(_) | Kind::Note => {
                let outbox = self.anywhere();
                self.tell(&outbox, line, now);
            }
        }
        Next::On
    }

    /// Where a message belongs that belongs to no request: to the youngest that is being answered and read.
    fn anywhere(&self) -> Arc<Outbox> {
        let youngest = self.posts.values().rev().find(|outbox| outbox.is_read());
        Arc::clone(youngest.unwrap_or(&self.standing))
    }

    fn tell(&mut self, outbox: &Outbox, line: Bytes, now: Instant) {
        // What nobody hears keeps nothing alive.
        if outbox.is_read() {
            self.active = now;
        }
        outbox.push(line, false);
    }

    fn answered(&mut self, id: Option<Key>, failed: bool, version: Option<String>, line: Bytes, now: Instant) -> Next {
        let Some(open) = id.and_then(|id| self.open.remove(&id)) else {
            tracing::debug!("an answer that nobody waits for is dropped");
            return Next::On;
        };
        self.active = now;
        if let Some(token) = &open.progress {
            self.progress.remove(token);
        }
        if let Some(outbox) = self.posts.get(&open.stream) {
            outbox.push(line, true);
        }
        self.settle(open.stream);
        if open.first {
            self.version = version;
        }
        if open.first && failed { Next::End } else { Next::On }
    }

    /// Ends a stream when everything on it is answered.
    fn settle(&mut self, stream: u64) {
        if self.open.values().any(|open| open.stream == stream) {
            return;
        }
        let Some(outbox) = self.posts.remove(&stream) else { return };
        outbox.finish();
        self.over.push_back(outbox);
        let bytes = |over: &VecDeque<Arc<Outbox>>| over.iter().map(|outbox| outbox.bytes()).sum::<usize>();
        while self.over.len() > 1 && (self.over.len() > OVER_MAX || bytes(&self.over) > OVER_BYTES_MAX) {
            self.over.pop_front();
        }
    }

    /// The client reads what belongs to no request, or goes on with a stream after one of its events.
    pub(super) fn get(&mut self, after: Option<EventId>, now: Instant) -> Result<Reader, Refusal> {
        self.active = now;
        let Some(EventId { stream, event }) = after else {
            return self.standing.read(None).ok_or(Refusal::NoEvent);
        };
        let outbox = match stream {
            STANDING => Some(&self.standing),
            post => self.posts.get(&post).or_else(|| self.over.iter().find(|outbox| outbox.stream == post)),
        };
        outbox.and_then(|outbox| outbox.read(Some(event))).ok_or(Refusal::NoEvent)
    }

    /// Whether the peer chose this version of the protocol.
    pub(super) fn speaks(&self, version: &str) -> bool {
        self.version.as_deref() == Some(version)
    }

    /// Since when nothing was said, if nobody would miss the session: nothing is being answered, and nobody reads.
    pub(super) fn spare(&self) -> Option<Instant> {
        (self.open.is_empty() && !self.standing.is_read()).then_some(self.active)
    }

    /// When there is something to do even if nothing happens, and whether that is the end: a session ends when for `idle`
    /// nothing was said and nothing is being answered.
    pub(super) fn due(&self, idle: Duration) -> (Instant, Next) {
        let given_up = self.open.values().filter_map(|open| open.given_up).min();
        match given_up {
            Some(at) => (at + LAST_ANSWER, Next::On),
            None if self.open.is_empty() => (self.active + idle, Next::End),
            // An hour is as good as never: it is asked again then.
            None => (self.active + idle.max(Duration::from_hours(1)), Next::On),
        }
    }

    /// Answers what was given up and is not answered by the peer.
    pub(super) fn late(&mut self, now: Instant) {
        let late = |open: &Open| open.given_up.is_some_and(|at| at + LAST_ANSWER <= now);
        let ids: Vec<_> = self.open.iter().filter(|(_, open)| late(open)).map(|(id, _)| id.clone()).collect();
        for id in ids {
            self.fail(id, "the request was cancelled", now);
        }
        self.active = now;
    }

    /// The peer is gone, or the session is to end: everything that waits is answered, and every stream ends.
    pub(super) fn end(&mut self, now: Instant) {
        let ids: Vec<_> = self.open.keys().cloned().collect();
        for id in ids {
            self.fail(id, "the server is gone; begin a new session", now);
        }
        self.standing.finish();
    }

    fn fail(&mut self, id: Key, why: &str, now: Instant) {
        // A key is the id as it was written.
        let named: serde_json::Value = serde_json::from_str(&id).unwrap_or_default();
        let error = json!({"jsonrpc": "2.0", "id": named, "error": {"code": -32000, "message": why}});
        self.answered(Some(id), true, None, error.to_string().into(), now);
    }
}
