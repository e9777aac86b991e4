//! MCP from end to end: what servers do wrong, what a host makes of it, what is left when it goes, and the programs of
//! others.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

mod config;
mod conformance;
mod fixture;
mod gateway;
mod hygiene;
mod life;
mod orphans;
mod peers;
mod secrets;
mod served;
mod sharing;
mod verbs;
mod wrap;
