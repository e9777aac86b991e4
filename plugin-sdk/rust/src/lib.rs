//! Write a hermes plugin in Rust: a struct, a trait for its hook, and one macro.
//!
//! ```
//! use hermes_plugin_sdk::{Context, Failure, Findings, Plugin, Redact, Window};
//!
//! /// Masks ticket numbers such as `ACME-1234`.
//! pub struct MaskTickets;
//!
//! impl Plugin for MaskTickets {
//!     type Settings = hermes_plugin_sdk::NoSettings;
//!
//!     fn new(_: Self::Settings) -> Result<Self, Failure> {
//!         Ok(Self)
//!     }
//! }
//!
//! impl Redact for MaskTickets {
//!     fn scan(&mut self, _: &Context, window: &Window<'_>) -> Result<Findings, Failure> {
//!         let mut findings = Findings::whole_lines(window);
//!         for (start, _) in window.text.match_indices("ACME-") {
//!             let digits = window.text[start + 5..].bytes().take_while(u8::is_ascii_digit).count();
//!             findings.mask(start..start + 5 + digits, "ticket");
//!         }
//!         Ok(findings)
//!     }
//! }
//!
//! hermes_plugin_sdk::export!(MaskTickets: redact);
//! ```
//!
//! The plugin is a plain struct, so its tests are plain Rust tests: make a [`Window`] with [`Window::view`], call
//! `scan`, look at the [`Findings`]. On a machine that is not WASM, [`export!`] only checks that the traits are there.
//!
//! A panic ends the call and costs the plugin a strike. Its file and line reach the host's log; its message does not
//! for `redact` and `transform`, since it may quote the text.
//!
//! This crate must never add an import a plugin did not ask for: what a component imports is its permission class.

mod hooks;
mod text;

pub mod host;
pub mod outside;

#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod bindings;
#[doc(hidden)]
pub mod export;

pub use hooks::{
    Context, Descriptor, Edit, Event, Failure, NoSettings, Notify, Outcome, PatternSet, Plugin, Redact, Transform,
    Verdict,
};
pub use text::{Findings, Span, Window};
