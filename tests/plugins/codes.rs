//! Every problem code as `hermes plugins why` prints it. The page of a code in the book is its snapshot: each has one,
//! and it shows exactly what a person sees.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use hermes_plugins::problem::Code;
use hermes_tests::home::{TestHome, files_below};
use hermes_tests::{components, guests, manifests, tree};

/// A plugin's name, and how a home comes to have it with the problem.
type Made = (&'static str, fn(&TestHome));

/// A component of the tests under the name of the book's examples.
fn install(home: &TestHome, component: &[u8]) {
    home.install_bytes("mask-ids", &manifests::pack(component, &manifests::plain("mask-ids", "redact")));
}

fn install_guest(home: &TestHome, name: &str, manifest: &str) {
    home.install_bytes(name, &manifests::pack(&guests::component(name), manifest));
}

/// The file of an installed plugin.
fn stored(home: &TestHome, name: &str) -> PathBuf {
    let digest = home.row(name)["digest"].as_str().unwrap().trim_start_matches("sha256:").to_owned();
    home.root().join("plugins").join("store").join(format!("{digest}.wasm"))
}

/// How each problem comes about. A new code needs a line here and a page.
fn made(code: Code) -> Made {
    match code {
        Code::MissingFile => ("good-redactor", |home| {
            home.install_guest("good-redactor", "redact");
            fs::remove_file(stored(home, "good-redactor")).unwrap();
        }),
        Code::NotWasm => ("mask-ids", |home| home.install_bytes("mask-ids", b"#!/bin/sh\necho hello\n")),
        Code::CoreModule => ("mask-ids", |home| home.install_bytes("mask-ids", &components::core_module())),
        Code::InvalidWasm => ("mask-ids", |home| {
            let whole = components::traps_everywhere();
            home.install_bytes("mask-ids", &whole[..whole.len() - 7]);
        }),
        Code::WasmFeature => ("mask-ids", |home| install(home, &components::with_a_feature_that_is_off())),
        Code::Manifest => ("good-redactor", |home| {
            let manifest = manifests::plain("good-redactor", "redact").replace("license", "licence");
            install_guest(home, "good-redactor", &manifest);
        }),
        Code::RequiresHermes => ("good-redactor", |home| {
            let manifest = manifests::plain("good-redactor", "redact").replace(">=0.1", ">=9");
            install_guest(home, "good-redactor", &manifest);
        }),
        Code::ImportUnknown => ("mask-ids", |home| install(home, &components::imports_of_another_host())),
        Code::ImportTooNew => ("mask-ids", |home| install(home, &components::imports_a_function_of_the_next_release())),
        Code::ImportRemoved => ("mask-ids", |home| install(home, &components::imports_a_removed_interface())),
        Code::ImportShape => ("mask-ids", |home| install(home, &components::imports_a_changed_enum())),
        Code::ImportDenied => ("mask-ids", |home| install(home, &components::imports_wasi_http())),
        Code::MixedPrivilege => ("mask-ids", |home| install(home, &components::redactor_that_talks())),
        Code::ExportMissing => ("mask-ids", |home| install(home, &components::without_lifecycle())),
        Code::ExportShape => ("mask-ids", |home| install(home, &components::exports_a_changed_record())),
        Code::NoHooks => ("mask-ids", |home| install(home, &components::without_hooks())),
        Code::Digest => ("good-redactor", |home| {
            home.install_guest("good-redactor", "redact");
            fs::write(stored(home, "good-redactor"), guests::packed("good-transform", "transform")).unwrap();
        }),
        Code::Limits => ("loops-in-configure", |home| {
            install_guest(home, "loops-in-configure", &manifests::plain("loops-in-configure", "redact"));
        }),
        Code::StartTrap => ("traps-on-each-call", |home| {
            install_guest(home, "traps-on-each-call", &manifests::plain("traps-on-each-call", "redact"));
        }),
        Code::ConfigInvalid => ("refuses-settings", |home| {
            install_guest(home, "refuses-settings", &manifests::plain("refuses-settings", "redact"));
        }),
        Code::SelfTest => ("fails-self-test", |home| {
            install_guest(home, "fails-self-test", &manifests::plain("fails-self-test", "redact"));
        }),
        Code::Canary => ("good-redactor", |home| {
            let plain = manifests::plain("good-redactor", "redact");
            let manifest = manifests::with_canary(&plain, "a number", "id 12345", &["id"]);
            install_guest(home, "good-redactor", &manifest);
        }),
        Code::Quarantined => ("traps-on-text", |home| {
            home.install_guest("traps-on-text", "redact");
            for _ in 0..5 {
                drop(home.run(["run", "--view", "--", "echo", "BOOM"]).expect(0));
            }
        }),
        Code::NeedsGrant => ("quiet-notifier", |home| {
            let manifest = format!("{}permissions = [\"storage\"]\n", manifests::plain("quiet-notifier", "notify"));
            install_guest(home, "quiet-notifier", &manifest);
        }),
    }
}

/// What `why` says of the problem, one problem of several with the others left out; places and digests as in the book.
fn shown(code: Code) -> String {
    let home = TestHome::new();
    let (name, make) = made(code);
    make(&home);
    let why = home.run(["plugins", "why", name]).expect(0).stdout;
    let problems = why.lines().skip_while(|line| *line != "Problems:").skip(1);
    let mut mine = Vec::new();
    let mut inside = false;
    for line in problems.take_while(|line| line.starts_with("  ")) {
        if !line.starts_with("    ") {
            inside = line.trim_start().starts_with(&format!("{code}: "));
        }
        if inside {
            mine.push(line.trim_start());
        }
    }
    assert!(!mine.is_empty(), "{code} is not what `why` says:\n{why}");
    as_in_the_book(&home, &mine.join(" "))
}

/// A text with what differs from machine to machine and from build to build replaced.
fn as_in_the_book(home: &TestHome, text: &str) -> String {
    let text = text.replace(home.root().to_str().unwrap(), "/home/me/.hermes");
    let text = text.replace(home.work().to_str().unwrap(), "/home/me");
    let digest = |part: &&str| part.len() == 64 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = text.split_whitespace().map(|word| {
        let found = word.split(|c: char| !c.is_ascii_alphanumeric()).find(digest);
        found.map_or_else(|| word.to_owned(), |found| word.replace(found, "DIGEST"))
    });
    let words: Vec<String> = words.collect();
    // A time that runs, and a place that moves with each word of the contract.
    let text = with_number(&words.join(" "), "tried again in ", "60");
    with_number(&text, "unexpected end-of-file (at byte ", "4191")
}

/// A text with the number behind these words replaced.
fn with_number(text: &str, words: &str, number: &str) -> String {
    match text.split_once(words) {
        Some((front, rest)) => {
            let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{front}{words}{number}{rest}")
        }
        None => text.to_owned(),
    }
}

fn page(code: Code) -> PathBuf {
    tree::root().join("docs/src/reference/problems").join(format!("{code}.md"))
}

/// The first block of a page, in one line: where lines break is the terminal's business.
fn block(text: &str) -> String {
    let mut parts = text.split("```");
    let block = parts.nth(1).unwrap_or_default();
    block.trim_start_matches("text").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_code_is_shown_as_its_page_shows_it() {
    let mut wrong = BTreeMap::new();
    for code in Code::ALL.iter().copied() {
        let shown = shown(code);
        let text = fs::read_to_string(page(code)).unwrap_or_default();
        if block(&text) != shown {
            wrong.insert(code.word(), format!("{shown}\n  the page says: {}", block(&text)));
        }
    }
    assert!(
        wrong.is_empty(),
        "the first block of these pages in docs/src/reference/problems is not what `hermes plugins why` prints:\n{}",
        wrong.iter().map(|(code, shown)| format!("{code}:\n  {shown}\n")).collect::<String>()
    );
}

#[test]
fn every_code_has_a_page_that_says_what_it_means_and_what_to_do() {
    let index = fs::read_to_string(tree::root().join("docs/src/reference/problem-codes.md")).unwrap();
    let summary = fs::read_to_string(tree::root().join("docs/src/SUMMARY.md")).unwrap();
    for code in Code::ALL {
        let text = fs::read_to_string(page(*code)).unwrap_or_else(|error| panic!("the page of {code}: {error}"));
        assert!(text.starts_with(&format!("# `{code}`\n")), "{code}: the title");
        for section in ["## How it comes about", "## What it looks like", "## What to do"] {
            assert_eq!(text.matches(section).count(), 1, "{code}: {section}");
        }
        let link = format!("problems/{code}.md");
        assert!(index.contains(&link), "problem-codes.md does not lead to {link}");
        assert!(summary.contains(&format!("reference/{link}")), "SUMMARY.md does not lead to {link}");
    }
    let pages = files_below(&tree::root().join("docs/src/reference/problems"));
    assert_eq!(pages.len(), Code::ALL.len(), "a page of no code: {pages:?}");
}
