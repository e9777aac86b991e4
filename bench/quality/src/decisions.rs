//! What was decided about every kind of disagreement with another program, and why.

use std::path::Path;

use serde::Deserialize;

/// The decisions, as `decisions.toml` has them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decisions {
    decision: Vec<Decision>,
}

/// One decision.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// What differs, in the words of the report.
    pub what: String,
    /// The kind of seed; one that ends with `*` stands for all that begin so.
    pub kind: String,
    /// What is done about it.
    pub decision: String,
    /// Why.
    pub why: String,
}

/// Why there are no decisions.
#[derive(Debug, thiserror::Error)]
#[error("{path} cannot be used: {reason}")]
pub struct DecisionsError {
    path: String,
    reason: String,
}

impl Decisions {
    /// Reads them.
    ///
    /// # Errors
    /// The file cannot be read, or says something else.
    pub fn read(path: &Path) -> Result<Self, DecisionsError> {
        let broken = |reason: String| DecisionsError { path: path.display().to_string(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| broken(error.to_string()))?;
        toml::from_str(&text).map_err(|error| broken(error.to_string()))
    }

    /// The decision about this, if there is one; the first that fits.
    pub fn about(&self, what: &str, kind: &str) -> Option<&Decision> {
        self.decision.iter().find(|decision| {
            let fits = match decision.kind.strip_suffix('*') {
                Some(begin) => kind.starts_with(begin),
                None => decision.kind == kind,
            };
            fits && decision.what == what
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_about_its_kind_and_no_other() {
        let text = "[[decision]]\nwhat = \"a\"\nkind = \"token/*\"\ndecision = \"stays\"\nwhy = \"x\"\n";
        let decisions: Decisions = toml::from_str(text).unwrap();
        assert!(decisions.about("a", "token/github").is_some());
        assert!(decisions.about("a", "named/password").is_none());
        assert!(decisions.about("b", "token/github").is_none());
    }

    #[test]
    fn the_decisions_of_the_repository_can_be_read_and_say_why() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("decisions.toml");
        let decisions = Decisions::read(&path).unwrap();
        assert!(decisions.decision.iter().all(|decision| decision.why.len() > 20 && !decision.decision.is_empty()));
    }
}
