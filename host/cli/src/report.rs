//! A failure as it is told: the chain of causes, each once, the next step, and the exit code.
//!
//! Errors of all rooms become a [`Report`] here and nowhere else.

use std::error::Error;

use hermes_home::config::ConfigError;
use hermes_home::edit;
use hermes_home::home::LocateError;
use hermes_model::exit;
use hermes_plugins::author::PackError;
use hermes_plugins::change::EditError;
use hermes_plugins::engine::EngineError;
use hermes_plugins::fetch::FetchError;
use hermes_plugins::generation::StoreError;
use hermes_plugins::lab::LabError;
use hermes_plugins::problem::{Code, Problem};
use hermes_plugins::project::ProjectError;
use hermes_plugins::registry::OpenError;
use hermes_plugins::source::SourceError;
use serde::Serialize;

use crate::foreground::StartError;
use crate::printer::Tone;

/// A failure, ready to be told.
#[derive(Debug)]
pub(crate) struct Report {
    message: String,
    causes: Vec<String>,
    hint: Option<String>,
    problems: Vec<Problem>,
    code: i32,
}

/// The same as a JSON document.
#[derive(Serialize)]
pub(crate) struct Document<'a> {
    error: ErrorDocument<'a>,
    #[serde(skip_serializing_if = "<[Problem]>::is_empty")]
    problems: &'a [Problem],
}

#[derive(Serialize)]
struct ErrorDocument<'a> {
    message: String,
    hint: Option<&'a str>,
}

impl Report {
    /// A failure in our own words.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), causes: Vec::new(), hint: None, problems: Vec::new(), code: exit::FAILED }
    }

    /// An error with its causes. One that only repeats what was said is left out.
    pub(crate) fn of(error: &dyn Error) -> Self {
        let mut report = Self::new(error.to_string());
        let mut cause = error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            let said = std::iter::once(&report.message).chain(&report.causes).any(|said| said.contains(&text));
            if !said {
                report.causes.push(text);
            }
            cause = error.source();
        }
        report
    }

    /// The same with the next step.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with what keeps a plugin from loading.
    #[must_use]
    pub(crate) fn problems(mut self, problems: Vec<Problem>) -> Self {
        self.problems = problems;
        self
    }

    /// The same with another exit code.
    #[must_use]
    pub(crate) fn exits(mut self, code: i32) -> Self {
        self.code = code;
        self
    }

    /// The exit code.
    pub(crate) fn code(&self) -> i32 {
        self.code
    }

    /// Message and causes in one sentence.
    pub(crate) fn sentence(&self) -> String {
        let parts: Vec<&str> = std::iter::once(&self.message).chain(&self.causes).map(String::as_str).collect();
        parts.join(": ")
    }

    /// What people read.
    pub(crate) fn to_text(&self, paint: impl Fn(Tone, &str) -> String) -> String {
        let mut out = format!("{} {}\n", paint(Tone::Bad, "error:"), self.message);
        for cause in &self.causes {
            out += &format!("  cause: {cause}\n");
        }
        for problem in &self.problems {
            out += &format!("  {}: {}\n    next: {}\n", problem.code, problem.message, problem.next);
        }
        if let Some(hint) = &self.hint {
            out += &format!("{} {hint}\n", paint(Tone::Strong, "hint:"));
        }
        out
    }

    /// What programs read.
    pub(crate) fn document(&self) -> Document<'_> {
        Document {
            error: ErrorDocument { message: self.sentence(), hint: self.hint.as_deref() },
            problems: &self.problems,
        }
    }
}

impl From<LocateError> for Report {
    fn from(error: LocateError) -> Self {
        Self::of(&error)
    }
}

impl From<ConfigError> for Report {
    fn from(error: ConfigError) -> Self {
        Self::of(&error)
    }
}

impl From<edit::EditError> for Report {
    fn from(error: edit::EditError) -> Self {
        Self::of(&error)
    }
}

impl From<OpenError> for Report {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Engine(error) => error.into(),
            OpenError::Store(error) => error.into(),
        }
    }
}

impl From<EngineError> for Report {
    fn from(error: EngineError) -> Self {
        Self::of(&error).hint("`hermes doctor` says what this machine lacks")
    }
}

impl From<StoreError> for Report {
    fn from(error: StoreError) -> Self {
        Self::of(&error)
    }
}

impl From<PackError> for Report {
    fn from(error: PackError) -> Self {
        Self::of(&error)
    }
}

impl From<ProjectError> for Report {
    fn from(error: ProjectError) -> Self {
        Self::of(&error)
    }
}

impl From<LabError> for Report {
    fn from(error: LabError) -> Self {
        let report = Self::of(&error);
        if matches!(error, LabError::Contract(_)) { report.exits(exit::USAGE) } else { report }
    }
}

impl From<FetchError> for Report {
    fn from(error: FetchError) -> Self {
        Self::of(&error)
    }
}

impl From<SourceError> for Report {
    fn from(error: SourceError) -> Self {
        Self::of(&error)
    }
}

impl From<EditError> for Report {
    fn from(error: EditError) -> Self {
        let report = Self::of(&error);
        match error {
            EditError::Broken { problems, verb: "updated", .. } => {
                report.problems(problems).hint("the version in force stays; `hermes plugins install` can replace it")
            }
            EditError::Broken { problems, .. } => {
                // A file that is not the one that was meant is nothing to be allowed.
                let wrong_file = problems.iter().any(|problem| problem.code == Code::Digest);
                let report = report.problems(problems);
                if wrong_file {
                    report
                } else {
                    report.hint("--allow-broken publishes it all the same: it is then listed with these problems")
                }
            }
            EditError::NotInstalled { .. } => report.hint("`hermes plugins list` shows what is installed"),
            _ => report,
        }
    }
}

/// Everything that goes wrong before the command runs is hermes' own failure, except what [`StartError`] says of the
/// program.
impl From<StartError> for Report {
    fn from(error: StartError) -> Self {
        let code = error.exit_code();
        Self::of(&error).exits(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the plugins cannot be read")]
    struct Outer(#[source] Middle);

    #[derive(Debug, thiserror::Error)]
    #[error(transparent)]
    struct Middle(#[from] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read '/x'")]
    struct Inner(#[source] std::io::Error);

    fn report() -> Report {
        let refused = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        Report::of(&Outer(Middle(Inner(refused)))).hint("look at its mode")
    }

    fn text(report: &Report) -> String {
        report.to_text(|_, word| word.to_owned())
    }

    #[test]
    fn each_cause_of_a_chain_is_told_once() {
        let expected = "error: the plugins cannot be read\n  cause: cannot read '/x'\n  cause: permission denied\n\
                        hint: look at its mode\n";
        assert_eq!(text(&report()), expected);
        let transparent = Middle(Inner(std::io::Error::from(std::io::ErrorKind::NotFound)));
        assert_eq!(text(&Report::of(&transparent)).matches("cannot read").count(), 1);
    }

    #[test]
    fn the_document_says_the_whole_chain_and_names_problems_only_where_there_are_some() {
        let json = serde_json::to_string(&report().document()).unwrap();
        assert_eq!(
            json,
            r#"{"error":{"message":"the plugins cannot be read: cannot read '/x': permission denied","hint":"look at its mode"}}"#
        );
        let broken = report().problems(vec![Problem::new(Code::NotWasm, "", "no", "give another")]);
        assert!(serde_json::to_string(&broken.document()).unwrap().contains(r#""problems":[{"code":"not-wasm""#));
        assert!(text(&broken).contains("  not-wasm: no\n    next: give another\n"));
    }
}
