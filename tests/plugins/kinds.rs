//! Every given case through the real components in the real host: whole, and in every kind of piece.

use hermes_model::context::{Context, Surface};
use hermes_tests::home::TestHome;
use hermes_tests::policy::{open, streamed, view, viewed};
use hermes_tests::tree;
use serde_json::Value;

/// How much of a secret may be seen before it counts as shown.
const PIECE: usize = 12;

/// What must not be shown.
const LACKS: &str = "lacks";
/// What must be.
const CONTAINS: &str = "contains";

fn cases(path: &str) -> Vec<Value> {
    let path = tree::root().join(path);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let cases: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(cases.len() >= 10, "{} holds only {} cases", path.display(), cases.len());
    // A case that says nothing under the words looked for here would pass whatever is shown.
    let says = |case: &&Value| !words(case, LACKS).is_empty() || !words(case, CONTAINS).is_empty();
    assert_eq!(cases.iter().filter(says).count(), cases.len(), "{}", path.display());
    cases
}

fn words<'a>(case: &'a Value, key: &str) -> Vec<&'a str> {
    case[key].as_array().into_iter().flatten().map(|word| word.as_str().unwrap()).collect()
}

/// Only redact-secrets, so that nothing shortens what it shows.
fn redactor_alone() -> TestHome {
    let home = TestHome::new();
    drop(home.run(["plugins", "disable", "summarize-output"]).expect(0));
    assert_eq!(home.row("redact-secrets")["state"], "loaded");
    home
}

/// What of the case is wrong in what was shown.
fn wrong_in(case: &Value, shown: &str) -> Vec<String> {
    let leaks = words(case, LACKS).into_iter().filter(|secret| {
        let pieces = secret.len() > PIECE && secret.is_ascii();
        shown.contains(secret) || pieces && (0..=secret.len() - PIECE).any(|at| shown.contains(&secret[at..at + PIECE]))
    });
    let lost = words(case, CONTAINS).into_iter().filter(|keep| !shown.contains(keep));
    let mut wrong: Vec<String> =
        leaks.map(|secret| format!("{}: leaks {secret:?} in {shown:?}", case["name"])).collect();
    wrong.extend(lost.map(|keep| format!("{}: lost {keep:?} in {shown:?}", case["name"])));
    wrong
}

#[test]
fn every_secret_is_masked_in_a_reply_and_everything_else_stays() {
    let home = redactor_alone();
    let plugins = open(&home);
    let policy = plugins.policy();
    let mut wrong = Vec::new();
    for case in cases("plugins/redact-secrets/cases/kinds.jsonl") {
        let shown = view(&*policy, case["text"].as_str().unwrap());
        assert_eq!(shown.report.withheld, None, "{}", case["name"]);
        wrong.extend(wrong_in(&case, shown.text.as_str()));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_secret_is_masked_in_a_stream_whatever_its_pieces() {
    let home = redactor_alone();
    let plugins = open(&home);
    let policy = plugins.policy();
    let mut wrong = Vec::new();
    for case in cases("plugins/redact-secrets/cases/kinds.jsonl") {
        let text = case["text"].as_str().unwrap();
        let whole = streamed(&*policy, [text.as_bytes()]);
        wrong.extend(wrong_in(&case, &whole));
        for size in [1, 2, 3, 7, 16, 61] {
            let shown = streamed(&*policy, text.as_bytes().chunks(size));
            if shown != whole {
                wrong.push(format!("{} in pieces of {size}: {shown:?}, whole: {whole:?}", case["name"]));
            }
        }
        for cut in 1..text.len() {
            let (front, back) = text.as_bytes().split_at(cut);
            let shown = streamed(&*policy, [front, back]);
            if shown != whole {
                wrong.push(format!("{} cut at {cut}: {shown:?}, whole: {whole:?}", case["name"]));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_secret_across_the_border_of_a_pipe_or_a_window_is_masked() {
    let home = redactor_alone();
    let plugins = open(&home);
    let policy = plugins.policy();
    let secret = "ghp_Zq8xPl0aMn3vKc7dRt5yWb2eHu9jLs4gTf6k";
    // Pipes deliver 4,096 bytes at a time, and redactors get 65,536.
    for border in [4096, 65_536] {
        for before in [0, 1, 3, 4, 20, secret.len() - 1, secret.len()] {
            let filler = "x y\n".repeat((border - before) / 4) + &"z".repeat((border - before) % 4);
            let text = format!("{}\n{secret} end\n", &filler[..border - before - 1]);
            let shown = streamed(&*policy, text.as_bytes().chunks(4096));
            assert!(
                shown.ends_with("[REDACTED:github-pat] end\n"),
                "{border} - {before}: {:?}",
                &shown[shown.len() - 80..]
            );
            assert!(!shown.contains(&secret[8..20]));
            assert!(view(&*policy, &text).text.as_str().ends_with(" end\n"));
            assert!(!view(&*policy, &text).text.as_str().contains(&secret[8..20]));
        }
    }
}

#[test]
fn every_summary_keeps_what_matters_and_claims_nothing_false() {
    let mut cases = cases("plugins/summarize-output/cases/kinds.jsonl");
    let budget_of = |case: &Value| case["settings"]["budget_tokens"].as_u64().unwrap();
    cases.sort_by_key(budget_of);
    let mut wrong = Vec::new();
    for group in cases.chunk_by(|a, b| budget_of(a) == budget_of(b)) {
        let home = TestHome::new();
        let budget = budget_of(&group[0]);
        home.configure(&format!("[plugins.summarize-output.settings]\nbudget_tokens = {budget}\n"));
        let plugins = open(&home);
        let policy = plugins.policy();
        for case in group {
            let mut context = Context::new(Surface::Foreground);
            context.command = case["command"].as_str().unwrap_or_default().to_owned();
            context.exit_code = case["exit_code"].as_i64().map(|code| i32::try_from(code).unwrap());
            let text = case["text"].as_str().unwrap();
            let shown = viewed(&*policy, &context, text.as_bytes());
            let summary = shown.text.as_str();
            let id = &case["name"];
            if !shown.report.warnings.is_empty() || shown.report.withheld.is_some() {
                wrong.push(format!("{id}: {:?}", shown.report));
            }
            wrong.extend(
                words(case, CONTAINS)
                    .into_iter()
                    .filter(|keep| !summary.contains(keep))
                    .map(|keep| format!("{id}: lost {keep:?} in {summary}")),
            );
            wrong.extend(
                words(case, LACKS)
                    .into_iter()
                    .filter(|claim| summary.contains(claim))
                    .map(|claim| format!("{id}: claims {claim:?}")),
            );
            if shown.report.transformed_by == ["summarize-output"] {
                if !summary.contains(&format!("exit {}", case["exit_code"])) {
                    wrong.push(format!("{id}: the exit status is missing"));
                }
                if summary.len() as u64 > budget * 4 {
                    wrong.push(format!("{id}: {} bytes for {budget} tokens", summary.len()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
