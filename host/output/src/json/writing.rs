//! The document again, with what was found in it masked.
//!
//! Only strings and keys change, and only those in which something was found or that were cleaned; all else keeps its
//! every byte.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::places::{Found, Places};
use super::reading::{Form, Inside, Reading};
use crate::mask;
use crate::policy::Span;

/// What changes in a document.
#[derive(Default)]
pub(super) struct Changes {
    /// What stands for each string of the document, in its order, if it is another one.
    strings: Vec<Option<String>>,
    /// Other names for keys.
    names: HashMap<String, New>,
}

impl Changes {
    /// Masks what was found, and counts it.
    pub(super) fn of(reading: &Reading, found: Found, counts: &mut BTreeMap<String, u64>) -> Self {
        let names = names(reading, found.in_keys, counts);
        let spans = grouped(found.in_leaves);
        let mut writer = Writer { reading, names: &names, spans, counts };
        let strings = reading.tops.iter().map(|leaf| writer.leaf(*leaf).map(|new| new.text)).collect();
        Self { strings, names }
    }

    /// Whether anything does.
    pub(super) fn any(&self) -> bool {
        !self.names.is_empty() || self.strings.iter().any(Option::is_some)
    }

    /// Makes them.
    pub(super) fn apply(mut self, value: &mut Value) {
        let mut strings = std::mem::take(&mut self.strings).into_iter();
        self.value(value, &mut strings);
    }

    fn value(&self, value: &mut Value, strings: &mut impl Iterator<Item = Option<String>>) {
        match value {
            Value::String(text) => {
                if let Some(new) = strings.next().flatten() {
                    *text = new;
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.value(value, strings)),
            Value::Object(members) => {
                members.values_mut().for_each(|value| self.value(value, strings));
                if members.keys().any(|key| self.names.contains_key(key)) {
                    *members = self.renamed(std::mem::take(members));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn renamed(&self, members: Map<String, Value>) -> Map<String, Value> {
        members
            .into_iter()
            .map(|(key, value)| (self.names.get(&key).map_or(key, |name| name.text.clone()), value))
            .collect()
    }
}

/// Other names for the keys that need one: each unlike every other key of the document, so that no member is lost.
fn names(reading: &Reading, found: Places, counts: &mut BTreeMap<String, u64>) -> HashMap<String, New> {
    let mut spans = grouped(found);
    let mut names = HashMap::new();
    let mut taken: Option<HashSet<String>> = None;
    // How many keys became the same: where the search for a free name goes on.
    let mut alike = HashMap::<String, u64>::new();
    for (nth, key) in reading.keys.iter().enumerate() {
        let clean = &reading.names.text[key.at.clone()];
        let new = match spans.remove(&nth) {
            Some(spans) => mask::apply(clean.to_owned(), spans, counts),
            None if *clean == key.original => continue,
            None => clean.to_owned(),
        };
        if new == key.original {
            continue;
        }
        let masked = new != clean;
        let taken = taken.get_or_insert_with(|| reading.keys.iter().map(|key| key.original.clone()).collect());
        let many = alike.entry(new.clone()).or_insert(0);
        let mut name = new.clone();
        while !taken.insert(name.clone()) {
            *many += 1;
            name = format!("{new} ({})", *many + 1);
        }
        names.insert(key.original.clone(), New { text: name, masked });
    }
    names
}

fn grouped(places: Places) -> HashMap<usize, Vec<Span>> {
    let mut groups = HashMap::<usize, Vec<Span>>::new();
    for (of, span) in places {
        groups.entry(of).or_default().push(span);
    }
    groups
}

struct Writer<'a> {
    reading: &'a Reading,
    names: &'a HashMap<String, New>,
    spans: HashMap<usize, Vec<Span>>,
    counts: &'a mut BTreeMap<String, u64>,
}

/// What stands for a string or a key.
#[derive(Clone)]
struct New {
    text: String,
    /// Something in it was masked; otherwise it was cleaned only.
    masked: bool,
}

impl Writer<'_> {
    /// What stands for a string, if it is another one.
    fn leaf(&mut self, leaf: usize) -> Option<New> {
        let reading = self.reading;
        let this = &reading.leaves[leaf];
        match &this.form {
            Form::Binary => None,
            Form::Text(at) => {
                let text = &reading.strings.text[at.clone()];
                let masked = self.spans.remove(&leaf).map(|spans| mask::apply(text.to_owned(), spans, self.counts));
                match masked.filter(|masked| masked != text) {
                    Some(text) => Some(New { text, masked: true }),
                    None => this.cleaned.then(|| New { text: text.to_owned(), masked: false }),
                }
            }
            Form::Opened(opened) => match self.inside(&opened.text, &opened.inside) {
                Some(new) => Some(new),
                None => this.cleaned.then(|| New { text: opened.text.clone(), masked: false }),
            },
            // What is not text after all must not lose a byte to cleaning.
            Form::Encoded(inner) => {
                let new = self.leaf(*inner).filter(|new| new.masked)?;
                Some(New { text: STANDARD.encode(new.text), masked: true })
            }
        }
    }

    /// A document in a string, with its strings and keys replaced where they stand.
    fn inside(&mut self, text: &str, inside: &[(Range<usize>, Inside)]) -> Option<New> {
        let mut out = String::new();
        let mut done = 0;
        let mut any_masked = false;
        for (at, what) in inside {
            let new = match what {
                Inside::Key(key) => self.names.get(&self.reading.keys[*key].original).cloned(),
                Inside::Leaf(leaf) => self.leaf(*leaf),
            };
            if let Some(new) = new {
                any_masked |= new.masked;
                out.push_str(&text[done..at.start]);
                // As JSON writes a string.
                out.push_str(&Value::String(new.text).to_string());
                done = at.end;
            }
        }
        if done == 0 {
            return None;
        }
        out.push_str(&text[done..]);
        Some(New { text: out, masked: any_masked })
    }
}
