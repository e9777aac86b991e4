//! Remembers what lines are, so that a line that differs from an earlier one in digits only is not classified again.
//!
//! This must never change what a line is: a line is remembered only when no number in it decided anything, and is
//! compared with what was remembered byte by byte.

use crate::classify::{Shape, classify};
use crate::simd::eight;

/// Lines that are remembered: 16 KiB of them stay in a processor's nearest cache.
const LINES: usize = 512;
/// The longest line that is remembered; longer ones seldom come twice.
const LONGEST: usize = 400;
/// Bytes of a word.
const WORD: usize = 8;

/// A line that was classified.
#[derive(Clone, Copy)]
struct Line {
    start: u32,
    /// Its bytes; 0 in a slot that is free.
    length: u32,
    shape: Shape,
}

/// Lines of one text that were classified.
pub struct Memo<'t> {
    text: &'t [u8],
    /// Whether the text has colour codes that were printed as text.
    caret_colour: bool,
    lines: Vec<Option<Line>>,
    scratch: Vec<u8>,
    /// Looks that may still find nothing before they are made seldom.
    trust: u32,
    /// Lines until the next look.
    wait: u32,
}

/// Looks that may find nothing at first, and at most.
const TRUST: u32 = 256;
/// What a look that finds its line adds to that: measured, it saves about what eight cost that find nothing.
const FOUND: u32 = 8;
/// One line in so many is looked for once too many were not found.
const SELDOM: u32 = 16;

impl<'t> Memo<'t> {
    /// Remembers nothing yet.
    #[must_use]
    pub fn new(text: &'t [u8], caret_colour: bool) -> Self {
        Self { text, caret_colour, lines: vec![None; LINES], scratch: Vec::new(), trust: TRUST, wait: 0 }
    }

    /// What the line in this place of the text is.
    #[must_use]
    pub fn classify(&mut self, from: usize, to: usize) -> Shape {
        let length = to - from;
        let text = &self.text[from..];
        if length > LONGEST || self.wait > 0 {
            self.wait = self.wait.saturating_sub(1);
            return classify(text, length, self.caret_colour, &mut self.scratch).0;
        }
        let slot = slot(text, length);
        if let Some(line) = self.lines[slot]
            && line.length as usize == length
            && alike(&self.text[line.start as usize..], text, length)
        {
            self.trust = TRUST.min(self.trust + FOUND);
            return line.shape;
        }
        self.trust = self.trust.saturating_sub(1);
        self.wait = if self.trust == 0 { SELDOM } else { 0 };
        let (shape, valued) = classify(text, length, self.caret_colour, &mut self.scratch);
        if !valued {
            self.lines[slot] = Some(Line { start: from as u32, length: length as u32, shape });
        }
        shape
    }
}

/// Eight bytes with every digit as `0`.
#[inline]
fn without_digits(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    let above = word ^ (0x30 * ONES);
    // The high bit of a byte is set when it is less than ten above `0`.
    let digits = !(((above & !HIGH) + (0x80 - 10) * ONES) | above) & HIGH;
    word & !((digits >> 3) - (digits >> 7))
}

/// The words of a line, and the last bytes of it as one more, without digits.
#[inline]
fn words(text: &[u8], length: usize) -> (impl Iterator<Item = u64>, u64) {
    let (words, rest) = text[..length].as_chunks::<WORD>();
    // Of the eight bytes from the last word on, those of the line.
    let last = if rest.is_empty() { 0 } else { eight(text, length - rest.len()) << (8 * (WORD - rest.len())) };
    (words.iter().map(|word| without_digits(u64::from_le_bytes(*word))), without_digits(last))
}

/// Where a line is remembered.
#[inline]
fn slot(text: &[u8], length: usize) -> usize {
    // The golden ratio of 2^64, the usual factor of multiplicative hashing.
    const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(MIX);
    let (words, last) = words(text, length);
    let hash = mix(words.fold(length as u64, mix), last);
    (hash >> (u64::BITS - LINES.ilog2())) as usize
}

/// Whether two lines differ in digits only.
#[inline]
fn alike(one: &[u8], other: &[u8], length: usize) -> bool {
    let ((mut one, one_last), (other, other_last)) = (words(one, length), words(other, length));
    // Both have as many words as the length has room for.
    one_last == other_last && other.zip(&mut one).all(|(other, one)| one == other)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn digits_are_all_alike_and_other_bytes_are_not(bytes in any::<[u8; WORD]>(), other in any::<[u8; WORD]>()) {
            let zeros = |bytes: [u8; WORD]| bytes.map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
            prop_assert_eq!(without_digits(u64::from_le_bytes(bytes)), u64::from_le_bytes(zeros(bytes)));
            prop_assert_eq!(alike(&bytes, &other, WORD), zeros(bytes) == zeros(other));
        }

        #[test]
        fn a_line_is_what_it_is_without_memory(
            lines in prop::collection::vec(
                prop_oneof![
                    "(exit|exited with code|line|level=|failed|errors:|passed|ok|tests) ?[0-9]{1,3}",
                    "[0-9]{1,2} (failed|errors|passed|tests|ok|warnings)(, [0-9] (failed|errors|passed))?",
                    "[0-9]{1,3}% (tests )?(passed|done)",
                    "\\[?[0-9]/[0-9]\\]? (passed|ok|CC a.o)",
                    "[0-9]\\) (test|x)",
                    "\\{\"level\":[0-9]{2}\\}",
                    "key=[0-9] level=[0-9]{2}",
                    "[a-z]{1,3}\\.rs:[0-9]:[0-9] [a-z]{0,3}",
                    "[0-9]{2}:[0-9]{2}:[0-9]{2} (exit status [0-9]|INFO x[0-9])",
                    "\"[0-9]\" [0-9]f (No|not ok) [0-9] (errors|failures)",
                ],
                0..80,
            ),
        ) {
            let text = lines.join("\n");
            let mut memo = Memo::new(text.as_bytes(), true);
            let mut from = 0;
            for line in &lines {
                let (shape, _) = classify(line.as_bytes(), line.len(), true, &mut Vec::new());
                prop_assert_eq!(memo.classify(from, from + line.len()), shape, "{}", line);
                from += line.len() + 1;
            }
        }
    }
}
