//! One secret in every place of a document, and what must stay as it is.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::policy::{Findings, Span, Window};
use crate::reveal::fakes::{Fake, clear, context, is_private, leak, trouble};

/// Strings with what must be masked and what must be cleaned.
fn texts() -> impl Strategy<Value = String> + Clone {
    prop_oneof![
        "[a-c\"\\\\\n\tαβγ ]{0,12}",
        "(a|α|\r\n|\r|\u{1b}\\[31m|\u{200b}|\u{e0041}|\u{0}|\\[REDACTED:x\\]|\\{|\\}|é){0,6}",
        Just("αβγ".to_owned()),
    ]
}

/// Any document, keys like any string.
pub(super) fn documents() -> impl Strategy<Value = Value> {
    with_keys(texts())
}

/// Any document with such keys; its strings may be documents too.
fn with_keys(keys: impl Strategy<Value = String> + Clone + 'static) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|halves| Value::from(f64::from(halves) / 2.0)),
        texts().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((keys.clone(), inner.clone()), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
            inner.clone().prop_map(|value| Value::from(value.to_string())),
            inner.prop_map(|value| Value::from(format!(" {value:#}\n"))),
        ]
    })
}

/// Masks every row of private letters.
fn letters() -> Fake {
    Fake::new(|window| Ok(spans_of(window.text)))
}

fn spans_of(text: &str) -> Findings {
    let mut findings = clear(text.len());
    let mut from = None;
    for (at, char) in text.char_indices().chain([(text.len(), ' ')]) {
        match (from, is_private(char)) {
            (None, true) => from = Some(at),
            (Some(start), false) => {
                findings.spans.push(Span { start, end: at, rule: "letters".to_owned() });
                from = None;
            }
            _ => {}
        }
    }
    findings
}

/// Masks what follows a pattern up to the end of its line, or another pattern.
fn behind(start: &'static str, end: &'static str) -> Fake {
    Fake::new(move |window| {
        let mut findings = clear(window.text.len());
        for (at, _) in window.text.match_indices(start) {
            let from = at + start.len();
            let len = window.text[from..].find(end).unwrap_or(window.text.len() - from);
            findings.spans.push(Span { start: from, end: from + len, rule: "rule".to_owned() });
        }
        Ok(findings)
    })
}

fn revealed(policy: &Fake, value: &Value) -> RevealedJson {
    reveal_json(policy, &context(), value.clone(), &ExactValues::default()).unwrap()
}

fn shown(policy: &Fake, value: &Value) -> Value {
    revealed(policy, value).value.into_value()
}

/// Every string of a document, keys included, documents in strings opened.
fn strings(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            out.push(text.clone());
            if let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                strings(&inner, out);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| strings(value, out)),
        Value::Object(members) => {
            for (key, value) in members {
                out.push(key.clone());
                strings(value, out);
            }
        }
        _ => {}
    }
}

/// The same document with nothing left of its strings and keys.
fn shape(value: &Value) -> Value {
    match value {
        Value::String(_) => Value::from(""),
        Value::Array(values) => values.iter().map(shape).collect(),
        Value::Object(members) => members.values().map(|value| json!(["member", shape(value)])).collect(),
        other => other.clone(),
    }
}

#[test]
fn a_secret_is_masked_in_every_place_of_a_message() {
    let nested = json!({"deep": ["key αβγδ end"]}).to_string();
    let twice = json!({"again": nested, "n": 1.50}).to_string();
    let value = json!({
        "content": [
            {"type": "text", "text": "one αβγδ two"},
            {"type": "text", "text": nested},
            {"type": "text", "text": format!("  {twice}\n")},
            {"type": "text", "text": "split α\u{1b}[31mβ\u{1b}[0mγδ, α\u{200b}βγδ, αβ\u{e0041}γδ"},
            {"type": "text", "text": r#"{"a": "\u03b1\u03b2\u03b3\u03b4"}"#},
            {"type": "resource", "resource": {"uri": "file:///αβγδ", "mimeType": "text/plain", "text": "αβγδ"}},
            {"type": "resource", "resource": {"uri": "file:///x", "blob": "zrHOss6zzrQ="}},
            {"type": "resource_link", "uri": "x://y", "name": "αβγδ"},
        ],
        "structuredContent": {"deep": {"er": ["a", "αβγδ", {"αβγδ": 1, "x-αβγδ": 2}]}},
        "_meta": {"trace": "αβγδ"},
        "error": {"code": -32000, "message": "not αβγδ", "data": {"why": ["αβγδ"]}},
        "progress": {"progressToken": 7, "progress": 0.5, "message": "at αβγδ"},
        "log": [{"level": "info", "data": "αβγδ"}, {"level": "info", "data": {"event": {"id": "αβγδ"}}}],
    });
    let out = revealed(&letters(), &value);
    let mut all = Vec::new();
    strings(out.value.as_value(), &mut all);
    for text in &all {
        assert_eq!(leak(text), None, "{text:?}");
    }
    assert_eq!(shape(out.value.as_value()), shape(&value));
    assert!(out.changed);
    let mask = "[REDACTED:letters]";
    let shown = out.value.as_value();
    assert_eq!(shown["content"][0]["text"], json!(format!("one {mask} two")));
    assert_eq!(shown["content"][1]["text"], json!(format!(r#"{{"deep":["key {mask} end"]}}"#)));
    let inner = format!(r#"{{\"deep\":[\"key {mask} end\"]}}"#);
    assert_eq!(shown["content"][2]["text"], json!(format!("  {{\"again\":\"{inner}\",\"n\":1.5}}\n")));
    assert_eq!(shown["content"][3]["text"], json!(format!("split {mask}, {mask}, {mask}")));
    assert_eq!(shown["content"][6]["resource"]["blob"], json!("W1JFREFDVEVEOmxldHRlcnNd"));
    assert_eq!(shown["structuredContent"]["deep"]["er"][2], json!({mask: 1, (format!("x-{mask}")): 2}));
    // What was counted is what stands there: sixteen strings of which one has three, and two keys.
    assert_eq!(out.report.redactions, BTreeMap::from([("letters".to_owned(), 20)]));
    assert_eq!(out.report.generation, 7);
}

#[test]
fn a_value_is_seen_behind_its_key() {
    for key in ["\"password\": \"", "password: "] {
        let policy = behind(key, if key.ends_with('"') { "\"" } else { "\n" });
        assert_eq!(shown(&policy, &json!({"password": "hunter2"})), json!({"password": "[REDACTED:rule]"}));
        let list = json!([{"password": ["hunter2", "b"]}]);
        let expected = if key.ends_with('"') { list.clone() } else { json!([{"password": ["[REDACTED:rule]", "b"]}]) };
        assert_eq!(shown(&policy, &list), expected);
        let inside = json!({"text": "{\"password\": \"hunter2\"}"});
        assert_eq!(shown(&policy, &inside), json!({"text": "{\"password\": \"[REDACTED:rule]\"}"}));
    }
}

#[test]
fn a_value_over_several_lines_is_one_text() {
    let pem = "see:\n-----BEGIN\nαβγ\nδεζ\nEND-----\nthat";
    let out = shown(&behind("-----BEGIN", "END-----"), &json!({"text": pem}));
    let text = out["text"].as_str().unwrap();
    assert_eq!(leak(text), None);
    assert_eq!(text.lines().count(), pem.lines().count());
    let quoted = behind("\"password\": \"", "\"");
    assert_eq!(shown(&quoted, &json!({"password": "one\ntwo\t\\"})), json!({"password": "[REDACTED:rule]\n"}));
}

#[test]
fn an_escaped_newline_is_no_part_of_a_place() {
    // To this redactor, which knows white space, an escaped newline is none.
    let policy = Fake::new(|window| {
        let mut findings = clear(window.text.len());
        for (at, _) in window.text.match_indices("-p ") {
            let end = window.text[at + 3..].find([' ', '\n', '"']).map_or(window.text.len(), |len| at + 3 + len);
            findings.spans.push(Span { start: at + 3, end, rule: "rule".to_owned() });
        }
        Ok(findings)
    });
    let out = shown(&policy, &json!({"text": "login -p a\nrun"}));
    assert_eq!(out, json!({"text": "login -p [REDACTED:rule]\nrun"}));
}

#[test]
fn printed_text_in_a_string_stands_at_the_beginning_of_a_line() {
    let policy = behind("\nTOKEN=", "\n");
    assert_eq!(shown(&policy, &json!({"text": "TOKEN=a b"})), json!({"text": "TOKEN=[REDACTED:rule]"}));
}

#[test]
fn the_end_of_a_value_longer_than_its_copy_goes_with_it() {
    let long = format!("{}αβγ", "x".repeat(100_000));
    let quoted = behind("\"password\": \"", "\"");
    assert_eq!(shown(&quoted, &json!({"password": long})), json!({"password": "[REDACTED:rule]"}));
    let line = behind("password: ", "\n");
    let out = shown(&line, &json!({"password": format!("{long}\nmore")}));
    assert_eq!(out, json!({"password": "[REDACTED:rule]\nmore"}));
}

#[test]
fn a_place_across_strings_masks_its_part_of_each() {
    let policy = behind("BEGIN", "END");
    let out = shown(&policy, &json!({"a": "x BEGIN y", "n": 5, "b": "z END w"}));
    assert_eq!(out, json!({"a": "x BEGIN[REDACTED:rule]", "n": 5, "b": "[REDACTED:rule]END w"}));
}

#[test]
fn numbers_and_structure_stay_whatever_is_said_of_them() {
    let value = json!({"pin": 123_456, "ok": true, "none": null, "big": 1.0e300, "list": []});
    let out = revealed(&behind("\"pin\": ", "\n"), &value);
    assert_eq!(out.value.as_value(), &value);
    assert!(!out.changed && out.report.redactions.is_empty());
}

#[test]
fn numbers_in_a_document_in_a_string_are_text() {
    let policy = behind("\"pin\": ", "\n");
    let out = shown(&policy, &json!({"text": "{\"pin\": 123456,\"n\": 1.50, \"ok\":true}", "pin": 123_456}));
    let expected = "{\"pin\": \"[REDACTED:rule]\",\"n\": 1.50, \"ok\":true}";
    assert_eq!(out, json!({"text": expected, "pin": 123_456}));
}

#[test]
fn a_place_that_fits_nowhere_becomes_one_in_the_last_string() {
    let policy = Fake::new(|window| {
        let mut findings = clear(window.text.len());
        findings.spans.push(Span { start: usize::MAX, end: usize::MAX, rule: "rule".to_owned() });
        Ok(findings)
    });
    let out = shown(&policy, &json!({"a": "one", "b": "two\nthree", "c": 3}));
    assert_eq!(out, json!({"a": "one", "b": "two\n[REDACTED:rule]", "c": 3}));
}

#[test]
fn masked_keys_stay_apart() {
    let value = json!({"αα": 1, "ββ": 2, "[REDACTED:letters]": 3, "plain": {"ββ": 4, "a\u{200b}": 5, "a": 6}});
    let mask = "[REDACTED:letters]";
    let first = format!("{mask} (2)");
    let second = format!("{mask} (3)");
    let out = shown(&letters(), &value);
    assert_eq!(out, json!({(&*first): 1, (&*second): 2, mask: 3, "plain": {(&*second): 4, "a (2)": 5, "a": 6}}));
    let keys: Vec<&String> = out.as_object().unwrap().keys().collect();
    assert_eq!(keys, [&first, &second, mask, "plain"]);
    let inside = json!({"text": "{\"αα\": 1, \"ββ\" : 2}"});
    let expected = format!("{{\"{mask}\": 1, \"{mask} (2)\" : 2}}");
    assert_eq!(shown(&letters(), &inside), json!({"text": expected}));
}

#[test]
fn binaries_pass_whole_and_text_that_claims_to_be_one_does_not() {
    // Private letters are not base64, so this policy looks for others.
    let policy = behind("SECRET", "\n");
    let value = json!([
        {"type": "image", "mimeType": "image/png", "data": "aSECRETa"},
        {"data": "aSECRETa", "type": "audio"},
        {"uri": "x", "blob": "gICASECRETaa"},
    ]);
    assert_eq!(shown(&policy, &value), value);
    let texts = |image: &str, other: &str| json!([{"type": "image", "data": image}, {"type": "x", "data": other}, {"blob": other}]);
    let expected = texts("not base64, SECRET[REDACTED:rule]", "SECRET[REDACTED:rule]");
    assert_eq!(shown(&policy, &texts("not base64, SECRETa", "SECRETa")), expected);
}

#[test]
fn a_blob_without_a_finding_keeps_its_bytes_however_odd_they_are() {
    use base64::Engine as _;
    for bytes in [&b"\x1b[31mred"[..], b"\xef\xbb\xbfbom\r\n", b"a\0b", b"\xff\xfe", b"", b"{\"a\xe2\x80\x8b\": 1}"] {
        let value = json!({"uri": "x", "blob": base64::engine::general_purpose::STANDARD.encode(bytes)});
        assert_eq!(revealed(&letters(), &value).value.as_value(), &value);
    }
}

#[test]
fn known_values_are_found_in_every_form_and_named() {
    let exact = ExactValues::new([("TOKEN".to_owned(), "hunter2-hunter2".to_owned())]);
    let value = json!({
        "plain": "a hunter2-hunter2 b",
        "base64": "aHVudGVyMi1odW50ZXIy",
        "url": "x?y=hunter2%2Dhunter2",
        "split": "hunter2\u{200b}-hunter2",
        "hunter2-hunter2": [r#"{"x": "hunter2\u002dhunter2"}"#],
        "overwritten": "hunter2\r-hunter2\r\r\n",
    });
    let out = reveal_json(&Fake::nothing(), &context(), value, &exact).unwrap();
    let text = out.value.as_value().to_string();
    assert!(!text.contains("hunter2-hunter2") && !text.contains("aHVudGVy") && !text.contains("u002d"), "{text}");
    assert_eq!(out.value.as_value()["plain"], json!("a [REDACTED:env:TOKEN] b"));
    assert!(out.value.as_value()["[REDACTED:env:TOKEN]"].is_array());
}

#[test]
fn what_needs_no_change_keeps_its_every_byte() {
    let nested = " {\"big\": 123456789012345678901234567890.10, \"a\": 1, \"a\": 2e5, \"x\": \"\\u0041\\/\"}\r\n";
    let value = json!({"text": nested, "lines": "one\r\ntwo\r\n", "z": "", "a": {}, "b": []});
    let out = revealed(&letters(), &value);
    assert_eq!(out.value.as_value(), &value);
    assert!(!out.changed);
    // What changes is replaced where it stands: numbers and twins around it keep theirs.
    let secret = nested.replace("\\u0041", "\\u03b1");
    let masked = nested.replace("\\u0041\\/", "[REDACTED:letters]/");
    assert_eq!(shown(&letters(), &json!(secret)), json!(masked));
    assert_eq!(shown(&letters(), &json!("one\r\nα\r\n")), json!("one\n[REDACTED:letters]\n"));
    assert_eq!(
        shown(&letters(), &json!({"text": "{\"a\": \"α\", \"a\": 1}"}))["text"],
        json!("{\"a\": \"[REDACTED:letters]\", \"a\": 1}")
    );
}

#[test]
fn an_existing_mask_stays() {
    let value = json!({"password": "[REDACTED:other]", "text": "a [REDACTED:other] b"});
    let out = revealed(&behind("password: ", "\n"), &value);
    assert_eq!(out.value.as_value(), &value);
    assert!(!out.changed && out.report.redactions.is_empty());
}

#[test]
fn without_an_answer_nothing_is_shown_not_even_counts() {
    for value in [json!({"a": "αβγ"}), json!(5), json!({}), json!("")] {
        let withheld = reveal_json(&Fake::failing(), &context(), value, &ExactValues::default()).unwrap_err();
        assert_eq!(withheld.notice.as_str(), "[output withheld: fake: trap]");
        assert_eq!(withheld.report.withheld, Some(trouble()));
        assert!(withheld.report.redactions.is_empty());
    }
}

#[test]
fn a_document_is_one_question() {
    let value: Value = (0..500).map(|n| json!({"id": n, "name": "a name"})).collect();
    let policy = Fake::nothing();
    revealed(&policy, &value);
    assert_eq!(policy.asked.load(Ordering::Relaxed), 1);
}

#[test]
fn the_text_grows_with_the_document_alone() {
    let key = "k".repeat(100_000);
    let many = Value::from(vec!["aaaa"; 50_000]);
    let mut deep = json!("\"");
    for _ in 0..14 {
        deep = json!([deep.to_string()]);
    }
    let brackets = Value::from("[".repeat(100_000) + &"]".repeat(100_000));
    for value in [json!({(&*key): many}), deep, brackets, Value::from("x".repeat(1 << 20)), json!({"k": many})] {
        let bytes = value.to_string().len();
        let policy = Fake::new(move |window: &Window<'_>| {
            assert!(window.text.len() <= 4 * bytes + 200, "{} of {bytes}", window.text.len());
            Ok(clear(window.text.len()))
        });
        assert!(!revealed(&policy, &value).changed);
    }
}

#[test]
fn many_findings_in_many_strings_cost_no_more_than_their_number() {
    // What grew with the square of the number would take minutes.
    let rows: Value = (0..20_000).map(|n| json!({"α": "x αβγ y", (format!("k{n}α")): n})).collect();
    let value = json!({"rows": rows, "text": "αβγ ".repeat(100_000), "lines": "αβγ\n".repeat(100_000)});
    let begun = std::time::Instant::now();
    let out = revealed(&letters(), &value);
    assert_eq!(out.report.redactions["letters"], 200_000 + 20_000 + 20_001);
    assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{:?}", begun.elapsed());
}

#[test]
fn what_lies_too_deep_is_looked_at_as_text() {
    let mut deep = json!({"a": "αβγ"});
    for _ in 0..10 {
        deep = json!([deep.to_string()]);
    }
    let text = shown(&letters(), &deep).to_string();
    assert_eq!(leak(&text), None);
    assert!(text.contains("[REDACTED:letters]"));
}

proptest! {
    #[test]
    fn no_secret_is_left_and_the_shape_stays(value in documents()) {
        let out = revealed(&letters(), &value);
        let shown = out.value.as_value();
        prop_assert_eq!(shape(shown), shape(&value));
        prop_assert_eq!(out.changed, shown != &value);
        let mut all = Vec::new();
        strings(shown, &mut all);
        for text in &all {
            prop_assert_eq!(leak(text), None, "{:?}", text);
            let dirty = text.replace("\r\n", "\n").chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t'));
            prop_assert!(!dirty, "{:?}", text);
        }
        let masks = all.iter().any(|text| text.contains("[REDACTED:letters]"));
        prop_assert_eq!(masks, out.report.redactions.contains_key("letters"));
        prop_assert_eq!(&serde_json::from_str::<Value>(&shown.to_string()).unwrap(), shown);
    }

    #[test]
    fn what_was_revealed_once_comes_back_as_it_is(value in documents()) {
        let once = revealed(&letters(), &value).value.into_value();
        let again = revealed(&letters(), &once);
        prop_assert_eq!(again.value.as_value(), &once);
        prop_assert!(!again.changed);
    }

    #[test]
    fn a_place_in_any_part_of_the_text_is_masked(value in with_keys("[a-c]{0,3}"), nth in 0_usize..40) {
        let letter = move |text: &str| {
            text.char_indices().filter(|(_, char)| is_private(*char)).nth(nth).map(|(at, _)| at)
        };
        let policy = Fake::new(move |window| {
            let mut findings = clear(window.text.len());
            findings.spans.extend(letter(window.text).map(|at| Span { start: at, end: at + 1, rule: "rule".to_owned() }));
            Ok(findings)
        });
        let out = revealed(&policy, &value);
        prop_assert_eq!(shape(out.value.as_value()), shape(&value));
        // A letter of a document in a string is counted with every string it lies in, and overwritten lines ask again.
        let many = |value: &Value| {
            let mut all = Vec::new();
            strings(value, &mut all);
            all.concat().chars().filter(|char| is_private(*char)).count()
        };
        let reading = Reading::of(&value);
        let (text, [_, document, lines, strings]) = places::joined(&reading);
        match (out.report.redactions.get("rule"), letter(&text)) {
            (Some(masked), Some(_)) => prop_assert!(*masked >= 1 && many(out.value.as_value()) < many(&value)),
            // An escaped value of several lines: the place counts where the value stands as it is.
            (None, Some(at)) => prop_assert!((document..lines).contains(&at) && text[strings..].contains('\n')),
            (masked, None) => prop_assert_eq!(masked, None),
        }
    }

    #[test]
    fn whatever_a_redactor_says_the_shape_stays(
        value in documents(),
        spans in proptest::collection::vec((0_usize..500, 0_usize..500, "[a-z]{0,2}"), 0..8),
    ) {
        let policy = Fake::new(move |window| {
            let mut findings = clear(window.text.len());
            let span = |(start, end, rule): &(usize, usize, String)| Span { start: *start, end: *end, rule: rule.clone() };
            findings.spans = spans.iter().map(span).collect();
            Ok(findings)
        });
        let out = revealed(&policy, &value);
        prop_assert_eq!(shape(out.value.as_value()), shape(&value));
        prop_assert_eq!(out.changed, out.value.as_value() != &value);
    }
}
