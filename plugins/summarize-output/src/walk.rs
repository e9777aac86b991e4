//! One walk over a line, sixty-four bytes at a time: finds the words and numbers that may tell its kind, and its template.
//!
//! This must never allocate, and never look at a byte more than a few times: it is most of the plugin's running time.

use crate::simd::{self, BLOCK, Kinds, low};
use crate::tell::{Facts, Tell, closing};
use crate::words::may_tell;

/// Bytes of a line that are looked at. What tells a line's kind stands at its front; the rest of a very long line is data.
pub const LOOKED_AT: usize = 2_000;

/// A hash of a template: a sum over its elements, each mixed with its place in the line, so that words, numbers and other
/// bytes may be added in any order.
#[derive(Clone, Copy, Debug, Default)]
struct Template {
    sum: u64,
    /// Elements so far.
    count: u32,
}

impl Template {
    /// Adds the element that so many come before, beside those that are counted.
    #[inline]
    fn add(&mut self, value: u64, before: u32) {
        // The golden ratio of 2^64 and the fraction of the square root of 3, both odd.
        const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
        const PLACE: u64 = 0xBB67_AE85_84CA_A73B;
        let mixed = value.wrapping_add(u64::from(self.count + before).wrapping_mul(PLACE)).wrapping_mul(MIX);
        self.sum = self.sum.wrapping_add(mixed ^ mixed >> 32);
    }

    /// Adds the next element.
    fn push(&mut self, value: u64) {
        self.add(value, 0);
        self.count += 1;
    }
}

/// What stands for an identifier or a number in a template's hash: a run of letters and digits with any digit.
const NUMBERED: u64 = 1;
/// What stands for a string in quotes.
const STRING: u64 = 2;
/// What stands for a path.
const PATH: u64 = 3;

/// Walks over the first `length` bytes of a text, a line whose prefixes (timestamps and the like) are gone. What stands
/// behind them tells nothing; it is there so that the end of a line costs no more than its middle.
#[must_use]
pub fn walk(text: &[u8], length: usize) -> Facts {
    let length = length.min(LOOKED_AT);
    let mut walk = Walk { text, line: &text[..length], tell: Tell::default(), template: Template::default(), first: 0 };
    let mut at = 0;
    while at < length {
        at = walk.window(at);
    }
    walk.tell.done(walk.template.sum)
}

/// A walk on its way.
struct Walk<'t> {
    text: &'t [u8],
    line: &'t [u8],
    tell: Tell,
    template: Template,
    /// Where the first token begins.
    first: usize,
}

/// Strings in quotes at the beginnings of tokens, in a window.
#[derive(Clone, Copy, Debug, Default)]
struct Strings {
    /// Their first quotes.
    starts: u64,
    /// All their bytes, with both quotes.
    bytes: u64,
}

/// What the bytes of a window belong to.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    /// Tokens.
    tokens: u64,
    /// Those of them that are paths.
    paths: u64,
    /// The first bytes of paths.
    path_starts: u64,
    strings: Strings,
}

/// Calls with the place of each bit and the bit itself; what comes back is done with.
#[inline]
fn each(mut bits: u64, mut call: impl FnMut(usize, u64) -> u64) {
    while bits != 0 {
        let done = call(bits.trailing_zeros() as usize, bits & bits.wrapping_neg());
        bits &= !done;
    }
}

/// The bit that tells a small letter from a capital one, in eight bytes.
const SMALL: u64 = 0x2020_2020_2020_2020;

impl Walk<'_> {
    /// Walks over whole tokens from `from` on, which is not within one, and tells where to go on. A token that does not
    /// fit into a window is walked over by itself.
    #[inline]
    fn window(&mut self, from: usize) -> usize {
        let left = self.line.len() - from;
        let mut kinds = simd::kinds(self.text, from).first(left);
        let mut strings = Strings::default();
        let mut looked = 0;
        loop {
            let opens = kinds.quotes & !kinds.blanks & (kinds.blanks << 1 | 1) & !low(looked);
            if opens == 0 {
                break;
            }
            let at = opens.trailing_zeros() as usize;
            let Some(end) = self.closing(from, at, kinds.quotes) else {
                looked = at + 1;
                continue;
            };
            looked = end + 1 - from;
            if looked > BLOCK {
                if at == 0 {
                    return self.token(from, Some(end));
                }
                self.tokens(from, kinds.first(at), low(at), strings);
                return self.token(from + at, Some(end));
            }
            // The words in quotes say nothing about the line's kind, except that they are there.
            let string = low(looked) & !low(at);
            kinds = kinds.without(string);
            strings.starts |= 1 << at;
            strings.bytes |= string;
        }
        let mut count = left.min(BLOCK);
        if left > BLOCK {
            // Up to the last blank.
            count = BLOCK - kinds.blanks.leading_zeros() as usize;
            if count == 0 {
                return self.token(from, closing(self.line, from));
            }
        }
        self.tokens(from, kinds.first(count), low(count), strings);
        from + count
    }

    /// As [`closing`], with a look at the quotes of the window first.
    #[inline]
    fn closing(&self, from: usize, at: usize, quotes: u64) -> Option<usize> {
        let quote = self.line[from + at];
        let mut others = quotes & !low(at + 1);
        while others != 0 {
            let end = from + others.trailing_zeros() as usize;
            if self.line[end] == quote {
                return Some(end);
            }
            others &= others - 1;
        }
        closing(self.line, from + at)
    }

    /// Walks over the tokens of a window.
    #[inline(never)]
    fn tokens(&mut self, from: usize, kinds: Kinds, within: u64, strings: Strings) {
        let tokens = !kinds.blanks & within;
        let starts = tokens & !(tokens << 1);
        let strings = Strings { starts: strings.starts & within, bytes: strings.bytes & within };
        // Paths: the tokens with a slash.
        let (mut paths, mut path_starts) = (0, 0);
        each(kinds.slashes, |at, _| {
            let before = !tokens & low(at);
            let start = BLOCK - before.leading_zeros() as usize;
            let end = at + (!(tokens >> at)).trailing_zeros() as usize;
            if end - start > 1 {
                paths |= low(end) & !low(start);
                path_starts |= 1 << start;
            }
            low(end)
        });
        let tell = &mut self.tell;
        if tell.facts.tokens == 0 && starts != 0 {
            self.first = from + starts.trailing_zeros() as usize;
            if paths & starts & starts.wrapping_neg() != 0 {
                let end = (!(tokens >> starts.trailing_zeros())).trailing_zeros() as usize;
                tell.facts.test_id = colons(&self.line[self.first..self.first + end]);
            }
        }
        tell.facts.tokens += starts.count_ones();
        tell.facts.path |= kinds.slashes != 0;
        let parts = Parts { tokens, paths, path_starts, strings };
        self.elements(from, from, &kinds, parts);
    }

    /// Walks over runs of letters and digits, and over the other bytes of tokens, from `from` on. A token that begins
    /// before that begins at `token`.
    #[inline(never)]
    fn elements(&mut self, from: usize, token: usize, kinds: &Kinds, parts: Parts) {
        let Parts { tokens, paths, path_starts, strings } = parts;
        let alphanumeric = kinds.letters | kinds.digits;
        self.tell.facts.alphanumeric |= alphanumeric != 0;
        if kinds.digits != 0 {
            self.numbers(from, token, kinds, tokens);
        }
        let runs = alphanumeric & !(alphanumeric << 1);
        let words = kinds.letters & !(kinds.letters << 1);
        let others = tokens & !alphanumeric & !paths & !strings.bytes;
        let strings = strings.starts & !paths;
        let elements = runs & !paths | path_starts | others | strings;
        let before = |bit: u64| (elements & (bit - 1)).count_ones();
        let mut template = self.template;
        let mut pure = runs;
        each(kinds.digits, |at, _| {
            // A run with a digit in it is an identifier, a number or hexadecimal: any of them is like any other.
            let start = BLOCK - (!alphanumeric & low(at)).leading_zeros() as usize;
            let end = at + (!(alphanumeric >> at)).trailing_zeros() as usize;
            pure &= !(1 << start);
            if paths & 1 << start == 0 {
                template.add(NUMBERED, before(1 << start));
            }
            if end - start > LETTERS && ends_like_an_error(self.line[from + end - 1]) {
                let line = &self.line[..from + end];
                let name = line.len() - line.iter().rev().take_while(|b| b.is_ascii_alphabetic()).count();
                let before = words & low(name.saturating_sub(from));
                self.tell.word(self.line, name, line.len(), 0, before.count_ones());
            }
            low(end)
        });
        each(pure, |at, bit| {
            let length = (!(kinds.letters >> at)).trailing_zeros() as usize;
            let eight = simd::eight(self.text, from + at);
            let word = word(eight, length);
            if paths & bit == 0 {
                template.add(word ^ (length as u64) << 56, before(bit));
            }
            let end = from + at + length;
            let name = length >= LETTERS && eight & 0x20 == 0 && ends_like_an_error(self.line[end - 1]);
            if name || may_tell(word, length) {
                self.tell.word(self.line, from + at, end, word, (words & (bit - 1)).count_ones());
            }
            bit
        });
        each(others, |at, bit| {
            template.add(u64::from(self.line[from + at]), before(bit));
            bit
        });
        each(path_starts, |_, bit| {
            template.add(PATH, before(bit));
            bit
        });
        each(strings, |_, bit| {
            template.add(STRING, before(bit));
            bit
        });
        template.count += elements.count_ones();
        self.template = template;
        self.tell.facts.words += words.count_ones();
    }

    /// Finds the numbers of a window that may say something.
    #[inline]
    fn numbers(&mut self, from: usize, token: usize, kinds: &Kinds, tokens: u64) {
        let marked = from > 0 && matches!(self.line[from - 1], b':' | b'(' | b'/');
        let marks = (kinds.marks | kinds.slashes) << 1 | u64::from(marked);
        each(kinds.digits & !(kinds.digits << 1) & marks, |at, bit| {
            let before = !tokens & low(at);
            let token = if before == 0 { token } else { from + BLOCK - before.leading_zeros() as usize };
            self.tell.place(self.line, token, from + at, token == self.first);
            bit
        });
        each(kinds.digits & kinds.percents >> 1, |at, bit| {
            self.tell.percent(self.line, from + at + 1);
            bit
        });
    }

    /// Walks over a token of any length, and tells where it ends. `string` is where the string ends that opens it.
    #[inline(never)]
    fn token(&mut self, token: usize, string: Option<usize>) -> usize {
        let line = self.line;
        // The words in quotes say nothing about the line's kind, except that they are there.
        let mut at = string.map_or(token, |end| end + 1);
        let end = memchr::memchr2(b' ', b'\t', &line[at..]).map_or(line.len(), |found| at + found);
        let path = memchr::memchr2(b'/', b'\\', &line[at..end]).is_some();
        if self.tell.facts.tokens == 0 {
            self.first = token;
            self.tell.facts.test_id = path && colons(&line[token..end]);
        }
        self.tell.facts.tokens += 1;
        self.tell.facts.path |= path;
        let before = self.template;
        if string.is_some() {
            self.template.push(STRING);
        }
        // Of a path, nothing is hashed but that it is one.
        let paths = if path { u64::MAX } else { 0 };
        while at < end {
            let mut count = BLOCK.min(end - at);
            let kinds = simd::kinds(self.text, at).first(count);
            if end - at > BLOCK {
                // Up to the last byte that is neither letter nor digit.
                count -= (kinds.letters | kinds.digits).leading_ones() as usize;
                if count == 0 {
                    at = self.run(token, at, end);
                    continue;
                }
            }
            let parts = Parts { tokens: low(count), paths, ..Parts::default() };
            self.elements(at, token, &kinds.first(count), parts);
            at += count;
        }
        if path && end - token > 1 {
            self.template = before;
            self.template.push(PATH);
        }
        end
    }

    /// Walks over a run of letters and digits that is too long for a window, and tells where it ends.
    fn run(&mut self, token: usize, start: usize, end: usize) -> usize {
        let line = self.line;
        let mut numbered = false;
        let mut at = start;
        while at < end && line[at].is_ascii_alphanumeric() {
            let from = at;
            if line[at].is_ascii_digit() {
                numbered = true;
                at += line[at..end].iter().take_while(|b| b.is_ascii_digit()).count();
                self.tell.place(line, token, from, token == self.first);
                if line.get(at) == Some(&b'%') {
                    self.tell.percent(line, at);
                }
                continue;
            }
            at += line[at..end].iter().take_while(|b| b.is_ascii_alphabetic()).count();
            self.tell.word(line, from, at, word(simd::eight(self.text, from), at - from), 0);
            self.tell.facts.words += 1;
        }
        self.tell.facts.alphanumeric = true;
        let value = word(simd::eight(self.text, start), at - start) ^ ((at - start) as u64) << 56;
        self.template.push(if numbered { NUMBERED } else { value });
        at
    }
}

/// A word as [`crate::words::pack`] packs it, from the eight bytes it begins with.
#[inline]
fn word(eight: u64, length: usize) -> u64 {
    (eight | SMALL) & u64::MAX >> (BLOCK - 8 * length.clamp(1, 8))
}

/// The fewest letters of a name such as `IOError`.
const LETTERS: usize = 6;

/// Whether a letter ends `Error`, `Exception` or `Failure`.
fn ends_like_an_error(letter: u8) -> bool {
    matches!(letter, b'r' | b'n' | b'e')
}

/// Whether a token has two colons in a row.
fn colons(token: &[u8]) -> bool {
    token.windows(2).any(|pair| pair == b"::")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn template(line: &str) -> u64 {
        walk(line.as_bytes(), line.len()).template
    }

    #[test]
    fn lines_that_differ_in_numbers_paths_strings_and_blanks_are_of_one_template() {
        for (one, other) in [
            ("[1/90] CC a1.o", "[12/90] CC a7.o"),
            ("wrote 0x00ff3a bytes", "wrote 1a2b bytes"),
            ("see src/a.rs: it is", "see /srv/b/c.rs(1,2): it is"),
            ("got 'a b' from \"c\" now", "got 'x' from \"y z\" now"),
            ("a - b", "a   -  b"),
            ("Fetched it", "fetched it"),
        ] {
            assert_eq!(template(one), template(other), "{one} {other}");
        }
        for (one, other) in [
            ("a b", "b a"),
            ("a, b", "a; b"),
            ("one 1 two", "one two 1"),
            ("see a.rs", "see a/rs"),
            ("got 'a' now", "got a now"),
            ("----------", "=========="),
            ("---------", "----------"),
        ] {
            assert_ne!(template(one), template(other), "{one} {other}");
        }
    }

    fn piece() -> impl Strategy<Value = String> {
        prop_oneof![
            3 => "(error|Error|failed|FAILED|ok|exit|code|line|tests|no|not|warning|info|x|TypeError|name)",
            3 => "[0-9]{1,4}",
            2 => "[ ]{1,3}",
            2 => "[-:=/.,(%_'\"`\\[\\]]",
            1 => "[a-zA-Z0-9]{1,100}",
            1 => "[a-z/.:0-9]{20,90}",
            1 => "\\PC{0,8}",
        ]
    }

    proptest! {
        #[test]
        fn where_a_line_stands_in_a_window_changes_nothing(
            pieces in prop::collection::vec(piece(), 0..40),
            blanks in 1..70usize,
        ) {
            let line = pieces.concat();
            let (blanks, shifted) = (" ".repeat(blanks), " ".repeat(blanks + 1));
            let of = |text: String| format!("{:?}", walk(text.as_bytes(), text.len()));
            prop_assert_eq!(of(blanks + &line), of(shifted + &line));
        }

        #[test]
        fn what_stands_behind_a_line_changes_nothing(
            pieces in prop::collection::vec(piece(), 0..20),
            behind in prop::collection::vec(piece(), 0..10),
        ) {
            let line = pieces.concat();
            let text = format!("{line}{}", behind.concat());
            let alone = walk(line.as_bytes(), line.len());
            prop_assert_eq!(format!("{:?}", walk(text.as_bytes(), line.len())), format!("{alone:?}"));
        }
    }
}
