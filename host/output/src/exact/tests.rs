//! Values are found in every form, and nothing of one is shown too early.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;

use super::*;

fn values(values: &[(&str, &str)]) -> ExactValues {
    ExactValues::new(values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
}

/// The text with every place found replaced by its rule.
fn masked(values: &ExactValues, text: &str) -> String {
    let mut out = text.to_owned();
    let mut spans = values.find(text);
    spans.sort_by_key(|span| (span.start, span.end));
    for span in spans.into_iter().rev() {
        out.replace_range(span.start..span.end, &format!("<{}>", span.rule));
    }
    out
}

const VALUE: &str = "p\"a's$ w/o\\r+d=&é%";

#[test]
fn a_value_is_found_in_every_form() {
    let values = values(&[("X", VALUE)]);
    let json = serde_json::to_string(VALUE).unwrap();
    let twice = serde_json::to_string(&json).unwrap();
    for form in [
        VALUE,
        json.trim_matches('"'),
        &twice[3..twice.len() - 3],
        r#"p\"a's$ w/o\\r+d=&\u00e9%"#,
        r#"p\"a's$ w\/o\\r+d=&é%"#,
        r#"p\"a's$ w/o\\r+d=\u0026é%"#,
        "p%22a%27s%24%20w%2Fo%5Cr%2Bd%3D%26%C3%A9%25",
        "p%22a%27s%24%20w%2fo%5cr%2bd%3d%26%c3%a9%25",
        "p%22a%27s%24+w%2Fo%5Cr%2Bd%3D%26%C3%A9%25",
        "p%22a's%24%20w%2Fo%5Cr%2Bd%3D%26%C3%A9%25",
        "p%22a's$%20w/o%5Cr+d=&%C3%A9%25",
        r#"p\"a\'s\$\ w/o\\r+d=\&é%"#,
        r#"p\"a\'s\$\ w/o\\r\+d\=\&é\%"#,
        r#"p"a'\''s$ w/o\r+d=&é%"#,
        r#"p"a'"'"'s$ w/o\r+d=&é%"#,
        r#"p\"a's\$ w/o\\r+d=&é%"#,
        r#"p"a\'s$ w/o\\r+d=&é%"#,
    ] {
        assert_eq!(masked(&values, &format!("<< {form} >>")), "<< <env:X> >>", "{form}");
    }
}

#[test]
fn a_value_inside_something_encoded_is_found_at_every_alignment() {
    let values = values(&[("X", "hunter2-hunter2?>")]);
    for before in ["", "a", "ab", "abc", "user:"] {
        for after in ["", "z", "zz", "\n"] {
            let inside = format!("{before}hunter2-hunter2?>{after}");
            for encoded in [STANDARD.encode(&inside), URL_SAFE_NO_PAD.encode(&inside)] {
                let spans = values.find(&encoded);
                assert_eq!(spans.len(), 1, "{inside}");
                let left = encoded.len() - (spans[0].end - spans[0].start);
                let around = (before.len() + after.len()) * 4 / 3 + 4;
                assert!(left <= around + 2, "{left} digits left of {inside}");
            }
        }
    }
    assert_eq!(masked(&values, "68756e746572322d68756e746572323f3e"), "<env:X>");
    assert_eq!(masked(&values, "68756E746572322D68756E746572323F3E"), "<env:X>");
}

#[test]
fn a_value_of_several_lines_is_found_whole_escaped_joined_and_line_by_line() {
    let key = "-----BEGIN KEY-----\r\nMIIEpAIBAAKCAQEA0123\r\nabcdefghijklmnopqrst\r\n-----END KEY-----\r\n";
    let values = values(&[("KEY", key)]);
    let shown = key.replace('\r', "");
    assert_eq!(masked(&values, &shown), "<env:KEY>\n");
    assert_eq!(masked(&values, &shown.trim().replace('\n', "\\n")), "<env:KEY>");
    assert_eq!(masked(&values, &shown.replace('\n', "")), "<env:KEY>");
    let indented = "  MIIEpAIBAAKCAQEA0123\n  abcdefghijklmnopqrst\n";
    assert_eq!(masked(&values, indented), "  <env:KEY>\n  <env:KEY>\n");
}

#[test]
fn short_values_and_ordinary_words_are_left_alone() {
    let values =
        values(&[("A", "1234567"), ("B", "localhost"), ("C", "Production"), ("D", " 12345678 "), ("E", "true")]);
    assert!(values.is_empty());
    assert_eq!(values.longest(), 0);
    assert_eq!(values.open_from("1234"), 4);
    assert!(values.find("localhost").is_empty());
}

#[test]
fn values_that_overlap_are_all_masked() {
    let values = values(&[("A", "abcdefgh1234"), ("B", "1234zzzzzzzz"), ("C", "xx-abcdefgh1234-xx")]);
    let text = "abcdefgh1234zzzzzzzz";
    let spans = values.find(text);
    assert_eq!(spans.iter().map(|span| (span.start, span.end)).collect::<Vec<_>>(), [(0, 12), (8, 20)]);
    assert_eq!(masked(&values, "(xx-abcdefgh1234-xx)"), "(<env:C>)");
}

#[test]
fn a_repeated_value_gives_one_span_not_one_for_each_byte() {
    let values = values(&[("A", "abababab")]);
    assert_eq!(values.find(&"ab".repeat(100_000)).len(), 1);
}

#[test]
fn a_value_longer_than_a_window_is_masked_whole_and_held_in_pieces() {
    let value: String = (0..4000).map(|count| format!("{count}é,")).collect();
    let values = values(&[("A", &value)]);
    assert!(values.longest() < 4200, "{}", values.longest());
    assert_eq!(masked(&values, &format!("<{value}>")), "<<env:A>>");
}

#[test]
fn a_value_goes_by_the_first_of_its_names() {
    let values = values(&[("FIRST", "swordfish"), ("SECOND", "swordfish")]);
    assert_eq!(masked(&values, "swordfish"), "<env:FIRST>");
}

#[test]
fn an_environment_is_searched_for_its_secrets_only() {
    let values = from_environment([
        ("HOME", "/home/someone"),
        ("GITHUB_TOKEN", "ghp_0123456789abcdef"),
        ("DATABASE_URL", "postgres://app:hunter2Pg!9@db.internal:5432/prod"),
    ]);
    let text = "/home/someone ghp_0123456789abcdef postgres://app:hunter2Pg!9@db.internal:5432/prod";
    let expected = "/home/someone <env:GITHUB_TOKEN> postgres://app:<env:DATABASE_URL>@db.internal:5432/prod";
    assert_eq!(masked(&values, text), expected);
    assert!(secret_looking("GITHUB_TOKEN", "ghp_0123456789abcdef"));
    assert!(!secret_looking("HOME", "/home/someone"));
}

#[test]
fn the_hash_tells_values_and_names_apart() {
    let hash = |values: ExactValues| {
        let mut hasher = std::hash::DefaultHasher::new();
        values.hash(&mut hasher);
        hasher.finish()
    };
    let one = hash(values(&[("A", "swordfish")]));
    assert_eq!(one, hash(values(&[("A", "swordfish")])));
    assert_ne!(one, hash(values(&[("A", "swordfist")])));
    assert_ne!(one, hash(values(&[("B", "swordfish")])));
    assert_ne!(one, hash(ExactValues::default()));
}

#[test]
fn debug_shows_counts_only() {
    let text = format!("{:?}", values(&[("NAME", "swordfish")]));
    assert!(!text.contains("sword") && text.starts_with("ExactValues { forms: "), "{text}");
}

/// Texts in which values, their beginnings and their forms stand close together.
fn haystack() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "aabaabaa",
        "aab",
        "a",
        "b",
        "aabaab",
        "\u{e9}",
        "x y\"z\u{e9}\u{e9}w",
        "x y",
        "x%20y",
        "x+y%22z",
        "%C3",
        "\\\"",
        "\n",
        "YWFiYWFiYWE",
        "FhYmFhYmFh",
        "6161",
        " ",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_spans_cover_every_occurrence_of_every_form_and_nothing_else(text in haystack()) {
        let values = values(&[("A", "aabaabaa"), ("B", "x y\"z\u{e9}\u{e9}w"), ("C", "baabaabaab")]);
        let mut covered = vec![false; text.len()];
        for span in values.find(&text) {
            covered[span.start..span.end].fill(true);
        }
        let mut expected = vec![false; text.len()];
        for form in values.search.as_ref().unwrap().forms() {
            for start in text.char_indices().map(|(start, _)| start) {
                if text[start..].starts_with(form.as_str()) {
                    expected[start..start + form.len()].fill(true);
                }
            }
        }
        prop_assert_eq!(covered, expected);
    }

    #[test]
    fn what_is_held_back_covers_every_value_that_crosses_the_split(
        text in haystack(),
        split in any::<prop::sample::Index>(),
    ) {
        let values = values(&[("A", "aabaabaa"), ("B", "x y\"z\u{e9}\u{e9}w"), ("C", "baabaabaab")]);
        let split = text.floor_char_boundary(split.index(text.len() + 1));
        let (shown, _) = text.split_at(split);
        let open = values.open_from(shown);
        let forms = values.search.as_ref().unwrap().forms();
        prop_assert!(shown.is_char_boundary(open));
        for form in forms {
            for start in text.char_indices().map(|(start, _)| start) {
                if start < split && start + form.len() > split && text[start..].starts_with(form.as_str()) {
                    prop_assert!(open <= start);
                }
            }
        }
        let is_open = |start: usize| {
            forms.iter().any(|form| form.starts_with(&shown[start..]) && form.len() > split - start)
        };
        let expected = shown.char_indices().map(|(start, _)| start).find(|start| is_open(*start)).unwrap_or(split);
        prop_assert_eq!(open, expected);
    }
}

#[test]
fn every_entry_of_a_program_is_a_secret_whatever_its_name_says() {
    let values = ExactValues::of_entries([
        ("MODE", "some-mode-x"),
        ("SHORT", "abcdefg"),
        ("WORD", "production"),
        ("WHERE", "/srv/data/files"),
        ("SITE", "https://example.org/api"),
        ("HOOK", "https://example.org/T0AB12cd34EF56gh"),
        ("DB", "postgres://app:Tr0ub4dor-3@db/x"),
    ]);
    let text = "some-mode-x abcdefg production /srv/data/files https://example.org/api";
    assert_eq!(masked(&values, text), format!("<env:MODE>{}", &text[11..]));
    assert_eq!(masked(&values, "https://example.org/T0AB12cd34EF56gh Tr0ub4dor-3"), "<env:HOOK> <env:DB>");
    assert_eq!(masked(&values, "postgres://app:Tr0ub4dor-3@db/x"), "<env:DB>");
}

#[test]
fn joined_values_are_all_looked_for_and_the_first_name_counts() {
    let (one, two) = (values(&[("A", "first-value"), ("B", "shared-value")]), values(&[("C", "shared-value")]));
    let joined = ExactValues::joined([&ExactValues::default(), &one, &two]);
    assert_eq!(masked(&joined, "first-value shared-value"), "<env:A> <env:B>");
    assert_eq!(masked(&ExactValues::joined([&two, &one]), "first-value shared-value"), "<env:A> <env:C>");
    assert!(ExactValues::joined([]).is_empty());
    let hash = |values: &ExactValues| {
        std::hash::BuildHasher::hash_one(&std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default(), values)
    };
    assert_eq!(hash(&ExactValues::joined([&one])), hash(&one));
    assert_eq!(hash(&joined), hash(&values(&[("A", "first-value"), ("B", "shared-value")])));
}
