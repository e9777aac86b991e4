//! The words of hermes and the pure rules between them.
//!
//! Every room may use this one, so it must never do I/O, know a clock, an async runtime, WASM or SQL. Start with
//! [`status`] (how a command ended), [`context`] (where a text came from) and [`report`] (what the policy did to it).

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

pub mod config;
pub mod context;
pub mod duration;
pub mod event;
pub mod exit;
pub mod hook;
pub mod id;
pub mod interpolate;
pub mod language;
pub mod pattern;
pub mod report;
pub mod screening;
pub mod status;
pub mod suggest;
pub mod time;
