//! Every text of the repository: it speaks of itself alone, and the book names each of its pages.

use std::collections::BTreeSet;

use hermes_tests::tree::{self, Offence, TextFile};

const PLACES: [&str; 19] = [
    "host",
    "plugins",
    "plugin-sdk",
    "xtask",
    "tests",
    "bench",
    "fuzz",
    "docs",
    "wit",
    ".ci",
    ".config",
    ".cargo",
    "Cargo.toml",
    "clippy.toml",
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
];
const ENDINGS: [&str; 12] =
    [".rs", ".toml", ".md", ".wit", ".sh", "run", ".js", ".py", ".c", ".json", ".jsonl", ".wat"];

/// Ways to name the folder of notes that stands beside this repository while it is written. In two parts, so that this
/// file does not name it.
const NOTES: [(&str, &str); 6] = [
    ("../sha", "red"),
    ("work/sha", "red"),
    ("shared/", "reference"),
    ("shared/", "cases"),
    ("shared/", "design"),
    ("shared/", "json"),
];

fn names_the_notes(files: &[TextFile]) -> Vec<Offence> {
    let needles: Vec<String> = NOTES.iter().map(|(first, second)| format!("{first}{second}")).collect();
    let mut offences = Vec::new();
    for file in files {
        for (number, line) in file.text.lines().enumerate() {
            if let Some(needle) = needles.iter().find(|needle| line.contains(needle.as_str())) {
                offences.push(Offence { path: file.path.clone(), line: number + 1, what: format!("`{needle}`") });
            }
        }
    }
    offences
}

#[test]
fn no_file_names_what_is_not_in_the_repository() {
    tree::assert_none(
        "a file names a folder that readers do not have",
        "say it here, or copy what is needed into this repository",
        names_the_notes(&tree::files(&PLACES, &ENDINGS)),
    );
}

#[test]
fn a_named_folder_is_caught() {
    let text = format!("# Fine\n# See ../{}/x.md\n# a shared/mutable thing\n", "shared");
    let found = names_the_notes(&[TextFile { path: "a.md".to_owned(), text }]);
    assert_eq!(found.iter().map(|offence| offence.line).collect::<Vec<_>>(), [2]);
}

#[test]
fn the_book_names_each_of_its_pages_and_each_page_exists() {
    let pages: BTreeSet<String> = tree::files(&["docs/src"], &[".md"]).into_iter().map(|file| file.path).collect();
    let summary = pages.iter().find(|path| path.ends_with("/SUMMARY.md")).expect("the book has a table of contents");
    let text = std::fs::read_to_string(tree::root().join("docs/src/SUMMARY.md")).unwrap();
    let folder = summary.trim_end_matches("SUMMARY.md");
    let listed: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.split_once("](")?.1.split_once(')'))
        .map(|(target, _)| format!("{folder}{target}"))
        .chain([summary.clone()])
        .collect();
    assert_eq!(listed, pages, "left: named in docs/src/SUMMARY.md; right: in the folder");
}

#[test]
fn the_book_explains_each_problem_code_and_no_other() {
    let read = |path: &str| std::fs::read_to_string(tree::root().join(path)).unwrap();
    // Lines such as `NotWasm = "not-wasm",` and rows such as "| [`not-wasm`](problems/not-wasm.md) | ...".
    let codes: BTreeSet<String> = read("host/plugins/src/problem.rs")
        .lines()
        .filter_map(|line| line.trim().strip_suffix("\",")?.split_once(" = \""))
        .map(|(_, word)| word.to_owned())
        .collect();
    let explained: BTreeSet<String> = read("docs/src/reference/problem-codes.md")
        .lines()
        .filter_map(|line| line.strip_prefix("| [`")?.split_once('`'))
        .map(|(word, _)| word.to_owned())
        .collect();
    assert!(!codes.is_empty(), "no code is found: this rule no longer looks at the right place");
    assert_eq!(codes, explained, "left: host/plugins/src/problem.rs; right: docs/src/reference/problem-codes.md");
}
