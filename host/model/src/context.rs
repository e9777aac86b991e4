//! Where a text came from and what it is about to become: what hooks are told beside the text.

use crate::id::Owner;

/// What a text is about to become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Surface {
    /// The reply of a foreground command.
    Foreground,
    /// The reply of a background command.
    Background,
    /// A short look at a running process.
    Preview,
    /// The text of a completion event.
    Completion,
    /// The text of a heartbeat event.
    Heartbeat,
    /// The lines around a watch match.
    Match,
    /// The result of an MCP call.
    McpResult,
    /// The error of an MCP call.
    McpError,
    /// Text shown as it arrives.
    Stream,
}

impl Surface {
    /// The word used in the contract.
    pub fn name(self) -> &'static str {
        match self {
            Self::Foreground => "foreground",
            Self::Background => "background",
            Self::Preview => "preview",
            Self::Completion => "completion",
            Self::Heartbeat => "heartbeat",
            Self::Match => "match",
            Self::McpResult => "mcp-result",
            Self::McpError => "mcp-error",
            Self::Stream => "stream",
        }
    }
}

/// What a hook is told about the text of a call.
///
/// The command and labels are raw, as the caller gave them, so this type shows nothing of itself: it has no `Debug`,
/// `Display` or `Serialize`.
#[derive(Clone, PartialEq, Eq)]
pub struct Context {
    /// What the text is about to become.
    pub surface: Surface,
    /// The process or server it came from; empty where there is none.
    pub source: String,
    /// The command line as it was asked for; empty where there is none.
    pub command: String,
    /// The folder the command ran in; empty where there is none.
    pub cwd: String,
    /// Who may see it.
    pub owner: Owner,
    /// The exit code, once the command exited.
    pub exit_code: Option<i32>,
    /// The signal that ended the command, if one did.
    pub signal: Option<u8>,
    /// Anything else, as names and values.
    pub labels: Vec<(String, String)>,
}

impl Context {
    /// A context that says only what the text is about to become.
    pub fn new(surface: Surface) -> Self {
        Self {
            surface,
            source: String::new(),
            command: String::new(),
            cwd: String::new(),
            owner: Owner::default(),
            exit_code: None,
            signal: None,
            labels: Vec::new(),
        }
    }
}
