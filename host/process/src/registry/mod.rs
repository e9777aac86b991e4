//! The processes of a host: started, listed, read, waited for, ended, and announced once.
//!
//! Everything a reply holds has been through the policy here. A process is written to the ledger with its event before
//! anybody is told of its end. It must never let one owner see or end what belongs to another, never refuse a process
//! for want of room, and never keep more than [`table::KEPT_MAX`] processes or [`memory::BYTES_MAX`] bytes of output.
//!
//! - [`handle`]: the verbs. [`request`]: what is asked for. [`shown`]: what is answered.
//! - [`asks`], `end`, `deliver`: what may be asked, ended and taken. [`table`]: who is there, by id; pure. [`entry`]: one of them.
//! - [`attend`]: the task of a process, from its start to its announcement. [`follow`]: a log as it grows.
//! - [`bus`]: events to the ledger and to those who wait for them. [`recovery`]: what a crashed host left.

pub mod asks;
mod attend;
pub mod bus;
mod deliver;
mod end;
pub mod entry;
pub mod follow;
pub mod handle;
pub(crate) mod look;
pub mod memory;
pub mod recovery;
pub mod request;
pub mod shown;
pub mod table;
