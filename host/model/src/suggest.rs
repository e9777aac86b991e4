//! "Did you mean": the nearest known word to one that is not known.

/// The largest edit distance that still reads as a typing error, for words of more than three letters.
const NEAR: usize = 3;

/// The known word nearest to `word`, if one is near enough to be what was meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = NEAR.min(word.chars().count() / 2).max(1);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A hint ready to be appended to a message: `; did you mean 'x'?`, or the list of known words, or nothing.
pub fn hint(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(meant) => format!("; did you mean '{meant}'?"),
        None if known.is_empty() => String::new(),
        None => format!("; known: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_finds_its_word_and_nonsense_finds_none() {
        let known = ["required", "transforms_see", "name"];
        assert_eq!(nearest("requird", known), Some("required"));
        assert_eq!(nearest("nmae", known), Some("name"));
        assert_eq!(nearest("budget", known), None);
    }
}
