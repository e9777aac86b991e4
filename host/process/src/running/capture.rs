//! From the pipe into the captured output, and to a live reader where there is one.
//!
//! It must never grow with what is printed, and never let the end of a command wait for a reader or for a pipe.
//!
//! Back-pressure is that of any pipe: while a live reader is slow, nothing more is read and the command waits in its
//! write, so that the reader gets every byte. A reader that is dropped stops counting at once, and after the command's
//! end what is left (at most one pipe and [`TRAILING_MAX`]) is queued for it.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::output::Output;

/// The most that is read at once: what a Linux pipe holds by default (pipe(7)).
const CHUNK: usize = 64 << 10;

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

/// The reading end of a command's output.
pub(crate) struct Capture {
    pipe: Option<Receiver>,
    buffer: Box<[u8]>,
    output: Arc<Output>,
    live: Option<mpsc::Sender<Vec<u8>>>,
    /// Chunks the live reader has not taken: one while the command runs, the rest of the output after its end.
    waiting: VecDeque<Vec<u8>>,
    /// The output is complete: what still comes is thrown away.
    discarding: bool,
}

impl Capture {
    pub(crate) fn new(pipe: Receiver, output: Arc<Output>, live: Option<mpsc::Sender<Vec<u8>>>) -> Self {
        let buffer = vec![0; CHUNK].into_boxed_slice();
        Self { pipe: Some(pipe), buffer, output, live, waiting: VecDeque::new(), discarding: false }
    }

    /// Whether there is nothing left to do: everybody closed the pipe, and the reader has everything.
    pub(crate) fn is_done(&self) -> bool {
        self.pipe.is_none() && self.waiting.is_empty()
    }

    /// Moves some bytes on. May be dropped at any await without losing any.
    pub(crate) async fn step(&mut self) {
        if self.discarding {
            self.discarding_step().await;
        } else if !self.waiting.is_empty() {
            self.hand_over().await;
        } else if let Some(pipe) = &self.pipe {
            // An error here is one of the runtime's ending; reading will say the same.
            let _ = pipe.readable().await;
            self.read_some();
        }
        if self.waiting.is_empty() && (self.discarding || self.pipe.is_none()) {
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
        let Some(pipe) = &self.pipe else { return Ok(None) };
        match pipe.try_read(&mut self.buffer) {
            Ok(0) => {
                self.pipe = None;
                Ok(None)
            }
            Ok(length) => {
                self.take_in(length);
                Ok(Some(length))
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Err(io::ErrorKind::WouldBlock.into())
            }
            Err(error) => {
                tracing::warn!(%error, "the pipe of a command cannot be read any more");
                self.pipe = None;
                Ok(None)
            }
        }
    }

    fn take_in(&mut self, length: usize) {
        if self.discarding {
            return;
        }
        let bytes = &self.buffer[..length];
        self.output.push(bytes);
        let Some(live) = &self.live else { return };
        // Behind a chunk that waits, the next one waits too.
        if self.waiting.is_empty() {
            match live.try_send(bytes.to_vec()) {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Full(chunk)) => self.waiting.push_back(chunk),
                Err(mpsc::error::TrySendError::Closed(_)) => self.live = None,
            }
        } else {
            self.waiting.push_back(bytes.to_vec());
        }
    }

    /// Takes in what the command left in the pipe, and what its children add within the window. Bounded in time and in
    /// bytes; whatever comes later is thrown away by [`Capture::step`].
    pub(crate) async fn drain(&mut self) {
        // All the leader ever wrote is in the pipe by now: this much is certainly its output or earlier.
        let mut owed = self.pipe.as_ref().map_or(0, |pipe| rustix::io::ioctl_fionread(pipe).unwrap_or(0));
        let mut trailing = 0;
        let deadline = Instant::now() + TRAILING;
        while self.pipe.is_some() {
            match self.read() {
                Ok(None) => break,
                Ok(Some(length)) => {
                    let length = length as u64;
                    trailing += length.saturating_sub(owed);
                    owed = owed.saturating_sub(length);
                }
                Err(_) => {
                    let Some(pipe) = &self.pipe else { break };
                    // What is owed is there, so the wait for it is short however late it is.
                    let left = if owed > 0 { QUIET } else { QUIET.min(deadline - Instant::now()) };
                    if tokio::time::timeout(left, pipe.readable()).await.is_err() {
                        break;
                    }
                }
            }
            if owed == 0 && (trailing >= TRAILING_MAX || Instant::now() >= deadline) {
                break;
            }
        }
        self.discarding = true;
        self.live = self.live.take().filter(|_| !self.waiting.is_empty());
    }

    /// After the end: throws away what still comes, so that whoever still prints is neither blocked nor killed by
    /// SIGPIPE, while the live reader takes its rest.
    async fn discarding_step(&mut self) {
        let Some(pipe) = &self.pipe else { return self.hand_over().await };
        if self.waiting.is_empty() {
            let _ = pipe.readable().await;
            return self.read_some();
        }
        let room = tokio::select! {
            room = room(&self.live) => Some(room.zip(self.waiting.pop_front()).map(|(room, chunk)| room.send(chunk))),
            _ = pipe.readable() => None,
        };
        match room {
            Some(Some(())) => {}
            Some(None) => self.reader_left(),
            None => self.read_some(),
        }
    }
}

/// Room for one chunk, once there is; none when nobody reads any more.
async fn room(live: &Option<mpsc::Sender<Vec<u8>>>) -> Option<mpsc::Permit<'_, Vec<u8>>> {
    match live {
        Some(live) => live.reserve().await.ok(),
        None => None,
    }
}
