//! Just enough JSON to find members of an object, also where its quotes are escaped. It accepts more than JSON and
//! never fails loudly: what it cannot read, it does not find.

use crate::literal::{Literal, literal};
use crate::scan::Scan;
use crate::text::{NAME, SPACE, is};

/// Deepest nesting read.
const MAX_DEPTH: usize = 6;

/// Where white space from `at` ends, real or escaped.
#[inline(never)]
pub(crate) fn space(scan: &Scan<'_>, at: usize) -> usize {
    let mut at = at;
    let from = at;
    while at - from < 512 {
        if is(scan.text.peek(at), SPACE) || scan.text.peek(at) == b'\r' {
            at += 1;
        } else if scan.text.peek(at) == b'\\' && matches!(scan.text.peek(at + 1), b'n' | b't' | b'r') {
            at += 2;
        } else {
            break;
        }
    }
    at
}

/// Where the value behind a colon begins.
#[inline(never)]
pub(crate) fn colon(scan: &Scan<'_>, at: usize) -> Option<usize> {
    let at = space(scan, at);
    (scan.text.peek(at) == b':').then(|| space(scan, at + 1))
}

/// Where the value at `at` ends.
#[inline(never)]
pub(crate) fn skip(scan: &Scan<'_>, at: usize, max: usize) -> Option<usize> {
    let mut depth = 0;
    let mut now = at;
    while now - at < max {
        match scan.text.peek(now) {
            0 => return None,
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return None;
                }
                now += 1;
            }
            b'}' | b']' if depth == 0 => return None,
            b'}' | b']' => {
                depth -= 1;
                now += 1;
            }
            b',' | b':' if depth > 0 => now += 1,
            byte if is(byte, SPACE) => now += 1,
            byte if is(byte, NAME) || byte == b'+' => now = scan.text.run(now, NAME, 64),
            _ => match literal(scan, now) {
                Some(found) if found.next > now => now = found.next,
                _ if scan.text.peek(now) == b'\\' => now = space(scan, now).max(now + 1),
                _ => return None,
            },
        }
        if depth == 0 {
            return Some(now);
        }
    }
    None
}

/// The strings of the value at `at`: itself, or those in it that are not keys.
#[inline(never)]
pub(crate) fn strings(scan: &Scan<'_>, at: usize, max: usize) -> Vec<Literal> {
    let mut found = Vec::new();
    let mut now = at;
    let mut depth = 0;
    while now - at < max {
        match scan.text.peek(now) {
            b'{' | b'[' if depth < MAX_DEPTH => {
                depth += 1;
                now += 1;
            }
            b'}' | b']' if depth > 1 => {
                depth -= 1;
                now += 1;
            }
            b',' | b':' if depth > 0 => now += 1,
            byte if is(byte, SPACE) && depth > 0 => now += 1,
            byte if is(byte, NAME) && depth > 0 => now = scan.text.run(now, NAME, 64),
            _ => {
                let Some(text) = literal(scan, now) else { break };
                if scan.text.peek(space(scan, text.next)) != b':' || depth == 0 {
                    found.push(text);
                }
                now = text.next.max(now + 1);
            }
        }
        if depth == 0 {
            break;
        }
    }
    found
}
