//! What kind of line a line is, told by shapes that compilers, test runners, build tools and shells share.
//!
//! This must never decide that a run succeeded: it only says which lines are worth keeping.

use crate::find::find;
use crate::prefix::{BRACKETS, body};
use crate::tell::Facts;
use crate::walk::walk;
use crate::words::Word;

/// The kinds of lines, from the least to the most telling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Nothing but white space.
    Blank,
    /// Nothing but punctuation.
    Rule,
    /// Progress: a percentage, `[3/90]`, `Downloading …`.
    Progress,
    /// One thing that went well.
    Pass,
    /// A log line of a low level.
    Info,
    /// None of the others.
    Plain,
    /// A warning.
    Warn,
    /// Names what runs: a command, a step, a target.
    Command,
    /// A heading, such as `==== ERRORS ====` or a file's name alone.
    Heading,
    /// A frame of a trace, or a location alone.
    Frame,
    /// One side of a comparison.
    Diff,
    /// Prose that names a cause: `denied`, `not found`.
    Cause,
    /// `file:line: text` without a word of error.
    Located,
    /// A runner's counts.
    Summary,
    /// A failing test, target or task.
    Failure,
    /// An unmistakable error.
    Error,
    /// How it all ended: an exit status, `fatal:`, a kill.
    Terminal,
}

impl Class {
    /// Whether lines of this kind that look alike may be folded although their numbers differ.
    #[must_use]
    pub fn folds(self) -> bool {
        matches!(self, Self::Blank | Self::Rule | Self::Progress | Self::Pass | Self::Info)
    }

    /// Whether the line itself says that something went wrong.
    #[must_use]
    pub fn is_anchor(self) -> bool {
        self >= Self::Located && self != Self::Summary
    }
}

/// What is known about a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its kind.
    pub class: Class,
    /// Hash of its template.
    pub template: u64,
    /// It claims that nothing failed.
    pub green: bool,
    /// `row:column` without a file: the file stands in a heading above.
    pub row_column: bool,
    /// White space before the text.
    pub indent: u8,
    /// Bytes before the body: timestamps and the like.
    pub body: u16,
}

/// Classifies the first `length` bytes of a text, a line; what stands behind them tells nothing. `scratch` is reused for
/// lines whose colour codes were printed as text (`^[[31m`). Also tells whether the value of any number decided, so that
/// a line with other digits may be of another kind.
#[must_use]
pub fn classify(text: &[u8], length: usize, caret_colour: bool, scratch: &mut Vec<u8>) -> (Shape, bool) {
    let line = &text[..length];
    let behind = body(line);
    let before = length - behind.len();
    if caret_colour && caret(behind).is_some() {
        strip_caret(behind, scratch);
        let stripped = scratch.len() - body(scratch).len();
        return shape(&scratch[stripped..], scratch.len() - stripped, before as u16);
    }
    shape(&text[before..], behind.len(), before as u16)
}

fn shape(text: &[u8], length: usize, before: u16) -> (Shape, bool) {
    let body = &text[..length];
    let indent = body.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    let (symbol, line) = symbol(&body[indent..]);
    let facts = walk(&text[length - line.len()..], line.len());
    let text = line;
    let row_column = row_column(text);
    let class = decide(symbol, text, &facts, row_column, indent);
    let shape = Shape {
        class,
        template: facts.template,
        green: green(&facts, text),
        row_column,
        indent: indent.min(255) as u8,
        body: before,
    };
    (shape, facts.valued || valued(&facts, text))
}

/// Whether a number decided beside those of [`Facts::valued`]: in a claim of success, as a level, as a number before a
/// failure.
fn valued(facts: &Facts, text: &[u8]) -> bool {
    let claim = facts.pass && (facts.percent || facts.fraction.is_some());
    claim || text.first() == Some(&b'{') || key_and_value(text) || numbered(text)
}

/// Where a colour code that was printed as text begins.
#[must_use]
pub fn caret(text: &[u8]) -> Option<usize> {
    find(text, b"^[[")
}

/// Copies a line without `^[[…m` sequences.
fn strip_caret(line: &[u8], scratch: &mut Vec<u8>) {
    scratch.clear();
    let mut rest = line;
    while let Some(found) = caret(rest) {
        scratch.extend_from_slice(&rest[..found]);
        rest = &rest[found + 3..];
        let end = rest.iter().position(|b| !(b.is_ascii_digit() || matches!(b, b';' | b'?'))).unwrap_or(rest.len());
        rest = &rest[(end + 1).min(rest.len())..];
    }
    scratch.extend_from_slice(rest);
}

/// Marks that runners put before a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Symbol {
    None,
    Tick,
    Cross,
    Pointer,
}

/// The mark before a line and the line after it. Lines of boxes are taken off as well.
fn symbol(mut text: &[u8]) -> (Symbol, &[u8]) {
    let mut found = Symbol::None;
    while let [first, second, third, rest @ ..] = text
        && *first >= 0x80
    {
        let (symbol, rest) = match (first, second, third) {
            (0xE2, 0x9C, 0x93 | 0x94 | 0x85) | (0xE2, 0x88, 0x9A) => (Symbol::Tick, rest),
            (0xE2, 0x9C, 0x95..=0x98) | (0xE2, 0x9D, 0x8C) | (0xE2, 0x97, 0x8F) | (0xE2, 0xA8, 0xAF) => {
                (Symbol::Cross, rest)
            }
            (0xC3, 0x97, _) => (Symbol::Cross, &text[2..]),
            (0xE2, 0x9D, 0xAF) | (0xE2, 0x96, 0xB6) => (Symbol::Pointer, rest),
            (0xE2, 0x94 | 0x95 | 0x8E, _) => (found, rest),
            _ => break,
        };
        found = symbol;
        let blanks = rest.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        text = &rest[blanks..];
    }
    (found, text)
}

/// `12:5 ` at the front, as linters print below a file's name.
fn row_column(text: &[u8]) -> bool {
    let row = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let Some((b':', rest)) = text.get(row..).and_then(|rest| rest.split_first().map(|(b, rest)| (*b, rest))) else {
        return false;
    };
    let column = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    row > 0 && row < 7 && column > 0 && column < 6 && matches!(rest.get(column), Some(b' ' | b'\t' | b':'))
}

/// A claim that nothing failed: counts of zero failures, all of all passed.
fn green(facts: &Facts, text: &[u8]) -> bool {
    let all_passed =
        facts.pass && (facts.hundred_percent || facts.all || facts.fraction == Some(true)) && facts.words <= 12;
    let none_failed =
        facts.zero_counts > 0 && facts.pairs > facts.zero_counts || text.starts_with(b"OK (") && facts.pairs > 0;
    facts.bad_counts == 0 && !facts.strong && !facts.fail_upper && (all_passed || none_failed)
}

/// The most words a line of counts has, or it is prose with numbers in it.
const SUMMARY_WORDS: u32 = 24;
/// The same with one count only.
const ONE_COUNT_WORDS: u32 = 9;

fn decide(symbol: Symbol, text: &[u8], facts: &Facts, row_column: bool, indent: usize) -> Class {
    if !facts.alphanumeric {
        return match text {
            [] => Class::Blank,
            _ if text.iter().any(letter_of_another_script) => foreign(text).unwrap_or(Class::Plain),
            _ => Class::Rule,
        };
    }
    if symbol == Symbol::Tick {
        return Class::Pass;
    }
    if let Some(class) = marked(text, facts) {
        return class;
    }
    if let Some(class) = key_and_value(text).then(|| level(text)).flatten() {
        return class;
    }
    let first = facts.first;
    let last = facts.last;
    if row_column && first == Word::Error {
        return Class::Error;
    }
    if !facts.low_level && (facts.exit_code || facts.fatal) || first == Word::Killed && facts.words <= 4 {
        return Class::Terminal;
    }
    if facts.test_id && !facts.located || first == Word::Skipped && facts.first_upper {
        // The name of a test says nothing about it; a verdict stands before or behind it.
        return match last {
            Word::Fail | Word::Error if facts.last_upper => Class::Failure,
            _ => Class::Pass,
        };
    }
    if text.ends_with(b"Traceback (most recent call last):") {
        return Class::Error; // Behind whatever had begun a line.
    }
    if dots(text) {
        return Class::Progress;
    }
    let counted = facts.bad_counts + facts.zero_counts + facts.pass_counts;
    if facts.pairs >= 2 && counted > 0 && facts.words <= SUMMARY_WORDS
        || facts.pairs >= 2 && first == Word::Pass && facts.words <= ONE_COUNT_WORDS
        || facts.pairs == 1 && counted == 1 && facts.words <= ONE_COUNT_WORDS && !row_column && !facts.located
    {
        return Class::Summary;
    }
    let passed = first == Word::Pass && facts.bad_counts == 0 || last == Word::Pass && facts.words > 1;
    if passed && !facts.fail_upper && !(facts.strong && first != Word::Pass && !text.ends_with(b"ok")) {
        return Class::Pass;
    }
    if first == Word::Fail && facts.first_upper
        || last == Word::Fail && facts.words > 1 && (facts.last_upper || text.contains(&b'.'))
        || facts.fail_upper
        || first == Word::Not && facts.second == Word::Pass
        || matches!(first, Word::Cause | Word::Killed) && facts.first_upper && facts.words > 1
        || first == Word::Fail && text[0].is_ascii_uppercase() && text.ends_with(b":") && facts.words <= 3
        || symbol == Symbol::Cross
        || text.ends_with(b" [E]")
    {
        return Class::Failure;
    }
    if facts.strong && !facts.low_level {
        return Class::Error;
    }
    if facts.warn {
        return Class::Warn;
    }
    if facts.low_level {
        return Class::Info;
    }
    if row_column && facts.words > 1 {
        return Class::Located;
    }
    if facts.located {
        let frame = first == Word::At
            || symbol == Symbol::Pointer
            || text.starts_with(b"File \"")
            || text.starts_with(b"-->")
            || facts.tokens <= 2;
        let note = find(text, b": note: ").is_some();
        return match (frame || note, facts.located_first) {
            (true, _) => Class::Frame,
            (_, true) => Class::Located,
            _ if facts.cause || facts.fail => Class::Cause,
            _ => Class::Frame,
        };
    }
    if first == Word::At && indent > 0 {
        return Class::Frame;
    }
    if facts.percent
        || facts.fraction.is_some() && text[0] == b'['
        || first == Word::Progress && facts.first_capital(text)
    {
        return if facts.fail || facts.percent && facts.cause { Class::Cause } else { Class::Progress };
    }
    if let Some(class) = foreign(text) {
        return class;
    }
    if facts.cause || facts.fail || first == Word::No {
        return if script_line(text) { Class::Error } else { Class::Cause };
    }
    if first == Word::Diff && facts.tokens > 1 {
        return Class::Diff;
    }
    if facts.tokens == 1 && file_and_line(text) {
        return Class::Located;
    }
    if heading(text, facts) { Class::Heading } else { Class::Plain }
}

impl Facts {
    /// Verbs of progress begin a sentence, or stand alone in small letters as the name of a compiler.
    fn first_capital(&self, text: &[u8]) -> bool {
        text[0].is_ascii_uppercase() || self.path
    }
}

/// Lines told by how they begin.
fn marked(text: &[u8], facts: &Facts) -> Option<Class> {
    let class = match text[0] {
        b'#' if text.starts_with(b"##[error]") => Class::Terminal,
        b'#' if text.starts_with(b"##[warning]") => Class::Warn,
        b'#' if text.starts_with(b"##[group]") => Class::Command,
        b'#' if text.starts_with(b"##[") => Class::Info,
        b':' if text.starts_with(b"::error") => Class::Terminal,
        b':' if text.starts_with(b"::group") => Class::Command,
        b'#' if text.starts_with(b"# ") && facts.tokens == 2 => Class::Heading,
        b'$' | b'>' | b'%'
            if !facts.fail_upper
                && text.get(1) == Some(&b' ')
                && text.get(2).is_some_and(u8::is_ascii_alphanumeric) =>
        {
            Class::Command
        }
        b'E' if text.starts_with(b"E  ") => Class::Error,
        b'I' | b'W' | b'E' | b'F' if letter_and_date(text) => match text[0] {
            b'F' => Class::Terminal,
            b'E' => Class::Error,
            b'W' => Class::Warn,
            _ => Class::Info,
        },
        b'1'..=b'9' if numbered(text) && facts.last != Word::Pass => Class::Failure,
        b'{' => return level(text),
        b'*' if text.starts_with(b"*** ") => Class::Terminal,
        b'*' if text.starts_with(b"* What went wrong") => Class::Error,
        b'-' if text.starts_with(b"--- FAIL") || text.starts_with(b"--- ERROR") => Class::Failure,
        b'-' if text.starts_with(b"--- PASS") || text.starts_with(b"--- SKIP") => Class::Pass,
        b'-' if text.starts_with(b"---- ") && text.ends_with(b" ----") => Class::Failure,
        b'=' if text.starts_with(b"=== RUN") || text.starts_with(b"=== PAUSE") || text.starts_with(b"=== CONT") => {
            Class::Progress
        }
        b'=' | b'_' | b'-' | b'!' | b'*' if framed(text) => framed_class(text[0], facts),
        b'[' if instruction(text) || text.starts_with(b"[command]") => Class::Command,
        b'm' | b'g'
            if find(&text[..text.len().min(12)], b": *** ").is_some()
                || find(&text[..text.len().min(14)], b"]: *** ").is_some() =>
        {
            Class::Terminal
        }
        _ => return None,
    };
    Some(class)
}

/// `E0102 03:04:05`: a level's letter, month and day, as programs write that log the way Google's do.
fn letter_and_date(text: &[u8]) -> bool {
    const DATE: usize = 5;
    text.get(1..DATE).is_some_and(|date| date.iter().all(u8::is_ascii_digit))
        && text.get(DATE) == Some(&b' ')
        && text.get(DATE + 3) == Some(&b':')
}

/// `1) the name of a test`, as runners number what failed.
fn numbered(text: &[u8]) -> bool {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    digits < 4 && text[digits..].starts_with(b") ") && text.len() > digits + 4
}

/// `script.sh: line 9: command: not found`, as shells say it.
fn script_line(text: &[u8]) -> bool {
    const LINE: &[u8] = b": line ";
    memchr::memchr_iter(b':', text).any(|at| {
        text[at..].strip_prefix(LINE).is_some_and(|rest| {
            let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
            digits > 0 && rest.get(digits) == Some(&b':')
        })
    })
}

/// Whether a line begins with `key=value`.
fn key_and_value(text: &[u8]) -> bool {
    let key = text.iter().take_while(|b| b.is_ascii_lowercase()).count();
    matches!(key, 1..=9) && text.get(key) == Some(&b'=')
}

/// Where the level of a structured line is looked for, in bytes.
const LEVEL_WITHIN: usize = 240;

/// The kind of a structured line (JSON or `key=value`) by the level that it names itself.
fn level(text: &[u8]) -> Option<Class> {
    let text = &text[..text.len().min(LEVEL_WITHIN)];
    let behind = [&b"level\":"[..], b"level=", b"lvl=", b"lvl\":", b"severity\":", b"severity="]
        .iter()
        .find_map(|key| find(text, key).map(|at| &text[at + key.len()..]))?;
    let value = &behind[behind.iter().take_while(|b| matches!(b, b' ' | b'"')).count()..];
    let digits = value.iter().take_while(|b| b.is_ascii_digit()).count();
    if digits > 0 {
        // Levels as numbers, in tens: 30 is information, 60 is fatal.
        return match (digits, value[0]) {
            (2, b'6'..) => Some(Class::Terminal),
            (2, b'5') => Some(Class::Error),
            (2, b'4') => Some(Class::Warn),
            (2, _) => Some(Class::Info),
            _ => None,
        };
    }
    match value.get(..2)?.to_ascii_lowercase().as_slice() {
        b"fa" | b"pa" | b"cr" | b"em" | b"al" | b"dp" => Some(Class::Terminal),
        b"er" => Some(Class::Error),
        b"wa" => Some(Class::Warn),
        b"in" | b"de" | b"tr" | b"no" => Some(Class::Info),
        _ => None,
    }
}

/// Whether a byte begins a letter that is not of ASCII: lines, bullets, quotes and emoji begin with the others.
fn letter_of_another_script(byte: &u8) -> bool {
    matches!(byte, 0xC3..=0xE1 | 0xE3..=0xEE) && *byte != 0xCC
}

/// What compilers and tools say of a failure in other scripts than that of English.
const FOREIGN: [(&str, Class); 9] = [
    ("\u{9519}\u{8bef}", Class::Error),
    ("\u{932f}\u{8aa4}", Class::Error),
    ("\u{30a8}\u{30e9}\u{30fc}", Class::Error),
    ("\u{c624}\u{b958}", Class::Error),
    ("\u{448}\u{438}\u{431}\u{43a}\u{430}", Class::Error),
    ("\u{5931}\u{8d25}", Class::Failure),
    ("\u{5931}\u{6557}", Class::Failure),
    ("\u{c2e4}\u{d328}", Class::Failure),
    ("\u{e9}chec", Class::Failure),
];

/// What a line says that no word of the lists told: a state such as `CREATE_FAILED`, or a word of another script.
fn foreign(text: &[u8]) -> Option<Class> {
    let state = |at: usize| text[at + 1..].starts_with(b"FAILED ") || text[at + 1..].starts_with(b"FAILURE ");
    if memchr::memchr_iter(b'_', text).any(state) {
        return Some(Class::Failure);
    }
    if text.is_ascii() {
        return None;
    }
    let found = |word: &str| find(text, word.as_bytes()).is_some();
    FOREIGN.iter().find(|(word, _)| found(word)).map(|(_, class)| *class)
}

/// A text between two runs of the same punctuation, such as `=== ERRORS ===`.
fn framed(text: &[u8]) -> bool {
    let mark = text[0];
    let run = text.iter().take_while(|&&b| b == mark).count();
    text.last() == Some(&mark) && text.get(run) == Some(&b' ') && (run >= 2 || mark == b'_' || mark == b'=')
}

fn framed_class(mark: u8, facts: &Facts) -> Class {
    let counted = facts.bad_counts + facts.zero_counts + facts.pass_counts > 0;
    match mark {
        _ if counted => Class::Summary,
        b'_' | b'!' => Class::Failure,
        _ => Class::Heading,
    }
}

/// One letter a test, as quiet runners print: `....s..F.. [ 12%]`.
fn dots(text: &[u8]) -> bool {
    const FEW: usize = 12;
    text.len() >= FEW
        && text[0] != b'['
        && text.iter().all(|b| {
            matches!(b, b'.' | b's' | b'F' | b'E' | b'x' | b'X' | b'R' | b'S' | b' ' | b'[' | b']' | b'%' | b'0'..=b'9')
        })
        && text.iter().filter(|&&b| b == b'.').count() * 4 > text.len()
}

/// What builders of images print as steps.
const INSTRUCTIONS: [&[u8]; 5] = [b"RUN ", b"COPY ", b"ADD ", b"FROM ", b"WORKDIR "];

/// `[stage 3/9] RUN …`: a builder's step.
fn instruction(text: &[u8]) -> bool {
    let close = memchr::memchr(b']', &text[..text.len().min(BRACKETS)]);
    let rest = close.and_then(|close| text[close + 1..].strip_prefix(b" "));
    rest.is_some_and(|rest| INSTRUCTIONS.iter().any(|instruction| rest.starts_with(instruction)))
}

/// A file's name alone, or a short text that ends with a colon.
fn heading(text: &[u8], facts: &Facts) -> bool {
    facts.tokens == 1 && facts.path && !text.ends_with(b"/") || facts.words <= 6 && text.ends_with(b":")
}

/// `Dockerfile:12`: a file without an ending, and a line.
fn file_and_line(text: &[u8]) -> bool {
    let digits = text.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    digits > 0 && digits < 7 && text[0].is_ascii_uppercase() && text[..text.len() - digits].ends_with(b"file:")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Shape {
        classify(line.as_bytes(), line.len(), true, &mut Vec::new()).0
    }

    fn all(class: Class, lines: &[&str]) {
        for line in lines {
            assert_eq!(of(line).class, class, "{line}");
        }
    }

    #[test]
    fn errors_are_told_by_their_shape() {
        all(
            Class::Error,
            &[
                "error[E0308]: mismatched types",
                "src/a.c:4:2: error: expected ';'",
                "src/app.ts(41,7): error TS2322: Type 'a' is not assignable to type 'b'.",
                "  12:5   error    'x' is never used  no-unused-vars",
                "TypeError: x is not a function",
                "java.lang.IllegalStateException: closed",
                "E   AssertionError: assert 1 == 2",
                "npm error code ERESOLVE",
                "npm ERR! missing script: build",
                "thread 'main' panicked at src/main.rs:2:5:",
                "Traceback (most recent call last):",
                "2024-05-01T10:00:00.123Z [12:00:01] ERROR cannot bind",
                "#9 12.3 error: gone",
                "CMake Error at CMakeLists.txt:12 (find_package):",
            ],
        );
    }

    #[test]
    fn names_and_counts_of_zero_are_no_errors() {
        for line in [
            "   Compiling thiserror v2.0.1",
            "0 errors",
            "ok 4 - error: is raised",
            "test parse::error_path ... ok",
            "src/error.rs",
        ] {
            assert!(!of(line).class.is_anchor(), "{line}");
        }
    }

    #[test]
    fn failing_tests_and_tasks_are_failures() {
        all(
            Class::Failure,
            &[
                "FAIL src/wheel.test.ts",
                "--- FAIL: TestParse (0.00s)",
                "test wheel::stops ... FAILED",
                "test_bad (tests.test_x.X.test_bad) ... FAIL",
                "not ok 3 - parses",
                "✕ stops (5 ms)",
                "> Task :core:compileJava FAILED",
                "1/6 Test  #1: suite_a ...***Failed  0.02 sec",
                "____________________ test_wheel ____________________",
                "FAILED tests/test_a.py::test_b - assert 1 == 2",
            ],
        );
    }

    #[test]
    fn numbered_failures_states_and_words_of_other_scripts_are_told() {
        all(
            Class::Failure,
            &[
                "  1) Ring wraps at its end",
                "CONFLICT (content): Merge conflict in src/ring.rs",
                "2026-01-02 03:04:05 CREATE_FAILED  AWS::RDS::DBInstance",
                "00:04 +211 -1: test/ring_test.dart: wraps [E]",
                "Failures:",
            ],
        );
        all(
            Class::Error,
            &[
                "lib/ring.c:31:14: Fehler: nicht deklariert",
                "\u{7f16}\u{8bd1}\u{9519}\u{8bef}",
                "./run.sh: line 31: zmqctl: command not found",
                "  Applying shop.0041...Traceback (most recent call last):",
            ],
        );
    }

    #[test]
    fn structured_lines_are_what_their_level_says() {
        for (line, class) in [
            (r#"{"ts":1,"level":"error","msg":"no valve"}"#, Class::Error),
            (r#"{"severity":"CRITICAL","message":"stopped"}"#, Class::Terminal),
            (r#"{"level":50,"msg":"no valve"}"#, Class::Error),
            (r#"{"level":30,"msg":"error count 0"}"#, Class::Info),
            (r#"ts=1 level=error msg="cannot open""#, Class::Error),
            (r#"ts=1 level=info msg="cannot open""#, Class::Info),
            ("E0102 03:04:05.678901       1 reconcile.go:31] cannot reconcile", Class::Error),
            ("I0102 03:04:05.678901       1 reconcile.go:31] an error is expected", Class::Info),
        ] {
            assert_eq!(of(line).class, class, "{line}");
        }
    }

    #[test]
    fn counts_of_a_runner_are_a_summary() {
        all(
            Class::Summary,
            &[
                "Tests:       1 failed, 9 skipped, 475 passed, 485 total",
                "test result: FAILED. 500 passed; 1 failed; 0 ignored",
                "Found 279 errors in 9 files (checked 1458 source files)",
                "=== 1 failed, 2 passed in 0.11s ===",
                "OK (596 tests, 1752 assertions)",
                "✖ 452 problems (1 error, 451 warnings)",
                "5 examples, 1 failure",
                "FAILED (failures=1)",
            ],
        );
    }

    #[test]
    fn the_end_of_a_run_is_told() {
        all(
            Class::Terminal,
            &[
                "##[error]Process completed with exit code 2.",
                "make: *** [Makefile:4: all] Error 2",
                "make[1]: *** [all] Error 1",
                "fatal: not a repository",
                "Killed",
                "exit status 1",
            ],
        );
    }

    #[test]
    fn what_goes_well_and_what_moves_is_low() {
        all(
            Class::Pass,
            &[
                "PASS src/a.test.ts",
                "ok  \texample.com/app 0.1s",
                " ✓ rolls",
                "test a ... ok",
                "tests/a.py::test_error PASSED",
            ],
        );
        all(
            Class::Progress,
            &[
                "[12/90] CXX obj/a.o",
                "Receiving objects: 42% (4/9)",
                "   Compiling a v0.1.0",
                "....s....x.....F.... [ 12%]",
            ],
        );
        all(Class::Info, &["2024-05-01 10:00:00,123 INFO started", "time=\"x\" level=debug msg=\"fetch failed\""]);
    }

    #[test]
    fn only_a_claim_without_failures_is_green() {
        for line in [
            "100% tests passed, 0 tests failed out of 3",
            "3/3 passed",
            "all tests passed",
            "test result: ok. 5 passed; 0 failed",
        ] {
            assert!(of(line).green, "{line}");
        }
        for line in ["Tests: 1 failed, 3 passed", "3 passed", "50% tests passed, 3 tests failed out of 6", "2/3 passed"]
        {
            assert!(!of(line).green, "{line}");
        }
    }

    #[test]
    fn colours_printed_as_text_do_not_hide_a_failure() {
        assert_eq!(of("2024-05-01T10:00:00Z ^[[31mFAILED^[[0m tests/test_a.py::test_b").class, Class::Failure);
    }
}
