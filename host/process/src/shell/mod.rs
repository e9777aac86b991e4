//! What surrounds a command text on its way through a shell: what is wrong with it before it runs, where and with what
//! it runs, and what its exit code means.
//!
//! The order for an agent's command: [`Environment::inherit`](crate::environment::Environment::inherit),
//! [`login::LoginEnvironment::apply`], [`Environment::filter`](crate::environment::Environment::filter),
//! [`scratch::offer`], and last what the caller set. Nothing here may ever show a command's text or a variable's value.

pub mod compound;
pub mod folder;
pub mod guidance;
pub mod login;
pub mod notes;
mod scan;
pub mod scratch;
mod simple;
