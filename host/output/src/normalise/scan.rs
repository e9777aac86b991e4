//! Finding the bytes that need a second look, fast.

/// Bytes looked at in one step of the scan: a size that compilers turn into vector instructions.
const STEP: usize = 32;

/// What stands at the beginning of some bytes.
pub(super) enum Decoded {
    /// A character and its length.
    Char(char, usize),
    /// Bytes that are no character: as many as one U+FFFD stands for.
    Bad(usize),
    /// The beginning of a character.
    Incomplete,
}

/// Decodes the character at the beginning of `bytes`, which are not empty.
pub(super) fn decode(bytes: &[u8]) -> Decoded {
    let head = &bytes[..bytes.len().min(4)];
    let (valid, error_len) = match std::str::from_utf8(head) {
        Ok(text) => (text, None),
        Err(error) => (std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(), error.error_len()),
    };
    match (valid.chars().next(), error_len) {
        (Some(char), _) => Decoded::Char(char, char.len_utf8()),
        (None, Some(len)) => Decoded::Bad(len),
        (None, None) => Decoded::Incomplete,
    }
}

/// Whether bytes are the beginning of a character.
pub(super) fn is_beginning(bytes: &[u8]) -> bool {
    !bytes.is_empty() && matches!(decode(bytes), Decoded::Incomplete)
}

/// How many bytes at the beginning may be left out without a further look, outside of any sequence: a short CSI
/// sequence that is whole, or a return directly before a newline. Everything else is for the slower, exact way.
pub(super) fn skip_len(bytes: &[u8], outside: bool) -> usize {
    match bytes {
        [b'\r', b'\n', ..] if outside => 1,
        [0x1b, b'[', rest @ ..] if outside => {
            let body = rest.iter().take(STEP).take_while(|byte| (0x20..0x40).contains(*byte)).count();
            match rest.get(body) {
                Some(0x40..=0x7e) => body + 3,
                _ => 0,
            }
        }
        _ => 0,
    }
}

/// How many bytes at the beginning are text as it stands: no control character but newline and tab, nothing invisible,
/// nothing that might be either once more bytes arrive. They may be invalid UTF-8.
pub(super) fn run_len(bytes: &[u8]) -> usize {
    let mut at = 0;
    while at < bytes.len() {
        if let Some(step) = bytes.get(at..at + STEP)
            && step.iter().fold(true, |plain, byte| plain & is_plain(*byte))
        {
            at += STEP;
            continue;
        }
        let end = bytes.len().min(at + STEP);
        while at < end {
            let byte = bytes[at];
            if !is_plain(byte) && (byte.is_ascii() || may_be_special(&bytes[at..])) {
                return at;
            }
            at += 1;
        }
    }
    at
}

fn is_plain(byte: u8) -> bool {
    (0x20..0x7f).contains(&byte) | (byte == b'\n') | (byte == b'\t')
}

/// Whether the bytes begin a character that is C1 or invisible, or may do so when more arrive. The same set as
/// [`is_invisible`], in UTF-8.
fn may_be_special(bytes: &[u8]) -> bool {
    let second = |wanted: fn(u8) -> bool| bytes.get(1).is_none_or(|byte| wanted(*byte));
    let third = |wanted: fn(u8) -> bool| bytes.get(2).is_none_or(|byte| wanted(*byte));
    let fourth = |wanted: fn(u8) -> bool| bytes.get(3).is_none_or(|byte| wanted(*byte));
    match bytes[0] {
        0xc2 => second(|byte| byte <= 0x9f || byte == 0xad),
        0xd8 => second(|byte| byte == 0x9c),
        0xe1 => second(|byte| byte == 0xa0) && third(|byte| byte == 0x8e),
        0xe2 => {
            (second(|byte| byte == 0x80) && third(|byte| matches!(byte, 0x8b..=0x8f | 0xaa..=0xae)))
                || (second(|byte| byte == 0x81) && third(|byte| (0xa0..=0xaf).contains(&byte)))
        }
        0xef => {
            (second(|byte| byte == 0xbb) && third(|byte| byte == 0xbf))
                || (second(|byte| byte == 0xbf) && third(|byte| (0xb9..=0xbb).contains(&byte)))
        }
        0xf0 => {
            (second(|byte| byte == 0x9b) && third(|byte| byte == 0xb2) && fourth(|byte| (0xa0..=0xa3).contains(&byte)))
                || (second(|byte| byte == 0x9d)
                    && third(|byte| byte == 0x85)
                    && fourth(|byte| (0xb3..=0xba).contains(&byte)))
        }
        0xf3 => second(|byte| byte == 0xa0) && third(|byte| matches!(byte, 0x80 | 0x81)),
        _ => false,
    }
}

/// Whether a character shows nothing and can stand inside a token without a trace: the format characters (general
/// category Cf) that are not drawn, with the two places of their blocks not assigned yet (U+2065 and the tags).
///
/// Variation selectors stay: they are marks that change how the character before them looks.
pub(super) fn is_invisible(char: char) -> bool {
    matches!(char,
        '\u{ad}'                      // soft hyphen
        | '\u{61c}'                   // Arabic letter mark
        | '\u{180e}'                  // Mongolian vowel separator
        | '\u{200b}'..='\u{200f}'     // zero-width space and joiners, direction marks
        | '\u{202a}'..='\u{202e}'     // direction embeddings and overrides
        | '\u{2060}'..='\u{206f}'     // word joiner, invisible operators, isolates, deprecated format characters
        | '\u{feff}'                  // byte order mark
        | '\u{fff9}'..='\u{fffb}'     // interlinear annotation
        | '\u{1bca0}'..='\u{1bca3}'   // shorthand format controls
        | '\u{1d173}'..='\u{1d17a}'   // musical beams, ties and slurs
        | '\u{e0000}'..='\u{e007f}'   // tags
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_stops_at_every_special_character_and_at_no_other() {
        for char in '\0'..=char::MAX {
            let special = (char.is_control() && !matches!(char, '\n' | '\t')) || is_invisible(char);
            let mut text = String::from("ab");
            text.push(char);
            text.push_str("cd");
            let expected = if special { 2 } else { text.len() };
            assert_eq!(run_len(text.as_bytes()), expected, "U+{:04X}", u32::from(char));
        }
    }

    #[test]
    fn a_run_longer_than_a_step_is_found_whole() {
        for len in [31, 32, 33, 64, 100] {
            let mut bytes = vec![b'x'; len];
            assert_eq!(run_len(&bytes), len);
            bytes.push(0x1b);
            bytes.extend_from_slice(&[b'y'; 100]);
            assert_eq!(run_len(&bytes), len);
        }
    }

    #[test]
    fn a_run_does_not_pass_a_beginning_that_may_become_special() {
        assert_eq!(run_len(b"ab\xe2\x80"), 2);
        assert_eq!(run_len(b"ab\xe2"), 2);
        assert_eq!(run_len(b"ab\xe2\x82"), 4);
        assert_eq!(run_len(b"ab\xff\xfe"), 4);
    }
}
