//! Values Terraform marks as sensitive, in `output -json`, state and plan files, and objects that hold their value
//! under `value`. The mark may stand before or after the value.

use crate::assignment::{Named, Tie, quoted};
use crate::gate;
use crate::json;
use crate::literal::{self, quote};
use crate::rules::{self, Rule};
use crate::scan::Scan;

/// Most bytes of an object with a sensitive value.
pub(crate) const MAX_OBJECT: usize = 4096;

/// How far before the name in it an object begins that is small.
const NEAR: usize = 160;

/// `sensitive` at `start..end`: the object around it, if it is true.
pub(crate) fn sensitive(scan: &mut Scan<'_>, start: usize, end: usize) {
    let Some((slashes, mark)) = quote(scan, end) else { return };
    if scan.text.before(start) != mark {
        return;
    }
    let Some(value) = json::colon(scan, end + slashes + 1) else { return };
    if !scan.text.starts(value, b"true") {
        return;
    }
    if let Some(brace) = brace(scan, start - 1, true) {
        valued(scan, brace, rules::TERRAFORM, true, None);
    }
}

/// The brace of the object in which `at` stands. With `first`, not if it is marked as sensitive before.
#[inline(never)]
fn brace(scan: &Scan<'_>, at: usize, first: bool) -> Option<usize> {
    let bytes = scan.text.bytes();
    let mut depth = 0;
    let floor = at.saturating_sub(MAX_OBJECT);
    for at in (floor..at).rev() {
        match bytes[at] {
            b'}' | b']' => depth += 1,
            b'{' | b'[' if depth > 0 => depth -= 1,
            b'{' => return Some(at),
            b'[' => return None,
            b's' if depth == 0 && first && bytes[at..].starts_with(b"sensitive") => return None,
            _ => {}
        }
    }
    None
}

/// `SecureString` at `at`: the argument of the command that makes one, or the value of a parameter of that type.
#[inline(never)]
pub(crate) fn secure(scan: &mut Scan<'_>, at: usize) {
    let end = at + 12;
    if !scan.text.starts(at, b"SecureString") {
        return;
    }
    if scan.text.before(at) == b'-' {
        if scan.text.peek(end) == b' ' {
            crate::command::secret(scan, end + 1);
        }
    } else if quote(scan, end).is_some()
        && let Some(brace) = near(scan, at)
    {
        valued(scan, brace, rules::ASSIGNMENT, true, None);
    }
}

/// The brace of a small object in which `at` stands.
#[inline(never)]
fn near(scan: &Scan<'_>, at: usize) -> Option<usize> {
    let before = scan.text.slice(at.saturating_sub(NEAR), at);
    let brace = before.iter().rposition(|&c| matches!(c, b'{' | b'}' | b'['))?;
    (before[brace] == b'{').then_some(at - before.len() + brace)
}

/// The value of the small object in which `named` is what a member says.
pub(crate) fn member(scan: &mut Scan<'_>, named: Named) {
    if let Some(brace) = near(scan, named.start) {
        valued(scan, brace, named.rule(), true, Some(named));
    }
}

/// The strings under `value` in the object whose brace is at `brace`: all, those that look like a secret, or what the
/// name of the object says.
#[inline(never)]
pub(crate) fn valued(scan: &mut Scan<'_>, brace: usize, rule: Rule, any: bool, of: Option<Named>) {
    let mut at = brace + 1;
    for _ in 0..16 {
        at = json::space(scan, at);
        if scan.text.peek(at) == b',' {
            at = json::space(scan, at + 1);
        }
        if at - brace > MAX_OBJECT {
            return;
        }
        let Some(key) = literal::literal(scan, at) else { return };
        let Some(value) = json::colon(scan, key.next) else { return };
        if scan.text.starts_folded(key.end.saturating_sub(5), b"value") {
            scan.open(value);
            // A map in the model of a service, whose values are described: `{"shape":"TagValue"}`.
            if scan.text.starts(value, b"{\"shape\"") {
                return;
            }
            for found in json::strings(scan, value, MAX_OBJECT) {
                let text = scan.text.slice(found.start, found.end);
                if let Some(named) = of {
                    quoted(scan, named, Tie::Colon, found);
                } else if !gate::placeholder(text) && (any || gate::opaque(text)) {
                    scan.mask(found.start, found.end, rule);
                }
            }
            return;
        }
        let Some(next) = json::skip(scan, value, MAX_OBJECT) else { return };
        at = next;
    }
}

/// Where a `"value"` stands, at the end of a text, whose object is still open: what follows may mark it as sensitive.
pub(crate) fn pending(scan: &Scan<'_>) -> usize {
    let bytes = scan.text.bytes();
    let floor = bytes.len().saturating_sub(MAX_OBJECT);
    let mut depth = 0;
    let mut at = bytes.len();
    let mut first = usize::MAX;
    while at > floor {
        at -= 1;
        match bytes[at] {
            b'}' | b']' => depth += 1,
            b'{' | b'[' if depth > 0 => depth -= 1,
            b'"' if depth == 0 && (bytes[at..].starts_with(b"\"value\"") || bytes[at..].starts_with(b"\"value\\")) => {
                let colon = at + 7 + usize::from(bytes.get(at + 6) == Some(&b'\\'));
                first = bytes.get(colon..).map_or(first, |_| colon.min(bytes.len()));
            }
            _ => {}
        }
    }
    first
}
