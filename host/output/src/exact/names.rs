//! Which variables hold secrets: by their names, word by word, and by values that cannot be one.
//!
//! A wrong "yes" masks an ordinary word wherever it stands, a wrong "no" leaves a secret to the redactors. Names that
//! say it outright are believed; names that only may mean it need a value that looks random.

use super::VALUE_BYTES_MIN;
use super::words::{
    DESKTOPS, HARMLESS_ENDS, KEY_KINDS, ORDINARY_WORDS, REFERENCES, SCHEMES, SECRET_WHOLE_WORDS, SECRET_WORDS,
    WEAK_WORDS,
};

/// How much a name says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Claim {
    None,
    /// The value must look random as well.
    Weak,
    Strong,
}

/// The secrets in a variable: its value, what follows the scheme of a header's value, each of a list of values, or the
/// password of a URL or connection string. Empty where there is none.
pub(super) fn secrets_of(name: &str, value: &str) -> Vec<String> {
    let value = value.trim();
    let mut found = Vec::new();
    if value.len() < VALUE_BYTES_MIN {
        return found;
    }
    if let Some(userinfo) = userinfo(value) {
        of_userinfo(userinfo, &mut found);
        return found;
    }
    let words = words(name);
    let last = words.last().map_or("", String::as_str);
    if matches!(last, "DSN" | "STRING") && value.contains('=') {
        let parts = value.split(|char: char| char == ';' || char.is_whitespace());
        for (key, part) in parts.filter_map(|part| part.split_once('=')) {
            if claim(&self::words(key)) == Claim::Strong && may_be_secret(part) {
                found.push(part.to_owned());
            }
        }
        return found;
    }
    // A URL without a password is a place, unless whoever knows it may post there.
    if after_scheme(value).is_some() && !words.iter().any(|word| word == "WEBHOOK") {
        return found;
    }
    let believed = match claim(&words) {
        Claim::None => false,
        Claim::Weak => may_be_secret(value) && looks_random(value),
        Claim::Strong => may_be_secret(value),
    };
    if believed {
        found.push(value.to_owned());
        if let Some((scheme, rest)) = value.split_once(' ')
            && SCHEMES.contains(&scheme.trim_end_matches(':').to_ascii_lowercase().as_str())
            && may_be_secret(rest)
        {
            found.push(rest.trim().to_owned());
        }
        if !value.contains(char::is_whitespace) {
            let parts: Vec<&str> = value.split(',').collect();
            if parts.len() > 1 && parts.iter().all(|part| may_be_secret(part) && looks_random(part)) {
                found.extend(parts.into_iter().map(str::to_owned));
            }
        }
    }
    found
}

/// Whether a value stands in so many texts that masking it would only harm.
pub(super) fn stands_everywhere(value: &str) -> bool {
    ORDINARY_WORDS.iter().any(|word| word.eq_ignore_ascii_case(value)) || is_number(value) || is_one_byte(value)
}

/// The words of a name in capitals: cut at anything that is no letter or digit, and where small letters end.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_small = false;
    for char in name.chars() {
        let separates = !char.is_ascii_alphanumeric();
        if (separates || (before_small && char.is_ascii_uppercase()))
            && words.last().is_some_and(|word| !word.is_empty())
        {
            words.push(String::new());
        }
        before_small = char.is_ascii_lowercase();
        if let Some(word) = words.last_mut()
            && !separates
        {
            word.push(char.to_ascii_uppercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn claim(words: &[String]) -> Claim {
    let Some(last) = words.last() else { return Claim::None };
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    let kind_of_key = words
        .windows(2)
        .any(|pair| KEY_KINDS.contains(&pair[0].as_str()) && matches!(pair[1].as_str(), "KEY" | "KEYS"));
    if has("PUBLIC") || words == ["PWD"] {
        return Claim::None;
    }
    // An AWS key and a Vault role are named by their ids, and a session is its id.
    let known_id = last == "ID" && (has("ACCESS") && has("KEY") || has("SECRET") || has("SESSION"));
    let webhook = has("WEBHOOK") && matches!(last.as_str(), "URL" | "URI");
    if HARMLESS_ENDS.contains(&last.as_str()) && !known_id && !webhook {
        return Claim::None;
    }
    let says_so = |word: &String| {
        let singular = word.strip_suffix('S').unwrap_or(word);
        SECRET_WORDS.iter().any(|known| singular.ends_with(known) || word.ends_with(known))
            || SECRET_WHOLE_WORDS.contains(&word.as_str())
            || KEY_KINDS.iter().any(|kind| word.strip_suffix("KEY") == Some(kind))
    };
    if kind_of_key || words.iter().any(says_so) || last == "AUTH" {
        return Claim::Strong;
    }
    if has("SESSION") && DESKTOPS.contains(&words[0].as_str()) {
        return Claim::None;
    }
    if words.iter().any(|word| WEAK_WORDS.contains(&word.as_str())) { Claim::Weak } else { Claim::None }
}

/// Whether a value can be a secret at all.
fn may_be_secret(value: &str) -> bool {
    let value = value.trim();
    value.len() >= VALUE_BYTES_MIN
        && !stands_everywhere(value)
        && !is_path(value)
        && !REFERENCES.iter().any(|beginning| value.starts_with(beginning))
}

fn is_number(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit() || b"+-.,_:".contains(&byte)) || value.parse::<f64>().is_ok()
}

/// Whether it is one character again and again, as in `********`.
fn is_one_byte(value: &str) -> bool {
    value.bytes().all(|byte| Some(byte) == value.bytes().next())
}

/// Whether it looks like a path: it begins like one, and every part is a plain name that does not look random.
fn is_path(value: &str) -> bool {
    let begins = ["/", "./", "../", "~/"].iter().any(|beginning| value.starts_with(beginning));
    let plain = |char: char| char.is_alphanumeric() || "_.-@~ :/".contains(char);
    begins && value.chars().all(plain) && !value.split(['/', ':']).any(|part| part.len() >= 20 && classes(part) == 3)
}

/// Whether a value only says where something is: a path, or a URL in which nobody would put a secret.
pub(super) fn is_place(value: &str) -> bool {
    let value = value.trim();
    let plain_url = |rest: &str| userinfo(value).is_none() && !rest.contains(['?', '#', ';']) && !looks_random(rest);
    is_path(value) || after_scheme(value).is_some_and(plain_url)
}

/// Whether some part of it has at least 12 characters of two kinds, or is 16 hexadecimal digits and more.
fn looks_random(value: &str) -> bool {
    let token = |char: char| char.is_ascii_alphanumeric() || "_-+/=.~".contains(char);
    value.split(|char| !token(char)).any(|part| {
        (part.len() >= 12 && classes(part) >= 2)
            || (part.len() >= 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    })
}

/// How many of small letters, capitals and digits there are.
fn classes(text: &str) -> usize {
    let kinds = [u8::is_ascii_lowercase, u8::is_ascii_uppercase, u8::is_ascii_digit];
    kinds.iter().filter(|kind| text.bytes().any(|byte| kind(&byte))).count()
}

/// What stands after the scheme, if the value is a URL.
fn after_scheme(value: &str) -> Option<&str> {
    let (scheme, rest) = value.split_once("://")?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    (!scheme.is_empty() && scheme.bytes().all(plain)).then_some(rest)
}

/// What stands before the host of a URL, if anything does.
fn userinfo(value: &str) -> Option<&str> {
    let rest = after_scheme(value)?;
    // A password may hold what should have been encoded, so the last `@` before the path counts, and if there is none
    // there, the last of all; but what follows a host is a port.
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let host_and_port = match authority.split_once(':') {
        Some((_, port)) => port.bytes().all(|byte| byte.is_ascii_digit()),
        None => true,
    };
    match authority.rsplit_once('@') {
        Some((userinfo, _)) => Some(userinfo),
        None if host_and_port => None,
        None => rest.rsplit_once('@').map(|(userinfo, _)| userinfo),
    }
}

/// The password of a URL, or the token that stands where the user does; as it is written, and decoded.
fn of_userinfo(userinfo: &str, found: &mut Vec<String>) {
    let secret = match userinfo.split_once(':') {
        Some((_, password)) if !password.is_empty() => password,
        Some((user, _)) => user,
        None => userinfo,
    };
    let is_password = userinfo.contains(':') && !userinfo.ends_with(':');
    if !may_be_secret(secret) || !(is_password || looks_random(secret)) {
        return;
    }
    found.push(secret.to_owned());
    if let Some(decoded) = percent_decoded(secret)
        && may_be_secret(&decoded)
    {
        found.push(decoded);
    }
    // In `https://TOKEN:x-oauth-basic@host` the user is the secret.
    if let Some((user, _)) = userinfo.split_once(':')
        && looks_random(user)
        && may_be_secret(user)
        && user != secret
    {
        found.push(user.to_owned());
    }
}

/// The text without percent encoding, if it has any.
fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_say_it_are_believed() {
        for (name, value) in [
            ("GITHUB_TOKEN", "ghp_0123456789abcdef"),
            ("SECRET_TOKEN", "swordfish"),
            ("DB_PASSWORD", "hunter2!hunter2"),
            ("PGPASSWORD", "correcthorse"),
            ("MYSQL_PWD", "correcthorse"),
            ("SSHPASS", "correcthorse"),
            ("SMTP_PASS", "correcthorse"),
            ("ADMIN_PW", "correcthorse"),
            ("OPENAI_API_KEY", "sk-abcdefgh"),
            ("APIKEY", "abcdefgh"),
            ("apiKey", "abcdefgh"),
            ("githubToken", "abcdefgh"),
            ("AWS_ACCESS_KEY_ID", "AKIADQYT5VQSTSR4TU3I"),
            ("AWS_SECRET_ACCESS_KEY", "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"),
            ("SECRET_KEY_BASE", "a passphrase of words"),
            ("GOOGLE_CREDENTIALS", "{\"auth_uri\": \"https://a.example\", \"c\": 1}"),
            ("REDISCLI_AUTH", "correcthorse"),
            ("STRIPE_KEY", "sk_live_0123abc"),
            ("GITHUB_PAT", "github_pat_11ABC"),
            ("SESSION_COOKIE", "sid=0123456789abcdef"),
            ("SLACK_WEBHOOK_URL", "https://hooks.example.com/services/T0/B0/abc"),
            ("npm_config__authToken", "npm_abcdefgh"),
        ] {
            assert!(secrets_of(name, value).contains(&value.to_owned()), "{name}={value}");
        }
    }

    #[test]
    fn names_about_a_secret_and_ordinary_names_are_not() {
        for (name, value) in [
            ("PATH", "/usr/bin:/bin"),
            ("PWD", "/home/me/secret-project"),
            ("OLDPWD", "/home/me/a-folder"),
            ("SSH_AUTH_SOCK", "/tmp/ssh-XXXX/agent.12345"),
            ("TOKENIZERS_PARALLELISM", "falsefalse"),
            ("KEYBOARD", "Abcdefgh12345678"),
            ("MONKEY", "Abcdefgh12345678"),
            ("COMPASS", "Abcdefgh12345678"),
            ("GPG_TTY", "/dev/pts/12"),
            ("TOKEN_PATH", "Abcdefgh12345678"),
            ("SECRET_FILE", "Abcdefgh12345678"),
            ("KEY_DIR", "Abcdefgh12345678"),
            ("AUTH_TYPE", "Oauth2-With-Pkce1"),
            ("PUBLIC_KEY", "Abcdefgh12345678"),
            ("CLIENT_ID", "Abcdefgh12345678"),
            ("XDG_SESSION_ID", "Abcdefgh12345678"),
            ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1000/bus"),
            ("SSH_ASKPASS", "Abcdefgh12345678"),
            ("LANG", "en_US.UTF-8"),
            ("SORT_KEY", "created_at_date"),
            ("TOKEN_URL", "https://auth.example.com/token"),
            ("", "Abcdefgh12345678"),
        ] {
            assert!(secrets_of(name, value).is_empty(), "{name}={value}");
        }
    }

    #[test]
    fn values_that_cannot_be_secrets_are_not() {
        for value in [
            "1234567",
            "short",
            "12345678",
            "3.141592653",
            "1e1000000",
            "localhost",
            "LOCALHOST",
            "production",
            "changeme",
            "/run/secrets/token",
            "./secrets/token",
            "~/secrets/token",
            "$OTHER_TOKEN",
            "${OTHER_TOKEN}",
            "$(cat token)",
            "%TOKEN_VAR%",
            "{{ vault.token }}",
            "<your token>",
            "********",
            "[REDACTED:env:X]",
            "op://vault/item/field",
            "          ",
            "https://auth.example.com/login",
        ] {
            assert!(secrets_of("SOME_TOKEN", value).is_empty(), "{value}");
        }
    }

    #[test]
    fn of_a_url_only_the_password_is_secret() {
        let of = |value: &str| secrets_of("DATABASE_URL", value);
        assert_eq!(of("postgres://app:hunter2Pg!9@db.internal:5432/prod?sslmode=require"), ["hunter2Pg!9"]);
        assert_eq!(of("redis://:R3dis-pass-77@cache:6379/0"), ["R3dis-pass-77"]);
        assert_eq!(of("postgres://app:p%40ssw0rd-x@db/prod"), ["p%40ssw0rd-x", "p@ssw0rd-x"]);
        assert_eq!(of("postgres://app:pa/ss@word?1@db/prod"), ["pa/ss@word?1"]);
        assert_eq!(of("https://d7pMCapFTzdbKB1Ga8FPJsKb@git.example.test/a.git"), ["d7pMCapFTzdbKB1Ga8FPJsKb"]);
        assert_eq!(of("https://0123456789abcdef@o0.ingest.example.io/0"), ["0123456789abcdef"]);
        assert!(of("postgres://app@db.internal/prod").is_empty());
        assert!(of("postgres://app:${DB_PASSWORD}@db.internal/prod").is_empty());
        assert!(of("https://example.com/a?b=c").is_empty());
        assert!(of("https://example.com:8080/some/path@v1.2").is_empty());
        assert!(of("https://example.com/some:long-path@v1.2").is_empty());
    }

    #[test]
    fn of_a_connection_string_only_the_secret_parts_are() {
        let value = "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=abcdEFGH1234==;EndpointSuffix=core";
        assert_eq!(secrets_of("AZURE_STORAGE_CONNECTION_STRING", value), ["abcdEFGH1234=="]);
        assert_eq!(secrets_of("PG_DSN", "host=db user=app password=hunter2hunter2"), ["hunter2hunter2"]);
    }

    #[test]
    fn schemes_and_lists_are_opened() {
        assert_eq!(secrets_of("API_AUTH", "Bearer abcdefgh1234"), ["Bearer abcdefgh1234", "abcdefgh1234"]);
        let keys = "sk-abcdefgh1234,sk-ijklmnop5678";
        assert_eq!(secrets_of("API_KEYS", keys), [keys, "sk-abcdefgh1234", "sk-ijklmnop5678"]);
    }
}
