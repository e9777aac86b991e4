//! The languages a plugin can be written in. Words only: what a project of each looks like, and how it is built, is
//! decided in `hermes-plugins`.

use std::fmt;
use std::str::FromStr;

use crate::suggest;

/// A language plugins are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// Rust, built by cargo.
    #[default]
    Rust,
    /// JavaScript, on the QuickJS engine, built by jco.
    JavaScript,
    /// Python, built by componentize-py.
    Python,
    /// C, built by the clang of Zig.
    C,
}

impl Language {
    /// All of them, in the order they are listed.
    pub const ALL: [Self; 4] = [Self::Rust, Self::JavaScript, Self::Python, Self::C];

    /// The word on the command line and the name of its folders.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::JavaScript => "js",
            Self::Python => "python",
            Self::C => "c",
        }
    }

    /// The name in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::JavaScript => "JavaScript",
            Self::Python => "Python",
            Self::C => "C",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Language {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.map(Self::word);
        let found = Self::ALL.into_iter().find(|language| language.word() == text);
        found.ok_or_else(|| format!("not a language{}", suggest::hint(text, &known)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_is_read_from_its_word_and_others_are_refused_by_name() {
        for language in Language::ALL {
            assert_eq!(language.word().parse(), Ok(language));
        }
        assert!("javascript".parse::<Language>().unwrap_err().starts_with("not a language"));
    }
}
