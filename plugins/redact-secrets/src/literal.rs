//! String literals of programs and data, with quotes that may be escaped any number of times.

use crate::assignment::MAX_VALUE;
use crate::scan::Scan;
use crate::text::LETTER;

/// A string literal: what stands between its quotes, and what follows the closing one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Literal {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) next: usize,
}

/// How many backslashes stand at `at`, and the quote after them.
#[inline(never)]
pub(crate) fn quote(scan: &Scan<'_>, at: usize) -> Option<(usize, u8)> {
    let slashes = (0..8).take_while(|&i| scan.text.peek(at + i) == b'\\').count();
    let byte = scan.text.peek(at + slashes);
    matches!(byte, b'"' | b'\'' | b'`').then_some((slashes, byte))
}

/// The literal that opens at `at`: plain, with a letter before the quote, or with escaped quotes, as in JSON inside
/// JSON. One that the line or the text ends first reaches to there.
#[inline(never)]
pub(crate) fn literal(scan: &Scan<'_>, at: usize) -> Option<Literal> {
    let mut at = at;
    if quote(scan, at).is_none() {
        let letters = scan.text.run(at, LETTER, 3);
        if letters - at > 2 || !matches!(scan.text.peek(letters), b'"' | b'\'') {
            return None;
        }
        at = letters;
    }
    let (slashes, mark) = quote(scan, at)?;
    let mut start = at + slashes + 1;
    let triple = slashes == 0 && scan.text.peek(start) == mark && scan.text.peek(start + 1) == mark;
    if triple {
        start += 2;
    }
    let mut end = start;
    while end - start < MAX_VALUE {
        match scan.text.at(end) {
            0 => return Some(Literal { start, end, next: end }),
            b'\n' if !triple => return Some(Literal { start, end, next: end }),
            b'\\' => {
                let run = (0..16).take_while(|&i| scan.text.peek(end + i) == b'\\').count();
                let ends = scan.text.peek(end + run) == mark;
                // A quote behind exactly as many backslashes as the opening one closes; behind more it is content.
                if ends && slashes > 0 && run <= slashes {
                    return Some(Literal { start, end: end + run - slashes.min(run), next: end + run + 1 });
                }
                if ends && slashes == 0 && run % 2 == 0 {
                    return Some(Literal { start, end: end + run, next: end + run + 1 });
                }
                end += run + usize::from(scan.text.peek(end + run) != 0);
            }
            // Text inside an outer string ends where that does.
            byte if byte == mark => return Some(Literal { start, end, next: end + if triple { 3 } else { 1 } }),
            _ => end += 1,
        }
    }
    Some(Literal { start, end, next: end })
}
