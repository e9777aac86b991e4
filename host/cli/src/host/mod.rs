//! The running host of a home: made of its parts, started in the background, asked.

pub(crate) mod ask;
pub(crate) mod compose;
pub(crate) mod current;
pub(crate) mod plugins;
pub(crate) mod start;
