//! Why a call came to nothing: a stable word, a sentence with the remedy, and never a text that was captured.

use hermes_ledger::problem::LedgerError;
use hermes_process::order::Refused;
use hermes_process::registry::request::{AskError, LaunchError};
use serde_json::{Value, json};

/// The stable words for what can go wrong in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// There is no such process.
    NotFound,
    /// Several ids begin so.
    Ambiguous,
    /// Too little of an id.
    TooShort,
    /// It is another owner's.
    Foreign,
    /// Another host of the home runs it.
    Elsewhere,
    /// It ended, and this can only be asked of a process that runs.
    Ended,
    /// It is not to be started.
    Refused,
    /// It could not be started.
    FailedToStart,
    /// Somebody else is at it, or too much is going on.
    Busy,
    /// The arguments make no sense.
    BadArguments,
    /// The caller gave up, or the host ends.
    Cancelled,
    /// The server is not there, and could not be had in time.
    Unavailable,
    /// The server went away in the middle: nobody knows what it did.
    Uncertain,
    /// The server took too long.
    TimedOut,
    /// The host could not do it.
    Failed,
}

impl Code {
    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotFound => "not-found",
            Self::Ambiguous => "ambiguous",
            Self::TooShort => "too-short",
            Self::Foreign => "foreign",
            Self::Elsewhere => "elsewhere",
            Self::Ended => "ended",
            Self::Refused => "refused",
            Self::FailedToStart => "failed-to-start",
            Self::Busy => "busy",
            Self::BadArguments => "bad-arguments",
            Self::Cancelled => "cancelled",
            Self::Unavailable => "unavailable",
            Self::Uncertain => "uncertain",
            Self::TimedOut => "timed-out",
            Self::Failed => "failed",
        }
    }
}

/// Why a call came to nothing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trouble {
    pub(crate) code: Code,
    pub(crate) message: String,
    /// More fields of the answer.
    beside: serde_json::Map<String, Value>,
}

impl Trouble {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), beside: serde_json::Map::new() }
    }

    pub(crate) fn arguments(message: impl Into<String>) -> Self {
        Self::new(Code::BadArguments, message)
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Code::Failed, message)
    }

    pub(crate) fn cancelled() -> Self {
        Self::new(Code::Cancelled, "the call was cancelled, or its session or this host ends")
    }

    /// The same with one more field of the answer.
    pub(crate) fn beside(mut self, field: &str, value: Value) -> Self {
        self.beside.insert(field.to_owned(), value);
        self
    }

    /// The same with every sentence of it changed so.
    pub(crate) fn with_texts(mut self, change: impl Fn(&str) -> String) -> Self {
        self.message = change(&self.message);
        if let Some(reason) = self.beside.get_mut("status").and_then(|status| status.get_mut("reason"))
            && let Some(text) = reason.as_str()
        {
            *reason = Value::String(change(text));
        }
        self
    }

    /// The answer: `{error: {code, message}}` and what is known beside it.
    pub(crate) fn document(&self) -> Value {
        let mut document = json!({"error": {"code": self.code.name(), "message": self.message}});
        if let Some(fields) = document.as_object_mut() {
            fields.extend(self.beside.clone());
        }
        document
    }
}

impl From<AskError> for Trouble {
    fn from(error: AskError) -> Self {
        let code = match &error {
            AskError::NotFound(_) => Code::NotFound,
            AskError::Ambiguous { .. } => Code::Ambiguous,
            AskError::TooShort(_) => Code::TooShort,
            AskError::Foreign(_) => Code::Foreign,
            AskError::Past(_) => Code::Ended,
            AskError::Elsewhere(_) => Code::Elsewhere,
            AskError::Ledger(error) => return error.clone().into(),
        };
        Self::new(code, error.to_string())
    }
}

impl From<LedgerError> for Trouble {
    fn from(error: LedgerError) -> Self {
        let code = if matches!(error, LedgerError::Busy { .. }) { Code::Busy } else { Code::Failed };
        Self::new(code, error.to_string())
    }
}

impl From<Refused> for Trouble {
    fn from(error: Refused) -> Self {
        let code = if matches!(error, Refused::Nothing) { Code::BadArguments } else { Code::Refused };
        Self::new(code, error.to_string())
    }
}

impl From<LaunchError> for Trouble {
    fn from(error: LaunchError) -> Self {
        let message = error.to_string();
        match error {
            LaunchError::Pattern(_) => Self::arguments(message),
            LaunchError::Ending => Self::new(Code::Busy, message),
            LaunchError::Spawn(error) => {
                let status = error.status();
                let mut trouble = Self::new(Code::FailedToStart, message);
                trouble.beside.insert("exit_code".to_owned(), json!(status.exit_code()));
                trouble.beside.insert("status".to_owned(), json!(status));
                trouble
            }
        }
    }
}
