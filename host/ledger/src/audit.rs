//! What the policy did, in counters. It must never hold a value, a hash of one, or the length of one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use hermes_model::context::Surface;

/// What is added to the counters of a (source, surface, generation).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// The process or the server.
    pub source: String,
    /// What the texts became.
    pub surface: Surface,
    /// The generation of plugins that was in force.
    pub generation: u64,
    /// How many texts were looked at.
    pub texts: u64,
    /// How many bytes they had together.
    pub bytes: u64,
    /// How many places each rule masked.
    pub redactions: BTreeMap<String, u64>,
    /// How many bytes were withheld, by the code of the reason.
    pub withheld: BTreeMap<String, u64>,
    /// The digests of the redactors that ran.
    pub redactor_digests: BTreeSet<String>,
}

/// The counters of a (source, surface, generation).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// The process or the server.
    pub source: String,
    /// What the texts became: the name of a surface.
    pub surface: String,
    /// The generation of plugins that was in force.
    pub generation: u64,
    /// How many texts were looked at.
    pub texts: u64,
    /// How many bytes they had together.
    pub bytes: u64,
    /// How many places each rule masked.
    pub redactions: BTreeMap<String, u64>,
    /// How many bytes were withheld, by the code of the reason.
    pub withheld: BTreeMap<String, u64>,
    /// The digests of the redactors that ran.
    pub redactor_digests: BTreeSet<String>,
    /// When the first text was counted.
    pub first_at: SystemTime,
    /// When the last text was counted.
    pub last_at: SystemTime,
}
