//! Whether a value is worth masking: placeholders, look-ups and names are not, random text is. It judges the value
//! alone; what its key says is [`crate::name`]'s. Nothing here may take longer than a bounded look.

use crate::text::{ALNUM, DIGIT, HEX, LETTER, all, any, is, spelled};
use crate::words::{self, PROSE, STANDIN};

/// How much of a value is looked at.
const LOOK: usize = 160;

/// No word of the lists is longer than this.
const MAX_WORD: usize = 16;

/// A stand-in made of words is not longer than this.
const MAX_WORDS: usize = 64;

/// What the characters of a value say about it.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    lower: usize,
    upper: usize,
    digits: usize,
    hex: usize,
    changes: usize,
    other: usize,
}

/// Kinds of bytes: nothing of a token, a lower-case letter, an upper-case letter, a digit.
static KIND: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = match byte as u8 {
            b'a'..=b'z' => 1,
            b'A'..=b'Z' => 2,
            b'0'..=b'9' => 3,
            _ => 0,
        };
        byte += 1;
    }
    kinds
};

#[inline(never)]
fn shape(value: &[u8]) -> Shape {
    let mut kinds = [0usize; 4];
    let (mut hex, mut changes, mut previous) = (0, 0, 0);
    for &byte in value.iter().take(LOOK) {
        let kind = KIND[usize::from(byte)];
        kinds[usize::from(kind)] += 1;
        hex += usize::from(is(byte, HEX));
        changes += usize::from((kind != 0) & (previous != 0) & (kind != previous));
        previous = kind;
    }
    let [other, lower, upper, digits] = kinds;
    Shape { lower, upper, digits, hex, changes, other }
}

impl Shape {
    fn alnum(&self) -> usize {
        self.lower + self.upper + self.digits
    }

    /// Kinds of character change as often as in random text, not as seldom as in words with a number.
    fn mixes(&self, least: usize) -> bool {
        let size = self.alnum();
        size >= least
            && match self.digits {
                0 => size >= 16.max(least) && self.lower > 0 && self.upper > 0 && self.changes * 2 >= size - size / 8,
                1 => self.changes * 3 >= size,
                _ => self.lower + self.upper > 0 && self.changes * 5 >= size,
            }
    }
}

/// Whether `value` looks like random characters: a key or token rather than a word, a number, a path or a name.
#[inline(never)]
pub(crate) fn opaque(value: &[u8]) -> bool {
    if value.len() < 12 || uuid(value) || value.iter().take(LOOK).any(|&c| !(is(c, ALNUM) || b"_-+/=.~%:".contains(&c)))
    {
        return false;
    }
    let whole = shape(value);
    if whole.hex == whole.alnum() && whole.alnum() >= 16 && whole.digits > 0 && whole.lower + whole.upper > 0 {
        return whole.other == 0;
    }
    random(value, 12)
}

/// Whether a stretch without separators in `value`, at least `least` long, looks random; or all of it does when the
/// separators are few.
#[inline(never)]
pub(crate) fn random(value: &[u8], least: usize) -> bool {
    let value = &value[..value.len().min(LOOK)];
    if value.split(|&c| !is(c, ALNUM)).any(|part| shape(part).mixes(least)) {
        return true;
    }
    let whole = shape(value);
    whole.alnum() >= least.max(16) && whole.mixes(least) && whole.digits >= 2 && whole.other * 6 <= whole.alnum()
}

/// Whether `value` is a UUID.
#[inline(never)]
pub(crate) fn uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, &c)| if matches!(at, 8 | 13 | 18 | 23) { c == b'-' } else { is(c, HEX) })
}

/// Whether `value`, behind nothing but the word `key`, is a secret: cache keys, object keys and fingerprints are not.
#[inline(never)]
pub(crate) fn plain_key(value: &[u8]) -> bool {
    let shape = shape(value);
    opaque(value) && !hex(value) && !value.iter().any(|c| b"-./:%".contains(c)) && shape.upper > 0 && shape.lower > 0
}

/// Whether `value` is a public key in base64, or the fingerprint of one, as `GPG_KEY` holds.
pub(crate) fn fingerprint(value: &[u8]) -> bool {
    /// How the DER of public keys begins: P-256, RSA of 2048 and 4096 bits, Ed25519 (RFC 5280, RFC 8410).
    const PUBLIC: [&[u8]; 4] =
        [b"MFkwEwYHKoZIzj0", b"MIIBIjANBgkqhkiG9w0BAQEF", b"MIICIjANBgkqhkiG9w0BAQEF", b"MCowBQYDK2VwAyEA"];
    if PUBLIC.iter().any(|begin| value.starts_with(begin)) {
        return true;
    }
    value.len() == 40 && hex(value) && !value.iter().any(u8::is_ascii_lowercase)
}

/// Whether `value` is only hexadecimal digits.
#[inline(never)]
pub(crate) fn hex(value: &[u8]) -> bool {
    all(value, HEX)
}

/// Whether `value` has both a letter and a digit, or a letter and a sign no prose has inside a word.
#[inline(never)]
pub(crate) fn mixed(value: &[u8]) -> bool {
    let value = &value[..value.len().min(LOOK)];
    let (mut letters, mut signs, mut digits) = (false, false, 0);
    for &byte in value {
        letters |= is(byte, LETTER) || byte >= 0x80;
        digits += usize::from(is(byte, DIGIT));
        signs |= matches!(
            byte,
            b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'+' | b'=' | b'~' | b'?' | b'_' | b'/' | b'\\'
        );
        if letters && (digits > 0 || signs) {
            return true;
        }
    }
    digits >= 6
}

/// Whether `value` is only letters, `_`, `-`, `.` or `'`: a word or a name.
#[inline(never)]
pub(crate) fn wordlike(value: &[u8]) -> bool {
    value.iter().take(LOOK).all(|&c| is(c, LETTER) || matches!(c, b'_' | b'-' | b'.' | b'\'' | b':' | b'!' | b'?'))
}

/// Whether a bare value is a word of prose or a type.
#[inline(never)]
pub(crate) fn prose_word(value: &[u8]) -> bool {
    let trimmed = trim(value, b".:!?,;*&");
    words::folded(trimmed) & (PROSE | STANDIN) != 0
}

#[inline(never)]
fn trim<'a>(mut value: &'a [u8], what: &[u8]) -> &'a [u8] {
    while let [first, rest @ ..] = value
        && what.contains(first)
    {
        value = rest;
    }
    while let [rest @ .., last] = value
        && what.contains(last)
    {
        value = rest;
    }
    value
}

/// Whether `part` (lower case) stands in `value` in any case.
#[inline(never)]
fn contains(value: &[u8], part: &[u8]) -> bool {
    let first = part[0];
    value.len() >= part.len()
        && value[..=value.len() - part.len()]
            .iter()
            .enumerate()
            .any(|(at, c)| c.to_ascii_lowercase() == first && value[at..at + part.len()].eq_ignore_ascii_case(part))
}

/// What every mask begins with.
pub(crate) const MASK: &[u8] = b"[REDACTED";

/// The length of the mask that `value` begins with, if it does.
#[inline(never)]
pub(crate) fn mask_len(value: &[u8]) -> Option<usize> {
    let rest = value.strip_prefix(MASK)?;
    let close = rest.iter().take(96).position(|&c| c == b']')?;
    let label = &rest[..close];
    (label.is_empty() || label[0] == b':' && spelled(&label[1..], ALNUM, b"-_:#.")).then_some(MASK.len() + close + 1)
}

/// Whether `value` is masks and punctuation, and nothing else.
#[inline(never)]
pub(crate) fn masked(value: &[u8]) -> bool {
    let mut rest = value;
    let mut any = false;
    while let Some(&byte) = rest.first() {
        if let Some(size) = mask_len(rest) {
            rest = &rest[size..];
            any = true;
        } else if is(byte, ALNUM) || byte >= 0x80 {
            return false;
        } else {
            rest = &rest[1..];
        }
    }
    any
}

/// Whether `value` is a stand-in for a secret, a reference to one, or a mask.
#[inline(never)]
pub(crate) fn placeholder(value: &[u8]) -> bool {
    // A digest is public.
    if value.len() == 71 && value.starts_with(b"sha256:") {
        return true;
    }
    // Most values begin and end with letters or digits, and are longer than a word.
    if let [first, .., last] = *value
        && value.len() > MAX_WORD
        && is(first, ALNUM) & is(last, ALNUM)
        && first | 0x20 != b'x'
    {
        return stands_in(value);
    }
    let value = trim(value, b" \t");
    let Some((&first, &last)) = value.first().zip(value.last()) else { return true };
    if masked(value) || words::folded(trim(value, b"()<>[]*.,;")) & STANDIN != 0 {
        return true;
    }
    let dull = |c: u8| matches!(c, b'*' | b'x' | b'X' | b'.' | b'#' | b'?' | b'-' | b'_' | b' ') || c >= 0x80;
    if value.iter().all(|&c| dull(c) && c < 0x80) && !value.iter().all(|&c| c == b'#')
        || value.iter().all(|&c| c == first)
        || first >= 0x80
            && ["•", "…", "●", "█"].iter().any(|dot| {
                value.len().is_multiple_of(dot.len()) && value.chunks(dot.len()).all(|c| c == dot.as_bytes())
            })
    {
        return true;
    }
    let head = &value[..value.len().min(LOOK)];
    match first {
        b'<' if last == b'>' => return true,
        b'{' if last == b'}' || head.starts_with(b"{{") => return true,
        b'[' if last == b']' && wordlike(&value[1..value.len() - 1]) => return true,
        b'%' | b'#' | b'@' if head.get(1) == Some(&b'{') && name(trim(&head[2..], b" }")) => return true,
        b'%' if last == b'%' && value.len() > 2 && name(&value[1..value.len() - 1]) => return true,
        b'$' if head.starts_with(b"${") || head.starts_with(b"$(") || head.starts_with(b"$env:") => return true,
        b'$' => {
            // A variable is written in one case throughout; `$ecret1!` is a password.
            let rest = trim(&value[1..], b".,;:");
            return name(rest) && (!any(rest, DIGIT) || rest.iter().all(|c| !c.is_ascii_lowercase()));
        }
        _ => {}
    }
    head.starts_with(b"***") || head.ends_with(b"***") || value.ends_with(b"...") || stands_in(value)
}

/// Whether `value` says that it stands for something: four `x` in a row, a phrase, or one character throughout.
#[inline(never)]
fn stands_in(value: &[u8]) -> bool {
    let Some(&first) = value.first() else { return true };
    if value.iter().all(|&c| c == first) {
        return true;
    }
    if value.len() > MAX_WORDS {
        return false;
    }
    // Counted in bytes: so small a type is counted in many at once.
    let (mut crosses, mut digits) = (0u8, 0u8);
    for &c in value {
        crosses += u8::from(c | 0x20 == b'x');
        digits += u8::from(c.is_ascii_digit());
    }
    crosses >= 4 && contains(value, b"xxxx") && !random(value, 20) || digits <= 2 && says_standin(value)
}

/// Phrases that only a stand-in holds.
#[rustfmt::skip]
const PHRASES: &[&[u8]] = &[
    b"your-", b"your_", b"yourtoken", b"yourkey", b"yoursecret", b"my-secret", b"-here", b"_here", b"placeholder",
    b"replace-me", b"replace_me", b"replaceme", b"insert-", b"insert_", b"changeme",
];

/// The first two letters of [`PHRASES`], each once.
const PHRASE_BEGINS: [[u8; 2]; 8] = [*b"yo", *b"my", *b"-h", *b"_h", *b"pl", *b"re", *b"in", *b"ch"];

#[inline(never)]
fn says_standin(value: &[u8]) -> bool {
    let may_begin = |c: u8| matches!(c | 0x20, b'y' | b'm' | b'-' | 0x7f | b'p' | b'r' | b'i' | b'c');
    value.array_windows().enumerate().any(|(at, two): (usize, &[u8; 2])| {
        // What most letters are not is told first; `_` and 0x20 are 0x7f.
        may_begin(two[0])
            && PHRASE_BEGINS.contains(&[two[0].to_ascii_lowercase(), two[1].to_ascii_lowercase()])
            && PHRASES.iter().any(|phrase| {
                value.len() - at >= phrase.len() && value[at..at + phrase.len()].eq_ignore_ascii_case(phrase)
            })
    })
}

#[inline(never)]
fn name(value: &[u8]) -> bool {
    value.first().is_some_and(|&c| is(c, LETTER) || c == b'_') && spelled(value, ALNUM, b"_")
}

/// Look-ups of a secret in programs and configuration.
#[rustfmt::skip]
const LOOKUPS: &[&[u8]] = &[
    b"os.environ", b"os.getenv", b"process.env", b"env(", b"env[", b"env.", b"env:", b"getenv", b"system.getenv",
    b"std::env", b"secrets.", b"vault:", b"vault(", b"var.", b"local.", b"data.", b"settings.", b"config.",
    b"self.", b"this.", b"import.meta", b"ssm:", b"arn:", b"secretmanager", b"op://", b"file(", b"file:",
    b"keyring.", b"args.", b"options.", b"params.", b"context.", b"module.", b"deno.env", b"bun.env", b"ref+",
    b"sops:", b"!vault", b"!ref", b"@microsoft.keyvault", b"projects/",
];

/// The first two letters of [`LOOKUPS`].
static LOOKUP_BEGINS: [u16; LOOKUPS.len()] = {
    let mut begins = [0; LOOKUPS.len()];
    let mut at = 0;
    while at < LOOKUPS.len() {
        begins[at] = u16::from_le_bytes([LOOKUPS[at][0], LOOKUPS[at][1]]);
        at += 1;
    }
    begins
};

/// The look-up that `value` begins with.
fn looks_up(value: &[u8]) -> impl Iterator<Item = &'static [u8]> + '_ {
    let begin = match value {
        [first, second, ..] => u16::from_le_bytes([first.to_ascii_lowercase(), second.to_ascii_lowercase()]),
        _ => 0,
    };
    // Nearly all begin as none does: all are compared at once.
    let any = LOOKUP_BEGINS.iter().fold(false, |any, two| any | (*two == begin));
    let begins = if any { &LOOKUP_BEGINS[..] } else { &[] };
    let near = begins.iter().zip(LOOKUPS).filter(move |(two, _)| **two == begin).map(|(_, lookup)| *lookup);
    near.filter(|lookup| value.len() >= lookup.len() && value[..lookup.len()].eq_ignore_ascii_case(lookup))
}

/// Whether a bare value is a look-up or a call in a program.
#[inline(never)]
pub(crate) fn lookup(value: &[u8]) -> bool {
    let head = &value[..value.len().min(LOOK)];
    if looks_up(head).next().is_some() {
        return true;
    }
    // A call or an index: a name, dots and `::`, then an opening bracket.
    let end = head
        .iter()
        .position(|&c| !(is(c, ALNUM) || matches!(c, b'_' | b'.' | b':' | b'&' | b'*')))
        .unwrap_or(head.len());
    // The `!` of a macro belongs to its name.
    let end = end + usize::from(head.get(end) == Some(&b'!'));
    end > 0 && matches!(head.get(end), Some(b'(' | b'[')) && is(head[0], LETTER) | matches!(head[0], b'_' | b'&' | b'*')
}

/// Whether a quoted value is a look-up: only one that is written as such, since a password may have brackets.
#[inline(never)]
pub(crate) fn lookup_text(value: &[u8]) -> bool {
    looks_up(value).any(|lookup| {
        matches!(lookup.last(), Some(b'(' | b'[' | b'.' | b':' | b'/'))
            && value.len() > lookup.len()
            && (member(value)
                || value.ends_with(b")")
                || value.ends_with(b"]")
                || lookup.ends_with(b":")
                || lookup.ends_with(b"/"))
    })
}

/// Whether a bare value is the path of members of a program: `user.password`.
#[inline(never)]
pub(crate) fn member(value: &[u8]) -> bool {
    let parts = value.split(|&c| c == b'.');
    value.len() < 80
        && value.contains(&b'.')
        && parts.clone().all(name)
        && parts.flat_map(|part| part.iter()).all(|&c| !is(c, DIGIT))
}

/// Whether `value` is a path whose parts are names.
#[inline(never)]
pub(crate) fn path(value: &[u8]) -> bool {
    let rooted = value.starts_with(b"/")
        || value.starts_with(b"./")
        || value.starts_with(b"../")
        || value.starts_with(b"~/")
        || value.len() > 3 && value[1] == b':' && matches!(value[2], b'\\' | b'/') && is(value[0], LETTER);
    let head = &value[..value.len().min(LOOK)];
    // Most values have no parts.
    if !rooted && !head.iter().any(|&c| matches!(c, b'/' | b'\\')) {
        return false;
    }
    let parts = || head.split(|&c| matches!(c, b'/' | b'\\'));
    let plain = parts().filter(|part| !part.is_empty()).all(|part| part.len() < 40 && !random(part, 10));
    if rooted {
        return plain && value.len() > 2;
    }
    // A file name with an extension below at least one folder.
    plain
        && parts().count() >= 2
        && head.iter().rposition(|&c| c == b'.').is_some_and(|dot| {
            let extension = &head[dot + 1..];
            (2..=5).contains(&extension.len()) && extension.iter().all(|c| c.is_ascii_lowercase())
        })
}

/// Whether a quoted value is a sentence or a label rather than a secret.
#[inline(never)]
pub(crate) fn sentence(value: &[u8]) -> bool {
    if !value.contains(&b' ') {
        return false;
    }
    let mut words = value.split(|&c| c == b' ').filter(|word| !word.is_empty()).take(24);
    let plain = words.clone().all(|word| wordlike(trim(word, b",;:()\"")) || word.len() <= 2);
    let first_upper = value[0].is_ascii_uppercase();
    let tells = words.any(|word| words::folded(trim(word, b".,;:!?()")) & PROSE != 0);
    plain && (first_upper || tells) || tells && first_upper
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_text_is_opaque_and_names_are_not() {
        for value in [
            "7UV2PUBKiCUbyMJcxDWo7hq5onH1ap2I",
            "a8f5f167f44f4964e6c998dee827110c",
            "Zq8xPl0aMn3v",
            "dGhpcyBpcyBhIHNlY3JldA==",
        ] {
            assert!(opaque(value.as_bytes()), "{value}");
        }
        for value in [
            "node-cache-linux-x64-v2",
            "cl100k_base",
            "4096",
            "installation1",
            "getAccessTokenSilently",
            "3f2b8c1e-9d47-4a60-8e15-7c0d9b6a2f41",
            "release-candidate-2024",
            "app-decryption-secret",
            "src/main/java/Foo.java",
        ] {
            assert!(!opaque(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn stand_ins_are_placeholders_and_passwords_are_not() {
        for value in [
            "*****",
            "<YOUR_API_KEY>",
            "${TOKEN}",
            "$TOKEN",
            "{{ token }}",
            "xxx",
            "your-api-key",
            "null",
            "***",
            "[REDACTED:jwt]",
            "%TOKEN%",
            "changeme",
            "sk-...",
            "$(cat token)",
            "••••",
        ] {
            assert!(placeholder(value.as_bytes()), "{value}");
        }
        for value in
            ["hunter2", "$ecret99!", "correct-horse-9", "a[REDACTED:jwt]b", "x1y2z3", "пароль-77", "Tr0ub4dor&3"]
        {
            assert!(!placeholder(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn look_ups_and_paths_are_told_from_values() {
        assert!(lookup(b"os.environ.get("));
        assert!(lookup(b"get_password("));
        assert!(!lookup(b"hunter2"));
        assert!(path(b"/run/user/1000/keyring/ssh"));
        assert!(!path(b"/8f3kd9sKd0alsQ9xZ"));
        assert!(sentence(b"Enter your password"));
        assert!(!sentence(b"correct horse battery staple"));
    }
}
