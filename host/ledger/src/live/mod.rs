//! The ledger of a running host as a live thing: handle, message, task. What an event may become is in `progress`.

pub mod handle;
mod message;
mod task;
