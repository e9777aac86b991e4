//! Failures of the usual runners, each in a log of noise that is made here: what a reader needs must survive at every
//! budget, alone and inside the log of a CI system.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

use std::collections::HashSet;
use std::fmt::Write as _;

use hermes_plugin_sdk::{Context, Outcome, Plugin as _, Transform as _};
use summarize_output::{Settings, SummarizeOutput};

/// The files of cases. A case begins with `%%% name`, then come its keys, one a line, up to `%`:
/// `exit CODE`, `signal NUMBER`, `status NAME` (how it ended), `command LINE`, `500 TEXT`, `1500 TEXT`, `4000 TEXT`
/// (what is kept from this budget on), `lacks TEXT` (what is never claimed), `bare` (makes no sense in a CI system).
/// Behind `%` is the log. `@COUNT PATTERN` in it makes so many lines: `||` separates patterns of which one is chosen a
/// line; `{i}` counts, `{d}` is a digit, `{n}` a number below 1,000, `{w}` a word, `{W}` a capitalised one, `{p}` a
/// path, `{f}` seconds, `{h}` 7 and `{H}` 40 hexadecimal digits; `\n`, `\r` and `\t` are what they are elsewhere.
const FILES: &[(&str, &str)] = &[
    ("rust", include_str!("../cases/runners/rust.txt")),
    ("python", include_str!("../cases/runners/python.txt")),
    ("javascript", include_str!("../cases/runners/javascript.txt")),
    ("compiled", include_str!("../cases/runners/compiled.txt")),
    ("jvm", include_str!("../cases/runners/jvm.txt")),
    ("others", include_str!("../cases/runners/others.txt")),
    ("operations", include_str!("../cases/runners/operations.txt")),
    ("general", include_str!("../cases/runners/general.txt")),
    ("checks", include_str!("../cases/runners/checks.txt")),
    ("claims", include_str!("../cases/runners/claims.txt")),
];

/// Budgets in tokens, and the same for a log inside that of a CI system, whose every line has a timestamp.
const BUDGETS: [(usize, usize); 3] = [(500, 1_000), (1_500, 2_000), (4_000, 4_000)];

#[derive(Default)]
struct Case<'a> {
    name: &'a str,
    exit: Option<i32>,
    signal: Option<u8>,
    status: Option<&'a str>,
    command: &'a str,
    keep: Vec<(usize, &'a str)>,
    lacks: Vec<&'a str>,
    bare: bool,
    log: Vec<&'a str>,
}

fn cases(file: &'static str) -> Vec<Case<'static>> {
    file.split("\n%%% ").skip(1).map(case).collect()
}

fn case(text: &'static str) -> Case<'static> {
    let mut lines = text.lines();
    let mut case = Case { name: lines.next().unwrap(), ..Case::default() };
    for line in lines.by_ref().take_while(|line| *line != "%") {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        match key {
            "exit" => case.exit = Some(value.parse().unwrap()),
            "signal" => case.signal = Some(value.parse().unwrap()),
            "status" => case.status = Some(value),
            "command" => case.command = value,
            "lacks" => case.lacks.push(value),
            "bare" => case.bare = true,
            budget => case.keep.push((budget.parse().unwrap(), value)),
        }
    }
    case.log = lines.collect();
    case
}

/// A row of numbers that is the same in every run (Knuth's constants of a linear congruential generator).
struct Row(u64);

impl Row {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn word(&mut self) -> &'static str {
        const WORDS: [&str; 32] = [
            "alpha", "basin", "cobalt", "delta", "ember", "fjord", "garnet", "harbor", "iris", "juniper", "kelp",
            "lumen", "maple", "nectar", "onyx", "prism", "quartz", "ripple", "sable", "tundra", "umber", "velvet",
            "willow", "xenon", "yarrow", "zephyr", "anchor", "beacon", "copper", "drift", "echo", "flint",
        ];
        WORDS[self.below(32) as usize]
    }

    fn hexadecimal(&mut self, digits: usize, out: &mut String) {
        for _ in 0..digits {
            let _ = write!(out, "{:x}", self.below(16));
        }
    }

    fn fill(&mut self, pattern: &str, count: usize, out: &mut String) {
        let mut rest = pattern;
        while let Some(at) = rest.find(['{', '\\']) {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let known = ["{i}", "{d}", "{n}", "{w}", "{W}", "{p}", "{f}", "{h}", "{H}", "\\n", "\\r", "\\t"];
            // Only in noise, which is counted from 1, a backslash means something.
            let known = if count == 0 { &known[..9] } else { &known[..] };
            let Some(key) = known.iter().find(|key| rest.starts_with(**key)) else {
                out.push_str(&rest[..1]);
                rest = &rest[1..];
                continue;
            };
            match *key {
                "{i}" => _ = write!(out, "{count}"),
                "{d}" => _ = write!(out, "{}", self.below(10)),
                "{n}" => _ = write!(out, "{}", self.below(1_000)),
                "{w}" => out.push_str(self.word()),
                "{W}" => {
                    let word = self.word();
                    out.push_str(&word[..1].to_uppercase());
                    out.push_str(&word[1..]);
                }
                "{p}" => _ = write!(out, "{}/{}", self.word(), self.word()),
                "{f}" => _ = write!(out, "{}.{:02}", self.below(9), self.below(100)),
                "{h}" => self.hexadecimal(7, out),
                "{H}" => self.hexadecimal(40, out),
                "\\n" => out.push('\n'),
                "\\r" => out.push('\r'),
                _ => out.push('\t'),
            }
            rest = &rest[key.len()..];
        }
        out.push_str(rest);
    }
}

/// Makes a case's log; every stretch of noise has `tenths` of its length.
fn log(case: &Case<'_>, tenths: usize, seed: u64) -> String {
    let mut out = String::new();
    let mut row = Row(seed);
    for line in &case.log {
        let noise = line.strip_prefix('@').and_then(|rest| rest.split_once(' '));
        let noise = noise.and_then(|(count, pattern)| Some((count.parse::<usize>().ok()?, pattern)));
        let Some((count, pattern)) = noise else {
            row.fill(line, 0, &mut out);
            out.push('\n');
            continue;
        };
        let patterns: Vec<&str> = pattern.split("||").collect();
        for at in 1..=(count * tenths).div_ceil(10) {
            let chosen = patterns[row.below(patterns.len() as u64) as usize];
            row.fill(chosen, at, &mut out);
            out.push('\n');
        }
    }
    out
}

/// The log of a CI system around that of a case.
fn wrapped(case: &Case<'_>, log: &str) -> String {
    let mut out = String::new();
    let mut second = 0;
    let mut line = |text: &str| {
        second += 1;
        let (minute, second) = (second / 60, second % 60);
        let _ = writeln!(out, "2026-03-0{}T1{}:{:02}:{second:02}.1234567Z {text}", 2, minute / 60, minute % 60);
    };
    let mut row = Row(7);
    let mut noise = |line: &mut dyn FnMut(&str), count: usize, pattern: &str| {
        for at in 0..count {
            let mut text = String::new();
            row.fill(pattern, at, &mut text);
            line(&text);
        }
    };
    line("Current runner version: '2.311.0'");
    line("##[group]Operating System");
    line("Ubuntu");
    line("##[endgroup]");
    line("##[group]GITHUB_TOKEN Permissions");
    noise(&mut line, 12, "{W}: read");
    line("##[endgroup]");
    line("Prepare workflow directory");
    noise(&mut line, 4, "Download action repository 'actions/{w}@v{d}' (SHA:{H})");
    line("##[group]Run actions/checkout@v4");
    line("with:");
    noise(&mut line, 9, "  {w}-{w}: false");
    line("##[endgroup]");
    noise(&mut line, 30, "[command]/usr/bin/git config --local {w}.{w} {n}");
    noise(&mut line, 60, " * [new branch]      {p} -> origin/{p}");
    line("##[group]Run ./ci/setup.sh");
    line("./ci/setup.sh || (echo \"error: setup failed\" && exit 1)");
    line("shell: /usr/bin/bash -e {0}");
    line("##[endgroup]");
    noise(&mut line, 60, "Get:{d} https://archive.example.test/ubuntu noble/main amd64 {w}-{w} amd64 {d}.{d} [{n} kB]");
    noise(&mut line, 20, "Setting up {w}-{w} ({d}.{d}.{d}) ...");
    let command = if case.command.is_empty() { "./ci/run.sh" } else { case.command };
    line(&format!("##[group]Run {command}"));
    line(command);
    line("shell: /usr/bin/bash -e {0}");
    line("env:");
    line("  FAIL_FAST: true");
    line("##[endgroup]");
    log.lines().for_each(&mut line);
    line(&format!("##[error]Process completed with exit code {}.", case.exit.unwrap_or(1)));
    line("##[group]Run actions/upload-artifact@v4");
    line("with:");
    line("  if-no-files-found: warn");
    line("##[endgroup]");
    line("##[warning]No files were found with the provided path: reports/*.xml. No artifacts will be uploaded.");
    line("Post job cleanup.");
    noise(&mut line, 20, "[command]/usr/bin/git config --local --unset-all {w}.{w}");
    line("Cleaning up orphan processes");
    noise(&mut line, 3, "Terminate orphan process: pid ({n}) ({w})");
    out
}

fn shown(case: &Case<'_>, budget_tokens: usize, text: &str) -> String {
    let mut context =
        Context { command: case.command.to_owned(), exit_code: case.exit, signal: case.signal, ..Context::default() };
    if let Some(status) = case.status {
        context.labels.push(("status".to_owned(), status.to_owned()));
    }
    match SummarizeOutput::new(Settings { budget_tokens }).unwrap().apply(&context, text).unwrap() {
        Outcome::Unchanged => text.to_owned(),
        Outcome::Replaced(summary) => summary,
        Outcome::Edits(_) => panic!("this plugin makes no edits"),
    }
}

/// What is wrong with the summaries of a text: `budgets` are that of the case and the one that is used.
fn problems(case: &Case<'_>, text: &str, budgets: &[(usize, usize)]) -> Vec<String> {
    // What stays of a line that was drawn over is its last frame.
    let frame = |line: &'_ str| line.rsplit('\r').find(|frame| !frame.is_empty()).unwrap_or("").to_owned();
    let lines: HashSet<String> = text.lines().map(frame).collect();
    let mut found = Vec::new();
    for &(level, budget) in budgets {
        let summary = shown(case, budget, text);
        if summary.len() > (budget * 4).min(text.len()) {
            found.push(format!("{budget}: {} bytes", summary.len()));
        }
        let wanted = case.keep.iter().filter(|(from, _)| *from <= level);
        for (from, lost) in wanted.filter(|(_, wanted)| !summary.contains(wanted)) {
            let lost_by = if text.contains(lost) { "the summary" } else { "the case itself" };
            found.push(format!("{budget}: {lost:?} of {from} is missing in {lost_by}"));
        }
        for claimed in case.lacks.iter().filter(|claim| summary.contains(**claim)) {
            found.push(format!("{budget}: claims {claimed:?}"));
        }
        if summary != text {
            let invented = summary.lines().skip(1).find(|line| {
                let cut = line.split_once('\u{2026}').is_some_and(|(front, _)| text.contains(front));
                !(line.starts_with("[... ") && line.ends_with(']') || lines.contains(*line) || cut)
            });
            found.extend(invented.map(|line| format!("{budget}: invents {line:?}")));
        }
    }
    found
}

fn check(of: &dyn Fn(&Case<'_>) -> Vec<String>) {
    let only = std::env::var("RUNNER_CASE").ok();
    let mut failures = Vec::new();
    for (file, text) in FILES {
        for case in cases(text).iter().filter(|case| only.as_ref().is_none_or(|only| case.name.contains(only))) {
            failures.extend(of(case).into_iter().map(|problem| format!("{file}/{}: {problem}", case.name)));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn there_are_many_cases_with_names_of_their_own_and_every_log_is_long() {
    /// More than the largest budget, or nothing would be chosen.
    const LONG: usize = 16_001;
    let all: Vec<Case<'_>> = FILES.iter().flat_map(|(_, file)| cases(file)).collect();
    assert!(all.len() >= 120, "{}", all.len());
    let names: HashSet<&str> = all.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), all.len());
    for case in &all {
        let length = log(case, 10, 1).len();
        assert!(length >= LONG, "{}: {length} bytes", case.name);
        assert!(!case.keep.is_empty(), "{}", case.name);
    }
}

#[test]
fn what_a_reader_needs_survives_at_every_budget() {
    check(&|case| problems(case, &log(case, 10, 1), &BUDGETS.map(|(level, _)| (level, level))));
}

#[test]
fn what_a_reader_needs_survives_inside_the_log_of_a_ci_system() {
    check(&|case| if case.bare { Vec::new() } else { problems(case, &wrapped(case, &log(case, 10, 1)), &BUDGETS) });
}

/// What passing tests print when they expect an error, a stretch of it a line.
const EXPECTED: &[&str] = &[
    "  console.error\\n    Warning: An update to {W} inside a test was not wrapped in act(...).\\n        at {W} (/work/src/{p}.tsx:{n}:{d})",
    "2026-01-02 03:04:05,{n} ERROR {w}.{w}: cannot reach {w}: refused (expected by the test {w}_{w})",
    "Error: {w} {w} is closed\\n    at {W}.{w} (/work/src/{p}.js:{n}:{d})\\n    at node:internal/process/task_queues:95:5",
    "WARN  {w}::{w}: the {w} of {w} timed out, retrying",
    "Traceback (most recent call last):\\n  File \"/work/{p}.py\", line {n}, in {w}\\n    {w}()\\nValueError: {w} of {w}",
    "[{w}] warning: failed to load {p}.yml, using the default of {w}",
    "java.lang.IllegalStateException: {w} {w}\\n\\tat test.{w}.{W}.{w}({W}.java:{n})",
    "src/{p}.c:{n}:{d}: warning: unused variable '{w}' [-Wunused-variable]\\n  {n} |   int {w};",
];

/// So many stretches of them.
fn expected(stretches: usize) -> String {
    let mut text = String::new();
    let mut row = Row(5);
    for at in 1..=stretches {
        let chosen = EXPECTED[row.below(EXPECTED.len() as u64) as usize];
        row.fill(chosen, at, &mut text);
        text.push('\n');
    }
    text
}

#[test]
fn errors_that_tests_expect_do_not_hide_the_one_that_counts() {
    /// More of them than the budget holds.
    const STRETCHES: usize = 200;
    check(&|case| {
        if case.bare {
            return Vec::new(); // No output of a test runner.
        }
        problems(case, &(expected(STRETCHES) + &log(case, 10, 1)), &[(1_500, 4_000)])
    });
}

#[test]
fn complaints_of_cleaning_up_do_not_hide_what_failed() {
    check(&|case| {
        if case.bare || case.exit == Some(0) {
            return Vec::new(); // Nothing failed.
        }
        problems(case, &(log(case, 10, 1) + &expected(40)), &[(500, 4_000)])
    });
}

#[test]
fn other_noise_and_more_or_less_of_it_change_nothing() {
    check(&|case| {
        let texts = [(7, 2), (20, 3), (13, 4)].map(|(tenths, seed)| log(case, tenths, seed));
        texts.iter().flat_map(|text| problems(case, text, &[(4_000, 4_000)])).collect()
    });
}
