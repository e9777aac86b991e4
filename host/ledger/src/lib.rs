//! What must outlive the host: running processes, receipts, events until they are delivered, audit counters, and what
//! notifiers keep, in one SQLite file (`state.db`) in the home.
//!
//! The only room that writes SQL. It must never hold a text that was not revealed, never show one that it read (what
//! comes out is `Captured` and goes through the policy again), never quote either in an error or a log line, and never
//! create anything by reading.
//!
//! # How it is used
//!
//! A host opens a [`live::handle::Ledger`]. One thread owns its connection; every verb returns after its effect is on
//! the disk, and verbs that wait together share one commit. A command line verb without a host opens a
//! [`reader::Reader`], which finds nothing where there is no file. Any number of hosts and readers share a home.
//!
//! # The life of a process
//!
//! `started` writes its checkpoint. `finished` turns that into a receipt and records the completion event, in one
//! transaction, before anybody is told. Where a host died in between, `abandoned` gives its checkpoints to exactly one
//! other host.
//!
//! # What notifiers keep
//!
//! [`values::Values`] has a connection of its own for each change, since a notifier runs on a thread that may wait. A
//! notifier is told only what was revealed, so that what it keeps is no captured text either.
//!
//! # The life of an event
//!
//! ```text
//! record ── Undecided ── decided ──┬─ Muted, Suppressed                       (wakes nobody)
//!               │ lease ran out    │
//!               └────────┬─────────┘
//!                     Pending ◄── release, defer, lease ran out, host died ──┐
//!                        └── claim ── Claimed ─────────────────────────────────┤
//!                                        └── acknowledge ── Delivered          └─ Dropped (after 8 tries)
//! ```
//!
//! A claim carries a token, and only the live one settles an event: in the ledger each event is delivered exactly once,
//! and its stable id makes a second delivery after a crash harmless. `consume` ends the completion events of a process
//! whose end somebody has seen already, claimed ones included. [`limits`] says how long what is kept.
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

pub mod audit;
pub mod checkpoint;
pub mod event;
mod file;
pub mod host;
pub mod limits;
pub mod live;
pub mod problem;
mod progress;
pub mod reader;
pub mod receipt;
mod schema;
mod store;
pub mod values;

#[cfg(test)]
mod tests;
