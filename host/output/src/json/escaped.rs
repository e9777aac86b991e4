//! Clean text as it stands in a JSON string, and the way back from there.
//!
//! It must never lose its place: what a redactor names in the escaped text is masked in the other.

/// Writes clean text as it stands in a JSON string.
pub(super) fn push(out: &mut String, text: &str) {
    let mut done = 0;
    for (at, byte) in text.bytes().enumerate() {
        if is_escaped(byte) {
            out.push_str(&text[done..at]);
            out.push('\\');
            match byte {
                b'\n' => out.push('n'),
                b'\t' => out.push('t'),
                other => out.push(char::from(other)),
            }
            done = at + 1;
        }
    }
    out.push_str(&text[done..]);
}

/// The bytes of a clean text that are two in a JSON string.
fn is_escaped(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | b'\n' | b'\t')
}

/// The way from a place in an escaped text to the place in the text, onwards from where it last stood.
#[derive(Default)]
pub(super) struct Cursor {
    escaped: usize,
    plain: usize,
}

impl Cursor {
    /// The byte whose escaped form `at` lies in.
    pub(super) fn start(&mut self, text: &str, at: usize) -> usize {
        while let Some(byte) = text.as_bytes().get(self.plain) {
            let width = 1 + usize::from(is_escaped(*byte));
            if self.escaped + width > at {
                break;
            }
            self.escaped += width;
            self.plain += 1;
        }
        self.plain
    }

    /// The first byte whose escaped form begins at `at` or later.
    pub(super) fn end(&mut self, text: &str, at: usize) -> usize {
        let plain = self.start(text, at);
        plain + usize::from(self.escaped < at && plain < text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_an_escaped_text_is_found_back() {
        let text = "a\"b\\\n\tcéd";
        let mut escaped = String::new();
        push(&mut escaped, text);
        assert_eq!(escaped, r#"a\"b\\\n\tcéd"#);
        for from in 0..escaped.len() {
            for until in from + 1..=escaped.len() {
                let mut cursor = Cursor::default();
                let (start, end) = (cursor.start(text, from), cursor.end(text, until));
                let before =
                    |plain: usize| text.bytes().take(plain).map(|b| 1 + usize::from(is_escaped(b))).sum::<usize>();
                assert!(before(start) <= from && from < before(start + 1), "{from}");
                assert!(before(end) >= until && until > before(end - 1), "{until}");
            }
        }
    }
}
