//! Whether what stands behind a name is a program's text: a type, a variable, a call, a number, the end of a string.
//! Secrets in programs are quoted, so a bare value that can be read as code is none. It must never judge a value in
//! quotes, nor a line of an environment, where anything may be a password.

use crate::assignment::{BLANKS, LEAD, Named, Tie};
use crate::gate;
use crate::literal::quote;
use crate::name::{self, Strength};
use crate::scan::Scan;
use crate::text::{ALNUM, DIGIT, HEX, LETTER, NAME, all, contains, count, is, spelled};
use crate::words::{self, DECLARES, ENDING, TYPE};

/// Longest type, variable or member of a program.
const MAX_EXPRESSION: usize = 120;

/// Most digits of a hexadecimal number: 64 bits.
const MAX_NUMBER: usize = 16;

/// Whether the line of `named` begins with a declaration.
fn declared(scan: &Scan<'_>, named: Named) -> bool {
    let line = scan.text.line_start(named.start, LEAD);
    let mut head = scan.text.slice(line, named.start);
    while let [b' ' | b'\t' | b'+' | b'(', rest @ ..] = head {
        head = rest;
    }
    let word = head.iter().take_while(|&&c| is(c, ALNUM) || c == b'_').count();
    word > 0 && matches!(head.get(word), Some(b' ' | b'(' | b'!')) && words::sets(&head[..word]) & DECLARES != 0
}

/// Whether `value` could be the name of something in a program.
#[inline(never)]
fn identifier(value: &[u8]) -> bool {
    !value.is_empty() && value.len() <= MAX_EXPRESSION && !is(value[0], DIGIT) && spelled(value, ALNUM, b"_")
}

/// Whether an identifier is made of words: of its characters at least `parts` in five belong to runs of small letters
/// as long as words have them. Of a random token hardly any do.
#[inline(never)]
pub(crate) fn wordy(value: &[u8], parts: usize) -> bool {
    let runs = value.split(|c| !c.is_ascii_lowercase());
    runs.map(<[u8]>::len).filter(|&size| size >= 3).sum::<usize>() * 5 >= value.len() * parts
}

/// Whether an identifier is written as a type of several words: `SecretStr`, `X25519PrivateKey`.
#[inline(never)]
fn camel(value: &[u8]) -> bool {
    let humps = value.array_windows().any(|two: &[u8; 2]| !two[0].is_ascii_uppercase() && two[1].is_ascii_uppercase());
    humps && value[0].is_ascii_uppercase() && value.last().is_some_and(|&c| is(c, LETTER)) && wordy(value, 2)
}

/// Whether a part of a path of members is one that has no digits where types have none.
fn type_like(part: &[u8]) -> bool {
    identifier(part) && (part[0] == b'_' || part[0].is_ascii_uppercase() && all(part, LETTER))
}

/// Whether an identifier is a constant: `AUTH_TOKEN`, `DOT11_AUTH_2`.
#[inline(never)]
pub(crate) fn constant(value: &[u8]) -> bool {
    value.contains(&b'_') && value.iter().all(|&c| c.is_ascii_uppercase() || is(c, DIGIT) || c == b'_')
}

/// Whether an identifier is written in lower case with `_` between its words: `shared_secret`, `c_int`, `__u8`.
#[inline(never)]
fn snake(value: &[u8]) -> bool {
    value.contains(&b'_')
        && (value.starts_with(b"__") || value.iter().all(|&c| !is(c, DIGIT)))
        && value.iter().all(|&c| c.is_ascii_lowercase() || is(c, DIGIT) || c == b'_')
}

/// Whether `value` is `a::b::C`.
#[inline(never)]
fn scoped(value: &[u8]) -> bool {
    contains(value, b"::") && spelled(value, ALNUM, b"_:$-") && !gate::random(value, 24)
}

/// Whether `value` is a number as programs write it: `0x1f00`, `-9841`, `1u32`.
#[inline(never)]
fn number(value: &[u8]) -> bool {
    let bare = value.strip_prefix(b"-").unwrap_or(value);
    match bare.strip_prefix(b"0x").or_else(|| bare.strip_prefix(b"0X")) {
        Some(hex) => {
            let hex = hex.iter().take_while(|&&c| is(c, HEX) || c == b'_').count();
            hex > 0 && hex <= MAX_NUMBER && bare.len() <= hex + 6
        }
        None => {
            let digits = bare.iter().take_while(|&&c| is(c, DIGIT)).count();
            let suffix = &bare[digits..];
            digits > 0
                && (suffix.is_empty() && bare.len() < value.len()
                    || matches!(suffix, [b'i' | b'u' | b'f', rest @ ..] if matches!(rest, b"8" | b"16" | b"32" | b"64" | b"size")))
        }
    }
}

/// Whether `value` begins with a sign that programs set before a name: `*mut`, `!self.done`, `&key`, `(left`.
#[inline(never)]
fn signed(value: &[u8]) -> bool {
    let Some((&sign, rest)) = value.split_first() else { return false };
    match sign {
        b'*' | b'!' => {
            let rest = rest.strip_prefix(b"self.").unwrap_or(rest);
            let name = rest.iter().take_while(|&&c| is(c, LETTER) || matches!(c, b'_' | b'.')).count();
            name > 0 && (name == rest.len() || matches!(rest[name], b'(' | b'[' | b':'))
        }
        b'&' => identifier(rest.strip_prefix(b"'").unwrap_or(rest)) && rest.iter().all(|&c| !is(c, DIGIT)),
        b'(' => spelled(rest, ALNUM, b"(){_.:[\""),
        _ => false,
    }
}

/// Whether `value`, bare and in no environment, reads as code.
#[inline(never)]
fn expression(scan: &Scan<'_>, named: Named, tie: Tie, value: &[u8], end: usize) -> bool {
    if named.option || value.is_empty() || value.len() > MAX_EXPRESSION {
        return false;
    }
    if signed(value) || scoped(value) || number(value) || pattern(value) || value.starts_with(b"*/") {
        return true;
    }
    let next = scan.text.peek(end);
    // A member of a Perl object: `$self->password`.
    if value[0] == b'$' && value.ends_with(b"-") && next == b'>' {
        return true;
    }
    let quoted = named.quoted || named.param;
    // A dictionary in a program: a value of JSON that is a text has quotes.
    let assigned = tie == (Tie::Equals { spaced: true });
    // What a variable picks is set to another one: `aliases[mapped_secret] = secret_name`.
    let lead = scan.text.slice(named.start.saturating_sub(2), named.start);
    if matches!(tie, Tie::Equals { .. })
        && named.strength != Strength::Password
        && matches!(lead, [name, b'['] if is(*name, ALNUM))
        && scan.text.before(end - value.len()) == b' '
        && value.iter().all(|&c| is(c, LETTER) || c == b'_')
    {
        return true;
    }
    if named.quoted
        && !named.param
        && (identifier(value) && (constant(value) || (assigned || matches!(next, b',' | b'}' | b')')) && snake(value))
            || assigned && gate::member(value))
    {
        return true;
    }
    // A type of a module that is no one else's business: `_win32typing.PyIID`.
    if tie == Tie::Colon && value[0] == b'_' && !quoted && value.split(|&c| c == b'.').all(type_like) {
        return true;
    }
    if value[0] == b'@' && next == b';' && identifier(&value[1..]) {
        return true;
    }
    let after = scan.text.blanks(end, BLANKS);
    if after > end
        && [&b"or "[..], b"if ", b"else ", b"and ", b"| None", b"| null", b"| undef", b"?? ", b"? ", b"+ "]
            .iter()
            .any(|word| scan.text.reads(after, word))
        && (identifier(value) || gate::member(value))
        && !named.param
    {
        return true;
    }
    // The number of an entry: `CREATE_PASS = 1010,`.
    let entry = scan.text.slice(named.start, named.end);
    if tie == (Tie::Equals { spaced: true })
        && named.indented
        && next == b','
        && all(value, DIGIT)
        && (constant(entry) || !entry.contains(&b'_') && entry.iter().any(u8::is_ascii_uppercase))
    {
        return true;
    }
    let more = after > end && !matches!(scan.text.peek(after), b'\n' | 0 | b'#');
    let code = matches!(next, b',' | b';' | b')' | b'<' | b'(' | b'[' | b'.' | b'>' | b'=' | b'*' | b'}') && !quoted;
    let spaced = assigned && (named.indented || !named.anchored);
    // A type or a constant of a module: `x25519.X25519PrivateKey`.
    let mut parts = value.rsplit(|&c| c == b'.');
    if (code || more || spaced)
        && !quoted
        && value.contains(&b'.')
        && parts.next().is_some_and(|last| {
            identifier(last)
                && (constant(last) || type_name(last) || camel(last) || value.contains(&b'_') && type_like(last))
        })
        && parts.all(identifier)
    {
        return true;
    }
    if !identifier(value) {
        // A variable of a Vim script: `a:0`, `g:token`.
        return matches!(value, [b'a' | b'b' | b'g' | b'l' | b's' | b't' | b'v' | b'w', b':', rest @ ..]
            if spelled(rest, ALNUM, b"_"))
            && declared(scan, named);
    }
    if next == b';' && !quoted && value.contains(&b'_') && !gate::random(value, 12) {
        return true;
    }
    if !quoted
        && ((code || more || spaced) && (snake(value) || camel(value)) || (code || more || assigned) && constant(value))
    {
        return true;
    }
    if tie == Tie::Colon && !quoted && type_name(value) {
        return true;
    }
    !quoted && (value.len() < 16 || !gate::random(value, 16) || wordy(value, 2)) && declared(scan, named)
}

/// Whether a bare value is code, a file, a package or a single sign. `dump` says that its line may be an environment's.
#[inline(never)]
pub(crate) fn stays(scan: &Scan<'_>, named: Named, tie: Tie, value: &[u8], end: usize, dump: bool) -> bool {
    // An argument of a call, alone on its line: `proxy_password=self.options["password"],`.
    let argument = dump && named.indented && (gate::member(value) || value.ends_with(b"]") && gate::lookup(value));
    let name = scan.text.slice(named.start, named.end);
    // The same with a variable: `session_token=session_token,`, `encryption_key=enc_key)`, `token=None):`.
    let bare = value.strip_suffix(b":").unwrap_or(value);
    let closed = bare.strip_suffix(b")");
    let bare = closed.map_or(value, |bare| bare.strip_suffix(b")").unwrap_or(bare));
    let bare = bare.strip_suffix(b",").unwrap_or(bare);
    let variable = dump
        && named.indented
        && (closed.is_some() || scan.text.peek(end) == b',')
        && name.iter().any(u8::is_ascii_lowercase)
        && (identifier(bare) && (snake(bare) || constant(bare))
            || closed.is_some() && gate::prose_word(bare)
            || gate::member(bare));
    argument
        || variable
        || value.len() <= 4 && value.first().is_some_and(|&c| c >= 0xC0)
        || technique(value)
        || !dump && expression(scan, named, tie, value, end)
        || named.strength != Strength::Password && (file(value) || tie == Tie::Colon && coordinates(name, value))
}

/// Whether a value is the number that a technique or a tactic of attackers has in the tables of MITRE ATT&CK, which have
/// secrets in their names: `T1003.008`, `TA0006`.
fn technique(value: &[u8]) -> bool {
    let Some(number) = value.strip_prefix(b"T") else { return false };
    let number = number.strip_prefix(b"A").unwrap_or(number);
    matches!(number.len(), 4 | 8) && spelled(number, DIGIT, b".")
}

/// Whether a name ends as those of types do.
fn type_name(value: &[u8]) -> bool {
    value[0].is_ascii_uppercase()
        && wordy(value, 1)
        && [
            &b"Str"[..],
            b"String",
            b"Key",
            b"Keys",
            b"Type",
            b"Types",
            b"Info",
            b"Params",
            b"Option",
            b"Config",
            b"Bytes",
        ]
        .iter()
        .any(|end| value.ends_with(end))
}

/// Whether a value is a regular expression or the conversion of a format: no one writes a secret so.
#[inline(never)]
pub(crate) fn pattern(value: &[u8]) -> bool {
    let value = &value[..value.len().min(MAX_EXPRESSION)];
    let format = value.len() <= 4 && value.first() == Some(&b'%') && value.iter().skip(1).all(|&c| is(c, ALNUM));
    let signs: &[&[u8]] = &[
        b"[a-z", b"[A-Z", b"[0-9", b"(?:", b"(?P", b"(?i", b"\\w+", b"\\w{", b"\\d+", b"\\d{", b"\\S+", b".*?", b"[^",
    ];
    format
        || value.iter().enumerate().any(|(at, &c)| {
            matches!(c, b'[' | b'(' | b'\\' | b'.') && signs.iter().any(|sign| value[at..].starts_with(sign))
        })
}

/// Whether a value in quotes is nothing but places to fill: `:{password}`.
#[inline(never)]
pub(crate) fn filled(value: &[u8]) -> bool {
    let mut rest = value;
    let mut any = false;
    while let Some((&first, tail)) = rest.split_first() {
        if first == b'{'
            && let Some(close) = tail.iter().take(MAX_EXPRESSION).position(|&c| c == b'}')
            && identifier(&tail[..close])
        {
            any = true;
            rest = &tail[close + 1..];
        } else if is(first, ALNUM) || first >= 0x80 {
            return false;
        } else {
            rest = tail;
        }
    }
    any
}

/// Whether the quote at `at`, behind a name and its operator, closes a string that began before the name, as in
/// `prompt("Password: ")`: what follows it goes on as a program or a sentence does.
#[inline(never)]
pub(crate) fn closes(scan: &Scan<'_>, named: Named, at: usize) -> bool {
    let mark = scan.text.peek(at);
    if named.quoted || !matches!(mark, b'"' | b'\'' | b'`') {
        return false;
    }
    let next = scan.text.peek(at + 1);
    let goes_on = matches!(next, b')' | b',' | b';' | b']' | b'}' | b'?' | b'\n' | b' ' | b'.' | b':' | b'+');
    let line = scan.text.line_start(named.start, LEAD);
    goes_on && scan.text.slice(line, named.start).iter().filter(|&&c| c == mark).count() % 2 == 1
}

/// Whether a name with a colon is the group of a package: `com.google.auth:google-auth-library`.
fn coordinates(name: &[u8], value: &[u8]) -> bool {
    value.len() <= MAX_EXPRESSION
        && [&b"com."[..], b"org.", b"io.", b"net.", b"dev."].iter().any(|group| name.starts_with(group))
        && value.contains(&b'-')
        && value.iter().all(|&c| c.is_ascii_lowercase() || is(c, DIGIT) || matches!(c, b'-' | b'.' | b':' | b'_'))
}

/// Whether a value is the name of a file by its ending.
#[inline(never)]
fn file(value: &[u8]) -> bool {
    if value.len() > MAX_EXPRESSION {
        return false;
    }
    let Some(dot) = value.iter().rposition(|&c| c == b'.') else { return false };
    dot > 0
        && words::sets(&value[dot + 1..]) & ENDING != 0
        && spelled(&value[..dot], ALNUM, b"-_./+")
        && !gate::random(&value[..dot], 12)
}

/// Where the value begins of a name with a type: `PASSWORD: &str = "…"`, `token: Option<String> = "…"`. Only a quoted one
/// counts.
#[inline(never)]
pub(crate) fn typed(scan: &Scan<'_>, at: usize) -> Option<usize> {
    /// Longest type.
    const TYPE: usize = 48;
    if !is(scan.text.peek(at), LETTER) && !matches!(scan.text.peek(at), b'&' | b'*' | b'[') {
        return None;
    }
    let mut end = at;
    while end - at < TYPE
        && (is(scan.text.peek(end), NAME)
            || matches!(scan.text.peek(end), b'&' | b'<' | b'>' | b':' | b'\'' | b'[' | b']' | b'?' | b'*' | b' '))
    {
        end += 1;
    }
    if scan.text.peek(end) != b'=' || scan.text.before(end) != b' ' || !matches!(scan.text.peek(end + 1), b' ') {
        return None;
    }
    let value = scan.text.blanks(end + 1, BLANKS);
    quote(scan, value).map(|_| value)
}

/// Whether a value in quotes names something rather than being a secret: `client_secret_basic`, `HTTP_TRACE_ID`,
/// `spec.preferredAuth`, `--key-file`, `auth-request-type/at`.
pub(crate) fn plain_name(value: &[u8]) -> bool {
    let words = spelled(value, LETTER, b"_-./");
    let small = words && value.iter().all(|&c| c.is_ascii_lowercase() || matches!(c, b'_' | b'-'));
    value.contains(&b'_') && (small || constant(value)) && name::strength(value) != Strength::None
        || words
            && (constant(value)
                || gate::member(value)
                || value.starts_with(b"--")
                || value.contains(&b'/') && wordy(value, 3))
}

/// Whether a value is words written as one: the statement of an access policy (`"Sid": "AllowKmsAccess"`), or the name of
/// what a key stands for (`"result_key": "RouteTablesList"`).
pub(crate) fn words(name: &[u8], value: &[u8]) -> bool {
    name == b"Sid" && wordy(value, 2) || name.ends_with(b"key") && titled(value)
}

/// Whether a value is several words written as one, each with a capital letter.
pub(crate) fn titled(value: &[u8]) -> bool {
    value.first().is_some_and(u8::is_ascii_uppercase) && wordy(value, 3)
}

/// Whether a value is a version, as of a package whose name speaks of passwords, or an object's number: `^1.2.3`.
pub(crate) fn version(value: &[u8]) -> bool {
    let bare = value.strip_prefix(b"^").or_else(|| value.strip_prefix(b"~")).unwrap_or(value);
    let part = |part: &[u8]| (1..=6).contains(&part.len()) && all(part, DIGIT);
    count(bare, b'.') >= 2 && bare.split(|&c| c == b'.').all(part)
}

/// Whether a value is the type or the state of a field.
pub(crate) fn is_type(value: &[u8]) -> bool {
    words::sets(value) & TYPE != 0
}

/// Where the first field of a form ends: at an `&` with the name of another field behind it.
pub(crate) fn form_end(value: &[u8]) -> Option<usize> {
    let at = value.iter().position(|&c| c == b'&')?;
    let name = value[at + 1..].iter().take_while(|&&c| c.is_ascii_lowercase() || c == b'_').count();
    (name >= 3 && value.get(at + 1 + name) == Some(&b'=')).then_some(at)
}

#[cfg(test)]
mod tests {
    use crate::cases::view;

    #[test]
    fn what_a_program_says_behind_the_name_of_a_secret_stays() {
        for text in [
            "        x25519_key: x25519.X25519PrivateKey,\n",
            "passwd:         files systemd\n",
            "    \"pbkdf2-password\": \"1.2.1\",\n",
            "            ExporterSecret => \"EXPORTER_SECRET\",\n",
            "            session_token=session_token_value,\n",
            "                      encryption_key=TEST_ENCRYPTION_KEY)\n",
            "            service_token=None):\n",
            "pub const LOG_AUTH: c_int = 4 << 3;\n",
            "        auth_context_tls13: auth_context,\n",
            "    let pkey: Crypto::PRIVATE_KEY_INFO = *key;\n",
            "    pub fn Destroy(hSecret: BCRYPT_SECRET_HANDLE) -> i32;\n",
            "        pub gr_passwd: *mut c_char,\n",
            "    UserPass = 0x02,\n",
            "let needs_second_pass = !self.done(x);\n",
            "    fn from(key: PrivatePkcs1KeyDer<'a>) -> Self {\n",
            "pub const XHR_AUTH_ALL: XHR_AUTH = 0i32;\n",
            "    def exchange(self, peer_private_key: X25519PrivateKey) -> bytes:\n",
            "        password: SecretStr\n",
            "    password: Buffer | None,\n",
            "my $auth_list = $self->{headers};\n",
            "    fn get(&self) -> Option<Retained<NSURLCredential>>;\n",
            "def win_getpass(prompt='Password: ', stream=None):\n",
            "assert_eq!(push(&policy, b\"Password: \"), 1);\n",
            "        flags.split_once(\"--jobserver-auth=\")?;\n",
            "needless_pass_by_value = \"allow\"\n",
            "the section identified by `id` if it exists\n",
            "      id-token: write # for trusted publishing\n",
            "static CURRENT_PASS: Cell<Pass> = const { Cell::new(Pass::None) };\n",
            "regex = r\"private_token=\\w{20}\"\n",
            "const basicAuth = (options, ...users) => {\n",
            "com.google.auth:google-auth-library-oauth2-http\n",
            "%sudo ALL=(root) NOPASSWD: /usr/sbin/service restart\n",
            "env_pass = [\"GITHUB_TOKEN\", \"OPENAI_*\"]\n",
            "    CLIENT_AUTH = '1.3.6.1.5.5.7.3.2'\n",
            "auth = [\"dep:jsonwebtoken\", \"uuid\"]\n",
        ] {
            assert_eq!(view(text), text);
        }
    }

    #[test]
    fn what_programs_quote_and_what_configuration_says_is_masked() {
        for (text, want) in [
            ("let password = \"Hunter2Pg\";\n", "let password = \"[REDACTED:password]\";\n"),
            ("password: hunter2\n", "password: [REDACTED:password]\n"),
            ("DB_PASSWORD=*mut\n", "DB_PASSWORD=[REDACTED:password]\n"),
            ("  password: Summer2024\n", "  password: [REDACTED:password]\n"),
            ("{password: hunter2, user: bob}\n", "{password: [REDACTED:password], user: bob}\n"),
            ("echo \"password: 'Hunter2Pg'\"\n", "echo \"password: '[REDACTED:password]'\"\n"),
            ("  DB_PASSWORD=my_pass,\n", "  DB_PASSWORD=[REDACTED:password],\n"),
            ("  db_password=my_pass\n", "  db_password=[REDACTED:password]\n"),
            ("<password>Hunter2Pg</password>\n", "<password>[REDACTED:password]</password>\n"),
            ("CREATE USER x IDENTIFIED BY 'Hunter2Pg';\n", "CREATE USER x IDENTIFIED BY '[REDACTED:password]';\n"),
        ] {
            assert_eq!(view(text), want);
        }
    }
}
