//! The rules: names that stand in masks, and the tables of tokens and services that `build.rs` makes of `rules/*.toml`.
//! Shapes are facts published by the services that issue the tokens; a shape that is only usual, not promised, gets a
//! lower bound only. Nothing here may need parsing or memory at run time.

/// A rule: what stands in the mask, and which of two overlapping rules gives the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// The name in the mask.
    pub(crate) name: &'static str,
    /// The higher rank names a united span.
    pub(crate) rank: u8,
}

/// Rank of a rule that knows exactly what it found.
const EXACT: u8 = 10;
/// Rank of a rule that knows the place a secret stands in.
const PLACE: u8 = 3;
/// Rank of a rule that goes by a name.
const NAMED: u8 = 1;

const fn rule(name: &'static str, rank: u8) -> Rule {
    Rule { name, rank }
}

pub(crate) const PRIVATE_KEY: Rule = rule("private-key", EXACT + 1);
pub(crate) const JWT: Rule = rule("jwt", EXACT);
pub(crate) const TELEGRAM: Rule = rule("telegram-token", EXACT);
pub(crate) const ZHIPU: Rule = rule("zhipu-key", EXACT);
pub(crate) const AWS_SECRET: Rule = rule("aws-secret-key", EXACT);
pub(crate) const URL_PASSWORD: Rule = rule("url-password", PLACE);
pub(crate) const URL_TOKEN: Rule = rule("url-token", PLACE);
pub(crate) const URL_PARAM: Rule = rule("url-param", PLACE);
pub(crate) const AUTH_HEADER: Rule = rule("auth-header", PLACE);
pub(crate) const COOKIE: Rule = rule("cookie", PLACE);
pub(crate) const K8S: Rule = rule("kubernetes-secret", PLACE - 1);
pub(crate) const TERRAFORM: Rule = rule("terraform-sensitive", PLACE - 1);
pub(crate) const NETRC: Rule = rule("netrc-password", PLACE - 1);
pub(crate) const FLAG: Rule = rule("command-line", PLACE - 1);
pub(crate) const PASSWORD: Rule = rule("password", NAMED);
pub(crate) const ASSIGNMENT: Rule = rule("assignment", NAMED);
pub(crate) const ENCODED: Rule = rule("encoded-secret", PLACE + 2);
pub(crate) const PHONE: Rule = rule("phone", NAMED - 1);
pub(crate) const CARD: Rule = rule("payment-card", PLACE - 1);
pub(crate) const IBAN: Rule = rule("iban", PLACE - 1);
pub(crate) const EMAIL: Rule = rule("email", NAMED - 1);
pub(crate) const SSN: Rule = rule("us-ssn", NAMED);
pub(crate) const HIGH_ENTROPY: Rule = rule("high-entropy", NAMED - 1);

/// A rule of the settings: whoever wrote it knows exactly what it finds.
pub(crate) const fn extra(name: &'static str) -> Rule {
    rule(name, EXACT + 1)
}

/// What a token's body is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// Letters and digits.
    Alnum,
    /// Letters, digits, `_` and `-`.
    Word,
    /// Letters, digits, `_`, `-` and single dots inside.
    Dotted,
    /// Letters, digits, `+`, `/`, `=`, `_`, `-` and dots.
    Base64,
    /// Lower-case hexadecimal.
    Hex,
    /// Upper-case letters and digits.
    Upper,
    /// Lower-case letters and digits.
    Lower,
    /// Hexadecimal in any case.
    AnyHex,
    /// [`Self::Base64`] with `%`, `~`, `!`, `$`, `@`, and `:` inside.
    Wide,
    /// A UUID.
    Uuid,
    /// Digits.
    Digit,
}

impl Body {
    /// How many alphabets there are.
    pub(crate) const COUNT: usize = Self::Digit as usize + 1;

    /// Whether `byte` is of this alphabet.
    #[inline]
    pub(crate) fn has(self, byte: u8) -> bool {
        ALPHABETS[usize::from(byte)] >> self as u32 & 1 == 1
    }

    /// The widest alphabet inside this one that has neither dots nor colons.
    #[inline]
    pub(crate) fn plain(self) -> Self {
        match self {
            Self::Dotted | Self::Base64 | Self::Wide => Self::Word,
            narrow => narrow,
        }
    }

    /// Whether all of `bytes` are of this alphabet.
    #[inline]
    pub(crate) fn have(self, bytes: &[u8; 8]) -> bool {
        bytes.iter().fold(u16::MAX, |all, &byte| all & ALPHABETS[usize::from(byte)]) >> self as u32 & 1 == 1
    }

    /// As [`Self::has`], worked out: runs are long, so that a look at a table is worth it.
    const fn spells(self, byte: u8) -> bool {
        let alnum = byte.is_ascii_alphanumeric();
        let word = alnum || matches!(byte, b'_' | b'-');
        let base64 = word || matches!(byte, b'.' | b'+' | b'/' | b'=');
        match self {
            Self::Alnum => alnum,
            Self::Word => word,
            Self::Dotted => word || byte == b'.',
            Self::Base64 => base64,
            Self::Hex => byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'),
            Self::Upper => byte.is_ascii_digit() || byte.is_ascii_uppercase(),
            Self::Lower => byte.is_ascii_digit() || byte.is_ascii_lowercase(),
            Self::AnyHex => byte.is_ascii_hexdigit(),
            Self::Wide => base64 || matches!(byte, b'%' | b'~' | b'!' | b'$' | b'@' | b':'),
            Self::Uuid => byte.is_ascii_hexdigit() || byte == b'-',
            Self::Digit => byte.is_ascii_digit(),
        }
    }
}

/// The alphabets each byte is of, one bit for each.
static ALPHABETS: [u16; 256] = {
    const ALL: [Body; Body::COUNT] = [
        Body::Alnum,
        Body::Word,
        Body::Dotted,
        Body::Base64,
        Body::Hex,
        Body::Upper,
        Body::Lower,
        Body::AnyHex,
        Body::Wide,
        Body::Uuid,
        Body::Digit,
    ];
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut at = 0;
        while at < ALL.len() {
            table[byte] |= (ALL[at].spells(byte as u8) as u16) << (ALL[at] as u16);
            at += 1;
        }
        byte += 1;
    }
    table
};

/// How sure the prefix alone makes us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sure {
    /// The prefix is seen nowhere else: any body that is not a placeholder.
    Yes,
    /// The prefix also begins ordinary names: the body must look random.
    Random,
    /// Besides, a body of exactly `whole` makes a left boundary unnecessary.
    Glued,
}

/// What proves a body beyond doubt. It only ever makes a mask surer, and never takes one away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// Nothing does.
    None,
    /// The last six characters are the checksum of those before them; see [`crate::check::crc32`].
    Crc32,
    /// Only `A` to `Z` and `2` to `7`; the secret that goes with it may stand on the same line.
    Base32,
}

/// What the tokens of one kind look like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// What follows the prefix.
    pub(crate) body: Body,
    /// Fewest bytes of the body.
    pub(crate) min: u16,
    /// Most bytes of the body; a body that may be no longer ends at a boundary.
    pub(crate) max: u16,
    /// The body's usual length if the issuer fixes it, for tokens wrapped over lines; else 0.
    pub(crate) whole: u16,
    /// How sure the prefix makes us.
    pub(crate) sure: Sure,
    /// Whether only the body is masked (the prefix is a public address).
    pub(crate) body_only: bool,
    /// What proves it.
    pub(crate) check: Check,
    /// What stands before the prefix as a part of the token.
    pub(crate) before: Body,
    /// Fewest bytes of it.
    pub(crate) before_min: u8,
    /// Most bytes of it; 0 if nothing does.
    pub(crate) before_max: u8,
    /// How many longer prefixes go on from this one; their rules are more exact.
    pub(crate) order: u8,
}

/// A piece of [`POOL`].
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed)]
pub(crate) struct Text {
    at: u16,
    size: u8,
}

impl Text {
    /// The text.
    #[inline(never)]
    pub(crate) fn get(self) -> &'static str {
        let at = usize::from(self.at);
        POOL.get(at..at + usize::from(self.size)).unwrap_or_default()
    }

    /// Its bytes, which need no look at where characters begin.
    #[inline]
    pub(crate) const fn bytes(self) -> &'static [u8] {
        let (_, from) = POOL.as_bytes().split_at(self.at as usize);
        from.split_at(self.size as usize).0
    }
}

/// A token that is told by its prefix.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed)]
pub(crate) struct Token {
    prefix: Text,
    label: u16,
    shape: u8,
}

impl Token {
    /// The literal prefix.
    pub(crate) fn prefix(&self) -> &'static [u8] {
        self.prefix.bytes()
    }

    /// What it looks like.
    pub(crate) fn shape(&self) -> &'static Shape {
        &SHAPES[usize::from(self.shape)]
    }

    /// The rule.
    pub(crate) fn rule(&self) -> Rule {
        rule(LABELS[usize::from(self.label)].get(), EXACT - self.shape().order)
    }
}

/// One form of the keys of a service that is told by its name.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed)]
pub(crate) struct Service {
    word: Text,
    label: u16,
    /// What a key is made of.
    pub(crate) body: Body,
    /// How long it is.
    pub(crate) size: u16,
}

impl Service {
    /// The service's name: lower-case letters and digits.
    pub(crate) const fn word(&self) -> &'static [u8] {
        self.word.bytes()
    }

    /// The rule.
    pub(crate) fn rule(&self) -> Rule {
        rule(LABELS[usize::from(self.label)].get(), PLACE + 1)
    }
}

/// Longest token body: longer is data, not a token.
pub(crate) const MAX_BODY: usize = 4096;

include!(concat!(env!("OUT_DIR"), "/rules.rs"));

/// Rules that are not in [`TOKENS`].
#[rustfmt::skip]
pub(crate) static OTHERS: &[Rule] = &[
    PRIVATE_KEY, JWT, TELEGRAM, ZHIPU, AWS_SECRET, URL_PASSWORD, URL_TOKEN, URL_PARAM, AUTH_HEADER, COOKIE, K8S,
    TERRAFORM, NETRC, FLAG, PASSWORD, ASSIGNMENT, ENCODED, PHONE, CARD, IBAN,
    EMAIL, SSN, HIGH_ENTROPY,
];

/// Whether a rule has this name.
pub(crate) fn exists(name: &str) -> bool {
    LABELS.iter().any(|label| label.get() == name) || OTHERS.iter().any(|rule| rule.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_hold_more_than_three_hundred_rules_and_fit_their_indices() {
        assert!(TOKENS.len() >= 300 && SERVICES.len() >= 100, "{} {}", TOKENS.len(), SERVICES.len());
        assert!(LABELS.iter().map(|label| label.get()).is_sorted() && LABELS.len() >= 200, "{}", LABELS.len());
        for token in TOKENS {
            let shape = token.shape();
            assert!(shape.min <= shape.max && usize::from(shape.max) <= MAX_BODY, "{:?}", token.prefix());
            assert!(shape.order <= EXACT - PLACE - 3, "{:?} would be less exact than a name", token.prefix());
        }
    }

    #[test]
    fn a_longer_prefix_names_the_mask() {
        let rank = |prefix: &str| TOKENS.iter().find(|token| token.prefix() == prefix.as_bytes()).unwrap().rule().rank;
        assert!(rank("sk-") < rank("sk-ant-"));
        assert!(rank("sk-ant-") < rank("sk-ant-admin01-"));
        assert!(rank("sk_") < rank("sk_live_"));
    }
}
