//! Commands in the background and in front, driven through the real program: what people have seen go wrong elsewhere, one
//! fault a test, each with the right behaviour.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

mod environment;
mod faults;
mod floods;
mod holders;
mod identity;
mod orphans;
mod prompts;
mod shapes;
mod supervised;
mod terminals;
mod told;
mod verbs;
