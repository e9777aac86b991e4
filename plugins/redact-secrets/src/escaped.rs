//! Names, operators and values whose signs are written out: `password%3Dx`, `&quot;token&quot;:&quot;x&quot;`,
//! `\\u0022token\\u0022:`. Only what stands for quotes, colons, equals signs and their like is read; a value keeps its
//! own escapes.

use crate::assignment::Named;
use crate::gate;
use crate::name::{self, Strength};
use crate::rules;
use crate::scan::Scan;
use crate::text::{ALNUM, HEX, STOP, all, is};

/// Longest value.
const MAX_VALUE: usize = 512;

/// The sign that stands at `at`, written out or not, and how long it is.
#[inline(never)]
fn look(scan: &Scan<'_>, at: usize) -> (u8, usize) {
    let first = scan.text.peek(at);
    let (digits, size) = match (first, scan.text.peek(at + 1)) {
        (b'%', b'2') if scan.text.peek(at + 2) == b'5' => (3, 5),
        (b'%', _) => (1, 3),
        (b'\\', b'u') => (4, 6),
        (b'\\', b'x') => (2, 4),
        (b'&', b'q') if scan.text.starts(at, b"&quot;") => return (b'"', 6),
        (b'&', b'a') if scan.text.starts(at, b"&amp;") => return (b'&', 5),
        (b'&', b'#') if scan.text.starts(at, b"&#34;") => return (b'"', 5),
        (b'&', b'#') if scan.text.starts(at, b"&#39;") => return (b'\'', 5),
        _ => return (first, 1),
    };
    let digits = scan.text.slice(at + digits, at + size);
    let value = digits.iter().fold(0, |value, &c| value << 4 | (c as char).to_digit(16).unwrap_or_default() as u8);
    if all(digits, HEX) { (value, size) } else { (first, 1) }
}

/// Where a name begins whose letters go back to `start`: not in the digits of an escape.
#[inline(never)]
pub(crate) fn begin(scan: &Scan<'_>, start: usize, at: usize) -> usize {
    match look(scan, start.wrapping_sub(1)) {
        (_, size) if size > 1 && start + size <= at + 1 => start + size - 1,
        _ => start,
    }
}

/// Reads what ties a value to the name that ends at `next`, if it is written out. Whether it is.
#[inline(never)]
pub(crate) fn tie(scan: &mut Scan<'_>, named: Named, next: usize) -> bool {
    let (first, size) = look(scan, next);
    if size == 1 || !matches!(first, b'"' | b'\'' | b']' | b':' | b'=') {
        return false;
    }
    let mut at = next + if matches!(first, b':' | b'=') { 0 } else { size };
    let (operator, size) = look(scan, at);
    if !matches!(operator, b':' | b'=') {
        return false;
    }
    at += size;
    let (mark, size) = look(scan, at);
    let quoted = matches!(mark, b'"' | b'\'');
    at += if quoted { size } else { 0 };
    let start = at;
    scan.open(start);
    // A run is read once: what begins within it ends where it does.
    let (entered, known) = scan.escaped;
    if !quoted && entered <= start && start < known {
        at = known;
        scan.text.peek(known);
    }
    while at - start < MAX_VALUE && (quoted || at != known) {
        let (byte, size) = look(scan, at);
        let ends = match byte {
            0 | b'\n' | b'"' | b'\'' => true,
            b'&' | b' ' | b',' | b'}' | b';' => !quoted,
            byte => size == 1 && (is(byte, STOP) || byte == b'\\'),
        };
        if ends {
            break;
        }
        at += size;
    }
    if !quoted {
        scan.escaped = (start, at);
    }
    let value = scan.text.slice(start, at);
    let secret = match named.strength {
        Strength::None => false,
        Strength::Weak => gate::random(value, 12) && !gate::uuid(value),
        Strength::Strong => value.len() >= 6 && !gate::path(value) && gate::mixed(value),
        Strength::Password => value.len() >= 3,
    };
    let name = scan.text.slice(named.start, named.end);
    if secret && value[0] != b'%' && !gate::placeholder(value) && !gate::prose_word(value) && !name::echoes(name, value)
    {
        scan.mask(start, at, Named { param: false, ..named }.rule());
    }
    true
}

/// The password of an address in a parameter, `https%3A%2F%2Fuser%3Apassword%40host`, with the anchor behind its `%`.
#[inline(never)]
pub(crate) fn userinfo(scan: &mut Scan<'_>, at: usize) {
    let user = at + 8;
    if !scan.text.starts_folded(at, b"3a%2f%2f") {
        return;
    }
    let (mut now, mut start) = (user, 0);
    loop {
        match look(scan, now) {
            (b':', 3) if start == 0 => {
                start = now + 3;
                scan.open(start);
            }
            (b'@', 3) if start > 0 => {
                if !gate::placeholder(scan.text.slice(start, now)) {
                    scan.mask(start, now, rules::URL_PASSWORD);
                }
                return;
            }
            (byte, 1) if is(byte, ALNUM) || b"-._~+*!".contains(&byte) => {}
            (b'/' | b'?' | b'&' | b'@', _) | (_, 1) => return,
            _ => {}
        }
        now += look(scan, now).1;
        if now - user > MAX_VALUE {
            return;
        }
    }
}
