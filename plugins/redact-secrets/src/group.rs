//! Secrets that stand further from their name: several under one name, the one on a line below, at the end of a sentence,
//! and those that go on behind a blank or a sign. What is so far from a name must look like a secret itself.

use crate::assignment::{BLANKS, LEAD, Named, Tie, bare_end, indent, opened, quoted};
use crate::code;
use crate::column::chosen;
use crate::gate;
use crate::json;
use crate::literal::quote;
use crate::name::{self, Strength};
use crate::scan::Scan;
use crate::terraform::MAX_OBJECT;
use crate::text::{ALNUM, DIGIT, NAME, WORD, any, contains, ends_folded, find_last, is, spelled};

/// Most lines below a name.
const LINES: usize = 64;
/// Longest sentence between a name and its value.
const SAID: usize = 72;
/// Longest value that goes on, and longest line below a name.
const ONWARD: usize = 160;

/// Whether the name is one of several secrets.
pub(crate) fn plural(scan: &Scan<'_>, named: Named) -> bool {
    let name = scan.text.slice(named.start, named.end);
    !name::plain_key(name)
        && [&b"keys"[..], b"tokens", b"secrets", b"passwords", b"credentials"].iter().any(|end| ends_folded(name, end))
}

#[inline(never)]
fn masks(value: &[u8]) -> bool {
    gate::opaque(value)
        && gate::random(value, 12)
        && !code::wordy(value, 2)
        && !gate::path(value)
        && !gate::placeholder(value)
        && !code::titled(value)
        && !contains(value, b"://")
}

/// The strings of the object at `brace`.
#[inline(never)]
pub(crate) fn members(scan: &mut Scan<'_>, named: Named, brace: usize) {
    scan.open(brace + 1);
    for found in json::strings(scan, brace, MAX_OBJECT) {
        // The model of a service names the shapes of its values.
        let shape = scan.text.slice(found.start.saturating_sub(9), found.start) == b"\"shape\":\"";
        if !shape && masks(scan.text.slice(found.start, found.end)) {
            scan.mask(found.start, found.end, named.rule());
        }
    }
}

/// Masks the value at `at`, perhaps in quotes, if it looks like a secret. Gives where it ends.
#[inline(never)]
fn alone(scan: &mut Scan<'_>, named: Named, at: usize, password: bool) -> usize {
    let at = at + quote(scan, at).map_or(0, |(slashes, _)| slashes + 1);
    scan.open(at);
    let end = bare_end(scan, at, false);
    let value = scan.text.slice(at, end);
    if masks(value) && !gate::fingerprint(value) || password && value.len() >= 8 && chosen(value) {
        scan.mask(at, end, named.rule());
    }
    end
}

/// The lines below a name that ends at `newline`: a list of secrets, or names with secrets.
#[inline(never)]
pub(crate) fn lines(scan: &mut Scan<'_>, named: Named, newline: usize) {
    let own = indent(scan, scan.text.line_start(named.start, LEAD));
    let mut newline = newline;
    for _ in 0..LINES {
        // What is decided stays decided, whatever the next line is.
        scan.reopen(usize::MAX);
        let line = newline + 1;
        let mut at = line + indent(scan, line);
        let item = scan.text.starts(at, b"- ");
        if !(item && at - line >= own || at - line > own) {
            return;
        }
        if item {
            at = scan.text.blanks(at + 1, 8);
        }
        let key = scan.text.run(at, NAME, 64);
        if scan.text.starts(key, b": ") {
            at = scan.text.blanks(key + 1, 8);
        }
        let end = alone(scan, named, at, false);
        newline = scan.text.line_end(end, ONWARD);
        if scan.text.peek(newline) != b'\n' || newline - named.end > MAX_OBJECT {
            return;
        }
    }
}

/// A sentence behind the name of a password that ends in it: `… is set to: VALUE`, or with a colon, and the value on a
/// line below.
#[inline(never)]
pub(crate) fn said(scan: &mut Scan<'_>, named: Named, at: usize) {
    if named.strength < Strength::Strong {
        return;
    }
    // What is masked stands behind the colon, so a line without one is not waited for.
    let rest = scan.text.slice(at, at + SAID);
    let newline = rest.iter().position(|&c| c == b'\n');
    let line = &rest[..newline.unwrap_or(rest.len())];
    if line.ends_with(b":") && newline.is_some() {
        scan.reopen(usize::MAX);
        return below(scan, named, at + line.len());
    }
    let Some(colon) = find_last(line, b": ") else { return };
    let prose = spelled(&line[..colon], WORD, b" @'.");
    let start = at + colon + 2;
    // Something is passed, as a verb says.
    let verb = named.end - named.start <= 4;
    if !prose || verb || named.strength != Strength::Password {
        return;
    }
    scan.reopen(start);
    let end = bare_end(scan, start, true);
    // Options and code stay.
    let code = matches!(scan.text.peek(start), b'-' | b'`');
    let secret = !code && matches!(scan.text.peek(end), b'\n' | b'\r' | 0) && chosen(scan.text.slice(start, end));
    if secret {
        scan.mask(start, end, named.rule());
    }
}

/// The value alone on the next line, or the one after it.
#[inline(never)]
pub(crate) fn below(scan: &mut Scan<'_>, named: Named, newline: usize) {
    let mut at = scan.text.blanks(newline + 1, BLANKS);
    if scan.text.peek(at) == b'\n' {
        at = scan.text.blanks(at + 1, BLANKS);
    }
    scan.open(at);
    let end = bare_end(scan, at, false);
    // The next name, and no value.
    if scan.text.before(end) == b':' {
        return;
    }
    if matches!(scan.text.peek(scan.text.blanks(end, BLANKS)), b'\n' | b'\r' | 0) {
        alone(scan, named, at, named.strength == Strength::Password);
    }
}

/// Whether a value of several words is a pass phrase: few words of prose among them.
#[inline(never)]
pub(crate) fn phrase(name: &[u8], value: &[u8]) -> bool {
    if !ends_folded(name, b"passphrase") || value[0].is_ascii_uppercase() {
        return false;
    }
    let (mut words, mut prose, mut rest) = (0, 0, value);
    while !rest.is_empty() {
        let size = rest.iter().take_while(|&&c| is(c, WORD)).count();
        if size == 0 || !matches!(rest.get(size), None | Some(b' ')) {
            return false;
        }
        words += 1;
        prose += usize::from(gate::prose_word(&rest[..size]));
        rest = rest.get(size + 1..).unwrap_or_default();
    }
    words >= 3 && prose * 3 <= words
}

/// Where the value at `at` ends, if it goes on behind `end`: a phrase, or a password made of signs too.
#[inline(never)]
pub(crate) fn whole(scan: &Scan<'_>, named: Named, tie: Tie, at: usize, end: usize) -> Option<usize> {
    let byte = scan.text.peek(end);
    if named.strength != Strength::Password || !matches!(byte, b' ' | b',' | b';' | b'&' | b')') || end == at {
        return None;
    }
    let name = scan.text.slice(named.start, named.end);
    let line = scan.text.line_end(at, ONWARD);
    let value = scan.text.slice(at, line);
    let goes_on = if byte == b' ' {
        let spaced = tie == Tie::Equals { spaced: false } && name == b"wpa_passphrase";
        named.anchored && (spaced || phrase(name, value))
    } else {
        // `Password: wV;k3f#9s,Lm` at the end of a line.
        tie == Tie::Colon
            && scan.text.before(named.start) == b' '
            && line - end > 1
            && line - at >= 8
            && chosen(value)
            && any(value, DIGIT)
            && !value.iter().any(|c| b" \t\"'`{}[]<>=:\\".contains(c))
    };
    goes_on.then_some(line)
}

/// The default of `variable "db_password" {`, with the brace at `brace`.
pub(crate) fn default(scan: &mut Scan<'_>, named: Named, brace: usize) {
    /// Most lines before it.
    const BEFORE: usize = 12;
    let start = named.start - 1;
    if scan.text.slice(start.saturating_sub(9), start) != b"variable " {
        return;
    }
    let mut newline = brace + 1;
    for _ in 0..BEFORE {
        let at = newline + 1 + indent(scan, newline + 1);
        if scan.text.peek(newline) != b'\n' || scan.text.peek(at) == b'}' {
            return;
        }
        let value = scan.text.blanks(scan.text.run(at, ALNUM, BLANKS), BLANKS);
        if scan.text.starts(at, b"default") && scan.text.starts(value, b"= \"") {
            if let Some(found) = opened(scan, value + 2) {
                quoted(scan, named, Tie::Colon, found);
            }
            return;
        }
        newline = scan.text.line_end(at, ONWARD);
    }
}

/// The part of a form in several parts: `name="password"`, an empty line, the value; `at` is behind the name's quote.
/// Whether it was one.
#[inline(never)]
pub(crate) fn part(scan: &mut Scan<'_>, named: Named, at: usize) -> bool {
    if !contains(scan.text.slice(named.start.saturating_sub(7), named.start), b" name=") {
        return false;
    }
    let start = json::space(scan, at);
    let lines = scan.text.slice(at, start).iter().filter(|&&c| matches!(c, b'\n' | b'n')).count();
    if lines == 2 && named.strength >= Strength::Strong {
        crate::record::rest(scan, start);
    }
    true
}
