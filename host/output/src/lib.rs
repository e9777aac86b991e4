//! From captured bytes to what may be shown.
//!
//! Everything a process or a server prints is [`captured::Captured`]. The only way out is [`reveal`] or a
//! [`stream::Stream`], which ask a [`policy::Policy`] and end in [`visible::Visible`]. This room is pure: no I/O, no
//! clock, no environment, no async.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

pub mod captured;
pub mod cut;
pub mod event;
pub mod exact;
pub mod json;
pub mod mask;
pub mod memory;
pub mod normalise;
pub mod policy;
pub mod reveal;
pub mod stream;
pub mod visible;
