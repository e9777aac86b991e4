//! [`Raw`]: what a server said. It can be neither printed nor written: only the policy makes something visible of it.

use serde_json::Value;

/// A document as a server sent it. No `Debug`, no `Display`, no `Serialize`.
#[derive(Clone, Default)]
pub struct Raw(Value);

impl Raw {
    /// What a server sent.
    pub(crate) fn of(value: Value) -> Self {
        Self(value)
    }

    /// The document, for the policy and for reading names, ids and kinds. None of its strings may be shown.
    pub(crate) fn value(&self) -> &Value {
        &self.0
    }

    /// The document, for the policy.
    pub(crate) fn into_value(self) -> Value {
        self.0
    }
}
