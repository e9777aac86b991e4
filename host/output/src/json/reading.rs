//! A document as the text redactors look at, with the way back from every byte of it to the string it came from.
//!
//! The text has four parts, parted by empty lines, one thing a line:
//!
//! 1. **names**: every key once. A secret that is a key is found here.
//! 2. **document**: the document as JSON, one member a line, documents inside strings opened. What a value is by its
//!    place (`"kind": "Secret"`, a pair of `name` and `value`) is found here.
//! 3. **lines**: `key: value`, unescaped, one string a line.
//! 4. **strings**: every string as it is, from the beginning of a line. What is found in printed text is found here, a
//!    key over several lines as well.
//!
//! It must never leave out a string that is not a binary, and grows with the size of the document alone.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::binary;
use super::escaped;
use super::nested::{self, Token, Tokens};
use crate::normalise::{self, Frames, Standing};

/// How many documents inside each other's strings are opened. Each level doubles the backslashes: nobody writes eight,
/// and what lies deeper is looked at as text.
const NESTED_MAX: usize = 8;
/// How much of a string stands in the document: more than a value that is secret by its place is long (a private key of
/// 16384 bits has 13 KiB).
const VALUE_BYTES: usize = 32 * 1024;
/// How much of a string stands behind its key in a line.
const LINE_BYTES: usize = 4 * 1024;
/// The shortest number that is looked at by itself: what is shorter is no secret anybody could name.
const NUMBER_MIN: usize = 4;
/// The shortest string that has a line of its own behind its key, and the longest key in front of one. Together they
/// bound how much longer the text is than the document.
const LINE_VALUE_MIN: usize = 4;
const LINE_KEY_MAX: usize = 64;

/// A string of the document.
pub(super) struct Leaf {
    pub(super) form: Form,
    /// It is another one than in the document, whatever is found in it: it was cleaned.
    pub(super) cleaned: bool,
}

/// What a string is.
pub(super) enum Form {
    /// Text: where it stands in the part `strings`.
    Text(Range<usize>),
    /// A document in a string.
    Opened(Box<Opened>),
    /// The base64 of a text: that text, a leaf.
    Encoded(usize),
    /// Passed whole.
    Binary,
}

/// A document in a string.
pub(super) struct Opened {
    pub(super) text: String,
    /// Where its strings and keys stand in it, quotes included, in order.
    pub(super) inside: Vec<(Range<usize>, Inside)>,
}

/// What stands in an opened document.
pub(super) enum Inside {
    Key(usize),
    Leaf(usize),
}

/// A key of the document.
pub(super) struct Key {
    /// As in the document.
    pub(super) original: String,
    /// Where it stands, cleaned, in the part `names`.
    pub(super) at: Range<usize>,
    /// The key that came after it the last time.
    next: usize,
}

/// Where a string stands in one of the parts.
pub(super) struct Copy {
    pub(super) at: Range<usize>,
    /// The string, or the key.
    pub(super) of: usize,
}

/// One of the parts.
#[derive(Default)]
pub(super) struct Part {
    pub(super) text: String,
    pub(super) copies: Vec<Copy>,
}

/// What was read.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) names: Part,
    pub(super) document: Part,
    pub(super) lines: Part,
    pub(super) strings: Part,
    pub(super) leaves: Vec<Leaf>,
    /// The strings of the document itself, in its order.
    pub(super) tops: Vec<usize>,
    pub(super) keys: Vec<Key>,
    /// Some string or key is not what it was, whatever is found.
    pub(super) cleaned: bool,
    /// Overwritten lines; their pieces are places in `strings`.
    pub(super) frames: Vec<Frames>,
    by_key: HashMap<String, usize>,
    last_key: usize,
    levels: Vec<Level>,
}

/// An object or array that is not closed.
struct Level {
    object: bool,
    /// Nothing stands in it yet.
    empty: bool,
    /// The key what comes next stands behind.
    key: Option<usize>,
}

impl Reading {
    /// Reads a document.
    pub(super) fn of(value: &Value) -> Self {
        let mut reading = Self::default();
        reading.value(value);
        reading
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                self.part_values();
                let leaf = self.leaf(text, 0);
                self.tops.push(leaf);
            }
            Value::Array(values) => {
                self.open(false);
                values.iter().for_each(|value| self.value(value));
                self.close();
            }
            Value::Object(members) => self.object(members),
            // They stay what they are, since a schema may ask for them; they stand here for what is around them.
            Value::Number(number) => {
                self.part_values();
                write!(self.document.text, "{number}").expect("a string takes what is written");
            }
            Value::Bool(true) => self.scalar("true"),
            Value::Bool(false) => self.scalar("false"),
            Value::Null => self.scalar("null"),
        }
    }

    fn object(&mut self, members: &Map<String, Value>) {
        self.open(true);
        for (key, value) in members {
            self.key(key);
            match binary::of(members, key, value) {
                None => self.value(value),
                Some(found) => {
                    let leaf = self.binary(found);
                    self.tops.push(leaf);
                }
            }
        }
        self.close();
    }

    /// A binary. What is text under its base64 is looked at.
    fn binary(&mut self, found: binary::Binary<'_>) -> usize {
        let binary::Binary::Blob(blob) = found else {
            self.scalar("\"\"");
            return self.push(Form::Binary);
        };
        let text = STANDARD.decode(blob).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let Some(text) = text.filter(|text| !text.contains('\0')) else {
            self.scalar("\"\"");
            return self.push(Form::Binary);
        };
        let inner = self.leaf(&text, 0);
        self.push(Form::Encoded(inner))
    }

    fn push(&mut self, form: Form) -> usize {
        self.leaves.push(Leaf { form, cleaned: false });
        self.leaves.len() - 1
    }

    /// A string, which lies in `depth` others.
    fn leaf(&mut self, text: &str, depth: usize) -> usize {
        let mut cleaned = false;
        let mut frames = Vec::new();
        let text = match normalise::standing(text) {
            Standing::Plain | Standing::Returns => Cow::Borrowed(text),
            Standing::Unclean => {
                let view = normalise::view_continued(text.as_bytes());
                cleaned = true;
                frames = view.frames;
                Cow::Owned(view.text)
            }
        };
        let form = if frames.is_empty() && depth < NESTED_MAX && nested::is_document(&text) {
            let inside = self.inside(&text, depth + 1);
            Form::Opened(Box::new(Opened { text: text.into_owned(), inside }))
        } else {
            Form::Text(self.text(&text, frames))
        };
        self.leaves.push(Leaf { form, cleaned });
        self.cleaned |= cleaned;
        let leaf = self.leaves.len() - 1;
        if let Form::Text(at) = &self.leaves[leaf].form {
            let at = at.clone();
            self.copies(leaf, at, "\"");
        }
        leaf
    }

    /// A number in a document in a string. No schema asks for one there, so it is masked as it would be in any text.
    fn number(&mut self, number: &str) -> usize {
        self.part_values();
        let at = self.text(number, Vec::new());
        let leaf = self.push(Form::Text(at.clone()));
        self.copies(leaf, at, "");
        leaf
    }

    /// Puts a string into the part `strings`, without returns before newlines.
    fn text(&mut self, text: &str, frames: Vec<Frames>) -> Range<usize> {
        let out = &mut self.strings.text;
        let start = out.len();
        let mut rest = text;
        while let Some(at) = memchr::memchr(b'\r', rest.as_bytes()) {
            out.push_str(&rest[..at]);
            rest = &rest[at + 1..];
        }
        out.push_str(rest);
        let end = out.len();
        out.push('\n');
        for mut line in frames {
            line.pieces.iter_mut().for_each(|(_, at)| *at += start as u64);
            self.frames.push(line);
        }
        start..end
    }

    /// Writes a string that stands in `strings` into the other parts.
    fn copies(&mut self, leaf: usize, at: Range<usize>, quote: &str) {
        let text = &self.strings.text[at.clone()];
        let out = &mut self.document.text;
        out.push_str(quote);
        let from = out.len();
        let shown = &text[..text.floor_char_boundary(VALUE_BYTES)];
        escaped::push(out, shown);
        self.document.copies.push(Copy { at: from..out.len(), of: leaf });
        out.push_str(quote);

        let line = text.lines().next().unwrap_or_default();
        let key = self.levels.last().and_then(|level| level.key).map(|key| &self.names.text[self.keys[key].at.clone()]);
        if let Some(key) = key.and_then(|key| key.lines().next())
            && key.len() <= LINE_KEY_MAX
            && line.len() >= LINE_VALUE_MIN
        {
            let out = &mut self.lines.text;
            out.push_str(key);
            out.push_str(": ");
            let from = out.len();
            out.push_str(&line[..line.floor_char_boundary(LINE_BYTES)]);
            self.lines.copies.push(Copy { at: from..out.len(), of: leaf });
            out.push('\n');
        }
        self.strings.copies.push(Copy { at, of: leaf });
    }

    /// What stands in a document in a string, which a parser has accepted.
    fn inside(&mut self, text: &str, depth: usize) -> Vec<(Range<usize>, Inside)> {
        let mut inside = Vec::new();
        // Whether a string that comes next is a key.
        let mut at_key = false;
        let mut first = true;
        for token in Tokens::of(text) {
            match token {
                Token::Open { object } => {
                    // The place of the whole was made before it was known what it is.
                    if std::mem::take(&mut first) {
                        self.push_level(object);
                    } else {
                        self.open(object);
                    }
                    at_key = object;
                }
                Token::Close => {
                    self.close();
                    at_key = false;
                }
                Token::Comma => at_key = self.levels.last().is_some_and(|level| level.object),
                Token::Colon => at_key = false,
                Token::Scalar(at) if at.len() >= NUMBER_MIN && text.as_bytes()[at.end - 1].is_ascii_digit() => {
                    let leaf = self.number(&text[at.clone()]);
                    inside.push((at, Inside::Leaf(leaf)));
                }
                Token::String(at) => {
                    let plain = nested::unescaped(&text[at.clone()]);
                    let what = if at_key {
                        Inside::Key(self.key(&plain))
                    } else {
                        self.part_values();
                        Inside::Leaf(self.leaf(&plain, depth))
                    };
                    inside.push((at, what));
                }
                Token::Scalar(at) => self.scalar(&text[at]),
            }
        }
        inside
    }

    fn open(&mut self, object: bool) {
        self.part_values();
        self.push_level(object);
    }

    fn push_level(&mut self, object: bool) {
        // What is in an array stands behind the array's key.
        let key = if object { None } else { self.levels.last().and_then(|level| level.key) };
        self.document.text.push_str(if object { "{\n" } else { "[\n" });
        self.levels.push(Level { object, empty: true, key });
    }

    fn close(&mut self) {
        let object = self.levels.pop().is_some_and(|level| level.object);
        self.document.text.push_str(if object { "\n}" } else { "\n]" });
    }

    /// Parts a value from the one before it. In an object the key has done so.
    fn part_values(&mut self) {
        if let Some(level) = self.levels.last_mut()
            && !level.object
            && !std::mem::take(&mut level.empty)
        {
            self.document.text.push_str(",\n");
        }
    }

    fn scalar(&mut self, text: &str) {
        self.part_values();
        self.document.text.push_str(text);
    }

    fn key(&mut self, key: &str) -> usize {
        // Objects of a list have the same keys in the same order: the one that came next last time is tried first.
        let guess = self.keys.get(self.last_key).map(|last| last.next).filter(|next| self.keys[*next].original == key);
        let known = match guess.or_else(|| self.by_key.get(key).copied()) {
            Some(known) => known,
            None => self.new_key(key),
        };
        if let Some(last) = self.keys.get_mut(self.last_key) {
            last.next = known;
        }
        self.last_key = known;
        if let Some(level) = self.levels.last_mut() {
            level.key = Some(known);
            if !std::mem::take(&mut level.empty) {
                self.document.text.push_str(",\n");
            }
        }
        self.document.text.push('"');
        escaped::push(&mut self.document.text, &self.names.text[self.keys[known].at.clone()]);
        self.document.text.push_str("\": ");
        known
    }

    fn new_key(&mut self, key: &str) -> usize {
        let start = self.names.text.len();
        match normalise::standing(key) {
            Standing::Plain => self.names.text.push_str(key),
            Standing::Returns | Standing::Unclean => {
                self.names.text.push_str(&normalise::view_continued(key.as_bytes()).text);
                self.cleaned = true;
            }
        }
        let at = start..self.names.text.len();
        self.names.text.push('\n');
        let known = self.keys.len();
        self.names.copies.push(Copy { at: at.clone(), of: known });
        self.keys.push(Key { original: key.to_owned(), at, next: 0 });
        self.by_key.insert(key.to_owned(), known);
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_in_four_parts() {
        let value =
            serde_json::json!({"a": [{"name": "x\"y", "n": 7}], "b": "one\ntwo", "c": "{\"d\": [true, \"four\"]}"});
        let reading = Reading::of(&value);
        assert_eq!(reading.names.text, "a\nname\nn\nb\nc\nd\n");
        assert_eq!(
            reading.document.text,
            concat!(
                "{\n\"a\": [\n{\n\"name\": \"x\\\"y\",\n\"n\": 7\n}\n],\n\"b\": \"one\\ntwo\",\n",
                "\"c\": {\n\"d\": [\ntrue,\n\"four\"\n]\n}\n}"
            )
        );
        // Strings of three bytes have no line.
        assert_eq!(reading.lines.text, "d: four\n");
        assert_eq!(reading.strings.text, "x\"y\none\ntwo\nfour\n");
        serde_json::from_str::<Value>(&reading.document.text).unwrap();
    }
}
