//! A session as the requests of its client see it.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::message::Ask;
use super::state::Posted;
use super::task;
use crate::http::event::EventId;
use crate::http::message::Message;
use crate::http::outbox::Reader;
use crate::http::refusal::Refusal;
use crate::http::streams::Streams;

/// How many requests of a client wait for their session at once. More wait for these.
const ASKS: usize = 16;

/// A handle to a session that lives by itself. Cloning it gives another to the same session.
#[derive(Clone)]
pub(in crate::http) struct Session {
    asks: mpsc::Sender<Ask>,
}

impl Session {
    /// Begins one. It ends with its peer, with `ending`, when it is told to, or when it was idle for `idle`.
    pub(in crate::http) fn start(
        streams: Streams,
        idle: Duration,
        ending: CancellationToken,
    ) -> (Self, JoinHandle<()>) {
        let (asks, asked) = mpsc::channel(ASKS);
        (Self { asks }, tokio::spawn(task::run(streams, asked, idle, ending)))
    }

    /// Hands messages to the peer.
    ///
    /// # Errors
    /// The session is over, or they do not fit into it.
    pub(in crate::http) async fn post(&self, messages: Vec<Message>) -> Result<Posted, Refusal> {
        self.ask(|reply| Ask::Post(messages, reply)).await?
    }

    /// Reads what belongs to no request, or goes on with the stream of an event.
    ///
    /// # Errors
    /// The session is over, or what comes after the event is not kept.
    pub(in crate::http) async fn get(&self, after: Option<EventId>) -> Result<Reader, Refusal> {
        self.ask(|reply| Ask::Get(after, reply)).await?
    }

    /// Whether this version of the protocol is the one the peer chose.
    ///
    /// # Errors
    /// The session is over.
    pub(in crate::http) async fn speaks(&self, version: &str) -> Result<bool, Refusal> {
        self.ask(|reply| Ask::Speaks(version.to_owned(), reply)).await
    }

    /// Since when nothing was said, if nobody would miss it: nothing is being answered, and nobody reads.
    pub(in crate::http) async fn spare(&self) -> Option<Instant> {
        self.ask(Ask::Spare).await.ok().flatten()
    }

    /// Ends it.
    pub(in crate::http) async fn end(&self) {
        // One that is over has ended.
        let _ = self.asks.send(Ask::End).await;
    }

    async fn ask<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> Ask) -> Result<T, Refusal> {
        let (reply, replied) = oneshot::channel();
        self.asks.send(ask(reply)).await.map_err(|_| Refusal::NoSession)?;
        replied.await.map_err(|_| Refusal::NoSession)
    }
}
