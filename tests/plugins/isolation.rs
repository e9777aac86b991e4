//! What a plugin does in a call stays in that call: it is ended within its limits, and no other plugin waits for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hermes_model::context::{Context, Surface};
use hermes_output::policy::{Policy, Transformed, Window};
use hermes_tests::home::TestHome;
use hermes_tests::policy::{only_guests, open, streamed, view};

/// What a call that is ended may take on a busy machine, its limits being 250 ms of CPU and 50 ms in the host.
const ENDED_WITHIN: Duration = Duration::from_secs(10);

fn window(text: &str) -> Window<'_> {
    Window { text, fresh_from: 0, front_cut: false, last: true }
}

#[test]
fn a_loop_is_ended_within_its_limit_and_the_next_text_is_answered() {
    let home = TestHome::new();
    only_guests(&home, &[("loops-on-text", "redact")]);
    let plugins = open(&home);
    let policy = plugins.policy();
    let started = Instant::now();
    assert_eq!(view(&*policy, "one LOOP two\n").text.as_str(), "[output withheld: loops-on-text: timeout]");
    assert!(started.elapsed() < ENDED_WITHIN, "{:?}", started.elapsed());
    assert_eq!(view(&*policy, "one two\n").text.as_str(), "one two\n");
}

#[test]
fn a_search_of_the_host_without_end_is_ended_as_a_loop_is_whatever_its_plugin_makes_of_it() {
    let home = TestHome::new();
    only_guests(&home, &[("searches-without-end", "redact")]);
    let plugins = open(&home);
    let policy = plugins.policy();
    let text = "a".repeat(400_000);
    assert_eq!(view(&*policy, &text).text.as_str(), "[output withheld: searches-without-end: timeout]");
    assert_eq!(view(&*policy, "one two\n").text.as_str(), "one two\n");
}

#[test]
fn a_loop_does_not_delay_another_plugins_call() {
    let home = TestHome::new();
    only_guests(&home, &[("loops-on-text", "redact"), ("good-transform", "transform")]);
    // Long enough that the other calls are made while it runs, however busy the machine is.
    home.configure("[plugins.loops-on-text.limits]\ncall = \"3s\"\n");
    let plugins = open(&home);
    let policy = plugins.policy();
    let (entered, left) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let looping = scope.spawn(|| {
            entered.store(true, Ordering::SeqCst);
            let answer = policy.redact(&Context::new(Surface::Foreground), &window("LOOP"));
            left.store(true, Ordering::SeqCst);
            answer
        });
        hermes_tests::wait::until("the loop to begin", ENDED_WITHIN, || entered.load(Ordering::SeqCst).then_some(()));
        for _ in 0..50 {
            let answer = policy.transform(0, &Context::new(Surface::Foreground), "one\ntwo\n");
            assert_eq!(answer, Ok(Transformed::Replaced("one\n(2 lines)\n".to_owned())));
        }
        assert!(!left.load(Ordering::SeqCst), "the other calls waited for the loop");
        assert_eq!(looping.join().unwrap().unwrap_err().code, "timeout");
    });
}

#[test]
fn memory_without_end_is_ended_and_the_next_text_is_answered() {
    let home = TestHome::new();
    only_guests(&home, &[("allocates-on-text", "redact")]);
    let plugins = open(&home);
    let policy = plugins.policy();
    assert_eq!(view(&*policy, "ALLOCATE\n").text.as_str(), "[output withheld: allocates-on-text: memory-limit]");
    assert_eq!(view(&*policy, "plain\n").text.as_str(), "plain\n");
}

#[test]
fn a_panic_is_ended_and_the_next_text_is_answered() {
    let home = TestHome::new();
    only_guests(&home, &[("traps-on-text", "redact")]);
    let plugins = open(&home);
    let policy = plugins.policy();
    assert_eq!(view(&*policy, "BOOM tiramisu\n").text.as_str(), "[output withheld: traps-on-text: trap]");
    assert_eq!(view(&*policy, "plain\n").text.as_str(), "plain\n");
}

#[test]
fn more_places_than_an_answer_may_hold_withhold_the_text() {
    let home = TestHome::new();
    only_guests(&home, &[("too-many-spans", "redact")]);
    let plugins = open(&home);
    let shown = view(&*plugins.policy(), "MANY words\n");
    assert_eq!(shown.text.as_str(), "[output withheld: too-many-spans: output-limit]");
}

#[test]
fn places_out_of_range_mask_more_and_never_less() {
    let home = TestHome::new();
    only_guests(&home, &[("spans-out-of-range", "redact")]);
    let plugins = open(&home);
    let policy = plugins.policy();
    let shown = |text: &str| view(&*policy, text).text.as_str().to_owned();
    let backwards = shown("a BACKWARDS b\n");
    assert!(!backwards.contains("BACKWARDS") && backwards.contains("[REDACTED:odd]"), "{backwards}");
    assert!(backwards.starts_with("a "), "{backwards}");
    let beyond = shown("a BEYOND everything\n");
    assert!(beyond.starts_with("a [REDACTED:odd]") && !beyond.contains("everything"), "{beyond}");
    let character = shown("caf\u{e9} noir\n");
    assert!(!character.contains('\u{e9}') && character.starts_with("caf[REDACTED:odd]"), "{character}");
    assert!(character.ends_with(" noir\n"), "{character}");
}

#[test]
fn a_failure_withholds_without_the_plugins_words() {
    let home = TestHome::new();
    only_guests(&home, &[("fails-with-text", "redact")]);
    let plugins = open(&home);
    let shown = view(&*plugins.policy(), "FAIL tiramisu\n");
    assert_eq!(shown.text.as_str(), "[output withheld: fails-with-text: failure]");
    assert!(!format!("{:?}", shown.report).contains("tiramisu"), "{:?}", shown.report);
}

#[test]
fn a_stream_withholds_what_failed_and_goes_on_with_the_next_line() {
    let home = TestHome::new();
    only_guests(&home, &[("traps-on-text", "redact")]);
    let plugins = open(&home);
    let pieces: [&[u8]; 3] = [b"before\n", b"BOOM tiramisu\n", b"after\n"];
    let shown = streamed(&*plugins.policy(), pieces);
    assert!(shown.contains("[output withheld: traps-on-text: trap]"), "{shown}");
    assert!(!shown.contains("BOOM") && !shown.contains("tiramisu"), "{shown}");
    assert!(shown.starts_with("before\n") && shown.ends_with("after\n"), "{shown}");
}

#[test]
fn what_a_transform_adds_goes_through_redaction_like_anything_else() {
    let home = TestHome::new();
    only_guests(&home, &[("good-redactor", "redact"), ("leaky-transform", "transform")]);
    let plugins = open(&home);
    let shown = view(&*plugins.policy(), "a sekrit-given b\n");
    let text = shown.text.as_str();
    assert_eq!(shown.report.transformed_by, ["leaky-transform"]);
    assert!(!text.contains("sekrit-"), "a secret of the transform is shown: {text:?}");
    assert!(!text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{text:?}");
    assert!(!text.contains("title"), "the text of an escape is shown: {text:?}");
    assert!(text.matches("[REDACTED:sekrit]").count() >= 3, "{text:?}");
    assert!(!text.contains("made-of-two") && !text.contains("plugin"), "{text:?}");
}

#[test]
fn what_a_transform_remembers_was_masked_before_it_saw_it() {
    let home = TestHome::new();
    only_guests(&home, &[("good-redactor", "redact"), ("remembers", "transform")]);
    let plugins = open(&home);
    let policy = plugins.policy();
    drop(view(&*policy, "first sekrit-one\n"));
    let second = view(&*policy, "second\n").text;
    assert!(second.as_str().contains("earlier: first [REDACTED:sekrit]"), "the guest no longer remembers: {second}");
    assert!(!second.as_str().contains("sekrit-one"), "{second}");
}

#[test]
fn edits_out_of_range_leave_the_text_and_are_named() {
    let home = TestHome::new();
    only_guests(&home, &[("edits-out-of-range", "transform")]);
    let plugins = open(&home);
    let shown = view(&*plugins.policy(), "EDIT this\n");
    assert_eq!(shown.text.as_str(), "EDIT this\n");
    assert_eq!(shown.report.transformed_by, Vec::<String>::new());
    assert!(shown.report.warnings.iter().any(|warning| warning.contains("edits-out-of-range")), "{:?}", shown.report);
}

#[test]
fn transforms_see_masks_by_default_and_the_raw_text_where_the_operator_says_so() {
    let home = TestHome::new();
    only_guests(&home, &[("good-redactor", "redact"), ("good-transform", "transform")]);
    for sees in ["masked", "raw"] {
        home.configure(&format!("[policy]\ntransforms_see = \"{sees}\"\n"));
        let plugins = open(&home);
        let shown = view(&*plugins.policy(), "one sekrit-x\ntwo sekrit-y\n");
        assert_eq!(shown.text.as_str(), "one [REDACTED:sekrit]\n(2 lines)\n", "{sees}");
    }
}

#[test]
fn a_flood_of_log_lines_neither_ends_the_call_nor_fills_the_report() {
    let home = TestHome::new();
    home.install_guest("floods-log", "redact");
    assert_eq!(home.row("floods-log")["state"], "loaded");
    let shown = home.run(["run", "--view", "--", "echo", "plain"]).expect(0);
    assert_eq!(shown.stdout.trim_end(), "plain");
    assert!(!shown.stderr.contains("plain"), "{}", shown.stderr);
    let why = home.run(["plugins", "why", "floods-log", "-v"]).expect(0);
    // Lines over the limit are dropped, and no line can play tricks on the terminal of whoever reads them.
    assert_eq!(why.stdout.matches("WARN").count(), 1000);
    assert!(!why.all().contains('\u{1b}'), "{:?}", &why.stdout[..500]);
}

#[test]
fn without_address_space_for_a_pool_the_plugins_are_in_force_all_the_same() {
    let home = TestHome::new();
    // A pool reserves some hundred GiB; in kibibytes, this is 8 GB.
    let limit = "ulimit -v 8000000";
    let shown = home.run_limited(limit, ["run", "--view", "--", "echo", "password=hunter2"]).expect(0).stdout;
    assert_eq!(shown, "password=[REDACTED:password]\n");
    let doctor = home.run_limited(limit, ["doctor", "--json"]).expect(0).json();
    let engine = doctor["checks"].as_array().unwrap().iter().find(|check| check["name"] == "engine").unwrap().clone();
    assert_eq!(engine["state"], "warn", "{engine}");
}
