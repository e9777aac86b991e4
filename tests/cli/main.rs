//! The program as a person or a script runs it: what it shows, what it hides, how it ends, and what it leaves behind.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

mod documents;
mod endings;
mod redact;
mod secrets;
mod trees;
mod usage;
mod views;
