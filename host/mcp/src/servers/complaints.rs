//! What a server writes to its stderr: read at once, shown by the policy, kept in a small file.
//!
//! It must never let a server wait for its log, and never write a line that the policy has not released.

use std::collections::VecDeque;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use hermes_model::time::Timestamp;
use hermes_output::policy::Policy;
use hermes_output::stream::Stream;
use rustix::fs::OFlags;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

/// How large the log of a server becomes before it begins anew: a few thousand lines, and the same again in the one before.
const LOG_MAX: u64 = 1 << 20;
/// How much that the policy has not seen yet is held. What comes faster is left out, and the log says so.
const WAITING_MAX: usize = 256 << 10;
/// How much is read at once: what a pipe holds.
const READ: usize = 64 << 10;
/// How many of the last lines are told with a problem, and how much of each, in characters.
const LAST_LINES: usize = 3;
const LAST_LINE_CHARS: usize = 200;

/// The file of a log.
struct Log {
    path: PathBuf,
    file: Option<File>,
    written: u64,
    at_line_start: bool,
}

impl Log {
    /// Opens it at its end. Where that fails the server is drained all the same.
    fn open(path: PathBuf) -> Self {
        let mut log = Self { path, file: None, written: 0, at_line_start: true };
        if let Err(error) = log.reopen() {
            tracing::warn!(path = %log.path.display(), %error, "the stderr of a server is not kept");
        }
        log
    }

    fn reopen(&mut self) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        // Neither a link nor a pipe that somebody laid there.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
        let file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(&self.path)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        (self.written, self.file) = (about.len(), Some(file));
        Ok(())
    }

    fn write(&mut self, text: &str) {
        if text.is_empty() || self.file.is_none() {
            return;
        }
        if let Err(error) = self.try_write(text) {
            tracing::warn!(path = %self.path.display(), %error, "the stderr of a server is not kept any more");
            self.file = None;
        }
    }

    fn try_write(&mut self, text: &str) -> io::Result<()> {
        if self.written + text.len() as u64 > LOG_MAX && self.written > 0 {
            self.file = None;
            fs::rename(&self.path, before(&self.path))?;
            self.reopen()?;
        }
        if let Some(file) = &mut self.file {
            file.write_all(text.as_bytes())?;
            self.at_line_start = text.ends_with('\n');
            self.written += text.len() as u64;
        }
        Ok(())
    }
}

/// Where the log before this one is.
fn before(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".1");
    path.with_file_name(name)
}

/// The last lines that the policy has released.
#[derive(Default)]
struct Last {
    lines: VecDeque<String>,
    open: bool,
}

impl Last {
    fn push(&mut self, text: &str) {
        for part in text.split_inclusive('\n') {
            if !self.open {
                self.lines.push_back(String::new());
            }
            self.open = !part.ends_with('\n');
            if let Some(line) = self.lines.back_mut() {
                let room = LAST_LINE_CHARS.saturating_sub(line.chars().count());
                line.extend(part.trim_end_matches('\n').chars().take(room));
                if !self.open && line.trim().is_empty() {
                    self.lines.pop_back();
                }
            }
            while self.lines.len() > LAST_LINES {
                self.lines.pop_front();
            }
        }
    }
}

/// Whoever looks at what was read, and writes it down. It blocks.
struct Desk {
    stream: Stream,
    policy: Arc<dyn Policy>,
    log: Log,
    last: Arc<Mutex<Last>>,
}

impl Desk {
    fn take(&mut self, read: &[u8], left_out: u64, over: bool) {
        if !read.is_empty() {
            let step = self.stream.push(&*self.policy, read);
            self.keep(step.text.as_str());
        }
        if left_out > 0 {
            let step = self.stream.skip(&*self.policy, left_out);
            self.keep(step.text.as_str());
        }
        if over {
            let step = self.stream.finish(&*self.policy);
            self.keep(step.text.as_str());
            if !self.log.at_line_start {
                self.log.write("\n");
            }
        }
    }

    fn keep(&mut self, visible: &str) {
        self.log.write(visible);
        self.last.lock().unwrap_or_else(PoisonError::into_inner).push(visible);
    }
}

/// The stderr of one process, on its way to the log.
pub(super) struct Complaints {
    draining: AbortHandle,
    written: CancellationToken,
    last: Arc<Mutex<Last>>,
}

impl Complaints {
    /// Begins to drain. The log gets a line that says which process it is.
    pub(super) fn drain<R>(errors: R, stream: Stream, policy: Arc<dyn Policy>, path: PathBuf, pid: i32) -> Self
    where
        R: AsyncRead + Unpin + Send + 'static,
    {
        let last = Arc::<Mutex<Last>>::default();
        let kept = Arc::clone(&last);
        let opened = move || {
            let mut log = Log::open(path);
            log.write(&format!("=== {} started as process {pid} ===\n", Timestamp(SystemTime::now())));
            Desk { stream, policy, log, last: kept }
        };
        let written = CancellationToken::new();
        let done = written.clone().drop_guard();
        let draining = tokio::spawn(async move {
            drain(errors, opened).await;
            drop(done);
        });
        Self { draining: draining.abort_handle(), written, last }
    }

    /// Waits until all of it is written. May be called again.
    pub(super) async fn written(&self) {
        self.written.cancelled().await;
    }

    /// The last lines, one after the other; none where it said nothing.
    pub(super) fn last_lines(&self) -> Option<String> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<&str> = last.lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
        (!lines.is_empty()).then(|| lines.join(" | "))
    }
}

impl Drop for Complaints {
    fn drop(&mut self) {
        self.draining.abort();
    }
}

/// Reads on while the desk is busy.
async fn drain<R: AsyncRead + Unpin>(mut errors: R, opened: impl FnOnce() -> Desk + Send + 'static) {
    let (mut waiting, mut left_out, mut over) = (Vec::new(), 0_u64, false);
    let mut chunk = vec![0; READ];
    let mut busy = tokio::task::spawn_blocking(opened);
    loop {
        tokio::select! {
            biased;
            desk = &mut busy => {
                let Ok(mut desk) = desk else { break };
                if waiting.is_empty() && left_out == 0 && !over {
                    // Nothing to do until there is more.
                    over = !read(&mut errors, &mut chunk, &mut waiting, &mut left_out).await;
                }
                let (read, skipped, last) = (std::mem::take(&mut waiting), std::mem::take(&mut left_out), over);
                busy = tokio::task::spawn_blocking(move || {
                    desk.take(&read, skipped, last);
                    desk
                });
                if last {
                    let _ = busy.await;
                    return;
                }
            }
            more = read(&mut errors, &mut chunk, &mut waiting, &mut left_out), if !over => over = !more,
        }
    }
    // Without a desk the server must be able to go on all the same.
    while read(&mut errors, &mut chunk, &mut Vec::new(), &mut 0).await {}
}

/// Reads some more. False: there is no more.
async fn read<R: AsyncRead + Unpin>(
    errors: &mut R,
    chunk: &mut [u8],
    waiting: &mut Vec<u8>,
    left_out: &mut u64,
) -> bool {
    match errors.read(chunk).await {
        Ok(0) | Err(_) => false,
        Ok(length) => {
            if *left_out > 0 || waiting.len() + length > WAITING_MAX {
                *left_out += length as u64;
            } else {
                waiting.extend_from_slice(&chunk[..length]);
            }
            true
        }
    }
}

#[cfg(test)]
mod tests;
