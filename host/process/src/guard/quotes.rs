//! The escapes of `$'..'`, the one kind of quotes that writes characters by number.
//!
//! Pure. It must never read past the text, whatever the text is.

/// Reads from after `$'` to its end: the text, and where to go on.
pub(crate) fn ansi_c(chars: &[char], start: usize) -> (String, usize) {
    let (mut text, mut at) = (String::new(), start);
    while let Some(&c) = chars.get(at) {
        at += 1;
        match c {
            '\'' => return (text, at),
            '\\' => {
                let Some(&kind) = chars.get(at) else { break };
                at += 1;
                match kind {
                    'x' => number(chars, &mut at, 16, 2, &mut text),
                    'u' => number(chars, &mut at, 16, 4, &mut text),
                    'U' => number(chars, &mut at, 16, 8, &mut text),
                    '0'..='7' => {
                        at -= 1;
                        number(chars, &mut at, 8, 3, &mut text);
                    }
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    'a' | 'b' | 'e' | 'E' | 'f' | 'v' | 'c' => text.push(' '),
                    other => text.push(other),
                }
            }
            _ => text.push(c),
        }
    }
    (text, at)
}

/// Reads at most `digits` digits and appends the character with that number, if there is one.
fn number(chars: &[char], at: &mut usize, radix: u32, digits: usize, text: &mut String) {
    let mut value = 0_u32;
    for _ in 0..digits {
        let Some(digit) = chars.get(*at).and_then(|c| c.to_digit(radix)) else { break };
        value = value.wrapping_mul(radix).wrapping_add(digit);
        *at += 1;
    }
    text.extend(char::from_u32(value));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, usize) {
        ansi_c(&text.chars().collect::<Vec<_>>(), 0)
    }

    #[test]
    fn characters_written_by_number_are_read() {
        assert_eq!(read(r"\x70\153\u0069ll'x"), ("pkill".to_owned(), 17));
        assert_eq!(read(r"it\'s\n"), ("it's\n".to_owned(), 7));
    }

    #[test]
    fn a_broken_escape_at_the_end_is_no_mistake() {
        assert_eq!(read(r"a\"), ("a".to_owned(), 2));
        assert_eq!(read(r"\x").0, "\0");
    }
}
