//! Values Terraform marks as sensitive, in `output -json`, state and plan files, and objects that hold their value
//! under `value`. The mark may stand before or after the value.

use crate::gate;
use crate::json;
use crate::literal::{self, quote};
use crate::rules::{self, Rule};
use crate::scan::Scan;

/// Most bytes of an object with a sensitive value.
pub(crate) const MAX_OBJECT: usize = 4096;

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
    let bytes = scan.text.bytes();
    let mut depth = 0;
    let mut at = start - 1;
    let floor = start.saturating_sub(MAX_OBJECT);
    while at > floor {
        at -= 1;
        match bytes[at] {
            b'}' | b']' => depth += 1,
            b'{' | b'[' if depth > 0 => depth -= 1,
            b'{' => return valued(scan, at, rules::TERRAFORM, true),
            b'[' => return,
            b's' if depth == 0 && bytes[at..].starts_with(b"sensitive") => return,
            _ => {}
        }
    }
}

/// The strings under `value` in the object whose brace is at `brace`.
pub(crate) fn valued(scan: &mut Scan<'_>, brace: usize, rule: Rule, any: bool) {
    let mut at = brace + 1;
    for _ in 0..16 {
        at = json::space(scan, at);
        if scan.text.at(at) == b',' {
            at = json::space(scan, at + 1);
        }
        if at - brace > MAX_OBJECT {
            return;
        }
        let Some(key) = literal::literal(scan, at) else { return };
        let Some(value) = json::colon(scan, key.next) else { return };
        if scan.text.slice(key.start, key.end) == b"value" {
            scan.open(value);
            for found in json::strings(scan, value, MAX_OBJECT) {
                let text = scan.text.slice(found.start, found.end);
                if !gate::placeholder(text) && (any || gate::opaque(text)) {
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
