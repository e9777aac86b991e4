//! The cases of `cases/kinds.jsonl`, whole and in every kind of chunking, through a driver that does what a host does.

use proptest::prelude::*;

use hermes_plugin_sdk::{Context, Plugin, Redact, Span, Window};
use serde::Deserialize;

use crate::{RedactSecrets, Settings};

/// A case: no secret may be in the masked text, and each string to keep must be.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    text: String,
    #[serde(rename = "lacks")]
    secrets: Vec<String>,
    #[serde(rename = "contains")]
    keep: Vec<String>,
}

fn cases() -> Vec<Case> {
    let file = include_str!("../cases/kinds.jsonl");
    file.lines().filter(|line| !line.trim().is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn plugin() -> RedactSecrets {
    RedactSecrets::new(Settings::default()).unwrap()
}

pub(crate) fn masked(text: &str, spans: &[Span]) -> String {
    let mut out = String::new();
    let mut at = 0;
    for span in spans {
        out.push_str(&text[at..span.range.start]);
        out.push_str(&format!("[REDACTED:{}]", span.rule));
        at = span.range.end;
    }
    out + &text[at..]
}

pub(crate) fn view(text: &str) -> String {
    let found = plugin().scan(&Context::default(), &Window::view(text)).unwrap();
    assert_eq!(found.show_until, text.len());
    masked(text, &found.spans)
}

/// Most text a host keeps for the next window.
const KEPT: usize = 64 * 1024;

/// Feeds `text` cut at `cuts` through a new plugin for each window, and gives what was shown.
pub(crate) fn stream(text: &str, cuts: &[usize]) -> String {
    let mut out = String::new();
    let (mut need, mut shown, mut end, mut front_cut) = (0, 0, 0, false);
    let ends = cuts.iter().copied().filter(|&cut| cut < text.len()).chain([text.len()]);
    for (next, last) in ends.map(|end| (end, end == text.len())) {
        let fresh = end;
        end = next;
        let window = Window { text: &text[need..end], fresh_from: fresh - need, front_cut, last };
        let found = PLUGIN.with(|plugin| plugin.borrow_mut().scan(&Context::default(), &window).unwrap());
        let until = need + found.show_until;
        assert!(until >= shown, "what was shown cannot be taken back: {until} < {shown} at {end}: {:?}", &text[..end]);
        for span in &found.spans {
            let (start, stop) = (need + span.range.start, need + span.range.end);
            if stop <= shown || start >= until {
                continue;
            }
            assert!(start >= shown, "a mask begins in what was shown, {start} < {shown}: {:?}", &text[start..stop]);
            assert!(stop <= until, "a mask is shown in part");
            out.push_str(&text[shown..start]);
            out.push_str(&format!("[REDACTED:{}]", span.rule));
            shown = stop;
        }
        out.push_str(&text[shown..until.max(shown)]);
        shown = until.max(shown);
        let from = need + found.need_from.min(found.show_until);
        front_cut |= end - from > KEPT;
        need = text.floor_char_boundary(from.max(end.saturating_sub(KEPT)));
    }
    out
}

thread_local! {
    static PLUGIN: std::cell::RefCell<RedactSecrets> = std::cell::RefCell::new(plugin());
}

pub(crate) fn boundaries(text: &str) -> Vec<usize> {
    text.char_indices().map(|(at, _)| at).skip(1).collect()
}

#[test]
fn every_case_is_masked_and_keeps_what_it_must() {
    let mut wrong = Vec::new();
    for case in cases() {
        let out = view(&case.text);
        for secret in &case.secrets {
            let leaks = out.contains(secret.as_str())
                || secret.len() > 12
                    && secret.is_ascii()
                    && (0..=secret.len() - 12).any(|at| out.contains(&secret[at..at + 12]));
            if leaks {
                wrong.push(format!("{}: leaks {secret:?} in {out:?}", case.name));
            }
        }
        for keep in &case.keep {
            if !out.contains(keep.as_str()) {
                wrong.push(format!("{}: lost {keep:?} in {out:?}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_text_in_single_characters_has_the_masks_of_the_whole() {
    for case in cases() {
        assert_eq!(stream(&case.text, &boundaries(&case.text)), view(&case.text), "{}", case.name);
    }
}

#[test]
fn a_text_cut_in_two_anywhere_has_the_masks_of_the_whole() {
    for case in cases() {
        let whole = view(&case.text);
        for cut in boundaries(&case.text) {
            assert_eq!(stream(&case.text, &[cut]), whole, "{} cut at {cut}", case.name);
        }
    }
}

#[test]
fn masking_twice_is_masking_once() {
    for case in cases() {
        let once = view(&case.text);
        assert_eq!(view(&once), once, "{}", case.name);
    }
}

/// Several cases one after the other, and places to cut.
fn joined() -> impl Strategy<Value = (String, Vec<usize>)> {
    let texts: Vec<String> = cases().into_iter().map(|case| case.text).collect();
    let parts = proptest::collection::vec(
        (0..texts.len(), prop_oneof![Just(""), Just(" "), Just("\n"), Just("\n---\n"), Just("plain text\n")]),
        1..6,
    );
    parts.prop_flat_map(move |parts| {
        let text: String = parts.iter().map(|(index, gap)| format!("{}{gap}", texts[*index])).collect();
        let size = text.len();
        (Just(text), proptest::collection::vec(0..size.max(1), 0..40))
    })
}

/// Bits of which secrets are made, in any order.
fn shuffled() -> impl Strategy<Value = (String, Vec<usize>)> {
    let bits = prop_oneof![
        Just("password".to_owned()),
        Just("token".to_owned()),
        Just("=".to_owned()),
        Just(": ".to_owned()),
        Just("\"".to_owned()),
        Just("\\".to_owned()),
        Just("\n".to_owned()),
        Just(" ".to_owned()),
        Just("ghp_".to_owned()),
        Just("eyJ".to_owned()),
        Just("://".to_owned()),
        Just("@".to_owned()),
        Just(":".to_owned()),
        Just("-----BEGIN PRIVATE KEY-----".to_owned()),
        Just("-----END PRIVATE KEY-----".to_owned()),
        Just("\ndata:\n  a: b\n".to_owned()),
        Just("kind: Secret\n".to_owned()),
        Just("{\"value\": \"abc1def2\", \"sensitive\": true}".to_owned()),
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just("  ".to_owned()),
        Just("Authorization: Bearer ".to_owned()),
        Just("Cookie: sid=".to_owned()),
        Just("curl -u a:".to_owned()),
        Just("[REDACTED:jwt]".to_owned()),
        Just("AKIA".to_owned()),
        Just("+".to_owned()),
        Just("é".to_owned()),
        Just("name: DB_PASSWORD\n  value: ".to_owned()),
        "[a-zA-Z0-9]{1,40}",
        "[a-zA-Z0-9+/]{60,66}\n",
        "[0-9a-f]{32}\\.",
        "[!-~]{1,12}",
    ];
    proptest::collection::vec(bits, 0..25).prop_flat_map(|bits| {
        let text = bits.concat();
        let size = text.len();
        (Just(text), proptest::collection::vec(0..size.max(1), 0..60))
    })
}

fn at_characters(text: &str, cuts: Vec<usize>) -> Vec<usize> {
    let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| text.floor_char_boundary(cut)).collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn cases_in_a_row_have_the_same_masks_in_any_chunking((text, cuts) in joined()) {
        let cuts = at_characters(&text, cuts);
        prop_assert_eq!(stream(&text, &cuts), view(&text));
    }

    #[test]
    fn any_text_has_the_same_masks_in_any_chunking((text, cuts) in shuffled()) {
        let cuts = at_characters(&text, cuts);
        prop_assert_eq!(stream(&text, &cuts), view(&text));
        prop_assert_eq!(stream(&text, &boundaries(&text)), view(&text));
    }
}

#[test]
fn a_long_text_and_a_line_that_never_ends_have_the_same_masks_in_any_chunking() {
    let texts: Vec<String> = cases().into_iter().map(|case| case.text).collect();
    // Blocks that would join into one are kept apart, as they are in what programs print.
    let long: String = texts.iter().cycle().take(2000).map(|text| format!("{text}\n---\nplain line\n")).collect();
    let line: String = texts
        .iter()
        .filter(|text| text.matches('\n').count() == 1)
        .cycle()
        .take(3000)
        .map(|text| format!("{} | ", text.trim_end()))
        .collect();
    for text in [long, line] {
        assert!(text.len() > 2 * KEPT, "{}", text.len());
        let whole = view(&text);
        for size in [997, 4096, KEPT] {
            let cuts: Vec<usize> = (1..=text.len() / size).map(|n| text.floor_char_boundary(n * size)).collect();
            let streamed = stream(&text, &cuts);
            let differs = streamed.bytes().zip(whole.bytes()).position(|(a, b)| a != b);
            assert_eq!(differs.map(|at| &whole[whole.floor_char_boundary(at.saturating_sub(200))..][..200]), None);
            assert_eq!(streamed.len(), whole.len());
        }
    }
}

#[test]
fn the_canaries_of_the_manifest_show_their_rules() {
    let manifest: toml::Table = toml::from_str(include_str!("../plugin.toml")).unwrap();
    let canaries = manifest["canary"].as_array().unwrap();
    assert!(canaries.len() >= 14);
    for canary in canaries {
        let text = canary["text"].as_str().unwrap();
        let found = plugin().scan(&Context::default(), &Window::view(text)).unwrap();
        let mut rules: Vec<&str> = found.spans.iter().map(|span| span.rule.as_str()).collect();
        let mut wanted: Vec<&str> =
            canary["rules"].as_array().unwrap().iter().map(|rule| rule.as_str().unwrap()).collect();
        rules.sort_unstable();
        rules.dedup();
        wanted.sort_unstable();
        assert_eq!(rules, wanted, "{}", canary["name"]);
    }
}

#[test]
fn a_rule_that_is_turned_off_masks_nothing_and_an_unknown_one_is_refused() {
    let off =
        Settings { disable: vec!["password".to_owned()], enable: vec!["phone".to_owned()], ..Settings::default() };
    let mut plugin = RedactSecrets::new(off).unwrap();
    let text = "password=hunter2\ncall +491701234567 now\n";
    let found = plugin.scan(&Context::default(), &Window::view(text)).unwrap();
    assert_eq!(masked(text, &found.spans), "password=hunter2\ncall [REDACTED:phone] now\n");
    let unknown = Settings { disable: vec!["pasword".to_owned()], ..Settings::default() };
    assert!(RedactSecrets::new(unknown).is_err_and(|failure| failure.code == "unknown-rule"));
    assert!(!view(text).contains("phone"));
}

#[test]
fn a_window_that_begins_inside_a_key_is_masked_from_its_front() {
    let row = "q7Zr2mVx0PLs9TkYd3Wb8NfGh5JcAe1Ru4QoXi6Zt8xPl0aMn3vKc7dRt5yWb2e";
    let text = format!("{}\n{row}\n{row}\n-----END RSA PRIVATE KEY-----\nok\n", &row[40..]);
    let window = Window { text: &text, fresh_from: 0, front_cut: true, last: true };
    let found = plugin().scan(&Context::default(), &window).unwrap();
    assert_eq!(masked(&text, &found.spans), "[REDACTED:private-key]\nok\n");
}

#[test]
fn a_prompt_without_a_newline_is_shown_at_once() {
    for text in [
        "Password: ",
        "Enter passphrase for key '/home/u/.ssh/id_rsa': ",
        "Continue? [y/N] ",
        "$ ",
        "root@host:~# ",
        "Password:",
        "Loading...",
    ] {
        let window = Window { text, fresh_from: 0, front_cut: false, last: false };
        let found = plugin().scan(&Context::default(), &window).unwrap();
        assert_eq!(found.show_until, text.len(), "{text}");
    }
}
