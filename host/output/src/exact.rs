//! Secrets the host itself knows: values of its environment and of the servers it starts. They are found in a text
//! whatever they look like, also when something has escaped or encoded them.
//!
//! Values live in memory only: nothing here shows one, and a rule is named after the variable.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::policy::Span;

mod forms;
mod names;
mod search;
mod words;

use search::Search;

/// The shortest value that is masked wherever it stands. Shorter ones are too often part of something else.
pub const VALUE_BYTES_MIN: usize = 8;

/// Values to mask wherever they stand. Cheap to clone.
#[derive(Clone, Default)]
pub struct ExactValues {
    search: Option<Arc<Search>>,
}

/// The same values under the same names hash alike. The digest is made once, so this costs nothing.
impl Hash for ExactValues {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.search.as_ref().map(|search| search.digest()).hash(state);
    }
}

impl fmt::Debug for ExactValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let forms = self.search.as_ref().map_or(0, |search| search.forms().len());
        f.debug_struct("ExactValues").field("forms", &forms).finish_non_exhaustive()
    }
}

impl ExactValues {
    /// Looks for these values, each with the name it is known by. Values below [`VALUE_BYTES_MIN`] bytes and words that
    /// stand everywhere (`localhost`, `production`) are left out. A value under two names goes by the first.
    pub fn new(values: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut rules_by_form = BTreeMap::<String, Arc<str>>::new();
        for (name, value) in values {
            if names::stands_everywhere(value.trim()) {
                continue;
            }
            let rule: Arc<str> = format!("env:{name}").into();
            for form in forms::of(&value) {
                rules_by_form.entry(form).or_insert_with(|| Arc::clone(&rule));
            }
        }
        Self { search: Search::new(rules_by_form).map(Arc::new) }
    }

    /// Looks for the values of entries somebody wrote for one program, whatever their names say, and for what is secret
    /// in each, such as the password of a URL. Left out is what [`ExactValues::new`] leaves out, and what is plainly a
    /// place: a path, a URL with neither user nor query nor anything that looks random. Results are full of those.
    pub fn of_entries<'a>(entries: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self::new(entries.into_iter().flat_map(|(name, value)| {
            let mut found = names::secrets_of(name, value);
            if !names::is_place(value) {
                found.push(value.to_owned());
            }
            found.into_iter().map(|secret| (name.to_owned(), secret))
        }))
    }

    /// Looks for all that any of these look for. A value in two of them goes by the first.
    pub fn joined<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let some: Vec<&Self> = all.into_iter().filter(|values| !values.is_empty()).collect();
        match some.as_slice() {
            [] => Self::default(),
            // Shared, since preparing costs far more than looking.
            [one] => (*one).clone(),
            many => {
                let mut rules_by_form = BTreeMap::new();
                for (form, rule) in many.iter().filter_map(|values| values.search.as_deref()).flat_map(Search::rules) {
                    rules_by_form.entry(form.to_owned()).or_insert_with(|| Arc::clone(rule));
                }
                Self { search: Search::new(rules_by_form).map(Arc::new) }
            }
        }
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.search.is_none()
    }

    /// Every place where a value stands, in order of their ends; the rule is `env:NAME`. Of places of one value that
    /// overlap one span is made, and a place inside another is not named.
    pub fn find(&self, text: &str) -> Vec<Span> {
        let mut found = Vec::<Span>::new();
        let Some(search) = &self.search else { return found };
        search.each_longest(text.as_bytes(), |start, end, rule| {
            let mut start = start;
            while let Some(before) = found.last_mut() {
                if before.end < start || (before.start < start && *before.rule != **rule) {
                    break;
                }
                if *before.rule == **rule {
                    start = start.min(before.start);
                }
                found.pop();
            }
            found.push(Span { start, end, rule: rule.to_string() });
        });
        found
    }

    /// Where the longest end of `text` begins that may be the beginning of a value, and not all of it: what must be
    /// held back until more is known. The length of `text` if no end may be.
    pub fn open_from(&self, text: &str) -> usize {
        let Some(search) = &self.search else { return text.len() };
        search.open_from(text.as_bytes())
    }

    /// The longest form in bytes: no value reaches further back than one byte less.
    pub fn longest(&self) -> usize {
        self.search.as_ref().map_or(0, |search| search.longest())
    }
}

/// Whether a variable holds a secret, by its name and by what its value looks like.
pub fn secret_looking(name: &str, value: &str) -> bool {
    !names::secrets_of(name, value).is_empty()
}

/// The secrets in a set of variables. Of a URL with a password, the password only.
pub fn from_environment<'a>(vars: impl IntoIterator<Item = (&'a str, &'a str)>) -> ExactValues {
    ExactValues::new(
        vars.into_iter().flat_map(|(name, value)| {
            names::secrets_of(name, value).into_iter().map(|secret| (name.to_owned(), secret))
        }),
    )
}

#[cfg(test)]
mod tests;
