//! What a view promises: no secret, no control sequence, no more than asked for, and nothing lost without a word.

use proptest::prelude::*;

use super::*;
use crate::captured::HEAD_BYTES;
use crate::cut::NOTICE_MAX;
use crate::policy::{Findings, Transformed};
use fakes::{Fake, Open, clear, context, is_private, leak, reference, trouble};

/// What a test makes secret when the host knows the value: the first is one line, the second two.
const KNOWN: [&str; 2] = ["αβγδεζηθικλμ", "νξοπρσ\nτυφχψω"];

fn captured(bytes: &[u8], ring: usize) -> Captured {
    let mut captured = Captured::new(ring);
    captured.push(bytes);
    captured
}

fn known() -> ExactValues {
    ExactValues::new(KNOWN.map(|value| ("NAME".to_owned(), value.to_owned())))
}

fn referring() -> Fake {
    Fake::new(|window| Ok(reference(window, Open::Hold)))
}

fn shown(policy: &Fake, text: &str) -> Revealed {
    reveal(policy, &context(), &Captured::of(text), &ExactValues::default(), &Limits::none())
}

fn replaced(text: impl Into<String>) -> Result<Transformed, String> {
    Ok(Transformed::Replaced(text.into()))
}

#[test]
fn plain_text_is_not_changed_by_a_policy_that_finds_nothing() {
    let text = "a line\n\tanother – with ünïcode\n\nand no newline";
    let out = shown(&Fake::nothing(), text);
    assert_eq!(out.text.as_str(), text);
    assert_eq!((out.cut, out.output_bytes), (false, text.len() as u64));
    assert_eq!(out.report, PolicyReport { generation: 7, ..PolicyReport::default() });
}

#[test]
fn a_secret_is_masked_and_counted() {
    let out = shown(&referring(), "key=αβγ next\nkey=δ\n");
    assert_eq!(out.text.as_str(), "key=[REDACTED:kv] next\nkey=[REDACTED:kv]\n");
    assert_eq!(out.report.redactions, BTreeMap::from([("kv".to_owned(), 2)]));
}

#[test]
fn a_known_value_is_named() {
    let text = format!("it is {} here\n", KNOWN[0]);
    let out = reveal(&Fake::nothing(), &context(), &Captured::of(&text), &known(), &Limits::none());
    assert_eq!(out.text.as_str(), "it is [REDACTED:env:NAME] here\n");
}

#[test]
fn a_redactor_without_an_answer_withholds_everything() {
    let policy = Fake { warnings: vec!["one is missing".to_owned()], ..Fake::failing() };
    let out = shown(&policy, "nothing of this\n");
    assert_eq!(out.text.as_str(), "[output withheld: fake: trap]");
    assert_eq!(out.report.withheld, Some(trouble()));
    assert_eq!((out.report.generation, out.report.warnings), (7, vec!["one is missing".to_owned()]));
    assert_eq!(reveal_text(&policy, &context(), "x", &known()).report.withheld, Some(trouble()));
}

#[test]
fn a_redactor_that_fails_in_the_second_pass_withholds_everything() {
    let policy =
        Fake::new(
            |window| {
                if window.text.contains("bad") { Err(trouble()) } else { Ok(reference(window, Open::Hold)) }
            },
        );
    let out = shown(&policy.with("spoil", |text| replaced(format!("bad {text}"))), "key=α x\n");
    assert_eq!(out.text.as_str(), "[output withheld: fake: trap]");
    assert!(out.report.redactions.is_empty() && out.report.transformed_by.is_empty());
}

#[test]
fn the_words_of_a_failure_are_cleaned() {
    let policy = Fake::new(|_| Err(Withheld { code: "a\u{1b}[2J\nb".to_owned(), ..trouble() }));
    assert_eq!(shown(&policy, "x").text.as_str(), "[output withheld: fake: a[2Jb]");
}

#[test]
fn transforms_see_masks_and_what_the_one_before_made() {
    let policy = referring()
        .with("first", |text| {
            assert_eq!(text, "key=[REDACTED:kv] x\n");
            Ok(Transformed::Edits(vec![(0..3, "KEY".to_owned())]))
        })
        .with("idle", |_| Ok(Transformed::Unchanged))
        .with("same", |text| replaced(text))
        .with("last", |text| {
            assert_eq!(text, "KEY=[REDACTED:kv] x\n");
            replaced(format!("{text}done\n"))
        });
    let out = shown(&policy, "key=αβ x\n");
    assert_eq!(out.text.as_str(), "KEY=[REDACTED:kv] x\ndone\n");
    assert_eq!(out.report.transformed_by, ["first", "last"]);
    assert_eq!(out.report.redactions["kv"], 1);
}

#[test]
fn a_transform_that_drops_the_name_of_a_secret_hides_nothing() {
    // Without the name the value could not be recognised afterwards.
    let policy = referring().with("drop", |text| replaced(text.replace("key=", "").replace("BEGIN", "")));
    let out = shown(&policy, "key=αβγ\nBEGIN\nδε\nEND\n");
    assert_eq!(leak(out.text.as_str()), None, "{}", out.text);
}

#[test]
fn what_a_transform_adds_is_redacted_and_cleaned() {
    let policy = referring().with("add", |text| replaced(format!("{text}ke\u{1b}[31my=αβγ\u{7}\r\nx\rkey=\rδε\n")));
    let out = shown(&policy, "start\n");
    assert_eq!(leak(out.text.as_str()), None, "{}", out.text);
    assert!(out.text.as_str().starts_with("start\nkey=[REDACTED:kv]\n"), "{}", out.text);
}

#[test]
fn a_transform_that_fails_is_skipped_with_a_warning() {
    let policy = Fake::nothing()
        .with("broken", |_| Err("broken: timeout".to_owned()))
        .with("wrong", |_| Ok(Transformed::Edits(vec![(5..900, String::new())])))
        .with("huge", |text| replaced("x".repeat(text.len() * 4 + 64 * 1024 + 1)));
    let out = shown(&policy, "the text\n");
    assert_eq!(out.text.as_str(), "the text\n");
    assert!(out.report.transformed_by.is_empty());
    let warnings = out.report.warnings;
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert_eq!(warnings[0], "broken: timeout");
    assert!(warnings[1].starts_with("wrong was skipped: "), "{warnings:?}");
    assert!(warnings[2].starts_with("huge was skipped: "), "{warnings:?}");
}

#[test]
fn in_the_raw_order_transforms_see_everything_and_the_result_is_redacted() {
    let policy = referring().raw().with("see", |text| {
        assert_eq!(text, "key=αβ x\n");
        replaced(format!("{text}key=γ\n"))
    });
    let out = shown(&policy, "key=αβ x\n");
    assert_eq!(out.text.as_str(), "key=[REDACTED:kv] x\nkey=[REDACTED:kv]\n");
    let unchanged = referring().raw().with("idle", |_| Ok(Transformed::Unchanged));
    assert_eq!(shown(&unchanged, "key=αβ x\n").text.as_str(), "key=[REDACTED:kv] x\n");
    assert_eq!(shown(&referring().raw(), "key=αβ x\n").text.as_str(), "key=[REDACTED:kv] x\n");
}

#[test]
fn a_secret_that_returns_cut_in_two_is_masked_in_the_frame_that_is_shown() {
    for policy in [referring(), referring().raw().with("idle", |_| Ok(Transformed::Unchanged))] {
        let out = shown(&policy, "ke\ry=αβ\rγδ\n10%\r20%\nplain\n");
        assert_eq!(out.text.as_str(), "[REDACTED:kv]\n20%\nplain\n");
    }
}

#[test]
fn overwritten_lines_are_one_call() {
    let policy = Fake::nothing();
    shown(&policy, &"10%\r20%\r30%\n".repeat(500));
    assert_eq!(policy.asked.load(std::sync::atomic::Ordering::Relaxed), 2, "the text and its frames");
}

#[test]
fn a_gap_is_told_and_what_it_cut_open_is_not_shown() {
    // A block begins in the head and ends in the tail: neither part is whole.
    let line = "αβγδεζη\n".repeat(40_000);
    let bytes = format!("start\nBEGIN\n{line}END\nthe end\n");
    for raw in [false, true] {
        let policy = if raw { referring().raw().with("idle", |_| Ok(Transformed::Unchanged)) } else { referring() };
        let out =
            reveal(&policy, &context(), &captured(bytes.as_bytes(), 4096), &ExactValues::default(), &Limits::none());
        assert_eq!(leak(out.text.as_str()), None, "raw {raw}");
        let text = out.text.as_str();
        assert!(text.starts_with("start\n[... 39,"), "raw {raw}: {}", &text[..60]);
        assert!(text.contains(" lines, ") && text.contains(" not kept]\n[REDACTED:front]\n"), "raw {raw}");
        assert!(text.ends_with("\n\nthe end\n"), "raw {raw}");
    }
}

#[test]
fn what_is_held_at_a_gap_takes_its_line_with_it() {
    let policy = Fake::new(|window| {
        let held = if window.last { 0 } else { 5 };
        Ok(Findings { show_until: window.text.len() - held, ..clear(window.text.len()) })
    });
    let bytes = "a line of the log\n".repeat(60_000);
    let out = reveal(&policy, &context(), &captured(bytes.as_bytes(), 8192), &ExactValues::default(), &Limits::none());
    assert!(out.text.as_str().lines().all(|line| line == "a line of the log" || line.starts_with("[... ")));
    let lost: u64 = 60_000 - out.text.as_str().lines().count() as u64 + 1;
    let notice = out.text.as_str().lines().find(|line| line.starts_with("[... ")).unwrap();
    assert_eq!(notice.replace(',', "").split(' ').nth(1), Some(lost.to_string().as_str()), "{notice}");
}

#[test]
fn a_cut_reply_of_a_text_with_a_gap_says_what_was_not_kept() {
    let bytes = "a line of the log\n".repeat(60_000);
    let limits = Limits { reply_bytes: 2000, rest: Some("hermes logs proc_1".to_owned()) };
    let out = reveal(&Fake::nothing(), &context(), &captured(bytes.as_bytes(), 8192), &ExactValues::default(), &limits);
    assert!(out.cut && out.text.len() <= 2000 + NOTICE_MAX);
    let notice = out.text.as_str().lines().find(|line| line.starts_with("[...")).unwrap();
    assert_eq!(
        notice,
        "[... 59,890 lines (45-59934), 1.0 MiB not shown, 790.6 KiB of it not kept; the rest: hermes logs proc_1]"
    );
}

#[test]
fn a_secret_is_never_shown_wherever_it_stands_in_the_reads_and_rings() {
    let secret = format!("key={} ", KNOWN[0]);
    let line = "some words of the log\n";
    for ring in [1024, 4096] {
        for at in HEAD_BYTES - 40..HEAD_BYTES + 8 {
            let mut text = line.repeat(at / line.len() + 1);
            text.truncate(at - at / 4096);
            text.push_str(&secret);
            text.push_str(&line.repeat(600));
            text.push_str(&secret);
            text.push_str(&line.repeat(ring / line.len() - 4));
            let shift = text.len();
            for cut in [0, 7, 13, 25] {
                let mut captured = Captured::new(ring);
                let whole = [text.as_bytes(), &b"................................"[..cut]].concat();
                whole.chunks(4096).for_each(|chunk| captured.push(chunk));
                for (policy, exact) in [(referring(), ExactValues::default()), (Fake::nothing(), known())] {
                    let out = reveal(&policy, &context(), &captured, &exact, &Limits::none());
                    assert_eq!(leak(out.text.as_str()), None, "at {at}, ring {ring}, {shift} and {cut}");
                }
            }
        }
    }
}

#[test]
fn a_secret_is_never_shown_at_any_place_of_a_cut() {
    let secret = format!("key={}", KNOWN[0]);
    for before in 0..80 {
        let text = format!("{} {secret} {}", "w ".repeat(before), "w ".repeat(80 - before));
        for reply_bytes in [0, 10, 40, 75, 100] {
            let limits = Limits { reply_bytes, rest: None };
            let out = reveal(&referring(), &context(), &Captured::of(&text), &ExactValues::default(), &limits);
            assert_eq!(leak(out.text.as_str()), None);
            let masks = out.text.as_str().matches("[REDACTED:kv]").count();
            assert_eq!(out.text.as_str().matches("REDACTED").count(), masks, "no mask is split: {}", out.text);
        }
    }
}

/// Texts in which every private letter belongs to a known value, with what terminals put between letters. A line that
/// is overwritten is looked at for itself, so returns stand in texts whose values are of one line.
fn rude() -> impl Strategy<Value = String> {
    (0..2_usize).prop_flat_map(|nth| {
        let back = if nth == 0 { "\r" } else { "" };
        let noise = prop_oneof![
            6 => Just(""), 1 => Just(back), 1 => Just("\u{1b}[1m"), 1 => Just("\u{1b}]0;title\u{7}"), 1 => Just("\u{200b}")
        ];
        let value = prop::collection::vec(noise, 16).prop_map(move |noise| {
            KNOWN[nth].chars().zip(noise).map(|(c, noise)| format!("{noise}{c}")).collect()
        });
        let piece = prop_oneof![3 => "[a-z]{1,6}", 2 => "[ \n\t]", 1 => Just("\r\n".to_owned()), 4 => value];
        prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
    })
}

/// Texts with secrets of the reference redactor.
fn ordinary() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[a-z]{1,6}", 3 => "[ \n]", 2 => "key=[α-ω]{1,8} ", 1 => "BEGIN\n([α-ω]{1,8}\n){0,3}END",
        1 => Just("key=α\rβγ\rδ\n".to_owned()),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_and_spans_make_a_text_that_fits(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        spans in prop::collection::vec((0_usize..500, 0_usize..500, "[a-z:\n ]{0,8}"), 0..8),
        (show_until, need_from, reply_bytes, ring) in (0_usize..500, 0_usize..500, 0_usize..300, 1_usize..100),
        transformed in prop::option::of(any::<String>()),
        raw in any::<bool>(),
    ) {
        let mut policy = Fake::new(move |_| {
            let spans = spans.iter().map(|(start, end, rule)| Span { start: *start, end: *end, rule: rule.clone() });
            Ok(Findings { spans: spans.collect(), show_until, need_from })
        });
        if let Some(new) = transformed {
            policy = policy.with("any", move |_| replaced(new.clone()));
        }
        if raw {
            policy = policy.raw();
        }
        let limits = Limits { reply_bytes, rest: None };
        let mut captured = captured(&vec![b'x'; if reply_bytes % 2 == 0 { 0 } else { HEAD_BYTES }], ring);
        captured.push(&bytes);
        let out = reveal(&policy, &context(), &captured, &ExactValues::default(), &limits);
        prop_assert!(out.text.as_str().chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
        prop_assert!(out.text.len() <= reply_bytes + NOTICE_MAX);
    }

    #[test]
    fn a_known_value_is_never_shown(text in rude(), one_by_one in any::<bool>(), reply_bytes in 0_usize..400) {
        let mut captured = Captured::new(1 << 20);
        let size = if one_by_one { 1 } else { text.len().max(1) };
        text.as_bytes().chunks(size).for_each(|chunk| captured.push(chunk));
        let limits = Limits { reply_bytes, rest: None };
        let out = reveal(&Fake::nothing(), &context(), &captured, &known(), &limits);
        prop_assert_eq!(leak(out.text.as_str()), None, "{:?} of {:?}", out.text, text);
    }

    #[test]
    fn a_secret_is_never_shown_whatever_transforms_do(text in ordinary(), kind in 0_usize..5) {
        let policy = referring().with("odd", move |text| match kind {
            0 => replaced(text.replace("key=", "")),
            1 => replaced(text.replace("BEGIN", "").replace("END", "")),
            2 => replaced(text.chars().flat_map(|c| ['\u{1b}', '[', 'm', c]).collect::<String>()),
            3 => replaced(text.chars().rev().collect::<String>()),
            _ => replaced(text.chars().filter(|c| !"key=".contains(*c)).collect::<String>()),
        });
        let out = shown(&policy, &text);
        prop_assert_eq!(leak(out.text.as_str()), None, "{:?} of {:?}", out.text, text);
    }

    #[test]
    fn a_redactor_that_fails_at_some_call_shows_nothing(text in ordinary(), fails in 0_usize..3) {
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let policy = Fake::new(move |window| {
            if asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == fails { Err(trouble()) }
            else { Ok(reference(window, Open::Hold)) }
        });
        let out = shown(&policy.with("add", |text| replaced(format!("{text}!"))), &text);
        prop_assert_eq!(leak(out.text.as_str()), None);
        prop_assert!(out.report.withheld.is_none() || out.text.as_str() == "[output withheld: fake: trap]");
    }

    #[test]
    fn what_was_revealed_is_revealed_unchanged(text in ordinary()) {
        let once = reveal_text(&referring(), &context(), &text, &known());
        let twice = reveal_text(&referring(), &context(), once.text.as_str(), &known());
        prop_assert_eq!(once.text.as_str(), twice.text.as_str());
        prop_assert!(twice.report.redactions.is_empty());
    }

    #[test]
    fn lines_keep_their_number(text in "([a-z ]{0,5}|\n|key=[α-ω]{1,4} |BEGIN\n[α-ω]{1,4}\nEND){0,20}") {
        let out = shown(&referring(), &text);
        prop_assert_eq!(out.text.as_str().matches('\n').count(), text.matches('\n').count());
    }

    #[test]
    fn plain_text_stays_as_it_is(text in "[a-zA-Z0-9äöü€ \n\t]{0,200}") {
        let out = reveal_text(&Fake::nothing(), &context(), &text, &known());
        prop_assert_eq!(out.text.as_str(), text.as_str());
    }
}

#[test]
fn the_letters_of_secrets_are_used_for_nothing_else() {
    assert!(KNOWN.iter().all(|value| value.chars().all(|c| is_private(c) || c == '\n')));
    assert_eq!(clear(3).spans, []);
}

#[test]
fn what_was_never_kept_counts_as_cut_although_the_rest_fits() {
    let bytes: Vec<u8> = (0..60_000).flat_map(|line| format!("line {line}\n").into_bytes()).collect();
    let out = reveal(&Fake::nothing(), &context(), &captured(&bytes, 1024), &ExactValues::default(), &Limits::none());
    assert!(out.cut && out.output_bytes == bytes.len() as u64);
}
