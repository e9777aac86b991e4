//! What the words and numbers of a line say about it: the facts that [`crate::classify`] decides on.
//!
//! This must never allocate, and never depend on where in a line the look of [`crate::walk`] begins.

use crate::words::{Word, look_up};

/// What a walk found.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The first word.
    pub first: Word,
    /// The second word.
    pub second: Word,
    /// The last word.
    pub last: Word,
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
    /// It was looked whether a number is zero.
    pub valued: bool,
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

/// The longest quoted string taken out of a template; a quote without an end within it is only a byte.
const QUOTED: usize = 200;

/// Where the string ends that a quote opens, if it is one.
#[must_use]
pub fn closing(line: &[u8], open: usize) -> Option<usize> {
    if !matches!(line[open], b'"' | b'\'' | b'`') {
        return None;
    }
    let end = line.len().min(open + QUOTED);
    memchr::memchr(line[open], &line[open + 1..end]).map(|found| open + 1 + found)
}

/// What has been told so far.
#[derive(Debug, Default)]
pub struct Tell {
    /// What was found.
    pub facts: Facts,
    /// The last word that says anything and the one before it, and the how manyth words they are.
    told: [(u32, Word); 2],
    /// The how manyth word `exit` is; 0 if there was none.
    exit: u32,
}

impl Tell {
    /// What was found, at the end of the line.
    #[must_use]
    pub fn done(mut self, template: u64) -> Facts {
        let (nth, word) = self.told[0];
        if nth == self.facts.words {
            self.facts.last = word;
        }
        self.facts.template = template;
        self.facts
    }

    /// A word that may say something about the line. `before` are words that are not counted yet; what
    /// [`crate::words::may_tell`] passes over need not be told.
    #[inline(never)]
    pub fn word(&mut self, line: &[u8], start: usize, end: usize, packed: u64, before: u32) {
        let nth = self.facts.words + before + 1;
        let length = end - start;
        let upper = upper(&line[start..end]);
        let facts = &mut self.facts;
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
        if word == Word::Other {
            return;
        }
        match nth {
            1 => (facts.first, facts.first_upper) = (word, upper && length > 1),
            2 => facts.second = word,
            _ => {}
        }
        facts.last_upper = upper && length > 1;
        let told = |nth: u32, told: &[(u32, Word)]| {
            told.iter().find(|told| told.0 == nth && nth > 0).map_or(Word::Other, |told| told.1)
        };
        let previous = told(nth - 1, &self.told);
        let before = told(nth.saturating_sub(2), &self.told);
        self.told = [(nth, word), self.told[0]];
        let counted = near(line, start);
        let none = word.is_bad() && counted.is_some_and(|number| self.zero(number));
        let taken_back = previous == Word::No || none;
        if counted.is_some() {
            self.count(word, none);
        } else if word == Word::Fail && before == Word::Tests && self.facts.pairs > 0 {
            self.count(word, false);
        }
        let facts = &mut self.facts;
        match word {
            Word::Error if !taken_back => {
                let opens = upper
                    || matches!(after, b':' | b'[' | b'!' | b']' | b'(')
                    || nth == 1 && start == 0
                    || nth == 2 && previous == Word::Tool
                    || code_follows(line, end);
                if opens { facts.strong = true } else { facts.cause = true }
            }
            Word::Errors if !taken_back => facts.cause = true,
            Word::Fatal => {
                facts.fatal |= after == b':' || upper;
                facts.strong = true;
            }
            Word::Panic if !taken_back => {
                facts.strong |= nth == 1 || after == b':' || length == 8;
                facts.cause = true;
            }
            Word::Exception if !taken_back => {
                facts.strong |= after == b':' || nth == 1;
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
            Word::Info if nth <= 3 && (upper || after == b':' || after == b']') || previous == Word::Level => {
                facts.low_level = true;
            }
            Word::All => facts.all = true,
            _ => {}
        }
        self.behind(line, end, word, nth);
    }

    /// What the numbers behind a word say.
    fn behind(&mut self, line: &[u8], end: usize, word: Word, nth: u32) {
        if word == Word::Exit {
            self.exit = nth;
        }
        if word.is_counted()
            && let Some(number) = assigned(&line[end..])
        {
            let none = word.is_bad() && self.zero(number);
            self.count(word, none);
        }
        let exits = word == Word::Exit || word == Word::Code && self.exit > 0 && nth - self.exit < 3;
        if exits {
            self.facts.exit_code |= numbers_behind(line, end, |number| !self.zero(number));
        }
        if word == Word::LineNo
            && line.get(end) == Some(&b' ')
            && memchr::memchr2(b'"', b',', &line[..end]).is_some()
            && numbers_behind(line, end, |_| true)
        {
            self.facts.located = true;
            self.facts.located_first |= nth <= 2;
        }
    }

    /// A number with a `:`, a `(` or a slash before it.
    pub fn place(&mut self, line: &[u8], token: usize, start: usize, first: bool) {
        match &line[token..start] {
            [before @ .., b'/'] => {
                let number = number_before(before);
                if !number.is_empty() {
                    let behind = line[start..].iter().take_while(|b| b.is_ascii_digit()).count();
                    self.facts.fraction = Some(value(number) == value(&line[start..start + behind]));
                }
            }
            [before @ .., b':' | b'('] if !before.is_empty() && file_name(before) => {
                self.facts.located = true;
                self.facts.located_first |= first;
            }
            _ => {}
        }
    }

    /// A number that ends before a `%`.
    pub fn percent(&mut self, line: &[u8], end: usize) {
        let number = number_before(&line[..end]);
        let whole = line[..end - number.len()].last().is_none_or(|b| !b.is_ascii_alphabetic());
        self.facts.percent = true;
        self.facts.hundred_percent |= whole && value(number) == 100;
    }

    /// Whether a number is zero. That it was asked says that the number decides.
    fn zero(&mut self, digits: &[u8]) -> bool {
        self.facts.valued = true;
        digits.iter().all(|&digit| digit == b'0')
    }

    /// A counted word; `zero` is whether there are none of it.
    fn count(&mut self, word: Word, zero: bool) {
        let facts = &mut self.facts;
        match word {
            Word::Fail | Word::Errors | Word::Error => {
                facts.pairs += 1;
                if zero { facts.zero_counts += 1 } else { facts.bad_counts += 1 }
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

/// Whether a word has no small letter.
fn upper(word: &[u8]) -> bool {
    word.iter().all(|letter| letter & 0x20 == 0)
}

/// A number, or the largest there is.
fn value(digits: &[u8]) -> u32 {
    digits.iter().fold(0, |value: u32, digit| value.saturating_mul(10).saturating_add(u32::from(digit - b'0')))
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

/// The number before a word, with one blank or dash between them; more of them separate columns.
fn near(line: &[u8], start: usize) -> Option<&[u8]> {
    match &line[..start] {
        [before @ .., b' ' | b'-'] => Some(number_before(before)).filter(|number| !number.is_empty()),
        _ => None,
    }
}

/// The digits that a text ends in.
fn number_before(text: &[u8]) -> &[u8] {
    &text[text.len() - text.iter().rev().take_while(|b| b.is_ascii_digit()).count()..]
}

/// The most bytes between a word and the number assigned to it.
const BETWEEN: usize = 12;

/// The number behind a word with `: `, `=` or the like between them: `failures=3`, `Failures: 2`.
fn assigned(behind: &[u8]) -> Option<&[u8]> {
    let between = behind.iter().take_while(|b| matches!(b, b' ' | b':' | b'=' | b'\t')).count();
    let sign = between <= BETWEEN && behind[..between].iter().any(|b| matches!(b, b':' | b'='));
    let number = &behind[between..];
    let number = &number[..number.iter().take_while(|b| b.is_ascii_digit()).count()];
    let after = behind.get(between + number.len()).copied().unwrap_or(b' ');
    (sign && !number.is_empty() && after != b'.' && !after.is_ascii_alphabetic()).then_some(number)
}

/// Whether there is such a number behind a word and before the next one. Numbers in strings and in names are none.
fn numbers_behind(line: &[u8], word: usize, mut found: impl FnMut(&[u8]) -> bool) -> bool {
    let mut at = word;
    while at < line.len() && !line[at].is_ascii_alphabetic() {
        let start = at;
        if line[at].is_ascii_digit() {
            at += line[at..].iter().take_while(|b| b.is_ascii_digit()).count();
            let whole = !line[start - 1].is_ascii_alphabetic();
            let named = line.get(at).is_some_and(u8::is_ascii_alphabetic);
            if whole && !named && found(&line[start..at]) {
                return true;
            }
            continue;
        }
        let opens = matches!(line[at - 1], b' ' | b'\t') && matches!(line[at], b'"' | b'\'' | b'`');
        at = if opens { closing(line, at).unwrap_or(at) } else { at } + 1;
    }
    false
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
