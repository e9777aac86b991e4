//! The traits a plugin implements and the words they use. They mirror `wit/hook/v0.1`, whose comments are the contract.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::text::{Findings, Window};

/// Why a hook has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Short and stable, for example `bad-settings`: shown and counted.
    pub code: String,
    /// For the author; may quote the text, and is treated like it.
    pub message: String,
}

impl Failure {
    /// A failure with a code and a message.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }
}

/// A named set of patterns for [`crate::host::find`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatternSet {
    /// The name [`crate::host::find`] is called with.
    pub name: String,
    /// Patterns in the syntax of Rust's regex crate.
    pub patterns: Vec<String>,
    /// Whether letters match in either case.
    pub case_insensitive: bool,
}

/// What a plugin declares, beside its name and version (which [`crate::export!`] takes from its `Cargo.toml`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// Counters it will add to with [`crate::host::count`].
    pub counters: Vec<String>,
    /// Pattern sets the host is to compile.
    pub pattern_sets: Vec<PatternSet>,
}

/// Settings of a plugin that has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}

/// What every plugin is: made from its settings, able to say whether it works.
pub trait Plugin: Sized + 'static {
    /// The settings, read from JSON that the host has validated against the manifest's schema.
    type Settings: DeserializeOwned;

    /// Makes the plugin. Called once for an instance.
    ///
    /// # Errors
    /// The settings cannot be used.
    fn new(settings: Self::Settings) -> Result<Self, Failure>;

    /// What the plugin declares.
    fn descriptor() -> Descriptor {
        Descriptor::default()
    }

    /// Whether the plugin works. Called once when it is loaded.
    ///
    /// # Errors
    /// It does not.
    fn self_test(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// Where a text came from. See `record context` of the contract for each field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// What the text is about to become.
    pub surface: String,
    /// The process or server it came from.
    pub source: String,
    /// The command line.
    pub command: String,
    /// The folder the command ran in.
    pub cwd: String,
    /// Who may see the process.
    pub owner: String,
    /// The exit code, once the command exited.
    pub exit_code: Option<i32>,
    /// The signal that ended the command, if one did.
    pub signal: Option<u8>,
    /// Whatever a later host knows.
    pub labels: Vec<(String, String)>,
}

/// Finds what must not be shown.
pub trait Redact: Plugin {
    /// Looks at a window.
    ///
    /// # Errors
    /// There is no answer; the host withholds the text.
    fn scan(&mut self, context: &Context, window: &Window<'_>) -> Result<Findings, Failure>;
}

/// Puts `text` in place of the bytes of `range`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes replaced, on character boundaries.
    pub range: std::ops::Range<usize>,
    /// What stands there instead.
    pub text: String,
}

/// What becomes of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It stays as it is; nothing is copied.
    Unchanged,
    /// Edits in order, not overlapping.
    Edits(Vec<Edit>),
    /// A new text.
    Replaced(String),
}

/// Changes a text before it is shown.
pub trait Transform: Plugin {
    /// Says what becomes of the text.
    ///
    /// # Errors
    /// There is no answer; the host shows the text as it was and says so.
    fn apply(&mut self, context: &Context, text: &str) -> Result<Outcome, Failure>;
}

/// Something that happened. See `record event` of the contract for each field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Stable over redelivery.
    pub id: String,
    /// Order within a host.
    pub seq: u64,
    /// `completion`, `heartbeat`, `match`, …
    pub kind: String,
    /// The process or server; empty where there is none.
    pub source: String,
    /// The command line, redacted; empty where there is none.
    pub command: String,
    /// Who may see it.
    pub owner: String,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub at_ms: u64,
    /// `running`, `exited`, …; empty where the event is about no process.
    pub status: String,
    /// What a shell would show, once the command ended.
    pub exit_code: Option<i32>,
    /// The text of the event, redacted.
    pub text: String,
    /// The watch pattern that matched.
    pub pattern: Option<String>,
    /// Whatever else the host knows: `suppressed`, `hidden`, `output-cut`.
    pub labels: Vec<(String, String)>,
}

/// What becomes of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is delivered as it is.
    Deliver,
    /// It is delivered with this text.
    Rewrite(String),
    /// It wakes nobody; says why.
    Suppress(String),
}

/// Decides what wakes the agent or a person.
pub trait Notify: Plugin {
    /// Decides about one event.
    ///
    /// # Errors
    /// There is no answer; the host delivers the event.
    fn decide(&mut self, event: &Event) -> Result<Verdict, Failure>;
}
