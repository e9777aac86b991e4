//! One hook of a loaded plugin, ready to be called: its warm instances, its strikes, its counters.
//!
//! Calls of different plugins share nothing but the engine: one that hangs delays nobody else's. No lock is held while
//! a guest runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use hermes_model::hook::Hook;
use hermes_model::id::PluginName;
use hermes_output::normalise;

use crate::digest::Digest;
use crate::engine::{CALLS_OF_ONE_MAX, Engine, IdlePlace};
use crate::examined::{LogLine, Ready, ReadyHook};
use crate::gate::Gate;
use crate::granted::Granted;
use crate::instance::{CallError, Ended, GuestFailure, Instance, Pre};
use crate::limits::{Limits, START_MAX, TURN_MAX};
use crate::patterns::PatternSets;
use crate::strikes::{Book, Event, Standing, now_ms};

/// How many idle instances of one plugin are kept.
const WARM_MAX: usize = 8;
/// How many log lines of raw-text calls are kept for `why`.
const LOG_KEPT: usize = 200;

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// It is quarantined.
    Quarantined,
    /// The call was ended.
    Ended(Ended),
    /// The plugin said no, with this safe word.
    Failure(String),
}

impl NoAnswer {
    /// The word in notices and lists.
    pub(crate) fn word(&self) -> &str {
        match self {
            Self::Quarantined => "quarantined",
            Self::Ended(ended) => ended.word(),
            Self::Failure(code) => code,
        }
    }
}

/// Figures of a plugin since it was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    /// Calls asked.
    pub(crate) calls: u64,
    /// Calls without an answer.
    pub(crate) failures: u64,
    /// Half of the calls took at most this long, in microseconds.
    pub(crate) p50_us: Option<u64>,
    /// Of a hundred calls, ninety-nine took at most this long.
    pub(crate) p99_us: Option<u64>,
}

/// A hook of a loaded plugin.
pub(crate) struct Live {
    pub(crate) name: PluginName,
    pub(crate) digest: Digest,
    pub(crate) hook: Hook,
    engine: Engine,
    pre: Pre,
    limits: Limits,
    settings: String,
    patterns: Arc<PatternSets>,
    counters: Vec<String>,
    granted: Arc<Granted>,
    /// Idle instances, each with its place among those of all plugins.
    warm: Mutex<Vec<(Instance, IdlePlace)>>,
    /// Its share of the calls that run at once.
    share: Gate,
    standing: Mutex<Standing>,
    book: Book,
    /// Changes with every change of standing: part of the policy's fingerprint.
    turns: AtomicU64,
    calls: AtomicU64,
    failures: AtomicU64,
    times: Mutex<Times>,
    counted: Mutex<std::collections::BTreeMap<String, u64>>,
    log: Mutex<Vec<LogLine>>,
}

impl Live {
    /// Takes over what a trial left.
    pub(crate) fn new(name: PluginName, digest: Digest, engine: Engine, ready: Ready, book: &Book) -> Vec<Self> {
        let Ready { hooks, settings, patterns, counters } = ready;
        hooks
            .into_iter()
            .map(|ReadyHook { hook, pre, limits, warm }| Self {
                name: name.clone(),
                digest,
                hook,
                engine: engine.clone(),
                pre,
                limits,
                warm: Mutex::new(warm.into_iter().filter_map(|warm| Some((warm, engine.idle_place()?))).collect()),
                settings: settings.clone(),
                patterns: Arc::clone(&patterns),
                counters: counters.clone(),
                granted: Arc::default(),
                share: Gate::new(CALLS_OF_ONE_MAX),
                standing: Mutex::new(book.standing(digest)),
                book: book.clone(),
                turns: AtomicU64::new(0),
                calls: AtomicU64::new(0),
                failures: AtomicU64::new(0),
                times: Mutex::default(),
                counted: Mutex::default(),
                log: Mutex::default(),
            })
            .collect()
    }

    /// Lets a notifier use what was granted. Whatever sees raw text is granted nothing, whoever says so.
    pub(crate) fn granting(mut self, granted: &Arc<Granted>) -> Self {
        if !self.hook.sees_raw_text() {
            self.granted = Arc::clone(granted);
            for (instance, _) in self.warm.get_mut().unwrap_or_else(PoisonError::into_inner) {
                instance.grant(granted);
            }
        }
        self
    }

    /// What the plugin declared to search with.
    pub(crate) fn patterns(&self) -> &PatternSets {
        &self.patterns
    }

    /// Calls the hook on a warm instance, or on a new one.
    pub(crate) fn call<R>(&self, call: impl AsyncFnOnce(&mut Instance) -> Result<R, CallError>) -> Result<R, NoAnswer> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let answer = self.try_call(call);
        if answer.is_err() {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        answer
    }

    fn try_call<R>(&self, call: impl AsyncFnOnce(&mut Instance) -> Result<R, CallError>) -> Result<R, NoAnswer> {
        // Its own gate first: whoever waits for a plugin that is slow must not keep a place of all meanwhile.
        let full = || NoAnswer::Ended(Ended::Instances);
        let _share = self.share.enter(TURN_MAX).ok_or_else(full)?;
        let _place = self.engine.calls(self.hook).enter(TURN_MAX).ok_or_else(full)?;
        // Asked only now: those before may have been the last it was allowed.
        let standing = self.turn(Event::Ask);
        if standing.is_quarantined() {
            return Err(NoAnswer::Quarantined);
        }
        let started = Instant::now();
        let warm = lock(&self.warm).pop();
        let done = self.engine.drive(async {
            let mut instance = match warm {
                Some((instance, _)) => instance,
                None => self.start().await?,
            };
            let answer = call(&mut instance).await;
            // After an end the store cannot be entered again; dropping it is all that can be done with it.
            if !matches!(answer, Err(CallError::Ended(_))) {
                self.keep(instance);
            }
            answer
        });
        lock(&self.times).add(started.elapsed());
        match done {
            Ok(answer) => {
                if matches!(standing, Standing::Probation { .. }) {
                    self.turn(Event::Answer);
                }
                Ok(answer)
            }
            Err(CallError::Failure(GuestFailure { code, message })) => {
                let message = normalise::view_continued(message.as_bytes()).text;
                self.remember((tracing::Level::ERROR, format!("{code}: {message}")));
                Err(NoAnswer::Failure(code))
            }
            Err(CallError::Ended(ended)) => {
                tracing::debug!(plugin = %self.name, ended = ended.word(), "a call was ended");
                // A full pool is the host's trouble, not the plugin's.
                if ended != Ended::Instances {
                    self.turn(Event::Strike(ended.word()));
                }
                Err(NoAnswer::Ended(ended))
            }
        }
    }

    /// A new instance, configured.
    pub(crate) async fn start(&self) -> Result<Instance, CallError> {
        let patterns = Arc::clone(&self.patterns);
        let mut instance =
            Instance::new(&self.engine, &self.pre, self.limits, patterns, START_MAX).await.map_err(CallError::Ended)?;
        instance.describe(START_MAX).await.map_err(CallError::Ended)?;
        instance.declare_counters(&self.counters);
        instance.configure(&self.settings, START_MAX).await?;
        instance.grant(&self.granted);
        Ok(instance)
    }

    /// Puts an instance back, unless it is spent or there are enough.
    fn keep(&self, mut instance: Instance) {
        for (name, value) in instance.take_counters() {
            *lock(&self.counted).entry(name).or_default() += value;
        }
        for line in instance.log().take().0 {
            self.remember(line);
        }
        if !instance.is_spent() {
            let mut warm = lock(&self.warm);
            if warm.len() < WARM_MAX
                && let Some(place) = self.engine.idle_place()
            {
                warm.push((instance, place));
            }
        }
    }

    fn remember(&self, line: LogLine) {
        let mut log = lock(&self.log);
        if log.len() >= LOG_KEPT {
            log.remove(0);
        }
        log.push(line);
    }

    /// Takes the log lines so far.
    pub(crate) fn take_log(&self) -> Vec<LogLine> {
        std::mem::take(&mut *lock(&self.log))
    }

    /// Drops the idle instances, so that the next call gets a fresh one.
    pub(crate) fn drop_warm(&self) {
        lock(&self.warm).clear();
    }

    /// Moves the standing; strikes and what follows them are written down.
    fn turn(&self, event: Event<'_>) -> Standing {
        let mut standing = lock(&self.standing);
        let before = standing.clone();
        let next = match event {
            Event::Ask => before.clone().on(event, now_ms()),
            Event::Strike(_) | Event::Answer => self.book.record(self.digest, before.clone(), event),
        };
        if next != before {
            self.turns.fetch_add(1, Ordering::Relaxed);
            *standing = next.clone();
        }
        next
    }

    /// How it stands now. A quarantine that is over is none, though nobody has called since: whoever withholds for a
    /// quarantine does not call, and would wait for ever.
    pub(crate) fn standing(&self) -> Standing {
        lock(&self.standing).clone().on(Event::Ask, now_ms())
    }

    /// Takes over a standing from the book: an operator may have forgiven its strikes, or another host counted some.
    pub(crate) fn stand(&self, standing: Standing) {
        let mut own = lock(&self.standing);
        if *own != standing {
            *own = standing;
            self.turns.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Forgets its strikes in memory, for measuring.
    pub(crate) fn forgive(&self) {
        *lock(&self.standing) = Standing::default();
        self.turns.fetch_add(1, Ordering::Relaxed);
    }

    /// A number that changes with its standing.
    pub(crate) fn turns(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }

    /// Its figures.
    pub(crate) fn figures(&self) -> Figures {
        let times = lock(&self.times);
        Figures {
            calls: self.calls.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            p50_us: times.quantile(0.5),
            p99_us: times.quantile(0.99),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Call times, in buckets that are each a fifth wider than the one before: quantiles to within a fifth, in 640 bytes.
struct Times {
    buckets: [u64; 80],
}

impl Default for Times {
    fn default() -> Self {
        Self { buckets: [0; 80] }
    }
}

/// How much wider each bucket is.
const WIDER: f64 = 1.2;

impl Times {
    fn add(&mut self, time: std::time::Duration) {
        let us = time.as_secs_f64() * 1e6;
        let index = if us <= 1.0 { 0.0 } else { us.log(WIDER).ceil() };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the buckets")]
        let index = (index as usize).min(self.buckets.len() - 1);
        self.buckets[index] += 1;
    }

    fn quantile(&self, part: f64) -> Option<u64> {
        let total: u64 = self.buckets.iter().sum();
        if total == 0 {
            return None;
        }
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen as f64 >= total as f64 * part {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 1.2^80 us")]
                return Some(WIDER.powi(i32::try_from(index).unwrap_or(i32::MAX)).ceil() as u64);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn quantiles_are_right_to_within_a_fifth() {
        let mut times = Times::default();
        assert_eq!(times.quantile(0.5), None);
        for us in 1..=100 {
            times.add(Duration::from_micros(us));
        }
        let (p50, p99) = (times.quantile(0.5).unwrap(), times.quantile(0.99).unwrap());
        assert!((50..=61).contains(&p50), "{p50}");
        assert!((99..=121).contains(&p99), "{p99}");
    }
}
