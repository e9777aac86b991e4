//! One line as a JSON-RPC message, and whose answer a line was that cannot be read.
//!
//! It must never call a line unchanged that says more than was looked at: a thing said twice, a number of too many digits.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Deserializer, Map, Number, Value, json};

use crate::lines::Ends;

/// The line is no JSON, or JSON too deep to be read (JSON-RPC 2.0).
pub(super) const PARSE_ERROR: i64 = -32700;
/// It is JSON and no message.
pub(super) const INVALID_REQUEST: i64 = -32600;
/// Something between the two ends went wrong.
pub(super) const INTERNAL_ERROR: i64 = -32603;

/// Where whole numbers are not held exactly any more (2^64).
const INTEGERS_END: f64 = 18_446_744_073_709_551_616.0;

/// What a line is. Raw: no `Debug`.
pub(super) enum Read {
    /// Nothing at all.
    Blank,
    /// No JSON.
    Junk,
    /// A document. `faithful`: the bytes of the line, trimmed, say exactly this and nothing else.
    Document { value: Value, faithful: bool },
}

/// Reads a line. Text that is no UTF-8 and halves of surrogate pairs, which some languages let into strings, are replaced
/// (U+FFFD) rather than the whole message lost.
pub(super) fn read(line: &[u8]) -> Read {
    let line = trimmed(line);
    if line.is_empty() {
        return Read::Blank;
    }
    if let Some((value, loose)) = parse(line) {
        return Read::Document { value, faithful: !loose };
    }
    if !line.starts_with(b"{") && !line.starts_with(b"[") {
        return Read::Junk;
    }
    match parse(with_whole_pairs(&String::from_utf8_lossy(line)).as_bytes()) {
        Some((value, _)) => Read::Document { value, faithful: false },
        None => Read::Junk,
    }
}

/// The line without a byte order mark, and without white space and NUL at its ends.
pub(super) fn trimmed(line: &[u8]) -> &[u8] {
    let is_padding = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
    let mut line = line;
    while let Some(rest) = line.strip_prefix(b"\xef\xbb\xbf").or_else(|| match line {
        [first, rest @ ..] if is_padding(first) => Some(rest),
        _ => None,
    }) {
        line = rest;
    }
    while let [rest @ .., last] = line
        && is_padding(last)
    {
        line = rest;
    }
    line
}

/// The document, and whether the bytes say more: an object has a key twice, or a number more digits than are kept.
fn parse(bytes: &[u8]) -> Option<(Value, bool)> {
    let loose = Cell::new(false);
    let mut deserializer = Deserializer::from_slice(bytes);
    let value = Watch { loose: &loose }.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some((value, loose.get()))
}

/// Reads a [`Value`] and notices what it cannot hold.
struct Watch<'a> {
    loose: &'a Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for Watch<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Watch<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        if value.abs() >= INTEGERS_END {
            self.loose.set(true);
        }
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(element) = elements.next_element_seed(Watch { loose: self.loose })? {
            all.push(element);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Watch { loose: self.loose })?;
            if all.insert(key, value).is_some() {
                self.loose.set(true);
            }
        }
        Ok(Value::Object(all))
    }
}

/// JSON text in which every escape of half a surrogate pair is one of U+FFFD.
fn with_whole_pairs(text: &str) -> String {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    while let Some(next) = memchr::memchr(b'\\', &text.as_bytes()[at..]) {
        out.push_str(&text[at..at + next]);
        at += next;
        let length = match unit(at) {
            Some(0xd800..0xdc00) if matches!(unit(at + 6), Some(0xdc00..0xe000)) => 12,
            Some(0xd800..0xe000) => {
                out.push_str("\\ufffd");
                at += 6;
                continue;
            }
            _ => 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&text[at..at + length]);
        at += length;
    }
    out.push_str(&text[at..]);
    out
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It wants an answer.
    Request,
    /// It wants none.
    Notification,
    /// It is one.
    Answer,
    /// It is no message.
    Other,
}

/// What a message is, by the fields it has.
pub(super) fn kind(message: &Map<String, Value>) -> Kind {
    match (message.get("method").is_some_and(Value::is_string), message.get("id")) {
        (true, None | Some(Value::Null)) => Kind::Notification,
        (true, Some(_)) => Kind::Request,
        (false, _) if message.contains_key("result") || message.contains_key("error") => Kind::Answer,
        (false, _) => Kind::Other,
    }
}

/// An error as a line.
pub(super) fn error(id: Value, code: i64, message: &str) -> Vec<u8> {
    as_line(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}))
}

/// A document as a line, its end included.
pub(super) fn as_line(value: &Value) -> Vec<u8> {
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// Bytes that are a document as a line.
pub(super) fn bytes_as_line(bytes: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(bytes.len() + 1);
    line.extend_from_slice(bytes);
    line.push(b'\n');
    line
}

/// What a line was that is lost.
#[derive(Debug, PartialEq)]
pub(super) enum Lost {
    /// The answer to this request.
    Answer(Value),
    /// A request of this id.
    Request(Value),
    /// Something nobody waits for.
    Nothing,
    /// A message, and it cannot be seen which.
    Unknown,
}

impl Lost {
    /// What can be seen from the ends of a line.
    pub(super) fn of(ends: &Ends) -> Self {
        let head = trimmed(&ends.head);
        if head.starts_with(b"[") {
            return Self::Unknown;
        }
        if !head.starts_with(b"{") {
            return Self::Nothing;
        }
        let fields = Fields::of(head);
        match (fields.id.or_else(|| last_id(trimmed(&ends.tail))), fields.method) {
            (Some(id), true) => Self::Request(id),
            (None, true) => Self::Nothing,
            (Some(id), false) => Self::Answer(id),
            (None, false) => Self::Unknown,
        }
    }
}

/// What the beginning of an object shows of its own fields.
#[derive(Default)]
struct Fields {
    id: Option<Value>,
    method: bool,
}

impl Fields {
    fn of(head: &[u8]) -> Self {
        let mut fields = Self::default();
        let mut rest = &head[1..];
        // Each step takes one field, as far as it is there.
        while let Some((key, after)) = string(rest.trim_ascii_start().strip_prefix(b",").unwrap_or(rest)) {
            let Some(after) = after.trim_ascii_start().strip_prefix(b":") else { break };
            let Some(length) = value_length(after) else { break };
            match key {
                b"\"id\"" => fields.id = as_id(&after[..length]),
                b"\"method\"" => fields.method = true,
                _ => {}
            }
            rest = &after[length..];
        }
        fields
    }
}

/// The JSON string at the beginning, quotes included, and what follows it.
fn string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_start();
    if !text.starts_with(b"\"") {
        return None;
    }
    let mut escaped = false;
    for (at, byte) in text.iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(text.split_at(at + 1)),
            _ => {}
        }
    }
    None
}

/// How long the value at the beginning is; none where its end cannot be seen.
fn value_length(text: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0usize, 0);
    while at < text.len() {
        match text[at] {
            b'"' => {
                let (_, after) = string(&text[at..])?;
                at = text.len() - after.len();
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' | b',' if depth == 0 => return Some(at),
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    None
}

fn as_id(text: &[u8]) -> Option<Value> {
    let id: Value = serde_json::from_slice(text).ok()?;
    (id.is_string() || id.is_number()).then_some(id)
}

/// The id of an object that ends with it.
fn last_id(tail: &[u8]) -> Option<Value> {
    const KEY: &[u8] = b"\"id\"";
    let tail = tail.strip_suffix(b"}")?;
    let at = memchr::memmem::rfind(tail, KEY)?;
    // A backslash before it: the quote is within another key.
    if at == 0 || tail[at - 1] == b'\\' {
        return None;
    }
    as_id(tail[at + KEY.len()..].trim_ascii_start().strip_prefix(b":")?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn document(line: &[u8]) -> Option<(Value, bool)> {
        match read(line) {
            Read::Document { value, faithful } => Some((value, faithful)),
            Read::Blank | Read::Junk => None,
        }
    }

    #[test]
    fn padding_around_a_message_is_no_part_of_it() {
        for line in ["{\"a\":1}\r", "\u{feff}{\"a\":1}", "\0{\"a\":1}\0\0", " \u{feff} {\"a\":1}\t"] {
            assert_eq!(document(line.as_bytes()), Some((json!({"a": 1}), true)), "{line:?}");
            assert_eq!(trimmed(line.as_bytes()), b"{\"a\":1}");
        }
        for blank in ["", "\r", "\0", "\u{feff}"] {
            assert!(matches!(read(blank.as_bytes()), Read::Blank));
        }
        for junk in [b"Starting".as_slice(), b"\xff\xfe", b"{\"a\":1", b"{\"a\":\0 1}"] {
            assert!(matches!(read(junk), Read::Junk));
        }
    }

    #[test]
    fn a_message_with_a_torn_character_is_repaired_and_never_passed_on_as_it_is() {
        assert_eq!(document(b"{\"a\":\"x\xff\"}"), Some((json!({"a": "x\u{fffd}"}), false)));
        assert_eq!(document(br#"{"a":"\ud83d x\\ud83d"}"#), Some((json!({"a": "\u{fffd} x\\ud83d"}), false)));
        assert_eq!(document(br#"{"a":"\ude00\ud83d\ude00"}"#), Some((json!({"a": "\u{fffd}\u{1f600}"}), false)));
        assert_eq!(document(br#"{"a":"\ud83d\ude00"}"#), Some((json!({"a": "\u{1f600}"}), true)));
    }

    #[test]
    fn a_thing_said_twice_or_too_exactly_is_never_passed_on_as_it_is() {
        assert_eq!(document(br#"{"a":{"b":1,"b":2}}"#), Some((json!({"a": {"b": 2}}), false)));
        let long = document(b"[12345678901234567890123456789]").unwrap();
        assert!(long.0.to_string().len() < 25 && !long.1);
        assert_eq!(document(br#"{"a":{"b":1},"b":2}"#), Some((json!({"a": {"b": 1}, "b": 2}), true)));
    }

    #[test]
    fn a_lost_line_is_known_by_its_beginning_or_its_end() {
        let lost = |head: &str, tail: &str| {
            Lost::of(&Ends { head: head.as_bytes().to_vec(), tail: tail.as_bytes().to_vec(), bytes: 1 << 30 })
        };
        assert_eq!(lost(r#"{"jsonrpc":"2.0","id":7,"result":{"a"#, "xxx"), Lost::Answer(json!(7)));
        assert_eq!(lost(r#" { "id" : "a\"b" , "result" : ["#, "xxx"), Lost::Answer(json!("a\"b")));
        assert_eq!(lost(r#"{"result":{"id":3,"a":[1,{"#, r#"]}]},"jsonrpc":"2.0","id":9}"#), Lost::Answer(json!(9)));
        assert_eq!(lost(r#"{"result":{"id":3},"id":4,"x":"a"#, "xxx"), Lost::Answer(json!(4)));
        assert_eq!(lost(r#"{"result":{"id":3,"a":"a"#, r#"a","id":5}}"#), Lost::Unknown);
        assert_eq!(lost(r#"{"result":"a"#, r#"a","x\"id":5}"#), Lost::Unknown);
        assert_eq!(lost(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"#, "xxx"), Lost::Nothing);
        assert_eq!(lost(r#"{"id":8,"method":"sampling/createMessage","params":{"#, "xxx"), Lost::Request(json!(8)));
        assert_eq!(lost("AAAA", r#""id":5}"#), Lost::Nothing);
        assert_eq!(lost("[{", "xxx"), Lost::Unknown);
    }

    #[test]
    fn messages_are_told_apart_by_their_fields() {
        let kind = |value: Value| kind(value.as_object().unwrap());
        assert_eq!(kind(json!({"id": 1, "method": "ping"})), Kind::Request);
        assert_eq!(kind(json!({"method": "ping"})), Kind::Notification);
        assert_eq!(kind(json!({"id": 1, "result": {}})), Kind::Answer);
        assert_eq!(kind(json!({"id": null, "error": {}})), Kind::Answer);
        assert_eq!(kind(json!({"level": "info"})), Kind::Other);
    }

    proptest! {
        #[test]
        fn no_line_breaks_the_reading_of_it(line in proptest::collection::vec(prop_oneof![
            any::<u8>(), proptest::sample::select(br#"{}[]",:\ud83id0 "#.to_vec())], 0..60)) {
            let _ = read(&line);
            let _ = Lost::of(&Ends::of(&line));
        }

        #[test]
        fn json_text_comes_through_the_repair_as_it_was(text in ".{0,30}") {
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(with_whole_pairs(&json), json);
        }
    }
}
