//! Tokens that are told by their own shape: a known prefix, a JWT, a Telegram or Zhipu key. A token that a terminal
//! wrapped over several lines is put together again. It must never take part of a longer word for a token.

use crate::check;
use crate::gate;
use crate::rules::{self, Body, Check, MAX_BODY, Shape, Sure, TOKENS, Token};
use crate::scan::Scan;
use crate::text::{ALNUM, B64, DIGIT, DOT, HEX, JOIN, WORD, all, any, count, holds, is, leading};

/// Longest JWT, all parts together.
const MAX_JWT: usize = 8 * 1024;
/// A line shorter than this was not wrapped by a terminal.
const WRAP_MIN: usize = 40;
/// A body whose length varies by no more than this is followed by its length.
const NARROW: usize = 8;
/// Most lines one token is followed over.
const WRAP_LINES: usize = 64;
/// A run of base64 this long to the left means data, in which any three letters turn up by chance.
const BLOB: usize = 64;
/// How far a run is read at least, so that the next token in it need not read it again.
const SHORT_RUN: usize = MAX_BODY;
/// How far before a token the beginning of its line is looked for.
const REACH: usize = 128;
/// Telegram: at least so many digits before the colon, and characters after it.
const TELEGRAM: (usize, usize) = (8, 30);
/// More digits than the number of a bot has: an account of Amazon has twelve.
const TELEGRAM_END: usize = 12;
/// Zhipu: so many hexadecimal digits before the dot, at least so many characters after it.
const ZHIPU: (usize, usize) = (32, 16);
/// Characters of a SHA-256 in base64 without padding (RFC 4648).
const SHA256: usize = 43;
/// E.164: digits of a telephone number.
const PHONE: (usize, usize) = (7, 15);

fn body_end(scan: &mut Scan<'_>, from: usize, body: Body, max: usize) -> usize {
    let (entered, known) = scan.bodies[body as usize];
    let (mut entered, mut end) = (entered, known);
    if !(entered <= from && from < known) {
        (entered, end) = (from, from);
    }
    // What was read before, from further left, is not read again; it may go on behind what was read.
    if end < from + max {
        end = run_end(scan, end, body, max.max(SHORT_RUN));
        scan.bodies[body as usize] = (entered, end);
    } else if end + 1 >= scan.text.len() {
        scan.text.touch();
    }
    end.min(from + max)
}

#[inline(never)]
fn run_end(scan: &Scan<'_>, from: usize, body: Body, max: usize) -> usize {
    let mut at = from;
    // Nearly all are of what all alphabets but the narrow ones have in common: eight at a time.
    let plain = body.plain();
    while at + 8 <= from + max
        && let Some(eight) = scan.text.eight(at)
    {
        if !plain.have(eight) {
            at += leading(eight, |byte| plain.has(byte));
            break;
        }
        at += 8;
    }
    while at < from + max {
        let byte = scan.text.at(at);
        // A dot or a colon joins two parts; a second one, or one at the end, is punctuation.
        if !body.has(byte) || matches!(byte, b'.' | b':') && !is(scan.text.at(at + 1), WORD) {
            break;
        }
        at += 1;
    }
    at
}

/// Whether the byte before `start` lets a token begin there: not in the middle of a word, unless that byte belongs to
/// an escape such as `\n`, `\u0022`, `\x3d` or `%3D`.
fn begins(scan: &Scan<'_>, start: usize) -> bool {
    let before = scan.text.before(start);
    if !is(before, WORD) {
        return true;
    }
    // What an escape ends with, and the sign of a line that a diff takes out.
    if !is(before, HEX) && !matches!(before, b'n' | b'r' | b't' | b'v' | b'-') {
        return false;
    }
    match scan.text.slice(start.saturating_sub(6), start) {
        [b'-'] | [.., b'\n', b'-'] | [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f' | b'v'] => true,
        [.., b'\\', b'u', a, b, c, d] => [*a, *b, *c, *d].iter().all(|&c| is(c, HEX)),
        [.., b'\\', b'x', a, b] | [.., b'%', a, b] => is(*a, HEX) && is(*b, HEX),
        _ => false,
    }
}

/// Whether `start` lies in a long run of base64.
#[inline(never)]
fn in_blob(scan: &Scan<'_>, start: usize) -> bool {
    start >= BLOB && matches!(scan.text.before(start), b'+' | b'/') && {
        let left = &scan.text.bytes()[start - BLOB..start];
        all(left, ALNUM | B64) && count(left, b'/') < BLOB / 8
    }
}

/// A token whose prefix has an anchor at `at`.
#[inline(never)]
pub(crate) fn prefixed(scan: &mut Scan<'_>, at: usize, index: u16, offset: u8) {
    let token = &TOKENS[usize::from(index)];
    let Some(start) = at.checked_sub(usize::from(offset)) else { return };
    let prefix = token.prefix();
    // What is there decides at once unless the text ends in it. The anchor's own bytes are there.
    let there = scan.text.slice(start, start + prefix.len());
    let differs = |at: usize| there.get(at).is_some_and(|&byte| byte != prefix[at]);
    if offset > 0 && (0..usize::from(offset)).any(differs) || (usize::from(offset) + 3..prefix.len()).any(differs) {
        return;
    }
    let shape = token.shape();
    let body = start + prefix.len();
    // Most of what begins as a token does goes on as none.
    if shape.min >= 8
        && let Some(eight) = scan.text.eight(body)
        && !(shape.body.have(eight) || holds(eight, b'\n'))
    {
        return;
    }
    let glued =
        shape.before_max == 0 && is(scan.text.before(start), WORD) && is(prefix[0], WORD) && !begins(scan, start);
    if glued && shape.sure != Sure::Glued && shape.check != Check::Base32 {
        return;
    }
    // A hash as base64, as the records of Python's packages have it.
    if scan.text.slice(start.saturating_sub(7), start) == b"sha256="
        && scan.text.run(start, WORD, SHA256 + 1) == start + SHA256
    {
        return;
    }
    let Some(front) = (if shape.before_max == 0 { Some(start) } else { front(scan, start, shape) }) else { return };
    scan.open(if shape.body_only { start } else { front });
    if there.len() < prefix.len() {
        return scan.text.touch();
    }
    bodied(scan, token, [start, front, body], glued);
}

/// What stands behind a prefix: the prefix and the token begin at `start` and `front`, and the body at `body`.
#[inline(never)]
fn bodied(scan: &mut Scan<'_>, token: &Token, [start, front, body]: [usize; 3], glued: bool) {
    let shape = token.shape();
    let (min, max, whole) = (usize::from(shape.min), usize::from(shape.max), usize::from(shape.whole));
    let mut end = body_end(scan, body, shape.body, if glued && whole > 0 { whole + 1 } else { max });
    if end - body < min && scan.text.at(end) != b'\n' {
        return;
    }
    let mut lines = Vec::new();
    if let Some(joined) = wrapped(scan, start, body, end, shape) {
        end = joined;
        lines = scan.text.slice(body, end).iter().copied().filter(|&c| c != b'\n').collect();
    }
    let mut value = if lines.is_empty() { scan.text.slice(body, end) } else { &lines };
    let size = value.len();
    if glued {
        let fits = match shape.check {
            // A checksum that fits is no accident, whatever stands around the token.
            Check::Crc32 if value.len() > whole && check::crc32(&value[..whole]) => {
                end = body + whole;
                value = &value[..whole];
                true
            }
            Check::Base32 => end - body == max && check::base32(value) && scan.text.before(start).is_ascii_lowercase(),
            _ => size == whole,
        };
        if !fits || shape.check != Check::Crc32 && !bounded(scan, end) || size < whole {
            return;
        }
        if size == whole && !bounded(scan, end) && !check::crc32(value) {
            return;
        }
    }
    if size < min || max < MAX_BODY && !bounded(scan, end) || in_blob(scan, start) {
        return;
    }
    if min > 0 && dull(value, shape) || shape.body == Body::Uuid && !gate::uuid(value) {
        return;
    }
    scan.mask(if shape.body_only { body } else { front }, end, token.rule());
    if shape.check == Check::Base32 {
        neighbour(scan, end);
    }
}

/// Where a token begins whose prefix stands at `start`: before it, if a part of the token does.
#[inline(never)]
fn front(scan: &Scan<'_>, start: usize, shape: &Shape) -> Option<usize> {
    let most = usize::from(shape.before_max);
    let mut at = start;
    while start - at <= most && shape.before.has(scan.text.before(at)) {
        at -= 1;
    }
    // The letter of `\n` in an escaped text is no part of what follows it.
    if at < start && scan.text.before(at) == b'\\' && matches!(scan.text.at(at), b'n' | b'r' | b't') {
        at += 1;
    }
    // A part without a lower bound is masked as far as it goes; any other is nothing else than this.
    let have = start - at;
    if shape.before_min == 0 {
        return Some(start - have.min(most));
    }
    ((usize::from(shape.before_min)..=most).contains(&have) && (shape.body_only || begins(scan, at))).then_some(at)
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

/// As many, in a body that always has this length, need only a digit among them.
const FIXED: usize = 16;
/// Letters and digits without a break, this many, are a body behind any prefix, however little they look like chance.
const SOLID: usize = 20;

/// From this length on a body with dots must have one.
const PARTED: u16 = 50;

/// Whether a body is a stand-in, a name or a sentence joined by hyphens.
#[inline(never)]
fn dull(value: &[u8], shape: &Shape) -> bool {
    if gate::placeholder(value) {
        return true;
    }
    let digits = any(value, DIGIT);
    let cases = || value.iter().any(u8::is_ascii_uppercase) && value.iter().any(u8::is_ascii_lowercase);
    // Tokens so long with dots among their characters have parts; base64 of something else has none.
    if shape.body == Body::Dotted && shape.min >= PARTED && !value.contains(&b'.') {
        return true;
    }
    match shape.sure {
        // Words joined by hyphens, or a run of one kind of letter, is no body of these.
        Sure::Yes => !(digits || cases() || all(value, ALNUM)),
        // A body of exactly the promised length is one, whatever it is made of.
        Sure::Glued => !(digits || cases() || value.len() == usize::from(shape.whole)),
        Sure::Random => {
            let least = usize::from(shape.min).clamp(8, 12);
            let plain = |part: &[u8]| all(part, ALNUM);
            let solid = |part: &[u8]| part.len() >= SOLID && any(part, DIGIT);
            // A body of letters alone is told by its length.
            let whole = value.len() == usize::from(shape.whole) && plain(value);
            let fixed = shape.min == shape.max && value.len() >= FIXED && digits && plain(value);
            !(whole
                || fixed
                || value.split(|&c| !is(c, ALNUM)).any(solid)
                || gate::random(value, least)
                || gate::uuid(value)
                || gate::hex(value) && value.len() >= 24 && digits)
        }
    }
}

/// Where a token ends that a terminal wrapped: the line ends right after what is there of it, and the next line goes
/// on with it. `None` if it was not wrapped.
fn wrapped(scan: &mut Scan<'_>, start: usize, body: usize, end: usize, shape: &Shape) -> Option<usize> {
    if scan.text.at(end) != b'\n' || end == body && shape.whole == 0 || usize::from(shape.max) == end - body {
        return None;
    }
    // Lines that begin with hashes of one length are a list of files or of commits, and no wrapped text.
    let line = scan.text.line_start(start, REACH);
    let hash = scan.text.run(line, ALNUM, REACH);
    let size = hash - line;
    if size > 6
        && gate::hex(scan.text.slice(line, hash))
        && scan.text.run(end + 1, ALNUM, size + 1) == end + 1 + size
        && gate::hex(scan.text.slice(end + 1, end + 1 + size))
    {
        return None;
    }
    let class = |byte: u8| shape.body.has(byte);
    let (least, most) = match (usize::from(shape.whole), usize::from(shape.min), usize::from(shape.max)) {
        (0, min, max) if max - min <= NARROW => (min, max),
        (0, min, _) => return folded(scan, start, end, &class, MAX_BODY, min.saturating_sub(end - body)),
        (whole, ..) => (whole, whole),
    };
    let mut have = end - body;
    let mut at = end;
    // What is long enough already was not cut off.
    while have < least && scan.text.at(at) == b'\n' {
        let mut next = at + 1;
        while next - at <= most - have && class(scan.text.at(next)) {
            next += 1;
        }
        if next == at + 1 {
            return None;
        }
        // A prefix that also begins ordinary names may stand before an ordinary word.
        if shape.sure == Sure::Random
            && next - at > 4
            && scan.text.slice(at + 1, next).iter().all(u8::is_ascii_lowercase)
        {
            return None;
        }
        have += next - at - 1;
        at = next;
    }
    (at > end && have >= least && bounded(scan, at)).then_some(at)
}

/// Follows a token over the lines a terminal folded it into: the first line is long, each further one is of the same
/// characters throughout, and all but the last are as long as the longest before. `missing` says how much the token
/// needs of them at least: then it is not whole without, and less must speak for a line.
#[inline(never)]
fn folded(
    scan: &Scan<'_>,
    start: usize,
    end: usize,
    class: &dyn Fn(u8) -> bool,
    max: usize,
    missing: usize,
) -> Option<usize> {
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
        let cases = value.iter().any(u8::is_ascii_lowercase) && value.iter().skip(1).any(u8::is_ascii_uppercase);
        let rest = joined.is_some() || missing > 0 && row >= missing;
        let plausible = full || gate::random(value, 12) || rest && row >= 4 && (gate::mixed(value) || cases);
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
#[inline(never)]
pub(crate) fn jwt(scan: &mut Scan<'_>, start: usize) {
    if !begins(scan, start) || in_blob(scan, start) {
        return;
    }
    scan.open(start);
    let mut end = scan.text.run(start, WORD, MAX_JWT);
    if end - start < 12 {
        return;
    }
    let first = end;
    let mut parts = 1;
    while parts < 5 && scan.text.at(end) == b'.' && is(scan.text.at(end + 1), WORD) {
        end = scan.text.run(end + 1, WORD, MAX_JWT.saturating_sub(end - start));
        parts += 1;
    }
    if scan.text.at(end) == b'\n' {
        let class = |byte: u8| is(byte, WORD | DOT);
        if let Some(joined) = folded(scan, start, end, &class, MAX_JWT, 0) {
            parts += usize::from(scan.text.slice(end, joined).contains(&b'.'));
            end = joined;
        }
    }
    // A header; other JSON in base64 is data unless it has a second part.
    let header = check::jwt_header(scan.text.slice(start, first));
    if header || parts >= 2 && end - start >= 24 {
        scan.mask(start, end, rules::JWT);
    }
}

/// A Telegram bot token: digits, a colon (with its anchor on the last digit), the token.
#[inline(never)]
pub(crate) fn telegram(scan: &mut Scan<'_>, at: usize) {
    let bytes = scan.text.bytes();
    if at < TELEGRAM.0 - 1 || !is(bytes[at + 1 - TELEGRAM.0], DIGIT) {
        return;
    }
    let first = back(scan, at, DIGIT, 16);
    let word = first.checked_sub(3).map(|from| &bytes[from..first]);
    if !(TELEGRAM.0..TELEGRAM_END).contains(&(at + 1 - first)) || !(begins(scan, first) || word == Some(b"bot")) {
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
#[inline(never)]
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
