//! The text under the scan, and the byte classes every rule reads it with. Reading past the end is remembered: an
//! answer that looked there may change when more text arrives. Nothing here decides what a secret is.

use std::cell::Cell;

/// A letter.
pub(crate) const LETTER: u8 = 1;
/// A digit.
pub(crate) const DIGIT: u8 = 2;
/// `_` or `-`.
pub(crate) const JOIN: u8 = 4;
/// `.`
pub(crate) const DOT: u8 = 8;
/// `+`, `/` or `=`: what base64 adds to letters and digits.
pub(crate) const B64: u8 = 16;
/// Space, tab or newline.
pub(crate) const SPACE: u8 = 32;
/// A lower-case or upper-case hexadecimal digit.
pub(crate) const HEX: u8 = 64;
/// What ends a bare value in the middle of a line: space, quotes, separators, closing brackets.
pub(crate) const STOP: u8 = 128;

/// Letters and digits.
pub(crate) const ALNUM: u8 = LETTER | DIGIT;
/// Letters, digits, `_` and `-`.
pub(crate) const WORD: u8 = ALNUM | JOIN;
/// What a key name is made of.
pub(crate) const NAME: u8 = WORD | DOT;

static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0u8; 256];
    let mut byte = 0;
    while byte < 256 {
        let c = byte as u8;
        let mut class = 0;
        if c.is_ascii_alphabetic() {
            class |= LETTER;
        }
        if c.is_ascii_digit() {
            class |= DIGIT;
        }
        if c.is_ascii_hexdigit() {
            class |= HEX;
        }
        if matches!(c, b'_' | b'-') {
            class |= JOIN;
        }
        if c == b'.' {
            class |= DOT;
        }
        if matches!(c, b'+' | b'/' | b'=') {
            class |= B64;
        }
        if matches!(c, b' ' | b'\t' | b'\n') {
            class |= SPACE;
        }
        if matches!(
            c,
            0 | b' '
                | b'\t'
                | b'\n'
                | b'"'
                | b'\''
                | b'`'
                | b','
                | b';'
                | b'&'
                | b')'
                | b'}'
                | b']'
                | b'|'
                | b'<'
                | b'>'
        ) {
            class |= STOP;
        }
        table[byte] = class;
        byte += 1;
    }
    table
}

/// Whether `byte` is in one of the classes of `class`.
#[inline]
pub(crate) fn is(byte: u8, class: u8) -> bool {
    CLASS[byte as usize] & class != 0
}

/// Whether every byte of `text` is in one of the classes of `class`.
#[inline(never)]
pub(crate) fn all(text: &[u8], class: u8) -> bool {
    text.iter().all(|&c| is(c, class))
}

/// Whether a byte of `text` is in one of the classes of `class`.
#[inline(never)]
pub(crate) fn any(text: &[u8], class: u8) -> bool {
    text.iter().any(|&c| is(c, class))
}

/// Whether every byte of `text` is in one of the classes of `class`, or one of `more`.
#[inline(never)]
pub(crate) fn spelled(text: &[u8], class: u8, more: &[u8]) -> bool {
    text.iter().all(|&c| is(c, class) || more.contains(&c))
}

/// Whether `text` ends with `part` in any case.
#[inline(never)]
pub(crate) fn ends_folded(text: &[u8], part: &[u8]) -> bool {
    text.len().checked_sub(part.len()).and_then(|at| text.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(part))
}

/// How often `byte` stands in `text`.
#[inline(never)]
pub(crate) fn count(text: &[u8], byte: u8) -> usize {
    text.iter().filter(|&&c| c == byte).count()
}

/// Where `part` stands last in a text.
#[inline(never)]
pub(crate) fn find_last(text: &[u8], part: &[u8]) -> Option<usize> {
    let first = part.first()?;
    (0..text.len())
        .rev()
        .find(|&at| text.get(at) == Some(first) && text.get(at..).is_some_and(|rest| rest.starts_with(part)))
}

/// Whether `part` stands in a text.
#[inline(never)]
pub(crate) fn contains(text: &[u8], part: &[u8]) -> bool {
    part.first().is_some_and(|first| text.contains(first)) && find_last(text, part).is_some()
}

/// How many of `bytes`, from the first on, pass.
#[inline]
pub(crate) fn leading(bytes: &[u8; 8], passes: impl Fn(u8) -> bool) -> usize {
    let mut bits = 0u32;
    for (at, &byte) in bytes.iter().enumerate() {
        bits |= u32::from(passes(byte)) << at;
    }
    bits.trailing_ones() as usize
}

/// Whether none of `bytes` is.
#[inline]
pub(crate) fn none(bytes: &[u8; 8], class: u8) -> bool {
    bytes.iter().fold(0, |any, &byte| any | CLASS[byte as usize]) & class == 0
}

/// Whether `byte` is one of `bytes`.
#[inline]
pub(crate) fn holds(bytes: &[u8; 8], byte: u8) -> bool {
    const LOW: u64 = u64::from_ne_bytes([1; 8]);
    let zeros = u64::from_ne_bytes(*bytes) ^ (LOW * u64::from(byte));
    zeros.wrapping_sub(LOW) & !zeros & LOW << 7 != 0
}

/// A text of which more may follow.
pub(crate) struct Text<'a> {
    bytes: &'a [u8],
    last: bool,
    touched: Cell<bool>,
}

impl<'a> Text<'a> {
    /// A text; `last` says that nothing follows.
    pub(crate) fn new(bytes: &'a [u8], last: bool) -> Self {
        Self { bytes, last, touched: Cell::new(false) }
    }

    /// All of it.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing follows.
    pub(crate) fn last(&self) -> bool {
        self.last
    }

    /// The bytes of a range that may reach past the end; those are missing.
    pub(crate) fn slice(&self, start: usize, end: usize) -> &'a [u8] {
        self.bytes.get(start..end.min(self.bytes.len())).unwrap_or_default()
    }

    /// The byte at `at`, or 0 past the end: no text holds a 0.
    #[inline]
    pub(crate) fn at(&self, at: usize) -> u8 {
        match self.bytes.get(at) {
            Some(&byte) => byte,
            None => {
                self.touched.set(true);
                0
            }
        }
    }

    /// As [`Self::at`], where a place is looked at and not a run: a call is much smaller than what it does.
    #[inline(never)]
    pub(crate) fn peek(&self, at: usize) -> u8 {
        self.at(at)
    }

    /// The byte before `at`, or 0 at the front.
    #[inline]
    pub(crate) fn before(&self, at: usize) -> u8 {
        at.checked_sub(1).and_then(|at| self.bytes.get(at)).copied().unwrap_or(0)
    }

    /// The eight bytes at `at`, if there are as many: what is looked at together costs one turn of a loop.
    #[inline]
    pub(crate) fn eight(&self, at: usize) -> Option<&'a [u8; 8]> {
        self.bytes.get(at..).and_then(<[u8]>::first_chunk)
    }

    /// Where the run of `class` that begins at `from` ends, at most `max` bytes on.
    #[inline(never)]
    pub(crate) fn run(&self, from: usize, class: u8, max: usize) -> usize {
        let mut at = from;
        let end = from.saturating_add(max);
        while at + 8 <= end
            && let Some(eight) = self.eight(at)
        {
            let more = leading(eight, |byte| is(byte, class));
            at += more;
            if more < 8 {
                return at;
            }
        }
        while at < end && is(self.at(at), class) {
            at += 1;
        }
        at
    }

    /// Where spaces and tabs from `from` end, at most `max` bytes on.
    #[inline(never)]
    pub(crate) fn blanks(&self, from: usize, max: usize) -> usize {
        let mut at = from;
        while at < from + max && matches!(self.at(at), b' ' | b'\t') {
            at += 1;
        }
        at
    }

    /// Whether `literal` stands at `at`. A short one is compared at once.
    #[inline]
    pub(crate) fn starts<const N: usize>(&self, at: usize, literal: &[u8; N]) -> bool {
        if N > 8 {
            return self.reads(at, literal);
        }
        self.word(at, literal.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)), N)
    }

    /// Whether the `size` low bytes of `word` stand at `at`, the lowest first.
    #[inline(never)]
    fn word(&self, at: usize, word: u64, size: usize) -> bool {
        match self.eight(at) {
            Some(eight) => (u64::from_le_bytes(*eight) ^ word) << (8 * (8 - size)) == 0,
            None => self.reads(at, &word.to_le_bytes()[..size]),
        }
    }

    /// As [`Self::starts`], for a literal of any length.
    #[inline(never)]
    pub(crate) fn reads(&self, at: usize, literal: &[u8]) -> bool {
        literal.iter().enumerate().all(|(offset, &byte)| self.at(at + offset) == byte)
    }

    /// Whether `literal` (lower case) stands at `at` in any case.
    #[inline(never)]
    pub(crate) fn starts_folded(&self, at: usize, literal: &[u8]) -> bool {
        literal.iter().enumerate().all(|(offset, &byte)| self.at(at + offset).to_ascii_lowercase() == byte)
    }

    /// Where the line of `at` begins, looking back at most `max` bytes.
    #[inline(never)]
    pub(crate) fn line_start(&self, at: usize, max: usize) -> usize {
        let floor = at.saturating_sub(max);
        let mut start = at;
        while start >= floor + 8 && self.eight(start - 8).is_some_and(|eight| !holds(eight, b'\n')) {
            start -= 8;
        }
        while start > floor && self.bytes[start - 1] != b'\n' {
            start -= 1;
        }
        start
    }

    /// Where the line of `at` ends (its newline), looking at most `max` bytes on.
    #[inline(never)]
    pub(crate) fn line_end(&self, at: usize, max: usize) -> usize {
        let mut end = at;
        while end + 8 <= at + max && self.eight(end).is_some_and(|eight| !holds(eight, b'\n')) {
            end += 8;
        }
        while end < at + max && !matches!(self.at(end), b'\n' | 0) {
            end += 1;
        }
        end
    }

    /// Forgets that an answer looked past the end.
    pub(crate) fn forget(&self) {
        self.touched.set(false);
    }

    /// Marks the answer as one that looked past the end.
    pub(crate) fn touch(&self) {
        self.touched.set(true);
    }

    /// Whether an answer since [`Self::forget`] looked past the end, and more may come there.
    pub(crate) fn undecided(&self) -> bool {
        self.touched.get() && !self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_past_the_end_is_remembered_unless_nothing_follows() {
        let text = Text::new(b"abc", false);
        assert_eq!(text.at(2), b'c');
        assert!(!text.undecided());
        assert_eq!(text.at(3), 0);
        assert!(text.undecided());
        let text = Text::new(b"abc", true);
        assert_eq!(text.run(0, LETTER, 10), 3);
        assert!(!text.undecided());
    }

    #[test]
    fn a_literal_that_differs_early_does_not_look_past_the_end() {
        let text = Text::new(b"xy", false);
        assert!(!text.starts(0, b"abcdef"));
        assert!(!text.undecided());
        assert!(!text.starts(0, b"xyz"));
        assert!(text.undecided());
    }
}
