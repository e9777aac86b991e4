//! Finds the places where one of many three-byte fingerprints may stand, sixteen bytes at a time. The vector forms
//! give exactly what [`scalar`] gives. This file holds the crate's only unsafe code, and must never read past a slice.

/// Nibble tables: bit `b` of `low[i][n]` says that a fingerprint of bucket `b` has a byte `i` whose low nibble is `n`.
#[derive(Clone, Debug)]
pub(crate) struct Masks {
    /// By low nibble, for each of the three bytes.
    pub(crate) low: [[u8; 16]; 3],
    /// By high nibble.
    pub(crate) high: [[u8; 16]; 3],
    /// One bit for each [`slot`] in use: a second, sharper look at what the nibbles let through.
    pub(crate) slots: Box<[u64; SLOTS / 64]>,
}

/// Slots of the second look: 2 KiB of bits, which stay in the first-level cache.
pub(crate) const SLOTS: usize = 16_384;

/// The slot of three bytes. Upper and lower case share one.
#[inline]
pub(crate) fn slot(a: u8, b: u8, c: u8) -> usize {
    let key = u32::from_le_bytes([a | 0x20, b | 0x20, c | 0x20, 0]);
    (key.wrapping_mul(0x9E37_79B1) >> 18) as usize
}

impl Masks {
    #[inline]
    fn sharp(&self, a: u8, b: u8, c: u8) -> bool {
        let slot = slot(a, b, c);
        self.slots[slot / 64] >> (slot % 64) & 1 == 1
    }

    #[inline]
    fn admits(&self, a: u8, b: u8, c: u8) -> bool {
        let of = |i: usize, byte: u8| self.low[i][usize::from(byte & 15)] & self.high[i][usize::from(byte >> 4)];
        of(0, a) & of(1, b) & of(2, c) != 0 && self.sharp(a, b, c)
    }
}

/// Appends each position of `bytes[from..to]` at which a fingerprint may stand, in order.
pub(crate) fn scalar(masks: &Masks, bytes: &[u8], from: usize, to: usize, out: &mut Vec<u32>) {
    for at in from..to.min(bytes.len().saturating_sub(2)) {
        if masks.admits(bytes[at], bytes[at + 1], bytes[at + 2]) {
            out.push(at as u32);
        }
    }
}

/// As [`scalar`], by the fastest means this machine has.
pub(crate) fn find(masks: &Masks, bytes: &[u8], from: usize, to: usize, out: &mut Vec<u32>) {
    let done = vector(masks, bytes, from, to, out);
    scalar(masks, bytes, done, to, out);
}

#[cfg(target_arch = "wasm32")]
fn vector(masks: &Masks, bytes: &[u8], from: usize, to: usize, out: &mut Vec<u32>) -> usize {
    wasm::find(masks, bytes, from, to, out)
}

#[cfg(target_arch = "x86_64")]
fn vector(masks: &Masks, bytes: &[u8], from: usize, to: usize, out: &mut Vec<u32>) -> usize {
    if std::arch::is_x86_feature_detected!("ssse3") { x86::find(masks, bytes, from, to, out) } else { from }
}

#[cfg(not(any(target_arch = "wasm32", target_arch = "x86_64")))]
fn vector(_: &Masks, _: &[u8], from: usize, _: usize, _: &mut Vec<u32>) -> usize {
    from
}

/// Takes the set bits of one block's answer.
#[inline]
fn take(masks: &Masks, bytes: &[u8], at: usize, mut bits: u32, out: &mut Vec<u32>) {
    while bits != 0 {
        let place = at + bits.trailing_zeros() as usize;
        bits &= bits - 1;
        if masks.sharp(bytes[place], bytes[place + 1], bytes[place + 2]) {
            out.push(place as u32);
        }
    }
}

#[cfg(target_arch = "wasm32")]
mod wasm {
    use core::arch::wasm32::{
        i8x16_bitmask, i8x16_eq, i8x16_splat, i8x16_swizzle, u8x16_shr, v128, v128_and, v128_load,
    };

    use super::{Masks, take};

    #[target_feature(enable = "simd128")]
    #[expect(unsafe_code, reason = "vector loads take pointers")]
    fn table(bytes: &[u8; 16]) -> v128 {
        // SAFETY: the array is sixteen readable bytes; loads need no alignment.
        unsafe { v128_load(bytes.as_ptr().cast()) }
    }

    #[target_feature(enable = "simd128")]
    #[expect(unsafe_code, reason = "vector loads take pointers")]
    pub(super) fn find(masks: &Masks, bytes: &[u8], from: usize, to: usize, out: &mut Vec<u32>) -> usize {
        let low = [table(&masks.low[0]), table(&masks.low[1]), table(&masks.low[2])];
        let high = [table(&masks.high[0]), table(&masks.high[1]), table(&masks.high[2])];
        let nibble = i8x16_splat(15);
        let zero = i8x16_splat(0);
        let of = |i: usize, block: v128| {
            v128_and(i8x16_swizzle(low[i], v128_and(block, nibble)), i8x16_swizzle(high[i], u8x16_shr(block, 4)))
        };
        let mut at = from;
        while at + 18 <= bytes.len() && at + 16 <= to {
            let front = bytes[at..at + 18].as_ptr();
            // SAFETY: the slice above is eighteen bytes long, so sixteen can be read at 0, 1 and 2.
            let (a, b, c) =
                unsafe { (v128_load(front.cast()), v128_load(front.add(1).cast()), v128_load(front.add(2).cast())) };
            let hit = v128_and(v128_and(of(0, a), of(1, b)), of(2, c));
            let bits = !u32::from(i8x16_bitmask(i8x16_eq(hit, zero))) & 0xffff;
            if bits != 0 {
                take(masks, bytes, at, bits, out);
            }
            at += 16;
        }
        at
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8, _mm_setzero_si128,
        _mm_shuffle_epi8, _mm_srli_epi16,
    };

    use super::{Masks, take};

    #[expect(unsafe_code, reason = "calls code for a CPU feature that the caller has looked for")]
    pub(super) fn find(masks: &Masks, bytes: &[u8], from: usize, to: usize, out: &mut Vec<u32>) -> usize {
        // SAFETY: `vector` calls this only where SSSE3 was detected.
        unsafe { ssse3(masks, bytes, from, to, out) }
    }

    #[target_feature(enable = "ssse3")]
    #[expect(unsafe_code, reason = "vector loads take pointers")]
    fn table(bytes: &[u8; 16]) -> __m128i {
        // SAFETY: the array is sixteen readable bytes; the load needs no alignment.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }

    #[target_feature(enable = "ssse3")]
    #[expect(unsafe_code, reason = "vector loads take pointers")]
    fn ssse3(masks: &Masks, bytes: &[u8], from: usize, to: usize, out: &mut Vec<u32>) -> usize {
        let low = [table(&masks.low[0]), table(&masks.low[1]), table(&masks.low[2])];
        let high = [table(&masks.high[0]), table(&masks.high[1]), table(&masks.high[2])];
        let nibble = _mm_set1_epi8(15);
        let zero = _mm_setzero_si128();
        let of = |i: usize, block: __m128i| {
            _mm_and_si128(
                _mm_shuffle_epi8(low[i], _mm_and_si128(block, nibble)),
                _mm_shuffle_epi8(high[i], _mm_and_si128(_mm_srli_epi16(block, 4), nibble)),
            )
        };
        let mut at = from;
        while at + 18 <= bytes.len() && at + 16 <= to {
            let front = bytes[at..at + 18].as_ptr();
            // SAFETY: the slice above is eighteen bytes long, so sixteen can be read at 0, 1 and 2.
            let (a, b, c) = unsafe {
                (
                    _mm_loadu_si128(front.cast()),
                    _mm_loadu_si128(front.add(1).cast()),
                    _mm_loadu_si128(front.add(2).cast()),
                )
            };
            let hit = _mm_and_si128(_mm_and_si128(of(0, a), of(1, b)), of(2, c));
            let bits = !(_mm_movemask_epi8(_mm_cmpeq_epi8(hit, zero)) as u32) & 0xffff;
            if bits != 0 {
                take(masks, bytes, at, bits, out);
            }
            at += 16;
        }
        at
    }
}
