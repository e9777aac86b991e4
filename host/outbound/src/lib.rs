//! The only room that talks to the network: one request to a host that somebody named, at an address that was looked at
//! before anything was sent to it.
//!
//! It decides nothing about who may ask: whoever calls says how far the request may reach. It must never follow a
//! redirect, use a proxy of the environment, look a name up twice, or put a header or a body into an error.

pub mod address;
pub mod error;
pub mod fetch;
pub mod request;
pub mod target;

mod lookup;
mod wire;

#[cfg(test)]
mod server;
