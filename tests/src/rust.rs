//! Rust files as the rules see them: comments and the contents of literals blanked out, line for line, so that a word
//! in a sentence is not taken for code. Knows as much of the language as that needs, and no more.

use crate::tree::{self, Offence, TextFile};

/// A Rust file.
#[derive(Clone, Debug)]
pub struct RustFile {
    /// From the root of the repository.
    pub path: String,
    /// As written.
    pub text: String,
    /// Without comments and contents of literals; everything else stands where it stood.
    pub code: String,
    /// As `code`, without items under `#[cfg(test)]`; empty for a file that is all test.
    pub shipped: String,
}

impl RustFile {
    /// Reads one.
    pub fn new(file: TextFile) -> Self {
        let code = blank(&file.text);
        let shipped = if is_test_file(&file.path) { String::new() } else { without_tests(&code) };
        Self { path: file.path, text: file.text, code, shipped }
    }

    /// Every place of the shipped code where one of the words begins a token.
    pub fn find_shipped(&self, words: &[&str]) -> Vec<Offence> {
        find(&self.path, &self.shipped, words)
    }

    /// Every place of the code, tests included, where one of the words begins a token.
    pub fn find(&self, words: &[&str]) -> Vec<Offence> {
        find(&self.path, &self.code, words)
    }
}

/// The Rust files below some places of the repository.
pub fn files(places: &[&str]) -> Vec<RustFile> {
    tree::files(places, &[".rs"]).into_iter().map(RustFile::new).collect()
}

/// Whether a file is nothing but tests: below a `tests` folder, or the `tests.rs` of a module.
fn is_test_file(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

fn find(path: &str, code: &str, words: &[&str]) -> Vec<Offence> {
    let mut found = Vec::new();
    for (number, line) in code.lines().enumerate() {
        for word in words {
            let begins = |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            if line.match_indices(word).any(|(at, _)| begins(at)) {
                found.push(Offence { path: path.to_owned(), line: number + 1, what: format!("`{word}`") });
            }
        }
    }
    found
}

/// Blanks comments and the contents of string and character literals. Keeps length and lines.
pub fn blank(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let word_before = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
        let end = if rest.starts_with(b"//") {
            at + rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())
        } else if rest.starts_with(b"/*") {
            at + block_comment(rest)
        } else if let Some(length) = raw_string(rest).filter(|_| !word_before) {
            at + length
        } else if rest[0] == b'"' {
            at + quoted(rest, b'"')
        } else if rest[0] == b'\'' && is_character(rest) {
            at + quoted(rest, b'\'')
        } else {
            at += 1;
            continue;
        };
        let comment = rest.starts_with(b"/");
        for (offset, byte) in out[at..end].iter_mut().enumerate() {
            // Quotes stay, so that a literal is still seen to be one.
            let edge = !comment && byte.is_ascii() && (offset == 0 || at + offset + 1 == end);
            if *byte != b'\n' && !edge {
                *byte = b' ';
            }
        }
        at = end;
    }
    // Only whole literals and comments were replaced, each with ASCII.
    String::from_utf8_lossy(&out).into_owned()
}

/// The length of a block comment, which may hold others.
fn block_comment(rest: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The length of a raw string, if one begins here.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let prefix = rest.iter().take_while(|b| matches!(b, b'b' | b'c')).count();
    let after = rest.get(prefix..)?.strip_prefix(b"r")?;
    let hashes = after.iter().take_while(|b| **b == b'#').count();
    if prefix > 1 || after.get(hashes) != Some(&b'"') {
        return None;
    }
    let start = prefix + 1 + hashes + 1;
    let closing: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let length = rest[start..].windows(closing.len()).position(|window| window == closing);
    Some(length.map_or(rest.len(), |length| start + length + closing.len()))
}

/// The length of a literal that ends at an unescaped quote.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Whether a quote begins a character and not a lifetime.
fn is_character(rest: &[u8]) -> bool {
    match rest.get(1) {
        Some(b'\\') => true,
        // One character of any width, then a quote.
        Some(_) => rest[2..]
            .iter()
            .take(4)
            .position(|b| *b == b'\'')
            .is_some_and(|at| std::str::from_utf8(&rest[1..2 + at]).is_ok_and(|text| text.chars().count() == 1)),
        None => false,
    }
}

/// Blanks every item under `#[cfg(test)]`, given blanked code.
fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut out = code.as_bytes().to_vec();
    let mut from = 0;
    while let Some(found) = code[from..].find(MARK) {
        let start = from + found;
        let end = item_end(code.as_bytes(), start + MARK.len());
        for byte in &mut out[start..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        from = end;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Where the item that begins at `from` ends: after its braces, or its semicolon or comma if that comes first.
fn item_end(code: &[u8], from: usize) -> usize {
    let (mut braces, mut others) = (0_usize, 0_usize);
    for (offset, byte) in code[from..].iter().enumerate() {
        match byte {
            b'{' => braces += 1,
            b'(' | b'[' => others += 1,
            b')' | b']' => others = others.saturating_sub(1),
            b'}' if braces <= 1 => return from + offset + 1,
            b'}' => braces -= 1,
            b';' | b',' if braces == 0 && others == 0 => return from + offset + 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> RustFile {
        RustFile::new(TextFile { path: "host/x/src/a.rs".to_owned(), text: text.to_owned() })
    }

    #[test]
    fn comments_and_literals_are_blank_and_lines_stay() {
        let text =
            "a(\"U // V\"); // W\n/* X /* Y */ Z */ e('\"', 'K', b'\\'', \"\\\"L\");\nf(r#\"M\"N\"#, 'É') r#type";
        let code = blank(text);
        assert_eq!(code.lines().count(), 3);
        assert_eq!(code.len(), text.len());
        assert!(!code.contains(|c: char| c.is_uppercase()), "{code}");
        for kept in ["a(", " e(", "f(", "r#type"] {
            assert!(code.contains(kept), "{kept} in {code}");
        }
    }

    #[test]
    fn a_lifetime_is_not_a_literal() {
        let code = blank("fn f<'a>(x: &'a str) -> &'a str { println!(\"\") } // '");
        assert!(code.contains("fn f<'a>(x: &'a str) -> &'a str { println!"), "{code}");
    }

    #[test]
    fn items_under_cfg_test_are_not_shipped_and_what_follows_them_is() {
        let file = file("#[cfg(test)]\nuse a::b;\nfn c() {}\n#[cfg(test)]\nmod d {\n fn e() { { } }\n}\nfn g() {}\n");
        for gone in ["a::b", "fn e"] {
            assert!(file.code.contains(gone) && !file.shipped.contains(gone), "{}", file.shipped);
        }
        for kept in ["fn c", "fn g"] {
            assert!(file.shipped.contains(kept), "{}", file.shipped);
        }
        assert_eq!(file.shipped.lines().count(), file.text.lines().count());
    }

    #[test]
    fn a_word_is_found_where_a_token_begins() {
        let file = file("eprintln!();\nprintln!();\n// println!()\n\"println!()\";\n");
        let lines: Vec<usize> = file.find(&["println!"]).iter().map(|offence| offence.line).collect();
        assert_eq!(lines, [2]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_keeps_its_length_and_its_lines(text in "([\"'/*#rb\\\\\n a{}é]|#\\[cfg\\(test\\)\\]){0,60}") {
            let ends = |text: &str| text.match_indices('\n').map(|(at, _)| at).collect::<Vec<_>>();
            let file = file(&text);
            for seen in [&file.code, &file.shipped] {
                proptest::prop_assert_eq!(seen.len(), text.len());
                proptest::prop_assert_eq!(ends(seen), ends(&text));
            }
        }
    }
}
