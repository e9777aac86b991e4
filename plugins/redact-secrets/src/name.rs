//! What the name of a value says about it: `DB_PASSWORD` names a secret, `max_tokens` does not. It looks at names
//! only, never at values.

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

/// Words that make any name a password's.
#[rustfmt::skip]
const PASSWORDS: &[&str] = &[
    "pass", "passwd", "pswd", "passwords", "passwds", "passcode", "pw", "pwd", "passphrases", "dbpass", "userpass",
    "rootpass", "sshpass", "mypass", "adminpass", "smtppass", "mailpass", "ftppass", "keypass", "storepass",
];
/// Endings that do.
#[rustfmt::skip]
const PASSWORD_ENDS: &[&str] = &[
    "password", "passwd", "passphrase", "_pwd", "passcode"
];
/// Words that make a name strong.
#[rustfmt::skip]
const STRONG: &[&str] = &[
    "secret", "credential", "cred", "creds", "auth", "bearer", "apikey", "authtoken", "accesstoken", "accesskey",
    "secretkey", "privatekey", "apitoken", "authkey", "refreshtoken", "idtoken", "identitytoken", "signingkey",
    "masterkey", "encryptionkey", "sessiontoken", "usertoken", "bottoken", "accountkey", "sharedkey", "deploykey",
    "privkey",
];
/// Words that need a value that looks like a secret.
#[rustfmt::skip]
const WEAK: &[&str] = &[
    "key", "keys", "token", "tokens", "secrets", "credentials", "session", "sessionid", "sessid", "sid", "jwt",
    "csrf", "xsrf", "csrftoken", "cookie", "phpsessid", "jsessionid", "apikeys", "authenticity", "psk",
    "authorization",
];
/// Words that make a following `key` or `token` strong.
#[rustfmt::skip]
const QUALIFIERS: &[&str] = &[
    "api", "auth", "access", "refresh", "session", "id", "identity", "bearer", "app", "client", "master", "private",
    "signing", "signature", "encryption", "encrypt", "account", "storage", "shared", "subscription", "deploy",
    "deployment", "personal", "admin", "root", "service", "security", "secret", "oauth", "oauth2", "jwt", "bot",
    "push", "webhook", "vault", "gh", "github", "gitlab", "npm", "registry", "user", "functions", "host", "license",
    "integration", "application", "runner", "csrf", "hmac",
];
/// Last words of names that tell about a secret and do not hold it.
#[rustfmt::skip]
const ABOUT: &[&str] = &[
    "file", "files", "filename", "path", "paths", "dir", "dirs", "folder", "url", "urls", "uri", "uris", "endpoint",
    "host", "hostname", "port", "name", "names", "type", "types", "kind", "id", "ids", "ttl", "limit", "limits",
    "count", "counts", "counter", "size", "sizes", "length", "len", "min", "max", "policy", "policies", "expiry",
    "expires", "expiration", "exp", "expire", "expired", "timeout", "enabled", "enable", "disabled", "required",
    "require", "reset", "hint", "hints", "ref", "refs", "algo", "algorithm", "alg", "method", "methods", "mode",
    "version", "prefix", "suffix", "format", "label", "store", "storage", "provider", "providers", "manager",
    "validator", "validation", "strength", "index", "usage", "used", "budget", "rotation", "age", "status", "state",
    "error", "errors", "field", "fields", "column", "table", "header", "headers", "placeholder", "prompt", "link",
    "page", "form", "input", "example", "template", "pattern", "regex", "rule", "rules", "check", "checks",
    "helper", "util", "utils", "handler", "class", "interface", "event", "events", "test", "tests", "spec", "group",
    "groups", "scope", "scopes", "role", "roles", "user", "username", "email", "owner", "source", "issuer",
    "audience", "realm", "domain", "mapping", "map", "bits", "arn", "location", "agent", "sock", "socket", "server",
    "bucket", "region", "at", "by", "in", "on", "ready", "valid", "invalid", "changed", "updated", "created",
    "service", "services", "flow", "module", "middleware", "config", "configuration", "options", "settings",
    "request", "response", "client", "guard", "function", "factory", "controller", "router", "route", "routes",
    "schema", "model", "dto", "props", "ring", "board", "chain", "stream", "word", "words", "cmd", "command",
    "stdin", "fd", "env", "var", "grant", "mechanism", "scheme", "level", "plugin", "callback", "redirect", "rs",
    "py", "js", "ts", "go", "json", "yaml", "yml", "md", "txt", "toml", "html", "css", "java", "c", "h", "cpp",
    "log", "lock", "sh", "tsx", "jsx", "pub", "fingerprint", "thumbprint", "per", "rate", "cost", "price", "total",
    "remaining", "window", "budget", "usage", "management", "supported", "order", "const", "local", "completed",
    "serialization", "detector", "release", "func", "ext", "handle", "property", "offset", "result", "stmt", "checking",
];
/// First words of such names.
#[rustfmt::skip]
const ABOUT_FIRST: &[&str] = &[
    "max", "min", "num", "n", "total", "count", "public", "primary", "foreign", "partition", "sort", "cache", "has",
    "is", "use", "no", "show", "hide", "require", "requires", "enable", "disable", "allow", "skip", "with",
    "forgot", "reset", "change", "update", "validate", "verify", "check", "invalid", "missing", "expired", "prompt",
    "completion", "input", "output", "total", "hash", "idempotency", "lookup", "object", "row", "map", "dict",
    "hot", "arrow", "jobserver", "ssh-rsa", "known", "host", "s3", "sorting", "group", "on", "if", "must", "should", "can",
];

/// A word of [`PASSWORDS`].
const PASSWORD: u8 = 1;
/// A word of [`STRONG`].
const SECRET: u8 = 2;
/// A word of [`WEAK`].
const TOKEN: u8 = 4;
/// A word of [`QUALIFIERS`].
const QUALIFIER: u8 = 8;
/// A word of [`ABOUT`].
const TELLS: u8 = 16;
/// A word of [`ABOUT_FIRST`].
const TELLS_FIRST: u8 = 32;

/// Slots of the word table: half as many again as there are words.
const SLOTS: usize = 512;

/// All words with what they are, found by their hash.
static TABLE: [(&str, u8); SLOTS] = table();

const fn slot(word: &[u8]) -> usize {
    let mut hash = 0x811c_9dc5u32;
    let mut at = 0;
    while at < word.len() {
        hash = (hash ^ word[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    (hash >> 7) as usize % SLOTS
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

const fn add(mut table: [(&'static str, u8); SLOTS], words: &[&'static str], flag: u8) -> [(&'static str, u8); SLOTS] {
    let mut index = 0;
    while index < words.len() {
        let mut at = slot(words[index].as_bytes());
        while table[at].1 != 0 && !equal(table[at].0.as_bytes(), words[index].as_bytes()) {
            at = (at + 1) % SLOTS;
        }
        table[at] = (words[index], table[at].1 | flag);
        index += 1;
    }
    table
}

const fn table() -> [(&'static str, u8); SLOTS] {
    let table = add([("", 0); SLOTS], PASSWORDS, PASSWORD);
    let table = add(table, STRONG, SECRET);
    let table = add(table, WEAK, TOKEN);
    let table = add(table, QUALIFIERS, QUALIFIER);
    let table = add(table, ABOUT, TELLS);
    add(table, ABOUT_FIRST, TELLS_FIRST)
}

/// What a word is: the flags above.
fn flags(word: &[u8]) -> u8 {
    let mut at = slot(word);
    while TABLE[at].1 != 0 {
        if TABLE[at].0.as_bytes() == word {
            return TABLE[at].1;
        }
        at = (at + 1) % SLOTS;
    }
    0
}

fn one_of(word: &[u8], what: u8) -> bool {
    flags(word) & what != 0
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

    fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start..self.ends[index]]
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
    /// Words before it.
    const BEFORE: &[&[u8]] = &[
        b"first",
        b"second",
        b"third",
        b"last",
        b"next",
        b"current",
        b"single",
        b"one",
        b"two",
        b"multi",
        b"each",
        b"every",
        b"final",
        b"tests",
        b"must",
        b"should",
        b"opt",
        b"optimization",
        b"render",
        b"compute",
        b"high",
        b"low",
        b"band",
        b"by",
    ];
    /// Words behind it.
    const BEHIND: &[&[u8]] =
        &[b"by", b"with", b"through", b"to", b"on", b"if", b"as", b"fail", b"context", b"fds", b"manager", b"obj"];
    index > 0 && BEFORE.contains(&words.get(index - 1))
        || index + 1 < words.count && BEHIND.contains(&words.get(index + 1))
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
    // The shorter one must be the end of the longer one.
    let (mut name, mut value) = (backwards(name), backwards(value));
    let mut any = false;
    loop {
        match (name.next(), value.next()) {
            (Some(a), Some(b)) if a == b => any = true,
            (Some(_), Some(_)) => return false,
            _ => return any,
        }
    }
}

/// The strengths of the last names: a text has few, and repeats them.
#[derive(Default)]
pub(crate) struct Memory([(usize, usize, Option<Strength>); 8]);

impl Memory {
    /// As [`strength`] of `text[start..end]`.
    pub(crate) fn strength(&mut self, text: &[u8], start: usize, end: usize) -> Strength {
        let name = &text[start..end];
        let Some((&first, &last)) = name.first().zip(name.last()) else { return Strength::None };
        let place = (usize::from(first) * 3 + usize::from(last) + name.len()) % self.0.len();
        if let (from, until, Some(known)) = self.0[place]
            && text[from..until] == *name
        {
            return known;
        }
        let found = strength(name);
        self.0[place] = (start, end, Some(found));
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
    }
}
