//! What only the strict mode masks: long words that look like chance, whatever stands beside them. Hashes, UUIDs and
//! what is too long to be a key stay.

use crate::gate;
use crate::rules;
use crate::scan::Scan;
use crate::text::{ALNUM, B64, JOIN, count, is};

/// Fewest bytes of such a word.
const MIN: usize = 20;
/// Most: a longer one is data.
pub(crate) const MAX: usize = 256;
/// The least entropy of its bytes, in thousandths of a bit: four bits is what twenty-four random letters and digits have
/// nearly always, and what names and paths of that length have hardly ever.
const ENTROPY: u32 = 4000;

/// Gives the places of `bytes[from..to]` at which a word begins that is long enough, or that may yet become so.
pub(crate) fn words(bytes: &[u8], from: usize, to: usize, mut found: impl FnMut(usize)) {
    let mut at = from;
    // A word that began before was given then.
    if at > 0 && part(bytes[at - 1]) {
        at += bytes[at..to].iter().take_while(|&&c| part(c)).count();
    }
    while at < to {
        if !part(bytes[at]) {
            at += 1;
            continue;
        }
        let size = bytes[at..].iter().take(MIN).take_while(|&&c| part(c)).count();
        if size == MIN || at + size == bytes.len() {
            found(at);
        }
        at += size;
        at += bytes[at.min(to)..to].iter().take_while(|&&c| part(c)).count();
    }
}

/// Whether a byte may be of such a word.
#[inline]
fn part(byte: u8) -> bool {
    is(byte, ALNUM | JOIN | B64)
}

/// Shannon's entropy of the bytes of a text of at most [`MAX`], in thousandths of a bit for each byte.
fn entropy(text: &[u8]) -> u32 {
    let mut counts = [0u16; 256];
    for &byte in text {
        counts[usize::from(byte)] += 1;
    }
    // sum of n*log2(n), with the logarithm's fraction taken along the chord between two powers of two.
    let weigh = |n: u32| {
        let power = n.ilog2();
        n * (power * 1000 + (((n - (1 << power)) * 1000) >> power))
    };
    let size = text.len() as u32;
    let repeated: u32 = counts.iter().filter(|&&n| n > 0).map(|&n| weigh(u32::from(n))).sum();
    weigh(size).saturating_sub(repeated) / size.max(1)
}

/// A word that begins at `start`.
#[inline(never)]
pub(crate) fn word(scan: &mut Scan<'_>, start: usize) {
    scan.open(start);
    let mut end = start;
    while end - start <= MAX && part(scan.text.peek(end)) {
        end += 1;
    }
    let value = scan.text.slice(start, end);
    if !(MIN..=MAX).contains(&value.len()) || gate::hex(value) || gate::uuid(value) || gate::placeholder(value) {
        return;
    }
    // What stands behind a name and a sign of equality is looked at by itself, and so is each piece of a path.
    let mut at = start;
    for piece in value.split(|&c| matches!(c, b'=' | b'/')) {
        if piece.len() >= MIN && entropy(piece) >= ENTROPY && gate::random(piece, MIN) && !gate::hex(piece) {
            scan.mask(at, at + piece.len(), rules::HIGH_ENTROPY);
        }
        at += piece.len() + 1;
    }
    let slashes = count(value, b'/');
    if slashes * 8 <= value.len() && gate::random(value, MIN) && entropy(value) >= ENTROPY && !value.contains(&b'=') {
        scan.mask(start, end, rules::HIGH_ENTROPY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_that_of_the_bytes() {
        assert_eq!(entropy(b"aaaaaaaaaaaaaaaa"), 0);
        assert_eq!(entropy(b"abababababababab"), 1000);
        assert_eq!(entropy(b"0123456789abcdef"), 4000);
        assert!(entropy(b"q8Xp0aMn3vKc7dRt5yWb2eHu") >= ENTROPY);
        assert!(entropy(b"some_function_name_with_words") < ENTROPY);
    }
}
