//! Which sets of words a word is in. The build script makes the table; this looks a word up, and judges nothing.

use crate::bucket::bucket;

/// Longest word looked up in any case.
const MAX_FOLDED: usize = 24;

include!(concat!(env!("OUT_DIR"), "/words.rs"));

/// The sets `word` is in, as it is written.
#[inline(never)]
pub(crate) fn sets(word: &[u8]) -> u32 {
    let at = bucket(word);
    let range = usize::from(STARTS[at])..usize::from(STARTS[at + 1]);
    let mut entries = ENTRIES.get(range).unwrap_or_default();
    while let Some((&[size, combination], rest)) = entries.split_first_chunk() {
        let size = usize::from(size);
        if size == word.len() && rest.starts_with(word) {
            return COMBINATIONS.get(usize::from(combination)).copied().unwrap_or_default();
        }
        entries = rest.get(size..).unwrap_or_default();
    }
    0
}

/// The sets `word` is in, in any case.
#[inline(never)]
pub(crate) fn folded(word: &[u8]) -> u32 {
    let mut lower = [0; MAX_FOLDED];
    let Some(lower) = lower.get_mut(..word.len()) else { return 0 };
    lower.copy_from_slice(word);
    lower.make_ascii_lowercase();
    sets(lower)
}
