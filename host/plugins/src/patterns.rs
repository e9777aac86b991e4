//! Pattern sets a plugin declares, compiled once and run natively over the text of its calls.
//!
//! Linear time for every pattern and text; a pattern that does not compile, or would be too large, is a load problem.

use std::collections::BTreeMap;

use regex_automata::meta::Regex;
use regex_automata::util::syntax;

use crate::limits::HITS_MAX;

/// The most memory one compiled set may take, so that a pattern such as `\w{5000}` is refused when it is loaded.
const SET_SIZE_MAX: usize = 8 * 1024 * 1024;

/// The compiled sets of one plugin.
#[derive(Debug, Default)]
pub struct PatternSets(BTreeMap<String, Regex>);

/// One match, in bytes of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Index of the pattern in its set.
    pub pattern: u32,
    /// First byte.
    pub start: u32,
    /// First byte after it.
    pub end: u32,
}

/// Why there are no hits to return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindError {
    /// No set of this name was declared.
    UnknownSet,
    /// There is no text in the current call.
    NoText,
    /// More matches than this.
    TooManyHits(u32),
}

/// A declared set.
#[derive(Clone, Debug)]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// Its patterns.
    pub patterns: Vec<String>,
    /// Whether letters match in either case.
    pub case_insensitive: bool,
}

/// Why a declared set was not compiled.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// Two sets have one name.
    #[error("pattern set '{0}' is declared twice")]
    Twice(String),
    /// A pattern is wrong or too large.
    #[error("pattern set '{set}': {reason}")]
    Bad {
        /// The set.
        set: String,
        /// Why, in one line.
        reason: String,
    },
}

impl PatternSets {
    /// Compiles the declared sets.
    ///
    /// # Errors
    /// The first set that cannot be compiled.
    pub fn compile(declared: &[Declared]) -> Result<Self, PatternError> {
        let mut sets = BTreeMap::new();
        for set in declared {
            let config = Regex::config()
                .nfa_size_limit(Some(SET_SIZE_MAX))
                .onepass_size_limit(Some(SET_SIZE_MAX))
                .match_kind(regex_automata::MatchKind::LeftmostFirst);
            let regex = Regex::builder()
                .configure(config)
                .syntax(syntax::Config::new().case_insensitive(set.case_insensitive))
                .build_many(&set.patterns)
                .map_err(|error| PatternError::Bad { set: set.name.clone(), reason: reason(&error) })?;
            if sets.insert(set.name.clone(), regex).is_some() {
                return Err(PatternError::Twice(set.name.clone()));
            }
        }
        Ok(Self(sets))
    }

    /// Whether a set was declared at all, and a call's text must be kept for it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Runs a set over a text.
    ///
    /// # Errors
    /// See [`FindError`].
    pub fn find(&self, set: &str, text: &str) -> Result<Vec<Hit>, FindError> {
        let regex = self.0.get(set).ok_or(FindError::UnknownSet)?;
        let mut hits = Vec::new();
        let at = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        for found in regex.find_iter(text) {
            if hits.len() >= HITS_MAX as usize {
                return Err(FindError::TooManyHits(HITS_MAX));
            }
            hits.push(Hit { pattern: found.pattern().as_u32(), start: at(found.start()), end: at(found.end()) });
        }
        Ok(hits)
    }
}

/// The innermost reason of a pattern error: the outer ones only say that building failed.
fn reason(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string().lines().last().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(patterns: &[&str]) -> Declared {
        Declared {
            name: "ids".into(),
            patterns: patterns.iter().map(|&pattern| pattern.to_owned()).collect(),
            case_insensitive: true,
        }
    }

    #[test]
    fn hits_name_their_pattern_and_place() {
        let sets = PatternSets::compile(&[set(&["id-[0-9]+", "key"])]).unwrap();
        let hits = sets.find("ids", "KEY ID-42").unwrap();
        assert_eq!(hits, [Hit { pattern: 1, start: 0, end: 3 }, Hit { pattern: 0, start: 4, end: 9 }]);
        assert_eq!(sets.find("other", ""), Err(FindError::UnknownSet));
    }

    #[test]
    fn a_pattern_that_is_wrong_or_too_large_is_an_error_with_a_reason() {
        for bad in ["(", "\\w{5000}{100}"] {
            let error = PatternSets::compile(&[set(&[bad])]).unwrap_err().to_string();
            assert!(error.starts_with("pattern set 'ids': "), "{error}");
        }
    }

    #[test]
    fn more_hits_than_the_limit_are_not_returned() {
        let sets = PatternSets::compile(&[set(&["a"])]).unwrap();
        let text = "a".repeat(HITS_MAX as usize + 1);
        assert_eq!(sets.find("ids", &text), Err(FindError::TooManyHits(HITS_MAX)));
    }
}
