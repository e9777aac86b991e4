//! Records that no name announces: the hash of a password, a line of `.pgpass` or of a cookie jar, and what a build
//! system is told to mask. Each must have its whole form.

use crate::gate;
use crate::header;
use crate::rules;
use crate::scan::Scan;
use crate::text::{ALNUM, B64, DIGIT, NAME, WORD, all, is, spelled};

/// Longest field of a record that holds no secret.
const FIELD: usize = 96;
/// Longest value a build is told to mask.
const REST: usize = 512;
/// Characters of a UUID.
const UUID: usize = 36;
/// Longest cookie, and longest hash.
const MAX: usize = 4096;

/// A password's hash in the form of crypt, `$6$salt$hash`, at its first sign. What tells its kind stays.
#[inline(never)]
pub(crate) fn crypt(scan: &mut Scan<'_>, at: usize) {
    // A compose file doubles the signs.
    if is(scan.text.before(at - usize::from(scan.text.before(at) == b'$')), WORD) {
        return;
    }
    let kind = scan.text.run(at + 1, ALNUM, 9);
    let known =
        matches!(scan.text.slice(at + 1, kind), [b'1' | b'5' | b'6' | b'y'] | [b'2', b'a' | b'b' | b'y'] | b"apr1")
            || scan.text.starts(at + 1, b"argon2");
    if !known || scan.text.peek(kind) != b'$' {
        return;
    }
    let start = kind + 1 + usize::from(scan.text.peek(kind + 1) == b'$');
    scan.open(start);
    let mut end = start;
    let mut last = start;
    while end - start < MAX && (is(scan.text.at(end), NAME | B64) || matches!(scan.text.at(end), b'$' | b',')) {
        end += 1;
        if scan.text.before(end) == b'$' {
            last = end;
        }
    }
    let hash = scan.text.slice(last, end);
    if hash.len() >= 22 && gate::mixed(hash) {
        scan.mask(start, end, rules::PASSWORD);
    }
}

/// Where the field at `at` ends: at `mark`. Only the last may be longer than others are.
#[inline(never)]
fn field(scan: &Scan<'_>, at: usize, mark: u8) -> Option<usize> {
    let mut end = at;
    while end - at < FIELD {
        match scan.text.peek(end) {
            byte if byte == mark => return (end > at).then_some(end),
            0 | b'\n' | b' ' | b'\r' => return None,
            _ => end += 1,
        }
    }
    None
}

/// `host:port:database:user:password`, with the anchor in its port or on the stars in its place.
#[inline(never)]
pub(crate) fn pgpass(scan: &mut Scan<'_>, at: usize) {
    let mut start = scan.text.line_start(at, FIELD);
    if start > 0 && scan.text.before(start) != b'\n' {
        return;
    }
    for number in 0..4 {
        let Some(end) = field(scan, start, b':') else { return };
        let value = scan.text.slice(start, end);
        if number == 1 && !matches!(value, b"*" | b"5432" | b"6432") || !spelled(value, NAME, b"*/@") {
            return;
        }
        start = end + 1;
    }
    scan.open(start);
    let end = scan.text.line_end(start, FIELD);
    let value = scan.text.slice(start, end);
    if !value.iter().any(|&c| matches!(c, b' ' | b'\t' | b'/')) && !gate::placeholder(value) {
        scan.mask(start, end, rules::PASSWORD);
    }
}

/// A line of a cookie jar: seven fields between tabs, with the anchor on the first of two flags.
#[inline(never)]
pub(crate) fn jar(scan: &mut Scan<'_>, at: usize) {
    if scan.text.before(at) != b'\t' {
        return;
    }
    let mut start = scan.text.line_start(at, FIELD);
    if start > 0 && scan.text.before(start) != b'\n' {
        return;
    }
    let mut name: &[u8] = &[];
    for number in 0..6 {
        let Some(end) = field(scan, start, b'\t') else { return };
        name = scan.text.slice(start, end);
        let fits = match number {
            1 | 3 => matches!(name, b"TRUE" | b"FALSE"),
            4 => all(name, DIGIT),
            _ => true,
        };
        if !fits {
            return;
        }
        start = end + 1;
    }
    scan.open(start);
    let mut end = start;
    while end - start < MAX && !matches!(scan.text.at(end), b'\t' | b'\n' | b'\r' | 0) {
        end += 1;
    }
    if header::session(name, scan.text.slice(start, end)) {
        scan.mask(start, end, rules::COOKIE);
    }
}

/// `::add-mask::` and the value behind it, with the anchor behind its first colons.
pub(crate) fn add_mask(scan: &mut Scan<'_>, at: usize) {
    if scan.text.starts(at, b"add-mask::") && scan.text.before(at) == b':' {
        rest(scan, at + 10);
    }
}

/// What is set to a variable that is marked as secret: `variable=key;issecret=true]value`, from behind the mark.
pub(crate) fn marked(scan: &mut Scan<'_>, end: usize) {
    let close = scan.text.line_end(end, FIELD);
    if scan.text.starts(end, b"=true")
        && let Some(size) = scan.text.slice(end, close).iter().position(|&c| c == b']')
    {
        rest(scan, end + size + 1);
    }
}

/// Masks the rest of a line, up to a quote.
#[inline(never)]
pub(crate) fn rest(scan: &mut Scan<'_>, at: usize) {
    scan.open(at);
    let mut end = at;
    while end - at < REST && !matches!(scan.text.at(end), b'"' | b'\'' | b'`' | b'\\' | b'\r' | b'\n' | 0) {
        end += 1;
    }
    let value = scan.text.slice(at, end);
    if value.len() >= 3 && !gate::placeholder(value) {
        scan.mask(at, end, rules::ASSIGNMENT);
    }
}

/// The UUID behind `secret_id`, whose name ends at `end`: what other services call so is the name of a secret.
pub(crate) fn identity(scan: &mut Scan<'_>, end: usize) {
    let mut at = end;
    while at - end < 6 && matches!(scan.text.peek(at), b'"' | b'\'' | b'\\' | b' ' | b':' | b'=') {
        at += 1;
    }
    scan.open(at);
    // The end of the text is looked at if it is near.
    let last = scan.text.run(at, WORD, UUID);
    if at > end && gate::uuid(scan.text.slice(at, last)) {
        scan.mask(at, last, rules::ASSIGNMENT);
    }
}

/// `user:password@tcp(host)` of a driver's address, with the anchor behind the `@`.
#[inline(never)]
pub(crate) fn driver(scan: &mut Scan<'_>, at: usize) {
    if scan.text.before(at) != b'@' {
        return;
    }
    let start = password(scan, at - 1);
    let value = scan.text.slice(start, at - 1);
    if !value.is_empty() && !gate::placeholder(value) && !value.starts_with(b"//") {
        scan.mask(start, at - 1, rules::URL_PASSWORD);
    }
}

/// Where the password may begin of the word that ends at `end`: behind its first colon, if it has one.
#[inline(never)]
pub(crate) fn password(scan: &Scan<'_>, end: usize) -> usize {
    let mut start = end;
    let mut colon = end;
    while end - start < FIELD {
        match scan.text.before(start) {
            0 | b' ' | b'\t' | b'\n' | b'"' | b'\'' | b'`' | b'=' => break,
            b':' => colon = start,
            _ => {}
        }
        start -= 1;
    }
    colon
}
