//! The seam: what a child printed has no way out but one, and what may be shown is made in one place.

use hermes_tests::rust::{self, RustFile};
use hermes_tests::tree::{self, Offence, TextFile};

/// What may be shown.
const VISIBLE: &str = "Visible";
/// Documents that may be shown.
const VISIBLE_JSON: &str = "VisibleJson";
/// Where those are made: the policy's road for documents, and the cutting of what came out of it.
const JSON_ROAD: [&str; 2] = ["host/output/src/json.rs", "host/output/src/json/"];
/// What was captured.
const CAPTURED: &str = "Captured";

/// Places where a value of the type is made: a literal with its name, or `Self` in its own implementation.
fn constructions(file: &RustFile, name: &str) -> Vec<Offence> {
    let mut found: Vec<usize> = Vec::new();
    for (at, _) in file.shipped.match_indices(name) {
        if is_literal(&file.shipped, at, name) {
            found.push(at);
        }
    }
    for (from, to) in own_implementations(&file.shipped, name) {
        for (at, _) in file.shipped[from..to].match_indices("Self") {
            if is_literal(&file.shipped, from + at, "Self") {
                found.push(from + at);
            }
        }
    }
    found
        .into_iter()
        .map(|at| Offence {
            path: file.path.clone(),
            line: file.shipped[..at].matches('\n').count() + 1,
            what: format!("a {name} is made"),
        })
        .collect()
}

/// Whether the word at `at` is followed by fields and not preceded by what makes it a definition or a type.
fn is_literal(code: &str, at: usize, word: &str) -> bool {
    let before = code[..at].trim_end();
    let after = &code[at + word.len()..];
    let whole = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let opens = after.trim_start().starts_with('{') || after.starts_with('(');
    let last_word = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    let defines = before.ends_with(last_word) && ["struct", "enum", "impl", "for", "trait", "mod"].contains(&last_word);
    // `-> Visible {` is a function's type and `impl<'a> Visible {` an implementation; `=> Visible {` makes one.
    let is_type = before.ends_with("->") || (before.ends_with('>') && !before.ends_with("=>"));
    whole && opens && !defines && !is_type
}

/// Ranges of `impl Name { ... }` and `impl Trait for Name { ... }`.
fn own_implementations(code: &str, name: &str) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    for (at, _) in code.match_indices("impl") {
        let Some(open) = code[at..].find('{').map(|offset| at + offset) else { continue };
        let head = &code[at + "impl".len()..open];
        let subject = head.rsplit(" for ").next().unwrap_or(head);
        let subject = subject.split(" where").next().unwrap_or(subject).trim();
        let bare = subject.split('<').next().unwrap_or(subject).trim();
        let generic = subject.starts_with('<') && subject.ends_with(name);
        if bare.rsplit("::").next() != Some(name) && !generic {
            continue;
        }
        let mut depth = 0_usize;
        let end = code[open..].char_indices().find_map(|(offset, c)| match c {
            '{' => {
                depth += 1;
                None
            }
            '}' => {
                depth -= 1;
                (depth == 0).then_some(open + offset + 1)
            }
            _ => None,
        });
        ranges.push((open, end.unwrap_or(code.len())));
    }
    ranges
}

/// Traits the type derives, or has implemented, out of those forbidden.
fn traits(file: &RustFile, name: &str, forbidden: &[&str]) -> Vec<Offence> {
    let mut offences = Vec::new();
    let offence = |line: usize, what: String| Offence { path: file.path.clone(), line, what };
    let lines: Vec<&str> = file.shipped.lines().collect();
    for (number, line) in lines.iter().enumerate() {
        let words: Vec<&str> =
            line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty()).collect();
        if words.windows(2).any(|pair| pair == ["struct", name]) {
            // The attributes above the definition.
            let above = lines[..number]
                .iter()
                .rev()
                .take_while(|line| line.trim().is_empty() || !line.trim_end().ends_with(['}', ';']));
            for attribute in above.filter(|line| line.contains("derive(")) {
                for word in attribute.split(|c: char| !c.is_alphanumeric()).filter(|word| forbidden.contains(word)) {
                    offences.push(offence(number + 1, format!("{name} derives {word}")));
                }
            }
        }
        let implements = words.first() == Some(&"impl") && words.windows(2).any(|pair| pair == ["for", name]);
        if let Some(word) = words.iter().find(|word| implements && forbidden.contains(word)) {
            offences.push(offence(number + 1, format!("{name} implements {word}")));
        }
    }
    offences
}

#[test]
fn what_may_be_shown_is_made_in_exactly_one_place() {
    let files = rust::files(&["host"]);
    let made: Vec<Offence> = files.iter().flat_map(|file| constructions(file, VISIBLE)).collect();
    assert!(!made.is_empty(), "no place makes a {VISIBLE}: this rule no longer looks at the right name");
    let extra = if made.len() == 1 { Vec::new() } else { made };
    tree::assert_none(
        "a Visible is made in more than one place",
        "call the one function that does it, after the policy",
        extra,
    );
    let forbidden = ["Default", "Deserialize", "From"];
    tree::assert_none(
        "a Visible can come from somewhere else",
        "remove the trait: only the policy's result may be shown",
        files.iter().flat_map(|file| traits(file, VISIBLE, &forbidden)).collect(),
    );
}

#[test]
fn documents_that_may_be_shown_are_made_on_one_road() {
    let files = rust::files(&["host"]);
    let made: Vec<Offence> = files.iter().flat_map(|file| constructions(file, VISIBLE_JSON)).collect();
    assert!(!made.is_empty(), "no place makes a {VISIBLE_JSON}: this rule no longer looks at the right name");
    let on_the_road = |offence: &Offence| JSON_ROAD.iter().any(|road| offence.path.starts_with(road));
    tree::assert_none(
        "a VisibleJson is made beside its road",
        "call reveal_json, or cut one that is there",
        made.into_iter().filter(|offence| !on_the_road(offence)).collect(),
    );
    let forbidden = ["Default", "Deserialize", "From"];
    tree::assert_none(
        "a VisibleJson can come from somewhere else",
        "remove the trait: only the policy's result may be shown",
        files.iter().flat_map(|file| traits(file, VISIBLE_JSON, &forbidden)).collect(),
    );
}

#[test]
fn what_was_captured_cannot_be_printed_or_written() {
    let files = rust::files(&["host"]);
    let defined = files.iter().any(|file| !file.find_shipped(&["struct Captured"]).is_empty());
    assert!(defined, "no place defines {CAPTURED}: this rule no longer looks at the right name");
    let derived = files.iter().flat_map(|file| {
        let mut found = traits(file, CAPTURED, &["Display", "Serialize"]);
        // A hand-written Debug may say how much there is; a derived one would say what.
        found.extend(traits(file, CAPTURED, &["Debug"]).into_iter().filter(|offence| offence.what.contains("derives")));
        found
    });
    tree::assert_none(
        "Captured has a way out",
        "remove the trait; a Debug written by hand may tell sizes only",
        derived.collect(),
    );
}

#[test]
fn a_second_construction_and_a_forbidden_trait_are_caught() {
    let file = |text: &str| RustFile::new(TextFile { path: "host/output/src/a.rs".to_owned(), text: text.to_owned() });
    let honest = "/// A Visible { }\n#[derive(Clone, Debug)]\npub struct Visible {\n text: String,\n}\n\
                  impl Visible {\n fn a(&self) -> &str { &self.text }\n}\n\
                  impl fmt::Display for Visible {\n fn fmt(&self) -> R { x(Self::NAME) }\n}\n\
                  pub fn reveal() -> Visible {\n Visible { text }\n}\n";
    let lines = |text: &str| -> Vec<usize> { constructions(&file(text), VISIBLE).iter().map(|o| o.line).collect() };
    assert_eq!(lines(honest), [13]);
    assert_eq!(lines(&format!("{honest}impl Visible {{\n fn b() -> Self {{ Self {{ text }} }}\n}}\n")), [13, 16]);
    assert_eq!(lines(&format!("{honest}fn c() {{ match x {{ _ => Visible {{ text }} }} }}\n")), [13, 15]);
    assert_eq!(
        lines(&format!(
            "{honest}impl From<String> for Visible {{\n fn from(t: String) -> Self {{ Self{{text:t}} }}\n}}\n"
        )),
        [13, 16]
    );

    assert!(traits(&file(honest), VISIBLE, &["Default"]).is_empty());
    let derived = file("#[derive(Debug, Clone)]\n/// Why.\npub struct Captured {\n}\n");
    assert_eq!(traits(&derived, CAPTURED, &["Debug"]).len(), 1);
    let written = file("pub struct Captured {\n}\nimpl fmt::Display for Captured {\n}\n");
    assert_eq!(traits(&written, CAPTURED, &["Display"]).len(), 1);
}
