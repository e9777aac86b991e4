//! One live instance of a plugin: how it is made, called and, after any trap, dropped.
//!
//! A call ends by an answer, a failure the plugin returns, or an [`Ended`]; after the latter the store only answers
//! that it cannot be entered, so the instance is gone.

use std::time::{Duration, Instant};

use hermes_model::context::Context;
use hermes_model::hook::Hook;
use hermes_output::event::Verdict;
use hermes_output::policy::{Findings, Span, Transformed, Window};
use wasmtime::component::InstancePre;
use wasmtime::{Store, UpdateDeadline};

use crate::api::bindings::notifier::exports::hermes::hook::notify as told;
use crate::api::bindings::{notifier, redactor, transformer};
use crate::engine::{self, Engine};
use crate::granted::Granted;
use crate::guest::{CpuBudget, Guest};
use crate::limits::{CALLS_PER_INSTANCE, Limits, OUTGOING_MAX, SPANS_MAX};
use crate::patterns::Declared;
use crate::problem::{safe_rule, safe_word};

/// The exports of one hook, looked up once for a component.
#[derive(Clone)]
pub(crate) enum Pre {
    /// A redactor.
    Redact(redactor::RedactorPre<Guest>),
    /// A transform.
    Transform(transformer::TransformerPre<Guest>),
    /// A notifier.
    Notify(notifier::NotifierPre<Guest>),
}

enum Exports {
    Redact(redactor::Redactor),
    Transform(transformer::Transformer),
    Notify(notifier::Notifier),
}

impl Pre {
    /// Looks up a hook's exports.
    ///
    /// # Errors
    /// An export is missing, as wasmtime says it.
    pub(crate) fn new(hook: Hook, pre: InstancePre<Guest>) -> wasmtime::Result<Self> {
        Ok(match hook {
            Hook::Redact => Self::Redact(redactor::RedactorPre::new(pre)?),
            Hook::Transform => Self::Transform(transformer::TransformerPre::new(pre)?),
            Hook::Notify => Self::Notify(notifier::NotifierPre::new(pre)?),
        })
    }
}

/// What a plugin says of itself.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) counters: Vec<String>,
    pub(crate) patterns: Vec<Declared>,
}

/// A failure the plugin returned. The message may quote the text: it is for `test` and `why` only.
#[derive(Clone)]
pub(crate) struct GuestFailure {
    /// The plugin's code, reduced to a safe word.
    pub(crate) code: String,
    /// The plugin's message, raw.
    pub(crate) message: String,
}

/// How a call ended without an answer. The instance is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The CPU limit.
    Timeout,
    /// The limit for time in host functions.
    HostTimeout,
    /// The memory limit.
    Memory,
    /// More was returned than the limit.
    Output,
    /// Any other trap.
    Trap,
    /// There is no room for another instance.
    Instances,
}

impl Ended {
    /// The word in notices, lists and counters.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::HostTimeout => "host-timeout",
            Self::Memory => "memory-limit",
            Self::Output => "output-limit",
            Self::Trap => "trap",
            Self::Instances => "no-instance",
        }
    }
}

/// A call without a usable answer.
#[derive(Clone)]
pub(crate) enum CallError {
    /// The plugin said no; the instance lives.
    Failure(GuestFailure),
    /// The call was ended.
    Ended(Ended),
}

/// A context in the words of one world: the bindings of each world have a type of their own, of the same shape.
macro_rules! context_as {
    ($module:ident, $context:expr, $labels:expr) => {
        $module::Context {
            surface: $context.surface.name(),
            source: &$context.source,
            command: &$context.command,
            cwd: &$context.cwd,
            owner: $context.owner.as_str(),
            exit_code: $context.exit_code,
            signal: $context.signal,
            labels: $labels,
        }
    };
}

fn labels(context: &Context) -> Vec<(&str, &str)> {
    context.labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// A live instance.
pub(crate) struct Instance {
    store: Store<Guest>,
    exports: Exports,
    limits: Limits,
    calls: u64,
}

impl Instance {
    /// Instantiates a component. Nothing of the plugin has been called yet, but for its own start-up code.
    pub(crate) async fn new(
        engine: &Engine,
        pre: &Pre,
        limits: Limits,
        patterns: std::sync::Arc<crate::patterns::PatternSets>,
        budget: Duration,
    ) -> Result<Self, Ended> {
        let mut store = Store::new(engine.wasmtime(), Guest::new(limits.memory_bytes, patterns));
        store.limiter(|guest| &mut guest.memory);
        let outgoing = if matches!(pre, Pre::Notify(_)) { OUTGOING_MAX } else { 0 };
        store.set_hostcall_fuel(usize::try_from(limits.output_bytes.saturating_add(outgoing)).unwrap_or(usize::MAX));
        if engine.metering() == engine::Metering::Fuel {
            let _ = store.set_fuel(u64::MAX);
        }
        store.data_mut().cpu = CpuBudget::start(budget);
        store.set_epoch_deadline(engine::ticks(budget));
        // The clock ticks in real time; whether the limit is reached is asked of the thread's processor time.
        store.epoch_deadline_callback(|store| match store.data().cpu.left() {
            Some(left) => Ok(UpdateDeadline::Continue(engine::ticks(left))),
            None => Err(wasmtime::Trap::Interrupt.into()),
        });
        let instantiate = async {
            Ok(match pre {
                Pre::Redact(pre) => Exports::Redact(pre.instantiate_async(&mut store).await?),
                Pre::Transform(pre) => Exports::Transform(pre.instantiate_async(&mut store).await?),
                Pre::Notify(pre) => Exports::Notify(pre.instantiate_async(&mut store).await?),
            })
        };
        let made: Result<wasmtime::Result<Exports>, _> =
            tokio::time::timeout(budget.saturating_add(limits.host_time), instantiate).await;
        match made {
            Ok(Ok(exports)) => Ok(Self { store, exports, limits, calls: 0 }),
            Ok(Err(error)) => Err(classify_start(&error, store.data())),
            Err(_) => Err(Ended::HostTimeout),
        }
    }

    /// Whether the instance should be replaced before its next call: it has served long, or grown for one large text.
    pub(crate) fn is_spent(&self) -> bool {
        self.calls >= CALLS_PER_INSTANCE || self.store.data().memory.used > self.limits.memory_bytes / 2
    }

    /// Its memory in bytes.
    pub(crate) fn memory_used(&self) -> u64 {
        self.store.data().memory.used
    }

    /// Its log lines so far.
    pub(crate) fn log(&self) -> crate::guest::GuestLog {
        self.store.data().log.clone()
    }

    /// Its declared counters since they were last taken.
    pub(crate) fn take_counters(&mut self) -> Vec<(String, u64)> {
        self.store.data_mut().take_counters()
    }

    /// Counts declared counters only.
    pub(crate) fn declare_counters(&mut self, names: &[String]) {
        self.store.data_mut().declare_counters(names);
    }

    /// Sets the compiled pattern sets, once they are known.
    pub(crate) fn set_patterns(&mut self, patterns: std::sync::Arc<crate::patterns::PatternSets>) {
        self.store.data_mut().patterns = patterns;
    }

    /// Lets it use what was granted, from the next call on.
    pub(crate) fn grant(&mut self, granted: &std::sync::Arc<Granted>) {
        self.store.data_mut().granted = std::sync::Arc::clone(granted);
    }

    /// How many host functions it has called.
    pub(crate) fn host_calls(&self) -> u64 {
        self.store.data().host_calls
    }

    /// Instructions left, where they are counted.
    pub(crate) fn fuel(&self) -> u64 {
        self.store.get_fuel().unwrap_or(0)
    }

    /// Arms the limits for a call over a text of this size.
    fn arm(&mut self, budget: Duration, bytes: usize) -> Duration {
        self.calls += 1;
        self.store.data_mut().memory.limit = self.limits.memory_for(bytes);
        self.store.data_mut().cpu = CpuBudget::start(budget);
        self.store.data_mut().host_time_ends = Instant::now() + self.limits.host_time;
        self.store.set_epoch_deadline(engine::ticks(budget));
        budget.saturating_add(self.limits.host_time)
    }

    pub(crate) async fn describe(&mut self, budget: Duration) -> Result<Described, Ended> {
        macro_rules! describe {
            ($exports:expr, $store:expr) => {
                $exports.hermes_hook_lifecycle().call_describe($store).await.map(|told| Described {
                    name: told.name,
                    version: told.version,
                    counters: told.counters,
                    patterns: told
                        .pattern_sets
                        .into_iter()
                        .map(|set| Declared {
                            name: set.name,
                            patterns: set.patterns,
                            case_insensitive: set.case_insensitive,
                        })
                        .collect(),
                })
            };
        }
        let wall = self.arm(budget, 0);
        let Self { store, exports, .. } = self;
        let call = async {
            match exports {
                Exports::Redact(exports) => describe!(exports, &mut *store),
                Exports::Transform(exports) => describe!(exports, &mut *store),
                Exports::Notify(exports) => describe!(exports, &mut *store),
            }
        };
        let answer = tokio::time::timeout(wall, call).await;
        self.settle(answer)
    }

    pub(crate) async fn configure(&mut self, settings: &str, budget: Duration) -> Result<(), CallError> {
        macro_rules! configure {
            ($exports:expr, $store:expr) => {
                $exports
                    .hermes_hook_lifecycle()
                    .call_configure($store, settings)
                    .await
                    .map(|answer| answer.map_err(|said| failure(&said.code, said.message)))
            };
        }
        let wall = self.arm(budget, settings.len());
        let Self { store, exports, .. } = self;
        let call = async {
            match exports {
                Exports::Redact(exports) => configure!(exports, &mut *store),
                Exports::Transform(exports) => configure!(exports, &mut *store),
                Exports::Notify(exports) => configure!(exports, &mut *store),
            }
        };
        let answer = tokio::time::timeout(wall, call).await;
        self.settle(answer).map_err(CallError::Ended)?
    }

    pub(crate) async fn self_test(&mut self, budget: Duration) -> Result<(), CallError> {
        macro_rules! self_test {
            ($exports:expr, $store:expr) => {
                $exports
                    .hermes_hook_lifecycle()
                    .call_self_test($store)
                    .await
                    .map(|answer| answer.map_err(|said| failure(&said.code, said.message)))
            };
        }
        let wall = self.arm(budget, 0);
        let Self { store, exports, .. } = self;
        let call = async {
            match exports {
                Exports::Redact(exports) => self_test!(exports, &mut *store),
                Exports::Transform(exports) => self_test!(exports, &mut *store),
                Exports::Notify(exports) => self_test!(exports, &mut *store),
            }
        };
        let answer = tokio::time::timeout(wall, call).await;
        self.settle(answer).map_err(CallError::Ended)?
    }

    /// Asks a redactor about a window.
    pub(crate) async fn scan(&mut self, context: &Context, window: &Window<'_>) -> Result<Findings, CallError> {
        use redactor::exports::hermes::hook::redact as wit;
        let wall = self.arm(self.limits.time_for(window.text.len()), window.text.len());
        self.store.data_mut().set_text(window.text);
        let Self { store, exports, .. } = self;
        let Exports::Redact(exports) = exports else { return Err(CallError::Ended(Ended::Trap)) };
        let labels = labels(context);
        let given = context_as!(wit, context, &labels);
        let seen = wit::Window {
            text: window.text,
            fresh_from: offset(window.fresh_from),
            front_cut: window.front_cut,
            last: window.last,
        };
        let call = exports.hermes_hook_redact().call_scan(&mut *store, given, seen);
        let answer = tokio::time::timeout(wall, call).await;
        let found = self.settle(answer).map_err(CallError::Ended)?.map_err(|said| failure(&said.code, said.message))?;
        if found.spans.len() > SPANS_MAX {
            return Err(CallError::Ended(Ended::Output));
        }
        Ok(Findings {
            spans: found
                .spans
                .into_iter()
                .map(|span| {
                    let (start, end) = (span.start as usize, span.end as usize);
                    // A place that is none says nothing of what is masked: then all of the text counts.
                    let masked = window.text.get(start..end).unwrap_or(window.text);
                    let safe = safe_rule(&span.rule, masked);
                    let rule = if safe == span.rule { span.rule } else { safe.to_owned() };
                    Span { start, end, rule }
                })
                .collect(),
            show_until: found.show_until as usize,
            need_from: found.need_from as usize,
        })
    }

    /// Asks a transform about a text.
    pub(crate) async fn apply(&mut self, context: &Context, text: &str) -> Result<Transformed, CallError> {
        use transformer::exports::hermes::hook::transform as wit;
        let wall = self.arm(self.limits.time_for(text.len()), text.len());
        self.store.data_mut().set_text(text);
        let Self { store, exports, .. } = self;
        let Exports::Transform(exports) = exports else { return Err(CallError::Ended(Ended::Trap)) };
        let labels = labels(context);
        let given = context_as!(wit, context, &labels);
        let call = exports.hermes_hook_transform().call_apply(&mut *store, given, text);
        let answer = tokio::time::timeout(wall, call).await;
        let outcome =
            self.settle(answer).map_err(CallError::Ended)?.map_err(|said| failure(&said.code, said.message))?;
        Ok(match outcome {
            wit::Outcome::Unchanged => Transformed::Unchanged,
            wit::Outcome::Replaced(text) => Transformed::Replaced(text),
            wit::Outcome::Edits(edits) => Transformed::Edits(
                edits.into_iter().map(|edit| (edit.start as usize..edit.end as usize, edit.text)).collect(),
            ),
        })
    }

    /// Asks a notifier about an event. What a verdict carries is the plugin's text, not yet redacted.
    pub(crate) async fn decide(&mut self, event: &told::Event) -> Result<Verdict, CallError> {
        let bytes = event.text.len() + event.command.len() + event.pattern.as_ref().map_or(0, String::len);
        let wall = self.arm(self.limits.time_for(bytes), bytes);
        let Self { store, exports, .. } = self;
        let Exports::Notify(exports) = exports else { return Err(CallError::Ended(Ended::Trap)) };
        let call = exports.hermes_hook_notify().call_decide(&mut *store, event);
        let answer = tokio::time::timeout(wall, call).await;
        let verdict =
            self.settle(answer).map_err(CallError::Ended)?.map_err(|said| failure(&said.code, said.message))?;
        if let told::Verdict::Rewrite(text) | told::Verdict::Suppress(text) = &verdict
            && text.len() as u64 > self.limits.output_bytes
        {
            return Err(CallError::Ended(Ended::Output));
        }
        Ok(match verdict {
            told::Verdict::Deliver => Verdict::Deliver,
            told::Verdict::Rewrite(text) => Verdict::Rewrite(text),
            told::Verdict::Suppress(reason) => Verdict::Suppress(reason),
        })
    }

    /// Turns what wasmtime and the timer say into an answer or an end.
    fn settle<T>(&mut self, answer: Result<wasmtime::Result<T>, tokio::time::error::Elapsed>) -> Result<T, Ended> {
        self.store.data_mut().forget_text();
        match answer {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(classify(&error, self.store.data())),
            Err(_) => Err(Ended::HostTimeout),
        }
    }
}

fn failure(code: &str, message: String) -> CallError {
    CallError::Failure(GuestFailure { code: safe_word(code).to_owned(), message })
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Which limit ended a start. What is no trap and no exit of the guest's own is the machine's: no memory could be had.
fn classify_start(error: &wasmtime::Error, guest: &Guest) -> Ended {
    let guests_own = error.downcast_ref::<wasmtime::Trap>().is_some()
        || error.downcast_ref::<wasmtime_wasi::I32Exit>().is_some()
        || guest.memory.exceeded;
    if guests_own { classify(error, guest) } else { Ended::Instances }
}

/// Which limit ended a call. The error's text is not used for anything shown: it may quote what the guest returned.
fn classify(error: &wasmtime::Error, guest: &Guest) -> Ended {
    if guest.memory.exceeded {
        return Ended::Memory;
    }
    if error.downcast_ref::<wasmtime::PoolConcurrencyLimitError>().is_some() {
        return Ended::Instances;
    }
    match error.downcast_ref::<wasmtime::Trap>() {
        Some(wasmtime::Trap::Interrupt | wasmtime::Trap::OutOfFuel) => Ended::Timeout,
        Some(_) => Ended::Trap,
        None if format!("{error:#}").contains("fuel allocated for hostcalls") => Ended::Output,
        None => Ended::Trap,
    }
}
