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
const PASSWORDS: &[&str] = &["pass", "passwd", "pswd", "passwords", "passwds", "passcode", "pw", "pwd", "passphrases",
    "dbpass", "userpass", "rootpass", "sshpass", "mypass", "adminpass", "smtppass", "mailpass", "ftppass", "keypass", "storepass"];
/// Endings that do.
const PASSWORD_ENDS: &[&str] = &["password", "passwd", "passphrase", "_pwd", "passcode"];
/// Words that make a name strong.
const STRONG: &[&str] = &["secret", "credential", "cred", "creds", "auth", "bearer", "apikey", "authtoken", "accesstoken",
    "accesskey", "secretkey", "privatekey", "apitoken", "authkey", "refreshtoken", "idtoken", "identitytoken", "signingkey",
    "masterkey", "encryptionkey", "sessiontoken", "usertoken", "bottoken", "accountkey", "sharedkey", "deploykey", "privkey"];
/// Words that need a value that looks like a secret.
const WEAK: &[&str] = &["key", "keys", "token", "tokens", "secrets", "credentials", "session", "sessionid", "sessid", "sid", "jwt",
    "csrf", "xsrf", "csrftoken", "cookie", "phpsessid", "jsessionid", "apikeys", "authenticity", "psk", "authorization"];
/// Words that make a following `key` or `token` strong.
const QUALIFIERS: &[&str] = &["api", "auth", "access", "refresh", "session", "id", "identity", "bearer", "app", "client", "master",
    "private", "signing", "signature", "encryption", "encrypt", "account", "storage", "shared", "subscription", "deploy",
    "deployment", "personal", "admin", "root", "service", "security", "secret", "oauth", "oauth2", "jwt", "bot", "push",
    "webhook", "vault", "gh", "github", "gitlab", "npm", "registry", "user", "functions", "host", "license", "integration", "application", "runner", "csrf", "hmac"];
/// Last words of names that tell about a secret and do not hold it.
const ABOUT: &[&str] = &["file", "files", "filename", "path", "paths", "dir", "dirs", "folder", "url", "urls", "uri", "uris", "endpoint",
    "host", "hostname", "port", "name", "names", "type", "types", "kind", "id", "ids", "ttl", "limit", "limits", "count", "counts",
    "counter", "size", "sizes", "length", "len", "min", "max", "policy", "policies", "expiry", "expires", "expiration", "exp", "expire",
    "expired", "timeout", "enabled", "enable", "disabled", "required", "require", "reset", "hint", "hints", "ref", "refs", "algo",
    "algorithm", "alg", "method", "methods", "mode", "version", "prefix", "suffix", "format", "label", "store", "storage",
    "provider", "providers", "manager", "validator", "validation", "strength", "index", "usage", "used", "budget", "rotation", "age",
    "status", "state", "error", "errors", "field", "fields", "column", "table", "header", "headers", "placeholder", "prompt", "link",
    "page", "form", "input", "example", "template", "pattern", "regex", "rule", "rules", "check", "checks", "helper", "util", "utils",
    "handler", "class", "interface", "event", "events", "test", "tests", "spec", "group", "groups", "scope", "scopes", "role", "roles", "user",
    "username", "email", "owner", "source", "issuer", "audience", "realm", "domain", "mapping", "map", "bits", "arn", "location",
    "agent", "sock", "socket", "server", "bucket", "region", "at", "by", "in", "on", "ready", "valid", "invalid", "changed", "updated",
    "created", "service", "services", "flow", "module", "middleware", "config", "configuration", "options", "settings", "request", "response", "client", "guard",
    "function", "factory", "controller", "router", "route", "routes", "schema", "model", "dto", "props", "ring", "board", "chain", "stream", "word", "words",
    "cmd", "command", "stdin", "fd", "env", "var", "grant", "mechanism", "scheme", "level", "plugin", "callback", "redirect", "rs", "py", "js", "ts", "go", "json", "yaml", "yml", "md", "txt", "toml", "html", "css", "java", "c", "h", "cpp", "log", "lock", "sh", "tsx", "jsx", "pub", "fingerprint", "thumbprint", "per", "rate", "cost", "price", "total", "remaining", "window", "budget", "usage"];
/// First words of such names.
const ABOUT_FIRST: &[&str] = &["max", "min", "num", "n", "total", "count", "public", "primary", "foreign", "partition", "sort", "cache",
    "has", "is", "use", "no", "show", "hide", "require", "requires", "enable", "disable", "allow", "skip", "with", "forgot", "reset",
    "change", "update", "validate", "verify", "check", "invalid", "missing", "expired", "prompt", "completion", "input", "output", "total", "hash", "idempotency", "lookup", "object", "row", "map", "dict", "hot", "arrow", "ssh-rsa", "known", "host", "s3", "sorting", "group", "on", "if", "must", "should", "can"];

fn one_of(word: &[u8], words: &[&str]) -> bool {
    words.iter().any(|candidate| candidate.as_bytes() == word)
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
        let here = if one_of(bare, PASSWORDS) || PASSWORD_ENDS.iter().any(|end| bare.ends_with(end.as_bytes())) {
            Strength::Password
        } else if one_of(bare, STRONG) || bare.ends_with(b"secret") || bare.ends_with(b"apikey") || bare.ends_with(b"authtoken") {
            Strength::Strong
        } else if one_of(bare, WEAK) || bare.len() > 6 && bare.ends_with(b"token") {
            let qualified = index > 0
                && one_of(words.get(index - 1), QUALIFIERS)
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
    if words.count > 1 && (one_of(last, ABOUT) && !session(&words) || one_of(words.get(0), ABOUT_FIRST)) {
        return Strength::None;
    }
    // A plain `auth` is a mode more often than a value.
    if words.count == 1 && last == b"auth" {
        return Strength::Weak;
    }
    best
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
pub(crate) fn same(name: &[u8], other: &[u8]) -> bool {
    let mut letters = name.iter().filter(|c| !matches!(c, b'_' | b'-' | b'.')).map(u8::to_ascii_lowercase);
    other.iter().all(|&byte| letters.next() == Some(byte)) && letters.next().is_none()
}

/// Whether a value says the same as its name: `password=password`, `api_key=api_key`.
pub(crate) fn echoes(name: &[u8], value: &[u8]) -> bool {
    let letters = |text: &[u8]| -> Vec<u8> {
        text.iter().filter(|c| c.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect()
    };
    if value.len() > MAX_NAME || value.len() < 3 {
        return false;
    }
    let (name, value) = (letters(name), letters(value));
    !value.is_empty() && (name.ends_with(&value) || value.ends_with(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_told_from_names_about_them() {
        for name in ["PASSWORD", "PGPASSWORD", "db_password", "dbPassword", "MYSQL_PWD", "spring.datasource.password", "userPass", "DB_PASSWORD_2"] {
            assert_eq!(strength(name.as_bytes()), Strength::Password, "{name}");
        }
        for name in ["client_secret", "SECRET_KEY_BASE", "apiKey", "x-api-key", "API_TOKEN", "accessToken", "AWS_SECRET_ACCESS_KEY", "_authToken", "clientSecret"] {
            assert_eq!(strength(name.as_bytes()), Strength::Strong, "{name}");
        }
        for name in ["STRIPE_KEY", "token", "key", "sid", "session_id"] {
            assert_eq!(strength(name.as_bytes()), Strength::Weak, "{name}");
        }
        for name in ["MAX_TOKENS", "tokenizer", "secretName", "secretKeyRef", "public_key", "passed", "compass", "password_file",
            "author", "authority", "keyboard", "SSH_AUTH_SOCK", "token_count", "monkey", "passenger", "primary_key", "authMethod"] {
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
