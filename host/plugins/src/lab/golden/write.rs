//! Writing expectations into files of cases: the lines that change are written anew, every other byte stays.

use std::io;
use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::lab::LabError;

/// The keys of which a case has one: what it expects.
const EXPECTATIONS: [&str; 7] = ["spans", "masked", "becomes", "contains", "lacks", "unchanged", "verdict"];

/// What one case expects from now on.
pub(super) struct Change {
    /// Its line, counted from 1.
    pub(super) line: usize,
    /// The key.
    pub(super) key: &'static str,
    /// The value.
    pub(super) value: Value,
}

/// Writes changes into a file.
///
/// # Errors
/// It cannot be read or written.
pub(super) fn update(path: &Path, changes: &[Change]) -> Result<(), LabError> {
    let failed = |source| LabError::Write { path: path.to_owned(), source };
    let text = std::fs::read_to_string(path).map_err(failed)?;
    let updated = updated(&text, changes).map_err(failed)?;
    // The file is the author's: it keeps its owner and its permissions.
    std::fs::write(path, updated).map_err(failed)
}

fn updated(text: &str, changes: &[Change]) -> io::Result<String> {
    let mut out = String::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        match changes.iter().find(|change| change.line == index + 1) {
            None => out += line,
            Some(change) => {
                let end = &line[line.trim_end_matches(['\r', '\n']).len()..];
                out += &with(line, change)?;
                out += end;
            }
        }
    }
    Ok(out)
}

/// A line with another expectation, in the place of the old one.
fn with(line: &str, change: &Change) -> io::Result<String> {
    let old: Map<String, Value> = serde_json::from_str(line)?;
    let mut new = Map::new();
    for (key, value) in old {
        if !EXPECTATIONS.contains(&key.as_str()) {
            new.insert(key, value);
        } else if !new.contains_key(change.key) {
            new.insert(change.key.to_owned(), change.value.clone());
        }
    }
    if !new.contains_key(change.key) {
        new.insert(change.key.to_owned(), change.value.clone());
    }
    let mut bytes = Vec::new();
    new.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, Spaced))?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// JSON in one line with a blank after each comma and colon, as people write it.
struct Spaced;

impl serde_json::ser::Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_expectation_is_replaced_in_its_place_and_other_lines_stay_as_they_are() {
        let text = "{\"name\":\"a\",  \"masked\":\"x\"}\n{\"name\": \"b\", \"contains\": [\"x\"], \"lacks\": [], \"text\": \"y\"}\r\n";
        let change = Change { line: 2, key: "masked", value: json!("[REDACTED:id]") };
        let first = text.lines().next().unwrap();
        let second = "{\"name\": \"b\", \"masked\": \"[REDACTED:id]\", \"text\": \"y\"}";
        assert_eq!(updated(text, &[change]).unwrap(), format!("{first}\n{second}\r\n"));
        let change = Change { line: 1, key: "spans", value: json!([{"start": 0, "end": 1, "rule": "id"}]) };
        let expected = "{\"name\": \"c\", \"spans\": [{\"start\": 0, \"end\": 1, \"rule\": \"id\"}]}";
        assert_eq!(updated("{\"name\": \"c\"}", &[change]).unwrap(), expected);
    }

    proptest! {
        #[test]
        fn a_case_says_after_an_update_what_it_said_before_but_for_its_expectation(text in any::<String>(), now in any::<String>()) {
            let line = json!({ "name": "a", "text": text, "becomes": "old" }).to_string();
            let change = Change { line: 1, key: "becomes", value: json!(now) };
            let written = updated(&line, &[change]).unwrap();
            prop_assert_eq!(written.lines().count(), 1);
            let read: Value = serde_json::from_str(&written).unwrap();
            prop_assert_eq!(read, json!({ "name": "a", "text": text, "becomes": now }));
        }
    }
}
