//! What the requests of a client ask of their session.

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::state::Posted;
use crate::http::event::EventId;
use crate::http::message::Message;
use crate::http::outbox::Reader;
use crate::http::refusal::Refusal;

/// One thing to be done, with a place for what comes of it.
pub(super) enum Ask {
    /// Hand these messages to the peer.
    Post(Vec<Message>, oneshot::Sender<Result<Posted, Refusal>>),
    /// Read what belongs to no request, or go on with the stream of this event.
    Get(Option<EventId>, oneshot::Sender<Result<Reader, Refusal>>),
    /// Whether this version of the protocol is the one the peer chose.
    Speaks(String, oneshot::Sender<bool>),
    /// Since when nothing was said, if nobody would miss the session: nothing is being answered, and nobody reads.
    Spare(oneshot::Sender<Option<Instant>>),
    /// End.
    End,
}
