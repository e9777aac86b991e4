//! The task of one process: reads along where that is asked for, waits for its end, writes it down, and then says so.
//!
//! Order: the rest of the output, the views, one transaction with receipt and event, and only then whoever waits. It must
//! never announce an end twice, and never wait for a pipe.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use hermes_ledger::receipt::Receipt;
use hermes_model::context::{Context, Surface};
use hermes_model::event::EventKind;
use hermes_model::report::PolicyReport;
use hermes_model::status::Status;
use hermes_output::event::Event;
use hermes_output::policy::Policy;
use hermes_output::reveal::Revealed;
use hermes_output::stream::Stream;
use hermes_output::visible::Visible;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::entry::{Body, Entry, Outcome, Stage};
use super::handle::Registry;
use super::look::{Short, blocking};
use crate::adopted::Adopted;
use crate::notify::breaker::BreakerEvent;
use crate::notify::heartbeat::{Beat, Heartbeat};
use crate::notify::watch::{DisabledReason, Watch, WatchEvent};
use crate::running::handle::Process;
use crate::running::tap::Chunk;

/// How much of a log a receipt keeps: its end and, in front of it, its beginning (200 000 is usual for this).
const RECEIPT_BYTES: usize = 200_000;
/// How much of the end of a flood is looked at that nobody could read along with: many lines, and quickly searched.
const LAST_WORDS: usize = 64 << 10;
/// How soon writing a receipt is tried again after it failed.
const TRY_AGAIN: Duration = Duration::from_secs(5);
/// Why nothing is known of the end of a process that another host started.
pub(crate) const LOST: &str = "its host ended before it did, so nobody took its exit status";

/// Why nothing is known of the end of one that its host should have taken with it.
const ENDED_LATE: &str = "its host was killed, and it was ended after it, so nobody took its exit status";
/// How long the supervisor of a host that was killed has for its work: its grace and what follows. Two that end the same
/// process would tell it twice.
pub(crate) const SUPERVISOR_TIME: Duration = Duration::from_secs(4);

/// What a process says while it runs.
pub(crate) struct Along {
    pub(crate) chunks: mpsc::Receiver<Chunk>,
    pub(crate) watch: Option<Watch>,
    pub(crate) heartbeat: Option<Heartbeat>,
}

/// Attends to a process until everything that is to be said of it is said.
pub(crate) async fn attend(registry: Registry, entry: Arc<Entry>, along: Option<Along>) {
    match entry.body.clone() {
        Body::Own(process) => own(registry, entry, process, along).await,
        Body::Adopted(adopted) => of_another_host(registry, entry, adopted).await,
    }
}

async fn own(registry: Registry, entry: Arc<Entry>, process: Process, along: Option<Along>) {
    let reading = along.map(|along| tokio::spawn(Reader::of(&registry, &entry, along).run()));
    let ended = process.wait().await;
    if let Some(reading) = reading {
        // What it printed before its end is looked at before its end is told. A reader that broke down says nothing more.
        if let Err(error) = reading.await {
            tracing::error!(process = %entry.id, %error, "reading along broke down");
        }
    }
    let ended_at = SystemTime::now();
    if was_ended(&ended.status) && !ended.survivors.is_empty() {
        entry.set(Stage::Unended(ended.survivors.clone()));
        process.gone().await;
    }
    finish(&registry, &entry, ended.status.clone(), ended.duration, ended_at).await;
}

/// Whether hermes ended it, so that whoever survives does so against its will.
fn was_ended(status: &Status) -> bool {
    matches!(status, Status::Stopped(_) | Status::TimedOut)
}

async fn of_another_host(registry: Registry, entry: Arc<Entry>, adopted: Adopted) {
    adopted.left().await;
    let status = match entry.stage() {
        Stage::Finalizing(status) => status,
        _ => Status::Lost(LOST.to_owned()),
    };
    finish(&registry, &entry, status, entry.duration(), SystemTime::now()).await;
}

/// Ends what the death of its host should have ended, where nobody else does, and tells that it is lost.
pub(crate) async fn end_left(registry: Registry, entry: Arc<Entry>, adopted: Adopted) {
    if !adopted.gone_within(SUPERVISOR_TIME).await {
        let verdict = adopted.stop(registry.shared().settings.term_grace).await;
        if !verdict.is_complete() {
            entry.set(Stage::Unended(verdict.survivors));
            adopted.left().await;
        }
    }
    let status = match entry.stage() {
        Stage::Finalizing(status) => status,
        _ => Status::Lost(ENDED_LATE.to_owned()),
    };
    finish(&registry, &entry, status, entry.duration(), SystemTime::now()).await;
}

/// Writes and tells the end of a process.
pub(crate) async fn finish(
    registry: &Registry,
    entry: &Arc<Entry>,
    status: Status,
    duration: Duration,
    ended_at: SystemTime,
) {
    entry.set(Stage::Finalizing(status.clone()));
    let shared = registry.shared();
    let log = shared.eyes.digest(entry, RECEIPT_BYTES).await;
    let Short { text: command, .. } = shared.eyes.short(entry, Surface::Completion, entry.command.clone()).await;
    let Short { text: cwd, .. } = shared.eyes.short(entry, Surface::Completion, entry.cwd.clone()).await;
    let event = completion(registry, entry, &status, &command, ended_at).await;
    shared.audit(entry, Surface::Background, &log).await;
    let receipt = Receipt {
        id: entry.id.clone(),
        owner: entry.owner.clone(),
        command,
        cwd,
        started_at: entry.started_at,
        ended_at,
        status: status.clone(),
        output_bytes: log.output_bytes,
        output_cut: log.cut,
        output: log.text,
        duration,
        policy: log.report,
    };
    let mut outcome = Outcome { status, ended_at, ended: shared.now(), duration, unsaved: None };
    let new = event.map(|event| shared.bus.prepare(event));
    let mut said = false;
    loop {
        match shared.ledger.finished(receipt.clone(), new.clone()).await {
            Ok(seq) => {
                outcome.unsaved = None;
                entry.set(Stage::Ended(Arc::new(outcome)));
                if entry.consumed.load(Ordering::Relaxed) {
                    // Somebody saw its end while it could not be written.
                    shared.consume(entry).await;
                }
                if let (Some(seq), Some(new)) = (seq, new) {
                    shared.bus.written(seq, new, Arc::clone(&entry.exact));
                }
                break;
            }
            Err(error) => {
                // Whoever waits is not held up by a full disk, and is told.
                if !said {
                    tracing::warn!(process = %entry.id, %error, "the end of a process could not be written yet; it is tried again");
                    let unsaved = Some(error.to_string());
                    let status = outcome.status.clone();
                    let Outcome { ended_at, ended, duration, .. } = outcome;
                    entry.set(Stage::Ended(Arc::new(Outcome { status, ended_at, ended, duration, unsaved })));
                    entry.announce();
                    said = true;
                }
                tokio::time::sleep(TRY_AGAIN).await;
            }
        }
    }
    entry.announce();
    shared.stop_scope(entry).await;
    registry.make_room();
}

/// The event of an end, where one is wanted.
async fn completion(
    registry: &Registry,
    entry: &Arc<Entry>,
    status: &Status,
    command: &Visible,
    at: SystemTime,
) -> Option<Event> {
    let shared = registry.shared();
    let asked = entry.notifies();
    if !asked && !shared.bus.wakes(EventKind::Completion, asked, Some(status)) {
        return None;
    }
    let view = shared.eyes.view(entry, Surface::Completion, entry.wishes.completion_bytes).await;
    shared.audit(entry, Surface::Completion, &view).await;
    let Revealed { text, report, cut, .. } = view;
    Some(Event {
        id: format!("{}-end", entry.id),
        kind: EventKind::Completion,
        process: Some(entry.id.clone()),
        command: command.clone(),
        owner: entry.owner.clone(),
        at,
        status: Some(status.clone()),
        output: text,
        output_cut: cut,
        pattern: None,
        suppressed: 0,
        hidden: false,
        policy: report,
    })
}

/// Reads along with one process: what it prints, as far as it may be shown, against what is watched for.
struct Reader {
    registry: Registry,
    entry: Arc<Entry>,
    along: Along,
    matches: u64,
}

impl Reader {
    fn of(registry: &Registry, entry: &Arc<Entry>, along: Along) -> Self {
        Self { registry: registry.clone(), entry: Arc::clone(entry), along, matches: 0 }
    }

    async fn run(mut self) {
        let (policy, mut stream) = self.registry.shared().eyes.stream(&self.entry);
        // What was skipped since the last text that came through.
        let mut skipped = 0;
        loop {
            let beat =
                self.along.heartbeat.as_ref().map(|heartbeat| self.registry.shared().instant(heartbeat.next_due()));
            let chunk = tokio::select! {
                chunk = self.along.chunks.recv() => chunk,
                () = tokio::time::sleep_until(beat.unwrap_or_else(Instant::now)), if beat.is_some() => {
                    self.beat().await;
                    continue;
                }
            };
            let Some(chunk) = chunk else { break };
            skipped = if let Chunk::Skipped(bytes) = chunk { skipped + bytes } else { 0 };
            let policy = Arc::clone(&policy);
            let (back, text) = blocking(move || step(stream, &*policy, &chunk)).await;
            stream = back;
            self.take_in(text.as_str(), false).await;
        }
        if skipped > 0 {
            // A flood ended faster than it could be read along: its last words are in what was kept of it, and a stream
            // that skipped goes on with the next whole line.
            let bytes = usize::try_from(skipped).unwrap_or(usize::MAX).min(LAST_WORDS);
            let chunk = Chunk::Bytes(self.entry.captured().end(bytes));
            let policy = Arc::clone(&policy);
            let (back, text) = blocking(move || step(stream, &*policy, &chunk)).await;
            stream = back;
            self.take_in(text.as_str(), false).await;
        }
        // It has ended, or its output has: what is held back is looked at too.
        let last = blocking(move || stream.finish(&*policy).text).await;
        self.take_in(last.as_str(), true).await;
    }

    async fn take_in(&mut self, text: &str, last: bool) {
        if let Some(heartbeat) = &mut self.along.heartbeat {
            heartbeat.push(text);
        }
        let now = self.registry.shared().now();
        let Some(watch) = &mut self.along.watch else { return };
        let mut found = watch.push(text, now);
        if last {
            found.extend(watch.finish(now));
        }
        for event in found {
            self.found(event).await;
        }
    }

    async fn found(&mut self, found: WatchEvent) {
        match found {
            WatchEvent::Matched { pattern, lines, cut, suppressed } => {
                let (admitted, change) = self.registry.shared().admit();
                if let Some(change) = change {
                    self.registry.overflow(change).await;
                }
                if admitted {
                    self.matched(pattern, lines, cut, suppressed).await;
                }
            }
            WatchEvent::Disabled { reason, suppressed } => self.disabled(reason, suppressed).await,
        }
    }

    async fn matched(&mut self, pattern: usize, lines: String, cut: bool, suppressed: u64) {
        self.matches += 1;
        let watched = self.along.watch.as_ref().and_then(|watch| watch.pattern(pattern)).unwrap_or_default().to_owned();
        let eyes = &self.registry.shared().eyes;
        let pattern = eyes.short(&self.entry, Surface::Match, watched).await.text;
        let Short { text, report } = eyes.short(&self.entry, Surface::Match, lines).await;
        let id = format!("{}-match-{}", self.entry.id, self.matches);
        let event = Event {
            output_cut: cut,
            pattern: Some(pattern),
            suppressed,
            policy: report,
            ..self.event(id, EventKind::Match, text).await
        };
        self.registry.shared().bus.tell(event, Arc::clone(&self.entry.exact)).await;
    }

    /// It is no longer watched: its end is told instead, even if nobody asked for that.
    async fn disabled(&mut self, reason: DisabledReason, suppressed: u64) {
        self.entry.wishes.notify.store(true, Ordering::Relaxed);
        let why = match reason {
            DisabledReason::Strikes => "it printed what is watched for too often in a row",
            DisabledReason::Lifetime => "it was told about as often as one process may be",
        };
        let text = format!("no longer watched: {why}; its end will be told instead");
        let text = self.registry.shared().eyes.short(&self.entry, Surface::Match, text).await.text;
        let id = format!("{}-watch-disabled", self.entry.id);
        let event = Event { suppressed, ..self.event(id, EventKind::WatchDisabled, text).await };
        self.registry.shared().bus.tell(event, Arc::clone(&self.entry.exact)).await;
        self.registry.write_checkpoint(&self.entry).await;
    }

    async fn beat(&mut self) {
        let now = self.registry.shared().now();
        let Some(Beat { seq, output, omitted, .. }) =
            self.along.heartbeat.as_mut().and_then(|heartbeat| heartbeat.due(now))
        else {
            return;
        };
        let text = if omitted > 0 { format!("[... {omitted} bytes before this]\n{output}") } else { output };
        let Short { text, report } = self.registry.shared().eyes.short(&self.entry, Surface::Heartbeat, text).await;
        // Its end is told by its completion; a beat after it would say that it runs.
        if matches!(self.entry.stage(), Stage::Running) && !has_ended(&self.entry) {
            let id = format!("{}-beat-{seq}", self.entry.id);
            let event = Event {
                output_cut: omitted > 0,
                hidden: true,
                policy: report,
                ..self.event(id, EventKind::Heartbeat, text).await
            };
            self.registry.shared().bus.tell(event, Arc::clone(&self.entry.exact)).await;
        }
    }

    async fn event(&self, id: String, kind: EventKind, output: Visible) -> Event {
        let eyes = &self.registry.shared().eyes;
        let command = eyes.short(&self.entry, Surface::Match, self.entry.command.clone()).await.text;
        Event {
            id,
            kind,
            process: Some(self.entry.id.clone()),
            command,
            owner: self.entry.owner.clone(),
            at: SystemTime::now(),
            status: Some(Status::Running),
            output,
            output_cut: false,
            pattern: None,
            suppressed: 0,
            hidden: false,
            policy: PolicyReport::default(),
        }
    }
}

fn has_ended(entry: &Entry) -> bool {
    match &entry.body {
        Body::Own(process) => process.ended().is_some(),
        Body::Adopted(_) => false,
    }
}

/// One step of a stream.
pub(crate) fn step(mut stream: Stream, policy: &dyn Policy, chunk: &Chunk) -> (Stream, Visible) {
    let step = match chunk {
        Chunk::Bytes(bytes) => stream.push(policy, bytes),
        Chunk::Skipped(bytes) => stream.skip(policy, *bytes),
    };
    (stream, step.text)
}

impl Registry {
    /// Tells everybody who watches something that all processes together match too often, or no longer do.
    pub(crate) async fn overflow(&self, change: BreakerEvent) {
        let shared = self.shared();
        let (text, suppressed) = match change {
            BreakerEvent::Tripped => {
                ("processes match too often together; matches are dropped for a while".to_owned(), 0)
            }
            BreakerEvent::Released { dropped } => (format!("matches are told again; {dropped} were dropped"), dropped),
        };
        let context = Context::new(Surface::Match);
        let Short { text, report } = shared.eyes.text(context.clone(), Arc::default(), text).await;
        let command = shared.eyes.text(context, Arc::default(), String::new()).await.text;
        let count = shared.count();
        for owner in self.watchers() {
            let event = Event {
                id: format!("{}-overflow-{count}-{}", shared.host.marker(), owner.as_str()),
                kind: EventKind::WatchOverflow,
                process: None,
                command: command.clone(),
                owner,
                at: SystemTime::now(),
                status: None,
                output: text.clone(),
                output_cut: false,
                pattern: None,
                suppressed,
                hidden: false,
                policy: report.clone(),
            };
            shared.bus.tell(event, Arc::default()).await;
        }
    }
}
