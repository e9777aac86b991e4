//! Plugins good and bad in the real host: what is said of them, what they may do, and what they can never do.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

mod author;
mod c;
mod changes;
mod codes;
mod compat;
mod desktop;
mod files;
mod first_hour;
mod grants;
mod https;
mod interrupted;
mod isolation;
mod javascript;
mod kinds;
mod kit;
mod life;
mod looking;
mod neighbours;
mod python;
mod refusals;
mod released;
mod reloads;
mod report;
mod secrecy;
mod sources;
mod storage;
mod strikes;
mod updates;
mod watching;
mod webhook;
mod withholding;
