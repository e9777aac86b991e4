//! Where a command's output comes from: a pipe, or a terminal whose program also asks things.
//!
//! It must never keep more of what is not yet taken than a fixed amount, on either side.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use tokio::net::unix::pipe::Receiver;

use crate::pty::Terminal;
use crate::pty::responder::{Query, Responder};

/// How many bytes of answers may wait for a program that asks and does not read: as many as a terminal holds
/// (`N_TTY_BUF_SIZE` of Linux). What is asked beyond that gets no answer.
const ANSWERS_MAX: usize = 4096;

/// More than what a terminal holds that was printed and not read (8 KiB in a pseudo-terminal of Linux, and what its line
/// discipline holds): this much may certainly be the command's own output when it has ended.
const TERMINAL_HELD: u64 = 64 << 10;

/// What is read from.
pub(crate) enum Source {
    /// The reading end of a pipe.
    Pipe(Receiver),
    /// The master of a terminal.
    Terminal(Asking),
}

/// A terminal and the answers to the program on it.
pub(crate) struct Asking {
    terminal: Arc<Terminal>,
    responder: Responder,
    /// Answers for which the terminal had no room.
    answers: Vec<u8>,
}

impl Source {
    pub(crate) fn terminal(terminal: Arc<Terminal>) -> Self {
        Self::Terminal(Asking { terminal, responder: Responder::default(), answers: Vec::new() })
    }

    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    /// Waits until it may be worth while to read. Answers that wait are typed meanwhile.
    pub(crate) async fn readable(&mut self) {
        match self {
            Self::Pipe(pipe) => {
                // An error here is one of the runtime's ending; reading will say the same.
                let _ = pipe.readable().await;
            }
            Self::Terminal(asking) if asking.answers.is_empty() => asking.terminal.readable().await,
            Self::Terminal(asking) => {
                tokio::select! {
                    () = asking.terminal.readable() => {}
                    () = asking.terminal.writable() => {}
                }
                asking.type_answers();
            }
        }
    }

    /// Reads what is there. Zero: nobody holds the other end, which for a terminal may change.
    pub(crate) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Pipe(pipe) => pipe.try_read(buffer),
            Self::Terminal(asking) => asking.terminal.try_read(buffer),
        }
    }

    /// How many bytes that are there now were certainly printed before now. Of a terminal it is only known that there
    /// are no more than this, and that "nothing there" is true when a read says it.
    pub(crate) fn held(&self) -> u64 {
        match self {
            Self::Pipe(pipe) => rustix::io::ioctl_fionread(pipe).unwrap_or(0),
            Self::Terminal(_) => TERMINAL_HELD,
        }
    }
}

impl Asking {
    /// Returns the text among what was read, and answers the queries among it.
    pub(crate) fn pass<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let mut queries = Vec::new();
        let text = self.responder.pass(bytes, &mut queries);
        if !queries.is_empty() {
            self.answer(&queries);
        }
        text
    }

    /// What was held as the beginning of a query and is none.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        self.answers.clear();
        self.responder.finish()
    }

    fn answer(&mut self, queries: &[Query]) {
        let size = self.terminal.size();
        for query in queries {
            let answer = query.answer(size);
            // Whole or not at all: a part of an answer is a key somebody pressed.
            if self.answers.len() + answer.len() <= ANSWERS_MAX {
                self.answers.extend(answer);
            }
        }
        self.type_answers();
    }

    fn type_answers(&mut self) {
        match self.terminal.try_write(&self.answers) {
            Ok(written) => drop(self.answers.drain(..written)),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            // Nobody is there to read them.
            Err(_) => self.answers.clear(),
        }
    }
}
