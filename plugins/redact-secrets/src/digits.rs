//! Finds where numbers of payment cards and accounts may stand: one vector pass that looks at digits and capitals only.
//! What it finds is looked at again by [`crate::money`]; it must miss nothing that is one.

/// Bytes looked at together.
const GROUP: usize = 64;

/// What is found of a card's number stands so many bytes behind its first.
pub(crate) const CARD: usize = 12;
/// What is found of an account's number stands so many bytes behind its first.
pub(crate) const ACCOUNT: usize = 3;

/// Gives the places of `bytes[from..to]` where the thirteenth byte of a card's number, or the fourth of an account's,
/// may stand, each with whether it is a card's.
pub(crate) fn find(bytes: &[u8], from: usize, to: usize, mut found: impl FnMut(usize, bool)) {
    let mut before = [0; GROUP];
    let have = from.min(GROUP);
    before[GROUP - have..].copy_from_slice(&bytes[from - have..from]);
    let mut seen = classify(&before, 0xff, b'0', 9);
    let mut at = from;
    while at < to {
        let mut padded = [0; GROUP];
        let group = bytes[at..to].first_chunk().unwrap_or_else(|| {
            padded[..to - at].copy_from_slice(&bytes[at..to]);
            &padded
        });
        let here = classify(group, 0xff, b'0', 9);
        if here != 0 {
            places(bytes, group, u128::from(here) << 64 | u128::from(seen), at, &mut found);
        }
        seen = here;
        at += GROUP;
    }
}

/// Gives the places of a group that begins at `at`; `digits` has those of the group before in its low half.
#[inline]
fn places(bytes: &[u8], group: &[u8; GROUP], digits: u128, at: usize, found: &mut impl FnMut(usize, bool)) {
    let two = digits & digits << 1;
    let high = |bits: u128| (bits >> 64) as u64;
    if high(two) == 0 {
        return;
    }
    let four = two & two << 2;
    // Grouped or not, the digits 1 to 4 stand together, bytes 6 to 9 are digits, and so are bytes 11 and 13.
    let card = high(four << 9 & four << 4 & digits << 2 & digits & !(digits << 13));
    // Two digits behind two capitals. Of the group before, its last three bytes matter.
    let capital = |back: usize| u64::from(at >= back && bytes[at - back] & 0xe0 == 0x40);
    let capitals =
        u128::from(classify(group, 0xe0, 0x40, 0)) << 3 | u128::from(capital(1) << 2 | capital(2) << 1 | capital(3));
    let account = high(two) & (capitals as u64) & (capitals >> 1) as u64;
    let mut bits = card | account;
    while bits != 0 {
        let place = bits.trailing_zeros();
        bits &= bits - 1;
        // No place is both: a digit or a sign stands two before the last of a card, and a capital before an account's.
        found(at + place as usize, card >> place & 1 == 1);
    }
}

/// Which bytes, without the bits that are not in `mask`, are at least `least`, and by at most `more`.
#[cfg(target_arch = "wasm32")]
#[target_feature(enable = "simd128")]
fn classify(group: &[u8; GROUP], mask: u8, least: u8, more: u8) -> u64 {
    use core::arch::wasm32::{i8x16_bitmask, u8x16_le, u8x16_splat, u8x16_sub, u64x2, v128_and};
    let mut seen = 0;
    for (nth, block) in group.as_chunks::<8>().0.as_chunks::<2>().0.iter().enumerate() {
        let block = u64x2(u64::from_le_bytes(block[0]), u64::from_le_bytes(block[1]));
        let above = u8x16_sub(v128_and(block, u8x16_splat(mask)), u8x16_splat(least));
        seen |= u64::from(i8x16_bitmask(u8x16_le(above, u8x16_splat(more)))) << (nth * 16);
    }
    seen
}

/// Which bytes, without the bits that are not in `mask`, are at least `least`, and by at most `more`. Eight at a time.
#[cfg(not(target_arch = "wasm32"))]
#[inline]
fn classify(group: &[u8; GROUP], mask: u8, least: u8, more: u8) -> u64 {
    /// The high bit of each byte.
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let each = |byte: u8| u64::from_ne_bytes([byte; 8]);
    let mut seen = 0;
    for (nth, word) in group.as_chunks::<8>().0.iter().enumerate() {
        // Both classes begin at a byte whose low bits the last of the class does not carry out of.
        let word = (u64::from_le_bytes(*word) & each(mask)) ^ each(least);
        let above = ((word & !HIGH) + each(0x7f - more)) | word;
        seen |= ((!above & HIGH) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56 << (nth * 8);
    }
    seen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn groups_and_single_bytes_agree(bytes in proptest::collection::vec(any::<u8>(), GROUP)) {
            let group: [u8; GROUP] = bytes.try_into().unwrap();
            let slow = |is: fn(u8) -> bool| (0..GROUP).fold(0, |all, at| all | u64::from(is(group[at])) << at);
            prop_assert_eq!(classify(&group, 0xff, b'0', 9), slow(|byte| byte.is_ascii_digit()));
            prop_assert_eq!(classify(&group, 0xe0, 0x40, 0), slow(|byte| byte & 0xe0 == 0x40));
        }

        #[test]
        fn a_number_is_found_wherever_it_stands(
            number in prop_oneof![
                "[0-9]{13,19}", "[0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{4}", "[0-9]{4} [0-9]{4} [0-9]{4} [0-9]{4} [0-9]{3}",
                "[0-9]{4} [0-9]{6} [0-9]{4,5}",
            ],
            lead in "[a-z :]{0,150}",
            cut in 0usize..200,
        ) {
            let text = format!("{lead}:{number}");
            let want = lead.len() + 1 + 12;
            let cut = cut.min(text.len());
            let mut cards = Vec::new();
            find(text.as_bytes(), 0, cut, |at, card| if card { cards.push(at) });
            find(text.as_bytes(), cut, text.len(), |at, card| if card { cards.push(at) });
            prop_assert!(cards.contains(&want), "{cards:?}");
        }

        #[test]
        fn an_account_is_found_wherever_it_stands(lead in "[a-z :]{0,150}", tail in "[A-Z]{2}[0-9]{2}[A-Z0-9 ]{11,30}") {
            let text = format!("{lead}{tail}");
            let mut accounts = Vec::new();
            find(text.as_bytes(), 0, text.len(), |at, card| if !card { accounts.push(at) });
            prop_assert!(accounts.contains(&(lead.len() + 3)));
        }
    }
}
