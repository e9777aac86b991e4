//! MCP servers that a host runs: started, spoken to, started again, ended.
//!
//! It must never replay a call that was sent, and never start a second process for a server that runs.
//!
//! - [`all`]: the servers of a configuration. [`handle`]: what others hold of one. [`raw`]: what a server said, before
//!   the policy.
//! - `message`, `state`, `task`: how a server lives. `record`: what is known of it. `run`: one process of it, started as
//!   `prepare` says, its stderr written down by `complaints`.
//! - `link`: the connection to a process. `listing`: what it offers.

pub mod all;
mod complaints;
pub mod handle;
mod link;
pub(crate) mod listing;
mod message;
mod prepare;
pub mod raw;
mod record;
mod run;
mod state;
mod task;
