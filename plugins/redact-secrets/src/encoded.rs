//! Secrets inside base64: what begins like a known token or a private key once decoded. The run is masked from there
//! to its end, since any part of it would decode to a part of the secret. Only a few beginnings are looked for, in each
//! of the three ways base64 can be aligned.

use crate::beginnings::BEGINNINGS;
use crate::rules;
use crate::scan::Scan;
use crate::text::{ALNUM, B64, contains, is};

/// Longest run looked at.
const MAX_RUN: usize = 16 * 1024;
/// How far before its beginning a secret's run may begin.
const MAX_BACK: usize = 256;
/// How much behind a beginning is decoded.
const DECODED: usize = 96;

fn decode(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let (mut bits, mut count) = (0u32, 0);
    for byte in text {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => break,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    out
}

/// A run of base64 that may hold a beginning at `at`.
#[inline(never)]
pub(crate) fn run(scan: &mut Scan<'_>, at: usize) {
    let (known, read, masked) = scan.encoded;
    if at < masked {
        return;
    }
    let bytes = scan.text.bytes();
    let inside = |c: u8| is(c, ALNUM) || matches!(c, b'+' | b'/');
    // Back to where the run begins, or to where it was read before.
    let mut start = at;
    let floor = if read <= at { read } else { 0 };
    while start > floor.max(at.saturating_sub(MAX_BACK)) && inside(bytes[start - 1]) {
        start -= 1;
    }
    if start == floor && floor > 0 {
        start = known;
    }
    scan.encoded = (start, at, masked);
    if at - start >= MAX_BACK {
        return;
    }
    // The beginning's place in its group of four gives its place in the bytes; what is before it need not be read.
    let group = start + (at - start) / 4 * 4;
    let from = group.saturating_sub(4).max(start);
    scan.open(from);
    let near = decode(scan.text.slice(from, group + 8));
    let begins = |literal: &&&str| near.windows(3).any(|part| literal.as_bytes().starts_with(part));
    if scan.text.peek(group + 8) != 0 && BEGINNINGS.iter().filter(begins).count() == 0 {
        return;
    }
    let decoded = decode(scan.text.slice(from, from + DECODED));
    if scan.text.peek(from + DECODED) == 0 {
        scan.text.touch();
    }
    let found = BEGINNINGS.iter().any(|literal| {
        (0..9.min(decoded.len()))
            .any(|place| decoded[place..].starts_with(literal.as_bytes()) && secret(&decoded[place..], literal))
    });
    if !found {
        return;
    }
    let end = scan.text.run(at, ALNUM | B64, MAX_RUN);
    if end - start >= 16 {
        scan.encoded = (start, at, end);
        scan.mask(from, end, rules::ENCODED);
    }
}

/// Whether what begins with `literal` goes on like a secret.
fn secret(decoded: &[u8], literal: &str) -> bool {
    let rest = &decoded[literal.len()..];
    if literal.starts_with('-') {
        return contains(&rest[..rest.len().min(50)], b"PRIVATE KEY");
    }
    rest.iter().take_while(|&&c| is(c, crate::text::WORD)).count() >= 10
}
