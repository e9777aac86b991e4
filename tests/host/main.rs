//! A host that runs: how it begins and ends, who may ask it, what it tells and what it never shows.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

mod documents;
mod ends;
mod events;
mod guard;
mod input;
mod life;
mod looking;
mod owners;
mod secrets;
mod withholding;
