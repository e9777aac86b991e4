//! One walk over the bytes of a line: collects the facts that [`crate::classify`] decides on, and the line's template.
//!
//! This must never allocate, and never look at a byte more than a few times: it is most of the plugin's running time.

use crate::words::{PACKED, Word, look_up};

/// Bytes of a line that are looked at. What tells a line's kind stands at its front; the rest of a very long line is data.
pub const LOOKED_AT: usize = 2_000;

/// What a walk found.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The first word.
    pub first: Option<Word>,
    /// The second word.
    pub second: Option<Word>,
    /// The last word.
    pub last: Option<Word>,
    /// The first word has no lower-case letter and at least two letters.
    pub first_upper: bool,
    /// The last word likewise.
    pub last_upper: bool,
    /// Words seen.
    pub words: u32,
    /// Letters or digits were seen.
    pub alphanumeric: bool,
    /// An unmistakable error: `error:`, `error[…`, `TypeError:`, `fatal:`, `panicked`, …
    pub strong: bool,
    /// `fatal:` itself.
    pub fatal: bool,
    /// A failure word in capitals or behind dots: `FAILED`, `FAILURE!`, `...Failed`.
    pub fail_upper: bool,
    /// Any failure word that no count of zero takes back.
    pub fail: bool,
    /// A word of a cause in prose.
    pub cause: bool,
    /// A word of success.
    pub pass: bool,
    /// A word of warning.
    pub warn: bool,
    /// A low level stands near the front: `INFO`, `level=debug`.
    pub low_level: bool,
    /// Counted things: `3 failed`, `Failures: 2`, `12 tests`.
    pub pairs: u32,
    /// Counted bad things that were not zero.
    pub bad_counts: u32,
    /// Counted bad things that were zero.
    pub zero_counts: u32,
    /// Counted successes.
    pub pass_counts: u32,
    /// `100%` was seen.
    pub hundred_percent: bool,
    /// A percentage was seen.
    pub percent: bool,
    /// `n/m` was seen, and whether the two were equal.
    pub fraction: Option<bool>,
    /// `all` was seen.
    pub all: bool,
    /// An exit status other than zero after `exit`, `exited`, `returned`.
    pub exit_code: bool,
    /// A `file.ext:line`, `file.ext(line` or `"file", line n`.
    pub located: bool,
    /// The location ends in the first token.
    pub located_first: bool,
    /// A `/` was seen in a token.
    pub path: bool,
    /// The first token names a test: `tests/a.py::test_b`, `a::b::c`.
    pub test_id: bool,
    /// Tokens (runs without white space).
    pub tokens: u32,
    /// Hash of the line with digits, hexadecimal, quoted strings and paths taken out.
    pub template: u64,
}

/// The odd constant of a multiplicative hash (the golden ratio of 2^64).
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(5) ^ value).wrapping_mul(MIX)
}

/// Kinds of bytes.
const OTHER: u8 = 0;
const LETTER: u8 = 1;
const DIGIT: u8 = 2;
const SPACE: u8 = 3;

const KIND: [u8; 256] = {
    let mut kind = [OTHER; 256];
    let mut at = 0;
    while at < 256 {
        let byte = at as u8;
        kind[at] = if byte.is_ascii_alphabetic() {
            LETTER
        } else if byte.is_ascii_digit() {
            DIGIT
        } else if byte == b' ' || byte == b'\t' {
            SPACE
        } else {
            OTHER
        };
        at += 1;
    }
    kind
};

fn kind(byte: u8) -> u8 {
    KIND[byte as usize]
}

/// The longest quoted string taken out of a template; a quote without an end within it is only a byte.
const QUOTED: usize = 200;

/// Walks over a line whose prefixes (timestamps and the like) are gone.
#[must_use]
pub fn walk(line: &[u8]) -> Facts {
    let line = &line[..line.len().min(LOOKED_AT)];
    let mut walk = Walk { facts: Facts::default(), number: None, word: (Word::Other, 0), before: Word::Other, exit: 0 };
    let mut at = 0;
    let mut hash = 0;
    while at < line.len() {
        // One token a round.
        if kind(line[at]) == SPACE {
            at += 1;
            continue;
        }
        walk.facts.tokens += 1;
        let token = at;
        let mut own = hash;
        let mut path = false;
        let mut plain = true;
        while at < line.len() {
            let byte = line[at];
            match kind(byte) {
                SPACE => break,
                LETTER => {
                    let start = at;
                    let mut packed = 0u64;
                    let mut upper = true;
                    while at < line.len() && kind(line[at]) == LETTER {
                        if at - start < PACKED {
                            packed |= u64::from(line[at] | 0x20) << (8 * (at - start));
                        }
                        upper &= line[at] & 0x20 == 0;
                        at += 1;
                    }
                    if at < line.len() && kind(line[at]) == DIGIT || start > token && kind(line[start - 1]) == DIGIT {
                        // Letters beside digits are an identifier or hexadecimal: any of them is like any other.
                        if plain {
                            own = mix(own, 1);
                            plain = false;
                        }
                    } else {
                        own = mix(own, packed ^ ((at - start) as u64) << 56);
                        plain = true;
                    }
                    walk.word(line, start, at, packed, upper);
                }
                DIGIT => {
                    let start = at;
                    let mut value = 0u32;
                    while at < line.len() && kind(line[at]) == DIGIT {
                        value = value.saturating_mul(10).saturating_add(u32::from(line[at] - b'0'));
                        at += 1;
                    }
                    if plain {
                        own = mix(own, 1);
                        plain = false;
                    }
                    walk.number(line, token, start, at, value);
                }
                _ => {
                    plain = true;
                    path |= byte == b'/' || byte == b'\\';
                    if (byte == b'"' || byte == b'\'' || byte == b'`')
                        && at == token
                        && let Some(end) = closing(line, at)
                    {
                        // The words in quotes say nothing about the line's kind, except that they are there.
                        own = mix(own, 2);
                        at = end + 1;
                        continue;
                    }
                    own = mix(own, u64::from(byte));
                    at += 1;
                }
            }
        }
        walk.facts.path |= path;
        if walk.facts.tokens == 1 && path && memchr::memmem::find(&line[token..at], b"::").is_some() {
            walk.facts.test_id = true;
        }
        hash = if path && at - token > 1 { mix(hash, 3) } else { own };
    }
    let mut facts = walk.facts;
    facts.template = mix(hash, 4);
    facts
}

fn closing(line: &[u8], open: usize) -> Option<usize> {
    let end = line.len().min(open + QUOTED);
    memchr::memchr(line[open], &line[open + 1..end]).map(|found| open + 1 + found)
}

struct Walk {
    facts: Facts,
    /// The last number and where it ended.
    number: Option<(u32, usize)>,
    /// The last word and where it ended.
    word: (Word, usize),
    /// The word before that.
    before: Word,
    /// Words since `exit`, plus one; 0 if there was none.
    exit: u32,
}

impl Walk {
    fn word(&mut self, line: &[u8], start: usize, end: usize, packed: u64, upper: bool) {
        let length = end - start;
        let facts = &mut self.facts;
        facts.alphanumeric = true;
        facts.words += 1;
        let after = line.get(end).copied().unwrap_or(b' ');
        let joined = joined(line, start, end);
        let mut word = if joined { Word::Other } else { look_up(packed, length) };
        if word == Word::Other && length > 5 && camel_error(&line[start..end], after) {
            // `TypeError: …`, `java.io.IOException`, `AssertionError` at the end of a line.
            if after == b':' || end == line.len() {
                facts.strong = true;
            } else if !joined {
                facts.cause = true;
            }
        }
        if word == Word::Error && length == 3 && !upper {
            word = Word::Other; // `err` in small letters is a variable.
        }
        self.exit = match (word, self.exit) {
            (Word::Exit, _) => 1,
            (_, 0) => 0,
            (_, words) => words + 1,
        };
        match facts.words {
            1 => {
                facts.first = Some(word);
                facts.first_upper = upper && length > 1;
            }
            2 => facts.second = Some(word),
            _ => {}
        }
        let previous = self.word.0;
        let taken_back =
            matches!(previous, Word::No) || self.number.is_some_and(|(n, at)| n == 0 && near(line, at, start));
        let counted = self.number.filter(|&(_, at)| near(line, at, start));
        if let Some((count, _)) = counted {
            self.count(word, count);
        } else if word == Word::Fail && self.before == Word::Tests && self.facts.pairs > 0 {
            self.count(word, 1);
        }
        let facts = &mut self.facts;
        match word {
            Word::Error if !taken_back => {
                let opens = upper
                    || matches!(after, b':' | b'[' | b'!' | b']' | b'(')
                    || facts.words == 1 && start == 0
                    || facts.words == 2 && matches!(self.word.0, Word::Tool)
                    || code_follows(line, end);
                if opens { facts.strong = true } else { facts.cause = true }
            }
            Word::Errors if !taken_back => facts.cause = true,
            Word::Fatal => {
                facts.fatal |= after == b':' || upper;
                facts.strong = true;
            }
            Word::Panic if !taken_back => {
                facts.strong |= facts.words == 1 || after == b':' || length == 8;
                facts.cause = true;
            }
            Word::Exception if !taken_back => {
                facts.strong |= after == b':' || facts.words == 1;
                facts.cause = true;
            }
            Word::Fail if !taken_back => {
                facts.fail = true;
                // `...***Failed` and `.....Failed` end a line of dots.
                let dotted = start > 0 && matches!(line[start - 1], b'*' | b'.') && line[start].is_ascii_uppercase();
                facts.fail_upper |= upper || dotted;
            }
            Word::Cause | Word::Killed if !taken_back => facts.cause = true,
            Word::Closing if previous == Word::Not => facts.cause = true,
            Word::Pass if previous != Word::Not => facts.pass = true,
            Word::Warn => facts.warn = true,
            Word::Info if facts.words <= 3 && (upper || after == b':' || after == b']') || previous == Word::Level => {
                facts.low_level = true;
            }
            Word::All => facts.all = true,
            _ => {}
        }
        facts.last = Some(word);
        facts.last_upper = upper && length > 1;
        self.before = previous;
        self.word = (word, end);
    }

    fn number(&mut self, line: &[u8], token: usize, start: usize, end: usize, value: u32) {
        self.facts.alphanumeric = true;
        let after = line.get(end).copied().unwrap_or(b' ');
        let whole = start == token || !line[start - 1].is_ascii_alphanumeric();
        if after == b'%' {
            self.facts.percent = true;
            self.facts.hundred_percent |= value == 100 && whole;
        }
        if start > 0
            && line[start - 1] == b'/'
            && let Some((before, at)) = self.number
            && at + 1 == start
        {
            self.facts.fraction = Some(before == value);
        }
        if whole && !after.is_ascii_alphabetic() {
            let (word, at) = self.word;
            if at > 0 && after != b'.' && assigned(&line[at..start]) {
                self.count(word, value);
            }
            if value != 0 && (1..=3).contains(&self.exit) && (self.exit == 1 || word == Word::Code) {
                self.facts.exit_code = true;
            }
            if word == Word::LineNo
                && start > at
                && line[at] == b' '
                && memchr::memchr2(b'"', b',', &line[..at]).is_some()
            {
                self.facts.located = true;
                self.facts.located_first |= self.facts.words <= 2;
            }
        }
        if start > token + 1 && matches!(line[start - 1], b':' | b'(') && file_name(&line[token..start - 1]) {
            self.facts.located = true;
            self.facts.located_first |= self.facts.tokens == 1;
        }
        self.number = Some((value, end));
    }

    fn count(&mut self, word: Word, count: u32) {
        let facts = &mut self.facts;
        match word {
            Word::Fail | Word::Errors | Word::Error => {
                facts.pairs += 1;
                if count == 0 { facts.zero_counts += 1 } else { facts.bad_counts += 1 }
            }
            Word::Pass => {
                facts.pairs += 1;
                facts.pass_counts += 1;
            }
            Word::Tests | Word::Skipped | Word::Warn => facts.pairs += 1,
            _ => {}
        }
    }
}

/// Whether a word is part of a name (`no-error`, `error.rs`, `errors/mod`), which says nothing about the line.
fn joined(line: &[u8], start: usize, end: usize) -> bool {
    let name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let before = start.checked_sub(1).map_or(b' ', |at| line[at]);
    let second = start.checked_sub(2).map_or(b' ', |at| line[at]);
    let after = line.get(end).copied().unwrap_or(b' ');
    let next = line.get(end + 1).copied().unwrap_or(b' ');
    matches!(before, b'_' | b'/' | b'\\' | b'$' | b'@' | b'&')
        || before.is_ascii_digit()
        || matches!(before, b'-' | b'.') && name(second)
        || before == b':' && second == b':' && after != b':'
        || before == b'-' && second == b'-'
        || matches!(after, b'_' | b'/' | b'\\' | b'$' | b'@')
        || after.is_ascii_digit()
        || matches!(after, b'-' | b'.') && name(next)
        || after == b':' && next == b':'
        || after == b'(' && next == b')'
}

/// `SomethingError` or `SomethingException`, as languages name them.
fn camel_error(word: &[u8], after: u8) -> bool {
    word[0].is_ascii_uppercase()
        && !matches!(after, b'/' | b'\\' | b'_')
        && (word.ends_with(b"Error") || word.ends_with(b"Exception") || word.ends_with(b"Failure"))
}

/// `error TS2304`, `error CS1002`, `error 404`: the word and a code.
fn code_follows(line: &[u8], end: usize) -> bool {
    let rest = &line[end..line.len().min(end + 8)];
    rest.first() == Some(&b' ')
        && rest.get(1).is_some_and(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
        && rest[1..].iter().take_while(|b| b.is_ascii_alphanumeric()).any(u8::is_ascii_digit)
}

/// One blank or dash between a number's end and a word's start; more of them separate columns.
fn near(line: &[u8], at: usize, start: usize) -> bool {
    start == at + 1 && matches!(line[at], b' ' | b'-')
}

/// `: `, `=` or the like between a word and a number.
fn assigned(between: &[u8]) -> bool {
    between.len() <= 12
        && between.iter().all(|b| matches!(b, b' ' | b':' | b'=' | b'\t'))
        && between.iter().any(|b| matches!(b, b':' | b'='))
}

/// Endings of host names, which are no endings of files: `example.com:443` is no location.
const HOSTS: [&[u8]; 9] = [b"com", b"org", b"net", b"io", b"dev", b"test", b"local", b"internal", b"localhost"];

/// The longest ending of a file that counts as one, such as `.gradle`.
const ENDING: usize = 7;

/// Whether a token so far ends like a file's name.
fn file_name(token: &[u8]) -> bool {
    let ending = token.iter().rev().take(ENDING + 1).take_while(|b| b.is_ascii_alphanumeric()).count();
    if ending == 0 || ending > ENDING || ending >= token.len() {
        return false;
    }
    let (name, ending) = token.split_at(token.len() - ending);
    let stem = &name[..name.len() - 1];
    name.ends_with(b".")
        && ending[0].is_ascii_alphabetic()
        && stem.last().is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b']' | b')'))
        && !HOSTS.iter().any(|host| ending.eq_ignore_ascii_case(host))
}
