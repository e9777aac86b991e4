//! What the harnesses share. For the rules of the house: the source tree, its Rust files as rules see them, and the
//! package graph. For whole runs: components good and bad, a home of their own, a host in it, and waiting with an end.
//!
//! `packages`, `rust` and `tree` must never use a room: the rules of the house hold whatever the rooms do.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

pub mod agent;
pub mod bombs;
pub mod components;
pub mod examples;
pub mod guests;
pub mod home;
pub mod hosted;
pub mod leavings;
pub mod manifests;
pub mod mcp;
pub mod packages;
pub mod peers;
pub mod policy;
pub mod registries;
pub mod rude;
pub mod rust;
pub mod tree;
pub mod wait;
pub mod wire;
