//! Documents and texts too large for a reply: cut, paged, or shrunk with their shape kept.
//!
//! All of it was revealed before. A cut must never tear a mask, a character or a binary, and a shrunk document must have
//! the type it had at every path that is left.

use serde_json::{Map, Value};

use super::{VisibleJson, binary};
use crate::cut::{self, Limits};
use crate::mask;
use crate::visible::{self, Visible};

/// The shortest a string is made, in bytes, without the note of what is missing: what an identifier, a date or a short
/// path needs.
const STRING_MIN: usize = 128;

/// A text that fits a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutText {
    /// The beginning, a line that says what is missing, and the end; or all of it.
    pub text: Visible,
    /// Whether anything is missing.
    pub cut: bool,
}

/// Cuts a text to its limits: head and tail, and between them a notice that says how much is not shown and where it is.
pub fn cut_text(text: &Visible, limits: &Limits) -> CutText {
    let done = cut::cut(text.as_str().to_owned(), None, limits);
    CutText { text: visible::seal(done.text), cut: done.cut }
}

/// A page of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its text.
    pub text: Visible,
    /// Where the next page begins, in bytes; `None` on the last one.
    pub next: Option<usize>,
}

/// The page of a text that begins at `from`, of at most `limit` bytes or one mask or character. It ends with a line if
/// there is one in its second half, else before a token if there is one. All pages one after the other are the text.
pub fn page(text: &Visible, from: usize, limit: usize) -> Page {
    let whole = text.as_str();
    let from = whole.floor_char_boundary(from);
    let rest = &whole[from..];
    let end = page_end(rest, limit);
    let next = (end < rest.len()).then_some(from + end);
    Page { text: visible::seal(rest[..end].to_owned()), next }
}

/// Where the first page of a text ends, as [`page`] cuts it: never 0, unless the text is empty.
pub fn page_end(text: &str, limit: usize) -> usize {
    if text.len() <= limit {
        return text.len();
    }
    let end = cut::head_end(text, limit);
    if end > 0 {
        return end;
    }
    let end = text.floor_char_boundary(limit).max(text.ceil_char_boundary(1));
    // A token is torn if it is longer than a page, a mask is not.
    match mask::mask_at(text, end) {
        Some((0, after)) => after,
        Some((start, _)) if start < end => start,
        _ => end,
    }
}

/// A document that fits, and what it had to give up.
#[derive(Clone, Debug, PartialEq)]
pub struct Shrunk {
    /// The document.
    pub value: VisibleJson,
    /// How many strings are shortened; each says how much of it is missing.
    pub strings_shortened: u64,
    /// How many elements of arrays are left out. They are the last ones of their arrays.
    pub elements_left_out: u64,
}

impl VisibleJson {
    /// How many bytes the document has, written without white space.
    pub fn bytes(&self) -> usize {
        let mut left = usize::MAX;
        Fit::WHOLE.measure(&self.0, &mut left);
        usize::MAX - left
    }

    /// Makes the document fit `limit` bytes, written without white space. Long strings are shortened, to the same length
    /// each, down to 128 bytes and a note; if that is not enough, every array loses its tail beyond a common length.
    /// Keys, numbers and binaries stay. `None` if even that does not fit.
    pub fn shrink(self, limit: usize) -> Option<Shrunk> {
        if Fit::WHOLE.fits(&self.0, limit) {
            return Some(Shrunk { value: self, strings_shortened: 0, elements_left_out: 0 });
        }
        let mut fit = Fit { strings: STRING_MIN, elements: usize::MAX };
        if !fit.fits(&self.0, limit) {
            // No array of which more elements than bytes fit.
            fit.elements = greatest(limit, |elements| Fit { elements, ..fit }.fits(&self.0, limit))?;
        }
        let least = STRING_MIN;
        let more =
            greatest(limit.saturating_sub(least), |more| Fit { strings: least + more, ..fit }.fits(&self.0, limit))?;
        fit.strings = least + more;
        let mut shrunk = Shrunk { value: VisibleJson(Value::Null), strings_shortened: 0, elements_left_out: 0 };
        shrunk.value = VisibleJson(fit.apply(self.0, &mut shrunk));
        Some(shrunk)
    }
}

/// The greatest number up to `most` for which something holds, if it holds for 0. Where it does not hold for all below,
/// one for which it does.
fn greatest(most: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    if !holds(0) {
        return None;
    }
    let (mut good, mut bad) = (0, most.saturating_add(1));
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if holds(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Some(good)
}

/// How much of each string and each array is left.
#[derive(Clone, Copy)]
struct Fit {
    /// Bytes, without the note.
    strings: usize,
    elements: usize,
}

impl Fit {
    const WHOLE: Self = Self { strings: usize::MAX, elements: usize::MAX };

    fn fits(self, value: &Value, limit: usize) -> bool {
        let mut left = limit;
        self.measure(value, &mut left).is_some()
    }

    /// Takes the size of a document from `left`. `None`, early, if it does not fit.
    fn measure(self, value: &Value, left: &mut usize) -> Option<()> {
        match value {
            Value::String(text) => match self.shortened(text) {
                Some(short) => take(left, quoted(&short, *left)?),
                None => take(left, quoted(text, *left)?),
            },
            Value::Array(values) => {
                let shown = values.len().min(self.elements);
                take(left, 2 + shown.saturating_sub(1))?;
                values[..shown].iter().try_for_each(|value| self.measure(value, left))
            }
            Value::Object(members) => {
                take(left, 2 + members.len().saturating_sub(1))?;
                members.iter().try_for_each(|(key, value)| {
                    let name = quoted(key, *left)?;
                    take(left, name + 1)?;
                    self.whole_if_binary(members, key, value).measure(value, left)
                })
            }
            Value::Bool(true) | Value::Null => take(left, 4),
            Value::Bool(false) => take(left, 5),
            Value::Number(number) => take(left, number.to_string().len()),
        }
    }

    /// A document of which as much is left.
    fn apply(self, value: Value, tally: &mut Shrunk) -> Value {
        match value {
            Value::String(text) => match self.shortened(&text) {
                Some(short) => {
                    tally.strings_shortened += 1;
                    Value::String(short)
                }
                None => Value::String(text),
            },
            Value::Array(mut values) => {
                let shown = values.len().min(self.elements);
                tally.elements_left_out += (values.len() - shown) as u64;
                values.truncate(shown);
                values.into_iter().map(|value| self.apply(value, tally)).collect()
            }
            Value::Object(mut members) => {
                let keys: Vec<bool> =
                    members.iter().map(|(key, value)| binary::of(&members, key, value).is_some()).collect();
                let taken = std::mem::take(&mut members);
                let shrunk = taken.into_iter().zip(keys).map(|((key, value), binary)| {
                    let value = if binary { value } else { self.apply(value, tally) };
                    (key, value)
                });
                Value::Object(shrunk.collect())
            }
            other => other,
        }
    }

    fn whole_if_binary(self, members: &Map<String, Value>, key: &str, value: &Value) -> Self {
        if binary::of(members, key, value).is_some() { Self { strings: usize::MAX, ..self } } else { self }
    }

    /// The beginning of a string and a note of what is missing. `None` if it stays.
    fn shortened(self, text: &str) -> Option<String> {
        if text.len() <= self.strings {
            return None;
        }
        let end = cut::back(text, self.strings);
        // Where a string changes, its lines end with newlines alone.
        let kept = text[..end].replace('\r', "");
        let short = format!("{kept}[... {} not shown]", cut::size((text.len() - end) as u64));
        (short.len() < text.len()).then_some(short)
    }
}

fn take(left: &mut usize, bytes: usize) -> Option<()> {
    *left = left.checked_sub(bytes)?;
    Some(())
}

/// How many bytes a string has in JSON, quotes and escapes included. `None` if more than `most`.
fn quoted(text: &str, most: usize) -> Option<usize> {
    if text.len() > most {
        return None;
    }
    let escapes = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
        0..0x20 => 5,
        _ => 0,
    });
    Some(text.len() + 2 + escapes.sum::<usize>())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn shrunk(value: &Value, limit: usize) -> Option<Shrunk> {
        VisibleJson(value.clone()).shrink(limit)
    }

    /// A revealed document with long strings and arrays.
    fn large() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            "[a-zé \"\n]{0,40}",
            ("([a-z]{1,9} |α|\\[REDACTED:rule\\]){1,5}", 0_usize..80).prop_map(|(piece, times)| piece.repeat(times)),
            "[a-z]{200,400}",
        ];
        let leaf = prop_oneof![any::<u32>().prop_map(Value::from), Just(Value::Null), text.prop_map(Value::from)];
        leaf.prop_recursive(3, 60, 12, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
                proptest::collection::vec(("[a-z]{1,6}", inner), 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    /// Whether every path of the smaller document leads to the same type in the larger one, and members are all there.
    fn same_types(small: &Value, large: &Value) -> bool {
        match (small, large) {
            (Value::Array(small), Value::Array(large)) => {
                small.len() <= large.len() && small.iter().zip(large).all(|(small, large)| same_types(small, large))
            }
            (Value::Object(small), Value::Object(large)) => {
                small.keys().eq(large.keys())
                    && small.values().zip(large.values()).all(|(small, large)| same_types(small, large))
            }
            (Value::String(small), Value::String(large)) => {
                let kept = small.rfind("[... ").map_or(small.as_str(), |note| &small[..note]);
                small == large || large.starts_with(kept) && small.ends_with(" not shown]")
            }
            (small, large) => small == large,
        }
    }

    fn no_torn_mask(value: &Value) -> bool {
        match value {
            Value::String(text) => {
                text.match_indices("[REDACTED").all(|(at, _)| text[at..].starts_with("[REDACTED:rule]"))
                    && !text.trim_start_matches("[REDACTED:rule]").starts_with("REDACTED")
            }
            Value::Array(values) => values.iter().all(no_torn_mask),
            Value::Object(members) => members.values().all(no_torn_mask),
            _ => true,
        }
    }

    #[test]
    fn a_document_that_fits_is_not_touched() {
        let value = json!({"a": ["x", 1]});
        let out = shrunk(&value, 13).unwrap();
        assert_eq!((out.value.as_value(), out.strings_shortened, out.elements_left_out), (&value, 0, 0));
        assert_eq!(VisibleJson(value).bytes(), 13);
    }

    #[test]
    fn long_strings_give_first_and_short_ones_stay() {
        let value = json!({"id": "abc", "text": "word ".repeat(1000), "list": [1, 2, 3]});
        let out = shrunk(&value, 1000).unwrap();
        let shown = out.value.as_value();
        assert_eq!((&shown["id"], &shown["list"]), (&json!("abc"), &json!([1, 2, 3])));
        let text = shown["text"].as_str().unwrap();
        assert!(text.len() > 900 && text.ends_with("word [... 3.9 KiB not shown]"), "{text}");
        assert_eq!((out.strings_shortened, out.elements_left_out), (1, 0));
    }

    #[test]
    fn arrays_lose_their_tails_where_strings_are_not_enough() {
        let value = json!({"rows": (0..1000).map(|n| json!({"n": n})).collect::<Vec<_>>()});
        let out = shrunk(&value, 500).unwrap();
        let rows = out.value.as_value()["rows"].as_array().unwrap();
        assert!(rows.len() > 40, "{}", rows.len());
        assert_eq!(rows[40], json!({"n": 40}));
        assert_eq!(out.elements_left_out, 1000 - rows.len() as u64);
    }

    #[test]
    fn what_cannot_be_made_smaller_is_none() {
        assert_eq!(shrunk(&json!({"a": 1, "b": 2}), 12), None);
        assert_eq!(shrunk(&json!({"type": "image", "data": "A".repeat(1000)}), 500), None);
        assert_eq!(shrunk(&json!("x".repeat(1000)), 4), None);
    }

    #[test]
    fn a_large_document_is_shrunk_in_time() {
        let text = json!("a line of a text\n".repeat(300_000));
        let rows: Value = (0..100_000).map(|n| json!({"n": n, "text": "some \"words\""})).collect();
        let value = json!({"text": text, "rows": rows});
        let begun = std::time::Instant::now();
        let out = shrunk(&value, 50_000).unwrap();
        assert!(out.value.bytes() <= 50_000);
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    }

    #[test]
    fn a_text_is_cut_with_a_notice_and_lines_end_as_they_do_in_text() {
        let mut value = VisibleJson(json!({"content": [{"text": "one line\r\n".repeat(100)}]}));
        let text = value.text("/content/0/text").unwrap();
        assert_eq!(text.as_str(), "one line\n".repeat(100));
        let out = cut_text(&text, &Limits { reply_bytes: 90, rest: Some("page it".to_owned()) });
        assert!(
            out.cut && out.text.as_str().contains("90 lines (5-94), 810 B not shown; the rest: page it]"),
            "{}",
            out.text
        );
        assert!(value.set_text("/content/0/text", out.text.clone()));
        assert_eq!(value.text("/content/0/text"), Some(out.text));
        assert!(!value.set_text("/content", Visible::empty()));
        assert_eq!(value.part("/content/0/nothing"), None);
    }

    proptest! {
        #[test]
        fn a_shrunk_document_fits_and_keeps_its_types(value in large(), limit in 0_usize..3000) {
            let bytes = value.to_string().len();
            prop_assert_eq!(VisibleJson(value.clone()).bytes(), bytes);
            match shrunk(&value, limit) {
                Some(out) => {
                    let text = out.value.as_value().to_string();
                    prop_assert!(text.len() <= limit);
                    prop_assert!(same_types(out.value.as_value(), &value), "{}", text);
                    prop_assert!(no_torn_mask(out.value.as_value()), "{}", text);
                    let changed = out.strings_shortened + out.elements_left_out > 0;
                    prop_assert_eq!(changed, out.value.as_value() != &value);
                    prop_assert!(!changed || bytes > limit);
                }
                None => {
                    let least = Fit { strings: STRING_MIN, elements: 0 };
                    prop_assert!(!least.fits(&value, limit));
                }
            }
        }

        #[test]
        fn all_pages_are_the_text(text in "([a-z]{1,30}|\\[REDACTED:rule\\]|[ \n]|αé){0,60}", limit in 1_usize..80) {
            let text = visible::seal(text);
            let mut from = 0;
            let mut all = String::new();
            loop {
                let page = page(&text, from, limit);
                prop_assert!(page.text.len() <= limit.max("[REDACTED:rule]".len()));
                prop_assert!(no_torn_mask(&Value::from(page.text.as_str())), "{:?}", page.text);
                all.push_str(page.text.as_str());
                let Some(next) = page.next else { break };
                prop_assert!(next > from);
                from = next;
            }
            prop_assert_eq!(all, text.as_str());
        }
    }
}
