//! What the policy did to one text. It stands beside every text hermes shows, and holds nothing of the text itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What the policy did to a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyReport {
    /// The generation of plugins that was in force.
    pub generation: u64,
    /// The transforms that changed the text, in order.
    pub transformed_by: Vec<String>,
    /// How many places each rule masked.
    pub redactions: BTreeMap<String, u64>,
    /// Why the text was not released, if it was not.
    pub withheld: Option<Withheld>,
    /// What should have happened and did not, such as a transform that failed.
    pub warnings: Vec<String>,
}

/// Why a text was not released.
///
/// The message is for people and never quotes the text or anything a plugin said: hermes writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withheld {
    /// The redactor that has no answer.
    pub plugin: String,
    /// A short stable word: a failure code of the plugin, or one of the host's (`timeout`, `trap`, `quarantined`, …).
    pub code: String,
    /// What happened and what to do.
    pub message: String,
}

impl Withheld {
    /// The line that stands where the text would have been.
    pub fn notice(&self) -> String {
        format!("[output withheld: {}: {}]", self.plugin, self.code)
    }
}
