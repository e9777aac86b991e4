//! Values that no operator ties to their name: the argument of an option, a line of `.netrc`, SQL, and pairs of `name`
//! and `value`. Without an operator more must speak for a secret, so that prose stays.

use crate::assignment::{BLANKS, LEAD, Named, Tie, bare, bare_end, opened, quoted, value};
use crate::column;
use crate::gate;
use crate::group;
use crate::name::{self, Strength};
use crate::rules;
use crate::scan::Scan;
use crate::text::{DIGIT, SPACE, WORD, contains, ends_folded, find_last, is};

/// So many equal letters at the beginning make a value another name of the same thing.
const ALIAS: usize = 4;

/// A value behind a name and blanks only: the argument of an option, a line of `.netrc`, SQL, `npm config set`.
pub(crate) fn blank(scan: &mut Scan<'_>, named: Named, at: usize) {
    let first = scan.text.peek(at);
    if matches!(first, 0 | b'\n' | b'-' | b'=' | b'>' | b'<' | b'|' | b'(' | b'{') {
        return;
    }
    if named.option {
        return value(scan, named, Tie::Blank, at);
    }
    if column::told(scan, named, at) || column::line(scan, named, at) || numbered(scan, named, at) {
        return;
    }
    // The C shell sets a variable without a sign.
    if scan.text.slice(named.start.saturating_sub(7), named.start) == b"setenv " {
        return value(scan, named, Tie::Equals { spaced: false }, at);
    }
    if named.strength == Strength::Password && netrc(scan, named) {
        scan.open(at);
        let end = bare_end(scan, at, true);
        let value = scan.text.slice(at, end);
        // Prose about such a file: `login and password for ftp`.
        let prose = gate::prose_word(value) && scan.text.at(end) == b' ';
        if !prose && !gate::placeholder(value) {
            scan.mask(at, end, rules::NETRC);
        }
        return;
    }
    // `Pass "x" to …`, and `PASS src/a.test.ts` of a test runner.
    let verb = scan.text.slice(named.start, named.end).eq_ignore_ascii_case(b"pass");
    if named.strength >= Strength::Strong && matches!(first, b'"' | b'\'') {
        if verb {
            return;
        }
        if let Some(found) = opened(scan, at) {
            let value = scan.text.slice(found.start, found.end);
            if !value.contains(&b' ') && value.len() >= 4 && !value.contains(&b',') {
                quoted(scan, named, Tie::Blank, found);
            }
        }
        return;
    }
    if named.strength == Strength::Password && (scan.text.starts(at, b"is ") || scan.text.starts(at, b"is: ")) {
        let behind = scan.text.blanks(at + 2 + usize::from(scan.text.peek(at + 2) == b':'), 2);
        value(scan, Named { anchored: false, ..named }, Tie::Blank, behind);
        return group::said(scan, named, at);
    }
    scan.open(at);
    let end = bare_end(scan, at, false);
    let value = scan.text.slice(at, end);
    let name = scan.text.slice(named.start, named.end);
    // Two names of one thing begin alike: `#define libKeyLoad libNativeKeyLoad`.
    let alias = name.iter().zip(value).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count() >= ALIAS;
    let long = value.len() >= 16 && gate::opaque(value) && !gate::placeholder(value) && !gate::path(value) && !alias;
    if named.strength >= Strength::Strong && long && !name::plain_key(name) && !(verb && value.contains(&b'/')) {
        scan.mask(at, end, named.rule());
    }
    group::said(scan, named, at);
}

/// `password 7 VALUE` of a router, with the kind of the value before it. Whether it was that.
fn numbered(scan: &mut Scan<'_>, named: Named, at: usize) -> bool {
    if !is(scan.text.peek(at), DIGIT)
        || scan.text.peek(at + 1) != b' '
        || !matches!(scan.text.slice(named.start, named.end), b"password" | b"secret")
    {
        return false;
    }
    let line = scan.text.line_start(named.start, LEAD);
    let head = scan.text.slice(line, named.start);
    if head.starts_with(b"username ") || head.starts_with(b"enable ") || head.iter().all(|&c| c == b' ') {
        crate::command::secret(scan, at + 2);
    }
    true
}

/// Whether `password` is that of a `.netrc`: `machine` or `login` stands before it, on its line or the ones above.
fn netrc(scan: &mut Scan<'_>, named: Named) -> bool {
    /// What every such entry has before its password.
    const LOGIN: &[u8] = b"login";
    let floor = named.start.saturating_sub(LEAD * 3);
    // Each place is looked at once, however many passwords follow it.
    let (seen, last) = scan.logins;
    let from = seen.saturating_sub(LOGIN.len() - 1).max(floor).min(named.start);
    let fresh = find_last(scan.text.slice(from, named.start), LOGIN);
    let last = fresh.map_or(last, |at| Some(from + at));
    scan.logins = (seen.max(named.start), last);
    if last.is_none_or(|at| at < floor) {
        return false;
    }
    let above = &scan.text.bytes()[floor..named.start];
    let has = |word| contains(above, word);
    matches!(scan.text.slice(named.start, named.end), b"password" | b"passwd")
        && (has(b"machine ") || has(b"default login ") || has(b"machine\t") || has(b"machine\n"))
        && has(b"login")
}

/// `name: X` with `value: Y` after it, in JSON, YAML or XML: X names Y. `next` is behind X and its quote.
pub(crate) fn pair(scan: &mut Scan<'_>, named: Named, next: usize) -> bool {
    let mut left = named.start - usize::from(named.quoted);
    while left > 0 && named.start - left < 12 && matches!(scan.text.bytes()[left - 1], b' ' | b'\\' | b'"' | b'\'') {
        left -= 1;
    }
    if !matches!(scan.text.before(left), b':' | b'=') {
        return false;
    }
    left -= 1;
    while left > 0 && matches!(scan.text.bytes()[left - 1], b' ' | b'\\' | b'"' | b'\'') && named.start - left < 24 {
        left -= 1;
    }
    let word = &scan.text.bytes()[left.saturating_sub(4)..left];
    if !(ends_folded(word, b"name") || ends_folded(word, b"key")) {
        return false;
    }
    let mut at = next;
    while at - next < 64 && (is(scan.text.peek(at), SPACE) || matches!(scan.text.peek(at), b',' | b'"' | b'\'' | b'\\'))
    {
        at += 1;
    }
    if !scan.text.starts_folded(at, b"value") {
        // Another member stands between, or the value before.
        if named.quoted {
            crate::terraform::member(scan, named);
        }
        return named.quoted;
    }
    at += 5;
    while let b'"' | b'\'' | b'\\' | b' ' = scan.text.peek(at) {
        at += 1;
    }
    if !matches!(scan.text.peek(at), b':' | b'=') {
        return false;
    }
    at = scan.text.blanks(at + 1, BLANKS);
    let named = Named { anchored: true, indented: false, option: false, param: false, ..named };
    match opened(scan, at) {
        Some(found) => quoted(scan, named, Tie::Colon, found),
        None => bare(scan, Named { quoted: true, ..named }, Tie::Colon, at),
    }
    true
}

/// `IDENTIFIED BY 'password'`, with the anchor on `FIE`.
#[inline(never)]
pub(crate) fn identified(scan: &mut Scan<'_>, at: usize) {
    let Some(start) = at.checked_sub(6) else { return };
    let mut by = start + 11;
    if scan.text.starts_folded(start, b"identified with ") {
        by = scan.text.blanks(scan.text.run(start + 16, WORD, 32), 4);
    }
    if !scan.text.starts_folded(start, b"identified ") || !scan.text.starts_folded(by, b"by ") {
        return;
    }
    let value = scan.text.blanks(by + 3, BLANKS);
    if !matches!(crate::literal::quote(scan, value), Some((_, b'"' | b'\''))) {
        scan.open(value);
        let end = bare_end(scan, value, false);
        let word = scan.text.slice(value, end);
        if scan.text.peek(start) == b'I' && column::chosen(word) {
            scan.mask(value, end, rules::PASSWORD);
        }
        return;
    }
    let Some(found) = opened(scan, value) else { return };
    // In prose something is `identified by 'name'`.
    let prose =
        scan.text.slice(start, start + 10) == b"identified" && gate::wordlike(scan.text.slice(found.start, found.end));
    if !prose && !gate::placeholder(scan.text.slice(found.start, found.end)) {
        scan.mask(found.start, found.end, rules::PASSWORD);
    }
}
