//! Whether a shown text still tells a secret, and whether it lost what had to stay.

use std::collections::HashSet;

/// How many bytes of a secret in a row are a leak; a shorter secret leaks as a whole.
pub const PIECE: usize = 12;

/// The text as a person reads it: without escape sequences, zero-width characters and carriage returns.
pub fn readable(text: &str) -> String {
    let mut read = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => match letters.next() {
                Some('[') => while letters.next().is_some_and(|next| !('@'..='~').contains(&next)) {},
                Some(']') => while letters.next().is_some_and(|next| next != '\u{7}' && next != '\u{1b}') {},
                _ => {}
            },
            '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}' | '\r' => {}
            _ => read.push(letter),
        }
    }
    read
}

/// The first secret of which `read` tells a piece.
pub fn leaked<'a>(read: &str, secrets: &'a [String]) -> Option<&'a str> {
    let mut pieces: Option<HashSet<&[u8]>> = None;
    secrets.iter().map(String::as_str).find(|secret| {
        if secret.len() <= PIECE {
            return read.contains(secret);
        }
        let pieces = pieces.get_or_insert_with(|| read.as_bytes().windows(PIECE).collect());
        secret.as_bytes().windows(PIECE).any(|piece| pieces.contains(piece))
    })
}

/// The first text that had to stay and did not.
pub fn lost<'a>(read: &str, keeps: &'a [String]) -> Option<&'a str> {
    keeps.iter().map(String::as_str).find(|keep| !read.contains(keep))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_invisible_characters_hide_no_leak() {
        let read = readable("a \u{1b}[31mabcdef\u{1b}[0mgh\u{200b}ijkl\u{1b}]0;title\u{7}\r\n");
        assert_eq!(read, "a abcdefghijkl\n");
        assert_eq!(leaked(&read, &["xxabcdefghijklxx".to_owned()]), Some("xxabcdefghijklxx"));
    }

    #[test]
    fn eleven_bytes_of_a_long_secret_are_no_leak_and_all_of_a_short_one_are() {
        assert_eq!(leaked("abcdefghijk", &["abcdefghijklmnop".to_owned()]), None);
        assert!(leaked("is hunter2!", &["hunter2!".to_owned()]).is_some());
    }

    #[test]
    fn what_is_gone_is_lost() {
        assert_eq!(lost("host [REDACTED:x]", &["host".to_owned(), "port".to_owned()]), Some("port"));
    }
}
