//! What a running host speaks on its socket, and the client the command line asks it with.
//!
//! The only room that knows the Model Context Protocol. It must never answer with a text that is not
//! [`Visible`](hermes_output::visible::Visible), never write an argument of a call to the log, and never talk to another
//! user.
//!
//! - [`socket`]: where it is, and how it is bound and reached. [`serve`]: who is let in. [`idle`]: when nobody is left.
//!   [`hosts`]: where the hosts of agents are found.
//! - [`session`]: what is kept for one client. [`offer`]: what all of them share. `speaker`: what it is answered. `hearing`:
//!   what it is told by itself.
//! - [`tools`]: the two tools, `terminal` and `process`. [`servers`]: MCP servers that a host runs. [`gateway`]: what agents
//!   get of them.
//! - [`client`]: the other end. [`told`]: what it is told.
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

pub mod client;
mod frames;
pub mod gateway;
mod hearing;
pub mod hosts;
pub mod http;
pub mod idle;
mod lines;
pub mod offer;
mod reach;
pub mod serve;
pub mod servers;
pub mod session;
pub mod socket;
mod speaker;
pub mod told;
pub mod tools;
pub mod trial;
pub mod wrap;

// The tests of the gateway put servers of their own in the place of real ones, and share the house of the tests beside.
#[cfg(test)]
extern crate self as hermes_mcp;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;
