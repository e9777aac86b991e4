//! What may be asked about processes: run one and wait, list, read a log, wait, send.
//!
//! It must never answer with text that has not been through the policy.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hermes_ledger::receipt::StoredReceipt;
use hermes_model::context::{Context, Surface};
use hermes_model::duration;
use hermes_model::status::Status;
use hermes_output::reveal::Revealed;
use hermes_output::visible::Visible;

use super::entry::{Body, Entry, Stage};
use super::follow::Follower;
use super::handle::{Found, Launched, Registry, Who};
use super::request::{AskError, LOG_LINES, LaunchError, Lines, Request, Source};
use super::shown::{KillResult, Killed, Log, Row, Run, SendResult, Sent, at};
use crate::kill::Survivor;
use crate::running::input::{ResizeError, SendError};
use crate::shell::notes;
use crate::spec::PtySize;

/// The end of the output that a list shows of each process, in bytes (200 is usual for this).
const PREVIEW_BYTES: usize = 200;

/// What a process is sent.
#[derive(Clone)]
pub enum Input {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The end of what it reads.
    End,
}

impl Registry {
    /// Starts a command and answers at once.
    ///
    /// # Errors
    /// Nothing was started.
    pub async fn start_in_background(&self, request: Request) -> Result<Run, LaunchError> {
        let Launched { entry, notes } = self.launch(request).await?;
        Ok(self.running_run(&entry, Duration::ZERO, None, notes).await)
    }

    /// Starts a command and waits for its end, at most for `patience`: then it goes on in the background, and its end is
    /// an event. Where `given_up` comes first, it is ended, and there is no answer.
    ///
    /// # Errors
    /// Nothing was started.
    pub async fn run(
        &self,
        request: Request,
        patience: Duration,
        given_up: impl Future<Output = ()>,
    ) -> Result<Option<Run>, LaunchError> {
        let Launched { entry, mut notes } = self.launch(request).await?;
        let ended = tokio::select! {
            biased;
            () = entry.wait_for_announcement() => true,
            () = given_up => {
                self.end(&entry, Source::Kill).await;
                return Ok(None);
            }
            () = tokio::time::sleep(patience) => false,
        };
        if !ended {
            entry.wishes.notify.store(true, Ordering::Release);
            // Whoever finishes it says first that it does: if nobody has, the wish is seen.
            if matches!(entry.stage(), Stage::Running | Stage::Unended(_)) {
                self.write_checkpoint(&entry).await;
                notes.push(format!(
                    "still running after {}; it goes on in the background as {}, and its end will be an event",
                    duration::display(patience),
                    entry.id
                ));
                let reply_bytes = self.shared().settings.reply_bytes;
                let view = self.shared().eyes.view(&entry, Surface::Foreground, reply_bytes).await;
                return Ok(Some(self.document(&entry, view, Some(true), notes).await));
            }
            entry.wait_for_announcement().await;
            self.shared().consume(&entry).await;
        }
        Ok(Some(self.ended_run(&entry, Surface::Foreground, None, notes).await))
    }

    /// Waits for the end of a process, at most for `patience`. Who waited needs not be told again; who gave up before
    /// that gets no answer, and is told.
    ///
    /// # Errors
    /// There is no such process, or it is another owner's.
    pub async fn wait(
        &self,
        who: &Who,
        asked: &str,
        patience: Duration,
        given_up: impl Future<Output = ()>,
    ) -> Result<Option<Run>, AskError> {
        let entry = match self.find(who, asked).await? {
            Found::Here(entry) => entry,
            Found::Written(receipt) => return Ok(Some(self.written_run(*receipt).await)),
        };
        tokio::select! {
            biased;
            () = entry.wait_for_announcement() => {
                self.shared().consume(&entry).await;
                return Ok(Some(self.ended_run(&entry, Surface::Background, Some(false), Vec::new()).await));
            }
            () = given_up => return Ok(None),
            () = tokio::time::sleep(patience) => {}
        }
        let mut notes = vec!["the wait ended, and the process runs on; that is no failure".to_owned()];
        if let Stage::Unended(survivors) = entry.stage() {
            notes.push(format!("it was to be ended, and could not be: {}", pids(&survivors)));
        }
        notes.push(if entry.notifies() {
            "its end will be an event".to_owned()
        } else {
            "nobody will be told of its end: wait again".to_owned()
        });
        Ok(Some(self.running_run(&entry, patience, Some(true), notes).await))
    }

    async fn running_run(
        &self,
        entry: &Arc<Entry>,
        waited: Duration,
        timed_out: Option<bool>,
        notes: Vec<String>,
    ) -> Run {
        // Right after a start there is nothing to look at, and a start must not wait for a plugin.
        let bytes = if waited.is_zero() && timed_out.is_none() { 0 } else { self.shared().settings.completion_bytes };
        if bytes == 0 {
            let command = self.shared().eyes.short(entry, Surface::Background, entry.command.clone()).await;
            let nothing = Revealed { text: Visible::empty(), report: command.report, cut: false, output_bytes: 0 };
            let run = document(entry, command.text, nothing, timed_out, notes);
            // It was started: how it ended, if it did already, is told like any other end.
            return Run { status: Status::Running, exit_code: None, ..run };
        }
        let view = self.shared().eyes.preview(entry, bytes).await;
        self.document(entry, view, timed_out, notes).await
    }

    async fn ended_run(
        &self,
        entry: &Arc<Entry>,
        surface: Surface,
        timed_out: Option<bool>,
        mut notes: Vec<String>,
    ) -> Run {
        let view = self.shared().eyes.view(entry, surface, self.shared().settings.reply_bytes).await;
        self.shared().audit(entry, surface, &view).await;
        if let Some(note) = notes::note(&entry.command, &entry.status()) {
            notes.push(note.to_string());
        }
        if let Some(trouble) = entry.outcome().and_then(|outcome| outcome.unsaved.clone()) {
            notes.push(format!("this is not in the ledger yet: {trouble}"));
        }
        let survivors = self.alive(entry);
        if !survivors.is_empty() {
            notes.push(format!(
                "it ended and left running: {}; `hermes kill {}` ends them",
                pids(&survivors),
                entry.id
            ));
        }
        self.document(entry, view, timed_out, notes).await
    }

    /// Who of it is alive although it ended.
    pub(crate) fn alive(&self, entry: &Arc<Entry>) -> Vec<Survivor> {
        match (&entry.body, entry.stage()) {
            (_, Stage::Unended(survivors)) => survivors,
            (Body::Own(process), Stage::Ended(_)) if !process.is_gone() => process.survivors(),
            _ => Vec::new(),
        }
    }

    async fn document(&self, entry: &Arc<Entry>, view: Revealed, timed_out: Option<bool>, notes: Vec<String>) -> Run {
        let command = self.shared().eyes.short(entry, Surface::Background, entry.command.clone()).await.text;
        let mut run = document(entry, command, view, timed_out, notes);
        run.survivors = self.alive(entry).iter().map(Survivor::pid).collect();
        run
    }

    async fn written_run(&self, receipt: StoredReceipt) -> Run {
        let context = context_of(&receipt);
        let eyes = &self.shared().eyes;
        Run {
            command: eyes.stored(context.clone(), receipt.command).await,
            output: eyes.stored(context, receipt.output).await,
            id: receipt.id,
            owner: receipt.owner,
            pid: None,
            exit_code: receipt.status.exit_code(),
            status: receipt.status,
            output_bytes: receipt.output_bytes,
            output_cut: receipt.output_cut,
            duration_ms: Some(millis(receipt.duration)),
            survivors: Vec::new(),
            policy: receipt.policy,
            timed_out: Some(false),
            notes: Vec::new(),
        }
    }

    /// The answer to a kill of what only the ledger knows.
    pub(crate) async fn already_ended(&self, receipt: StoredReceipt) -> Killed {
        let run = self.written_run(receipt).await;
        Killed {
            id: run.id,
            result: KillResult::AlreadyEnded,
            status: run.status,
            exit_code: run.exit_code,
            survivors: Vec::new(),
            swept: Vec::new(),
            output: run.output,
            output_cut: run.output_cut,
            policy: run.policy,
        }
    }

    /// The processes of this host that `who` may see, the newest last. Takes nothing from anybody who is to be told.
    pub async fn list(&self, who: &Who) -> Vec<Row> {
        let mut entries = self.entries();
        entries.retain(|entry| who.may_see(&entry.owner));
        entries.sort_by_key(|entry| entry.started_at);
        let mut rows = Vec::with_capacity(entries.len());
        for entry in entries {
            rows.push(self.row(&entry).await);
        }
        rows
    }

    /// One line of the list; none for a process that only the ledger knows.
    ///
    /// # Errors
    /// There is no such process, or it is another owner's.
    pub async fn look(&self, who: &Who, asked: &str) -> Result<Option<Row>, AskError> {
        match self.find(who, asked).await? {
            Found::Here(entry) => Ok(Some(self.row(&entry).await)),
            Found::Written(_) => Ok(None),
        }
    }

    async fn row(&self, entry: &Arc<Entry>) -> Row {
        let eyes = &self.shared().eyes;
        if !entry.is_under_way() {
            entry.observed.store(true, Ordering::Relaxed);
        }
        let mut watch = Vec::with_capacity(entry.wishes.watch.len());
        for pattern in &entry.wishes.watch {
            watch.push(eyes.short(entry, Surface::Preview, pattern.clone()).await.text);
        }
        let Revealed { text: preview, output_bytes, .. } = eyes.preview(entry, PREVIEW_BYTES).await;
        let status = entry.status();
        Row {
            id: entry.id.clone(),
            command: eyes.short(entry, Surface::Preview, entry.command.clone()).await.text,
            owner: entry.owner.clone(),
            pid: Some(entry.identity.pid),
            pty: entry.pty,
            cwd: eyes.short(entry, Surface::Preview, entry.cwd.clone()).await.text,
            started_at: at(entry.started_at),
            ended_at: entry.outcome().map(|outcome| at(outcome.ended_at)),
            uptime_ms: millis(entry.duration()),
            exit_code: status.exit_code(),
            status,
            output_bytes,
            preview,
            watch,
            notify: entry.notifies(),
            heartbeat_ms: entry.wishes.heartbeat.map(millis),
            persist: entry.wishes.persist,
            detached: matches!(entry.body, Body::Adopted(_)),
            survivors: self.alive(entry).iter().map(Survivor::pid).collect(),
        }
    }

    /// A part of a log, line for line as it was printed. Reading the end of an ended process's log is as good as being
    /// told of its end.
    ///
    /// # Errors
    /// There is no such process, or it is another owner's.
    pub async fn log(&self, who: &Who, asked: &str, lines: Lines) -> Result<Log, AskError> {
        let entry = match self.find(who, asked).await? {
            Found::Here(entry) => entry,
            Found::Written(receipt) => return Ok(self.written_log(*receipt, lines).await),
        };
        // Before the text: an end that comes while it is made is not read.
        let ended = !entry.is_under_way();
        let whole = self.shared().eyes.log(&entry).await;
        self.shared().audit(&entry, Surface::Background, &whole).await;
        let status = entry.status();
        let command = self.shared().eyes.short(&entry, Surface::Background, entry.command.clone()).await.text;
        let part = part(&whole.text, lines, self.shared().settings.reply_bytes);
        // Whoever got nothing to read does not know of its end.
        if ended && part.to_the_end && whole.report.withheld.is_none() {
            self.shared().consume(&entry).await;
        }
        let output_cut = whole.cut || part.lines < part.total;
        Ok(Log {
            id: entry.id.clone(),
            command,
            exit_code: status.exit_code(),
            status,
            output: whole.text.part(part.bytes),
            first_line: part.first,
            lines: part.lines,
            total_lines: part.total,
            output_bytes: whole.output_bytes,
            output_cut,
            policy: whole.report,
        })
    }

    async fn written_log(&self, receipt: StoredReceipt, lines: Lines) -> Log {
        let run = self.written_run(receipt).await;
        let part = part(&run.output, lines, self.shared().settings.reply_bytes);
        Log {
            id: run.id,
            command: run.command,
            status: run.status,
            exit_code: run.exit_code,
            output_cut: run.output_cut || part.lines < part.total,
            output: run.output.part(part.bytes),
            first_line: part.first,
            lines: part.lines,
            total_lines: part.total,
            output_bytes: run.output_bytes,
            policy: run.policy,
        }
    }

    /// A reader of a log as it grows.
    ///
    /// # Errors
    /// There is no such process here, or it is another owner's.
    pub async fn follow(&self, who: &Who, asked: &str) -> Result<Follower, AskError> {
        match self.find(who, asked).await? {
            Found::Here(entry) => Ok(Follower::of(&self.shared().eyes, &entry)),
            Found::Written(receipt) => Err(AskError::Past(receipt.id)),
        }
    }

    /// Gives a process something to read.
    ///
    /// # Errors
    /// There is no such process, or it is another owner's.
    pub async fn send(&self, who: &Who, asked: &str, input: Input) -> Result<Sent, AskError> {
        let entry = match self.find(who, asked).await? {
            Found::Here(entry) => entry,
            Found::Written(receipt) => {
                return Ok(Sent { id: receipt.id, bytes_written: 0, result: SendResult::AlreadyEnded });
            }
        };
        let sent = match &entry.body {
            Body::Own(process) => match input {
                Input::Bytes(bytes) => process.send(&bytes).await,
                Input::End => process.send_eof().await.map(|()| 0),
            },
            Body::Adopted(_) => Err(SendError::NoStdin),
        };
        let (bytes, result) = match sent {
            Ok(bytes) => (bytes, SendResult::Ok),
            Err(SendError::NoStdin) if entry.is_under_way() => (0, SendResult::NoStdin),
            Err(SendError::Stalled { written }) => (written, SendResult::Stalled),
            Err(_) => (0, SendResult::AlreadyEnded),
        };
        Ok(Sent { id: entry.id.clone(), bytes_written: bytes as u64, result })
    }

    /// Gives the terminal of a process another size.
    ///
    /// # Errors
    /// There is no such process, or it is another owner's.
    pub async fn resize(&self, who: &Who, asked: &str, size: PtySize) -> Result<Sent, AskError> {
        let (id, resized) = match self.find(who, asked).await? {
            Found::Here(entry) => {
                let resized = match &entry.body {
                    Body::Own(process) => process.resize(size),
                    Body::Adopted(_) => Err(ResizeError::NoTerminal),
                };
                (entry.id.clone(), resized)
            }
            Found::Written(receipt) => (receipt.id, Err(ResizeError::Ended)),
        };
        let result = match resized {
            Ok(()) => SendResult::Ok,
            Err(ResizeError::NoTerminal) => SendResult::NoTerminal,
            Err(ResizeError::Ended) => SendResult::AlreadyEnded,
        };
        Ok(Sent { id, bytes_written: 0, result })
    }
}

/// A process and what was looked at of it.
fn document(entry: &Arc<Entry>, command: Visible, view: Revealed, timed_out: Option<bool>, notes: Vec<String>) -> Run {
    let status = entry.status();
    Run {
        id: entry.id.clone(),
        command,
        owner: entry.owner.clone(),
        pid: Some(entry.identity.pid),
        exit_code: status.exit_code(),
        status,
        output: view.text,
        output_bytes: view.output_bytes,
        output_cut: view.cut,
        duration_ms: Some(millis(entry.duration())),
        survivors: Vec::new(),
        policy: view.report,
        timed_out,
        notes,
    }
}

fn context_of(receipt: &StoredReceipt) -> Context {
    let mut context = Context::new(Surface::Background);
    context.source = receipt.id.to_string();
    context.owner = receipt.owner.clone();
    context.exit_code = receipt.status.exit_code();
    context
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn pids(survivors: &[Survivor]) -> String {
    let pids: Vec<String> = survivors.iter().map(|survivor| survivor.pid().to_string()).collect();
    pids.join(", ")
}

/// Some lines of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    bytes: std::ops::Range<usize>,
    first: u64,
    lines: u64,
    total: u64,
    to_the_end: bool,
}

/// The lines that are asked for, as many of them as fit into `max` bytes; at least one.
fn part(text: &Visible, lines: Lines, max: usize) -> Part {
    let text = text.as_str();
    let mut starts: Vec<usize> = vec![0];
    starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
    if starts.last() == Some(&text.len()) {
        starts.pop();
    }
    let total = starts.len() as u64;
    let limit = lines.limit.unwrap_or(LOG_LINES);
    let first = lines.offset.unwrap_or_else(|| total.saturating_sub(limit)).min(total);
    let end_of =
        |line: u64| usize::try_from(line).ok().and_then(|line| starts.get(line)).copied().unwrap_or(text.len());
    let from = end_of(first);
    let mut last = first.saturating_add(limit).min(total);
    if lines.offset.is_some() {
        while last > first + 1 && end_of(last) - from > max {
            last -= 1;
        }
        return Part { bytes: from..end_of(last), first, lines: last - first, total, to_the_end: last == total };
    }
    // The end is what was asked for: what does not fit goes at the beginning.
    let mut first = first;
    while first + 1 < last && text.len() - end_of(first) > max {
        first += 1;
    }
    Part { bytes: end_of(first)..text.len(), first, lines: last - first, total, to_the_end: true }
}
