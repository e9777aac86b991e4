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
    /// `sqlplus` or `jdbc:oracle:thin:` before a user and a password.
    Oracle,
    /// The hash of a password.
    Crypt,
    /// The port in a line of `.pgpass`.
    Pgpass,
    /// The first flag in a line of a cookie jar.
    Jar,
    /// `::add-mask::`
    AddMask,
    /// `SecureString`
    Secure,
    /// The host of a driver's address.
    Driver,
    /// `://` of an address that is a parameter of another.
    EncodedUrl,
    /// A short name of a secret that counts only as a whole word.
    Key,
}

/// Four bytes, some of which or parts of which do not matter, and what they mean.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed)]
struct Anchor {
    value: u32,
    /// Which of [`ANCHOR_MASKS`] says what of them matters.
    mask: u8,
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
    /// Places in one group of which nearly every one is an anchor.
    const DENSE: u32 = 24;
    let mut count = 0;
    simd::find(&MASKS, bytes, from, to, &mut |base, mut bits| {
        // Most are none. To write each down and keep those that are is faster than to ask: a wrong guess of the
        // processor costs more than the writing.
        let mut kept = count;
        if bits.count_ones() >= DENSE {
            // What stands there is made of anchors, and the words it repeats are known.
            while bits != 0 {
                places[kept % STRIDE] = (base + bits.trailing_zeros() as usize) as u32;
                bits &= bits - 1;
                kept += 1;
            }
        } else if let Some(group) = bytes.get(base..).and_then(<[u8]>::first_chunk::<GROUP>) {
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
    ((of_four | of_three) & 1 == 1) | may_form(here)
}

/// Whether these bytes may end what [`formed`] looks for.
#[inline]
fn may_form([_, b, c, d]: [u8; 4]) -> bool {
    is(b, DIGIT | HEX) & is(c, DIGIT | HEX) & ((d == b':') | (d == b'.'))
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

/// What stands at a place, exactly. A text repeats itself: what its last words mean is kept.
pub(crate) struct Kinds([Word; WORDS]);

/// Words kept.
const WORDS: usize = 16;

/// Four bytes and what they mean.
#[derive(Clone, Copy)]
struct Word {
    word: u32,
    count: usize,
    kinds: [Kind; MOST],
}

/// Most kinds at one place: all anchors of the two longest slots, and what no literal begins.
const MOST: usize = {
    let (mut longest, mut rank) = (0, 1);
    while rank < STARTS.len() {
        let size = (STARTS[rank] - STARTS[rank - 1]) as usize;
        if size > longest {
            longest = size;
        }
        rank += 1;
    }
    2 * longest + 1
};

impl Kinds {
    /// Nothing is known yet.
    pub(crate) fn new() -> Self {
        Self([Word { word: 0, count: 0, kinds: [Kind::Name; MOST] }; WORDS])
    }

    /// What stands at `at`.
    #[inline]
    pub(crate) fn at(&mut self, bytes: &[u8], at: usize) -> &[Kind] {
        let here = four(bytes, at);
        let word = u32::from_le_bytes(here);
        let known = &mut self.0[(word.wrapping_mul(0x9E37_79B1) >> (u32::BITS - WORDS.ilog2())) as usize % WORDS];
        if word != known.word || may_form(here) {
            known.look_up(bytes, at, here);
        }
        &known.kinds[..known.count]
    }
}

impl Word {
    #[inline(never)]
    fn look_up(&mut self, bytes: &[u8], at: usize, here: [u8; 4]) {
        self.word = u32::from_le_bytes(here);
        self.count = 0;
        if may_form(here)
            && let Some(kind) = formed(bytes, at, here[3])
        {
            self.add(kind);
        }
        // Both kinds of anchors share the slots: each is taken from its own.
        for (nth, slot) in slots(here).into_iter().enumerate() {
            for anchor in chain(slot) {
                let mask = ANCHOR_MASKS.get(usize::from(anchor.mask)).copied().unwrap_or_default();
                if self.word & mask == anchor.value && (mask >> 24 == 0) == (nth == 1) {
                    self.add(anchor.kind);
                }
            }
        }
    }

    fn add(&mut self, kind: Kind) {
        self.kinds[self.count] = kind;
        self.count += 1;
    }
}

/// Tokens that no literal begins: many digits and a colon, or many hexadecimal digits and a dot, of which the last three
/// stand at `at`. A time of day and a version number have fewer.
#[inline(never)]
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

    fn kinds(bytes: &[u8], at: usize) -> Vec<Kind> {
        Kinds::new().at(bytes, at).to_vec()
    }

    fn found(bytes: &[u8]) -> Vec<usize> {
        let mut places = [0; STRIDE];
        let count = find(bytes, 0, bytes.len(), &mut places);
        places[..count].iter().map(|&at| at as usize).collect()
    }

    #[test]
    fn every_token_prefix_is_found_wherever_it_stands() {
        for (index, token) in TOKENS.iter().enumerate() {
            for shift in 0..140 {
                let prefix = std::str::from_utf8(token.prefix()).unwrap();
                let text = format!("{}{prefix}0123456789abcdef0123456789", "/".repeat(shift));
                let hit = found(text.as_bytes()).into_iter().any(|at| {
                    kinds(text.as_bytes(), at).into_iter().any(|kind| {
                        matches!(kind, Kind::Token(i, offset)
                            if usize::from(i) == index && at == shift + usize::from(offset))
                    })
                });
                assert!(hit, "{prefix} at {shift}");
            }
        }
    }

    #[test]
    fn names_are_found_in_any_case() {
        for name in ["PASSWORD", "Secret", "tOkEn", "api_KEY"] {
            let bytes = name.as_bytes();
            assert!(found(bytes).into_iter().any(|at| kinds(bytes, at).contains(&Kind::Name)), "{name}");
        }
    }

    #[test]
    fn an_anchor_of_three_bytes_is_found_at_the_very_end() {
        assert_eq!(found(b"a key"), [2]);
        assert!(kinds(b"a key", 2).contains(&Kind::Name));
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
                    matches!(
                        kind,
                        Kind::Token(_, 0)
                            | Kind::Service(_)
                            | Kind::Jwt
                            | Kind::Crypt
                            | Kind::Pgpass
                            | Kind::Jar
                            | Kind::AddMask
                            | Kind::Oracle
                            | Kind::Secure
                            | Kind::Driver
                            | Kind::Key
                            | Kind::EncodedUrl
                    ) && !simd::begins(bytes, at)
                };
                let missed = kinds(bytes, at).into_iter().find(|kind| !inside(kind)).filter(|_| !hits.contains(&at));
                prop_assert_eq!(missed, None, "{} at {}", text, at);
            }
        }
    }
}
