//! Events on a person's desktop, over the session's D-Bus.
//!
//! It shows what is delivered, shortened. It must never hold up whoever tells it of an event, never show text that is
//! not [`hermes_output::visible::Visible`], and never let output speak the markup of a notification.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

pub mod bus;
pub mod message;
pub mod sink;
