//! Waiting with an end: the only place of the tests that sleeps.
//!
//! A condition is looked at, not an event awaited, so nothing is missed between two looks. Deadlines are generous: on a
//! busy machine a test is slow, and only one that would wait for ever fails.

use std::io::Read;
use std::process::{Child, ExitStatus};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long anything may take that ought to be quick.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How long a nested build may take on a busy machine.
pub const BUILD_PATIENCE: Duration = Duration::from_secs(240);
/// How often a condition is looked at.
pub(crate) const LOOK: Duration = Duration::from_millis(5);

/// Waits until the condition gives something.
///
/// # Panics
/// It gave nothing within the time.
pub fn until<T>(what: &str, within: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < within, "waited {} s in vain for {what}", within.as_secs());
        std::thread::sleep(LOOK);
    }
}

/// How a program ended and what it wrote.
pub struct Ended {
    /// How.
    pub status: ExitStatus,
    /// Its stdout.
    pub stdout: Vec<u8>,
    /// Its stderr.
    pub stderr: Vec<u8>,
}

/// Reads a program to its end. Whatever still holds its pipes afterwards keeps the reader waiting, and so is found.
///
/// # Panics
/// It did not end, or its pipes were not closed, within the time. It is killed then.
pub fn end_of(what: &str, mut child: Child, within: Duration) -> Ended {
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let started = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if started.elapsed() < within => std::thread::sleep(LOOK),
            Ok(None) => {
                // Best effort: the test fails either way, and must not leave it behind.
                let _ = child.kill();
                let _ = child.wait();
                panic!("{what} did not end within {} s", within.as_secs());
            }
            Err(error) => panic!("{what} cannot be waited for: {error}"),
        }
    };
    let rest = within.saturating_sub(started.elapsed()).max(Duration::from_secs(5));
    let of = |receiver: mpsc::Receiver<Vec<u8>>, name: &str| {
        receiver.recv_timeout(rest).unwrap_or_else(|_| panic!("{what} ended, and something still holds its {name}"))
    };
    Ended { status, stdout: of(stdout, "stdout"), stderr: of(stderr, "stderr") }
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before an error is what there is.
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = sender.send(bytes);
    });
    receiver
}
