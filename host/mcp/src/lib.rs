//! What a running host speaks on its socket, and the client the command line asks it with.
//!
//! The only room that knows the Model Context Protocol. It must never answer with a text that is not
//! [`Visible`](hermes_output::visible::Visible), never write an argument of a call to the log, and never talk to another
//! user.
//!
//! - [`socket`]: where it is, and how it is bound and reached. [`serve`]: who is let in. [`idle`]: when nobody is left.
//! - [`session`]: what is kept for one client. [`offer`]: what all of them share.
//! - [`tools`]: the two tools, `terminal` and `process`.
//! - [`client`]: the other end. [`told`]: what it is told.
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

pub mod client;
mod frames;
pub mod idle;
pub mod offer;
pub mod serve;
pub mod session;
pub mod socket;
mod speaker;
pub mod told;
pub mod tools;
