//! The three hooks a plugin can export.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a plugin decides about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hook {
    /// Changes a text before it is shown. Sees masked text, or raw text where the operator says so.
    Transform,
    /// Finds what must not be shown. Sees raw text.
    Redact,
    /// Decides what wakes the agent or a person. Sees only what has been through the policy.
    Notify,
}

impl Hook {
    /// All hooks, in the order they are listed.
    pub const ALL: [Self; 3] = [Self::Transform, Self::Redact, Self::Notify];

    /// The word used in manifests, lists and the contract's interface names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transform => "transform",
            Self::Redact => "redact",
            Self::Notify => "notify",
        }
    }

    /// Whether plugins of this hook see text that has not been redacted, and so may talk to nobody.
    pub fn sees_raw_text(self) -> bool {
        matches!(self, Self::Transform | Self::Redact)
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
