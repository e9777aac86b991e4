//! Tokens that are told by their own shape: a known prefix, a JWT, a Telegram or Zhipu key. A token that a terminal
//! wrapped over several lines is put together again. It must never take part of a longer word for a token.

use crate::gate;
use crate::rules::{self, Body, MAX_BODY, Sure, TOKENS, Token};
use crate::scan::Scan;
use crate::text::{ALNUM, B64, DIGIT, DOT, HEX, JOIN, WORD, is};

/// Longest JWT, all parts together.
const MAX_JWT: usize = 8 * 1024;
/// A line shorter than this was not wrapped by a terminal.
const WRAP_MIN: usize = 40;
/// Most lines one token is followed over.
const WRAP_LINES: usize = 64;
/// A run of base64 this long to the left means data, in which any three letters turn up by chance.
const BLOB: usize = 64;
/// How far a run is read at least, so that the next token in it need not read it again.
const SHORT_RUN: usize = MAX_BODY;
/// Telegram: at least so many digits before the colon, and characters after it.
const TELEGRAM: (usize, usize) = (8, 30);
/// Zhipu: so many hexadecimal digits before the dot, at least so many characters after it.
const ZHIPU: (usize, usize) = (32, 16);
/// E.164: digits of a telephone number.
const PHONE: (usize, usize) = (7, 15);

fn in_body(body: Body, byte: u8) -> bool {
    match body {
        Body::Alnum => is(byte, ALNUM),
        Body::Word => is(byte, WORD),
        Body::Dotted => is(byte, WORD | DOT),
        Body::Base64 => is(byte, WORD | DOT | B64),
        Body::Hex => byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'),
        Body::Upper => byte.is_ascii_digit() || byte.is_ascii_uppercase(),
    }
}

fn body_end(scan: &mut Scan<'_>, from: usize, body: Body, max: usize) -> usize {
    let (entered, known) = scan.bodies[body as usize];
    if entered <= from && from < known {
        // The run was read before, from further left.
        if known + 1 >= scan.text.len() {
            scan.text.touch();
        }
        return known.min(from + max);
    }
    let end = run_end(scan, from, body, max.max(SHORT_RUN));
    if end < from + max.max(SHORT_RUN) {
        scan.bodies[body as usize] = (from, end);
    }
    end.min(from + max)
}

#[inline(never)]
fn run_end(scan: &Scan<'_>, from: usize, body: Body, max: usize) -> usize {
    let mut at = from;
    while at < from + max {
        let byte = scan.text.at(at);
        // A dot joins two parts; a second one, or one at the end, is punctuation.
        if !in_body(body, byte) || byte == b'.' && !is(scan.text.at(at + 1), WORD) {
            break;
        }
        at += 1;
    }
    at
}

/// Whether the byte before `start` lets a token begin there: not in the middle of a word, unless that byte belongs to
/// an escape such as `\n`, `\u0022`, `\x3d` or `%3D`.
fn begins(scan: &Scan<'_>, start: usize) -> bool {
    let text = &scan.text;
    if !is(text.before(start), WORD) {
        return true;
    }
    let back = |n: usize| start.checked_sub(n).map_or(0, |at| text.bytes()[at]);
    let hexes = |n: usize| (1..=n).all(|i| is(back(i), HEX));
    matches!((back(2), back(1)), (b'\\', b'n' | b'r' | b't' | b'b' | b'f' | b'v'))
        || hexes(4) && back(5) == b'u' && back(6) == b'\\'
        || hexes(2) && (back(3) == b'x' && back(4) == b'\\' || back(3) == b'%')
}

/// Whether `start` lies in a long run of base64.
#[inline(never)]
fn in_blob(scan: &Scan<'_>, start: usize) -> bool {
    start >= BLOB && matches!(scan.text.before(start), b'+' | b'/') && {
        let left = &scan.text.bytes()[start - BLOB..start];
        left.iter().all(|&c| is(c, ALNUM | B64)) && left.iter().filter(|&&c| c == b'/').count() < BLOB / 8
    }
}

/// A token whose prefix has an anchor at `at`.
pub(crate) fn prefixed(scan: &mut Scan<'_>, at: usize, index: u16, offset: u8) {
    let token = &TOKENS[usize::from(index)];
    let Some(start) = at.checked_sub(usize::from(offset)) else { return };
    if !scan.text.bytes()[start..at].starts_with(&token.prefix.as_bytes()[..usize::from(offset)]) {
        return;
    }
    scan.open(start);
    if !scan.text.starts(start, token.prefix.as_bytes()) {
        return;
    }
    let body = start + token.prefix.len();
    let glued = !begins(scan, start) && !token.prefix.starts_with(['.', '/']);
    if glued && token.sure != Sure::Glued {
        return;
    }
    let mut end = body_end(scan, body, token.body, if glued { token.whole + 1 } else { token.max });
    let wrapped = wrapped(scan, start, body, end, token);
    if let Some(joined) = wrapped {
        end = joined;
    }
    let value = scan.text.slice(body, end);
    let size = end - body - value.iter().filter(|&&c| c == b'\n').count();
    if size < token.min || glued && !(token.sure == Sure::Glued && size == token.whole && bounded(scan, end)) {
        return;
    }
    if token.min == token.max && !bounded(scan, end) || in_blob(scan, start) {
        return;
    }
    if dull(value, token) {
        return;
    }
    let from = if token.body_only { body } else { start };
    // The name before `.atlasv1.` is half of the key.
    let from = if token.prefix.starts_with(".atlas") { back(scan, from, ALNUM, 20) } else { from };
    scan.mask(from, end, token.rule);
    if token.rule.name == "aws-access-key" {
        neighbour(scan, end);
    }
}

fn back(scan: &Scan<'_>, from: usize, class: u8, max: usize) -> usize {
    let mut at = from;
    while at > from.saturating_sub(max) && is(scan.text.before(at), class) {
        at -= 1;
    }
    at
}

fn bounded(scan: &Scan<'_>, end: usize) -> bool {
    !is(scan.text.at(end), ALNUM)
}

/// Letters and digits without a break, this many, are a body behind any prefix, however little they look like chance.
const SOLID: usize = 20;

/// Whether a body is a stand-in, a name or a sentence joined by hyphens.
#[inline(never)]
fn dull(value: &[u8], token: &Token) -> bool {
    if gate::placeholder(value) {
        return true;
    }
    let digits = value.iter().any(|&c| is(c, DIGIT));
    let upper = value.iter().any(u8::is_ascii_uppercase);
    let lower = value.iter().any(u8::is_ascii_lowercase);
    match token.sure {
        // Words joined by hyphens, or a run of one kind of letter, is no body of these.
        Sure::Yes => !(digits || upper && lower || value.iter().all(|&c| is(c, ALNUM))),
        // A body of exactly the promised length is one, whatever it is made of.
        Sure::Glued => !(digits || upper && lower || value.len() == token.whole),
        Sure::Random => {
            let least = token.min.clamp(8, 12);
            let solid = value.len() >= SOLID && digits && value.iter().all(|&c| is(c, ALNUM));
            !(solid || gate::random(value, least) || gate::hex(value) && value.len() >= 24 && digits)
        }
    }
}

/// Where a token ends that a terminal wrapped: the line ends right after what is there of it, and the next line goes
/// on with it. `None` if it was not wrapped.
fn wrapped(scan: &mut Scan<'_>, start: usize, body: usize, end: usize, token: &Token) -> Option<usize> {
    if scan.text.at(end) != b'\n'
        || end == body && token.whole == 0
        || token.min == token.max && end - body == token.min
    {
        return None;
    }
    let class = |byte: u8| in_body(token.body, byte);
    if token.whole > 0 {
        let mut have = end - body;
        let mut at = end;
        while have < token.whole && scan.text.at(at) == b'\n' {
            let mut next = at + 1;
            while next - at <= token.whole - have && class(scan.text.at(next)) {
                next += 1;
            }
            if next == at + 1 {
                return None;
            }
            have += next - at - 1;
            at = next;
        }
        return (have == token.whole && bounded(scan, at)).then_some(at);
    }
    folded(scan, start, end, &class, MAX_BODY)
}

/// Follows a token over the lines a terminal folded it into: the first line is long, each further one is of the same
/// characters throughout, and all but the last are as long as the longest before.
#[inline(never)]
fn folded(scan: &Scan<'_>, start: usize, end: usize, class: &dyn Fn(u8) -> bool, max: usize) -> Option<usize> {
    let first = end - scan.text.line_start(end, max);
    if first < WRAP_MIN {
        return None;
    }
    let mut joined = None;
    let mut at = end;
    for _ in 0..WRAP_LINES {
        let mut next = at + 1;
        while next - start < max && class(scan.text.at(next)) {
            next += 1;
        }
        let row = next - at - 1;
        let ends = matches!(scan.text.at(next), b'\n' | b'"' | b'\'' | b' ' | 0);
        let value = scan.text.slice(at + 1, next);
        let full = row + 1 >= first;
        let plausible = full || gate::random(value, 12) || joined.is_some() && row >= 4 && gate::mixed(value);
        if !ends || row == 0 || row > first + 1 || !plausible || looks_named(value) {
            break;
        }
        joined = Some(next);
        at = next;
        if !full || scan.text.at(next) != b'\n' {
            break;
        }
    }
    joined
}

/// Whether a line is `NAME=value` or a path rather than the rest of a token.
fn looks_named(line: &[u8]) -> bool {
    let at = line.iter().position(|&c| c == b'=');
    at.is_some_and(|at| at + 2 < line.len() && line[at + 1] != b'=') || line.first() == Some(&b'/')
}

/// The secret that goes with an access key id: forty characters on the same line.
fn neighbour(scan: &mut Scan<'_>, end: usize) {
    let mut at = end;
    while at < end + 200 && !matches!(scan.text.at(at), b'\n' | 0) {
        if !is(scan.text.at(at), ALNUM | B64) {
            at += 1;
            continue;
        }
        let run = scan.text.run(at, ALNUM | B64, 64);
        let value = scan.text.slice(at, run);
        if run - at == 40 && !gate::hex(value) && gate::random(value, 16) {
            scan.mask(at, run, rules::AWS_SECRET);
        }
        at = run.max(at + 1);
    }
}

/// A JSON Web Token, of one to three parts (five when encrypted).
pub(crate) fn jwt(scan: &mut Scan<'_>, start: usize) {
    if !begins(scan, start) || in_blob(scan, start) {
        return;
    }
    scan.open(start);
    let mut end = scan.text.run(start, WORD, MAX_JWT);
    if end - start < 12 {
        return;
    }
    let mut parts = 1;
    while parts < 5 && scan.text.at(end) == b'.' && is(scan.text.at(end + 1), WORD) {
        end = scan.text.run(end + 1, WORD, MAX_JWT.saturating_sub(end - start));
        parts += 1;
    }
    if scan.text.at(end) == b'\n' {
        let class = |byte: u8| is(byte, WORD | DOT);
        if let Some(joined) = folded(scan, start, end, &class, MAX_JWT) {
            parts += usize::from(scan.text.slice(end, joined).contains(&b'.'));
            end = joined;
        }
    }
    // `{"alg"`, `{"typ"`, `{"kid"`, `{"enc"`, `{"cty"`: a header. Other JSON in base64 is data unless it has a second part.
    let header = ["eyJhbGciO", "eyJ0eXAiO", "eyJraWQiO", "eyJlbmMiO", "eyJjdHkiO", "eyJqa3UiO", "eyJ4NXQiO"]
        .iter()
        .any(|begin| scan.text.slice(start, start + 9) == begin.as_bytes());
    if header || parts >= 2 && end - start >= 24 {
        scan.mask(start, end, rules::JWT);
    }
}

/// A Telegram bot token: digits, a colon (with its anchor on the last digit), the token.
pub(crate) fn telegram(scan: &mut Scan<'_>, at: usize) {
    let bytes = scan.text.bytes();
    if at < TELEGRAM.0 - 1 || !is(bytes[at + 1 - TELEGRAM.0], DIGIT) {
        return;
    }
    let first = back(scan, at, DIGIT, 16);
    let word = first.checked_sub(3).map(|from| &bytes[from..first]);
    if at + 1 - first < TELEGRAM.0 || !(begins(scan, first) || word == Some(b"bot")) {
        return;
    }
    let body = at + 2;
    scan.open(body);
    let end = scan.text.run(body, WORD, 64);
    if end - body >= TELEGRAM.1 && end - body < 64 && gate::random(scan.text.slice(body, end), 12) {
        scan.mask(body, end, rules::TELEGRAM);
    }
}

/// A Zhipu key: thirty-two hexadecimal digits, a dot (with its anchor before it), letters and digits.
pub(crate) fn zhipu(scan: &mut Scan<'_>, at: usize) {
    let bytes = scan.text.bytes();
    let dot = at + 1;
    let Some(start) = dot.checked_sub(ZHIPU.0) else { return };
    if !is(bytes[start], HEX) || !is(bytes[dot - 9], HEX) || is(scan.text.before(start), WORD) {
        return;
    }
    if !bytes[start..dot].iter().all(|&c| is(c, DIGIT) || matches!(c, b'a'..=b'f')) {
        return;
    }
    scan.open(start);
    let end = scan.text.run(dot + 1, ALNUM, 64);
    if end - dot > ZHIPU.1
        && end - dot <= 64
        && !is(scan.text.at(end), JOIN | DOT)
        && gate::random(&bytes[dot + 1..end], 12)
    {
        scan.mask(start, end, rules::ZHIPU);
    }
}

/// A telephone number in international form.
pub(crate) fn phone(scan: &mut Scan<'_>, at: usize) {
    if is(scan.text.before(at), ALNUM | B64) {
        return;
    }
    scan.open(at);
    let end = scan.text.run(at + 1, DIGIT, PHONE.1 + 1);
    if (PHONE.0..=PHONE.1).contains(&(end - at - 1)) && !is(scan.text.at(end), ALNUM) {
        scan.mask(at, end, rules::PHONE);
    }
}
