//! The life of a session: messages of the client to the peer, lines of the peer to whoever reads.
//!
//! It must never stop listening to one side because the other does not read.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::message::Ask;
use super::state::{Next, State};
use crate::frames::{ANSWER_MAX, Line, Lines, REQUEST_MAX};
use crate::http::message::{Message, Messages};
use crate::http::refusal::Refusal;
use crate::http::streams::Streams;

/// How much may wait for a peer that does not read, in bytes: two of the longest requests.
const WAITING_MAX: usize = 2 * REQUEST_MAX;

/// What waits for the peer.
struct Waiting {
    write: Box<dyn AsyncWrite + Send + Unpin>,
    lines: VecDeque<Bytes>,
    bytes: usize,
}

impl Waiting {
    fn fits(&self, messages: &[Message]) -> bool {
        let more: usize = messages.iter().map(|message| message.line.len() + 1).sum();
        self.lines.is_empty() || self.bytes + more <= WAITING_MAX
    }

    fn push(&mut self, messages: Vec<Message>) {
        for line in messages.into_iter().map(|message| message.line).flat_map(|line| [line, Bytes::from_static(b"\n")])
        {
            self.bytes += line.len();
            self.lines.push_back(line);
        }
    }

    /// Writes some of it. May be dropped and called again. False: the peer is gone.
    async fn write(&mut self) -> bool {
        let Some(line) = self.lines.front_mut() else { return self.write.flush().await.is_ok() };
        match self.write.write(line).await {
            Ok(0) | Err(_) => return false,
            Ok(written) => {
                line.advance(written);
                self.bytes -= written;
                if line.is_empty() {
                    self.lines.pop_front();
                }
            }
        }
        !self.lines.is_empty() || self.write.flush().await.is_ok()
    }
}

/// Lives until the session is over.
pub(super) async fn run(streams: Streams, mut asks: mpsc::Receiver<Ask>, idle: Duration, ending: CancellationToken) {
    let mut said = Lines::new(streams.read, tokio::io::sink(), ANSWER_MAX);
    let mut waiting = Waiting { write: streams.write, lines: VecDeque::new(), bytes: 0 };
    let mut state = State::new(Instant::now());
    loop {
        let (due, then) = state.due(idle);
        let next = tokio::select! {
            () = ending.cancelled() => Next::End,
            ask = asks.recv() => match ask {
                Some(ask) => asked(ask, &mut state, &mut waiting),
                None => Next::End,
            },
            line = said.line() => heard(line, &mut said, &mut state),
            written = waiting.write(), if !waiting.lines.is_empty() => if written { Next::On } else { Next::End },
            () = tokio::time::sleep_until(due) => {
                state.late(Instant::now());
                then
            }
        };
        if next == Next::End {
            break;
        }
    }
    state.end(Instant::now());
}

fn asked(ask: Ask, state: &mut State, waiting: &mut Waiting) -> Next {
    let now = Instant::now();
    match ask {
        Ask::Post(messages, reply) => {
            let fits = if waiting.fits(&messages) { Ok(()) } else { Err(Refusal::Busy) };
            let posted = fits.and_then(|()| state.posted(&messages, now));
            if posted.is_ok() {
                waiting.push(messages);
            }
            // Who asked may be gone: the messages are under way all the same.
            let _ = reply.send(posted);
        }
        Ask::Get(after, reply) => drop(reply.send(state.get(after, now))),
        Ask::Speaks(version, reply) => drop(reply.send(state.speaks(&version))),
        Ask::Spare(reply) => drop(reply.send(state.spare())),
        Ask::End => return Next::End,
    }
    Next::On
}

fn heard<R: AsyncRead + Unpin + 'static>(line: Line, said: &mut Lines<R, tokio::io::Sink>, state: &mut State) -> Next {
    match line {
        Line::Gone => return Next::End,
        Line::TooLong => {
            tracing::warn!(max = ANSWER_MAX, "a peer sent a message that is too long and is cut off");
            return Next::End;
        }
        Line::Whole => {}
    }
    let line = std::mem::take(&mut said.line);
    if line.trim_ascii().is_empty() {
        return Next::On;
    }
    let Ok(found) = Messages::parse(&line) else {
        tracing::warn!(bytes = line.len(), "a peer said what is no message, and it is dropped");
        return Next::On;
    };
    drop(line);
    let now = Instant::now();
    for message in found.messages {
        if state.said(message, now) == Next::End {
            return Next::End;
        }
    }
    Next::On
}
