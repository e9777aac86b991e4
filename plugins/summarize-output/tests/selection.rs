//! What is kept first when not all can be.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

use hermes_plugin_sdk::{Context, Outcome, Plugin as _, Transform as _};
use std::fmt::Write as _;
use summarize_output::{Settings, SummarizeOutput};

fn summary(exit_code: i32, command: &str, budget_tokens: usize, text: &str) -> Option<String> {
    let mut plugin = SummarizeOutput::new(Settings { budget_tokens }).unwrap();
    let context = Context { exit_code: Some(exit_code), command: command.to_owned(), ..Context::default() };
    match plugin.apply(&context, text).unwrap() {
        Outcome::Replaced(summary) => Some(summary),
        _ => None,
    }
}

/// Lines that say nothing, no two of them alike.
fn noise(lines: usize, seed: usize) -> String {
    let word = |n: usize| ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove"][n % 7];
    (0..lines).fold(String::new(), |mut text, n| {
        let n = n * 31 + seed;
        writeln!(text, "{} {} {} {}", word(n), word(n / 7), word(n / 49), word(n / 343)).unwrap();
        text
    })
}

#[test]
fn the_first_and_the_last_error_survive_many_others() {
    let mut text = noise(200, 1);
    for n in 0..400 {
        writeln!(text, "src/m{n}.c:{n}:1: error: unknown name 'n{n}' in the module of the number {n}").unwrap();
    }
    text.push_str(&noise(200, 5));
    text.push_str("make: *** [all] Error 2\n");
    let summary = summary(2, "make", 300, &text).unwrap();
    for kept in ["src/m0.c:0:1: error", "src/m399.c:399:1: error", "make: *** [all] Error 2", "with errors"] {
        assert!(summary.contains(kept), "{kept} is missing in\n{summary}");
    }
}

#[test]
fn an_error_of_another_kind_is_not_crowded_out() {
    let same = |from: usize| {
        (from..from + 200).fold(String::new(), |mut text, n| {
            writeln!(text, "lib/q{n}.ts({n},3): error TS2307: cannot find module './q{n}'").unwrap();
            text
        })
    };
    let text = format!("{}app.ts(4,7): error TS2322: a string is no number\n{}", same(0), same(200));
    assert!(summary(1, "tsc", 200, &text).unwrap().contains("app.ts(4,7): error TS2322"));
}

#[test]
fn the_users_own_frame_of_a_long_trace_is_kept() {
    let mut text = noise(300, 2);
    text.push_str("TypeError: wheel is undefined\n");
    for n in 0..25 {
        writeln!(text, "    at spin{n} (/app/node_modules/spinner/lib/core.js:{n}:9)").unwrap();
    }
    text.push_str("    at roll (/app/src/wheel.js:12:5)\n");
    text.push_str(&noise(300, 3));
    text.push_str("exit status 1\n");
    let summary = summary(1, "node app", 300, &text).unwrap();
    assert!(summary.contains("at roll (/app/src/wheel.js:12:5)"), "{summary}");
}

#[test]
fn a_failure_that_nothing_is_known_about_is_front_and_end() {
    let text = noise(900, 4);
    let summary = summary(3, "./tool", 200, &text).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(summary.starts_with("[exit 3; 900 lines"));
    assert!(summary.contains(lines[0]) && summary.ends_with(&format!("{}\n", lines[899])), "{summary}");
}

#[test]
fn content_passes_up_to_the_budget_and_is_cut_in_the_middle_above_it() {
    let text = "the same line of a file\n".repeat(200);
    assert_eq!(summary(0, "cat notes", 4_000, &text), None);
    assert!(summary(0, "./print", 4_000, &text).is_some());
    let long: String = (0..2_000).fold(String::new(), |mut text, n| {
        writeln!(text, "lib/a.rs:{n}: error: quoted {n}").unwrap();
        text
    });
    let summary = summary(0, "grep -n error lib/a.rs", 500, &long).unwrap();
    assert!(summary.contains("lib/a.rs:0: error") && summary.contains("lib/a.rs:1999: error"));
    assert_eq!(summary.lines().filter(|line| line.starts_with("[... ")).count(), 1, "{summary}");
}

#[test]
fn a_file_named_above_its_findings_comes_with_them() {
    let mut text = String::new();
    for n in 0..200 {
        writeln!(text, "/app/src/f{n}.ts\n  {n}:5  warning  unexpected statement  no-console\n").unwrap();
    }
    text.push_str("/app/src/bad.ts\n  3:1  warning  old  no-old\n  12:5  error  'x' is never used  no-unused\n\n");
    for n in 0..200 {
        writeln!(text, "/app/src/g{n}.ts\n  {n}:5  warning  unexpected statement  no-console\n").unwrap();
    }
    text.push_str("401 problems (1 error, 400 warnings)\n");
    let summary = summary(1, "eslint .", 300, &text).unwrap();
    let file = summary.find("/app/src/bad.ts").unwrap();
    assert!(summary[file..].find("12:5  error").is_some_and(|at| at < 80), "{summary}");
}

#[test]
fn a_run_whose_time_ran_out_is_said_to_have_and_is_no_success() {
    let mut text: String = (0..400).map(|line| format!("step {line} of something that takes long\n")).collect();
    text += "all 400 steps passed\n";
    let mut plugin = SummarizeOutput::new(Settings { budget_tokens: 200 }).unwrap();
    let labels = vec![("status".to_owned(), "timed-out".to_owned())];
    let context = Context { command: "make check".to_owned(), labels, ..Context::default() };
    let Outcome::Replaced(summary) = plugin.apply(&context, &text).unwrap() else { panic!("nothing was left out") };
    assert!(summary.starts_with("[timed out;"), "{summary}");
}

#[test]
fn places_of_warnings_do_not_fill_a_summary_that_leaves_the_warnings_out() {
    let mut text = String::new();
    for n in 0..300 {
        text +=
            &format!("warning: unused variable: `v{n}`\n --> src/part_{n}.rs:3:5\n  |\n3 | let v{n} = 1;\n  | ^^^\n\n");
    }
    text += "error[E0308]: mismatched types\n --> src/lib.rs:40:9\n";
    let summary = summary(101, "cargo build", 400, &text).unwrap();
    assert!(summary.contains("error[E0308]") && summary.contains("src/lib.rs:40:9"), "{summary}");
    for (line, next) in summary.lines().zip(summary.lines().skip(1)) {
        let left_alone = next.contains("--> src/part_") && !line.contains("warning: ");
        assert!(!left_alone, "a place without its warning:\n{summary}");
    }
}
