//! JSON that may be shown: every string of a document through the policy, its shape untouched.
//!
//! It must never pass on a string that was not looked at, and never tear a binary.

use hermes_model::context::Context;
use hermes_model::report::PolicyReport;
use serde::Serialize;
use serde_json::Value;

use crate::exact::ExactValues;
use crate::policy::Policy;
use crate::reveal::{self, scan::Eyes};
use crate::visible::{self, Visible};
use reading::Reading;
use writing::Changes;

mod binary;
pub mod cut;
mod escaped;
mod nested;
mod places;
mod reading;
mod writing;

#[cfg(test)]
mod tests;

/// A document that may be shown: made by [`reveal_json`] and by cutting such a document, and by nothing else.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct VisibleJson(Value);

impl VisibleJson {
    /// The document.
    pub fn as_value(&self) -> &Value {
        &self.0
    }

    /// The document, for whoever builds an answer of it.
    pub fn into_value(self) -> Value {
        self.0
    }

    /// The part at a JSON pointer (RFC 6901), such as `/content/0`. `None` if there is none.
    pub fn part(&self, pointer: &str) -> Option<Self> {
        self.0.pointer(pointer).cloned().map(Self)
    }

    /// The string at a JSON pointer (RFC 6901), its lines ending with newlines alone. `None` if there is no string.
    pub fn text(&self, pointer: &str) -> Option<Visible> {
        let text = self.0.pointer(pointer)?.as_str()?;
        // Where nothing was found, returns before newlines were left.
        Some(visible::seal(if text.contains('\r') { text.replace("\r\n", "\n") } else { text.to_owned() }))
    }

    /// The same document with another string at a JSON pointer: a cut one, a note. Whether there was one.
    pub fn set_text(&mut self, pointer: &str, text: Visible) -> bool {
        let Some(Value::String(old)) = self.0.pointer_mut(pointer) else { return false };
        text.as_str().clone_into(old);
        true
    }
}

/// A document that may be shown, and what was done to it.
#[derive(Clone, Debug, PartialEq)]
pub struct RevealedJson {
    /// The document.
    pub value: VisibleJson,
    /// What the policy did.
    pub report: PolicyReport,
    /// Whether anything in it is another than before.
    pub changed: bool,
}

/// A document of which nothing may be shown.
#[derive(Clone, Debug, PartialEq)]
pub struct WithheldJson {
    /// The line that stands for it.
    pub notice: Visible,
    /// What the policy did, with the reason.
    pub report: PolicyReport,
}

/// Reveals a document: every string of it and every key goes through the redactors, as one text.
///
/// Its shape stays: order, numbers, `true`, `false` and `null`, the lengths of arrays, the number of members. A string in
/// which nothing is found, and that needs no cleaning, keeps its every byte, returns before newlines included; where it
/// changes, they are left out. Transforms are not asked: what they return is text, and a document must stay one.
///
/// # Errors
/// A redactor has no answer: nothing of it may be shown.
pub fn reveal_json(
    policy: &dyn Policy,
    context: &Context,
    mut value: Value,
    exact: &ExactValues,
) -> Result<RevealedJson, WithheldJson> {
    // Warnings are about transforms, and none is missed here.
    let mut report = PolicyReport { generation: policy.generation(), ..PolicyReport::default() };
    let reading = Reading::of(&value);
    let found = match places::look(&Eyes { policy, context, exact }, &reading) {
        Ok(found) => found,
        Err(withheld) => {
            let notice = visible::seal(reveal::notice(&withheld));
            report.withheld = Some(withheld);
            return Err(WithheldJson { notice, report });
        }
    };
    if found.is_empty() && !reading.cleaned {
        return Ok(RevealedJson { value: VisibleJson(value), report, changed: false });
    }
    let changes = Changes::of(&reading, found, &mut report.redactions);
    let changed = changes.any();
    if changed {
        changes.apply(&mut value);
    }
    Ok(RevealedJson { value: VisibleJson(value), report, changed })
}
