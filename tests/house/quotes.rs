//! The book quotes code that is built and tested: each place it quotes exists.

use std::fs;
use std::path::Path;

use hermes_tests::tree::{self, Offence, TextFile};

/// How a page quotes a file.
const QUOTE: &str = "{{#include ";

/// What is wrong with a quotation, if anything: `PATH`, `PATH:ANCHOR` or `PATH:FROM:TO`, from the page's folder.
fn flaw(page: &Path, quoted: &str) -> Option<String> {
    let mut parts = quoted.split(':');
    let path = page.parent()?.join(parts.next()?);
    let Ok(text) = fs::read_to_string(&path) else { return Some(format!("{quoted}: there is no such file")) };
    match (parts.next(), parts.next().map(str::parse::<usize>)) {
        (None, _) => None,
        (Some(from), Some(to)) => {
            let (from, to) = (from.parse::<usize>().ok()?, to.ok()?);
            let within = 0 < from && from <= to && to <= text.lines().count();
            (!within).then(|| format!("{quoted}: the file has no such lines"))
        }
        (Some(anchor), None) => {
            let marks = ["ANCHOR: ", "ANCHOR_END: "].map(|mark| format!("{mark}{anchor}"));
            let there = |mark: &String| {
                text.lines()
                    .any(|line| line.split(mark).nth(1).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric)))
            };
            (!marks.iter().all(there)).then(|| format!("{quoted}: the file has no such anchor"))
        }
    }
}

fn broken(page: &TextFile) -> Vec<Offence> {
    let place = tree::root().join(&page.path);
    let mut found = Vec::new();
    for (index, line) in page.text.lines().enumerate() {
        let quoted = line.split(QUOTE).skip(1).filter_map(|rest| Some(rest.split_once("}}")?.0.trim()));
        found.extend(quoted.filter_map(|quoted| flaw(&place, quoted)).map(|what| Offence {
            path: page.path.clone(),
            line: index + 1,
            what,
        }));
    }
    found
}

#[test]
fn what_the_book_quotes_exists() {
    let pages = tree::files(&["docs/src"], &[".md"]);
    assert!(pages.iter().any(|page| page.text.contains(QUOTE)), "no page quotes anything");
    tree::assert_none(
        "a page of the book quotes what is not there",
        "correct the path, the lines or the anchor",
        pages.iter().flat_map(broken).collect(),
    );
}

#[test]
fn a_quotation_of_nothing_is_caught() {
    let page = |quoted: &str| TextFile {
        path: "docs/src/introduction.md".to_owned(),
        text: format!("before\n{QUOTE}{quoted}}}}}\n"),
    };
    assert_eq!(broken(&page("SUMMARY.md:1:2")), []);
    for wrong in ["none.md", "SUMMARY.md:nowhere", "SUMMARY.md:1:100000", "SUMMARY.md:0:1"] {
        let found = broken(&page(wrong));
        assert_eq!(found.iter().map(|offence| offence.line).collect::<Vec<_>>(), [2], "{wrong}");
    }
}
