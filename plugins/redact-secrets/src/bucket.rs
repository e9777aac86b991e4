//! Where a word stands in the table of words. The build script computes the same.

/// Buckets of the table: two or three words share one.
pub(crate) const BUCKETS: usize = 256;

/// The bucket of a word, by its FNV-1a hash.
pub(crate) fn bucket(word: &[u8]) -> usize {
    let hash = word.iter().fold(0x811c_9dc5u32, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash >> 16) as usize % BUCKETS
}
