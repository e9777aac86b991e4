//! From captured bytes to what may be shown.
pub mod policy;
