//! The anchors: short literals of which at least one stands in or beside every secret the rules can find. One vector
//! pass over the text finds them; everything else looks only there. The build script makes the tables of this file.

use crate::simd::{self, Masks};
use crate::slot::slots;
use crate::text::{ALNUM, DIGIT, HEX, JOIN, is};

/// What to look for at an anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The token of this index in [`TOKENS`]; the anchor stands so many bytes into its prefix.
    Token(u16, u8),
    /// A word that names a secret.
    Name,
    /// The name of the service of this index in [`SERVICES`]; the anchor stands so many bytes into it.
    ///
    /// [`SERVICES`]: crate::rules::SERVICES
    Service(u16),
    /// `://`, also with escaped slashes.
    Url,
    /// `-----BEGIN`.
    PemBegin,
    /// `-----END`.
    PemEnd,
    /// `Private-Lines:`.
    Putty,
    /// `eyJ`.
    Jwt,
    /// Digits, colon, token.
    Telegram,
    /// Thirty-two hexadecimal digits, dot, key.
    Zhipu,
    /// `data:` of a Kubernetes object.
    Data,
    /// `sig=`, `signature=` or `code=` of a URL.
    Param,
    /// A short option such as ` -p`.
    Option,
    /// The base64 form of something that begins a secret; see [`crate::encoded`].
    Encoded,
    /// `IDENTIFIED BY` of SQL.
    Identified,
}

/// Four bytes, some of which or parts of which do not matter, and what they mean.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    value: u32,
    mask: u32,
    kind: Kind,
}

include!(concat!(env!("OUT_DIR"), "/anchors.rs"));

/// Bytes looked through at once; the places found fit the first-level cache.
pub(crate) const STRIDE: usize = 4096;

/// Places of one stride at which an anchor may stand.
pub(crate) type Places = [u32; STRIDE];

/// Writes down each place of `bytes[from..to]` at which an anchor may stand, in order, and gives their number. There
/// may be at most [`STRIDE`] bytes.
pub(crate) fn find(bytes: &[u8], from: usize, to: usize, places: &mut Places) -> usize {
    /// A place of a group, and three bytes behind the last.
    const GROUP: usize = 64 + 4;
    let mut count = 0;
    simd::find(&MASKS, bytes, from, to, &mut |base, mut bits| {
        // Most are none. To write each down and keep those that are is faster than to ask: a wrong guess of the
        // processor costs more than the writing.
        let mut kept = count;
        if let Some(group) = bytes.get(base..).and_then(<[u8]>::first_chunk::<GROUP>) {
            while bits != 0 {
                let at = bits.trailing_zeros() as usize % 64;
                bits &= bits - 1;
                let here = group[at..].first_chunk().copied().unwrap_or_default();
                places[kept % STRIDE] = (base + at) as u32;
                kept += usize::from(known(here));
            }
        } else {
            while bits != 0 {
                let at = base + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                places[kept % STRIDE] = at as u32;
                kept += usize::from(known(four(bytes, at)));
            }
        }
        count = kept;
    });
    count.min(STRIDE)
}

/// Whether something may stand where these bytes are.
#[inline]
fn known(here: [u8; 4]) -> bool {
    let [of_four, of_three] = slots(here).map(|slot| MASKS.bits[slot / 64] >> (slot % 64));
    let [_, b, c, d] = here;
    let formed = is(b, DIGIT | HEX) & is(c, DIGIT | HEX) & ((d == b':') | (d == b'.'));
    ((of_four | of_three) & 1 == 1) | formed
}

/// The four bytes at `at`; those past the end are zero.
#[inline]
fn four(bytes: &[u8], at: usize) -> [u8; 4] {
    match bytes.get(at..at + 4) {
        Some(&[a, b, c, d]) => [a, b, c, d],
        _ => std::array::from_fn(|i| bytes.get(at + i).copied().unwrap_or(0)),
    }
}

/// The anchors of a slot.
#[inline]
fn chain(slot: usize) -> &'static [Anchor] {
    let bit = 1u64 << (slot % 64);
    let bits = MASKS.bits[slot / 64];
    if bits & bit == 0 {
        return &[];
    }
    let rank = usize::from(RANKS[slot / 64]) + (bits & (bit - 1)).count_ones() as usize;
    &ANCHORS[usize::from(STARTS[rank])..usize::from(STARTS[rank + 1])]
}

/// What stands at `at`, exactly.
#[inline]
pub(crate) fn kinds(bytes: &[u8], at: usize) -> impl Iterator<Item = Kind> {
    let here = four(bytes, at);
    let word = u32::from_le_bytes(here);
    let [of_four, of_three] = slots(here);
    let exact = move |anchor: &&Anchor| word & anchor.mask == anchor.value;
    let open = |anchor: &&Anchor| anchor.mask >> 24 == 0;
    // Both kinds of anchors share the slots: each is taken from its own.
    let four = chain(of_four).iter().filter(move |anchor| !open(anchor));
    let three = chain(of_three).iter().filter(open);
    formed(bytes, at, here[3]).into_iter().chain(four.chain(three).filter(exact).map(|anchor| anchor.kind))
}

/// Tokens that no literal begins: many digits and a colon, or many hexadecimal digits and a dot, of which the last three
/// stand at `at`. A time of day and a version number have fewer.
#[inline]
fn formed(bytes: &[u8], at: usize, mark: u8) -> Option<Kind> {
    let after = bytes.get(at + 4).copied().unwrap_or(0);
    let digit = |at: Option<usize>| at.is_some_and(|at| is(bytes[at], DIGIT));
    let hex = |at: Option<usize>| at.is_some_and(|at| is(bytes[at], DIGIT) || matches!(bytes[at], b'a'..=b'f'));
    match mark {
        b':' => {
            let digits = [Some(at), Some(at + 1), Some(at + 2), at.checked_sub(2), at.checked_sub(5)];
            (is(after, ALNUM | JOIN) && digits.into_iter().all(digit)).then_some(Kind::Telegram)
        }
        b'.' => {
            let digits = [Some(at), Some(at + 1), Some(at + 2), at.checked_sub(5), at.checked_sub(29)];
            (is(after, ALNUM) && digits.into_iter().all(hex)).then_some(Kind::Zhipu)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rules::TOKENS;

    fn found(bytes: &[u8]) -> Vec<usize> {
        let mut places = [0; STRIDE];
        let count = find(bytes, 0, bytes.len(), &mut places);
        places[..count].iter().map(|&at| at as usize).collect()
    }

    #[test]
    fn every_token_prefix_is_found_wherever_it_stands() {
        for (index, token) in TOKENS.iter().enumerate() {
            for shift in 0..140 {
                let text = format!("{}{}0123456789abcdef0123456789", "/".repeat(shift), token.prefix());
                let hit = found(text.as_bytes()).into_iter().any(|at| {
                    kinds(text.as_bytes(), at).any(|kind| {
                        matches!(kind, Kind::Token(i, offset)
                            if usize::from(i) == index && at == shift + usize::from(offset))
                    })
                });
                assert!(hit, "{} at {shift}", token.prefix());
            }
        }
    }

    #[test]
    fn names_are_found_in_any_case() {
        for name in ["PASSWORD", "Secret", "tOkEn", "api_KEY"] {
            let bytes = name.as_bytes();
            assert!(found(bytes).into_iter().any(|at| kinds(bytes, at).any(|kind| kind == Kind::Name)), "{name}");
        }
    }

    #[test]
    fn an_anchor_of_three_bytes_is_found_at_the_very_end() {
        assert_eq!(found(b"a key"), [2]);
        assert!(kinds(b"a key", 2).any(|kind| kind == Kind::Name));
    }

    proptest! {
        #[test]
        fn the_vector_pass_and_the_scalar_pass_agree(
            parts in proptest::collection::vec(prop_oneof![
                "[ -~\n]{0,20}", Just("ghp_".to_owned()), Just("://".to_owned()), Just("password".to_owned()),
                Just("é😀".to_owned()), Just("-----BEGIN".to_owned()), Just("12:3a.4b".to_owned()),
            ], 0..60),
            from in 0usize..20,
        ) {
            let text = parts.concat();
            let bytes = text.as_bytes();
            let from = from.min(bytes.len());
            let (mut fast, mut slow) = (Vec::new(), Vec::new());
            simd::find(&MASKS, bytes, from, bytes.len(), &mut |at, bits: u64| {
                fast.extend((0..64).filter(|bit| bits >> bit & 1 == 1).map(|bit| at + bit));
            });
            simd::scalar(&MASKS, bytes, from, bytes.len(), &mut |at, _| slow.push(at));
            prop_assert_eq!(fast, slow);
        }

        #[test]
        fn no_anchor_is_missed(text in "[a-zA-Z_:/.\\- 0-9=]{0,200}") {
            let bytes = text.as_bytes();
            let hits = found(bytes);
            for at in 0..bytes.len().saturating_sub(2) {
                // These count only where a word begins.
                let inside = |kind: &Kind| {
                    matches!(kind, Kind::Token(_, 0) | Kind::Service(_)) && !simd::begins(bytes, at)
                };
                let missed = kinds(bytes, at).find(|kind| !inside(kind)).filter(|_| !hits.contains(&at));
                prop_assert_eq!(missed, None, "{} at {}", text, at);
            }
        }
    }
}
