//! What holds for every text, every budget and every exit status.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

use hermes_plugin_sdk::{Context, Outcome, Plugin as _, Transform as _};
use proptest::prelude::*;
use summarize_output::{Settings, SummarizeOutput};

fn summary(context: &Context, budget_tokens: usize, text: &str) -> Option<String> {
    let mut plugin = SummarizeOutput::new(Settings { budget_tokens }).unwrap();
    match plugin.apply(context, text).unwrap() {
        Outcome::Unchanged => None,
        Outcome::Replaced(summary) => Some(summary),
        Outcome::Edits(_) => panic!("this plugin makes no edits"),
    }
}

/// Lines as runners print them, and some as nobody does.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "\\[[0-9]{1,3}/900\\] CC obj/m[0-9]{1,3}\\.o",
        4 => "(row|part|INFO step) [0-9]{1,4}",
        2 => "src/[a-z]{1,8}\\.rs:[0-9]{1,3}:[0-9]{1,2}: (error|warning): [a-z ]{1,40}",
        1 => "(FAILED|PASS|FAIL|ok|not ok) tests/[a-z]{1,8}::[a-z]{1,8}",
        1 => "[0-9]{1,3} passed, [0-9]{1,2} failed in [0-9]s",
        1 => "100% tests passed, 0 tests failed out of [0-9]",
        1 => "    at [a-z]{1,6} \\((src|node_modules)/[a-z]{1,6}\\.js:[0-9]{1,3}:[0-9]{1,2}\\)",
        1 => "  [0-9]{1,2}:[0-9]{1,2}  error  [a-z ]{1,20}",
        1 => "2024-05-01T10:00:[0-9]{2}Z (##\\[error\\]|##\\[group\\]Run |\\^\\[\\[31m)[a-z ]{0,20}",
        1 => "key=\\[REDACTED:(env:[A-Z]{3,8}|token)\\] [a-z ]{0,30}",
        1 => "([a-z]{1,12} |\\[REDACTED:token\\] ){20,120}",
        1 => "[a-z]{300,900}",
        1 => "",
        1 => "\\PC{0,60}",
        1 => "[●✕✓❯│×é\t ]{0,4}.{0,20}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    let blocks = prop::collection::vec((line(), 1..30usize), 0..120);
    (blocks, any::<bool>()).prop_map(|(blocks, ended)| {
        let mut text = String::new();
        for (line, times) in blocks {
            let times = if times > 20 { times } else { 1 };
            for _ in 0..times {
                text.push_str(&line);
                text.push('\n');
            }
        }
        if !ended {
            text.pop();
        }
        text
    })
}

fn context() -> impl Strategy<Value = Context> {
    let command = prop_oneof![Just(""), Just("make -j8"), Just("cat log"), Just("npm test | tee out")];
    (
        command,
        prop_oneof![Just(None), Just(Some(0)), Just(Some(1)), Just(Some(137))],
        prop_oneof![9 => Just(None), 1 => Just(Some(9))],
    )
        .prop_map(|(command, exit_code, signal)| Context {
            command: command.to_owned(),
            exit_code,
            signal,
            ..Context::default()
        })
}

fn is_marker(line: &str) -> bool {
    line.starts_with("[... ") && line.ends_with(']')
}

/// Whether a line of a summary is a line of the text: whole, or cut at white space and said to be.
fn stands_for(shown: &str, line: &str) -> bool {
    let last_frame = line.trim_end_matches('\r').rsplit('\r').next().unwrap_or(line);
    if shown == line || shown == last_frame {
        return true;
    }
    let Some((kept, rest)) = shown.rsplit_once('\u{2026}') else { return false };
    let missing = line.strip_prefix(kept).map(|rest| (rest.len(), rest.starts_with([' ', '\t'])));
    missing.is_some_and(|(bytes, blank)| rest == format!("+{bytes} bytes") && (blank || kept.is_empty()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_failed_run_is_never_only_marks(text in text(), budget in 150usize..4_000) {
        let context = Context { exit_code: Some(1), ..Context::default() };
        let text = format!("{}\nerror: the last one", text.trim_end());
        if let Some(summary) = summary(&context, budget, &text) {
            prop_assert!(summary.lines().skip(1).any(|line| !is_marker(line)), "{}", summary);
        }
    }

    #[test]
    fn a_summary_is_whole_lines_in_order_within_the_budget(text in text(), budget in 100..1_500usize, context in context()) {
        let Some(summary) = summary(&context, budget, &text) else {
            let passes = text.len() <= budget * 4 || text.lines().count() <= 1;
            prop_assert!(passes, "a text over the budget was not shortened");
            return Ok(());
        };
        prop_assert!(summary.len() < text.len());
        prop_assert!(summary.len() <= budget * 4, "{} bytes of {}", summary.len(), budget * 4);
        prop_assert_eq!(summary.ends_with('\n'), text.ends_with('\n'));
        let mut shown = summary.split('\n');
        prop_assert!(shown.next().unwrap().starts_with('['));
        let mut lines = text.split('\n');
        for line in shown {
            if line.is_empty() || is_marker(line) {
                continue;
            }
            prop_assert!(lines.any(|whole| stands_for(line, whole)), "{line:?} is no line of the text, or out of order");
        }
    }

    #[test]
    fn masks_are_kept_whole(text in text(), budget in 100..800usize, context in context()) {
        if let Some(summary) = summary(&context, budget, &text) {
            for line in summary.lines() {
                let masks = line.matches("[REDACTED:").count();
                let whole = line.split("[REDACTED:").skip(1).filter(|rest| rest.contains(']')).count();
                prop_assert_eq!(masks, whole, "{}", line);
                let front = line.split_once('\u{2026}').map_or(line, |(front, _)| front);
                prop_assert!(!front.trim_end().ends_with("[REDACTED"), "{}", line);
            }
        }
    }

    #[test]
    fn the_same_text_gives_the_same_bytes(text in text(), budget in 100..800usize, context in context()) {
        prop_assert_eq!(summary(&context, budget, &text), summary(&context, budget, &text));
    }

    #[test]
    fn every_line_is_accounted_for(text in text(), budget in 100..800usize) {
        let context = Context { exit_code: Some(1), ..Context::default() };
        if let Some(summary) = summary(&context, budget, &text) {
            let total = text.lines().count() as u64;
            let stated = |text: &str| text.replace(',', "").parse::<u64>().unwrap_or(0);
            let mut covered = 0;
            for line in summary.lines().skip(1) {
                let ours = is_marker(line) && !text.lines().any(|whole| whole == line);
                let words = line.trim_start_matches("[... ").trim_start_matches("the same ");
                match ours {
                    true if line.contains("last on line") => {}
                    true if line.starts_with("[... line ") => covered += 1,
                    true => covered += stated(words.split(' ').next().unwrap_or_default()),
                    false => covered += 1,
                }
            }
            prop_assert_eq!(covered, total, "{}", summary);
        }
    }

    #[test]
    fn any_bytes_at_all_are_summarised_without_a_panic(text in any::<String>(), repeat in 1..400usize, budget in 100..300usize) {
        let text = text.repeat(repeat);
        let context = Context { exit_code: Some(1), ..Context::default() };
        if let Some(summary) = summary(&context, budget, &text) {
            prop_assert!(summary.len() <= budget * 4);
        }
    }
}
