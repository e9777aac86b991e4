//! HMAC-SHA256, by which the allow-list knows values without holding them. It must never be used for anything that has
//! to resist an attacker who measures time: it compares nothing.

/// Bytes of a digest.
pub(crate) const SIZE: usize = 32;
/// Bytes of a block.
const BLOCK: usize = 64;

/// A digest.
pub(crate) type Digest = [u8; SIZE];

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2).
static ROUNDS: [u32; 64] = constants(3);
/// The same of the square roots of the first 8 (FIPS 180-4, 5.3.3).
static START: [u32; 8] = constants(2);

/// The fractional parts of the roots of the first primes, as FIPS 180-4 derives its constants.
const fn constants<const N: usize>(root: u32) -> [u32; N] {
    let mut all = [0; N];
    let (mut prime, mut at) = (2u128, 0);
    while at < N {
        let mut divisor = 2;
        while divisor * divisor <= prime && prime % divisor != 0 {
            divisor += 1;
        }
        if divisor * divisor > prime {
            all[at] = fraction(prime, root);
            at += 1;
        }
        prime += 1;
    }
    all
}

/// The first 32 bits behind the point of a root of `prime`: the greatest `x` of which `(x / 2^32)^root` is not above it.
const fn fraction(prime: u128, root: u32) -> u32 {
    let (mut low, mut high) = (0u128, 1u128 << 37);
    while low + 1 < high {
        let middle = (low + high) / 2;
        let below = match root {
            2 => middle * middle <= prime << 64,
            _ => middle * middle * middle <= prime << 96,
        };
        if below {
            low = middle;
        } else {
            high = middle;
        }
    }
    low as u32
}

/// SHA-256 (FIPS 180-4) of `parts`, one behind the other.
#[inline(never)]
fn sha256(parts: [&[u8]; 2]) -> Digest {
    let mut state = START;
    let mut block = [0u8; BLOCK];
    let mut size = 0;
    for &byte in parts.into_iter().flatten() {
        block[size % BLOCK] = byte;
        size += 1;
        if size % BLOCK == 0 {
            mix(&mut state, &block);
        }
    }
    let bits = (size as u64 * 8).to_be_bytes();
    let used = size % BLOCK;
    block[used] = 0x80;
    block[used + 1..].fill(0);
    if used + 1 > BLOCK - bits.len() {
        mix(&mut state, &block);
        block.fill(0);
    }
    block[BLOCK - bits.len()..].copy_from_slice(&bits);
    mix(&mut state, &block);
    let mut digest = [0; SIZE];
    for (bytes, word) in digest.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    digest
}

#[inline(never)]
fn mix(state: &mut [u32; 8], block: &[u8; BLOCK]) {
    let mut words = [0u32; 64];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    for at in 16..64 {
        let (x, y) = (words[at - 15], words[at - 2]);
        let (x, y) =
            (x.rotate_right(7) ^ x.rotate_right(18) ^ x >> 3, y.rotate_right(17) ^ y.rotate_right(19) ^ y >> 10);
        words[at] = words[at - 16].wrapping_add(x).wrapping_add(words[at - 7]).wrapping_add(y);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, round) in words.into_iter().zip(ROUNDS) {
        let sum = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let one = h.wrapping_add(sum).wrapping_add(e & f ^ !e & g).wrapping_add(round).wrapping_add(word);
        let sum = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let two = sum.wrapping_add(a & b ^ a & c ^ b & c);
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(one), c, b, a, one.wrapping_add(two));
    }
    for (sum, part) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *sum = sum.wrapping_add(part);
    }
}

/// HMAC-SHA256 (RFC 2104) of `text` under `key`.
#[inline(never)]
pub(crate) fn hmac(key: &[u8], text: &[u8]) -> Digest {
    let mut padded = [0u8; BLOCK];
    if key.len() > BLOCK {
        padded[..SIZE].copy_from_slice(&sha256([key, b""]));
    } else {
        padded[..key.len()].copy_from_slice(key);
    }
    let inner = sha256([&padded.map(|byte| byte ^ 0x36), text]);
    sha256([&padded.map(|byte| byte ^ 0x5c), &inner])
}

/// The digest that `text` writes in hexadecimal, in either case.
pub(crate) fn parse(text: &str) -> Option<Digest> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let mut digest = [0; SIZE];
    if pairs.len() != SIZE {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(pairs) {
        let nibble = |byte: u8| char::from(byte).to_digit(16);
        *byte = (nibble(pair[0])? << 4 | nibble(pair[1])?) as u8;
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(digest: Digest) -> String {
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn sha256_gives_the_published_digests() {
        assert_eq!(hex(sha256([b"abc", b""])), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(hex(sha256([b"", b""])), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(
            hex(sha256([b"abcdbcdecdefdefgefghfghighijhi", b"jkijkljklmklmnlmnomnopnopq"])),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        );
    }

    #[test]
    fn hmac_gives_the_published_codes() {
        let code = hex(hmac(b"Jefe", b"what do ya want for nothing?"));
        assert_eq!(code, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
        let code = hex(hmac(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First"));
        assert_eq!(code, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    }

    #[test]
    fn a_digest_is_read_in_either_case_and_nothing_else_is() {
        let text = hex(hmac(b"key", b"text"));
        assert_eq!(parse(&text), Some(hmac(b"key", b"text")));
        assert_eq!(parse(&text.to_uppercase()), parse(&text));
        for bad in ["", "12", &text[..63], &format!("{text}00"), &text.replace(&text[..1], "g"), "é"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
