//! Tests of the watch.

use proptest::prelude::*;

use super::super::lines::LINE_MAX;
use super::super::lines::tests::chunks;
use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn watch(patterns: &[&str]) -> Watch {
    Watch::new(patterns.iter().map(|&pattern| pattern.to_owned()).collect()).unwrap()
}

fn matched(pattern: usize, lines: &str, suppressed: u64) -> WatchEvent {
    WatchEvent::Matched { pattern, lines: lines.to_owned(), cut: false, suppressed }
}

fn disabled(reason: DisabledReason, suppressed: u64) -> WatchEvent {
    WatchEvent::Disabled { reason, suppressed }
}

/// What a process that prints one matching line at each of these seconds is reported for, with the second.
fn reports(seconds: impl IntoIterator<Item = u32>) -> Vec<(u32, WatchEvent)> {
    let mut watch = watch(&["ERROR"]);
    let at = |second| watch.push("ERROR\n", second * SECOND).into_iter().map(move |event| (second, event)).collect();
    seconds.into_iter().flat_map::<Vec<_>, _>(at).collect()
}

#[test]
fn bad_patterns_are_refused_by_number_and_never_quoted() {
    let refused = |patterns: Vec<String>| Watch::new(patterns).err().unwrap();
    assert_eq!(refused(vec![]), BadPattern::None);
    assert_eq!(refused(vec!["a".into(); 33]), BadPattern::TooMany(33));
    assert_eq!(refused(vec!["a".into(), String::new()]), BadPattern::Empty(2));
    assert_eq!(refused(vec!["a".repeat(1001)]), BadPattern::TooLong { number: 1, bytes: 1001 });
    for text in ["geheim\n", "geheim\u{1b}[1m"] {
        let bad = refused(vec![text.into()]);
        assert_eq!(bad, BadPattern::Unmatchable(1));
        assert!(!bad.to_string().contains("geheim"));
    }
    assert!(Watch::new(vec!["\ta".repeat(500); 32]).is_ok());
}

#[test]
fn the_lines_of_a_match_come_with_the_first_pattern_that_the_first_of_them_holds() {
    let mut watch = watch(&["fatal", "error"]);
    assert_eq!(watch.push("all is well\nan err", SECOND), []);
    let events = watch.push("or\nfatal error\nother\nfatal", SECOND);
    assert_eq!(events, [matched(1, "an error\nfatal error", 0)]);
    assert_eq!(watch.finish(20 * SECOND), [matched(0, "fatal", 0)], "a last line without its end");
    assert_eq!(watch.pattern(1), Some("error"));
}

#[test]
fn matches_soon_after_one_are_counted_and_told_with_the_next() {
    assert_eq!(reports([0, 5, 14, 15]), [(0, matched(0, "ERROR", 0)), (15, matched(0, "ERROR", 2))]);
}

#[test]
fn three_noisy_intervals_in_a_row_end_the_watch() {
    let events = reports((0..100).step_by(5));
    let reasons: Vec<_> = events.iter().map(|(second, _)| *second).collect();
    assert_eq!(reasons, [0, 15, 30, 35]);
    assert_eq!(events[3].1, disabled(DisabledReason::Strikes, 1));
}

#[test]
fn a_quiet_interval_forgives_the_strikes() {
    let events = reports([0, 1, 20, 21, 40, 60, 61, 80, 81]);
    assert!(events.iter().all(|(_, event)| matches!(event, WatchEvent::Matched { .. })));
    assert_eq!(events.len(), 5);
}

#[test]
fn a_line_every_sixteen_seconds_wakes_nobody_all_day() {
    let events = reports((0..86_400).step_by(16));
    assert_eq!(events.len(), 9);
    assert_eq!(events[7], (7 * 16, matched(0, "ERROR", 0)), "the last match is delivered");
    assert_eq!(events[8], (7 * 16, disabled(DisabledReason::Lifetime, 0)));
}

#[test]
fn a_match_has_twenty_lines_at_most_and_counts_the_others() {
    let text: String = (0..25).map(|number| format!("ERROR {number}\n")).collect();
    let events = watch(&["ERROR"]).push(&text, SECOND);
    let [WatchEvent::Matched { lines, cut: true, suppressed: 5, .. }] = &events[..] else { panic!("{events:?}") };
    assert_eq!((lines.lines().count(), lines.lines().last()), (20, Some("ERROR 19")));
}

#[test]
fn a_long_line_is_cut_between_characters_and_around_its_match() {
    let text = format!("{}ERROR{}\nERROR\n", "🦀".repeat(3000), "α".repeat(3000));
    let events = watch(&["ERROR"]).push(&text, SECOND);
    let [WatchEvent::Matched { lines, cut: true, suppressed: 1, .. }] = &events[..] else { panic!("{events:?}") };
    assert_eq!(lines, &format!("{}ERROR{}", "🦀".repeat(500), "α".repeat(1495)));
    let text = format!("{}ERROR{}\n", "x".repeat(1995), "y".repeat(10));
    let events = watch(&["ERROR"]).push(&text, SECOND);
    assert!(matches!(&events[0], WatchEvent::Matched { lines, .. } if *lines == text[..2000]));
}

#[test]
fn a_pattern_across_the_border_of_two_pieces_is_found_once() {
    for start in LINE_MAX - 6..=LINE_MAX + 1 {
        let text = format!("{}ERROR{}\n", "x".repeat(start), "y".repeat(3 * LINE_MAX));
        let mut watch = watch(&["ERROR", &"z".repeat(1000)]);
        let events = watch.push(&text, SECOND);
        let once = matches!(&events[..], [WatchEvent::Matched { pattern: 0, suppressed: 0, .. }]);
        assert!(once, "at {start}: {events:?}");
    }
}

/// The matching lines of a text, each counted, whether shown or not.
fn count(chunks: &[&str], patterns: &[&str], pause: Duration) -> (u64, Vec<(Duration, WatchEvent)>) {
    let mut watch = watch(patterns);
    let (mut now, mut events) = (Duration::ZERO, Vec::new());
    for chunk in chunks {
        now += pause;
        events.extend(watch.push(chunk, now).into_iter().map(|event| (now, event)));
    }
    now += WATCH_INTERVAL;
    events.extend(watch.finish(now).into_iter().map(|event| (now, event)));
    let mut count = 0;
    for (_, event) in &events {
        let (WatchEvent::Disabled { suppressed, .. } | WatchEvent::Matched { suppressed, .. }) = event;
        count += suppressed;
        if let WatchEvent::Matched { lines, .. } = event {
            count += lines.split('\n').count() as u64;
        }
    }
    if let State::Watching(lines, pace) = &watch.state {
        count += pace.suppressed;
        assert!(lines.held() <= LINE_MAX);
    }
    (count, events)
}

proptest! {
    #[test]
    fn chunks_never_change_which_lines_match(
        text in "([abα ]{0,4}(ab|ba|αb)?\n?){0,6}",
        sizes in prop::collection::vec(1_usize..9, 1..5),
    ) {
        // So few chunks that no limit ends the watch: every matching line is shown or counted.
        let cut = chunks(&text, &sizes);
        let expected = text.split('\n').filter(|line| line.contains("ab") || line.contains("αb")).count() as u64;
        prop_assert_eq!(count(&[&text], &["ab", "αb"], Duration::ZERO).0, expected);
        prop_assert_eq!(count(&cut, &["ab", "αb"], Duration::from_millis(1)).0, expected);
    }

    #[test]
    fn chunks_never_change_the_matches_of_lines_longer_than_a_piece(
        starts in prop::collection::vec(0_usize..3 * LINE_MAX, 1..4),
        sizes in prop::collection::vec(1_usize..90_000, 1..4),
    ) {
        let mut line = "x".repeat(3 * LINE_MAX + 10);
        for start in starts {
            line.replace_range(start..start + 5, "ERROR");
        }
        let patterns = ["ERROR", "RORx", "a pattern longer than these"];
        let whole = count(&[&line], &patterns, SECOND).0;
        prop_assert!(whole >= 1);
        prop_assert_eq!(count(&chunks(&line, &sizes), &patterns, SECOND).0, whole);
    }

    #[test]
    fn the_limits_hold_whatever_comes_and_whenever(
        pushes in prop::collection::vec(("([xy]{0,3}ERROR.{0,30}|.{0,9}\n){0,30}", 1_usize..300, 0_u32..40), 0..60),
    ) {
        let mut watch = watch(&["ERROR", "xx"]);
        let (mut now, mut events) = (Duration::ZERO, Vec::new());
        for (text, times, pause) in pushes {
            now += pause * SECOND;
            let was_watching = watch.is_watching();
            let new = watch.push(&text.repeat(times), now);
            prop_assert!(was_watching || new.is_empty());
            events.extend(new.into_iter().map(|event| (now, event)));
        }
        let mut last: Option<Duration> = None;
        let mut hits = 0;
        for (at, event) in &events {
            if let WatchEvent::Matched { lines, .. } = event {
                hits += 1;
                prop_assert!(lines.chars().count() <= MATCH_CHARS_MAX && lines.split('\n').count() <= 20);
                prop_assert!(last.is_none_or(|last| *at - last >= WATCH_INTERVAL));
                last = Some(*at);
            }
        }
        prop_assert!(hits <= HITS_MAX);
        let disabled = events.iter().filter(|(_, event)| matches!(event, WatchEvent::Disabled { .. })).count();
        prop_assert_eq!(disabled, usize::from(!watch.is_watching()));
    }
}
