//! A running session: what runs beside what, which of it ends first, and how the rest ends then.
//!
//! It must never wait for anything without a limit once something has ended.

use std::sync::Arc;
use std::time::Duration;

use hermes_process::kill::Verdict;
use hermes_process::stdio::{Ladder, StdioChild, Streams};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::kept::Results;
use super::relay::{Out, Relay};
use super::{Tally, Why, Wrapped, complaints};
use crate::frames::REQUEST_MAX;
use crate::lines::{Line, Lines, MESSAGE_MAX};

/// How patient the end of a server is: what MCP clients usually give theirs, twice 2 s.
const LADDER: Ladder = Ladder { after_input: Duration::from_secs(2), after_term: Duration::from_secs(2) };
/// How long a server that ended is read on without a word of it, where somebody else holds its output: what was in the
/// pipe is there at once.
const DRAIN: Duration = Duration::from_millis(300);
/// How long what the server said before its end may take to go through the policy and to the agent.
const BACKLOG: Duration = Duration::from_secs(10);
/// How long a server that closed its output may take to end before it is ended: mostly it is about to.
const MUTE: Duration = Duration::from_millis(500);
/// How long what was said last may take to reach the agent when all else has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How many lines of the server wait for the policy at most, beside [`WAITING_KIB`].
const WAITING_LINES: usize = 256;
/// How much of them waits, in KiB: one of the longest.
const WAITING_KIB: u32 = (MESSAGE_MAX >> 10) as u32;
/// How many lines wait for a peer that does not read. Then whoever wrote them waits.
const UNREAD: usize = 8;
/// How many answers of hermes itself wait for a server that does not read. Then they are left out: it would not read
/// them either, and the agent must not wait for it.
const UNREAD_OWN: usize = 1024;

/// A line of the server on its way to the policy, and its share of what may wait.
struct Heard {
    line: Line,
    share: Option<OwnedSemaphorePermit>,
}

/// A part of a session that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The agent says nothing more.
    FromAgent,
    /// The agent takes nothing more, or there is nothing more for it.
    ToAgent,
    /// The server says nothing more.
    FromServer,
    /// The server takes nothing more, or there is nothing more for it.
    ToServer,
    /// The policy has nothing more to look at.
    Policy,
    /// Its stderr has ended.
    Drained,
    /// What it printed there has been shown.
    Shown,
    /// One of them was stopped.
    Stopped,
    /// One of them broke down.
    BrokenDown,
}

/// The parts of a running session.
pub(super) struct Session {
    name: String,
    pub(super) relay: Arc<Relay>,
    parts: JoinSet<Part>,
    /// Those that have ended.
    over: Vec<Part>,
    /// Ends the reading of the agent, and of the server.
    stop_agent: AbortHandle,
    stop_server: AbortHandle,
    /// The server has ended: it is read as long as something comes.
    ended: CancellationToken,
    /// For the last answers; the agent's stream ends when it is dropped.
    to_agent: Option<mpsc::Sender<Vec<u8>>>,
}

impl Session {
    /// Begins to relay. Call it inside a runtime.
    pub(super) fn begin<R, W>(wrapped: &Wrapped, child: &StdioChild, streams: Streams, read: R, write: W) -> Self
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let Wrapped { name, in_force, exact, .. } = wrapped;
        let random = child.id().as_str().rsplit('_').next().unwrap_or_default();
        let results = wrapped.reply_bytes.map(|budget| Results::new(Arc::clone(&wrapped.kept), random, budget));
        let relay = Relay::new(name.clone(), Arc::clone(in_force), Arc::clone(exact), results, random);
        let relay = Arc::new(relay);
        let mut parts = JoinSet::new();
        let (to_agent, for_agent) = mpsc::channel(UNREAD);
        let (to_server, for_server) = mpsc::channel(UNREAD);
        let (own, own_for_server) = mpsc::channel(UNREAD_OWN);
        let (heard, to_hear) = mpsc::channel(WAITING_LINES);
        parts.spawn(async move {
            write_lines(for_agent, None, write).await;
            Part::ToAgent
        });
        parts.spawn(async move {
            write_lines(for_server, Some(own_for_server), streams.input).await;
            Part::ToServer
        });
        let stop_agent = parts.spawn(hear_agent(Arc::clone(&relay), read, to_server, to_agent.clone()));
        let ended = CancellationToken::new();
        let quiet = ended.clone();
        let stop_server = parts.spawn(async move {
            hear_server(streams.output, heard, quiet).await;
            Part::FromServer
        });
        let (decide, agent) = (Arc::clone(&relay), to_agent.clone());
        parts.spawn_blocking(move || {
            look_at(&decide, to_hear, &agent, &own);
            Part::Policy
        });
        let (drain, show) = complaints::pair();
        parts.spawn(async move {
            drain.run(streams.errors).await;
            Part::Drained
        });
        let (name, policy, exact) = (name.clone(), in_force.policy(), Arc::clone(exact));
        let (shown_name, sink) = (name.clone(), Arc::clone(&wrapped.complaints));
        parts.spawn_blocking(move || {
            show.run(&shown_name, &*policy, exact, &*sink);
            Part::Shown
        });
        Self { name, relay, parts, over: Vec::new(), stop_agent, stop_server, ended, to_agent: Some(to_agent) }
    }

    /// The next part that ends; none: all have.
    async fn next_part(&mut self) -> Option<Part> {
        let part = match self.parts.join_next().await? {
            Ok(part) => part,
            Err(stopped) if stopped.is_cancelled() => Part::Stopped,
            Err(_) => Part::BrokenDown,
        };
        self.over.push(part);
        Some(part)
    }

    /// Relays until something ends, or is to end.
    pub(super) async fn until_something_ends(&mut self, child: &StdioChild, ending: impl Future<Output = ()>) -> Why {
        tokio::pin!(ending);
        loop {
            let part = tokio::select! {
                exit = child.exited() => return Why::Exited(exit),
                () = &mut ending => return Why::Told,
                part = self.next_part() => part,
            };
            match part {
                Some(Part::FromAgent | Part::ToAgent) => return Why::AgentLeft,
                // The policy ends when it has no more to hear, or nobody to tell.
                Some(Part::Policy) if self.to_agent.as_ref().is_none_or(mpsc::Sender::is_closed) => {
                    return Why::AgentLeft;
                }
                Some(Part::FromServer | Part::Policy) => {
                    return match tokio::time::timeout(MUTE, child.exited()).await {
                        Ok(exit) => Why::Exited(exit),
                        Err(_) => Why::Mute,
                    };
                }
                // A server may close its stdin or its stderr and go on.
                Some(Part::ToServer | Part::Drained | Part::Shown) => {}
                Some(Part::Stopped | Part::BrokenDown) | None => return Why::Broken,
            }
        }
    }

    /// Waits until these parts have ended, or for so long.
    async fn wait_for(&mut self, wanted: &[Part], limit: Duration) -> bool {
        let waiting = async {
            while !wanted.iter().all(|part| self.over.contains(part)) {
                if self.next_part().await.is_none() {
                    return;
                }
            }
        };
        tokio::time::timeout(limit, waiting).await.is_ok()
    }

    /// Ends the server, answers whatever still waits, and lets what was said reach the agent. Bounded.
    pub(super) async fn wind_down(&mut self, child: StdioChild, why: &Why) {
        // An agent that left may have asked something last: that is written still, and then the server's input ends.
        self.stop_agent.abort();
        let verdict = if matches!(why, Why::Exited(_) | Why::Mute | Why::Broken) {
            // Nobody answers any more: whoever waits must know now, and not when the rest of the tree has ended.
            self.hear_out(BACKLOG).await;
            self.give_up(why).await;
            child.end(LADDER).await
        } else {
            // It may answer until it has ended, and what it says then reaches an agent that still reads.
            let verdict = self.relayed_until(child.end(LADDER)).await;
            self.hear_out(if matches!(why, Why::Told) { LAST_WORDS } else { BACKLOG }).await;
            self.give_up(why).await;
            verdict
        };
        self.to_agent = None;
        self.wait_for(&[Part::ToAgent, Part::Shown], LAST_WORDS).await;
        self.parts.abort_all();
        self.say_how_it_went(&verdict);
    }

    /// What the server has said goes through the policy, as far as it is there and within this time.
    async fn hear_out(&mut self, limit: Duration) {
        self.ended.cancel();
        if !self.over.contains(&Part::BrokenDown) {
            self.wait_for(&[Part::FromServer, Part::Policy], limit).await;
        }
        self.stop_server.abort();
    }

    /// Goes on relaying for as long as something else takes.
    async fn relayed_until<T>(&mut self, something: impl Future<Output = T>) -> T {
        tokio::pin!(something);
        loop {
            tokio::select! {
                done = &mut something => return done,
                Some(_) = self.next_part() => {}
            }
        }
    }

    /// Answers everything that still waits.
    async fn give_up(&mut self, why: &Why) {
        let answers = self.relay.give_up(&why.to_the_waiting(&self.name));
        let Some(to_agent) = self.to_agent.clone() else { return };
        let sent = async {
            for answer in answers {
                if to_agent.send(answer).await.is_err() {
                    return;
                }
            }
        };
        // An agent that does not read does not want to know.
        let _ = tokio::time::timeout(LAST_WORDS, sent).await;
    }

    fn say_how_it_went(&self, verdict: &Verdict) {
        if !verdict.is_complete() {
            let pids: Vec<i32> = verdict.survivors.iter().map(|survivor| survivor.pid()).collect();
            tracing::warn!(
                server = self.name,
                ?pids,
                seen = verdict.seen,
                "not everything the server started could be ended"
            );
        }
        let Tally { junk, too_long, withheld } = self.relay.tally();
        if junk + too_long + withheld > 0 {
            tracing::info!(server = self.name, junk, too_long, withheld, "what did not reach the agent");
        }
    }
}

/// Reads the agent. What it asks of a server that takes nothing any more is answered at once.
async fn hear_agent<R: AsyncRead + Unpin>(
    relay: Arc<Relay>,
    read: R,
    to_server: mpsc::Sender<Vec<u8>>,
    to_agent: mpsc::Sender<Vec<u8>>,
) -> Part {
    let mut lines = Lines::new(read, REQUEST_MAX);
    loop {
        let line = lines.next().await;
        if matches!(line, Line::Gone) {
            return Part::FromAgent;
        }
        for out in relay.hear_agent(line) {
            let answers = match out {
                Out::Agent(answer) => vec![answer],
                Out::Server(bytes) => match to_server.send(bytes).await {
                    Ok(()) => continue,
                    Err(unsent) => relay.unsent(&unsent.0),
                },
            };
            for answer in answers {
                if to_agent.send(answer).await.is_err() {
                    return Part::FromAgent;
                }
            }
        }
    }
}

/// Reads the server; when it has `ended`, as long as something comes. It waits where more of what it said waits for the
/// policy than may.
async fn hear_server<R: AsyncRead + Unpin>(output: R, heard: mpsc::Sender<Heard>, ended: CancellationToken) {
    let room = Arc::new(Semaphore::new(WAITING_KIB as usize));
    let mut lines = Lines::new(output, MESSAGE_MAX);
    loop {
        let quiet = async {
            ended.cancelled().await;
            tokio::time::sleep(DRAIN).await;
        };
        let line = tokio::select! {
            line = lines.next() => line,
            () = quiet => return,
        };
        let length = match &line {
            Line::Whole(line) => line.len(),
            Line::TooLong(_) => 0,
            Line::Gone => return,
        };
        let share = u32::try_from(length.div_ceil(1 << 10)).unwrap_or(WAITING_KIB).min(WAITING_KIB);
        // Nobody closes it.
        let share = Arc::clone(&room).acquire_many_owned(share).await.ok();
        if heard.send(Heard { line, share }).await.is_err() {
            return;
        }
    }
}

/// Has the policy look at every line, in order. Blocks.
fn look_at(
    relay: &Relay,
    mut heard: mpsc::Receiver<Heard>,
    agent: &mpsc::Sender<Vec<u8>>,
    server: &mpsc::Sender<Vec<u8>>,
) {
    while let Some(Heard { line, share }) = heard.blocking_recv() {
        for out in relay.hear_server(line) {
            match out {
                Out::Agent(bytes) => {
                    if agent.blocking_send(bytes).is_err() {
                        return;
                    }
                }
                Out::Server(bytes) => {
                    if server.try_send(bytes).is_err() {
                        tracing::debug!("the server does not read, and is not told that it was refused");
                    }
                }
            }
        }
        drop(share);
    }
}

/// Writes lines until there are no more or the peer takes no more; `aside` are lines of somebody else who does not count.
async fn write_lines<W: AsyncWrite + Unpin>(
    mut lines: mpsc::Receiver<Vec<u8>>,
    mut aside: Option<mpsc::Receiver<Vec<u8>>>,
    mut write: W,
) {
    loop {
        let next = match lines.try_recv() {
            Ok(line) => Some(line),
            Err(_) => {
                // Nothing more at the moment: what was written must not wait for it.
                if write.flush().await.is_err() {
                    return;
                }
                match &mut aside {
                    Some(others) => tokio::select! {
                        line = lines.recv() => line,
                        line = others.recv() => {
                            if line.is_none() {
                                aside = None;
                                continue;
                            }
                            line
                        }
                    },
                    None => lines.recv().await,
                }
            }
        };
        let Some(line) = next else { break };
        if write.write_all(&line).await.is_err() {
            return;
        }
    }
    // The agent's end of a pair of streams sees the end; an error is the end as well.
    let _ = write.shutdown().await;
}
