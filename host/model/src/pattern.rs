//! The small patterns of `tools.include` and `tools.exclude`: `*` stands for any text, `?` for one character.
//!
//! They are matched against a server's own names, case and all. It must never know more than these two signs: a bracket
//! is a bracket.

/// The longest pattern: far longer than any name of a tool that clients accept.
pub const PATTERN_BYTES_MAX: usize = 256;

/// Whether a text can be a pattern: not empty, not endless, no control characters.
pub fn is_pattern(text: &str) -> bool {
    !text.is_empty() && text.len() <= PATTERN_BYTES_MAX && !text.chars().any(char::is_control)
}

/// Whether a pattern names one name only.
pub fn is_literal(pattern: &str) -> bool {
    !pattern.contains(['*', '?'])
}

/// Whether a name is what a pattern says. Takes at most the product of their lengths.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // The last `*` and the end of what it stands for. Giving it one character more is the only way back there is.
    let mut star = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(sign) if *sign == '?' || *sign == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, end)) = star else { return false };
                star = Some((at, end + 1));
                p = at + 1;
                n = end + 1;
            }
        }
    }
    pattern[p..].iter().all(|sign| *sign == '*')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same by its definition, slowly.
    fn by_definition(pattern: &[char], name: &[char]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some(('*', rest)) => (0..=name.len()).any(|taken| by_definition(rest, &name[taken..])),
            Some(('?', rest)) => !name.is_empty() && by_definition(rest, &name[1..]),
            Some((sign, rest)) => name.first() == Some(sign) && by_definition(rest, &name[1..]),
        }
    }

    #[test]
    fn stars_and_question_marks_stand_for_text_and_everything_else_for_itself() {
        for (pattern, name) in [
            ("*", ""),
            ("delete_*", "delete_"),
            ("*_issue", "get_issue"),
            ("a?c", "aäc"),
            ("a*b*c", "abbcbc"),
            ("[a]", "[a]"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("", "a"), ("Delete_*", "delete_x"), ("a?c", "ac"), ("delete", "delete_x"), ("[a]", "a"), ("*a", "ab")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn many_stars_take_no_age() {
        let name = "a".repeat(PATTERN_BYTES_MAX * 4);
        assert!(!matches(&format!("{}b", "*a".repeat(PATTERN_BYTES_MAX / 2 - 1)), &name));
    }

    #[test]
    fn what_matches_nothing_or_hides_something_is_no_pattern() {
        assert!(is_pattern("delete_*") && is_literal("delete_it") && !is_literal("a?"));
        for bad in ["", "a\nb", "\u{1b}[2J", &"a".repeat(PATTERN_BYTES_MAX + 1)] {
            assert!(!is_pattern(bad), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn a_pattern_matches_what_its_definition_says(pattern in "[ab*?ä]{0,8}", name in "[abä]{0,8}") {
            let (p, n): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
            prop_assert_eq!(matches(&pattern, &name), by_definition(&p, &n));
        }

        #[test]
        fn a_name_without_signs_is_its_own_pattern(name in "[a-z_./-]{1,40}") {
            prop_assert!(matches(&name, &name) && is_literal(&name) && is_pattern(&name));
            let other = format!("{}x", name);
            prop_assert!(!matches(&name, &other));
        }
    }
}
