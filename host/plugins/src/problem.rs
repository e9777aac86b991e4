//! Why a plugin is not in force: stable codes, the names and versions involved, and the next step.
//!
//! A problem is written by hermes, never by the plugin: nothing a raw-text plugin says may stand in one, except the
//! code of its own failure, reduced to a short word by [`safe_word`]. Names from a file (of an interface, of a key) are
//! made [`plain`] here, whoever wrote them there.

use std::fmt;

use hermes_output::normalise;
use serde::{Deserialize, Serialize};

/// The enum, the list of all and the words from one table, so that none can be forgotten in another.
macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident = $word:literal,)*) => {
        /// The kind of a problem. The words are stable: more may be added, none is renamed. Each has a page in the book.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Code {
            $($(#[$doc])* $code,)*
        }

        impl Code {
            /// Every code, in the order of the load pipeline.
            pub const ALL: &'static [Self] = &[$(Self::$code),*];

            /// The word used in lists, JSON and the documentation.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$code => $word,)*
                }
            }
        }
    };
}

codes! {
    /// The component is not where the generation says.
    MissingFile = "missing-file",
    /// The file is not WebAssembly.
    NotWasm = "not-wasm",
    /// The file is a core module, not a component.
    CoreModule = "core-module",
    /// The file is damaged.
    InvalidWasm = "invalid-wasm",
    /// It needs a WebAssembly feature this host does not enable.
    WasmFeature = "wasm-feature",
    /// The manifest is missing or wrong.
    Manifest = "manifest",
    /// The manifest asks for another version of hermes.
    RequiresHermes = "requires-hermes",
    /// It imports something no version of hermes offers.
    ImportUnknown = "import-unknown",
    /// It imports something of a newer contract.
    ImportTooNew = "import-too-new",
    /// It imports something that is no longer offered.
    ImportRemoved = "import-removed",
    /// It imports something offered, in another shape.
    ImportShape = "import-shape",
    /// It imports something that exists and is closed to it.
    ImportDenied = "import-denied",
    /// It sees raw text and could send it somewhere.
    MixedPrivilege = "mixed-privilege",
    /// It lacks an export.
    ExportMissing = "export-missing",
    /// It exports something in another shape.
    ExportShape = "export-shape",
    /// It exports no hook.
    NoHooks = "no-hooks",
    /// The file is not the one that was installed.
    Digest = "digest",
    /// It needs more than its limits allow.
    Limits = "limits",
    /// It trapped while it was started.
    StartTrap = "start-trap",
    /// Its settings are refused.
    ConfigInvalid = "config-invalid",
    /// Its self-test failed.
    SelfTest = "self-test",
    /// A canary did not show what it must.
    Canary = "canary",
    /// It failed too often while it ran.
    Quarantined = "quarantined",
    /// It asks for a permission that was not granted.
    NeedsGrant = "needs-grant",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// One reason why a plugin is not in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
        let (subject, message, next) = (plain(subject.into()), plain(message.into()), plain(next.into()));
        Self { code, subject, wanted: None, offered: None, message, next }
    }

    /// Adds what is offered, where nothing was wanted.
    #[must_use]
    pub fn offering(mut self, offered: impl Into<String>) -> Self {
        self.offered = Some(plain(offered.into()));
        self
    }

    /// Adds what was wanted and what is offered.
    #[must_use]
    pub fn compared(mut self, wanted: impl Into<String>, offered: impl Into<String>) -> Self {
        self.wanted = Some(plain(wanted.into()));
        self.offered = Some(plain(offered.into()));
        self
    }
}

/// The longest text of a problem, in bytes: a list of a thousand fields is no sentence.
const TEXT_MAX: usize = 2000;

/// A text without what moves a cursor or cannot be seen, in one line of at most [`TEXT_MAX`] bytes.
fn plain(text: String) -> String {
    if is_plain(&text) {
        return text;
    }
    let seen = normalise::view_continued(text.as_bytes()).text;
    let mut line = seen.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > TEXT_MAX {
        line.truncate(line.floor_char_boundary(TEXT_MAX - '\u{2026}'.len_utf8()));
        line.push('\u{2026}');
    }
    line
}

/// Whether a text is what [`Problem::new`] lets through: one line of what can be seen.
pub fn is_plain(text: &str) -> bool {
    let seen = |text: &str| normalise::view_continued(text.as_bytes()).text == text;
    text.len() <= TEXT_MAX && !text.contains(char::is_control) && (text.is_ascii() || seen(text))
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
    let telling = shaped && rule.len() >= TELLING && {
        // In a text full of secrets this is done for each of them: most rules have a hyphen, and most secrets none.
        let apart = rule.contains('-') && !masked.as_bytes().contains(&b'-');
        let mut places = masked.as_bytes().windows(if apart { usize::MAX } else { rule.len() });
        let inside = places.position(|part| part.eq_ignore_ascii_case(rule.as_bytes()));
        inside.is_some_and(|at| at > 0 || rule.len() == masked.len())
    };
    if shaped && !telling { rule } else { RULE_FALLBACK }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_uses_the_same_word_as_the_list() {
        for code in Code::ALL.iter().copied() {
            assert_eq!(serde_json::to_string(&code).unwrap(), format!("\"{}\"", code.word()));
        }
    }

    #[test]
    fn a_name_from_a_file_is_shown_without_what_cannot_be_seen() {
        let name = "a:b/\u{1b}[31mred\u{202e}\nevil\u{1b}]0;title\u{7}@1.0.0";
        let problem = Problem::new(Code::ImportUnknown, name, format!("it imports {name}"), "none").compared(name, "x");
        assert_eq!(problem.message, "it imports a:b/red evil@1.0.0");
        assert_eq!(problem.wanted.as_deref(), Some("a:b/red evil@1.0.0"));
        assert!([&problem.subject, &problem.message].iter().all(|text| is_plain(text)));
    }

    proptest::proptest! {
        #[test]
        fn any_text_becomes_plain(text in "(.|\\PC|[\u{0}-\u{9f}]){0,3000}") {
            let shown = plain(text.clone());
            proptest::prop_assert!(is_plain(&shown), "{shown:?}");
            proptest::prop_assert_eq!(plain(shown.clone()), shown);
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
