//! The sink of a running host: a short queue and a thread that shows what is in it.
//!
//! It must never wait for the bus on the thread of whoever tells it: what does not fit is dropped and counted, and the
//! log says so once, until something was shown again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use hermes_model::event::EventKind;
use hermes_output::event::{Event, Sink};

use crate::bus::{Screen, SessionBus};
use crate::message::Message;

/// How many notifications wait for the bus. Nobody reads more at once.
const WAITING_MAX: usize = 32;

/// Shows events on the desktop. Its thread ends when it is dropped.
pub struct Desktop {
    kinds: Vec<EventKind>,
    queue: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
}

impl Desktop {
    /// Shows events of these kinds on this session's desktop.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(kinds: Vec<EventKind>) -> std::io::Result<Self> {
        Self::on(kinds, SessionBus::default())
    }

    /// Shows events of these kinds on a screen.
    pub(crate) fn on(kinds: Vec<EventKind>, screen: impl Screen + 'static) -> std::io::Result<Self> {
        let (queue, waiting) = sync_channel(WAITING_MAX);
        let dropped = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&dropped);
        std::thread::Builder::new()
            .name("hermes-desktop".to_owned())
            .spawn(move || show_all(&waiting, screen, &counted))?;
        Ok(Self { kinds, queue, dropped })
    }
}

impl Sink for Desktop {
    fn show(&self, event: &Event) {
        if !self.kinds.contains(&event.kind) {
            return;
        }
        match self.queue.try_send(Message::of(event)) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                if self.dropped.fetch_add(1, Ordering::Relaxed) == 0 {
                    tracing::warn!("the desktop takes no more notifications for now; some are not shown");
                }
            }
        }
    }
}

/// Shows what waits, until nobody tells of events any more.
fn show_all(waiting: &Receiver<Message>, mut screen: impl Screen, dropped: &AtomicU64) {
    let mut complained = false;
    while let Ok(message) = waiting.recv() {
        match screen.show(&message) {
            Ok(()) => {
                complained = false;
                let count = dropped.swap(0, Ordering::Relaxed);
                if count > 0 {
                    tracing::warn!(count, "notifications were not shown: the desktop did not take them in time");
                }
            }
            // Said once, not for every event.
            Err(error) if !complained => {
                complained = true;
                tracing::warn!("{error}");
            }
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use hermes_fakes::log::Logged;
    use hermes_model::status::Status;

    use super::*;
    use crate::bus::BusError;
    use crate::message::tests::event;

    /// Shows a message when it is let, and says whether it could.
    struct Held {
        let_go: Receiver<Result<(), BusError>>,
        shown: mpsc::Sender<Message>,
    }

    impl Screen for Held {
        fn show(&mut self, message: &Message) -> Result<(), BusError> {
            let answer = self.let_go.recv().unwrap_or(Err(BusError::Silent));
            let _ = self.shown.send(message.clone());
            answer
        }
    }

    fn held() -> (Held, mpsc::Sender<Result<(), BusError>>, Receiver<Message>) {
        let (go, let_go) = mpsc::channel();
        let (shown, messages) = mpsc::channel();
        (Held { let_go, shown }, go, messages)
    }

    fn completion(command: &str) -> Event {
        event(EventKind::Completion, command, "", Some(Status::Exited(0)))
    }

    #[test]
    fn only_the_kinds_that_were_asked_for_are_shown() {
        let (screen, go, messages) = held();
        let desktop = Desktop::on(vec![EventKind::Completion], screen).unwrap();
        desktop.show(&event(EventKind::Match, "other", "", None));
        desktop.show(&completion("mine"));
        go.send(Ok(())).unwrap();
        assert_eq!(messages.recv().unwrap().summary, "finished: mine");
        drop((desktop, go));
        assert!(messages.recv().is_err(), "nothing else was shown");
    }

    #[test]
    fn a_desktop_that_hangs_holds_nobody_up_and_what_is_dropped_is_counted() {
        let (screen, go, messages) = held();
        let desktop = Desktop::on(vec![EventKind::Completion], screen).unwrap();
        // One is in the hands of the screen at most, the queue holds the others; nobody lets the screen go yet.
        for _ in 0..WAITING_MAX + 20 {
            desktop.show(&completion("x"));
        }
        let dropped = desktop.dropped.load(Ordering::Relaxed);
        assert!((19..=20).contains(&dropped), "{dropped}");
        for _ in 0..WAITING_MAX + 20 {
            go.send(Ok(())).unwrap();
        }
        drop(desktop);
        let shown = messages.iter().count() as u64;
        assert_eq!(shown + dropped, WAITING_MAX as u64 + 20);
    }

    #[test]
    fn a_missing_bus_is_said_once_until_it_is_there() {
        let logged = Logged::default();
        let writer = logged.clone();
        let log = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
        let (queue, waiting) = sync_channel(8);
        let (screen, go, _messages) = held();
        for answer in [Err(BusError::Nobody), Err(BusError::Nobody), Ok(()), Err(BusError::Nobody)] {
            go.send(answer).unwrap();
            queue.send(Message { summary: "s".into(), body: String::new() }).unwrap();
        }
        drop(queue);
        tracing::subscriber::with_default(log, || show_all(&waiting, screen, &AtomicU64::new(0)));
        assert_eq!(logged.text().matches("nobody shows notifications").count(), 2, "{}", logged.text());
    }
}
