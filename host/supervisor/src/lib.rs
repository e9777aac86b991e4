//! The death supervisor: ends what a host started when the host is gone, whatever ended it.
//!
//! One small process beside each host that has something to protect. It must never signal a process that is not proven
//! to be the host's, never grow with what it is told, and never need anything else of hermes.
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

mod bare;
pub mod client;
pub mod ending;
mod lines;
mod look;
pub mod message;
pub mod role;
mod set;
mod state;
