//! The first-party plugins inside the binary: those of generation 0, and those that are installed by name.

use std::sync::OnceLock;

use hermes_model::id::PluginName;

use crate::digest::Digest;
use crate::generation::Generation;

/// Names and packed components, in the order of their chains. Made by the build script.
const BUNDLED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/bundled.rs"));

/// Those that are in force in a fresh home. The others talk to somebody, which nobody has asked for yet.
const IN_A_FRESH_HOME: [&str; 2] = ["redact-secrets", "summarize-output"];

/// A bundled component and its digest.
pub fn component(name: &PluginName) -> Option<(&'static [u8], Digest)> {
    static DIGESTS: OnceLock<Vec<Digest>> = OnceLock::new();
    let index = BUNDLED.iter().position(|(bundled, _)| *bundled == name.as_str())?;
    let digests = DIGESTS.get_or_init(|| BUNDLED.iter().map(|(_, bytes)| Digest::of(bytes)).collect());
    Some((BUNDLED[index].1, digests[index]))
}

/// The names of the bundled plugins.
pub fn names() -> impl Iterator<Item = PluginName> {
    BUNDLED.iter().map(|(name, _)| name.parse().expect("bundled plugins have well-formed names"))
}

/// Generation 0.
pub fn generation() -> Generation {
    Generation::bundled(names().filter(|name| IN_A_FRESH_HOME.contains(&name.as_str())))
}
