//! One session: what a client posts goes to its peer, what the peer says goes to the stream it belongs to.
//!
//! - `handle`: how requests reach it. `message`: what they ask. `state`: which message goes where. `task`: its life.

pub(super) mod handle;
mod message;
pub(super) mod state;
mod task;

#[cfg(test)]
mod tests;
