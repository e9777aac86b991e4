//! Why a plugin is not in force: stable codes, the names and versions involved, and the next step.
//!
//! A problem is written by hermes, never by the plugin: nothing a raw-text plugin says may stand in one, except the
//! code of its own failure, reduced to a short word by [`safe_word`].

use std::fmt;

use serde::Serialize;

/// The kind of a problem. The words are stable: more may be added, none is renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// The component is not where the generation says.
    MissingFile,
    /// The file is not WebAssembly.
    NotWasm,
    /// The file is a core module, not a component.
    CoreModule,
    /// The file is damaged.
    InvalidWasm,
    /// It needs a WebAssembly feature this host does not enable.
    WasmFeature,
    /// The manifest is missing or wrong.
    Manifest,
    /// The manifest asks for another version of hermes.
    RequiresHermes,
    /// It imports something no version of hermes offers.
    ImportUnknown,
    /// It imports something of a newer contract.
    ImportTooNew,
    /// It imports something that is no longer offered.
    ImportRemoved,
    /// It imports something offered, in another shape.
    ImportShape,
    /// It imports something that exists and is closed to it.
    ImportDenied,
    /// It sees raw text and could send it somewhere.
    MixedPrivilege,
    /// It lacks an export.
    ExportMissing,
    /// It exports something in another shape.
    ExportShape,
    /// It exports no hook.
    NoHooks,
    /// The file is not the one that was installed.
    Digest,
    /// It needs more than its limits allow.
    Limits,
    /// It trapped while it was started.
    StartTrap,
    /// Its settings are refused.
    ConfigInvalid,
    /// Its self-test failed.
    SelfTest,
    /// A canary did not show what it must.
    Canary,
    /// It failed too often while it ran.
    Quarantined,
    /// It asks for a permission that was not granted.
    NeedsGrant,
}

impl Code {
    /// The word used in lists, JSON and the documentation.
    pub fn word(self) -> &'static str {
        match self {
            Self::MissingFile => "missing-file",
            Self::NotWasm => "not-wasm",
            Self::CoreModule => "core-module",
            Self::InvalidWasm => "invalid-wasm",
            Self::WasmFeature => "wasm-feature",
            Self::Manifest => "manifest",
            Self::RequiresHermes => "requires-hermes",
            Self::ImportUnknown => "import-unknown",
            Self::ImportTooNew => "import-too-new",
            Self::ImportRemoved => "import-removed",
            Self::ImportShape => "import-shape",
            Self::ImportDenied => "import-denied",
            Self::MixedPrivilege => "mixed-privilege",
            Self::ExportMissing => "export-missing",
            Self::ExportShape => "export-shape",
            Self::NoHooks => "no-hooks",
            Self::Digest => "digest",
            Self::Limits => "limits",
            Self::StartTrap => "start-trap",
            Self::ConfigInvalid => "config-invalid",
            Self::SelfTest => "self-test",
            Self::Canary => "canary",
            Self::Quarantined => "quarantined",
            Self::NeedsGrant => "needs-grant",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// One reason why a plugin is not in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The kind.
    pub code: Code,
    /// What it is about: an interface, a function, a setting, a canary; empty for the file as a whole.
    pub subject: String,
    /// What the plugin wants, with its version.
    pub wanted: Option<String>,
    /// What this host offers in its place.
    pub offered: Option<String>,
    /// One sentence that says all of it.
    pub message: String,
    /// What to do.
    pub next: String,
}

impl Problem {
    /// A problem without versions to compare.
    pub fn new(code: Code, subject: impl Into<String>, message: impl Into<String>, next: impl Into<String>) -> Self {
        Self { code, subject: subject.into(), wanted: None, offered: None, message: message.into(), next: next.into() }
    }

    /// Adds what is offered, where nothing was wanted.
    #[must_use]
    pub fn offering(mut self, offered: impl Into<String>) -> Self {
        self.offered = Some(offered.into());
        self
    }

    /// Adds what was wanted and what is offered.
    #[must_use]
    pub fn compared(mut self, wanted: impl Into<String>, offered: impl Into<String>) -> Self {
        self.wanted = Some(wanted.into());
        self.offered = Some(offered.into());
        self
    }
}

/// The longest word of a plugin's own that is shown (a failure code, a rule).
const WORD_MAX: usize = 32;

/// Reduces a plugin's own word to lower-case letters, digits and `-`, at most 32 of them; anything else becomes
/// `failure`, so that a failure code cannot carry the text it is about.
pub fn safe_word(word: &str) -> &str {
    let shaped = !word.is_empty()
        && word.len() <= WORD_MAX
        && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if shaped { word } else { "failure" }
}

/// The rule that stands in a mask where the redactor's own cannot.
pub const RULE_FALLBACK: &str = "secret";

/// The shortest rule that could be a part of what it masks by more than chance.
const TELLING: usize = 4;

/// The rule a redactor gave, if it is a word and not a piece of what it masks; [`RULE_FALLBACK`] otherwise. A mask says
/// nothing of the secret. What a token begins with may name its rule, since it is the same in all of them (`glpat`), as
/// long as it is not all of what is masked.
pub fn safe_rule<'a>(rule: &'a str, masked: &str) -> &'a str {
    let shaped = !rule.is_empty()
        && rule.len() <= WORD_MAX
        && rule.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let inside = masked.to_ascii_lowercase().find(rule);
    let telling = rule.len() >= TELLING && inside.is_some_and(|at| at > 0 || rule.len() == masked.len());
    if shaped && !telling { rule } else { RULE_FALLBACK }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_uses_the_same_word_as_the_list() {
        for code in [Code::MissingFile, Code::ImportTooNew, Code::NoHooks, Code::Quarantined, Code::InvalidWasm] {
            assert_eq!(serde_json::to_string(&code).unwrap(), format!("\"{}\"", code.word()));
        }
    }

    #[test]
    fn a_rule_says_nothing_of_what_it_masks() {
        assert_eq!(safe_rule("github-pat", "ghp_abcdef"), "github-pat");
        assert_eq!(safe_rule("id", "id-4711"), "id");
        assert_eq!(safe_rule("glpat", "glpat-4f7Qx9"), "glpat");
        for (rule, masked) in
            [("hunter2", "password Hunter2!"), ("hunter2", "hunter2"), ("Ticket", "x"), ("env:TOKEN", "x"), ("", "x")]
        {
            assert_eq!(safe_rule(rule, masked), RULE_FALLBACK, "{rule}");
        }
    }

    #[test]
    fn a_failure_code_cannot_carry_text() {
        assert_eq!(safe_word("bad-settings"), "bad-settings");
        for bad in ["", "Hunter2", "a b", "secret=x", &"a".repeat(33)] {
            assert_eq!(safe_word(bad), "failure");
        }
    }
}
