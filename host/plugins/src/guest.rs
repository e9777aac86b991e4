//! What the host keeps for one instance: its inert WASI, its memory limit, its log, its counters and the text of the
//! current call. One store holds one of these, and is dropped after any trap.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hermes_output::normalise;
use tokio::io::AsyncWrite;
use wasmtime::ResourceLimiter;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxView, WasiView};

use crate::granted::Granted;
use crate::limits::{LOG_LINE_MAX, LOG_LINES_MAX, RESOURCES_MAX, TABLE_ELEMENTS_MAX};
use crate::patterns::{FindError, Hit, PatternSets};

/// The seed of a raw-text plugin's random numbers: fixed, so that the same text always gives the same result.
const SEED: u64 = 0x6865_726d_6573;

/// The state of one instance.
pub(crate) struct Guest {
    wasi: WasiCtx,
    table: ResourceTable,
    pub(crate) memory: MemoryLimit,
    pub(crate) log: GuestLog,
    counters: BTreeMap<String, u64>,
    undeclared_counts: u64,
    pub(crate) patterns: Arc<PatternSets>,
    text: CallText,
    /// How many times host functions were called, for `test`.
    pub(crate) host_calls: u64,
    /// The processor time of the current call.
    pub(crate) cpu: CpuBudget,
    /// When the time in host functions of the current call is over.
    pub(crate) host_time_ends: Instant,
    /// What it may use beside its world.
    pub(crate) granted: Arc<Granted>,
}

/// The text of the current call, kept only for plugins that declared pattern sets.
///
/// What a store holds cannot borrow, so it is a copy; into memory that is there already, since touching new pages takes
/// longer than copying.
#[derive(Default)]
struct CallText {
    bytes: String,
    is_there: bool,
}

/// How much memory for texts an instance keeps: that of the largest window of a stream, and of most views.
const TEXT_KEPT: usize = 256 * 1024;

impl CallText {
    fn set(&mut self, text: &str) {
        self.bytes.clear();
        self.bytes.push_str(text);
        self.is_there = true;
    }

    fn forget(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(TEXT_KEPT);
        self.is_there = false;
    }

    fn get(&self) -> Option<&str> {
        self.is_there.then_some(self.bytes.as_str())
    }
}

/// The processor time of a call. What the machine gives to others in the meantime does not count: a plugin is not to
/// blame for a busy machine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuBudget {
    /// The thread's processor time when the call began. A call stays on its thread.
    started: Duration,
    /// What it may use.
    budget: Duration,
}

impl CpuBudget {
    /// A budget that begins now.
    pub(crate) fn start(budget: Duration) -> Self {
        Self { started: thread_time(), budget }
    }

    /// What is left; none when it is used up.
    pub(crate) fn left(&self) -> Option<Duration> {
        let used = thread_time().saturating_sub(self.started);
        self.budget.checked_sub(used).filter(|left| !left.is_zero())
    }
}

/// The processor time this thread has used.
pub(crate) fn thread_time() -> Duration {
    nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}

impl Guest {
    /// The state of a fresh instance with this much memory.
    pub(crate) fn new(memory_bytes: u64, patterns: Arc<PatternSets>) -> Self {
        let log = GuestLog::default();
        let mut table = ResourceTable::new();
        table.set_max_capacity(RESOURCES_MAX);
        let wasi = WasiCtx::builder()
            .stdout(log.clone())
            .stderr(log.clone())
            .wall_clock(FixedClock)
            .monotonic_clock(FixedClock)
            .secure_random(seeded())
            .insecure_random(seeded())
            .insecure_random_seed(u128::from(SEED))
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false)
            .build();
        Self {
            wasi,
            table,
            memory: MemoryLimit { limit: memory_bytes, used: 0, exceeded: false },
            log,
            counters: BTreeMap::new(),
            undeclared_counts: 0,
            patterns,
            text: CallText::default(),
            host_calls: 0,
            cpu: CpuBudget::default(),
            host_time_ends: Instant::now(),
            granted: Arc::default(),
        }
    }

    /// How much of the time in host functions is left in the current call.
    pub(crate) fn host_time_left(&self) -> Duration {
        self.host_time_ends.saturating_duration_since(Instant::now())
    }

    /// Sets the text `scan.find` runs over.
    pub(crate) fn set_text(&mut self, text: &str) {
        if !self.patterns.is_empty() {
            self.text.set(text);
        }
    }

    /// The call is over, and there is no text.
    pub(crate) fn forget_text(&mut self) {
        self.text.forget();
    }

    /// Declares counters; others are ignored.
    pub(crate) fn declare_counters(&mut self, names: &[String]) {
        self.counters = names.iter().map(|name| (name.clone(), 0)).collect();
    }

    /// Adds to a declared counter.
    pub(crate) fn count(&mut self, name: &str, by: u64) {
        self.host_calls += 1;
        match self.counters.get_mut(name) {
            Some(value) => *value = value.saturating_add(by),
            None => self.undeclared_counts += 1,
        }
    }

    /// The counters since the last time they were taken.
    pub(crate) fn take_counters(&mut self) -> Vec<(String, u64)> {
        let counted = self.counters.iter_mut().filter(|(_, value)| **value > 0);
        counted.map(|(name, value)| (name.clone(), std::mem::take(value))).collect()
    }

    /// Runs a pattern set over the text of the current call.
    pub(crate) fn find(&mut self, set: &str) -> Result<Vec<Hit>, FindError> {
        self.host_calls += 1;
        let text = self.text.get().ok_or(FindError::NoText)?;
        let cpu = self.cpu;
        self.patterns.find(set, text, || cpu.left().is_some())
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// Random numbers that are the same in every instance.
fn seeded() -> impl rand::Rng + Send + 'static {
    use rand::SeedableRng;
    rand::rngs::StdRng::seed_from_u64(SEED)
}

/// A clock that stands still.
struct FixedClock;

impl HostWallClock for FixedClock {
    fn resolution(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

impl HostMonotonicClock for FixedClock {
    fn resolution(&self) -> u64 {
        1_000_000_000
    }

    fn now(&self) -> u64 {
        0
    }
}

/// The sum of all linear memories of an instance. The engine's own limit is for each memory, and adapters add memories.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryLimit {
    /// The most bytes of all memories together.
    pub(crate) limit: u64,
    /// The bytes in use. A memory never shrinks.
    pub(crate) used: u64,
    /// Whether a growth was refused.
    pub(crate) exceeded: bool,
}

impl ResourceLimiter for MemoryLimit {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let after = self.used.saturating_add(desired.saturating_sub(current) as u64);
        if after > self.limit {
            self.exceeded = true;
            // A refused growth would only be an allocation failure in the guest; ending it here says what happened.
            return Err(wasmtime::Error::msg("memory limit"));
        }
        self.used = after;
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        if desired > TABLE_ELEMENTS_MAX {
            self.exceeded = true;
            return Err(wasmtime::Error::msg("table limit"));
        }
        Ok(true)
    }
}

/// The lines a plugin wrote: with `log`, or to its standard output and error. Bounded, and in memory only.
#[derive(Clone, Default)]
pub(crate) struct GuestLog(Arc<Mutex<LogLines>>);

#[derive(Default)]
struct LogLines {
    lines: Vec<(tracing::Level, String)>,
    dropped: u64,
    open: Vec<u8>,
}

impl GuestLog {
    /// Adds a line, cut to its limit.
    pub(crate) fn write(&self, level: tracing::Level, message: &str) {
        self.lines().push(level, message);
    }

    /// Takes the lines so far, and how many were dropped.
    pub(crate) fn take(&self) -> (Vec<(tracing::Level, String)>, u64) {
        let mut lines = self.lines();
        lines.close();
        (std::mem::take(&mut lines.lines), std::mem::take(&mut lines.dropped))
    }

    fn lines(&self) -> std::sync::MutexGuard<'_, LogLines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogLines {
    fn push(&mut self, level: tracing::Level, message: &str) {
        if self.lines.len() >= LOG_LINES_MAX {
            self.dropped += 1;
            return;
        }
        let end = message.floor_char_boundary(LOG_LINE_MAX.min(message.len()));
        // Its author reads it on a terminal, which a plugin must not be able to drive.
        let shown = normalise::view_continued(&message.as_bytes()[..end]).text.replace('\n', " ");
        self.lines.push((level, shown));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|b| *b == b'\n') {
            let room = LOG_LINE_MAX.saturating_sub(self.open.len());
            self.open.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                self.close();
            }
        }
    }

    fn close(&mut self) {
        let open = std::mem::take(&mut self.open);
        let line = String::from_utf8_lossy(&open);
        let line = line.trim_end_matches(['\n', '\r']);
        if !line.is_empty() {
            self.push(tracing::Level::INFO, line);
        }
    }
}

impl IsTerminal for GuestLog {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for GuestLog {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }
}

impl AsyncWrite for GuestLog {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        self.lines().bytes(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_are_limited_by_their_sum() {
        let mut memory = MemoryLimit { limit: 100, used: 0, exceeded: false };
        assert!(memory.memory_growing(0, 60, None).unwrap());
        assert!(memory.memory_growing(0, 60, None).is_err());
        assert!(memory.exceeded);
    }

    #[test]
    fn a_log_keeps_whole_lines_up_to_its_limits() {
        let log = GuestLog::default();
        log.lines().bytes(b"half \x1b[31ma ");
        log.lines().bytes(b"line\nnext");
        log.write(tracing::Level::WARN, &"ü".repeat(LOG_LINE_MAX));
        let (lines, dropped) = log.take();
        assert_eq!(lines[0].1, "half a line");
        assert!(lines.iter().all(|(_, line)| line.len() <= LOG_LINE_MAX));
        assert_eq!((lines.len(), dropped), (3, 0));
        for _ in 0..=LOG_LINES_MAX {
            log.write(tracing::Level::INFO, "x");
        }
        assert_eq!(log.take().1, 1);
    }
}
