//! From the pipe or the terminal into the captured output, and to a steady live reader where there is one.
//!
//! It must never grow with what is printed, and never let the end of a command wait for a reader or for a pipe.
//!
//! Back-pressure is that of any pipe: while a steady reader is slow, nothing more is read and the command waits in its
//! write, so that the reader gets every byte. A reader that is dropped stops counting at once, and after the command's
//! end what is left (at most one pipe and [`TRAILING_MAX`]) is queued for it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::output::Output;
use super::source::Source;
use super::tap::Chunk;

/// The most that is read at once: what a Linux pipe holds by default (pipe(7)).
pub(crate) const CHUNK: usize = 64 << 10;

/// How many reads are done before others get a turn.
const READS_IN_A_ROW: usize = 8;

/// How many chunks wait for a live reader: half a mebibyte, enough to keep both sides busy.
pub(crate) const LIVE_CHUNKS: usize = 8;

/// After the exit, how long the pipe must be quiet to be done (100 ms is what comparable hosts wait).
const QUIET: Duration = Duration::from_millis(100);

/// After the exit, how long is waited in all for children that still print.
const TRAILING: Duration = Duration::from_millis(250);

/// After the exit, how much such children may add.
const TRAILING_MAX: u64 = 1 << 20;

thread_local! {
    /// What is read into, one for each thread: most commands are silent, and a buffer for each would be the most of what
    /// they cost. Nothing of it is looked at beyond what the last read filled.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The reading end of a command's output.
pub(crate) struct Capture {
    /// Gone when nobody can print any more.
    source: Option<Source>,
    output: Arc<Output>,
    live: Option<mpsc::Sender<Chunk>>,
    /// Chunks the live reader has not taken: one while the command runs, the rest of the output after its end.
    waiting: VecDeque<Chunk>,
    /// The command is over: when nobody has its terminal open now, nobody will.
    over: bool,
    /// The output is complete: what still comes is thrown away.
    discarding: bool,
}

impl Capture {
    pub(crate) fn new(source: Source, output: Arc<Output>, live: Option<mpsc::Sender<Chunk>>) -> Self {
        Self { source: Some(source), output, live, waiting: VecDeque::new(), over: false, discarding: false }
    }

    /// Whether there is nothing left to do: nobody can print any more, and the reader has everything.
    pub(crate) fn is_done(&self) -> bool {
        self.source.is_none() && self.waiting.is_empty()
    }

    /// Nobody of the tree is alive. A pipe is read on until whoever else has it closes it; a terminal is closed.
    pub(crate) fn tree_is_gone(&mut self) {
        self.source.take_if(|source| source.is_terminal());
    }

    /// Moves some bytes on. May be dropped at any await without losing any.
    pub(crate) async fn step(&mut self) {
        if self.discarding {
            self.discarding_step().await;
        } else if !self.waiting.is_empty() {
            self.hand_over().await;
        } else if let Some(source) = &mut self.source {
            source.readable().await;
            self.read_some();
        }
        if self.waiting.is_empty() && (self.discarding || self.source.is_none()) {
            self.live = None;
        }
    }

    /// Gives the live reader the first waiting chunk, once it has room.
    async fn hand_over(&mut self) {
        let sent = match (room(&self.live).await, self.waiting.pop_front()) {
            (Some(room), Some(chunk)) => {
                room.send(chunk);
                true
            }
            _ => false,
        };
        if !sent {
            self.reader_left();
        }
    }

    fn reader_left(&mut self) {
        self.live = None;
        self.waiting.clear();
    }

    fn read_some(&mut self) {
        for _ in 0..READS_IN_A_ROW {
            // Whoever waits for a slow reader does not read on, except to throw away.
            let held = !self.waiting.is_empty() && !self.discarding;
            if held || !matches!(self.read(), Ok(Some(_))) {
                return;
            }
        }
    }

    /// One read. None: the end, or an error that is as good as the end. `WouldBlock`: nothing there now.
    fn read(&mut self) -> io::Result<Option<usize>> {
        BUFFER.with_borrow_mut(|buffer| {
            buffer.resize(CHUNK, 0);
            self.read_into(buffer)
        })
    }

    fn read_into(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(source) = &self.source else { return Ok(None) };
        match source.try_read(buffer) {
            // Closing a terminal would end whoever still runs on it, though none has it open.
            Ok(0) if source.is_terminal() && !self.over => Err(io::ErrorKind::WouldBlock.into()),
            Ok(0) => {
                self.let_go_what_is_held();
                self.source = None;
                Ok(None)
            }
            Ok(length) => {
                self.take_in(&buffer[..length]);
                Ok(Some(length))
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Err(io::ErrorKind::WouldBlock.into())
            }
            Err(error) => {
                tracing::warn!(%error, "the output of a command cannot be read any more");
                self.let_go_what_is_held();
                self.source = None;
                Ok(None)
            }
        }
    }

    fn take_in(&mut self, bytes: &[u8]) {
        if self.discarding {
            return;
        }
        match &mut self.source {
            Some(Source::Terminal(asking)) => {
                let text = asking.pass(bytes);
                self.deliver(&text);
            }
            _ => self.deliver(bytes),
        }
    }

    /// Nothing more will be taken in: what a terminal held as the beginning of a query is text.
    fn let_go_what_is_held(&mut self) {
        if let Some(Source::Terminal(asking)) = &mut self.source {
            let held = asking.finish();
            self.deliver(&held);
        }
    }

    fn deliver(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.output.push(bytes);
        let Some(live) = &self.live else { return };
        // Behind a chunk that waits, the next one waits too.
        if self.waiting.is_empty() {
            match live.try_send(Chunk::Bytes(bytes.to_vec())) {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Full(chunk)) => self.waiting.push_back(chunk),
                Err(mpsc::error::TrySendError::Closed(_)) => self.live = None,
            }
        } else {
            self.waiting.push_back(Chunk::Bytes(bytes.to_vec()));
        }
    }

    /// Takes in what the command left behind, and what its children add within the window. Bounded in time and in
    /// bytes; whatever comes later is thrown away by [`Capture::step`].
    pub(crate) async fn drain(&mut self) {
        self.over = true;
        // All the leader ever wrote is there by now: this much is its output or earlier.
        let mut owed = self.source.as_ref().map_or(0, Source::held);
        let mut trailing = 0;
        let deadline = Instant::now() + TRAILING;
        while self.source.is_some() {
            match self.read() {
                Ok(None) => break,
                Ok(Some(length)) => {
                    let length = length as u64;
                    trailing += length.saturating_sub(owed);
                    owed = owed.saturating_sub(length);
                }
                Err(_) => {
                    let Some(source) = &mut self.source else { break };
                    if source.is_terminal() {
                        owed = 0;
                    }
                    // What is owed is there, so the wait for it is short however late it is.
                    let left = if owed > 0 { QUIET } else { QUIET.min(deadline - Instant::now()) };
                    if tokio::time::timeout(left, source.readable()).await.is_err() {
                        break;
                    }
                }
            }
            if owed == 0 && (trailing >= TRAILING_MAX || Instant::now() >= deadline) {
                break;
            }
        }
        self.let_go_what_is_held();
        self.discarding = true;
        self.live = self.live.take().filter(|_| !self.waiting.is_empty());
    }

    /// After the end: throws away what still comes, so that whoever still prints is neither blocked nor killed by
    /// SIGPIPE, while the live reader takes its rest.
    async fn discarding_step(&mut self) {
        let Some(source) = &mut self.source else { return self.hand_over().await };
        if self.waiting.is_empty() {
            source.readable().await;
            return self.read_some();
        }
        let room = tokio::select! {
            room = room(&self.live) => Some(room.zip(self.waiting.pop_front()).map(|(room, chunk)| room.send(chunk))),
            () = source.readable() => None,
        };
        match room {
            Some(Some(())) => {}
            Some(None) => self.reader_left(),
            None => self.read_some(),
        }
    }
}

/// Room for one chunk, once there is; none when nobody reads any more.
async fn room(live: &Option<mpsc::Sender<Chunk>>) -> Option<mpsc::Permit<'_, Chunk>> {
    match live {
        Some(live) => live.reserve().await.ok(),
        None => None,
    }
}
