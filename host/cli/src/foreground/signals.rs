//! The signals that end what hermes runs.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// A signal to hermes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caught {
    Interrupt,
    Terminate,
    HangUp,
    Quit,
}

impl Caught {
    /// Who is named in the command's status.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "ctrl-c",
            Self::Terminate => "sigterm",
            Self::HangUp => "sighup",
            Self::Quit => "sigquit",
        }
    }

    /// Its number.
    pub(crate) fn number(self) -> i32 {
        self.kind().as_raw_value()
    }

    fn kind(self) -> SignalKind {
        match self {
            Self::Interrupt => SignalKind::interrupt(),
            Self::Terminate => SignalKind::terminate(),
            Self::HangUp => SignalKind::hangup(),
            Self::Quit => SignalKind::quit(),
        }
    }
}

/// Listens to them, in place of what the system does by default.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    quit: Signal,
    /// None under `nohup`, which asks to go on when the terminal closes.
    hang_up: Option<Signal>,
}

impl Signals {
    /// Begins to listen. Needs a runtime.
    pub(crate) fn listen() -> io::Result<Self> {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let listen = |caught: Caught| signal(caught.kind());
        let hang_up = if ignores(&status, Caught::HangUp) { None } else { Some(listen(Caught::HangUp)?) };
        Ok(Self {
            interrupt: listen(Caught::Interrupt)?,
            terminate: listen(Caught::Terminate)?,
            quit: listen(Caught::Quit)?,
            hang_up,
        })
    }

    /// The next signal.
    pub(crate) async fn next(&mut self) -> Caught {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        // A stream of signals ends only with its runtime.
        tokio::select! {
            Some(()) = self.interrupt.recv() => Caught::Interrupt,
            Some(()) = self.terminate.recv() => Caught::Terminate,
            Some(()) = self.quit.recv() => Caught::Quit,
            Some(()) = hang_up => Caught::HangUp,
            else => std::future::pending().await,
        }
    }
}

/// Whether a process ignores a signal, by its `/proc/PID/status`: bit n-1 of `SigIgn` is signal n (proc(5)).
fn ignores(status: &str, caught: Caught) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (caught.number() - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_hang_up_is_seen_in_the_status_of_the_process() {
        assert!(ignores("Name:\tx\nSigIgn:\t0000000000001001\n", Caught::HangUp));
        assert!(!ignores("Name:\tx\nSigIgn:\t0000000000001000\n", Caught::HangUp));
        assert!(!ignores("", Caught::HangUp));
    }
}
