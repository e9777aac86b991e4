//! A string that is itself JSON: taken apart where it stands, so that what is not masked keeps its every byte.
//!
//! It reads only text a JSON parser has accepted, and must never tell two readings of it apart: members of one name are
//! all read, numbers are never parsed.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::IgnoredAny;

/// A piece of a JSON text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// `{` or `[`.
    Open {
        /// Whether it is `{`.
        object: bool,
    },
    /// `}` or `]`.
    Close,
    /// `,`
    Comma,
    /// `:`
    Colon,
    /// A string: where it stands with its quotes.
    String(Range<usize>),
    /// A number, `true`, `false` or `null`: where it stands.
    Scalar(Range<usize>),
}

/// Whether a text is a JSON object or array. What looks like neither at its ends is not parsed.
pub(super) fn is_document(text: &str) -> bool {
    let text = text.trim_matches(is_space);
    let framed = matches!(text.as_bytes(), [b'{', .., b'}'] | [b'[', .., b']']);
    framed && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn is_space(char: char) -> bool {
    matches!(char, ' ' | '\n' | '\r' | '\t')
}

/// The pieces of a JSON text in order.
pub(super) struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, at: 0 }
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let bytes = self.text.as_bytes();
        self.at += bytes[self.at..].iter().take_while(|&&byte| is_space(char::from(byte))).count();
        let from = self.at;
        let first = *bytes.get(from)?;
        self.at += 1;
        Some(match first {
            b'{' | b'[' => Token::Open { object: first == b'{' },
            b'}' | b']' => Token::Close,
            b',' => Token::Comma,
            b':' => Token::Colon,
            b'"' => {
                while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[self.at..]) {
                    let at = self.at + found;
                    if bytes[at] == b'"' {
                        self.at = at + 1;
                        return Some(Token::String(from..self.at));
                    }
                    self.at = bytes.len().min(at + 2);
                }
                self.at = bytes.len();
                Token::String(from..self.at)
            }
            _ => {
                let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']') || is_space(char::from(*byte));
                let rest = &bytes[self.at..];
                self.at += rest.iter().position(ends).unwrap_or(rest.len());
                Token::Scalar(from..self.at)
            }
        })
    }
}

/// What a string says, quotes given. Half of a surrogate pair is U+FFFD: parsers that let it through disagree about it.
pub(super) fn unescaped(quoted: &str) -> Cow<'_, str> {
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    let Some(first) = memchr::memchr(b'\\', inner.as_bytes()) else { return Cow::Borrowed(inner) };
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    let mut next = Some(first);
    while let Some(at) = next {
        out.push_str(&rest[..at]);
        rest = escape(&rest[at + 1..], &mut out);
        next = memchr::memchr(b'\\', rest.as_bytes());
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Decodes one escape, its backslash already read, and gives what follows.
fn escape<'a>(text: &'a str, out: &mut String) -> &'a str {
    let mut chars = text.chars();
    match chars.next() {
        Some('b') => out.push('\u{8}'),
        Some('f') => out.push('\u{c}'),
        Some('n') => out.push('\n'),
        Some('r') => out.push('\r'),
        Some('t') => out.push('\t'),
        Some('u') => {
            let after = text.get(5..).unwrap_or_default();
            let unit = unit(text.get(1..5));
            // The second half of a pair, if the first is one.
            let low = after.strip_prefix("\\u").and_then(|low| unit_in(0xdc00, 0xe000, low.get(..4)));
            return match (unit, low) {
                (Some(high @ 0xd800..=0xdbff), Some(low)) => {
                    let code = 0x1_0000 + ((u32::from(high) - 0xd800) << 10) + (u32::from(low) - 0xdc00);
                    out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                    after.get(6..).unwrap_or_default()
                }
                (unit, _) => {
                    let char = unit.and_then(|unit| char::from_u32(u32::from(unit)));
                    out.push(char.unwrap_or(char::REPLACEMENT_CHARACTER));
                    after
                }
            };
        }
        Some(char) => out.push(char),
        None => {}
    }
    chars.as_str()
}

fn unit(digits: Option<&str>) -> Option<u16> {
    u16::from_str_radix(digits?, 16).ok()
}

fn unit_in(from: u16, until: u16, digits: Option<&str>) -> Option<u16> {
    unit(digits).filter(|unit| (from..until).contains(unit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn only_objects_and_arrays_are_documents() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        for text in ["{}", " [1, {\"a\": null}]\r\n", "{\"a\":\"\\ud800\"}", &deep] {
            assert!(is_document(text), "{text}");
        }
        for text in ["", "{", "\"a\"", "1", "[REDACTED:rule]", "[1 2]", "{a: 1}", "{} {}", "[1] and [2]"] {
            assert!(!is_document(text), "{text}");
        }
    }

    #[test]
    fn escapes_become_what_they_stand_for() {
        for (quoted, plain) in [
            (r#""""#, ""),
            (r#""a\"b\\c\/d""#, "a\"b\\c/d"),
            (r#""\b\f\n\r\t""#, "\u{8}\u{c}\n\r\t"),
            (r#""\u0041\u00e9\u4e2dx""#, "Aé中x"),
            (r#""\ud83d\ude00!""#, "😀!"),
            (r#""\ud83d!""#, "\u{fffd}!"),
            (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83d\u0041""#, "\u{fffd}A"),
        ] {
            assert_eq!(unescaped(quoted), plain, "{quoted}");
        }
    }

    #[test]
    fn members_of_one_name_are_all_read() {
        let strings: Vec<Range<usize>> = Tokens::of(r#"{"a":"x","a":"y"}"#)
            .filter_map(|token| if let Token::String(at) = token { Some(at) } else { None })
            .collect();
        assert_eq!(strings, [1..4, 5..8, 9..12, 13..16]);
    }

    proptest! {
        #[test]
        fn a_string_is_read_as_a_parser_reads_it(text in any::<String>(), ascii in any::<bool>()) {
            let mut quoted = serde_json::to_string(&text).unwrap();
            if ascii {
                let units = |char: char| char.encode_utf16(&mut [0; 2]).iter().map(|u| format!("\\u{u:04X}")).collect();
                quoted = quoted.chars().map(|c| if c.is_ascii() { c.to_string() } else { units(c) }).collect();
            }
            prop_assert_eq!(unescaped(&quoted), text.as_str());
            prop_assert_eq!(Tokens::of(&quoted).collect::<Vec<_>>(), vec![Token::String(0..quoted.len())]);
        }

        #[test]
        fn the_pieces_of_a_document_are_the_document(value in super::super::tests::documents(), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
            let mut out = String::new();
            for token in Tokens::of(&text) {
                match token {
                    // What kind it is, is the parser's business; here all are written as arrays of arrays.
                    Token::Open { object } => out.push(if object { '{' } else { '[' }),
                    Token::Close => out.push('>'),
                    Token::Comma => out.push(','),
                    Token::Colon => out.push(':'),
                    Token::String(at) | Token::Scalar(at) => out.push_str(&text[at]),
                }
            }
            let compact = serde_json::to_string(&value).unwrap();
            // Closing brackets inside strings are compared too: both sides are mapped alike.
            prop_assert_eq!(out.replace(['}', ']'], ">"), compact.replace(['}', ']'], ">"));
            prop_assert_eq!(serde_json::from_str::<Value>(&compact).unwrap(), value);
        }
    }
}
