//! What the redactor and the summariser find, lose and cost: thousands of generated cases through the real components in
//! the real host, beside other programs on the same texts.
//!
//! Every value is invented at run time. What a run prints may hold such values; it must never hold a piece of a file
//! that it was pointed at.

#![allow(clippy::print_stdout, reason = "what is measured is printed")]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

pub mod cases;
pub mod decisions;
pub mod driver;
pub mod generator;
pub mod judged;
pub mod peers;
pub mod plain;
pub mod score;
pub mod seeds;
pub mod speed;
pub mod summaries;
pub mod syntaxes;
pub mod table;
