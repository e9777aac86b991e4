//! What may be shown of a process: every road from its output and its command line to a reply.
//!
//! Plugins are asked on blocking threads, so nothing here holds up the runtime.

use std::sync::Arc;

use hermes_model::context::{Context, Surface};
use hermes_model::report::PolicyReport;
use hermes_model::status::Status;
use hermes_output::captured::Captured;
use hermes_output::cut::Limits;
use hermes_output::exact::ExactValues;
use hermes_output::memory::Memory;
use hermes_output::policy::{InForce, Policy, RedactOnly};
use hermes_output::reveal::{self, Revealed};
use hermes_output::stream::Stream;
use hermes_output::visible::Visible;

use super::entry::Entry;

/// How much revealed text is remembered (four rings of the default size).
const REMEMBERED: usize = 32 << 20;

/// Asks the policy in force.
#[derive(Clone)]
pub(crate) struct Eyes {
    in_force: Arc<dyn InForce>,
    memory: Arc<Memory>,
    log_by: &'static str,
}

/// A short text that may be shown.
pub(crate) struct Short {
    pub(crate) text: Visible,
    pub(crate) report: PolicyReport,
}

impl Eyes {
    pub(crate) fn new(in_force: Arc<dyn InForce>, log_by: &'static str) -> Self {
        Self { in_force, memory: Arc::new(Memory::new(REMEMBERED)), log_by }
    }

    pub(crate) fn in_force(&self) -> &Arc<dyn InForce> {
        &self.in_force
    }

    /// What it printed, as a reply: summarised by the transforms, and cut.
    pub(crate) async fn view(&self, entry: &Arc<Entry>, surface: Surface, reply_bytes: usize) -> Revealed {
        let limits = Limits { reply_bytes, rest: Some(format!("{} {}", self.log_by, entry.id)) };
        self.look(entry, surface, move |eyes, policy, context, captured, exact| {
            eyes.memory.reveal(policy, context, captured, exact, &limits)
        })
        .await
    }

    /// All it printed that is held, line for line.
    pub(crate) async fn log(&self, entry: &Arc<Entry>) -> Revealed {
        self.look(entry, Surface::Background, |eyes, policy, context, captured, exact| {
            eyes.memory.reveal(&RedactOnly(policy), context, captured, exact, &Limits::none())
        })
        .await
    }

    /// The beginning and the end of what it printed, line for line: what is kept of it.
    pub(crate) async fn digest(&self, entry: &Arc<Entry>, bytes: usize) -> Revealed {
        let limits = Limits { reply_bytes: bytes, rest: None };
        self.look(entry, Surface::Background, move |_, policy, context, captured, exact| {
            reveal::reveal(&RedactOnly(policy), context, captured, exact, &limits)
        })
        .await
    }

    /// The end of what it printed, line for line.
    pub(crate) async fn preview(&self, entry: &Arc<Entry>, bytes: usize) -> Revealed {
        let limits = Limits { reply_bytes: bytes, rest: None };
        self.look(entry, Surface::Preview, move |eyes, policy, context, captured, exact| {
            eyes.memory.reveal(&RedactOnly(policy), context, captured, exact, &limits)
        })
        .await
    }

    async fn look<F>(&self, entry: &Arc<Entry>, surface: Surface, reveal: F) -> Revealed
    where
        F: FnOnce(&Self, &dyn Policy, &Context, &Captured, &ExactValues) -> Revealed + Send + 'static,
    {
        let context = context(entry, surface);
        let (eyes, entry) = (self.clone(), Arc::clone(entry));
        let policy = self.in_force.policy();
        blocking(move || reveal(&eyes, &*policy, &context, &entry.captured(), &entry.exact)).await
    }

    /// A short text that goes with a process, such as its command line.
    pub(crate) async fn short(&self, entry: &Arc<Entry>, surface: Surface, text: String) -> Short {
        self.text(context(entry, surface), Arc::clone(&entry.exact), text).await
    }

    /// A short text of which only the context is known.
    pub(crate) async fn text(&self, context: Context, exact: Arc<ExactValues>, text: String) -> Short {
        let policy = self.in_force.policy();
        let Revealed { text, report, .. } =
            blocking(move || reveal::reveal_text(&*policy, &context, &text, &exact)).await;
        Short { text, report }
    }

    /// A text that was read from the ledger. It was visible once, and is redacted again before it is shown.
    pub(crate) async fn stored(&self, context: Context, text: Captured) -> Visible {
        let policy = self.in_force.policy();
        let exact = ExactValues::default();
        let reveal = move || reveal::reveal(&RedactOnly(&*policy), &context, &text, &exact, &Limits::none());
        blocking(reveal).await.text
    }

    /// A stream of what a process prints from now on.
    pub(crate) fn stream(&self, entry: &Arc<Entry>) -> (Arc<dyn Policy>, Stream) {
        let stream = Stream::new(context(entry, Surface::Stream), Arc::clone(&entry.exact));
        (self.in_force.policy(), stream)
    }
}

/// What hooks are told of a process.
pub(crate) fn context(entry: &Entry, surface: Surface) -> Context {
    let status = entry.status();
    Context {
        source: entry.id.to_string(),
        command: entry.command.clone(),
        cwd: entry.cwd.clone(),
        owner: entry.owner.clone(),
        exit_code: if let Status::Exited(code) = status { Some(code) } else { None },
        signal: if let Status::Signalled(signal) = status { u8::try_from(signal).ok() } else { None },
        labels: vec![("status".to_owned(), status.kind().to_owned())],
        ..Context::new(surface)
    }
}

/// Runs what may block, and what may panic with it: a panic is passed on.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime ends: nobody waits for this any more.
            Err(_) => std::future::pending().await,
        },
    }
}
