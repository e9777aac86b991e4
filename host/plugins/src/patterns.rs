//! Pattern sets a plugin declares, compiled once and run natively over the text of its calls.
//!
//! Linear time for every pattern and text; a pattern that does not compile, or would be too large, is a load problem.

use std::collections::BTreeMap;

use regex_automata::meta::{BuildError, Regex};
use regex_automata::util::syntax;

use crate::limits::HITS_MAX;

/// The most memory one compiled set may take, so that a pattern such as `\w{5000}` is refused when it is loaded.
const SET_SIZE_MAX: usize = 8 * 1024 * 1024;
/// The most sets a plugin may declare: with [`SET_SIZE_MAX`], a quarter of a gigabyte at the very worst.
const SETS_MAX: usize = 32;
/// The most patterns in all sets of a plugin: several times what a collection of secret rules holds.
const PATTERNS_MAX: usize = 4096;
/// How much of a pattern a message shows, in characters.
const PATTERN_SHOWN: usize = 60;
/// Asking for the time takes as long as a few short hits.
const HITS_BETWEEN_CLOCKS: usize = 64;

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
    /// The time of the call is used up.
    OutOfTime,
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

/// Why declared sets were not compiled.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// Two sets have one name.
    #[error("pattern set '{0}' is declared twice")]
    Twice(String),
    /// There are more sets than [`SETS_MAX`].
    #[error("{0} pattern sets are declared; a plugin may have {SETS_MAX}")]
    Sets(usize),
    /// All sets together have more patterns than [`PATTERNS_MAX`].
    #[error("{0} patterns are declared; all sets of a plugin together may have {PATTERNS_MAX}")]
    Patterns(usize),
    /// A pattern is wrong, or too large alone.
    #[error("pattern set '{set}', pattern {index} `{pattern}`: {reason}")]
    Pattern {
        /// The set.
        set: String,
        /// Its index in the set, as hits name it.
        index: usize,
        /// Its beginning, without what could drive a terminal.
        pattern: String,
        /// Why, in one line.
        reason: String,
    },
    /// The patterns of a set are too large together.
    #[error("pattern set '{0}': compiled, it needs more than {SET_SIZE_MAX} bytes; make two sets of it")]
    Large(String),
}

impl PatternSets {
    /// Compiles the declared sets.
    ///
    /// # Errors
    /// The first set that cannot be compiled, or there are too many.
    pub fn compile(declared: &[Declared]) -> Result<Self, PatternError> {
        if declared.len() > SETS_MAX {
            return Err(PatternError::Sets(declared.len()));
        }
        let patterns = declared.iter().map(|set| set.patterns.len()).sum();
        if patterns > PATTERNS_MAX {
            return Err(PatternError::Patterns(patterns));
        }
        let mut sets = BTreeMap::new();
        for set in declared {
            let compiled = build(&set.patterns, set.case_insensitive).map_err(|error| blame(set, &error))?;
            if sets.insert(set.name.clone(), compiled).is_some() {
                return Err(PatternError::Twice(set.name.clone()));
            }
        }
        Ok(Self(sets))
    }

    /// Whether a set was declared at all, and a call's text must be kept for it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Runs a set over a text, until `has_time` says no: a single search is linear, but a pattern may look at the whole
    /// text again for each of its hits.
    ///
    /// # Errors
    /// See [`FindError`].
    pub fn find(&self, set: &str, text: &str, has_time: impl Fn() -> bool) -> Result<Vec<Hit>, FindError> {
        let regex = self.0.get(set).ok_or(FindError::UnknownSet)?;
        let mut hits = Vec::new();
        let at = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        for found in regex.find_iter(text) {
            if hits.len() >= HITS_MAX as usize {
                return Err(FindError::TooManyHits(HITS_MAX));
            }
            if hits.len() % HITS_BETWEEN_CLOCKS == HITS_BETWEEN_CLOCKS - 1 && !has_time() {
                return Err(FindError::OutOfTime);
            }
            hits.push(Hit { pattern: found.pattern().as_u32(), start: at(found.start()), end: at(found.end()) });
        }
        Ok(hits)
    }
}

fn build(patterns: &[String], case_insensitive: bool) -> Result<Regex, Box<BuildError>> {
    let config = Regex::config()
        .nfa_size_limit(Some(SET_SIZE_MAX))
        .onepass_size_limit(Some(SET_SIZE_MAX))
        .match_kind(regex_automata::MatchKind::LeftmostFirst);
    Regex::builder()
        .configure(config)
        .syntax(syntax::Config::new().case_insensitive(case_insensitive))
        .build_many(patterns)
        .map_err(Box::new)
}

/// Says which pattern an error of a whole set is about.
fn blame(set: &Declared, error: &BuildError) -> PatternError {
    let one = |index: usize, reason: String| PatternError::Pattern {
        set: set.name.clone(),
        index,
        pattern: set.patterns[index].escape_debug().take(PATTERN_SHOWN).collect(),
        reason,
    };
    if let Some(id) = error.pattern() {
        return one(id.as_usize(), reason(error));
    }
    let alone = |pattern: &String| build(std::slice::from_ref(pattern), set.case_insensitive);
    for (index, pattern) in set.patterns.iter().enumerate() {
        match alone(pattern) {
            Ok(_) => {}
            Err(error) if error.size_limit().is_some() => {
                return one(index, format!("compiled, it needs more than {SET_SIZE_MAX} bytes: make it smaller"));
            }
            Err(error) => return one(index, reason(&*error)),
        }
    }
    PatternError::Large(set.name.clone())
}

/// The innermost reason of a pattern error: the outer ones only say that building failed.
fn reason(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string().lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned()
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
        let hits = sets.find("ids", "KEY ID-42", || true).unwrap();
        assert_eq!(hits, [Hit { pattern: 1, start: 0, end: 3 }, Hit { pattern: 0, start: 4, end: 9 }]);
        assert_eq!(sets.find("other", "", || true), Err(FindError::UnknownSet));
    }

    fn refused(sets: &[Declared]) -> String {
        PatternSets::compile(sets).unwrap_err().to_string()
    }

    #[test]
    fn a_pattern_that_is_wrong_or_too_large_is_named_with_the_reason() {
        assert_eq!(refused(&[set(&["a", "b("])]), "pattern set 'ids', pattern 1 `b(`: unclosed group");
        let long = "\u{202e}".repeat(100) + "[";
        let named =
            format!("pattern set 'ids', pattern 0 `{}`: ", "\\u{202e}".repeat(100).get(..PATTERN_SHOWN).unwrap());
        assert!(refused(&[set(&[&long])]).starts_with(&named));
        let large = refused(&[set(&["a", "\\w{5000}{100}"])]);
        assert!(large.contains("pattern 1 `") && large.contains("make it smaller"), "{large}");
    }

    #[test]
    fn patterns_that_are_too_large_together_are_told_from_one_that_is_alone() {
        let half = ["\\w{60}x"; 12];
        assert!(PatternSets::compile(&[set(&half[..1])]).is_ok());
        let together = refused(&[set(&half)]);
        assert!(together.contains("make two sets of it"), "{together}");
    }

    #[test]
    fn more_sets_or_patterns_than_the_limit_are_refused() {
        let named = |index: usize| Declared { name: index.to_string(), ..set(&["a"]) };
        let sets: Vec<Declared> = (0..=SETS_MAX).map(named).collect();
        assert!(PatternSets::compile(&sets[..SETS_MAX]).is_ok());
        assert!(refused(&sets).contains("33 pattern sets"));
        assert!(refused(&[set(&vec!["a"; PATTERNS_MAX + 1])]).contains("4097 patterns"));
        assert!(refused(&[set(&["a"]), set(&["b"])]).contains("declared twice"));
    }

    #[test]
    fn a_search_ends_when_the_time_of_the_call_is_used_up() {
        let sets = PatternSets::compile(&[set(&["a"])]).unwrap();
        let text = "a".repeat(1000);
        assert_eq!(sets.find("ids", &text, || false), Err(FindError::OutOfTime));
        assert_eq!(sets.find("ids", &text, || true).unwrap().len(), 1000);
    }

    #[test]
    fn more_hits_than_the_limit_are_not_returned() {
        let sets = PatternSets::compile(&[set(&["a"])]).unwrap();
        let text = "a".repeat(HITS_MAX as usize + 1);
        assert_eq!(sets.find("ids", &text, || true), Err(FindError::TooManyHits(HITS_MAX)));
    }
}
