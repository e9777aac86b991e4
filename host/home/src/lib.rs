//! Where things live: the home and its profiles, the cache folder, `config.toml`, and files written with care.
//!
//! The only reader of `HERMES_*` variables ([`variables`]). It must never create anything while looking: only
//! [`home::Home::ensure`] and the writers of [`files`] do, and only verbs that change something call them.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

pub mod cache;
pub mod config;
pub mod edit;
pub mod effective;
pub mod files;
pub mod home;
pub mod import;
pub mod variables;
