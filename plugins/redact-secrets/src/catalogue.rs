//! Every rule of `rules/*.toml` against its own examples and counter-examples, and the page that lists them. Examples
//! are templates, so that nothing that looks live stands in the repository: `{hex:32}` is thirty-two hexadecimal digits,
//! the same ones every time.

use std::collections::BTreeMap;
use std::path::PathBuf;

use hermes_plugin_sdk::{Context, Plugin, Redact, Window};
use serde::Deserialize;

use crate::cases::{boundaries, masked, stream, view};
use crate::{RedactSecrets, Settings, check};

#[derive(Deserialize)]
struct File {
    group: String,
    #[serde(default)]
    token: Vec<Entry>,
    #[serde(default)]
    service: Vec<Entry>,
    #[serde(default)]
    form: Vec<Entry>,
}

/// What the tests need of an entry.
#[derive(Deserialize)]
struct Entry {
    label: String,
    what: String,
    #[serde(default)]
    prefix: Vec<String>,
    size: Option<usize>,
    max: Option<usize>,
    #[serde(default)]
    sure: String,
    #[serde(default)]
    check: String,
    mask: Option<String>,
    before: Option<toml::Value>,
    #[serde(default)]
    example: Vec<String>,
    #[serde(default)]
    stays: Vec<String>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("rules")
}

fn files() -> Vec<File> {
    let mut paths: Vec<_> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()).collect()
}

fn tokens() -> Vec<Entry> {
    files().into_iter().flat_map(|file| file.token).collect()
}

fn services() -> Vec<Entry> {
    files().into_iter().flat_map(|file| file.service).collect()
}

/// `size` characters of `alphabet`, one of each kind it has first.
fn chance(seed: &mut u64, alphabet: &str, size: usize) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut next = || {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        letters[(*seed >> 20) as usize % letters.len()]
    };
    let kinds: [fn(&char) -> bool; 3] = [char::is_ascii_digit, char::is_ascii_uppercase, char::is_ascii_lowercase];
    loop {
        let text: String = (0..size).map(|_| next()).collect();
        let has = |kind: &fn(&char) -> bool| text.chars().any(|c| kind(&c)) || !alphabet.chars().any(|c| kind(&c));
        if size < 8 || kinds.iter().all(has) {
            return text;
        }
    }
}

const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const DIGITS: &str = "0123456789";

fn alphabet(name: &str) -> String {
    match name {
        "alnum" => [UPPER, LOWER, DIGITS].concat(),
        "word" => [UPPER, LOWER, DIGITS, "_-"].concat(),
        "letter" => [UPPER, LOWER].concat(),
        "upper" => [UPPER, DIGITS].concat(),
        "lower" => [LOWER, DIGITS].concat(),
        "hex" => "0123456789abcdef".to_owned(),
        "hexup" => "0123456789ABCDEF".to_owned(),
        "digit" => DIGITS.to_owned(),
        "base32" => [UPPER, "234567"].concat(),
        _ => panic!("no macro is called {name}"),
    }
}

fn checksum(of: &str) -> String {
    let digits: Vec<char> = [DIGITS, UPPER, LOWER].concat().chars().collect();
    let mut sum = check::crc(of.as_bytes()) as usize;
    let mut text: Vec<char> = Vec::new();
    for _ in 0..6 {
        text.push(digits[sum % 62]);
        sum /= 62;
    }
    text.iter().rev().collect()
}

/// The text of a template.
fn expand(template: &str) -> String {
    let mut seed =
        template.bytes().fold(0x9E37_79B9_7F4A_7C15u64, |seed, c| (seed ^ u64::from(c)).wrapping_mul(0x100_0193));
    let (mut out, mut rest, mut last) = (String::new(), template, String::new());
    while let Some((text, tail)) = rest.split_once('{') {
        let (name, tail) = tail.split_once('}').unwrap();
        out.push_str(text);
        last = match name.split_once(':') {
            Some((name, size)) => chance(&mut seed, &alphabet(name), size.parse().unwrap()),
            None if name == "crc" => checksum(&last),
            None if name == "uuid" => {
                [8, 4, 4, 4, 12].map(|size| chance(&mut seed, "0123456789abcdef", size)).join("-")
            }
            None => panic!("no macro is called {name}"),
        };
        out.push_str(&last);
        rest = tail;
    }
    out + rest
}

/// Where the secret of an example begins.
fn secret_at(entry: &Entry, example: &str) -> usize {
    let ends = entry.prefix.iter().filter_map(|prefix| example.find(prefix.as_str()).map(|at| at + prefix.len()));
    if entry.mask.is_some() { ends.max().unwrap() } else { 0 }
}

fn report(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_example_is_masked_with_its_label_wherever_it_stands() {
    let mut wrong = Vec::new();
    for entry in tokens() {
        for template in &entry.example {
            let text = expand(template);
            let at = secret_at(&entry, &text);
            let mask = format!("{}[REDACTED:{}]", &text[..at], entry.label);
            let address = text.contains("//") && text.contains("https");
            let around: &[(&str, &str)] = &[
                ("", ""),
                ("found ", " in it\n"),
                ("\"", "\""),
                ("'", "',\n"),
                ("{\"value\": \"", "\", \"n\": 1}"),
                ("note=", "\n"),
                ("(", ")"),
                ("https://h.example/p?page=", "&n=1"),
                ("first\\n", "\\n"),
                ("[", "]"),
            ];
            for (before, after) in &around[..if address { 7 } else { around.len() }] {
                let out = view(&format!("{before}{text}{after}"));
                if out != format!("{before}{mask}{after}") {
                    wrong.push(format!("{template}: {before}{text}{after} became {out}"));
                }
            }
        }
    }
    report(&wrong);
}

#[test]
fn a_letter_beside_a_token_makes_it_part_of_a_word_where_its_rule_says_so() {
    let mut wrong = Vec::new();
    for entry in tokens().iter().filter(|entry| entry.mask.is_none()) {
        let text = expand(&entry.example[0]);
        let label = format!("[REDACTED:{}]", entry.label);
        let joined = view(&format!("Q{text}"));
        let open = entry.before.as_ref().is_some_and(|before| before["min"] != before["max"]);
        let sure = entry.check == "crc32" || open;
        if (joined.starts_with(&format!("Q{label}")) || joined.starts_with(&label)) != sure {
            wrong.push(format!("before: {text} became {joined}"));
        }
        // A body of letters alone is told by its length, without a promise that it ends there.
        let letters = text.bytes().all(|c| !c.is_ascii_digit());
        let longer = view(&format!("{text}{}", "Qw7Zk2".repeat(if entry.size.is_some() { 1 } else { 15 })));
        let bounded = entry.max.or(entry.size).is_some();
        if longer.contains(&label) == bounded && !(entry.sure == "random" && letters) {
            wrong.push(format!("behind: {text} became {longer}"));
        }
    }
    report(&wrong);
}

#[test]
fn an_example_that_is_cut_anywhere_has_the_mask_of_the_whole() {
    let mut wrong = Vec::new();
    for entry in tokens().iter().chain(&services()) {
        for template in &entry.example {
            let text = format!("x {} y\n", expand(template));
            let whole = view(&text);
            wrong.extend(
                boundaries(&text)
                    .into_iter()
                    .filter(|&cut| stream(&text, &[cut]) != whole)
                    .map(|cut| format!("{} cut at {cut}: {}", entry.label, &text[..cut])),
            );
        }
    }
    report(&wrong);
}

#[test]
fn what_only_begins_like_a_token_stays() {
    let mut wrong = Vec::new();
    for entry in tokens().iter().chain(&services()) {
        for stays in entry.stays.iter().map(|stays| expand(stays)) {
            for text in [stays.clone(), format!("see {stays} here\n"), format!("\"{stays}\": 1"), format!("({stays})")]
            {
                let out = view(&text);
                if out != text {
                    wrong.push(format!("{text} became {out}"));
                }
            }
        }
    }
    report(&wrong);
}

#[test]
fn keys_behind_the_name_of_a_service_have_its_label() {
    let mut wrong = Vec::new();
    for entry in services() {
        for template in &entry.example {
            let out = view(&format!("{}\n", expand(template)));
            if !out.contains(&format!("[REDACTED:{}]", entry.label)) || out.matches("[REDACTED").count() != 1 {
                wrong.push(format!("{template}: {out}"));
            }
        }
    }
    report(&wrong);
}

#[test]
fn every_rule_can_be_turned_off_by_its_name() {
    let mut off: BTreeMap<String, RedactSecrets> = BTreeMap::new();
    for entry in tokens().iter().chain(&services()) {
        let plugin = off.entry(entry.label.clone()).or_insert_with(|| {
            RedactSecrets::new(Settings { disable: vec![entry.label.clone()], ..Settings::default() }).unwrap()
        });
        for template in &entry.example {
            let text = expand(template);
            let found = plugin.scan(&Context::default(), &Window::view(&text)).unwrap();
            let out = masked(&text, &found.spans);
            assert!(!out.contains(&format!("[REDACTED:{}]", entry.label)), "{template}: {out}");
        }
    }
}

#[test]
fn the_rules_that_are_code_are_all_listed() {
    let mut listed: Vec<String> = files().into_iter().flat_map(|file| file.form).map(|form| form.label).collect();
    let mut known: Vec<String> = crate::rules::OTHERS.iter().map(|rule| rule.name.to_owned()).collect();
    listed.sort();
    known.sort();
    assert_eq!(listed, known);
}

/// The page of all labels, as it has to be.
fn page() -> String {
    let files = files();
    let count = |of: fn(&File) -> usize| files.iter().map(of).sum::<usize>();
    let mut labels: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut groups = String::new();
    for file in &files {
        groups.push_str(&format!("\n## {}\n\n| Label | What |\n|---|---|\n", file.group));
        let mut rows: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for entry in file.token.iter().chain(&file.service).chain(&file.form) {
            rows.entry(&entry.label).or_default().push(&entry.what);
            labels.entry(entry.label.clone()).or_default().push(entry.what.clone());
        }
        for (label, what) in rows {
            groups.push_str(&format!("| `{label}` | {} |\n", what.join("; ").replace('|', "\\|")));
        }
    }
    format!(
        "# Redaction rules\n\nEvery name that can stand in a mask of `redact-secrets`, as `[REDACTED:<label>]`, and in its \
         setting `disable`: {} labels of {} rules ({} token shapes with {} prefixes, {} services, {} forms).\nThis page is \
         made of the plugin's `rules/*.toml`; a test compares them.\n{groups}",
        labels.len(),
        count(|file| file.token.len() + file.service.len() + file.form.len()),
        count(|file| file.token.len()),
        crate::rules::TOKENS.len(),
        count(|file| file.service.len()),
        count(|file| file.form.len()),
    )
}

#[test]
fn the_page_of_all_labels_is_what_the_rules_say() {
    let path = folder().join("../../../docs/src/reference/redaction-rules.md");
    let wanted = page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == wanted, "docs/src/reference/redaction-rules.md is old; run this test with UPDATE=1 to write it");
}
