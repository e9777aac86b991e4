//! What a plugin may use, by hook, with where each number comes from.

use std::time::Duration;

use hermes_model::config::PluginLimitsConfig;
use hermes_model::hook::Hook;
use serde::Serialize;

/// The largest component (Python ones are 18 to 38 MB).
pub const FILE_MAX: u64 = 64 * 1024 * 1024;
/// The processor time one component may take to compile. A Python component of 18 MB takes 20 s of it; on a machine that
/// ten others used as well, that was more than a minute by the clock, for which no plugin is to blame.
pub const COMPILE_MAX: Duration = Duration::from_secs(120);
/// Components from this size on are compiled one at a time: one of 18 MB takes 330 MB of memory meanwhile.
pub const COMPILE_ALONE: usize = 4 * 1024 * 1024;
/// How long a call waits for its turn where many are made at once. Each before it ends within its own limits.
pub const TURN_MAX: Duration = Duration::from_secs(60);
/// How often the clock behind CPU limits ticks. Limits are kept to within two ticks.
pub const EPOCH_TICK: Duration = Duration::from_millis(5);
/// The most spans one answer may hold. With more the call is ended, so that the text is withheld and not half masked.
pub const SPANS_MAX: usize = 64 * 1024;
/// The most hits `scan.find` returns at once.
pub const HITS_MAX: u32 = 64 * 1024;
/// The most lines of a plugin's log kept for one instance.
pub const LOG_LINES_MAX: usize = 1000;
/// The longest line of a plugin's log, in bytes.
pub const LOG_LINE_MAX: usize = 4096;
/// The most handles of host resources an instance may hold.
pub const RESOURCES_MAX: usize = 256;
/// The most tables and table elements an instance may have.
pub const TABLE_ELEMENTS_MAX: usize = 100_000;
/// An instance is replaced after this many calls, so that what leaks in a guest stays small.
pub const CALLS_PER_INSTANCE: u64 = 4096;
/// How many times its text a transform may return: `hermes-output` holds it to that, `test` says how near it comes.
pub const EXPANSION_MAX: u64 = 4;
/// What a trial instance (describe, configure, self-test) may use: an interpreter's start is slower than a call.
pub const START_MAX: Duration = Duration::from_secs(1);

/// What a wait leaves of the time in host functions, so that the plugin can still answer.
pub const ANSWER_TIME: Duration = Duration::from_millis(100);
/// What a notifier may hand the host in one call beside its verdict, in bytes: requests (their bodies have 1 MiB at most)
/// and values, with room to say that one is too large.
pub const OUTGOING_MAX: u64 = 4 * 1024 * 1024;
/// The largest response a notifier reads, in bytes: an answer to a notification is short.
pub const RESPONSE_MAX: u64 = 256 * 1024;

/// The limits of one plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// CPU time for one call, whatever its text.
    pub call: Duration,
    /// CPU time for each MiB of text on top.
    pub call_per_mib: Duration,
    /// Time in host functions during one call.
    pub host_time: Duration,
    /// All linear memories together, in bytes, beside room for the text itself.
    pub memory_bytes: u64,
    /// What one call may return, in bytes.
    pub output_bytes: u64,
}

impl Limits {
    /// The defaults for a hook.
    pub fn of(hook: Hook) -> Self {
        const MIB: u64 = 1024 * 1024;
        let base = Self {
            call: Duration::from_millis(250),
            call_per_mib: Duration::from_millis(50),
            host_time: Duration::from_millis(50),
            memory_bytes: 64 * MIB,
            output_bytes: 8 * MIB,
        };
        match hook {
            Hook::Redact => base,
            Hook::Transform => Self { call: Duration::from_millis(500), ..base },
            Hook::Notify => Self {
                call: Duration::from_secs(1),
                host_time: Duration::from_secs(10),
                output_bytes: 64 * 1024,
                ..base
            },
        }
    }

    /// These limits with what the configuration sets in their place.
    #[must_use]
    pub fn with(self, config: &PluginLimitsConfig) -> Self {
        Self {
            call: config.call.unwrap_or(self.call),
            call_per_mib: config.call_per_mib.unwrap_or(self.call_per_mib),
            memory_bytes: config.memory_bytes.unwrap_or(self.memory_bytes),
            output_bytes: config.output_bytes.unwrap_or(self.output_bytes),
            ..self
        }
    }

    /// CPU time for a call over this many bytes of text.
    pub fn time_for(&self, bytes: usize) -> Duration {
        let mib = u32::try_from(bytes / (1024 * 1024)).unwrap_or(u32::MAX);
        self.call.saturating_add(self.call_per_mib.saturating_mul(mib))
    }

    /// Memory for a call over this many bytes of text: the text stands in the guest's memory, and a transform's result
    /// beside it.
    pub fn memory_for(&self, bytes: usize) -> u64 {
        self.memory_bytes.saturating_add(3 * bytes as u64)
    }
}
