//! When a process that still runs wakes somebody: watched lines, the breaker for all of them, and heartbeats.
//!
//! Pure: text and time come in, what is due goes out. Time is a [`Duration`](std::time::Duration) since the start of
//! the host, on a clock that never goes back. What is pushed must have been through the policy already; nothing here may
//! ever be handed captured text, wait, or read a clock.

pub mod breaker;
pub mod heartbeat;
pub mod lines;
pub mod watch;
