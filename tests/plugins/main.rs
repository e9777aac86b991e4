//! Plugins good and bad in the real host: what is said of them, what they may do, and what they can never do.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

mod author;
mod changes;
mod files;
mod isolation;
mod kinds;
mod looking;
mod report;
mod secrecy;
mod strikes;
mod withholding;
