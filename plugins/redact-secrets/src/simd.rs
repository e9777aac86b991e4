//! Finds the places where one of many four-byte fingerprints may stand, sixteen bytes at a time. The vector forms
//! give exactly what [`scalar`] gives. This file holds the crate's only unsafe code, and must never read past a slice.

use crate::slot::SLOTS;

/// Nibble tables of two looks: bit `b` of `low[l][i][n]` says that a fingerprint of bucket `b` of look `l` has a byte `i`
/// whose low nibble is `n`. The fingerprints of the first look count only where a word may begin.
#[derive(Clone, Debug)]
pub(crate) struct Masks {
    /// By low nibble, for each of the four bytes.
    pub(crate) low: [[[u8; 16]; 4]; 2],
    /// By high nibble.
    pub(crate) high: [[[u8; 16]; 4]; 2],
    /// One bit for each [slot](crate::slot::slots) in use: a second, sharper look at what the nibbles let through.
    pub(crate) bits: [u64; SLOTS / 64],
}

/// Bits of a byte's class: letters and digits, and the signs that escapes begin with.
const WORD: u8 = 7;
/// `\` and `%`.
const ESCAPE: u8 = 24;

/// The classes by low nibble; with [`CLASS_HIGH`], each bit is one stretch of the table of characters.
const CLASS_LOW: [u8; 16] = [5, 7, 7, 7, 7, 23, 7, 7, 7, 7, 6, 2, 10, 2, 2, 2];
/// The classes by high nibble: digits, letters to `o`, letters from `p`, `\`, `%`.
const CLASS_HIGH: [u8; 16] = [0, 0, 16, 1, 2, 12, 2, 4, 0, 0, 0, 0, 0, 0, 0, 0];

fn class(byte: u8) -> u8 {
    CLASS_LOW[usize::from(byte & 15)] & CLASS_HIGH[usize::from(byte >> 4)]
}

/// Where words may begin: which of 64 bytes are of words, and which begin an escape, with the same of the 64 before in
/// the high half. A word begins behind what is of no word, and behind an escape (`\n`, `%3D`, `\x3d`, `\u003d`).
fn beginnings(word: u128, escape: u128) -> u64 {
    let behind = escape << 2 | escape << 3 | escape << 4 | escape << 6;
    ((!(word << 1) | behind) >> 64) as u64
}

/// The words and escapes of the bytes before `at`, as [`beginnings`] takes those before.
fn before(bytes: &[u8], at: usize) -> (u64, u64) {
    let of = |class_of: u8| {
        let near = &bytes[at.saturating_sub(6)..at];
        near.iter()
            .rev()
            .enumerate()
            .fold(0, |all, (back, &byte)| all | u64::from(class(byte) & class_of != 0) << (63 - back))
    };
    (of(WORD), of(ESCAPE))
}

/// Whether a word may begin at `at`.
pub(crate) fn begins(bytes: &[u8], at: usize) -> bool {
    let (word, escape) = before(bytes, at);
    beginnings(joined(word, 0), joined(escape, 0)) & 1 == 1
}

fn joined(old: u64, new: u64) -> u128 {
    u128::from(new) << 64 | u128::from(old)
}

/// Gives each place of `bytes[from..to]` at which a fingerprint may stand, as a place and the bits of those from there
/// on, in order. Past the end stands a zero.
pub(crate) fn scalar(masks: &Masks, bytes: &[u8], from: usize, to: usize, found: &mut impl FnMut(usize, u64)) {
    for at in from..to.min(bytes.len().saturating_sub(2)) {
        let passes = |look: usize| {
            (0..4).fold(u8::MAX, |passes, i| {
                let byte = bytes.get(at + i).copied().unwrap_or(0);
                passes & masks.low[look][i][usize::from(byte & 15)] & masks.high[look][i][usize::from(byte >> 4)]
            })
        };
        if passes(1) != 0 || passes(0) != 0 && begins(bytes, at) {
            found(at, 1);
        }
    }
}

/// As [`scalar`], by the fastest means this machine has.
pub(crate) fn find(masks: &Masks, bytes: &[u8], from: usize, to: usize, found: &mut impl FnMut(usize, u64)) {
    let done = vector(masks, bytes, from, to, found);
    scalar(masks, bytes, done, to, found);
}

#[cfg(target_arch = "wasm32")]
fn vector(masks: &Masks, bytes: &[u8], from: usize, to: usize, found: &mut impl FnMut(usize, u64)) -> usize {
    wasm::pass(masks, bytes, from, to, found)
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "calls code for a CPU feature that was looked for")]
fn vector(masks: &Masks, bytes: &[u8], from: usize, to: usize, found: &mut impl FnMut(usize, u64)) -> usize {
    if std::arch::is_x86_feature_detected!("ssse3") {
        // SAFETY: SSSE3 was detected.
        unsafe { x86::pass(masks, bytes, from, to, found) }
    } else {
        from
    }
}

#[cfg(not(any(target_arch = "wasm32", target_arch = "x86_64")))]
fn vector(_: &Masks, _: &[u8], from: usize, _: usize, _: &mut impl FnMut(usize, u64)) -> usize {
    from
}

/// Bytes of a vector.
const BLOCK: usize = 16;
/// One vector's bytes.
type Block = [u8; BLOCK];
/// Bytes whose answers are given together.
const GROUP: usize = 4 * BLOCK;

/// The blocks of `bytes` from `from` on: the first one, and groups of those after it.
fn groups(bytes: &[u8], from: usize) -> Option<(&Block, &[[Block; 4]])> {
    let (first, rest) = bytes.get(from..)?.split_first_chunk()?;
    Some((first, rest.as_chunks::<BLOCK>().0.as_chunks::<4>().0))
}

/// The one pass, for a module that has the vectors of a machine: `Vector`, `load`, `splat`, `and`, the nibbles `low` and
/// `high` of each byte, `look_up` of indices in a table, what stands one, two and three bytes further (`second`, `third`,
/// `fourth`), and the `bits` of the bytes that are not zero.
macro_rules! pass {
    ($feature:literal) => {
        #[target_feature(enable = $feature)]
        pub(super) fn pass(
            masks: &Masks,
            bytes: &[u8],
            from: usize,
            to: usize,
            found: &mut impl FnMut(usize, u64),
        ) -> usize {
            let (mut lows, mut highs) = ([splat(0); 8], [splat(0); 8]);
            for i in 0..8 {
                (lows[i], highs[i]) = (load(&masks.low[i / 4][i % 4]), load(&masks.high[i / 4][i % 4]));
            }
            let (class_low, class_high) = (load(&CLASS_LOW), load(&CLASS_HIGH));
            let (of_word, of_escape) = (splat(WORD), splat(ESCAPE));
            let classed = |block: Vector| and(look_up(class_low, low(block)), look_up(class_high, high(block)));
            // What each byte of a block may be: the first, second, third or fourth of which buckets.
            let looked = |block: Vector| {
                let (l, h) = (low(block), high(block));
                let of = |i: usize| and(look_up(lows[i], l), look_up(highs[i], h));
                [of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)]
            };
            let Some((first, groups)) = groups(bytes, from) else { return from };
            let mut at = from;
            let (mut words, mut escapes) = before(bytes, from);
            let mut here = looked(load(first));
            let mut classes = classed(load(first));
            for group in groups.iter().take((to - from) / GROUP) {
                let (mut begin, mut any, mut word, mut escape) = (0u64, 0u64, 0u64, 0u64);
                for (nth, block) in group.iter().enumerate() {
                    let next = looked(load(block));
                    let look = |i: usize| {
                        let ends = and(third(here[i + 2], next[i + 2]), fourth(here[i + 3], next[i + 3]));
                        and(and(here[i], second(here[i + 1], next[i + 1])), ends)
                    };
                    let shift = nth * BLOCK;
                    begin |= bits(look(0)) << shift;
                    any |= bits(look(4)) << shift;
                    word |= bits(and(classes, of_word)) << shift;
                    escape |= bits(and(classes, of_escape)) << shift;
                    here = next;
                    classes = classed(load(block));
                }
                let bits = any | begin & beginnings(joined(words, word), joined(escapes, escape));
                (words, escapes) = (word, escape);
                if bits != 0 {
                    found(at, bits);
                }
                at += GROUP;
            }
            at
        }
    };
}

#[cfg(target_arch = "wasm32")]
mod wasm {
    use core::arch::wasm32::{
        i8x16_bitmask, i8x16_ne, i8x16_shuffle, i8x16_swizzle, u8x16_shr, u8x16_splat, v128, v128_and, v128_load,
    };

    use super::{BLOCK, Block, CLASS_HIGH, CLASS_LOW, ESCAPE, GROUP, Masks, WORD, before, beginnings, groups, joined};

    type Vector = v128;

    #[inline]
    #[target_feature(enable = "simd128")]
    #[expect(unsafe_code, reason = "vector loads take pointers")]
    fn load(bytes: &Block) -> Vector {
        // SAFETY: the array is sixteen readable bytes; loads need no alignment.
        unsafe { v128_load(bytes.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "simd128")]
    fn splat(byte: u8) -> Vector {
        u8x16_splat(byte)
    }

    #[inline]
    #[target_feature(enable = "simd128")]
    fn and(a: Vector, b: Vector) -> Vector {
        v128_and(a, b)
    }

    #[inline]
    #[target_feature(enable = "simd128")]
    fn low(block: Vector) -> Vector {
        v128_and(block, splat(15))
    }

    #[inline]
    #[target_feature(enable = "simd128")]
    fn high(block: Vector) -> Vector {
        u8x16_shr(block, 4)
    }

    #[inline]
    #[target_feature(enable = "simd128")]
    fn look_up(table: Vector, indices: Vector) -> Vector {
        i8x16_swizzle(table, indices)
    }

    #[inline]
    #[target_feature(enable = "simd128")]
    fn second(here: Vector, next: Vector) -> Vector {
        i8x16_shuffle::<1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16>(here, next)
    }

    #[inline]
    #[target_feature(enable = "simd128")]
    fn third(here: Vector, next: Vector) -> Vector {
        i8x16_shuffle::<2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17>(here, next)
    }

    #[inline]
    #[target_feature(enable = "simd128")]
    fn fourth(here: Vector, next: Vector) -> Vector {
        i8x16_shuffle::<3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18>(here, next)
    }

    #[inline]
    #[target_feature(enable = "simd128")]
    fn bits(of: Vector) -> u64 {
        u64::from(i8x16_bitmask(i8x16_ne(of, splat(0))))
    }

    pass!("simd128");
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::{
        __m128i, _mm_alignr_epi8, _mm_and_si128, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8,
        _mm_setzero_si128, _mm_shuffle_epi8, _mm_srli_epi16,
    };

    use super::{BLOCK, Block, CLASS_HIGH, CLASS_LOW, ESCAPE, GROUP, Masks, WORD, before, beginnings, groups, joined};

    type Vector = __m128i;

    #[inline]
    #[target_feature(enable = "ssse3")]
    #[expect(unsafe_code, reason = "vector loads take pointers")]
    fn load(bytes: &Block) -> Vector {
        // SAFETY: the array is sixteen readable bytes; the load needs no alignment.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    fn splat(byte: u8) -> Vector {
        _mm_set1_epi8(byte as i8)
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    fn and(a: Vector, b: Vector) -> Vector {
        _mm_and_si128(a, b)
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    fn low(block: Vector) -> Vector {
        _mm_and_si128(block, splat(15))
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    fn high(block: Vector) -> Vector {
        _mm_and_si128(_mm_srli_epi16(block, 4), splat(15))
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    fn look_up(table: Vector, indices: Vector) -> Vector {
        _mm_shuffle_epi8(table, indices)
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    fn second(here: Vector, next: Vector) -> Vector {
        _mm_alignr_epi8(next, here, 1)
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    fn third(here: Vector, next: Vector) -> Vector {
        _mm_alignr_epi8(next, here, 2)
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    fn fourth(here: Vector, next: Vector) -> Vector {
        _mm_alignr_epi8(next, here, 3)
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    fn bits(of: Vector) -> u64 {
        let zeros = _mm_movemask_epi8(_mm_cmpeq_epi8(of, _mm_setzero_si128())) as u32;
        u64::from(!zeros & 0xffff)
    }

    pass!("ssse3");
}
