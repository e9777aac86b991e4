//! What agents get of the servers a host runs: their tools, prompts and resources under names of this host, calls passed on
//! and answers passed back, all through the policy.
//!
//! It must never pass on a word of a server that the policy has not seen, and never let one server or session hold up
//! another.
//!
//! - [`handle`]: what sessions hold. [`serving`]: what it needs of a server. `catalogue`, `names`, `uris`, `pages`: what is
//!   offered, and how it is called. `asking`: requests to servers, `subscribing` to resources of theirs. `results`,
//!   `fitting`: what comes back. [`store`]: what was too large for an answer. `news`: what servers say by themselves.
//!   `counting`: what the policy did to all of it.

pub(crate) mod asking;
mod catalogue;
mod counting;
pub(crate) mod fitting;
pub mod handle;
mod names;
pub(crate) mod news;
pub(crate) mod pages;
mod results;
pub mod serving;
pub mod store;
mod subscribing;
pub(crate) mod uris;

#[cfg(test)]
mod tests;
