//! What is sent to a command: through the pipe it reads, or typed on its terminal.
//!
//! It must never hold up the task of a command or wait without end for one that does not read, and it writes nothing that
//! nobody sent: closing only closes.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::unix::pipe::Sender;
use tokio::time::Instant;

use crate::pty::Terminal;
use crate::spec::PtySize;

/// How long one send may take in all. A command that has read nothing for 5 s does something else, and whoever sent waits
/// for an answer.
pub const SEND_TIME: Duration = Duration::from_secs(5);

/// What ends an input on a terminal whose own character for it cannot be seen: Ctrl-D.
const CTRL_D: u8 = 4;

/// Why something was not sent, or not all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The command was started without an input of its own.
    #[error("the process reads nothing that can be sent to it; start it on a terminal or with a pipe to send input")]
    NoStdin,
    /// The command is over.
    #[error("the process has ended and reads no more; start it again to send input")]
    Ended,
    /// Its input was closed, by a request or by the command itself.
    #[error("the input of the process is closed; start it again to send more")]
    Closed,
    /// It did not read in time.
    #[error("the process does not read its input: {written} bytes were taken; send the rest when it waits for input")]
    Stalled {
        /// How many bytes it was given.
        written: usize,
    },
}

/// Why a terminal was not resized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResizeError {
    /// The command has no terminal.
    #[error("the process has no terminal to resize; start it on one")]
    NoTerminal,
    /// The command is over.
    #[error("the process has ended, and its terminal with it; start it again on one of the size you want")]
    Ended,
}

/// The way into a command.
pub(crate) struct Input {
    writer: Mutex<Writer>,
    /// Whoever writes has it, so that what is sent at the same time is not mixed. It is handed on in order.
    turn: tokio::sync::Mutex<()>,
    terminal: Option<Mutex<Option<Arc<Terminal>>>>,
}

/// Where the way into a command stands.
enum Writer {
    /// There never was one.
    None,
    Open(Sink),
    Closed,
    Ended,
}

/// What is written to.
#[derive(Clone)]
pub(crate) enum Sink {
    Pipe(Arc<Sender>),
    Terminal(Arc<Terminal>),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Input {
    pub(crate) fn new(sink: Option<Sink>) -> Self {
        let terminal = match &sink {
            Some(Sink::Terminal(terminal)) => Some(Mutex::new(Some(Arc::clone(terminal)))),
            Some(Sink::Pipe(_)) | None => None,
        };
        let writer = Mutex::new(sink.map_or(Writer::None, Writer::Open));
        Self { writer, turn: tokio::sync::Mutex::new(()), terminal }
    }

    fn sink(&self) -> Result<Sink, SendError> {
        match &*lock(&self.writer) {
            Writer::None => Err(SendError::NoStdin),
            Writer::Open(sink) => Ok(sink.clone()),
            Writer::Closed => Err(SendError::Closed),
            Writer::Ended => Err(SendError::Ended),
        }
    }

    /// Sends all of it, in one piece, after whatever was sent before. Dropping the future may leave a part of it sent.
    pub(crate) async fn send(&self, bytes: &[u8]) -> Result<usize, SendError> {
        let deadline = Instant::now() + SEND_TIME;
        let mut written = 0;
        let sent = tokio::time::timeout_at(deadline, async {
            // Asked before the turn too: what cannot be sent need not wait for others.
            self.sink()?;
            let _turn = self.turn.lock().await;
            let sink = self.sink()?;
            while written < bytes.len() {
                written += sink.write(&bytes[written..]).await?;
            }
            Ok(written)
        });
        // Two statements: the future that counts must be gone before the count is read.
        let sent = sent.await;
        sent.unwrap_or(Err(SendError::Stalled { written }))
    }

    /// Says that nothing more comes: closes a pipe, types the terminal's character for it.
    pub(crate) async fn send_eof(&self) -> Result<(), SendError> {
        match self.sink()? {
            Sink::Pipe(_) => self.close().await,
            Sink::Terminal(terminal) => {
                let character = terminal.end_of_file().ok().flatten().unwrap_or(CTRL_D);
                self.send(&[character]).await.map(|_| ())
            }
        }
    }

    /// Takes no more, after whatever is being sent. A pipe then has an end; a terminal stays as it is.
    pub(crate) async fn close(&self) -> Result<(), SendError> {
        let _turn = self.turn.lock().await;
        let mut writer = lock(&self.writer);
        match &*writer {
            Writer::None => Err(SendError::NoStdin),
            Writer::Ended => Err(SendError::Ended),
            Writer::Open(_) | Writer::Closed => {
                *writer = Writer::Closed;
                Ok(())
            }
        }
    }

    pub(crate) fn resize(&self, size: PtySize) -> Result<(), ResizeError> {
        let terminal = lock(self.terminal.as_ref().ok_or(ResizeError::NoTerminal)?).clone();
        // A master that is open takes every size.
        terminal.and_then(|terminal| terminal.resize(size).ok()).ok_or(ResizeError::Ended)
    }

    /// The command is over: lets go of everything, whoever is still sending.
    pub(crate) fn end(&self) {
        let mut writer = lock(&self.writer);
        if !matches!(*writer, Writer::None) {
            *writer = Writer::Ended;
        }
        drop(writer);
        if let Some(terminal) = &self.terminal {
            lock(terminal).take();
        }
    }
}

impl Sink {
    /// Writes what there is room for, once there is some.
    async fn write(&self, bytes: &[u8]) -> Result<usize, SendError> {
        loop {
            let written = match self {
                Self::Pipe(pipe) => {
                    // An error here is one of the runtime's ending; writing will say the same.
                    let _ = pipe.writable().await;
                    pipe.try_write(bytes)
                }
                Self::Terminal(terminal) => {
                    terminal.writable().await;
                    terminal.try_write(bytes)
                }
            };
            match written {
                Ok(written) => return Ok(written),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                // Nobody can read it any more (EPIPE; EIO on a terminal).
                Err(_) => return Err(SendError::Closed),
            }
        }
    }
}
