//! What may be personal and is masked only where it is asked for: e-mail addresses and US social security numbers.
//! Telephone numbers are [`crate::token`]'s.

use crate::rules;
use crate::scan::Scan;
use crate::text::{ALNUM, DIGIT, DOT, JOIN, LETTER, WORD, all, is};

/// Most bytes before the sign of an address (RFC 5321, 4.5.3.1.1).
pub(crate) const MAX_LOCAL: usize = 64;
/// Most bytes behind it (4.5.3.1.2).
const MAX_DOMAIN: usize = 255;
/// How far before a number what it is may be said.
const LEAD: usize = 48;
/// What says that a number is one.
const SAID: &[&str] = &["ssn", "social security", "social_security", "socialsecurity", "social-security"];
/// Digits of the three parts of a social security number.
const PARTS: [usize; 3] = [3, 2, 4];

/// What may stand before the sign of an address without quotes, as mail programs have it.
pub(crate) fn local(byte: u8) -> bool {
    is(byte, WORD | DOT) || matches!(byte, b'+' | b'%' | b'\'' | b'&' | b'=' | b'~')
}

/// An address whose `@` stands at `at`.
#[inline(never)]
pub(crate) fn email(scan: &mut Scan<'_>, at: usize) {
    let text = &scan.text;
    let mut start = at;
    while start > 0 && at - start < MAX_LOCAL && local(text.before(start)) {
        start -= 1;
    }
    // A name tied to the address, and a quote before it, are no part of it.
    if let Some(tie) = text.slice(start, at).iter().rposition(|&c| matches!(c, b'=' | b'\'' | b'&')) {
        start += tie + 1;
    }
    while start < at && matches!(text.peek(start), b'.' | b'-') {
        start += 1;
    }
    if start == at || text.slice(start, at) == b"git" || matches!(text.before(start), b'/' | b':' | b'@') {
        return;
    }
    scan.open(start);
    let mut end = text.run(at + 1, WORD | DOT, MAX_DOMAIN);
    while end > at + 1 && !is(text.before(end), ALNUM) {
        end -= 1;
    }
    let domain = text.slice(at + 1, end);
    let top = domain.rsplit(|&c| c == b'.').next().unwrap_or_default();
    let named = domain.len() > top.len() && top.len() >= 2 && all(top, LETTER);
    if named && !domain.contains(&b'_') && text.peek(end) != b'@' {
        scan.mask(start, end, rules::EMAIL);
    }
}

/// A social security number whose first digit stands at `start`, if its line says that it is one.
#[inline(never)]
pub(crate) fn security_number(scan: &mut Scan<'_>, start: usize) {
    let text = &scan.text;
    let before = text.before(start);
    if is(before, ALNUM | JOIN | DOT) && before != b'_' {
        return;
    }
    scan.open(start);
    let sign = text.peek(start + PARTS[0]);
    let mut numbers = [0; PARTS.len()];
    let mut at = start;
    for (nth, (size, number)) in PARTS.into_iter().zip(&mut numbers).enumerate() {
        if nth > 0 && matches!(sign, b'-' | b' ') {
            if text.peek(at) != sign {
                return;
            }
            at += 1;
        }
        for _ in 0..size {
            let digit = text.peek(at);
            if !is(digit, DIGIT) {
                return;
            }
            *number = *number * 10 + u32::from(digit - b'0');
            at += 1;
        }
    }
    // No number has these parts: they are not given out.
    let given = !matches!(numbers[0], 0 | 666 | 900..) && numbers[1] != 0 && numbers[2] != 0;
    if given && !is(text.peek(at), ALNUM | JOIN) && said(scan, start, SAID) {
        scan.mask(start, at, rules::SSN);
    }
}

/// Whether one of these words stands before a number on its line: short ones by themselves, for they are part of many
/// words (`span`, `crossname`); others anywhere.
#[inline(never)]
pub(crate) fn said(scan: &Scan<'_>, number: usize, words: &[&str]) -> bool {
    let lead = scan.text.slice(number.saturating_sub(LEAD), number);
    let line = lead.rsplit(|&c| c == b'\n').next().unwrap_or_default();
    let letter = |at: usize| line.get(at).is_some_and(|&c| is(c, LETTER));
    words.iter().any(|word| {
        line.windows(word.len()).enumerate().any(|(at, part)| {
            part.eq_ignore_ascii_case(word.as_bytes())
                && (word.len() > 3 || !letter(at + word.len()) && !at.checked_sub(1).is_some_and(letter))
        })
    })
}
