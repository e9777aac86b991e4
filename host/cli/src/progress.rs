//! A spinner on stderr for what takes longer than a second. On no terminal there is none.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::printer::Printer;

/// Below this nobody wonders whether something happens (Nielsen: 1 s keeps the flow of thought).
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the spinner turns.
const TICK: Duration = Duration::from_millis(100);

/// Something that may take long. Dropping it takes the spinner away.
pub(crate) struct Progress(Option<Spinner>);

struct Spinner {
    done: Sender<()>,
    thread: JoinHandle<()>,
}

impl Progress {
    /// Says what is being done, once it has taken a second.
    pub(crate) fn start(printer: &Printer, what: &str) -> Self {
        if !printer.shows_progress() {
            return Self(None);
        }
        let (done, wait) = mpsc::channel();
        let what = what.to_owned();
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(move || {
            if wait.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})");
            let bar = ProgressBar::new_spinner().with_message(what).with_elapsed(PATIENCE);
            let bar = match style {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            };
            bar.enable_steady_tick(TICK);
            // Ends with the sender, whether it says so or is dropped.
            let _ = wait.recv();
            bar.finish_and_clear();
        });
        // Without a thread there is no spinner, and nothing else is lost.
        Self(thread.ok().map(|thread| Spinner { done, thread }))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(Spinner { done, thread }) = self.0.take() {
            drop(done);
            // The spinner must be gone before anything else is printed.
            let _ = thread.join();
        }
    }
}
