//! The tools of a plugin's author: what `test` finds, what it says to do, what `--update` writes, and what `bench` keeps.

use std::fs;
use std::path::{Path, PathBuf};

use hermes_tests::home::{Ran, TestHome};
use hermes_tests::{guests, manifests};
use serde_json::Value;

/// A folder with a guest, its manifest and its cases.
fn folder(home: &TestHome, name: &str, manifest: &str, cases: &str) -> PathBuf {
    let folder = home.work().join(name);
    fs::create_dir_all(folder.join("cases")).unwrap();
    fs::write(folder.join("plugin.toml"), manifest).unwrap();
    fs::write(folder.join(format!("{name}.wasm")), guests::component(name)).unwrap();
    fs::write(folder.join("cases/all.jsonl"), cases).unwrap();
    folder
}

fn tested(home: &TestHome, folder: &Path, more: &[&str]) -> Ran {
    home.run([&["plugins", "test", folder.to_str().unwrap()], more].concat())
}

/// The messages of the cases that failed, each with its name and its difference.
fn failures(report: &Value) -> Vec<String> {
    let cases = report["cases"].as_array().unwrap().iter().filter(|case| case["ok"] == false);
    let text = |case: &Value, key: &str| case[key].as_str().unwrap_or_default().to_owned();
    cases
        .map(|case| {
            let difference: Vec<&str> = case["difference"].as_array().unwrap().iter().flat_map(Value::as_str).collect();
            format!("{} | {} | {}", text(case, "name"), text(case, "message"), difference.join(" / "))
        })
        .collect()
}

#[track_caller]
fn assert_found(home: &TestHome, folder: &Path, wanted: &[&str]) {
    let report = tested(home, folder, &["--json"]).expect(1).json();
    let failures = failures(&report);
    let found = failures.iter().any(|failure| wanted.iter().all(|words| failure.contains(words)));
    assert!(found, "none of these says {wanted:?}: {failures:#?}");
}

/// The canary is short, since some of these are slow and it is shown in every kind of pieces.
fn redactor(name: &str) -> String {
    manifests::with_canary(&manifests::plain(name, "redact"), "a plain text", "hi", &[])
}

fn transform(name: &str, effect: &str) -> String {
    let canary = format!("\n[[canary]]\nname = \"two lines\"\ntext = \"one\\ntwo\\n\"\neffect = \"{effect}\"\n");
    format!("{}{canary}", manifests::plain(name, "transform"))
}

#[test]
fn cases_of_every_kind_that_hold_are_one_line_and_the_costs_stand_beside_their_limits() {
    let home = TestHome::new();
    let cases = r#"{"name": "spans", "text": "a sekrit-word b", "spans": [{"start": 2, "end": 13, "rule": "sekrit"}]}
{"name": "masked", "text": "a sekrit-word b", "masked": "a [REDACTED:sekrit] b"}
{"name": "words", "text": "a sekrit-word b", "contains": ["a ", " b"], "lacks": ["sekrit-word"]}
{"name": "stays", "text": "a word", "unchanged": true}
"#;
    let folder = folder(&home, "good-redactor", &redactor("good-redactor"), cases);
    let ran = tested(&home, &folder, &["--seed", "7"]).expect(0);
    assert!(ran.stdout.contains("4 cases of cases/all.jsonl"), "{}", ran.stdout);
    assert!(ran.stdout.contains("all well (seed 7)"), "{}", ran.stdout);
    for cost in ["start ", "call ", "call with 1 MiB", "memory ", "output ", "spans ", "log lines ", "host calls "] {
        assert!(ran.stdout.lines().any(|line| line.starts_with(cost)), "{cost} is missing in {}", ran.stdout);
    }
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 100), "{}", ran.stdout);

    let report = tested(&home, &folder, &["--json"]).expect(0).json();
    let limits = report["budget"]["limits"].as_array().unwrap();
    for limit in limits.iter().filter(|limit| !limit["limit"].is_null()) {
        assert!(limit["ok"] == true && limit["used"].as_f64() < limit["limit"].as_f64(), "{limit}");
    }
    assert!(report["budget"]["mb_per_s"].as_f64().unwrap() > 0.0, "{report}");
}

#[test]
fn a_case_that_fails_shows_what_was_expected_and_what_came() {
    let home = TestHome::new();
    let cases = r#"{"name": "half", "text": "a sekrit-word b", "spans": [{"start": 2, "end": 8, "rule": "sekrit"}]}
{"name": "shown", "text": "one\na sekrit-word b\n", "masked": "one\na sekrit-word b\n"}
"#;
    let folder = folder(&home, "good-redactor", &redactor("good-redactor"), cases);
    assert_found(&home, &folder, &["case: half", "--update", "- 2..8 sekrit: sekrit / + 2..13 sekrit: sekrit-word"]);
    let shown = "line 2: / - a sekrit-word b / + a [REDACTED:sekrit] b";
    assert_found(&home, &folder, &["case: shown", shown]);
    let ran = tested(&home, &folder, &[]).expect(1);
    assert!(ran.stdout.contains("fail case: half (cases/all.jsonl:1)"), "{}", ran.stdout);
    assert!(ran.stdout.contains("+ a [REDACTED:sekrit] b"), "{}", ran.stdout);
}

#[test]
fn an_update_shows_the_difference_and_writes_what_the_plugin_answers_now() {
    let home = TestHome::new();
    let kept = r#"{"name":"kept",   "text": "a word", "unchanged": true}"#;
    let cases = format!(
        "{}\n{kept}\n{}\n",
        r#"{"name": "old", "masked": "a sekrit-word b", "text": "a sekrit-word b"}"#,
        r#"{"name": "new", "text": "sekrit-x"}"#
    );
    let folder = folder(&home, "good-redactor", &redactor("good-redactor"), &cases);
    assert_found(&home, &folder, &["case: new", "does not say what it expects", "--update"]);
    let ran = tested(&home, &folder, &["--update"]).expect(0);
    assert!(
        ran.stdout.contains("- a sekrit-word b") && ran.stdout.contains("+ a [REDACTED:sekrit] b"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("2 cases expect something else now"), "{}", ran.stdout);
    let written = fs::read_to_string(folder.join("cases/all.jsonl")).unwrap();
    let lines: Vec<&str> = written.lines().collect();
    assert_eq!(lines[0], r#"{"name": "old", "masked": "a [REDACTED:sekrit] b", "text": "a sekrit-word b"}"#);
    assert_eq!(lines[1], kept);
    assert_eq!(lines[2], r#"{"name": "new", "text": "sekrit-x", "masked": "[REDACTED:sekrit]"}"#);
    drop(tested(&home, &folder, &[]).expect(0));
}

#[test]
fn words_are_not_for_an_update_to_say() {
    let home = TestHome::new();
    let cases = "{\"name\": \"words\", \"text\": \"a sekrit-word b\", \"contains\": [\"sekrit-word\"]}\n";
    let folder = folder(&home, "good-redactor", &redactor("good-redactor"), cases);
    let ran = tested(&home, &folder, &["--update"]).expect(1);
    assert!(
        ran.stdout.contains("- sekrit-word") && ran.stdout.contains("correct the case or the plugin"),
        "{}",
        ran.stdout
    );
    assert_eq!(fs::read_to_string(folder.join("cases/all.jsonl")).unwrap(), cases);
}

#[test]
fn a_key_nobody_knows_is_named_with_its_line_and_a_suggestion() {
    let home = TestHome::new();
    let cases = "\n{\"name\": \"a\", \"text\": \"b\", \"maskd\": \"b\"}\n";
    let folder = folder(&home, "good-redactor", &redactor("good-redactor"), cases);
    assert_found(&home, &folder, &["cases/all.jsonl line 2: unknown key 'maskd'; did you mean 'masked'?"]);
}

#[test]
fn cases_of_a_transform_and_of_a_notifier_say_what_comes_of_a_text() {
    let home = TestHome::new();
    let cases = r#"{"name": "lines", "text": "one\ntwo\n", "becomes": "one\n(2 lines)\n"}
{"name": "words", "text": "one\ntwo\n", "contains": ["(2 lines)"], "lacks": ["two"]}
"#;
    let shortens = folder(&home, "good-transform", &transform("good-transform", "changed"), cases);
    drop(tested(&home, &shortens, &[]).expect(0));
    let cases = r#"{"name": "other", "text": "one\ntwo\n", "becomes": "one\n(3 lines)\n"}"#;
    fs::write(shortens.join("cases/all.jsonl"), cases).unwrap();
    assert_found(&home, &shortens, &["case: other", "line 2: / - (3 lines) / + (2 lines)"]);

    let canary = "\n[[canary]]\nname = \"made\"\ntext = \"made\"\nverdict = \"deliver\"\n";
    let manifest = format!("{}{canary}", manifests::plain("obeys-text", "notify"));
    let cases = r#"{"name": "made", "text": "made", "verdict": "deliver"}
{"name": "kind", "text": "SUPPRESS it", "event": {"kind": "heartbeat"}, "verdict": "suppress"}
"#;
    let decides = folder(&home, "obeys-text", &manifest, cases);
    drop(tested(&home, &decides, &[]).expect(0));
    fs::write(decides.join("cases/all.jsonl"), r#"{"name": "loud", "text": "SUPPRESS it", "verdict": "deliver"}"#)
        .unwrap();
    assert_found(&home, &decides, &["case: loud", "another verdict", "- deliver / + suppress"]);
}

#[test]
fn a_place_that_is_none_fails_its_case() {
    let home = TestHome::new();
    let cases = "{\"name\": \"beyond\", \"text\": \"a BEYOND b\", \"masked\": \"a [REDACTED:odd]\"}\n";
    let folder = folder(&home, "spans-out-of-range", &redactor("spans-out-of-range"), cases);
    assert_found(&home, &folder, &["case: beyond", "a span from 2 to", "no place in its 10 bytes"]);
}

#[test]
fn a_redactor_that_shows_what_may_become_a_secret_is_told_the_cut_and_what_to_hold_back() {
    let home = TestHome::new();
    let cases = "{\"name\": \"a word\", \"text\": \"a sekrit-word b\", \"lacks\": [\"sekrit-word\"]}\n";
    let folder = folder(&home, "holds-nothing", &redactor("holds-nothing"), cases);
    assert_found(&home, &folder, &["every chunking: a word", "cut at byte", "show-until", "need-from"]);
}

#[test]
fn what_is_left_of_a_call_is_found_and_shrunk_to_the_two_calls_that_show_it() {
    let home = TestHome::new();
    let mut cases = String::new();
    for number in 0..12 {
        cases += &format!("{{\"name\": \"plain {number}\", \"text\": \"plain {number}\\n\", \"unchanged\": true}}\n");
    }
    cases += "{\"name\": \"teacher\", \"text\": \"learn tiramisu\\n\", \"unchanged\": true}\n";
    cases += "{\"name\": \"pupil\", \"text\": \"a tiramisu\\n\", \"unchanged\": true}\n";
    let folder = folder(&home, "learns-words", &redactor("learns-words"), &cases);
    // In half of all orders the teacher comes first; of four orders of this seed, one does.
    let report = tested(&home, &folder, &["--json", "--seed", "1"]).expect(1).json();
    let failures = failures(&report);
    let wanted = "'pupil' is answered otherwise after 'teacher' than alone";
    assert!(failures.iter().any(|failure| failure.contains(wanted) && failure.contains("--seed 1")), "{failures:#?}");
    assert_eq!(failures.len(), 1, "{failures:#?}");
}

#[test]
fn a_plugin_that_remembers_its_own_last_text_is_told_to_forget() {
    let home = TestHome::new();
    let folder = folder(&home, "remembers", &transform("remembers", "changed"), "");
    assert_found(&home, &folder, &["same answer", "the second time", "must not stay in the plugin"]);
}

#[test]
fn a_cost_near_its_limit_fails_with_the_part_that_is_used() {
    let home = TestHome::new();
    let much = folder(&home, "takes-much-memory", &redactor("takes-much-memory"), "");
    assert_found(&home, &much, &["memory: 8", "% of its limit", "keep less in memory"]);
    let again = folder(&home, "says-it-all-again", &transform("says-it-all-again", "changed"), "");
    assert_found(&home, &again, &["expansion: 125 % of its limit (5.00 times of 4.00 times)", "return less"]);
    let slow = folder(&home, "slow-by-the-byte", &redactor("slow-by-the-byte"), "");
    assert_found(&home, &slow, &["call with 1 MiB: ended (timeout)", "do less for each byte"]);
    let floods = folder(&home, "floods-log", &redactor("floods-log"), "");
    assert_found(&home, &floods, &["log lines: 2000 % of its limit", "log less"]);
}

#[test]
fn the_bundled_plugins_pass_their_own_cases() {
    let home = TestHome::new();
    for name in ["redact-secrets", "summarize-output"] {
        let source = hermes_tests::tree::root().join("plugins").join(name);
        let folder = home.work().join(name);
        fs::create_dir_all(folder.join("cases")).unwrap();
        for file in ["plugin.toml", "cases/kinds.jsonl"] {
            fs::copy(source.join(file), folder.join(file)).unwrap();
        }
        let built = hermes_tests::home::target().join("wasm32-wasip2/plugin").join(name.replace('-', "_") + ".wasm");
        fs::copy(built, folder.join(format!("{name}.wasm"))).unwrap();
        let report = tested(&home, &folder, &["--json"]).json();
        assert_eq!(failures(&report), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_bench_compares_with_the_run_before_and_keeps_figures_only() {
    let home = TestHome::new().with("XDG_CACHE_HOME", "");
    let cache = home.everything().join("user/.cache/hermes");
    let cases = "{\"name\": \"a\", \"text\": \"a sekrit-word b\", \"lacks\": [\"sekrit-word\"]}\n";
    let folder = folder(&home, "good-redactor", &redactor("good-redactor"), cases);
    fs::write(home.work().join("own.txt"), "my own tiramisu\n".repeat(1000)).unwrap();
    let bench = |more: &[&str]| {
        let path = folder.to_str().unwrap();
        home.run([&["plugins", "bench", path, "--rounds", "1", "--file", "own.txt"], more].concat())
    };
    let first = bench(&["--json"]).expect(0).json();
    assert!(first["previous"].is_null(), "{first}");
    let texts = first["hooks"][0]["texts"].as_array().unwrap();
    assert_eq!(texts.iter().map(|text| text["text"].as_str().unwrap()).collect::<Vec<_>>(), ["clean", "dirty", "file"]);
    for text in texts {
        let quantiles = [&text["p50_us"], &text["p90_us"], &text["p99_us"]].map(|value| value.as_f64().unwrap());
        assert!(quantiles.is_sorted() && text["mb_per_s"].as_f64().unwrap() > 0.0, "{text}");
    }
    let second = bench(&[]).expect(0);
    assert!(second.stdout.contains("compared with the last run of the same file"), "{}", second.stdout);
    assert!(second.stdout.lines().any(|line| line.starts_with("compile") && line.contains("(x")), "{}", second.stdout);
    let kept = cache.join("bench/good-redactor.json");
    let mode = std::os::unix::fs::PermissionsExt::mode(&kept.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let kept = fs::read_to_string(kept).unwrap();
    assert!(!kept.contains("sekrit") && !kept.contains("tiramisu") && !kept.contains("own.txt"), "{kept}");
    assert!(!home.root().exists(), "a measurement created the home");
}
