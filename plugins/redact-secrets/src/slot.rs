//! Where the prefilter's second look finds what begins with four bytes, or with three. The build script computes the same.

/// Slots of the second look: 2 KiB of bits, which stay in the first-level cache.
pub(crate) const SLOTS: usize = 16_384;

/// The slots of four bytes: as they are, and without the last. Upper and lower case share one.
#[inline]
pub(crate) fn slots(bytes: [u8; 4]) -> [usize; 2] {
    /// Bits of a slot's number.
    const BITS: u32 = SLOTS.ilog2();
    let key = u32::from_le_bytes(bytes) | 0x2020_2020;
    // Odd constants of multiplicative hashes: the golden ratio of 2^32, and a prime near 0.52 of it.
    let slot = |key: u32, by: u32| (key.wrapping_mul(by) >> (u32::BITS - BITS)) as usize;
    [slot(key, 0x9E37_79B1), slot(key & 0x00ff_ffff, 0x85EB_CA6B)]
}
