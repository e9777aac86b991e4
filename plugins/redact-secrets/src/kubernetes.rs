//! The values of Kubernetes Secrets, in YAML and in JSON, also inside an annotation. `data:` alone proves nothing: the
//! object's `kind`, before or after it, decides. Values of other kinds stay.

use crate::gate;
use crate::json;
use crate::literal::{self, quote};
use crate::rules;
use crate::scan::Scan;
use crate::text::{contains, find_last};

/// Most bytes of a `data` block, and between it and its `kind`.
const MAX_OBJECT: usize = 48 * 1024;
/// How far back the `kind` of a JSON object is looked for.
const BACK: usize = 4096;
/// How many sibling lines are looked through for a `kind`.
const SIBLINGS: usize = 96;
/// Longest line that is not a value.
const MAX_LINE: usize = 256;
/// Deepest indentation of an object inside a list.
const MAX_INDENT: usize = 12;

/// `data` with its anchor on `ta` and what follows.
#[inline(never)]
pub(crate) fn data(scan: &mut Scan<'_>, at: usize) {
    let Some(start) = at.checked_sub(2) else { return };
    let word = scan.text.slice(start, at + 2);
    let start = match word {
        b"data" => start,
        b"Data" if start >= 6 && scan.text.slice(start - 6, start) == b"string" => start - 6,
        _ => return,
    };
    if scan.text.peek(at + 2) == b':' {
        yaml(scan, start, at + 3);
    } else {
        object(scan, start, at + 2);
    }
}

/// A line of YAML: where its content begins, and at which column, with list signs counted as blanks.
#[derive(Clone, Copy)]
struct Row {
    at: usize,
    column: usize,
    /// Where the list sign stands, if the line opens a list item.
    item: Option<usize>,
}

#[inline(never)]
fn row(scan: &Scan<'_>, line: usize, diff: bool) -> Row {
    let first = line + usize::from(diff && matches!(scan.text.peek(line), b'+' | b'-' | b' '));
    let mut at = scan.text.blanks(first, MAX_LINE);
    let mut item = None;
    while scan.text.peek(at) == b'-' && scan.text.peek(at + 1) == b' ' {
        item = item.or(Some(at - first));
        at = scan.text.blanks(at + 1, MAX_LINE);
    }
    Row { at, column: at - first, item }
}

/// The kind a line names: `Some(true)` for a Secret, `Some(false)` for another.
#[inline(never)]
fn kind_of(scan: &Scan<'_>, at: usize) -> Option<bool> {
    if !scan.text.starts(at, b"kind:") {
        return None;
    }
    let mut value = scan.text.blanks(at + 5, 8);
    value += usize::from(matches!(scan.text.peek(value), b'"' | b'\''));
    Some(scan.text.starts(value, b"Secret") && !crate::text::is(scan.text.peek(value + 6), crate::text::WORD))
}

fn is_data(scan: &Scan<'_>, at: usize, own: &[u8]) -> bool {
    scan.text.reads(at, own) && scan.text.peek(at + own.len()) == b':'
}

fn yaml(scan: &mut Scan<'_>, start: usize, after: usize) {
    let line = scan.text.line_start(start, 64);
    let body = scan.text.blanks(after, 8);
    if scan.text.peek(body) != b'\n' {
        return;
    }
    let diff = match scan.text.peek(line) {
        b'+' => true,
        b'-' => scan.text.peek(line + 1) != b' ' || scan.text.peek(line + 2) == b' ',
        _ => false,
    };
    let own = row(scan, line, diff);
    if own.at != start || own.column > MAX_INDENT {
        return;
    }
    let word = &scan.text.bytes()[start..after - 1];
    let before = if own.item.is_some() { None } else { above(scan, line, own.column, diff, word) };
    if let Some((false, _)) = before {
        return;
    }
    // The block: everything indented further.
    let mut values = Vec::new();
    let mut newline = body;
    let mut column = None;
    while newline - start < MAX_OBJECT && scan.text.peek(newline) == b'\n' {
        let this = row(scan, newline + 1, diff);
        if matches!(scan.text.peek(this.at), b'\n' | 0) {
            newline = this.at;
            continue;
        }
        if this.column <= own.column {
            break;
        }
        let end = scan.text.line_end(this.at, MAX_OBJECT);
        let depth = *column.get_or_insert(this.column);
        if let Some(value) = member(scan, this.at, end, this.column > depth) {
            if before.is_some() || values.is_empty() {
                scan.open(value.0);
            }
            values.push(value);
        }
        newline = end;
    }
    if scan.text.peek(newline) == 0
        && let Some((true, kind)) = before
    {
        scan.need(kind.min(line));
    }
    if before.is_some() || below(scan, newline, own.column, diff, word) {
        // Decided by what stands above: each value is final once its line is.
        let last = values.last().copied();
        for (from, until) in values {
            if !gate::masked(scan.text.slice(from, until)) {
                scan.mask(from, until, rules::K8S);
            }
        }
        if before.is_some() {
            scan.reopen(last.map_or(usize::MAX, |value| value.0));
        }
    }
}

/// The value of a `key: value` line, or all of a line that goes on with one.
#[inline(never)]
fn member(scan: &Scan<'_>, at: usize, end: usize, continues: bool) -> Option<(usize, usize)> {
    if continues {
        return Some((at, end));
    }
    let line = scan.text.slice(at, end);
    let colon = line.iter().take(MAX_LINE).position(|&c| c == b':')?;
    let mut from = scan.text.blanks(at + colon + 1, 8).min(end);
    let mut until = end;
    while until > from && matches!(scan.text.bytes()[until - 1], b' ' | b'\t') {
        until -= 1;
    }
    if let Some((0, mark)) = quote(scan, from)
        && until > from + 1
        && scan.text.bytes()[until - 1] == mark
    {
        from += 1;
        until -= 1;
    }
    let value = scan.text.slice(from, until);
    let none = value.is_empty() || matches!(value, b"|" | b"|-" | b">" | b">-" | b"|+" | b"{}" | b"null");
    (!none).then_some((from, until))
}

/// The kind named by a sibling line above, and where that line begins.
fn above(scan: &Scan<'_>, line: usize, column: usize, diff: bool, word: &[u8]) -> Option<(bool, usize)> {
    let mut line = line;
    for _ in 0..SIBLINGS {
        if line == 0 {
            return None;
        }
        let previous = scan.text.line_start(line - 1, MAX_LINE * 16);
        let this = row(scan, previous, diff);
        line = previous;
        if matches!(scan.text.peek(this.at), b'\n' | 0) || this.column > column {
            continue;
        }
        if this.column < column || scan.text.starts(this.at, b"---") || is_data(scan, this.at, word) {
            return None;
        }
        if let Some(secret) = kind_of(scan, this.at) {
            return Some((secret, line));
        }
        if this.item.is_some() {
            return None;
        }
    }
    None
}

/// Whether a sibling line below names the kind Secret.
fn below(scan: &Scan<'_>, newline: usize, column: usize, diff: bool, word: &[u8]) -> bool {
    let mut newline = newline;
    for _ in 0..SIBLINGS {
        if scan.text.peek(newline) != b'\n' {
            return false;
        }
        let this = row(scan, newline + 1, diff);
        if !matches!(scan.text.peek(this.at), b'\n') && this.column <= column {
            if this.column < column
                || this.item.is_some()
                || scan.text.starts(this.at, b"---")
                || is_data(scan, this.at, word)
            {
                return false;
            }
            if let Some(secret) = kind_of(scan, this.at) {
                return secret;
            }
        }
        newline = scan.text.line_end(this.at, MAX_OBJECT);
    }
    false
}

/// `Secret` at `start`: if it is the kind of an object whose `data` may still come, that must be remembered.
pub(crate) fn kind(scan: &mut Scan<'_>, start: usize) {
    let line = scan.text.line_start(start, MAX_LINE);
    let before = &scan.text.bytes()[line..start];
    let named = find_last(before, b"kind").map(|at| &before[at + 4..]);
    if named.is_some_and(|rest| {
        rest.contains(&b':') && rest.iter().all(|c| matches!(c, b':' | b' ' | b'"' | b'\'' | b'\\'))
    }) {
        scan.kind_at = Some(line.saturating_sub(1));
    }
}

/// Where the last object of kind Secret begins to be one, if it may not be over.
pub(crate) fn pending(scan: &Scan<'_>) -> usize {
    let Some(at) = scan.kind_at else { return usize::MAX };
    let rest = &scan.text.bytes()[at..];
    let over = rest.len() > MAX_OBJECT || contains(rest, b"\n---");
    if over { usize::MAX } else { at }
}

/// `"data": {…}` of a JSON object; `end` is behind the word.
fn object(scan: &mut Scan<'_>, start: usize, end: usize) {
    let Some((slashes, mark)) = quote(scan, end) else { return };
    let open = start.saturating_sub(slashes + 1);
    if scan.text.before(start) != mark || !scan.text.bytes()[open..start - 1].iter().all(|&c| c == b'\\') {
        return;
    }
    let Some(brace) = json::colon(scan, end + slashes + 1) else { return };
    if scan.text.peek(brace) != b'{' {
        return;
    }
    let word = &scan.text.bytes()[open..end];
    let before = json_above(scan, open, word);
    if let Some((false, _)) = before {
        return;
    }
    let mut values = Vec::new();
    let mut at = brace + 1;
    let mut closed = false;
    while at - brace < MAX_OBJECT {
        at = json::space(scan, at);
        match scan.text.peek(at) {
            b',' => at += 1,
            b'}' => {
                closed = true;
                break;
            }
            _ => {
                let Some(key) = literal::literal(scan, at) else { return };
                let Some(value) = json::colon(scan, key.next) else { break };
                if before.is_some() || values.is_empty() {
                    scan.open(value);
                }
                let Some(found) = literal::literal(scan, value) else {
                    if scan.text.peek(value) == 0 || scan.text.starts(value, b"null") {
                        at = scan.text.run(value, crate::text::LETTER, 8);
                        if scan.text.peek(at) == 0 { break } else { continue }
                    }
                    return;
                };
                values.push((found.start, found.end));
                at = found.next;
            }
        }
    }
    let secret = match before {
        Some((secret, _)) => secret,
        None => closed && json_below(scan, at + 1, word),
    };
    if !secret {
        return;
    }
    if !closed && let Some((_, kind)) = before {
        scan.need(kind);
    }
    for &(from, until) in &values {
        if !gate::masked(scan.text.slice(from, until)) {
            scan.mask(from, until, rules::K8S);
        }
    }
    if before.is_some() {
        scan.reopen(values.last().map_or(usize::MAX, |value| value.0));
    }
}

fn kind_value(scan: &Scan<'_>, key_end: usize) -> Option<bool> {
    let value = literal::literal(scan, json::colon(scan, key_end)?)?;
    Some(scan.text.slice(value.start, value.end) == b"Secret")
}

/// The kind a member before names, and where.
fn json_above(scan: &Scan<'_>, from: usize, word: &[u8]) -> Option<(bool, usize)> {
    let bytes = scan.text.bytes();
    let mut depth = 0;
    let mut at = from;
    while at > from.saturating_sub(BACK) {
        at -= 1;
        match bytes[at] {
            b'}' | b']' => depth += 1,
            b'{' | b'[' if depth == 0 => return None,
            b'{' | b'[' => depth -= 1,
            b'k' if depth == 0 && bytes[at..].starts_with(b"kind") => {
                let (slashes, mark) = quote(scan, at + 4)?;
                if scan.text.before(at) == mark {
                    return kind_value(scan, at + 4 + slashes + 1)
                        .map(|secret| (secret, at.saturating_sub(slashes + 1)));
                }
            }
            byte if depth == 0 && byte == word[0] && bytes[at..].starts_with(word) => return None,
            _ => {}
        }
    }
    None
}

/// Whether a member behind names the kind Secret.
fn json_below(scan: &Scan<'_>, from: usize, word: &[u8]) -> bool {
    let mut at = from;
    for _ in 0..SIBLINGS {
        at = json::space(scan, at);
        if scan.text.peek(at) == b',' {
            at = json::space(scan, at + 1);
        }
        if scan.text.reads(at, word) || at - from > MAX_OBJECT {
            return false;
        }
        let Some(key) = literal::literal(scan, at) else { return false };
        if scan.text.slice(key.start, key.end) == b"kind" {
            return kind_value(scan, key.next).unwrap_or(false);
        }
        let Some(value) = json::colon(scan, key.next) else { return false };
        let Some(next) = json::skip(scan, value, MAX_OBJECT) else { return false };
        at = next;
    }
    false
}
