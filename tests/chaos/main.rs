//! Hosts that are killed at any moment: no event is lost or told twice, no exit is invented, no stranger is signalled.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

mod kills;
mod random;
mod record;
mod recovery;
mod strangers;
