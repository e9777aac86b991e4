//! Control sequences of ECMA-48: all of them are recognised, and none of them means anything but "not text".

/// The longest OSC, DCS, SOS, PM or APC string: 64 KiB, as agreed for the seam. One that goes on is given up, and what
/// follows is text again.
const STRING_BYTES: usize = 64 * 1024;
/// The longest CSI or charset sequence. Colours with every parameter there is stay below 200 bytes.
const SEQUENCE_BYTES: usize = 1024;

/// Where in a control sequence the text is.
#[derive(Default)]
pub(super) struct Escapes {
    state: State,
}

#[derive(Clone, Copy, Default)]
enum State {
    #[default]
    Outside,
    /// After ESC.
    Escape,
    /// After ESC and intermediate bytes, as in the selection of a charset.
    Intermediate { len: usize },
    /// After ESC [ or U+009B.
    Csi { len: usize },
    /// Inside an OSC, DCS, SOS, PM or APC string.
    Text { len: usize },
    /// After an ESC inside such a string: ST if a backslash follows.
    TextEscape,
}

/// What a character is, where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Part of a sequence, or a control character without a meaning here.
    Nothing,
    /// Itself.
    Text,
    /// A carriage return.
    Return,
    /// A backspace.
    Backspace,
}

impl Escapes {
    /// Whether the next character stands for itself.
    pub(super) fn outside(&self) -> bool {
        matches!(self.state, State::Outside)
    }

    /// Takes the next character.
    pub(super) fn on(&mut self, char: char) -> Meaning {
        if let '\u{80}'..='\u{9f}' = char {
            self.state = after_c1(char);
            return Meaning::Nothing;
        }
        let (state, meaning) = match self.state {
            State::Outside => outside(char),
            State::Escape => match char {
                '[' => (State::Csi { len: 0 }, Meaning::Nothing),
                ']' | 'P' | 'X' | '^' | '_' => (State::Text { len: 0 }, Meaning::Nothing),
                ' '..='/' => (State::Intermediate { len: 0 }, Meaning::Nothing),
                '0'..='~' => (State::Outside, Meaning::Nothing),
                _ => broken(self.state, char),
            },
            State::Intermediate { len } => match char {
                ' '..='/' if len < SEQUENCE_BYTES => (State::Intermediate { len: len + 1 }, Meaning::Nothing),
                ' '..='~' => (State::Outside, Meaning::Nothing),
                _ => broken(self.state, char),
            },
            State::Csi { len } => match char {
                ' '..='?' if len < SEQUENCE_BYTES => (State::Csi { len: len + 1 }, Meaning::Nothing),
                ' '..='~' => (State::Outside, Meaning::Nothing),
                _ => broken(self.state, char),
            },
            State::Text { len } => match char {
                '\x07' | '\x18' | '\x1a' => (State::Outside, Meaning::Nothing),
                '\x1b' => (State::TextEscape, Meaning::Nothing),
                _ if len + char.len_utf8() >= STRING_BYTES => (State::Outside, Meaning::Nothing),
                _ => (State::Text { len: len + char.len_utf8() }, Meaning::Nothing),
            },
            State::TextEscape => {
                // A backslash ends the string; anything else does too, and is the second byte of a sequence of its own.
                self.state = State::Escape;
                return self.on(char);
            }
        };
        self.state = state;
        meaning
    }
}

/// A character outside of any sequence.
fn outside(char: char) -> (State, Meaning) {
    match char {
        '\x1b' => (State::Escape, Meaning::Nothing),
        '\r' => (State::Outside, Meaning::Return),
        '\x08' => (State::Outside, Meaning::Backspace),
        '\n' | '\t' => (State::Outside, Meaning::Text),
        '\0'..'\x20' | '\x7f' => (State::Outside, Meaning::Nothing),
        _ => (State::Outside, Meaning::Text),
    }
}

/// A character that cannot stand in a sequence. Lines and text beyond ASCII end it, so that a cut sequence swallows as
/// little as possible; CAN and SUB abort it; other control characters are ignored.
fn broken(state: State, char: char) -> (State, Meaning) {
    match char {
        '\x1b' | '\n' | '\r' => outside(char),
        '\x18' | '\x1a' => (State::Outside, Meaning::Nothing),
        '\0'..'\x20' | '\x7f' => (state, Meaning::Nothing),
        _ => outside(char),
    }
}

/// The 8-bit forms of ESC and a letter.
fn after_c1(char: char) -> State {
    match char {
        '\u{9b}' => State::Csi { len: 0 },
        '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => State::Text { len: 0 },
        _ => State::Outside,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(input: &str) -> String {
        let mut escapes = Escapes::default();
        input.chars().filter(|char| escapes.on(*char) == Meaning::Text).collect()
    }

    #[test]
    fn sequences_of_every_kind_are_removed() {
        for sequence in [
            "\x1b[31m",
            "\x1b[38;2;1;2;3m",
            "\x1b[38:2::1:2:3m",
            "\x1b[?25l",
            "\x1b[>4;2m",
            "\x1b[1 q",
            "\x1b[!p",
            "\x1b]0;a title\x07",
            "\x1b]8;;https://a.example/\x1b\\",
            "\x1bPq#0;2;0;0;0\x1b\\",
            "\x1bXstart of string\x1b\\",
            "\x1b^private\x1b\\",
            "\x1b_application\x1b\\",
            "\x1b(B",
            "\x1b%G",
            "\x1b#8",
            "\x1b c",
            "\x1b7",
            "\x1b=",
            "\x1bM",
            "\x1bc",
            "\u{9b}1;31m",
            "\u{9d}0;title\u{9c}",
            "\u{90}q\u{9c}",
            "\u{98}s\u{9c}",
            "\u{9e}p\u{9c}",
            "\u{9f}a\u{9c}",
            "\u{85}",
            "\x1b[3\x001m",
            "\x1b[31\x18",
            "\x1b[31\x1a",
            "\x1b]0;title\x18",
            "\x1b[3\x1b[31m",
            "\x1b]0;title\x1b[31m",
        ] {
            assert_eq!(text(&format!("ab{sequence}cd")), "abcd", "{}", sequence.escape_debug());
        }
    }

    #[test]
    fn a_newline_ends_a_cut_sequence_but_not_a_string() {
        assert_eq!(text("a\x1b[31\nb"), "a\nb");
        assert_eq!(text("a\x1b\nb"), "a\nb");
        assert_eq!(text("a\x1b]0;x\ny\x07b"), "ab");
    }

    #[test]
    fn text_beyond_ascii_ends_a_cut_sequence_and_is_shown() {
        assert_eq!(text("a\x1b[31éb"), "aéb");
    }

    #[test]
    fn a_string_without_end_is_given_up_at_its_limit() {
        let input = format!("a\x1b]{}b", "x".repeat(STRING_BYTES));
        assert_eq!(text(&input), "ab");
        let input = format!("a\x1b[{}b", "1".repeat(SEQUENCE_BYTES + 10));
        assert_eq!(text(&input), format!("a{}b", "1".repeat(9)));
    }
}
