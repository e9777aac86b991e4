//! What the tests and benchmarks of the rooms put in the place of others: a policy that is a few words, whoever has it in
//! force, and a log that can be read.
//!
//! No shipped code may use it, and it must never need a room that is not below all others: any room's tests use it.

pub mod force;
pub mod log;
pub mod policy;
