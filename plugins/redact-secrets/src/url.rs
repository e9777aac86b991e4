//! Credentials in URLs: the password or token before `@`, and parameters of the query. Scheme, user and host stay.
//! The `:` and `@` may be escaped for a shell. It must not take a port, a path or an address in the path for one.

use crate::gate;
use crate::name::{self, Strength};
use crate::rules;
use crate::scan::Scan;
use crate::text::{ALNUM, DIGIT, LETTER, is, spelled};
use crate::words::{self, PARAMETER};

/// Longest user information looked for.
const MAX_USERINFO: usize = 2048;
/// Shortest user name that may be a token.
const MIN_TOKEN: usize = 8;
/// Longest parameter.
const MAX_PARAM: usize = 4096;

/// What ends a URL in a text.
fn outside(byte: u8) -> bool {
    matches!(byte, 0 | b' ' | b'\t' | b'\n' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'|')
}

/// `://` at `at`, perhaps with escaped slashes.
#[inline(never)]
pub(crate) fn userinfo(scan: &mut Scan<'_>, at: usize) {
    let text = &scan.text;
    let scheme = match text.bytes()[..at] {
        [.., before, b'\\'] | [.., before] => before,
        [] => return,
    };
    if !is(scheme, ALNUM) {
        return;
    }
    let mut start = at + 1;
    for _ in 0..2 {
        while text.at(start) == b'\\' {
            start += 1;
        }
        if text.at(start) != b'/' {
            return;
        }
        start += 1;
    }
    scan.open(start);
    // The user: up to the colon before the password, or the sign before the host. A mask is no user.
    let mut at = start;
    let colon = loop {
        match text.at(at) {
            b':' => break at,
            b'@' => return bare(scan, start, at),
            b'/' | b'?' | b'#' | b'[' | b'{' | b'(' | b',' => {
                // A template stands in for the user: `${USER}:secret@`.
                if matches!(text.at(at), b'{' | b'(') && text.before(at) == b'$' {
                    at += 1;
                    continue;
                }
                return;
            }
            byte if outside(byte) || at - start > MAX_USERINFO => return,
            _ => at += 1,
        }
    };
    let password = colon + 1;
    // A port and then a path, or nothing, is no password.
    let digits = text.run(password, DIGIT, 6);
    if digits > password
        && (matches!(text.at(digits), b'/' | b'?' | b'#' | b',' | b')' | b']' | b':' | b';' | b'.' | b'\\' | b'}')
            || outside(text.at(digits)))
    {
        return;
    }
    if text.at(password) == b'/' && text.at(password + 1) == b'/' {
        return;
    }
    let Some(sign) = sign(scan, password) else { return };
    // Masks stay: the secret begins behind them only if something else is there.
    let end = if text.before(sign) == b'\\' { sign - 1 } else { sign };
    let user_end = if text.before(colon) == b'\\' { colon - 1 } else { colon };
    let value = text.slice(password, end);
    if matches!(value, b"x-oauth-basic" | b"x-access-token" | b"") {
        let user = text.slice(start, user_end);
        if user.len() >= MIN_TOKEN && !gate::placeholder(user) && gate::mixed(user) {
            scan.mask(start, user_end, rules::URL_TOKEN);
        }
        return;
    }
    if !gate::placeholder(value) {
        scan.mask(password, end, rules::URL_PASSWORD);
    }
}

/// The `@` before the host, for a password that begins at `password`. One that was not percent-encoded may hold `/`,
/// `?`, `#` and `@`: then the sign must have a host behind it.
#[inline(never)]
fn sign(scan: &Scan<'_>, password: usize) -> Option<usize> {
    let text = &scan.text;
    let mut best = None;
    let mut special = false;
    let mut at = password;
    while at - password < MAX_USERINFO {
        match text.at(at) {
            b'@' if special => {
                let host = is(text.at(at + 1), ALNUM) || text.at(at + 1) == b'[';
                return if host { Some(at) } else { None };
            }
            b'@' => best = Some(at),
            b'/' | b'?' | b'#' => {
                if best.is_some() {
                    return best;
                }
                special = true;
            }
            b':' if text.at(at + 1) == b'/' && text.at(at + 2) == b'/' => return best,
            b',' | b';' | b')' | b'}' if best.is_some() => return best,
            byte if outside(byte) => return best,
            _ => {}
        }
        at += 1;
    }
    best
}

/// A user without a password: a token if it looks like one.
#[inline(never)]
fn bare(scan: &mut Scan<'_>, start: usize, sign: usize) {
    let end = if scan.text.before(sign) == b'\\' { sign - 1 } else { sign };
    let value = scan.text.slice(start, end);
    let names = spelled(value, LETTER, b"-_.");
    let token = value.len() >= MIN_TOKEN
        && !gate::placeholder(value)
        && (gate::random(value, MIN_TOKEN) || gate::hex(value) && value.len() >= 16 || !names && gate::opaque(value));
    if token {
        scan.mask(start, end, rules::URL_TOKEN);
    }
}

/// `sig=`, `signature=` or `code=` behind `?` or `&`, with the anchor two letters before the `=`.
#[inline(never)]
pub(crate) fn param(scan: &mut Scan<'_>, at: usize) {
    let equals = at + 2;
    let mut start = at;
    while start > 0 && equals - start < 32 && is(scan.text.bytes()[start - 1], crate::text::NAME) {
        start -= 1;
    }
    let name = scan.text.slice(start, equals);
    if !matches!(scan.text.before(start), b'?' | b'&' | b'#') && name != b"oauth_signature" {
        return;
    }
    let known = words::folded(name) & PARAMETER != 0;
    if !known || name::strength(name) > Strength::Weak {
        return;
    }
    let value = equals + 1 + usize::from(scan.text.at(equals + 1) == b'"');
    scan.open(value);
    let mut end = value;
    while end - value < MAX_PARAM
        && !outside(scan.text.at(end))
        && !matches!(scan.text.at(end), b'&' | b'#' | b';' | b'\\' | b')' | b',')
    {
        end += 1;
    }
    let secret = scan.text.slice(value, end);
    let looks = secret.len() >= 8 && (gate::random(secret, 8) || gate::hex(secret) && secret.len() >= 16);
    if (looks || scan.strict) && !gate::placeholder(secret) {
        scan.mask(value, end, rules::URL_PARAM);
    }
}
