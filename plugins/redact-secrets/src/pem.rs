//! Private keys in text armour: whole, cut at either end, on one line with escaped line breaks, or with something
//! before each line (`cat -n`, a diff). Certificates and public keys stay.

use crate::rules;
use crate::scan::Scan;
use crate::text::{ALNUM, B64, SPACE, all, contains, find_last, holds, is};

/// Longest key block, from its first line to its last.
pub(crate) const MAX_BLOCK: usize = 24 * 1024;
/// Longest label between the dashes.
const MAX_LABEL: usize = 64;
/// A line of a key has at least this many characters, unless it is the last. Tools fold at 64 or 70, terminals earlier.
const FULL: usize = 20;
/// Longest line of a key, with what stands before it.
const MAX_LINE: usize = 160;
/// Longest text before the lines of a key.
const MAX_GUTTER: usize = 24;

/// The end of `-----BEGIN … PRIVATE KEY…-----` or its END form, whose label begins at `label`.
#[inline(never)]
fn header(scan: &Scan<'_>, label: usize) -> Option<usize> {
    let mut at = label;
    while at - label + 8 < MAX_LABEL
        && scan.text.eight(at).is_some_and(|eight| !holds(eight, b'-') && !holds(eight, b'\n'))
    {
        at += 8;
    }
    while at - label < MAX_LABEL && !matches!(scan.text.at(at), b'-' | b'\n' | 0) {
        at += 1;
    }
    if !scan.text.starts(at, b"---") {
        return None;
    }
    let words = scan.text.slice(label, at);
    let private = words.ends_with(b"PRIVATE KEY")
        || contains(words, b"PRIVATE KEY")
        || contains(words, b"ENCRYPTED") && contains(words, b"KEY");
    private.then(|| {
        let mut end = at;
        while end - at < 5 && scan.text.at(end) == b'-' {
            end += 1;
        }
        end
    })
}

/// What a line is to a key block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// A full line of the key.
    Full,
    /// A short one: the last of the key, or a word.
    Short,
    /// `Proc-Type: …` and its like.
    Field,
    /// Nothing.
    Blank,
    /// The END line; where its dashes end.
    End(usize),
    /// Something else.
    Other,
}

/// Where the content of a line begins, behind a gutter.
#[inline(never)]
fn content(scan: &Scan<'_>, line: usize) -> usize {
    let mut at = line;
    let mut digits = true;
    while at - line < MAX_GUTTER {
        match scan.text.at(at) {
            b' ' | b'\t' | b'>' | b'|' | b'+' | b'#' | b'*' | b'"' | b'\'' => digits = true,
            b'-' if at == line && scan.text.at(at + 1) != b'-' => {}
            // A line number, if a separator follows; else the key itself.
            b'0'..=b'9' if digits => {
                let end = scan.text.run(at, crate::text::DIGIT, 8);
                if !(matches!(scan.text.at(end), b':' | b'|' | b'\t' | b'-')
                    || scan.text.at(end) == b' ' && end - at < 6)
                {
                    break;
                }
                at = end;
                digits = false;
            }
            0xe2 if scan.text.reads(at, "│".as_bytes()) => at += 2,
            _ => break,
        }
        at += 1;
    }
    // `+` is also a character of base64: one that is followed by more of a full line was part of it.
    at
}

/// Where the last word of a line begins, or its END line does: the key's part of a line of a log.
#[inline(never)]
fn last_word(scan: &Scan<'_>, line: usize, end: usize) -> usize {
    let text = scan.text.slice(line, end);
    let dashes = find_last(text, b"-----END ");
    line + dashes.or(text.iter().rposition(|&c| is(c, SPACE)).map(|at| at + 1)).unwrap_or(0)
}

/// Where a string goes on that is put together from several, with the closing quote of one at `at`.
#[inline(never)]
fn joint(scan: &Scan<'_>, at: usize) -> Option<usize> {
    let mut next = at + 1;
    while next - at < MAX_GUTTER
        && (is(scan.text.peek(next), SPACE) || matches!(scan.text.peek(next), b'+' | b'.' | b'\\'))
    {
        next += 1;
    }
    (scan.text.peek(next) == scan.text.peek(at) && next > at + 1).then_some(next + 1)
}

#[inline(never)]
fn line(scan: &Scan<'_>, from: usize, end: usize, logged: bool) -> (usize, usize, Line) {
    let start = if logged { last_word(scan, from, end) } else { content(scan, from) }.min(end);
    if let Some(rest) = scan
        .text
        .slice(start, end)
        .strip_prefix(b"-----END ")
        .or_else(|| scan.text.slice(start, end).strip_prefix(b"---- END "))
        && let Some(stop) = header(scan, end - rest.len())
    {
        return (start, stop, Line::End(stop));
    }
    let mut stop = end;
    while stop > start
        && (is(scan.text.bytes()[stop - 1], SPACE)
            || matches!(scan.text.bytes()[stop - 1], b'"' | b'\'' | b',' | b'\\' | b'|'))
    {
        stop -= 1;
    }
    let value = scan.text.slice(start, stop);
    let kind = if value.is_empty() {
        Line::Blank
    } else if all(value, ALNUM | B64) {
        if value.len() >= FULL { Line::Full } else { Line::Short }
    } else if field(value) {
        Line::Field
    } else {
        Line::Other
    };
    (start, stop, kind)
}

fn field(value: &[u8]) -> bool {
    ["Proc-Type: ", "DEK-Info: ", "Version: ", "Comment: ", "Hash: ", "Charset: "]
        .iter()
        .any(|name| value.starts_with(name.as_bytes()))
}

/// Whether a short line, with no END behind it, is more likely the end of a key than a word.
fn ends_key(value: &[u8]) -> bool {
    value.ends_with(b"=") || crate::gate::random(value, 6) || value.len() >= 12 && crate::gate::mixed(value)
}

/// `-----BEGIN`, with its anchor on the last dash.
#[inline(never)]
pub(crate) fn begin(scan: &mut Scan<'_>, at: usize) {
    let mut dashes = at + 1;
    while dashes > 0 && at + 1 - dashes < 5 && scan.text.bytes()[dashes - 1] == b'-' {
        dashes -= 1;
    }
    // The form of SSH2 has four dashes and blanks.
    let label = if scan.text.at(at) == b' ' {
        if at < 4 || scan.text.slice(at - 4, at) != b"----" {
            return;
        }
        dashes = at - 4;
        at + 1
    } else {
        at + 1
    };
    if at + 1 - dashes < 3 {
        return;
    }
    scan.open(dashes);
    if !scan.text.starts(label, b"BEGIN ") {
        return;
    }
    let Some(body) = header(scan, label + 6) else { return };
    let next = scan.text.at(body);
    let line_end = scan.text.blanks(body, 8);
    if next == b'\n' || next != 0 && scan.text.at(line_end) == b'\n' {
        return lines(scan, dashes, line_end);
    }
    inline(scan, dashes, body);
}

/// A key on one line, its line breaks escaped, made blanks, or simply gone.
fn inline(scan: &mut Scan<'_>, start: usize, body: usize) {
    let mut at = body;
    let mut keyed = body;
    while at - start < MAX_BLOCK {
        match scan.text.at(at) {
            b'-' if scan.text.starts(at, b"-----END ") => {
                let end = header(scan, at + 9).unwrap_or(at);
                scan.pem_end = scan.pem_end.max(end);
                return scan.mask(start, end, rules::PRIVATE_KEY);
            }
            b'-' if is_begin(scan, at) => break,
            b'\n' | 0 => break,
            byte if is(byte, ALNUM | B64) => {
                at += 1;
                keyed = at;
            }
            b'\\' | b' ' | b'\t' | b':' | b',' | b'-' | b'\r' => at += 1,
            b'&' if scan.text.starts(at, b"&#") => at = scan.text.run(at + 2, ALNUM, 3) + 1,
            b'"' | b'\'' => match joint(scan, at) {
                Some(next) => at = next,
                None => break,
            },
            _ => break,
        }
    }
    // Without an end: what is base64 up to the first thing that cannot be in a key.
    let run = scan.text.slice(body, keyed);
    if run.len() >= FULL || scan.text.at(at) == 0 && !run.is_empty() {
        scan.pem_end = scan.pem_end.max(keyed);
        scan.mask(start, keyed, rules::PRIVATE_KEY);
    }
}

/// A key over several lines: `from` is the newline behind the BEGIN line.
fn lines(scan: &mut Scan<'_>, start: usize, from: usize) {
    let lead = scan.text.line_start(start, MAX_GUTTER * 2);
    // With a gutter every line keeps its own, so each is masked by itself.
    let gutter = scan.text.slice(lead, start).iter().any(|&c| !is(c, SPACE));
    // What stands before each line in a log is longer than a gutter, and need not be the same everywhere.
    let logged = gutter && content(scan, lead) < start && is(scan.text.before(start), SPACE);
    let gutter = logged || gutter && content(scan, lead) >= start;
    let mut rows: Vec<(usize, usize)> = Vec::new();
    let mut maybe: Option<(usize, usize)> = None;
    let mut blanks = 0;
    let mut newline = from;
    let mut end = from;
    let mut whole = false;
    while newline - start < MAX_BLOCK && scan.text.at(newline) == b'\n' {
        let next = newline + 1;
        let line_end = scan.text.line_end(next, MAX_LINE);
        let (first, stop, kind) = line(scan, next, line_end, logged);
        if maybe.is_some() && !matches!(kind, Line::End(_)) {
            break;
        }
        match kind {
            Line::Full | Line::Field => {
                rows.push((first, stop));
                end = stop;
                blanks = 0;
            }
            Line::Short => maybe = Some((first, stop)),
            Line::Blank if blanks < 2 => blanks += 1,
            Line::End(stop) => {
                rows.extend(maybe.take());
                end = stop;
                whole = true;
                break;
            }
            Line::Blank | Line::Other => break,
        }
        newline = line_end;
    }
    if let Some((first, stop)) = maybe
        && (scan.text.at(stop) == 0 && !rows.is_empty() || ends_key(scan.text.slice(first, stop)))
    {
        rows.push((first, stop));
        end = stop;
    }
    if rows.is_empty() && !whole {
        return;
    }
    scan.pem_end = scan.pem_end.max(end);
    if gutter {
        for (first, stop) in rows {
            scan.mask(first, stop, rules::PRIVATE_KEY);
        }
    } else {
        scan.mask(start, end, rules::PRIVATE_KEY);
    }
}

/// `-----END` without a BEGIN before it: the text begins inside the key (`tail`, a cut front).
#[inline(never)]
pub(crate) fn end(scan: &mut Scan<'_>, at: usize) {
    if at < scan.pem_end || at < 4 || scan.text.slice(at - 4, at) != b"----" || !scan.text.starts(at + 1, b"END ") {
        return;
    }
    let line_start = scan.text.line_start(at, MAX_GUTTER * 2);
    let Some(stop) = header(scan, at + 5) else { return };
    if content(scan, line_start) != at - 4 {
        return;
    }
    let mut newline = line_start;
    let mut first = None;
    let mut rows: Vec<(usize, usize)> = Vec::new();
    while newline > 0 && at - newline < MAX_BLOCK {
        let above = scan.text.line_start(newline - 1, MAX_LINE);
        let (from, until, kind) = line(scan, above, newline - 1, false);
        // The nearest line may be short: it is the last of the key.
        let cut = above == 0 && scan.front_cut && kind == Line::Short;
        if !(kind == Line::Full || cut || kind == Line::Short && rows.is_empty())
            || rows.len() > 1 && is_begin(scan, from)
        {
            break;
        }
        rows.push((from, until));
        first = Some(from);
        newline = above;
    }
    let full = rows.iter().any(|(from, until)| until - from >= FULL);
    let Some(first) = first.filter(|_| full) else { return };
    let gutter = rows.iter().any(|&(from, _)| {
        let line = scan.text.line_start(from, MAX_GUTTER * 2);
        scan.text.slice(line, from).iter().any(|&c| !is(c, SPACE))
    });
    if gutter {
        for (from, until) in rows {
            scan.mask(from, until, rules::PRIVATE_KEY);
        }
    } else {
        scan.mask(first, stop, rules::PRIVATE_KEY);
    }
}

fn is_begin(scan: &Scan<'_>, at: usize) -> bool {
    scan.text.starts(at, b"-----BEGIN")
}

/// `Private-Lines: n` of a PuTTY key and the lines behind it.
#[inline(never)]
pub(crate) fn putty(scan: &mut Scan<'_>, at: usize) {
    let Some(start) = at.checked_sub(7) else { return };
    if scan.text.slice(start, at) != b"Private" || !scan.text.starts(at, b"-Lines: ") {
        return;
    }
    let newline = scan.text.run(at + 8, crate::text::DIGIT, 4);
    let mut at = newline;
    scan.open(newline + 1);
    while at - newline < MAX_BLOCK && scan.text.at(at) == b'\n' {
        let end = scan.text.line_end(at + 1, MAX_LINE);
        if !matches!(line(scan, at + 1, end, false).2, Line::Full | Line::Short) {
            break;
        }
        at = end;
    }
    scan.mask(newline + 1, at, rules::PRIVATE_KEY);
}

/// Where lines begin, at the end of a text, that would be part of a key if an END line followed.
pub(crate) fn pending(scan: &Scan<'_>) -> usize {
    let len = scan.text.len();
    let bytes = scan.text.bytes();
    let mut first = len;
    let mut newline = len;
    let mut short = None;
    let mut row = 0;
    while len - newline < MAX_BLOCK {
        let above = scan.text.line_start(newline, MAX_LINE);
        if newline - above >= MAX_LINE {
            break;
        }
        let start = content(scan, above).min(newline);
        let value = &bytes[start..newline];
        let key = !value.is_empty() && all(value, ALNUM | B64);
        if key && value.len() >= FULL {
            first = start;
        } else if row == 0 && key {
            // An open line may grow into a full one.
            first = start;
            short = Some(start);
        } else if row == 0 && b"-----END ".starts_with(&value[..value.len().min(9)]) {
            // Nothing yet, or the beginning of an END line: it depends on the lines above.
        } else if key && short.is_none() && first == len {
            // The last line of a key is short; it matters only below a full one.
            short = Some(start);
        } else {
            break;
        }
        row += 1;
        if above == 0 {
            break;
        }
        newline = above - 1;
    }
    first
}
