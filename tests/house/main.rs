//! The rules of the house, held by tests over the source tree and the package graph. Each failure names the place and
//! says what to do instead. Each rule is also shown to catch an offender.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

mod arrows;
mod calls;
mod contract;
mod quotes;
mod seam;
mod shape;
mod texts;
