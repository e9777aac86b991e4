//! Values that are not one string or one word: those of an array, of a block, in a call around them, in braces, with their
//! length before them, and what replaces one. It must not read on where another name begins.

use crate::assignment::{LEAD, MAX_VALUE, Named, Tie, bare_end, indent, opened, quoted};
use crate::gate;
use crate::literal::{Literal, literal, quote};
use crate::name::Strength;
use crate::scan::Scan;
use crate::text::{DIGIT, NAME, SPACE, all, is};
use crate::words::{self, WRAPS};

/// How far an array behind a name is read.
const NESTED: usize = 4096;

/// The strings of an array.
pub(crate) fn array(scan: &mut Scan<'_>, named: Named, from: usize) {
    let mut at = from;
    while at - from < NESTED {
        let byte = scan.text.peek(at);
        if is(byte, SPACE) || byte == b',' {
            at += 1;
        } else if quote(scan, at).is_some() {
            let Some(found) = opened(scan, at) else { return };
            let value = scan.text.slice(found.start, found.end);
            // A list of words, or of names of variables, is no list of secrets.
            let names = match named.strength {
                Strength::Strong => value.len() < 8 || !gate::mixed(value) || value.contains(&b' '),
                _ => value.contains(&b'_') && value.iter().all(|&c| c.is_ascii_uppercase() || matches!(c, b'_' | b'*')),
            };
            if !names {
                quoted(scan, named, Tie::Colon, found);
            }
            at = found.next.max(at + 1);
        } else {
            if at == from {
                listed(scan, named, at);
            }
            return;
        }
    }
}

/// A YAML block scalar: the lines below that are indented further.
pub(crate) fn block(scan: &mut Scan<'_>, named: Named, at: usize) {
    let mut line = at + 1;
    while matches!(scan.text.peek(line), b'-' | b'+' | b'0'..=b'9' | b' ') {
        line += 1;
    }
    if scan.text.peek(line) != b'\n' || named.strength < Strength::Strong {
        return;
    }
    let own = indent(scan, scan.text.line_start(named.start, LEAD));
    for _ in 0..64 {
        line += 1;
        let end = scan.text.line_end(line, MAX_VALUE);
        let first = line + indent(scan, line);
        scan.open(first);
        if first >= end && scan.text.peek(end) == b'\n' {
            line = end;
            continue;
        }
        if first - line <= own || scan.text.starts(first, b"-----BEGIN") {
            return;
        }
        if !gate::placeholder(scan.text.slice(first, end)) {
            scan.mask(first, end, named.rule());
        }
        if scan.text.peek(end) != b'\n' {
            return;
        }
        line = end;
    }
}

/// A bare value in brackets, as Go prints headers: `X-Api-Key:[…]`.
fn listed(scan: &mut Scan<'_>, named: Named, at: usize) {
    scan.open(at);
    let end = bare_end(scan, at, false);
    let value = scan.text.slice(at, end);
    if scan.text.peek(end) == b']' && gate::random(value, 8) && !gate::placeholder(value) && !gate::lookup(value) {
        scan.mask(at, end, named.rule());
    }
}

/// The string that the call at `at` wraps and leaves as it is: `Some("…")`.
#[inline(never)]
pub(crate) fn wrapped(scan: &mut Scan<'_>, at: usize) -> Option<Literal> {
    /// Longest name of such a call.
    const CALL: usize = 16;
    let mut open = at;
    while open - at < CALL && (is(scan.text.peek(open), NAME) || matches!(scan.text.peek(open), b':' | b'[' | b']')) {
        open += 1;
    }
    let known = words::sets(scan.text.slice(at, open)) & WRAPS != 0;
    let slashes = quote(scan, open + 1).filter(|_| known && scan.text.peek(open) == b'(')?.0;
    scan.open(open + 2 + slashes);
    literal(scan, open + 1)
}

/// The value in braces of a data source: `;PWD={a;b}`.
pub(crate) fn braced(scan: &mut Scan<'_>, named: Named, at: usize) {
    scan.open(at + 1);
    let end = scan.text.line_end(at, LEAD);
    let Some(size) = scan.text.slice(at, end).iter().position(|&c| c == b'}') else { return };
    let value = scan.text.slice(at + 1, at + size);
    if gate::mixed(value) && !all(value, NAME) && value[0] != b'$' {
        scan.mask(at + 1, at + size, named.rule());
    }
}

/// What a value is replaced with: `"old" -> "new"`, as a plan of Terraform shows it.
pub(crate) fn replaced(scan: &mut Scan<'_>, named: Named, at: usize) {
    if scan.text.starts(at, b" -> \"")
        && let Some(found) = opened(scan, at + 4)
    {
        quoted(scan, named, Tie::Colon, found);
    }
}

/// A string with its length, on the line below its name, as PHP shows it: `string(9) "…"`.
pub(crate) fn dumped(scan: &mut Scan<'_>, named: Named, line: usize) {
    let at = line + indent(scan, line);
    let digits = scan.text.run(at + 7, DIGIT, 6);
    if scan.text.starts(at, b"string(")
        && scan.text.starts(digits, b") \"")
        && let Some(found) = opened(scan, digits + 2)
    {
        quoted(scan, named, Tie::Colon, found);
    }
}

/// Whether a value ends in the middle of a mask.
#[inline(never)]
pub(crate) fn in_mask(value: &[u8]) -> bool {
    value.iter().rposition(|&c| c == b'[').is_some_and(|at| value[at..].starts_with(gate::MASK))
}

/// Where the text of an element ends: at its closing tag. `<user>:<password>@<host>` is how a text writes what to fill in.
pub(crate) fn element_end(scan: &Scan<'_>, named: Named, at: usize) -> Option<usize> {
    let mut end = at;
    while end - at < MAX_VALUE && !matches!(scan.text.peek(end), b'<' | b'\n' | 0) {
        end += 1;
    }
    match scan.text.peek(end) {
        b'<' => scan.text.peek(end + 1) == b'/',
        b'\n' => named.anchored,
        0 => !scan.text.last(),
        _ => true,
    }
    .then_some(end)
}

/// Where a value ends behind which another command begins: `export A=x;export B=y`.
#[inline(never)]
pub(crate) fn command_end(scan: &Scan<'_>, at: usize, end: usize) -> usize {
    match scan.text.slice(at, end).iter().rposition(|&c| c == b';') {
        Some(next) if scan.text.slice(at + next, end + 1) == b";export " => at + next,
        _ => end,
    }
}
