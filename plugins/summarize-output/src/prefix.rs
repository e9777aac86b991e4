//! What stands before a line: timestamps, step numbers, names of workers.
//!
//! This must never take off anything that a line says.

/// Prefixes taken off at most, so that the loop ends soon on a line that is nothing else.
const PREFIXES: usize = 4;

/// The longest prefix in brackets that is taken off, such as `[2024-01-01T00:00:00.000Z]`.
pub const BRACKETS: usize = 40;

/// Takes off timestamps, step numbers and worker names: `2024-01-01T10:00:00Z `, `[12:00:01] `, `#12 0.345 `, `[gw1] `.
#[must_use]
pub fn body(line: &[u8]) -> &[u8] {
    let mut rest = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    for _ in 0..PREFIXES {
        let Some(&first) = rest.first() else { break };
        let taken = match first {
            b'0'..=b'9' => time(rest),
            b'[' => bracketed(rest),
            b'#' => step(rest),
            _ => 0,
        };
        if taken == 0 {
            break;
        }
        rest = &rest[taken..];
    }
    rest
}

/// The bytes of a timestamp: each counts one, and those that tell its form count themselves in a byte of their own.
const STAMP: [u32; 256] = {
    let mut stamp = [0; 256];
    let mut at = 0;
    while at < 256 {
        stamp[at] = match at as u8 {
            b'0'..=b'9' | b',' | b'T' | b'Z' | b'+' => 1,
            b':' => 1 | 1 << 8,
            b'-' | b'/' => 1 | 1 << 16,
            b'.' => 1 | 1 << 24,
            _ => 0,
        };
        at += 1;
    }
    stamp
};

/// Length of a timestamp and the blank after it; 0 if there is none.
fn time(line: &[u8]) -> usize {
    let mut counts = 0;
    let mut length = 0;
    while length < BRACKETS.min(line.len()) {
        let counted = STAMP[usize::from(line[length])];
        if counted == 0 {
            break;
        }
        counts += counted;
        length += 1;
    }
    let of = |mark: u8| counts >> (STAMP[usize::from(mark)] - 1).ilog2() & 0xFF;
    let (colons, dashes, dots) = (of(b':'), of(b'-'), of(b'.'));
    let date = dashes == 2 && length >= 8;
    let seconds = colons == 0 && dashes == 0 && dots > 0 && length >= 4;
    if (colons >= 2 && length >= 8 || date || seconds) && line.get(length) == Some(&b' ') { length + 1 } else { 0 }
}

/// Length of a prefix in brackets that is a time, a progress or a worker, and the blank after it.
fn bracketed(line: &[u8]) -> usize {
    let Some(close) = memchr::memchr(b']', &line[..line.len().min(BRACKETS)]) else { return 0 };
    let inside = &line[1..close];
    let letters = inside.iter().filter(|b| b.is_ascii_alphabetic()).count();
    let digits = inside.iter().filter(|b| b.is_ascii_digit()).count();
    let fraction = inside.contains(&b'/');
    if digits == 0 || fraction || letters > 4 || line.get(close + 1) != Some(&b' ') {
        return 0;
    }
    close + 2
}

/// Length of `#12 ` of a builder, when it is one.
fn step(line: &[u8]) -> usize {
    let digits = line[1..].iter().take_while(|b| b.is_ascii_digit()).count();
    if digits > 0 && digits < 6 && line.get(1 + digits) == Some(&b' ') { digits + 2 } else { 0 }
}
