//! Secrets inside base64: what begins like a known token or a private key once decoded. The run is masked from there
//! to its end, since any part of it would decode to a part of the secret. Only a few beginnings are looked for, in each
//! of the three ways base64 can be aligned.

use crate::rules;
use crate::scan::Scan;
use crate::text::{ALNUM, B64, is};

/// What a decoded secret is known by.
const BEGINNINGS: &[&str] = &["ghp_", "github_pat_", "glpat-", "sk-ant-", "xoxb-", "-----BEGIN "];
/// Longest run looked at.
const MAX_RUN: usize = 16 * 1024;
/// How far before its beginning a secret's run may begin.
const MAX_BACK: usize = 256;
/// How much behind a beginning is decoded.
const DECODED: usize = 96;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The characters a beginning always has in base64 when `skip` bytes of its group come before it.
fn image(literal: &[u8], skip: usize) -> Vec<u8> {
    let bits: Vec<u8> = literal.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    let lead = (6 - skip * 8 % 6) % 6;
    bits[lead..]
        .chunks_exact(6)
        .map(|six| ALPHABET[usize::from(six.iter().fold(0u8, |sum, bit| sum << 1 | bit))])
        .collect()
}

/// Three bytes of each image, for the prefilter.
pub(crate) fn fingerprints() -> Vec<[u8; 3]> {
    let mut found: Vec<[u8; 3]> = BEGINNINGS
        .iter()
        .flat_map(|literal| (0..3).map(|skip| image(literal.as_bytes(), skip)))
        .filter_map(|image| {
            // Upper-case letters and digits side by side are rare outside base64.
            let worth = |three: &&[u8]| three.iter().filter(|c| c.is_ascii_uppercase() || c.is_ascii_digit()).count();
            image.windows(3).max_by_key(worth).map(|three| [three[0], three[1], three[2]])
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

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
    if scan.text.at(group + 8) != 0 && BEGINNINGS.iter().filter(begins).count() == 0 {
        return;
    }
    let decoded = decode(scan.text.slice(from, from + DECODED));
    if scan.text.at(from + DECODED) == 0 {
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
        return rest.windows(11).take(40).any(|part| part == b"PRIVATE KEY");
    }
    rest.iter().take_while(|&&c| is(c, crate::text::WORD)).count() >= 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_stands_in_the_base64_of_any_text_around_it() {
        for skip in 0..3usize {
            let text = [&b"xyz"[..skip], b"ghp_tail"].concat();
            let bits: Vec<u8> = text.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
            let encoded: Vec<u8> = bits
                .chunks_exact(6)
                .map(|six| ALPHABET[usize::from(six.iter().fold(0u8, |sum, bit| sum << 1 | bit))])
                .collect();
            let image = image(b"ghp_", skip);
            assert!(encoded.windows(image.len()).any(|part| part == image), "{skip}");
            assert!(decode(&encoded).starts_with(&text[..text.len() - 2]));
        }
    }
}
