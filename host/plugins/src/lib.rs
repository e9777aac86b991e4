//! The plugin host: what is installed, whether it can be in force and why not, and the chain that is the policy.
//!
//! The only room with wasmtime. It must never pass on what a raw-text plugin says about a text: spans become masks in
//! `hermes-output`, failures become codes.
//!
//! Start with [`load`] (the pipeline from bytes to a plugin), then [`chain`] (the policy) and [`registry`] (a home's
//! plugins).

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

pub mod against;
pub mod author;
pub mod bench;
pub mod bundled;
pub mod cache;
pub mod chain;
pub mod change;
pub mod check;
pub mod contract;
pub mod digest;
pub mod engine;
pub mod examined;
pub mod fetch;
pub mod generation;
pub mod instance;
pub mod lab;
pub mod limits;
pub mod load;
pub mod manifest;
pub mod patterns;
pub mod permission;
pub mod problem;
pub mod project;
pub mod registry;
pub mod section;
pub mod source;
pub mod strikes;
pub mod surface;

mod api;
mod archive;
mod census;
#[cfg(test)]
mod corpus;
mod gate;
mod granted;
mod guest;
mod live;
mod notify;
mod settings;
mod trial;
