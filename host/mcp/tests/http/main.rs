//! What a client of Streamable HTTP can rely on, and what nobody gets from it.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod client;
mod refused;
mod routing;
mod sessions;
