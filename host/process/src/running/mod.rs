//! A running command as a live thing: handle, message, state, task.

mod capture;
pub mod handle;
mod message;
mod output;
mod state;
pub(crate) mod task;
