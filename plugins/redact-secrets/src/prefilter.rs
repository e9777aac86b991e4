//! The anchors: short literals of which at least one stands in or beside every secret the rules can find. One vector
//! pass over the text finds them; everything else looks only there. An anchor must never be dropped to gain speed
//! without another that covers what it covered.

use crate::rules::TOKENS;
use crate::simd::{self, Masks, SLOTS, slot};

/// What to look for at an anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The token of this index in [`TOKENS`]; the anchor stands so many bytes into its prefix.
    Token(u16, u8),
    /// A word that names a secret.
    Name,
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
    /// `+` and digits.
    Phone,
}

/// Three bytes, and what they mean.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    bytes: [u8; 3],
    folded: bool,
    kind: Kind,
}

/// Beginnings of the words that name secrets, in any case.
const NAMES: &[&[u8; 3]] = &[
    b"pas", b"psw", b"pwd", b"sec", b"tok", b"key", b"aut", b"cre", b"coo", b"bea", b"sen", b"ses", b"sid", b"jwt",
    b"srf", b"pw=", b"pw:", b"pw\"", b"pw'",
];

/// Buckets of the vector pass.
const BUCKETS: usize = 8;

/// The compiled anchors.
pub(crate) struct Prefilter {
    masks: Masks,
    first: Box<[u16; SLOTS]>,
    anchors: Vec<Anchor>,
}

/// No anchor in this slot.
const NONE: u16 = u16::MAX;

impl Prefilter {
    /// Compiles the anchors; those of phone numbers only on request, since they stand in much ordinary text.
    pub(crate) fn new(phones: bool) -> Self {
        let mut anchors = all(phones);
        anchors.sort_unstable_by_key(|anchor| slot(anchor.bytes[0], anchor.bytes[1], anchor.bytes[2]));
        let mut masks = Masks { low: [[0; 16]; 3], high: [[0; 16]; 3], slots: Box::new([0; SLOTS / 64]) };
        let mut first = Box::new([NONE; SLOTS]);
        for (index, anchor) in anchors.iter().enumerate() {
            let [a, b, c] = anchor.bytes;
            let slot = slot(a, b, c);
            masks.slots[slot / 64] |= 1 << (slot % 64);
            if first[slot] == NONE {
                first[slot] = index as u16;
            }
            let bit = 1u8 << bucket(anchor);
            for (i, byte) in anchor.bytes.into_iter().enumerate() {
                masks.low[i][usize::from(byte & 15)] |= bit;
                masks.high[i][usize::from(byte >> 4)] |= bit;
                if anchor.folded && byte.is_ascii_alphabetic() {
                    masks.high[i][usize::from((byte ^ 0x20) >> 4)] |= bit;
                }
            }
        }
        Self { masks, first, anchors }
    }

    /// Appends each position of `bytes[from..to]` at which an anchor may stand.
    pub(crate) fn find(&self, bytes: &[u8], from: usize, to: usize, out: &mut Vec<u32>) {
        simd::find(&self.masks, bytes, from, to, out);
    }

    /// What stands at `at`, exactly.
    #[inline]
    pub(crate) fn kinds(&self, bytes: &[u8], at: usize) -> impl Iterator<Item = Kind> + '_ {
        let here = [bytes[at], bytes[at + 1], bytes[at + 2]];
        let slot = slot(here[0], here[1], here[2]);
        let first = self.first[slot];
        let chain = if first == NONE { &[][..] } else { &self.anchors[usize::from(first)..] };
        chain
            .iter()
            .take_while(move |anchor| simd::slot(anchor.bytes[0], anchor.bytes[1], anchor.bytes[2]) == slot)
            .filter(move |anchor| {
                if anchor.folded { here.map(|c| c.to_ascii_lowercase()) == anchor.bytes } else { here == anchor.bytes }
            })
            .map(|anchor| anchor.kind)
    }
}

fn all(phones: bool) -> Vec<Anchor> {
    let exact = |bytes: [u8; 3], kind| Anchor { bytes, folded: false, kind };
    let mut anchors: Vec<Anchor> =
        NAMES.iter().map(|name| Anchor { bytes: **name, folded: true, kind: Kind::Name }).collect();
    for (index, token) in TOKENS.iter().enumerate() {
        let prefix = token.prefix.as_bytes();
        let offset = rarest(prefix);
        let bytes = [prefix[offset], prefix[offset + 1], prefix[offset + 2]];
        anchors.push(exact(bytes, Kind::Token(index as u16, offset as u8)));
    }
    for (bytes, kind) in [
        (b"://", Kind::Url),
        (b":\\/", Kind::Url),
        (b"-BE", Kind::PemBegin),
        (b" BE", Kind::PemBegin),
        (b"-EN", Kind::PemEnd),
        (b"-Li", Kind::Putty),
        (b"eyJ", Kind::Jwt),
        (b"ta:", Kind::Data),
        (b"ta\"", Kind::Data),
        (b"ta\\", Kind::Data),
        (b"ig=", Kind::Param),
        (b"re=", Kind::Param),
        (b"de=", Kind::Param),
        (b" -p", Kind::Option),
        (b" -P", Kind::Option),
        (b" -u", Kind::Option),
        (b" -U", Kind::Option),
        (b" -a", Kind::Option),
        (b" -w", Kind::Option),
        (b"-us", Kind::Option),
    ] {
        anchors.push(exact(*bytes, kind));
    }
    for digit in b'0'..=b'9' {
        anchors.extend((b'0'..=b'9').map(|c| exact([digit, b':', c], Kind::Telegram)));
        anchors.extend((b'a'..=b'z').map(|c| Anchor { bytes: [digit, b':', c], folded: true, kind: Kind::Telegram }));
    }
    for hex in *b"0123456789abcdef" {
        anchors.extend((b'0'..=b'9').map(|c| exact([hex, b'.', c], Kind::Zhipu)));
        anchors.extend((b'a'..=b'z').map(|c| Anchor { bytes: [hex, b'.', c], folded: true, kind: Kind::Zhipu }));
    }
    anchors.push(Anchor { bytes: *b"fie", folded: true, kind: Kind::Identified });
    anchors.extend(crate::encoded::fingerprints().into_iter().map(|bytes| exact(bytes, Kind::Encoded)));
    if phones {
        for a in b'1'..=b'9' {
            anchors.extend((b'0'..=b'9').map(|b| exact([b'+', a, b], Kind::Phone)));
        }
    }
    anchors
}

/// The three bytes of a prefix seen least in ordinary text: those that end at its last `_`, `-` or `.`, else the three
/// with most upper-case letters, which are different.
fn rarest(prefix: &[u8]) -> usize {
    if let Some(mark) = prefix.iter().rposition(|c| matches!(c, b'_' | b'-' | b'.')) {
        return mark.max(2) - 2;
    }
    let worth = |at: &usize| {
        let three = &prefix[*at..*at + 3];
        let same = three[0] == three[1] && three[1] == three[2];
        three.iter().filter(|c| c.is_ascii_uppercase() || c.is_ascii_digit()).count() * usize::from(!same)
    };
    (0..=prefix.len() - 3).max_by_key(worth).unwrap_or(0)
}

/// Fingerprints that look alike share a bucket, so that the tables of each stay sparse.
fn bucket(anchor: &Anchor) -> usize {
    let [a, _, c] = anchor.bytes;
    match anchor.kind {
        Kind::Name if !anchor.bytes.iter().all(u8::is_ascii_alphabetic) => 7,
        Kind::Name if matches!(&anchor.bytes, b"sec" | b"ses" | b"sen" | b"sid" | b"srf" | b"cre" | b"bea") => 0,
        Kind::Identified => 0,
        Kind::Name => 1,
        Kind::Zhipu | Kind::Telegram => 2,
        _ if matches!(a, b' ' | b'-') => 3,
        _ if c == b'_' => 4,
        _ if matches!(c, b'-' | b'.') => 5,
        Kind::Token(..) | Kind::Jwt | Kind::Encoded if c.is_ascii_uppercase() || c.is_ascii_digit() => 6,
        Kind::Token(..) | Kind::Jwt | Kind::Encoded => 1,
        _ => BUCKETS - 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(prefilter: &Prefilter, text: &[u8]) -> Vec<u32> {
        let mut out = Vec::new();
        prefilter.find(text, 0, text.len(), &mut out);
        out
    }

    #[test]
    fn every_token_prefix_is_found_wherever_it_stands() {
        let prefilter = Prefilter::new(false);
        for (index, token) in TOKENS.iter().enumerate() {
            for shift in 0..40 {
                let text = format!("{}{}0123456789abcdef0123456789", ".".repeat(shift), token.prefix);
                let hit = found(&prefilter, text.as_bytes()).iter().any(|&at| {
                    prefilter.kinds(text.as_bytes(), at as usize).any(|kind| {
                        matches!(kind, Kind::Token(i, offset)
                            if usize::from(i) == index && at as usize == shift + usize::from(offset))
                    })
                });
                assert!(hit, "{} at {shift}", token.prefix);
            }
        }
    }

    #[test]
    fn names_are_found_in_any_case() {
        let prefilter = Prefilter::new(false);
        for name in ["PASSWORD", "Secret", "tOkEn", "api_KEY"] {
            let hit = found(&prefilter, name.as_bytes())
                .iter()
                .any(|&at| prefilter.kinds(name.as_bytes(), at as usize).any(|kind| kind == Kind::Name));
            assert!(hit, "{name}");
        }
    }

    proptest! {
        #[test]
        fn the_vector_pass_and_the_scalar_pass_agree(
            parts in proptest::collection::vec(prop_oneof![
                "[ -~\n]{0,20}", Just("ghp_".to_owned()), Just("://".to_owned()), Just("password".to_owned()),
                Just("é😀".to_owned()), Just("-----BEGIN".to_owned()), Just("12:3a.4b".to_owned()),
            ], 0..30),
            from in 0usize..20,
        ) {
            let text = parts.concat();
            let bytes = text.as_bytes();
            let prefilter = Prefilter::new(true);
            let from = from.min(bytes.len());
            let (mut fast, mut slow) = (Vec::new(), Vec::new());
            simd::find(&prefilter.masks, bytes, from, bytes.len(), &mut fast);
            simd::scalar(&prefilter.masks, bytes, from, bytes.len(), &mut slow);
            prop_assert_eq!(fast, slow);
        }

        #[test]
        fn no_anchor_is_missed(text in "[a-zA-Z_:/.\\- 0-9=]{0,200}") {
            let bytes = text.as_bytes();
            let prefilter = Prefilter::new(false);
            let hits = found(&prefilter, bytes);
            for (at, three) in bytes.windows(3).enumerate() {
                let there = all(false).iter().any(|anchor| if anchor.folded {
                    three.to_ascii_lowercase() == anchor.bytes
                } else {
                    three == anchor.bytes
                });
                prop_assert_eq!(there, hits.contains(&(at as u32)) && prefilter.kinds(bytes, at).next().is_some());
            }
        }
    }
}
