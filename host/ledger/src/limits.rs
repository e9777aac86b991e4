//! How long and how much is kept. Nothing else in this room may hold such a number.

use std::time::Duration;

/// How long a claim, or a question to a notifier, is waited for before the event is free again: the design's 300 s.
pub const LEASE: Duration = Duration::from_secs(300);
/// How often an event is tried before it is dropped: the design's 8.
pub const ATTEMPTS_MAX: u32 = 8;
/// How long another process that writes is waited for: as long as a lock of a home is.
pub const BUSY_WAIT: Duration = Duration::from_secs(10);
/// How old a receipt gets: a week, in which somebody will have asked.
pub const RECEIPT_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// How many receipts are kept: as many as ended processes of a host.
pub const RECEIPTS_MAX: u32 = 64;
/// How old an event gets that needs no delivery any more, and a host that ended.
pub const SETTLED_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// How old an event gets that nobody claimed: after two days no agent is waiting.
pub const PENDING_AGE: Duration = Duration::from_secs(48 * 3600);
/// How many events may wait.
pub const PENDING_MAX: u32 = 1000;
/// How old the counters of a source get after its last text: a month of accounts.
pub const AUDIT_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// How many counters are kept: some megabytes of them.
pub const AUDITS_MAX: u32 = 10_000;
/// How often what is too old or too much is removed, at most.
pub const RETENTION_PAUSE: Duration = Duration::from_secs(60);
/// How large one value of a plugin may be: a plugin remembers what it did, not what it saw.
pub const VALUE_BYTES_MAX: usize = 64 * 1024;
/// How long the key of a value may be, in bytes.
pub const KEY_BYTES_MAX: usize = 256;
/// How many values one plugin may keep.
pub const KEYS_MAX: u32 = 256;
/// How large all keys and values of one plugin may be together.
pub const VALUES_BYTES_MAX: u64 = 1024 * 1024;
