//! Tells the bytes of a line apart by kind, sixteen at a time, as bits. The vector forms give exactly what [`scalar`]
//! gives. This file holds the crate's only unsafe code, and must never read past a slice.

/// Bytes of a vector.
const VECTOR: usize = 16;
type Vector = [u8; VECTOR];

/// Bytes that are looked at together, one bit each.
pub(crate) const BLOCK: usize = 64;

/// Which bytes of a block are of which kind, the first byte lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds {
    /// ASCII letters.
    pub(crate) letters: u64,
    /// ASCII digits.
    pub(crate) digits: u64,
    /// Blanks and tabs.
    pub(crate) blanks: u64,
    /// `/` and `\`.
    pub(crate) slashes: u64,
    /// `"`, `'` and the backtick.
    pub(crate) quotes: u64,
    /// `:` and `(`, behind which the number of a line may stand.
    pub(crate) marks: u64,
    /// `%`.
    pub(crate) percents: u64,
}

/// The kinds of a vector, in the order of [`Kinds`].
type Bits = [u32; 7];

/// The lowest bits, at most all.
#[inline]
pub(crate) fn low(count: usize) -> u64 {
    if count >= BLOCK { u64::MAX } else { (1 << count) - 1 }
}

impl Kinds {
    #[inline]
    fn add(&mut self, bits: Bits, right: usize, left: usize) {
        let of = |bits: u32| u64::from(bits) >> right << left;
        self.letters |= of(bits[0]);
        self.digits |= of(bits[1]);
        self.blanks |= of(bits[2]);
        self.slashes |= of(bits[3]);
        self.quotes |= of(bits[4]);
        self.marks |= of(bits[5]);
        self.percents |= of(bits[6]);
    }

    /// The same without what stands behind so many bytes.
    #[inline]
    pub(crate) fn first(self, count: usize) -> Self {
        self.without(!low(count))
    }

    /// The same without some bytes.
    #[inline]
    pub(crate) fn without(self, bytes: u64) -> Self {
        Self {
            letters: self.letters & !bytes,
            digits: self.digits & !bytes,
            blanks: self.blanks & !bytes,
            slashes: self.slashes & !bytes,
            quotes: self.quotes & !bytes,
            marks: self.marks & !bytes,
            percents: self.percents & !bytes,
        }
    }
}

/// The kinds of the bytes of a text from `from` on; past its end no bit is set.
#[inline(never)]
pub(crate) fn kinds(text: &[u8], from: usize) -> Kinds {
    let mut kinds = Kinds::default();
    let Some(rest) = text.get(from..) else { return kinds };
    match rest.first_chunk::<BLOCK>() {
        Some(block) => {
            for (nth, vector) in block.as_chunks::<VECTOR>().0.iter().enumerate() {
                kinds.add(bits(vector), 0, nth * VECTOR);
            }
        }
        None => end(text, from, &mut kinds),
    }
    kinds
}

/// The kinds of the last bytes of a text, fewer than a block.
fn end(text: &[u8], from: usize, kinds: &mut Kinds) {
    let (vectors, rest) = text[from..].as_chunks::<VECTOR>();
    for (nth, vector) in vectors.iter().enumerate() {
        kinds.add(bits(vector), 0, nth * VECTOR);
    }
    let left = vectors.len() * VECTOR;
    // The last bytes together with some before them, or with zeros behind them.
    match text.last_chunk::<VECTOR>() {
        _ if rest.is_empty() => {}
        Some(vector) => kinds.add(bits(vector), VECTOR - rest.len(), left),
        None => {
            let mut vector = [0; VECTOR];
            vector[..rest.len()].copy_from_slice(rest);
            kinds.add(bits(&vector), 0, left);
        }
    }
}

/// Eight bytes of a text from `from` on, the first lowest, with zeros for what is missing.
#[inline]
pub(crate) fn eight(text: &[u8], from: usize) -> u64 {
    let Some(rest) = text.get(from..) else { return 0 };
    match (rest.first_chunk::<8>(), text.last_chunk::<8>()) {
        (Some(eight), _) => u64::from_le_bytes(*eight),
        (None, _) if rest.is_empty() => 0,
        (None, Some(last)) => u64::from_le_bytes(*last) >> (8 * (8 - rest.len())),
        (None, None) => rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

/// The kinds of sixteen bytes.
#[cfg_attr(any(target_arch = "wasm32", target_arch = "x86_64"), cfg(test))]
fn scalar(vector: &Vector) -> Bits {
    let of = |kind: fn(u8) -> bool| (0..VECTOR).fold(0, |bits, at| bits | u32::from(kind(vector[at])) << at);
    [
        of(|b| b.is_ascii_alphabetic()),
        of(|b| b.is_ascii_digit()),
        of(|b| matches!(b, b' ' | b'\t')),
        of(|b| matches!(b, b'/' | b'\\')),
        of(|b| matches!(b, b'"' | b'\'' | b'`')),
        of(|b| matches!(b, b':' | b'(')),
        of(|b| b == b'%'),
    ]
}

#[cfg(not(any(target_arch = "wasm32", target_arch = "x86_64")))]
fn bits(vector: &Vector) -> Bits {
    scalar(vector)
}

/// As [`scalar`].
#[cfg(target_arch = "wasm32")]
#[inline]
fn bits(vector: &Vector) -> Bits {
    wasm::bits(vector)
}

#[cfg(target_arch = "wasm32")]
mod wasm {
    use core::arch::wasm32::{i8x16_bitmask, i8x16_eq, u8x16_lt, u8x16_splat, u8x16_sub, v128_load, v128_or};

    use super::{Bits, Vector};

    #[target_feature(enable = "simd128")]
    #[inline]
    #[expect(unsafe_code, reason = "vector loads take pointers")]
    pub(super) fn bits(vector: &Vector) -> Bits {
        // SAFETY: the array is sixteen readable bytes; loads need no alignment.
        let bytes = unsafe { v128_load(vector.as_ptr().cast()) };
        let same = |byte: u8| i8x16_eq(bytes, u8x16_splat(byte));
        let small = v128_or(bytes, u8x16_splat(0x20));
        [
            u8x16_lt(u8x16_sub(small, u8x16_splat(b'a')), u8x16_splat(26)),
            u8x16_lt(u8x16_sub(bytes, u8x16_splat(b'0')), u8x16_splat(10)),
            v128_or(same(b' '), same(b'\t')),
            v128_or(same(b'/'), same(b'\\')),
            v128_or(same(b'"'), v128_or(same(b'\''), same(b'`'))),
            v128_or(same(b':'), same(b'(')),
            same(b'%'),
        ]
        .map(|found| u32::from(i8x16_bitmask(found)))
    }
}

/// As [`scalar`].
#[cfg(target_arch = "x86_64")]
#[inline]
#[expect(unsafe_code, reason = "vector instructions are a feature of the machine")]
fn bits(vector: &Vector) -> Bits {
    // SAFETY: every x86-64 machine has SSE2.
    unsafe { x86::bits(vector) }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
        _mm_sub_epi8,
    };

    use super::{Bits, Vector};

    /// Bytes that are at least `from`, and less than `count` more.
    #[target_feature(enable = "sse2")]
    #[inline]
    fn within(bytes: __m128i, from: u8, count: i8) -> __m128i {
        let above = _mm_sub_epi8(bytes, _mm_set1_epi8(from as i8));
        _mm_cmpeq_epi8(_mm_min_epu8(above, _mm_set1_epi8(count - 1)), above)
    }

    #[target_feature(enable = "sse2")]
    #[inline]
    fn same(bytes: __m128i, byte: u8) -> __m128i {
        _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8))
    }

    #[target_feature(enable = "sse2")]
    #[inline]
    fn either(bytes: __m128i, one: u8, other: u8) -> __m128i {
        _mm_or_si128(same(bytes, one), same(bytes, other))
    }

    #[target_feature(enable = "sse2")]
    #[inline]
    fn mask(found: __m128i) -> u32 {
        _mm_movemask_epi8(found) as u32
    }

    #[target_feature(enable = "sse2")]
    #[inline]
    #[expect(unsafe_code, reason = "vector loads take pointers")]
    pub(super) fn bits(vector: &Vector) -> Bits {
        // SAFETY: the array is sixteen readable bytes; the load needs no alignment.
        let bytes = unsafe { _mm_loadu_si128(vector.as_ptr().cast()) };
        [
            mask(within(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), b'a', 26)),
            mask(within(bytes, b'0', 10)),
            mask(either(bytes, b' ', b'\t')),
            mask(either(bytes, b'/', b'\\')),
            mask(_mm_or_si128(same(bytes, b'"'), either(bytes, b'\'', b'`'))),
            mask(either(bytes, b':', b'(')),
            mask(same(bytes, b'%')),
        ]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![4 => any::<u8>(), 4 => "[ \t/\\\\\"'`:(%aZ09]".prop_map(|text| text.as_bytes()[0])];
        prop::collection::vec(byte, 0..200)
    }

    proptest! {
        #[test]
        fn vectors_tell_what_a_look_at_each_byte_tells(vector in any::<Vector>()) {
            prop_assert_eq!(bits(&vector), scalar(&vector));
        }

        #[test]
        fn every_byte_of_a_text_has_its_bit_and_nothing_behind_it_has_one(text in text(), from in 0..220usize) {
            let mut expected = Kinds::default();
            for (at, byte) in text.iter().skip(from).take(BLOCK).enumerate() {
                let mut vector = [0; VECTOR];
                vector[0] = *byte;
                expected.add(scalar(&vector), 0, at);
            }
            prop_assert_eq!(kinds(&text, from), expected);
        }

        #[test]
        fn eight_bytes_are_those_of_the_text_and_zeros(text in text(), from in 0..220usize) {
            let mut expected = [0; 8];
            for (byte, of) in expected.iter_mut().zip(text.iter().skip(from)) {
                *byte = *of;
            }
            prop_assert_eq!(eight(&text, from), u64::from_le_bytes(expected));
        }
    }
}
