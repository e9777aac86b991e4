//! Starts commands, captures what they print, and ends their whole tree.
//!
//! The only room that starts processes. It must never show, log or store what a process printed (that is for the
//! policy), never read a `HERMES_` variable, and never signal a process whose identity is not proven.
//!
//! Start with [`host::Host`], [`spec::CommandSpec`] and [`spawn::spawn`]; what comes back is [`running::handle::Process`].
//! Needs Linux 5.4 (pidfd, and waiting on one) with `/proc` mounted.
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

pub mod adopted;
mod children;
pub mod daemon;
pub mod environment;
pub mod guard;
pub mod guardian;
pub mod host;
pub mod kill;
mod launch;
mod leader;
pub mod notify;
pub mod order;
mod picture;
mod pidfd;
mod pty;
pub mod registry;
mod resolve;
pub mod running;
pub mod scope;
pub mod server;
pub mod shell;
pub mod spawn;
pub mod spec;
pub mod stdio;
pub mod survey;
mod tree;
