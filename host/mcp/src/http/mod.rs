//! Streamable HTTP for somebody who speaks lines: each session is one pair of streams with one JSON-RPC message a line.
//!
//! It knows nothing of tools, and changes nothing of a message: it only finds the way of each. It must never listen beyond
//! this machine, never let in a page of a browser or a caller without the token, and never log a message or a part of one.
//! What its peers write has been revealed before it arrives here.
//!
//! - [`server`]: listening, and the life of connections. [`token`]: who may call. [`streams`]: the pair of streams.
//! - `gate`: which requests are let in. `endpoint`: what is done about them. `refusal`: how it is said that nothing is.
//! - `message`: what a message is about. `outbox`: what is to be read, once and again. `event`: how that is written.
//! - `session`: the live thing between the requests of one client and the streams of its peer.

mod endpoint;
mod event;
mod gate;
mod message;
mod outbox;
mod refusal;
pub mod server;
mod session;
pub mod streams;
pub mod token;
