//! A running command as a live thing: handle, message, state, task.

mod capture;
pub mod handle;
pub mod input;
mod message;
mod output;
mod source;
mod standing;
mod state;
pub mod tap;
pub(crate) mod task;
