//! What the name of a value says about it: `DB_PASSWORD` names a secret, `max_tokens` does not. It looks at names
//! only, never at values.

use crate::words::{self, BEFORE_PASS, BEHIND_PASS, PASSWORD, QUALIFIER, SECRET, TELLS, TELLS_FIRST, TOKEN};

/// How much a name alone proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strength {
    /// Not the name of a secret.
    None,
    /// The value must look like a secret too.
    Weak,
    /// Any value that is not a stand-in is a secret.
    Strong,
    /// The same, and people choose the value: it may be a plain word or a number.
    Password,
}

/// Longest name looked at.
pub(crate) const MAX_NAME: usize = 96;
/// Most words of a name looked at.
const MAX_WORDS: usize = 12;

/// Endings of words that make any name a password's.
#[rustfmt::skip]
const PASSWORD_ENDS: &[&str] = &[
    "password", "passwd", "passphrase", "_pwd", "passcode"
];
#[inline(never)]
fn one_of(word: &[u8], what: u32) -> bool {
    words::sets(word) & what != 0
}

/// The words of a name, lower case.
struct Words {
    text: [u8; MAX_NAME],
    ends: [usize; MAX_WORDS],
    count: usize,
}

impl Words {
    fn of(name: &[u8]) -> Self {
        let mut words = Self { text: [0; MAX_NAME], ends: [0; MAX_WORDS], count: 0 };
        let mut used = 0;
        let mut began = 0;
        let close = |used: usize, began: &mut usize, words: &mut Self| {
            if used > *began && words.count < MAX_WORDS {
                words.ends[words.count] = used;
                words.count += 1;
            }
            *began = used;
        };
        for (at, &byte) in name.iter().enumerate().take(MAX_NAME) {
            if !byte.is_ascii_alphanumeric() {
                close(used, &mut began, &mut words);
                continue;
            }
            let previous = if at > 0 { name[at - 1] } else { 0 };
            let next = name.get(at + 1).copied().unwrap_or(0);
            let hump = byte.is_ascii_uppercase()
                && (previous.is_ascii_lowercase() || previous.is_ascii_uppercase() && next.is_ascii_lowercase());
            if hump {
                close(used, &mut began, &mut words);
            }
            words.text[used] = byte.to_ascii_lowercase();
            used += 1;
        }
        close(used, &mut began, &mut words);
        words
    }

    #[inline(never)]
    fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends.get(index - 1).copied().unwrap_or_default() };
        self.ends.get(index).and_then(|&end| self.text.get(start..end)).unwrap_or_default()
    }
}

/// What `name` says about its value.
pub(crate) fn strength(name: &[u8]) -> Strength {
    if name.is_empty() || name.len() > MAX_NAME {
        return Strength::None;
    }
    let words = Words::of(name);
    let mut best = Strength::None;
    for index in 0..words.count {
        let word = words.get(index);
        let bare = trim_digits(word);
        let here = if bare == b"pass" && stage(&words, index) || bare == b"nopasswd" {
            Strength::None
        } else if one_of(bare, PASSWORD) || PASSWORD_ENDS.iter().any(|end| bare.ends_with(end.as_bytes())) {
            Strength::Password
        } else if one_of(bare, SECRET)
            || bare.ends_with(b"secret")
            || bare.ends_with(b"apikey")
            || bare.ends_with(b"authtoken")
        {
            Strength::Strong
        } else if one_of(bare, TOKEN) || bare.len() > 6 && bare.ends_with(b"token") {
            let qualified = index > 0
                && one_of(words.get(index - 1), QUALIFIER)
                && (matches!(bare, b"key" | b"token") || bare == b"keys");
            if qualified { Strength::Strong } else { Strength::Weak }
        } else {
            Strength::None
        };
        best = best.max(here);
    }
    if best == Strength::None || words.count == 0 {
        return best;
    }
    let last = words.get(words.count - 1);
    // The qualifier may itself be one of these words: `host_key` is about a key, `password_host` about a host.
    // The key of a wireless network, in programs part of many names.
    if words.count == 1 && last == b"psk" {
        return Strength::Strong;
    }
    // What is asked for once: `reset_token`.
    if words.count == 2 && last == b"token" && matches!(words.get(0), b"reset" | b"verify" | b"invite") {
        return Strength::Weak;
    }
    if words.count > 1 && (one_of(last, TELLS) && !session(&words) || one_of(words.get(0), TELLS_FIRST)) {
        return Strength::None;
    }
    // A plain `auth` is a mode more often than a value.
    if words.count == 1 && last == b"auth" {
        return Strength::Weak;
    }
    best
}

/// Whether the `pass` at `index` is one of several runs over something, or a verb: `second_pass`, `pass_by_value`.
fn stage(words: &Words, index: usize) -> bool {
    index > 0 && one_of(words.get(index - 1), BEFORE_PASS)
        || index + 1 < words.count && one_of(words.get(index + 1), BEHIND_PASS)
}

fn session(words: &Words) -> bool {
    words.count == 2 && words.get(0) == b"session" && words.get(1) == b"id"
}

fn trim_digits(word: &[u8]) -> &[u8] {
    let end = word.iter().rposition(|c| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    &word[..end]
}

/// Whether `name` is only the word `key`, which names much besides secrets.
pub(crate) fn plain_key(name: &[u8]) -> bool {
    let words = Words::of(name);
    words.count == 1 && matches!(words.get(0), b"key" | b"keys")
}

/// Whether `name`, without case and separators, is `other` (lower case).
#[inline(never)]
pub(crate) fn same(name: &[u8], other: &[u8]) -> bool {
    let mut letters = name.iter().filter(|c| !matches!(c, b'_' | b'-' | b'.')).map(u8::to_ascii_lowercase);
    other.iter().all(|&byte| letters.next() == Some(byte)) && letters.next().is_none()
}

/// Whether a value says the same as its name: `password=password`, `api_key=api_key`.
#[inline(never)]
pub(crate) fn echoes(name: &[u8], value: &[u8]) -> bool {
    fn backwards(text: &[u8]) -> impl Iterator<Item = u8> {
        text.iter().rev().filter(|c| c.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase)
    }
    if value.len() > MAX_NAME || value.len() < 3 {
        return false;
    }
    // A name has its words apart: `oauth2_pass` is one, and `s3cr3tpass` is none.
    let apart = value.iter().any(|c| !c.is_ascii_alphanumeric());
    // The shorter one must be the end of the longer one.
    let (mut name, mut value) = (backwards(name), backwards(value));
    let mut any = false;
    loop {
        match (name.next(), value.next()) {
            (Some(a), Some(b)) if a == b => any = true,
            (Some(_), Some(_)) => return false,
            (None, Some(c)) if !apart && (c.is_ascii_digit() || value.any(|c| c.is_ascii_digit())) => return false,
            _ => return any,
        }
    }
}

/// The strengths of the last names: a text has few, and repeats them.
#[derive(Default)]
pub(crate) struct Memory {
    /// Names of at most eight bytes, as numbers: equal ones are equal without a loop.
    short: [(u64, Option<Strength>); NAMES],
    /// Where others stand.
    long: [(usize, usize, Option<Strength>); NAMES],
}

/// Names kept.
const NAMES: usize = 16;

impl Memory {
    /// As [`strength`] of `text[start..end]`.
    pub(crate) fn strength(&mut self, text: &[u8], start: usize, end: usize) -> Strength {
        let size = end.wrapping_sub(start);
        let eight = text.get(start..).and_then(<[u8]>::first_chunk);
        let Some(&eight) = eight.filter(|_| (1..=8).contains(&size)) else {
            return self.long(text, start, end);
        };
        let key = u64::from_le_bytes(eight) << (8 * (8 - size));
        // The golden ratio of 2^64, an odd constant of multiplicative hashes.
        let place = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - NAMES.ilog2());
        let known = &mut self.short[place as usize % NAMES];
        if let (name, Some(strength)) = *known
            && name == key
        {
            return strength;
        }
        let found = text.get(start..end).map_or(Strength::None, strength);
        *known = (key, Some(found));
        found
    }

    #[inline(never)]
    fn long(&mut self, text: &[u8], start: usize, end: usize) -> Strength {
        let Some(name) = text.get(start..end) else { return Strength::None };
        let Some((&first, &last)) = name.first().zip(name.last()) else { return Strength::None };
        let known = &mut self.long[(usize::from(first) * 3 + usize::from(last) + name.len()) % NAMES];
        if let (from, until, Some(strength)) = *known
            && text.get(from..until) == Some(name)
        {
            return strength;
        }
        let found = strength(name);
        *known = (start, end, Some(found));
        found
    }
}

/// Whether this is where a shell works (`PWD=/srv/app`, `pwd: /srv/app`) and no password of that name.
pub(crate) fn working_folder(name: &[u8], value: &[u8]) -> bool {
    matches!(value.first(), Some(b'/' | b'~'))
        && (name.eq_ignore_ascii_case(b"pwd") || name.eq_ignore_ascii_case(b"oldpwd"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_told_from_names_about_them() {
        for name in [
            "PASSWORD",
            "PGPASSWORD",
            "db_password",
            "dbPassword",
            "MYSQL_PWD",
            "spring.datasource.password",
            "userPass",
            "DB_PASSWORD_2",
        ] {
            assert_eq!(strength(name.as_bytes()), Strength::Password, "{name}");
        }
        for name in [
            "client_secret",
            "SECRET_KEY_BASE",
            "apiKey",
            "x-api-key",
            "API_TOKEN",
            "accessToken",
            "AWS_SECRET_ACCESS_KEY",
            "_authToken",
            "clientSecret",
        ] {
            assert_eq!(strength(name.as_bytes()), Strength::Strong, "{name}");
        }
        for name in ["STRIPE_KEY", "token", "key", "sid", "session_id"] {
            assert_eq!(strength(name.as_bytes()), Strength::Weak, "{name}");
        }
        for name in [
            "MAX_TOKENS",
            "tokenizer",
            "secretName",
            "secretKeyRef",
            "public_key",
            "passed",
            "compass",
            "password_file",
            "author",
            "authority",
            "keyboard",
            "SSH_AUTH_SOCK",
            "token_count",
            "monkey",
            "passenger",
            "primary_key",
            "authMethod",
        ] {
            assert_eq!(strength(name.as_bytes()), Strength::None, "{name}");
        }
    }

    #[test]
    fn a_value_that_repeats_its_name_is_an_echo() {
        assert!(echoes(b"api_key", b"api_key"));
        assert!(echoes(b"db_password", b"password"));
        assert!(!echoes(b"password", b"hunter2"));
        assert!(echoes(b"pass", b"oauth2_pass") && echoes(b"password", b"userPassword"));
        assert!(!echoes(b"pass", b"S3cr3tPass"), "it ends with its name by chance");
    }
}
