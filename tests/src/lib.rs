//! What the harnesses share: the source tree, its Rust files as rules see them, and the package graph.
//!
//! It must never depend on a room: the rules of the house hold whatever the rooms do.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

pub mod packages;
pub mod rust;
pub mod tree;
