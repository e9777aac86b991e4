//! The anchors: four bytes, of which the last may be anything, that stand in or beside every secret the rules can find.
//!
//! An anchor must never be dropped to gain speed without another that covers what it covered.

use crate::rules::Rules;

/// Four bytes to look for, and what they mean.
#[derive(Clone, Debug)]
pub(crate) struct Anchor {
    /// The bytes, in lower case if `folded`.
    pub(crate) bytes: [u8; 4],
    /// Whether the fourth may be any byte.
    pub(crate) open: bool,
    /// Whether letters count in either case.
    pub(crate) folded: bool,
    /// Whether it counts only where a word may begin.
    pub(crate) begins: bool,
    /// The kind, as the plugin's source writes it.
    pub(crate) kind: String,
}

impl Anchor {
    fn new(text: &str, folded: bool, kind: &str) -> Self {
        let mut bytes = [0; 4];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Self { bytes, open: text.len() == 3, folded, begins: false, kind: kind.to_owned() }
    }

    /// The first four bytes of a text, or its three, where a word may begin.
    fn beginning(text: &str, folded: bool, kind: &str) -> Self {
        Self { begins: true, ..Self::new(&text[..text.len().min(4)], folded, kind) }
    }

    /// Whether `byte` may stand at place `at`.
    pub(crate) fn admits(&self, at: usize, byte: u8) -> bool {
        at == 3 && self.open
            || byte == self.bytes[at]
            || self.folded && byte.is_ascii_alphabetic() && byte.to_ascii_lowercase() == self.bytes[at]
    }
}

/// Beginnings of the words that name secrets, in any case.
const NAMES: &[&str] = &[
    "pass", "pasw", "psw", "pwd", "secr", "toke", "key", "auth", "cred", "cook", "bear", "sens", "sess", "sid", "jwt",
    "srf", "pw=", "pw:", "pw\"", "pw'",
];

/// Everything else that stands beside a secret.
const OTHERS: &[(&str, &str)] = &[
    ("://", "Url"),
    (":\\/", "Url"),
    ("-BEG", "PemBegin"),
    (" BEG", "PemBegin"),
    ("-END", "PemEnd"),
    ("-Lin", "Putty"),
    ("ata:", "Data"),
    ("ata\"", "Data"),
    ("ata\\", "Data"),
    ("sig=", "Param"),
    ("ure=", "Param"),
    ("ode=", "Param"),
    (" -p", "Option"),
    (" -P", "Option"),
    (" -u", "Option"),
    (" -U", "Option"),
    (" -a", "Option"),
    (" -w", "Option"),
    ("-use", "Option"),
    ("\"-p", "Option"),
    ("'-p", "Option"),
    ("\"-u", "Option"),
    ("'-u", "Option"),
    (" /p:", "Option"),
    (" -S ", "Option"),
];

/// What stands beside a secret where a word may begin.
const BEGINNINGS: &[(&str, &str)] = &[
    ("sqlp", "Oracle"),
    ("jdbc", "Oracle"),
    ("$1$", "Crypt"),
    ("$5$", "Crypt"),
    ("$6$", "Crypt"),
    ("$y$", "Crypt"),
    ("$2y$", "Crypt"),
    ("$2b$", "Crypt"),
    ("$2a$", "Crypt"),
    ("$apr", "Crypt"),
    ("$arg", "Crypt"),
    ("5432", "Pgpass"),
    ("6432", "Pgpass"),
    ("*:*:", "Pgpass"),
    ("TRUE", "Jar"),
    ("FALS", "Jar"),
    ("add-", "AddMask"),
    ("Secu", "Secure"),
    ("tcp(", "Driver"),
    ("psk=", "Key"),
    ("3A%2", "EncodedUrl"),
    ("3a%2", "EncodedUrl"),
];

/// What may stand at each of four places.
pub(crate) type Form = [fn(u8) -> bool; 4];

/// Fingerprints that no literal makes: three digits and a colon, and three hexadecimal digits and a dot. The prefilter's
/// own code looks at them again.
pub(crate) const FORMS: &[Form] = &[[digit, digit, digit, |c| c == b':'], [hex, hex, hex, |c| c == b'.']];

fn digit(byte: u8) -> bool {
    byte.is_ascii_digit()
}

fn hex(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'a'..=b'f')
}

/// All anchors, for the tokens and services of these rules.
pub(crate) fn all(rules: &Rules) -> Vec<Anchor> {
    let mut anchors: Vec<Anchor> = NAMES.iter().map(|name| Anchor::new(name, true, "Name")).collect();
    anchors.extend(OTHERS.iter().map(|(text, kind)| Anchor::new(text, false, kind)));
    anchors.extend(BEGINNINGS.iter().map(|(text, kind)| Anchor::beginning(text, false, kind)));
    anchors.push(Anchor::new("fied", true, "Identified"));
    anchors.push(Anchor::beginning("eyJ", false, "Jwt"));
    for (index, (token, prefix)) in rules.prefixes().enumerate() {
        let reach = &prefix[..token.reach(prefix)];
        anchors.push(if token.begins(prefix) {
            Anchor::beginning(reach, false, &format!("Token({index}, 0)"))
        } else {
            let (at, size) = rarest(reach);
            Anchor::new(&prefix[at..at + size], false, &format!("Token({index}, {at})"))
        });
    }
    for (index, word) in rules.words() {
        anchors.push(Anchor::beginning(word, true, &format!("Service({index})")));
    }
    anchors.extend(crate::base64::images().iter().map(|image| Anchor::new(image, false, "Encoded")));
    anchors
}

/// Where the four rarest bytes of a text stand, or its three: those seen least in ordinary output, in any case.
fn rarest(text: &str) -> (usize, usize) {
    static ORDINARY: &[u8] = include_bytes!("ordinary.txt");
    let bytes = text.as_bytes();
    let size = bytes.len().min(4);
    let seen = |part: &[u8]| ORDINARY.windows(size).filter(|window| window.eq_ignore_ascii_case(part)).count();
    let likely = |part: &[u8]| part.iter().map(|&byte| likelihood(byte)).product::<f64>();
    let worth = |at: usize| (seen(&bytes[at..at + size]), likely(&bytes[at..at + size]));
    let rarest = (0..=bytes.len() - size)
        .map(|at| (worth(at), at))
        .min_by(|((a, b), _), ((c, d), _)| a.cmp(c).then(b.total_cmp(d)));
    (rarest.map_or(0, |(_, at)| at), size)
}

/// How often a byte stands in ordinary output, roughly: logs, sources and lock files counted together.
fn likelihood(byte: u8) -> f64 {
    /// Letters in the order of English text, from the most to the least usual.
    const LETTERS: &[u8] = b"etaonirscldupmfhgbvywkxjqz";
    let letter = |byte: u8| LETTERS.iter().position(|&c| c == byte).map_or(0.0, |at| 0.075 * 0.87f64.powi(at as i32));
    match byte {
        b' ' => 0.12,
        b'\n' => 0.016,
        b'0'..=b'9' => 0.013,
        b'a'..=b'z' => letter(byte),
        b'A'..=b'Z' => letter(byte.to_ascii_lowercase()) / 12.0,
        b'.' | b'-' | b'/' | b':' | b'_' => 0.014,
        b'"' | b'=' | b',' | b'(' | b')' => 0.008,
        0x21..=0x7e => 0.003,
        _ => 0.0005,
    }
}
