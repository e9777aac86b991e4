//! HTTP headers that carry credentials: `Authorization`, `Cookie` and `Set-Cookie`, as sent, as JSON fields and as
//! arguments of a client. Scheme words and cookie names stay.

use crate::gate;
use crate::literal::{self, Literal};
use crate::rules;
use crate::scan::Scan;
use crate::text::{ALNUM, JOIN, STOP, WORD, all, contains, is, spelled};
use crate::words::{self, ATTRIBUTE, PARTED, PROOF, SCHEME};

/// Longest credential.
const MAX_CREDENTIAL: usize = 8 * 1024;
/// Most cookies of one header, and values of one array.
const MAX_PARTS: usize = 64;

/// The operator behind a header's name: a colon, or `=` or a comma in programs. Gives where the value begins.
#[inline(never)]
fn operator(scan: &Scan<'_>, end: usize) -> Option<usize> {
    let mut at = end;
    if let Some((slashes, _)) = literal::quote(scan, at) {
        at += slashes + 1;
    }
    if scan.text.peek(at) == b']' {
        at += 1;
    }
    at = scan.text.blanks(at, 8);
    match scan.text.peek(at) {
        b':' if scan.text.peek(at + 1) == b':' => None,
        b':' | b'=' | b',' => Some(scan.text.blanks(at + 1 + usize::from(scan.text.peek(at + 1) == b'>'), 8)),
        _ => None,
    }
}

/// `Authorization`, whose name ends at `end`.
pub(crate) fn authorization(scan: &mut Scan<'_>, end: usize) {
    let Some(mut at) = operator(scan, end) else { return };
    scan.open(at);
    if scan.text.peek(at) != b'[' || scan.text.reads(at, gate::MASK) {
        return credential(scan, at);
    }
    at += 1;
    for _ in 0..MAX_PARTS {
        at = scan.text.blanks(at, 64);
        while matches!(scan.text.peek(at), b',' | b'\n' | b' ' | b'\t') {
            at += 1;
        }
        if literal::quote(scan, at).is_none() {
            return;
        }
        credential(scan, at);
        let Some(found) = literal::literal(scan, at) else { return };
        at = found.next.max(at + 1);
    }
}

/// A credential, perhaps in quotes and behind a scheme, at `at`.
#[inline(never)]
fn credential(scan: &mut Scan<'_>, at: usize) {
    let mut at = at;
    // An `f` or `b` before the quote of a program's string.
    if is(scan.text.peek(at), ALNUM) && matches!(scan.text.peek(at + 1), b'"' | b'\'') {
        at += 1;
    }
    if let Some((slashes, _)) = literal::quote(scan, at) {
        at += slashes + 1;
    }
    scan.open(at);
    let word_end = scan.text.run(at, WORD, 32);
    let word = scan.text.slice(at, word_end);
    let said = if scan.text.peek(word_end) == b' ' { words::folded(word) } else { 0 };
    if said & SCHEME == 0 {
        let end = credential_end(scan, at);
        let value = scan.text.slice(at, end);
        if value.len() >= 8
            && gate::mixed(value)
            && !gate::placeholder(value)
            && !gate::lookup(value)
            && !gate::member(value)
            && !named_in_code(value)
        {
            scan.mask(at, end, rules::AUTH_HEADER);
        }
        return;
    }
    at = scan.text.blanks(word_end, 8);
    if said & PARTED != 0 {
        return parts(scan, at);
    }
    let end = credential_end(scan, at);
    let value = scan.text.slice(at, end);
    let plain = value.iter().all(u8::is_ascii_lowercase) && value.len() < 20;
    let filled = value[..].starts_with(b"{") && scan.text.peek(end) == b'}' && all(&value[1..], WORD);
    if value.len() >= 4 && !filled && !plain && !gate::placeholder(value) && !gate::lookup(value) && !masked(scan, at) {
        scan.mask(at, end, rules::AUTH_HEADER);
    }
}

/// Whether a credential is a path or a name of a program, or the address of a page about it.
fn named_in_code(value: &[u8]) -> bool {
    let words = spelled(value, ALNUM, b"_:!");
    words && (value.contains(&b'_') || value.starts_with(b":") || contains(value, b"::")) && !gate::random(value, 16)
        || contains(value, b"://")
}

fn masked(scan: &Scan<'_>, at: usize) -> bool {
    gate::mask_len(scan.text.slice(at, at + 110)).is_some_and(|size| is(scan.text.peek(at + size), STOP))
}

#[inline(never)]
fn credential_end(scan: &Scan<'_>, at: usize) -> usize {
    let mut end = at;
    while end - at < MAX_CREDENTIAL && !is(scan.text.at(end), STOP) && scan.text.at(end) != b'\\' {
        end += 1;
    }
    end
}

/// The parameters of `Digest` and signed requests: the proof is masked, the rest names who asks.
fn parts(scan: &mut Scan<'_>, at: usize) {
    let end = scan.text.line_end(at, 2048);
    let mut at = at;
    while at < end {
        while at < end && !is(scan.text.peek(at), ALNUM) {
            at += 1;
        }
        let name_end = scan.text.run(at, ALNUM | JOIN, 32);
        let name = scan.text.slice(at, name_end);
        let mut value = name_end;
        if scan.text.peek(value) != b'=' {
            at = value.max(at + 1);
            continue;
        }
        value += 1;
        let (start, stop) = match literal::literal(scan, value) {
            Some(Literal { start, end, .. }) => (start, end),
            None => (value, credential_end(scan, value)),
        };
        if words::folded(name) & PROOF != 0 {
            scan.mask(start, stop, rules::AUTH_HEADER);
        }
        at = stop.max(at + 1);
    }
}

/// `Bearer` on its own, with a token behind it.
pub(crate) fn bearer(scan: &mut Scan<'_>, end: usize) {
    if scan.text.peek(end) != b' ' {
        return;
    }
    let at = end + 1;
    scan.open(at);
    let stop = credential_end(scan, at);
    let value = scan.text.slice(at, stop);
    if value.len() >= 12 && (gate::random(value, 12) || gate::opaque(value)) && !gate::placeholder(value) {
        scan.mask(at, stop, rules::AUTH_HEADER);
    }
}

/// Words in names of cookies that hold a session.
const SESSION: &[&str] =
    &["sid", "sess", "token", "auth", "jwt", "srf", "refresh", "remember", "login", "secret", "access", "key"];

/// `Cookie` or `Set-Cookie`, whose name ends at `end`.
pub(crate) fn cookie(scan: &mut Scan<'_>, end: usize, set: bool) {
    let Some(mut at) = operator(scan, end).or_else(|| option(scan, end)) else { return };
    let mut array = false;
    if scan.text.peek(at) == b'[' {
        at += 1;
        array = true;
    }
    for _ in 0..MAX_PARTS {
        let mut quoted = false;
        if let Some((slashes, _)) = literal::quote(scan, at) {
            at += slashes + 1;
            quoted = true;
        }
        at = pairs(scan, at, set, quoted);
        if !array {
            return;
        }
        while matches!(scan.text.peek(at), b'"' | b'\'' | b'\\' | b',' | b' ' | b'\n' | b'\t') && array {
            if matches!(scan.text.peek(at), b',') {
                at = scan.text.blanks(at + 1, 64);
                break;
            }
            at += 1;
        }
        if literal::quote(scan, at).is_none() {
            return;
        }
    }
}

/// `--cookie` and its argument.
fn option(scan: &Scan<'_>, end: usize) -> Option<usize> {
    let dashes = end.checked_sub(8).map(|at| scan.text.slice(at, end));
    (dashes == Some(b"--cookie") && scan.text.peek(end) == b' ').then_some(end + 1)
}

/// `name=value; name=value` from `at` on. Gives where they end.
fn pairs(scan: &mut Scan<'_>, at: usize, set: bool, quoted: bool) -> usize {
    let mut at = at;
    for index in 0..MAX_PARTS {
        at = scan.text.blanks(at, 8);
        let mut name_end = at;
        while name_end - at < 128 && !is(scan.text.peek(name_end), STOP) && scan.text.peek(name_end) != b'=' {
            name_end += 1;
        }
        if scan.text.peek(name_end) != b'=' {
            return name_end;
        }
        let start = name_end + 1;
        scan.open(start);
        let mut end = start;
        while end - start < MAX_CREDENTIAL
            && (!is(scan.text.peek(end), STOP)
                || matches!(scan.text.peek(end), b'&' | b'|' | b'}' | b']' | b')' | b'<' | b'>')
                || !quoted && scan.text.peek(end) == b'"' && end == start)
            && scan.text.peek(end) != b'\\'
        {
            end += 1;
        }
        let name = scan.text.slice(at, name_end);
        let value = scan.text.slice(start, end);
        let attribute = set && index > 0;
        if !attribute && session(name, value) {
            scan.mask(start, end, rules::COOKIE);
        }
        if scan.text.peek(end) != b';' {
            return end;
        }
        at = end + 1;
    }
    at
}

/// Whether a cookie of this name and value holds a session.
#[inline(never)]
pub(crate) fn session(name: &[u8], value: &[u8]) -> bool {
    if words::folded(name) & ATTRIBUTE != 0 || gate::placeholder(value) {
        return false;
    }
    let lower = name.to_ascii_lowercase();
    let session = SESSION.iter().any(|word| contains(&lower, word.as_bytes()));
    session && value.len() >= 4
        || value.len() >= 12 && (gate::random(value, 10) || gate::uuid(value) || gate::hex(value) && value.len() >= 16)
}
