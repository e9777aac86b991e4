//! Invented values from templates: `ghp_{alnum:36}` becomes a token nobody ever had, the same in every run.
//!
//! Nothing that looks live is ever written into the repository: only templates are.

/// Letters and digits, in the order of the base 62 of checksums.
const ALNUM: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A source of invented values: a splitmix64 sequence (Steele, Lea and Flood, 2014) from a fixed seed.
pub struct Generator(u64);

impl Generator {
    /// A generator that gives the same values for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator for a named thing: the values of one seed do not depend on which others there are.
    pub fn named(name: &str) -> Self {
        // FNV-1a, 64 bits.
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(name.bytes().fold(0xcbf2_9ce4_8422_2325, hash))
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which must not be zero.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.number() % end.max(1) as u64).unwrap_or_default()
    }

    /// One of these; of none, nothing.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        of.get(self.below(of.len())).copied()
    }

    fn letters(&mut self, alphabet: &[u8], count: usize) -> String {
        (0..count).map(|_| char::from(alphabet[self.below(alphabet.len())])).collect()
    }

    /// Expands every `{macro}` and `{macro:length}` of a template; what is no macro stays as it is.
    pub fn expand(&mut self, template: &str) -> String {
        let mut text = String::with_capacity(template.len() * 4);
        let mut rest = template;
        while let Some(open) = rest.find('{') {
            text.push_str(&rest[..open]);
            let close = rest[open..].find('}').map(|at| open + at);
            let value = close.and_then(|close| self.value(&rest[open + 1..close], &text));
            match (value, close) {
                (Some(value), Some(close)) => {
                    text.push_str(&value);
                    rest = &rest[close + 1..];
                }
                _ => {
                    text.push('{');
                    rest = &rest[open + 1..];
                }
            }
        }
        text + rest
    }

    fn value(&mut self, asked: &str, before: &str) -> Option<String> {
        let (name, length) = asked.split_once(':').unwrap_or((asked, "1"));
        let length: usize = length.parse().ok()?;
        Some(match name {
            "alnum" => self.mixed(length),
            "letter" => self.letters(&ALNUM[10..], length),
            "lower" => self.letters(b"abcdefghijklmnopqrstuvwxyz0123456789", length),
            "upper" => self.letters(&ALNUM[..36], length),
            "base32" => self.letters(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", length),
            "digit" => self.letters(&ALNUM[..10], length),
            "hex" => self.letters(b"0123456789abcdef", length),
            "hexup" => self.letters(b"0123456789ABCDEF", length),
            "word" => self.mixed(length),
            "base64" => self.letters(&[ALNUM, b"+/"].concat(), length),
            "uuid" => [8, 4, 4, 4, 12].map(|part| self.letters(b"0123456789abcdef", part)).join("-"),
            "crc" => checksum(before),
            "json64" => encode(self.expand(r#"{"sub":"{alnum:12}","iat":17{digit:8}}"#).as_bytes(), b'-', b'_', false),
            "pair64" => encode(self.expand("svc:{alnum:14}-{digit:2}").as_bytes(), b'+', b'/', true),
            "text64" => encode(self.expand("{alnum:17}-{digit:3}").as_bytes(), b'+', b'/', true),
            _ => return None,
        })
    }

    /// Letters of both cases and digits, each kind at least once where there is room: a token of one case is another
    /// alphabet.
    fn mixed(&mut self, length: usize) -> String {
        loop {
            let text = self.letters(ALNUM, length);
            let has = |kind: fn(&u8) -> bool| text.as_bytes().iter().any(kind);
            let all = has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
            if length < 8 || all {
                return text;
            }
        }
    }
}

/// The six last letters of GitHub's and npm's tokens: CRC-32 of what follows the prefix, in base 62.
fn checksum(before: &str) -> String {
    let body = before.rsplit('_').next().unwrap_or_default();
    let mut crc = u32::MAX;
    for byte in body.bytes() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    let mut value = !crc;
    let mut letters = [b'0'; 6];
    for letter in letters.iter_mut().rev() {
        *letter = ALNUM[(value % 62) as usize];
        value /= 62;
    }
    letters.iter().map(|letter| char::from(*letter)).collect()
}

/// Base64 with these two last letters.
pub fn encode(bytes: &[u8], plus: u8, slash: u8, padded: bool) -> String {
    let alphabet = [&ALNUM[10..36], &ALNUM[36..], &ALNUM[..10], &[plus, slash]].concat();
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let group = three.iter().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            if place <= three.len() {
                text.push(char::from(alphabet[group >> (18 - 6 * place) & 63]));
            } else if padded {
                text.push('=');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name_gives_the_same_value_and_another_name_another() {
        let value = |name: &str| Generator::named(name).expand("ghp_{alnum:30}{crc}");
        assert_eq!(value("a"), value("a"));
        assert_ne!(value("a"), value("b"));
        assert_eq!(value("a").len(), 40);
    }

    #[test]
    fn what_is_no_macro_stays() {
        assert_eq!(Generator::new(1).expand("{\"a\": {}, ${NAME} {unknown:4} {"), "{\"a\": {}, ${NAME} {unknown:4} {");
    }

    #[test]
    fn base64_is_that_of_everybody() {
        assert_eq!(encode(b"svc:Zq8-reg-pass", b'+', b'/', true), "c3ZjOlpxOC1yZWctcGFzcw==");
        assert_eq!(encode(b"a\xff\xfe", b'-', b'_', false), "Yf_-");
    }
}
