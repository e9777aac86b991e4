//! Programs in other languages, given in the command itself: the texts and lists of texts in them that may be commands.
//!
//! Nothing here understands a language. It must never take more than one look at each character.

/// What a program in another language has in it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// Texts in quotes. Those that only a comma parts stand together: they may be the words of one command.
    pub(crate) literals: Vec<Vec<String>>,
    /// Texts between slashes: patterns, where they are patterns.
    pub(crate) patterns: Vec<String>,
    /// Whether something in it is called `kill`.
    pub(crate) kills: bool,
    /// The numbers in it.
    pub(crate) numbers: Vec<i64>,
}

/// Reads a program.
pub(crate) fn read(text: &str) -> Foreign {
    let mut found = Foreign::default();
    let mut together: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut pattern: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if let Some(text) = pattern.as_mut().filter(|_| !matches!(c, '/' | '\n')) {
            text.push(c);
        }
        if c == '/' {
            match pattern.take() {
                Some(text) if !text.is_empty() => found.patterns.push(text),
                _ => pattern = Some(String::new()),
            }
        }
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        let parted = found.word(&mut word) || !(c.is_whitespace() || c == ',' || "'\"`".contains(c));
        if parted && !together.is_empty() {
            found.literals.push(std::mem::take(&mut together));
        }
        if "'\"`".contains(c) {
            together.push(literal(&mut chars, c));
        }
    }
    found.word(&mut word);
    if !together.is_empty() {
        found.literals.push(together);
    }
    found
}

impl Foreign {
    /// Notes a word; whether it parts two literals. A letter or two before a quote (`rb'..'`) do not.
    fn word(&mut self, word: &mut String) -> bool {
        let word = std::mem::take(word);
        self.kills |= matches!(word.as_str(), "kill" | "killpg" | "terminate" | "Kill");
        self.numbers.extend(word.parse::<i64>());
        word.len() > 2
    }
}

fn literal(chars: &mut std::str::Chars<'_>, quote: char) -> String {
    let mut text = String::new();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(other) => text.push(other),
                None => {}
            },
            _ if c == quote => break,
            _ => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn literals(text: &str) -> Vec<Vec<String>> {
        read(text).literals
    }

    #[test]
    fn texts_that_only_a_comma_parts_stand_together() {
        assert_eq!(literals(r#"run(["pkill", 'x'], y="z")"#), [vec!["pkill", "x"], vec!["z"]]);
        assert_eq!(literals(r#"system("pkill x"); print('it\'s')"#), [["pkill x"], ["it's"]]);
        assert_eq!(literals("[r'a', b'b']"), [["a", "b"]]);
        assert_eq!(literals("`pkill x`"), [["pkill x"]]);
    }

    #[test]
    fn kills_numbers_and_patterns_are_noted() {
        let found = read("os.kill(4242, 9)");
        assert!(found.kills && found.numbers == [4242, 9]);
        assert!(!read("skill(1); killer = 2").kills);
        assert_eq!(read("/hermes/{print $2}").patterns, ["hermes"]);
    }

    proptest! {
        #[test]
        fn no_program_is_a_mistake(text in "[a1 ,/'\"`\\\\\n()\\[\\]]{0,60}") {
            let _ = read(&text);
        }

        #[test]
        fn every_quoted_text_is_found(text in "[a-z $;|]{0,20}") {
            prop_assert_eq!(literals(&format!("f('{text}')")), vec![vec![text]]);
        }
    }
}
