//! What words become: variables that the text itself sets, braces, and everything else unknown.
//!
//! It must never guess a value: what only running would tell is [`UNKNOWN`].

use std::collections::HashMap;

use super::Reason;
use super::args::{Arg, UNKNOWN};
use super::limits::Budget;
use super::words::{Part, Word};
use super::wrappers::{is_assignment, is_name};

/// How many values of one variable are followed. A loop over more names than these is rare.
const VALUES_MAX: usize = 16;
/// The longest value that is followed, in bytes.
const VALUE_MAX: usize = 4096;
/// How many words one word may become before nobody follows any more.
const WORDS_MAX: usize = 256;
/// Stands for a blank at which an unquoted value is split. A character for private use, so that no name has it.
const BLANK: char = '\u{f8f0}';

/// The values of variables, as far as the text sets them. A variable set in two branches has both.
#[derive(Default)]
pub(crate) struct Variables(HashMap<String, Vec<String>>);

impl Variables {
    /// Adds a value.
    pub(crate) fn add(&mut self, name: &str, value: &str) {
        if value.len() > VALUE_MAX {
            return;
        }
        let values = self.0.entry(name.to_owned()).or_default();
        if values.len() < VALUES_MAX && !values.iter().any(|known| known == value) {
            values.push(value.to_owned());
        }
    }

    /// Sets from a word `NAME=value` or `NAME+=value`; whether it is one.
    pub(crate) fn assign(&mut self, word: &str) -> bool {
        let Some((name, value)) = word.split_once('=') else { return false };
        let (name, appends) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
        if !is_name(name) {
            return false;
        }
        for before in self.0.get(name).filter(|_| appends).cloned().unwrap_or_default() {
            self.add(name, &format!("{before}{value}"));
        }
        self.add(name, value);
        true
    }

    fn get(&self, name: &str) -> Option<&Vec<String>> {
        self.0.get(name)
    }

    /// What a word becomes: none, one, or several words.
    ///
    /// # Errors
    /// It becomes more than can be followed.
    pub(crate) fn expand(&self, word: &Word, budget: &mut Budget) -> Result<Vec<Arg>, Reason> {
        if let Some(texts) = word.plain().and_then(braces) {
            return Ok(texts.into_iter().map(Arg).collect());
        }
        let mut texts = vec![String::new()];
        let mut splits = false;
        for part in &word.0 {
            let choices = self.choices(part, &mut splits, 0);
            if texts.len() * choices.len() > WORDS_MAX {
                return Err(Reason::TooMuchWork);
            }
            let mut next = Vec::with_capacity(texts.len() * choices.len());
            for text in &texts {
                for choice in &choices {
                    budget.work(text.len() + choice.len() + 1)?;
                    next.push(format!("{text}{choice}"));
                }
            }
            texts = next;
        }
        // `A=$B` is not split, whatever B holds.
        if matches!(word.0.first(), Some(Part::Plain(start)) if is_assignment(start)) {
            texts.iter_mut().for_each(|text| *text = text.replace(BLANK, " "));
            splits = false;
        }
        if !splits {
            return Ok(texts.into_iter().map(Arg).collect());
        }
        let pieces = texts.iter().flat_map(|text| text.split(BLANK)).filter(|piece| !piece.is_empty());
        Ok(pieces.map(|piece| Arg(piece.to_owned())).collect())
    }

    fn choices(&self, part: &Part, splits: &mut bool, depth: usize) -> Vec<String> {
        match part {
            Part::Plain(text) | Part::Quoted(text) => vec![text.clone()],
            Part::Substitution(_) | Part::Unknown(_) => vec![UNKNOWN.to_string()],
            Part::Variable { name, quoted, default } => {
                let mut values = self.get(name).cloned().unwrap_or_default();
                if !default.is_empty() && depth < super::words::NESTING_MAX {
                    let parts = default.iter().map(|part| self.choices(part, splits, depth + 1).swap_remove(0));
                    values.push(parts.collect());
                }
                if values.is_empty() {
                    values.push(UNKNOWN.to_string());
                }
                if !quoted {
                    *splits = true;
                    values.iter_mut().for_each(|value| *value = value.replace([' ', '\t', '\n'], &BLANK.to_string()));
                }
                values
            }
        }
    }
}

/// The words that `A{b,c}D` becomes; none where it has no braces with a comma.
fn braces(word: &str) -> Option<Vec<String>> {
    let open = word.find('{')?;
    let close = open + word[open..].find('}')?;
    let inner = &word[open + 1..close];
    if !inner.contains(',') || inner.len() > VALUES_MAX * VALUES_MAX || inner.contains('{') {
        return None;
    }
    Some(inner.split(',').map(|choice| format!("{}{choice}{}", &word[..open], &word[close + 1..])).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::words::parse;
    use super::*;

    fn expanded(variables: &Variables, word: &str) -> Vec<String> {
        let list = parse(&format!("x {word}")).unwrap().list;
        let mut budget = Budget::new();
        list[0].words[1..]
            .iter()
            .flat_map(|word| variables.expand(word, &mut budget).unwrap())
            .map(|arg| arg.0.replace(UNKNOWN, "?"))
            .collect()
    }

    #[test]
    fn a_variable_has_every_value_it_was_given() {
        let mut variables = Variables::default();
        assert!(
            variables.assign("a=1 2") && variables.assign("a=3") && variables.assign("b=x") && variables.assign("b+=y")
        );
        assert!(!variables.assign("1=2") && !variables.assign("x") && !variables.assign("=x"));
        assert_eq!(expanded(&variables, "\"$a\""), ["1 2", "3"]);
        assert_eq!(expanded(&variables, "$a"), ["1", "2", "3"]);
        assert_eq!(expanded(&variables, "p$b.s"), ["px.s", "pxy.s", "py.s"]);
        assert_eq!(expanded(&variables, "$c \"$c\" $(x)y ${c:-z} ${a%x}"), ["?", "?", "?y", "z", "?"]);
    }

    #[test]
    fn braces_become_words() {
        let variables = Variables::default();
        assert_eq!(
            expanded(&variables, "{pkill,hermes} a{b,c}d {x} '{a,b}'"),
            ["pkill", "hermes", "abd", "acd", "{x}", "{a,b}"]
        );
    }

    #[test]
    fn a_word_that_grows_without_end_is_refused() {
        let mut variables = Variables::default();
        (0..16).for_each(|value| variables.add("a", &value.to_string()));
        let list = parse("x \"$a$a$a\"").unwrap().list;
        assert!(variables.expand(&list[0].words[1], &mut Budget::new()) == Err(Reason::TooMuchWork));
    }

    proptest! {
        #[test]
        fn a_quoted_word_becomes_itself(text in any::<String>()) {
            let word = format!("'{}'", text.replace('\'', r"'\''"));
            prop_assert_eq!(expanded(&Variables::default(), &word), vec![text.replace(UNKNOWN, "?")]);
        }
    }
}
