//! What a stream promises: the same masks for every chunking, nothing shown that was not released.

use std::sync::atomic::Ordering;

use proptest::prelude::*;

use super::*;
use crate::policy::{Findings, Transformed};
use crate::reveal::fakes::{Fake, Open, clear, context, is_private, leak, reference, trouble};
use crate::reveal::reveal_text;

/// Bytes a test pushes at once.
type Sizes = Vec<usize>;

fn stream(exact: ExactValues) -> Stream {
    Stream::new(context(), Arc::new(exact))
}

fn values(values: &[&str]) -> ExactValues {
    ExactValues::new(values.iter().map(|value| ("NAME".to_owned(), (*value).to_owned())))
}

fn referring(open: Open) -> Fake {
    Fake::new(move |window| Ok(reference(window, open)))
}

/// Everything a stream shows of `bytes`, pushed in pieces of the sizes given, in turn.
fn shown(policy: &Fake, exact: ExactValues, bytes: &[u8], sizes: &[usize]) -> (String, PolicyReport) {
    let mut stream = stream(exact);
    let mut out = String::new();
    let mut rest = bytes;
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let (now, later) = rest.split_at((*sizes.next().unwrap()).min(rest.len()));
        out.push_str(stream.push(policy, now).text.as_str());
        assert!(stream.window.text.len() <= KEPT_MAX + 4, "what is kept is bounded");
        rest = later;
    }
    out.push_str(stream.finish(policy).text.as_str());
    assert_eq!(stream.window.text.len() - stream.shown, 0, "nothing is left behind");
    (out, stream.report())
}

fn sizes() -> impl Strategy<Value = Sizes> {
    prop_oneof![Just(vec![1]), Just(vec![usize::MAX]), prop::collection::vec(1_usize..40, 1..6)]
}

fn opens() -> impl Strategy<Value = Open> {
    prop_oneof![Just(Open::Hold), Just(Open::Release)]
}

/// A text of words, secrets of both rules, and lines; no line is overwritten.
fn ordinary() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[a-z]{1,6}",
        3 => Just(" ".to_owned()),
        2 => Just("\n".to_owned()),
        1 => Just("\r\n".to_owned()),
        1 => Just("\u{1b}[31m".to_owned()),
        2 => "key=[α-ω]{1,8} ",
        1 => "BEGIN\n([α-ω]{1,8}\n){0,3}END",
        1 => Just("BE ke".to_owned()),
        1 => Just("[REDACTED:kv]".to_owned()),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

#[test]
fn a_prompt_is_shown_at_once() {
    let policy = referring(Open::Hold);
    let mut stream = stream(ExactValues::default());
    assert_eq!(stream.push(&policy, b"Password: ").text.as_str(), "Password: ");
    assert_eq!(stream.push(&policy, b"ke").text.as_str(), "", "this may become a secret");
    assert_eq!(stream.push(&policy, b"lp\n").text.as_str(), "kelp\n");
}

#[test]
fn ordinary_text_is_looked_at_once() {
    let looked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&looked);
    let policy = Fake::new(move |window| {
        count.fetch_add(window.text.len(), Ordering::Relaxed);
        assert_eq!(window.fresh_from, 0);
        Ok(clear(window.text.len()))
    });
    let text = "a line of text\n".repeat(20_000);
    let (out, _) = shown(&policy, ExactValues::default(), text.as_bytes(), &[5000]);
    assert!(out == text);
    assert_eq!(looked.load(Ordering::Relaxed), text.len());
    assert_eq!(policy.asked.load(Ordering::Relaxed), text.len() / 5000);
}

#[test]
fn a_window_has_at_most_64_kib_of_new_text() {
    let policy = Fake::new(|window| {
        assert!(window.text.len() - window.fresh_from <= FRESH_MAX);
        Ok(clear(window.text.len()))
    });
    // Every bad byte becomes three bytes of text.
    let (out, _) = shown(&policy, ExactValues::default(), &[0xff; 200_000], &[200_000]);
    assert_eq!(out.chars().filter(|c| *c == '\u{fffd}').count(), 200_000);
}

#[test]
fn what_a_redactor_released_and_forgot_stays_masked_while_it_waits() {
    // It names the value once, releases it and asks for nothing: it would not know the value again without its key.
    let policy = Fake::new(|window| {
        let mut findings = clear(window.text.len());
        if let Some(key) = window.text.find("key=") {
            findings.spans.push(Span { start: key + 4, end: window.text.len(), rule: "kv".to_owned() });
        }
        Ok(findings)
    });
    let mut stream = stream(ExactValues::default());
    let first = stream.push(&policy, "key=αβγ".as_bytes()).text;
    let second = stream.push(&policy, b" and more").text;
    assert_eq!(format!("{first}{second}"), "key=[REDACTED:kv] and more");
}

#[test]
fn what_a_redactor_said_of_text_it_held_is_forgotten_when_it_says_otherwise() {
    // Digits at the end may be a card number; with words after them they are not.
    let policy = Fake::new(|window| {
        let mut findings = clear(window.text.len());
        if !window.last && window.text.ends_with(|c: char| c.is_ascii_digit()) {
            let start = window.text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
            findings.spans.push(Span { start, end: window.text.len(), rule: "card".to_owned() });
            findings.show_until = start;
            findings.need_from = start;
        }
        Ok(findings)
    });
    let (out, report) = shown(&policy, ExactValues::default(), b"about 12345 apples", &[8]);
    assert_eq!(out, "about 12345 apples");
    assert!(report.redactions.is_empty());
}

#[test]
fn a_known_value_that_holds_text_back_keeps_the_masks_of_a_redactor() {
    // The value may begin inside what the redactor has released with a span.
    let policy = Fake::new(|window| {
        let mut findings = clear(window.text.len());
        if window.fresh_from == 0 && window.text.starts_with("key=") {
            findings.spans.push(Span { start: 4, end: window.text.len().min(14), rule: "kv".to_owned() });
        }
        Ok(findings)
    });
    let mut stream = stream(values(&["γδεζηθικ"]));
    let mut out = stream.push(&policy, "key=αβγδε".as_bytes()).text.to_string();
    out.push_str(stream.push(&policy, b" x").text.as_str());
    out.push_str(stream.finish(&policy).text.as_str());
    assert_eq!(out, "key=[REDACTED:kv] x");
}

#[test]
fn a_redactor_that_never_releases_shows_nothing_and_keeps_little() {
    let policy = Fake::new(|_| Ok(Findings::default()));
    let text = "α\n".repeat(100_000);
    let mut stream = stream(ExactValues::default());
    let mut out = String::new();
    for piece in text.as_bytes().chunks(7001) {
        out.push_str(stream.push(&policy, piece).text.as_str());
        assert!(stream.window.text.len() <= KEPT_MAX + 4);
    }
    assert_eq!(out.trim_end_matches('\n'), "[REDACTED:unfinished]");
    assert_eq!(stream.report().redactions[RULE_UNFINISHED], 1);
    let rest = stream.finish(&policy).text.to_string();
    let lines = out.matches('\n').count() + rest.matches('\n').count();
    assert_eq!(lines, 100_000, "lines keep their number");
}

#[test]
fn a_block_longer_than_what_is_kept_is_one_mask() {
    let block = format!("BEGIN\n{}END", "αβγδεζηθ\n".repeat(20_000));
    let text = format!("before\n{block} after\n");
    for size in [1500, 4099, 65_536, 1_000_000] {
        let (out, report) = shown(&referring(Open::Release), ExactValues::default(), text.as_bytes(), &[size]);
        assert_eq!(leak(&out), None, "in pieces of {size}");
        let squeezed: Vec<&str> = out.split('\n').filter(|line| !line.is_empty()).collect();
        assert_eq!(squeezed, ["before", "[REDACTED:pem]", " after"], "in pieces of {size}");
        assert_eq!(out.matches('\n').count(), text.matches('\n').count(), "in pieces of {size}");
        assert_eq!(report.redactions.values().sum::<u64>(), 1);
    }
}

#[test]
fn failures_in_a_row_are_told_once_and_nothing_of_their_text_is_shown() {
    let policy =
        Fake::new(
            |window| {
                if window.text.contains(is_private) { Err(trouble()) } else { Ok(clear(window.text.len())) }
            },
        );
    let mut stream = stream(ExactValues::default());
    assert_eq!(stream.push(&policy, b"one ").text.as_str(), "one ");
    let step = stream.push(&policy, "αβ".as_bytes());
    assert_eq!(step.text.as_str(), "\n[output withheld: fake: trap]\n");
    assert_eq!(step.withheld, Some(trouble()));
    assert_eq!(stream.push(&policy, b"rest of the line").text.as_str(), "", "nobody can tell what it is the rest of");
    let step = stream.push(&policy, "\nγδ\n".as_bytes());
    assert_eq!((step.text.as_str(), step.withheld), ("", Some(trouble())));
    let step = stream.push(&policy, b"two\n");
    assert_eq!((step.text.as_str(), step.withheld), ("two\n", None));
    assert_eq!(stream.push(&policy, "ε\n".as_bytes()).text.as_str(), "[output withheld: fake: trap]\n");
    assert_eq!(stream.report().withheld, Some(trouble()));
}

#[test]
fn after_a_failure_a_redactor_is_told_that_the_front_is_cut() {
    let fronts = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&fronts);
    let policy = Fake::new(move |window| {
        seen.lock().unwrap().push(window.front_cut);
        if window.text.contains("bad") { Err(trouble()) } else { Ok(clear(window.text.len())) }
    });
    let mut stream = stream(ExactValues::default());
    for line in ["good\n", "bad\n", "good\n", "good\n"] {
        stream.push(&policy, line.as_bytes());
    }
    assert_eq!(*fronts.lock().unwrap(), [false, false, true, false]);
}

#[test]
fn a_line_without_end_after_a_failure_is_left_at_a_space() {
    let policy =
        Fake::new(|window| if window.text.contains("bad") { Err(trouble()) } else { Ok(clear(window.text.len())) });
    let mut stream = stream(ExactValues::default());
    stream.push(&policy, b"bad");
    let long = "word ".repeat(KEPT_MAX / 5);
    assert_eq!(stream.push(&policy, long.as_bytes()).text.as_str(), "");
    assert_eq!(stream.push(&policy, b"last, one").text.as_str(), "one");
}

#[test]
fn a_secret_that_returns_cut_in_two_is_masked_in_the_last_frame() {
    for sizes in [vec![1], vec![7], vec![1000]] {
        let text = "start ke\ry=αβγδ\nkey=αβ\rγδεζ\nend\n";
        let (out, _) = shown(&referring(Open::Hold), ExactValues::default(), text.as_bytes(), &sizes);
        assert_eq!(leak(&out), None, "{out:?}");
        assert!(out.ends_with("end\n"), "{out:?}");
    }
}

#[test]
fn a_known_value_after_a_return_and_between_colours_is_masked() {
    let text = "aaaaa\rαβγδε\u{1b}[1mζ\u{1b}[1mηθικλμ";
    for size in 1..40 {
        let (out, _) = shown(&Fake::nothing(), values(&["αβγδεζηθικλμ"]), text.as_bytes(), &[size]);
        assert_eq!(out, "aaaaa\n[REDACTED:env:NAME]", "in pieces of {size}");
    }
}

#[test]
fn a_failure_over_an_overwritten_line_withholds_it() {
    let policy =
        Fake::new(|window| if window.text.contains("αβγδ") { Err(trouble()) } else { Ok(clear(window.text.len())) });
    let (out, _) = shown(&policy, ExactValues::default(), "ok\nx\ry\rαβγδ\nnext\n".as_bytes(), &[1000]);
    assert!(out.contains("[output withheld: fake: trap]\n") && leak(&out).is_none(), "{out:?}");
}

#[test]
fn a_stream_has_no_transforms() {
    let policy = Fake::nothing().with("never", |_| Ok(Transformed::Replaced("no".to_owned())));
    assert_eq!(shown(&policy, ExactValues::default(), b"yes\n", &[2]).0, "yes\n");
}

/// A text in which every private letter belongs to a secret, with returns and colours where they hurt. A line that is
/// overwritten is looked at for itself, so returns stand in texts whose secrets are of one line.
fn rude() -> impl Strategy<Value = String> {
    prop_oneof![Just(("αβγδεζηθικλμ", "\r")), Just(("νξοπ\nρστυφχψω", ""))].prop_flat_map(|(secret, back)| {
        let noise = prop_oneof![4 => Just(""), 1 => Just(back), 1 => Just("\u{1b}[1m"), 1 => Just("\u{200b}")];
        let value = prop::collection::vec(noise, 24)
            .prop_map(move |noise| secret.chars().zip(noise).map(|(c, noise)| format!("{noise}{c}")).collect());
        let piece = prop_oneof![3 => "[a-z]{1,6}", 2 => Just(" ".to_owned()), 2 => Just("\n".to_owned()), 4 => value];
        prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
    })
}

/// Fails at the calls whose numbers are given; else finds nothing.
fn failing_at(calls: Vec<usize>) -> Fake {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    Fake::new(move |window| {
        let call = asked.fetch_add(1, Ordering::Relaxed);
        if calls.contains(&call) { Err(trouble()) } else { Ok(clear(window.text.len())) }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_chunking_shows_what_a_view_shows(text in ordinary(), sizes in sizes(), open in opens()) {
        let policy = referring(open);
        let view = reveal_text(&policy, &context(), &text, &ExactValues::default());
        prop_assert_eq!(leak(view.text.as_str()), None);
        let (out, report) = shown(&policy, ExactValues::default(), text.as_bytes(), &sizes);
        prop_assert_eq!(out, view.text.as_str());
        prop_assert_eq!(report.redactions, view.report.redactions);
    }

    #[test]
    fn a_known_value_never_shows_in_any_chunking(text in rude(), sizes in sizes()) {
        let exact = || values(&["αβγδεζηθικλμ", "νξοπ\nρστυφχψω"]);
        let policy = Fake::nothing();
        let (out, _) = shown(&policy, exact(), text.as_bytes(), &sizes);
        prop_assert_eq!(leak(&out), None, "{:?} of {:?}", out, text);
    }

    #[test]
    fn a_known_value_never_shows_when_redactors_fail(
        text in rude(), sizes in sizes(), calls in prop::collection::vec(0_usize..20, 0..6),
    ) {
        let policy = failing_at(calls);
        let (out, _) = shown(&policy, values(&["αβγδεζηθικλμ", "νξοπ\nρστυφχψω"]), text.as_bytes(), &sizes);
        prop_assert_eq!(leak(&out), None, "{:?} of {:?}", out, text);
    }

    #[test]
    fn a_secret_of_a_redactor_never_shows_when_it_fails_sometimes(
        text in ordinary(), sizes in sizes(), open in opens(), calls in prop::collection::vec(0_usize..20, 0..6),
    ) {
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let policy = Fake::new(move |window| {
            let call = asked.fetch_add(1, Ordering::Relaxed);
            if calls.contains(&call) { Err(trouble()) } else { Ok(reference(window, open)) }
        });
        let (out, _) = shown(&policy, ExactValues::default(), text.as_bytes(), &sizes);
        prop_assert_eq!(leak(&out), None, "{:?} of {:?}", out, text);
    }

    #[test]
    fn arbitrary_bytes_and_answers_do_no_harm(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        sizes in sizes(),
        answers in prop::collection::vec((0_usize..90, 0_usize..90, 0_usize..90, 0_usize..90, any::<bool>()), 1..8),
    ) {
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let policy = Fake::new(move |_| {
            let (start, end, show_until, need_from, fails) = answers[asked.fetch_add(1, Ordering::Relaxed) % answers.len()];
            if fails && start % 3 == 0 {
                return Err(trouble());
            }
            let spans = vec![Span { start, end, rule: "r".to_owned() }];
            Ok(Findings { spans, show_until, need_from })
        });
        let (out, _) = shown(&policy, ExactValues::default(), &bytes, &sizes);
        prop_assert!(out.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
    }
}

#[test]
fn after_a_gap_the_text_goes_on_with_the_next_whole_line() {
    let policy = Fake::nothing();
    let mut stream = stream(ExactValues::default());
    assert_eq!(stream.push(&policy, b"one\ntwo").text.as_str(), "one\ntwo");
    assert_eq!(stream.skip(&policy, 3000).text.as_str(), "\n[... 2.9 KiB not shown]\n");
    assert_eq!(stream.push(&policy, b"the rest of a line\nthree\n").text.as_str(), "three\n");
    assert_eq!(stream.finish(&policy).text.as_str(), "");
}

#[test]
fn what_a_redactor_held_back_before_a_gap_is_not_shown() {
    let policy = referring(Open::Hold);
    let mut stream = stream(ExactValues::default());
    assert_eq!(stream.push(&policy, b"two ke").text.as_str(), "two ");
    assert_eq!(stream.skip(&policy, 998).text.as_str(), "\n[... 1000 B not shown]\n");
}

proptest! {
    #[test]
    fn no_secret_is_shown_wherever_pieces_of_a_stream_are_skipped(
        words in prop::collection::vec(prop_oneof![
            3 => "[a-z]{1,6}", 2 => Just(" ".to_owned()), 2 => Just("\n".to_owned()), 3 => "key=[α-ω]{1,8} ",
        ], 0..40),
        pieces in prop::collection::vec((1_usize..30, any::<bool>()), 1..20),
        open in opens(),
    ) {
        let policy = referring(open);
        let text = words.concat();
        let mut rest = text.as_bytes();
        let mut stream = stream(ExactValues::default());
        let mut out = String::new();
        for (size, skipped) in pieces.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (now, later) = rest.split_at((*size).min(rest.len()));
            let step = if *skipped { stream.skip(&policy, now.len() as u64) } else { stream.push(&policy, now) };
            out.push_str(step.text.as_str());
            rest = later;
            if pieces.iter().all(|(_, skipped)| *skipped) {
                break;
            }
        }
        out.push_str(stream.finish(&policy).text.as_str());
        prop_assert_eq!(leak(&out), None, "{}", out);
    }
}
