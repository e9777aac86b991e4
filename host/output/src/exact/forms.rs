//! What a value looks like once a program has escaped or encoded it.

use std::collections::BTreeSet;
use std::fmt::Write;

use base64::Engine;
use base64::alphabet::{Alphabet, STANDARD, URL_SAFE};
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};

use super::VALUE_BYTES_MIN;
use crate::normalise;

/// The longest form that is looked for at once. Longer ones are looked for in pieces of this size, so that a stream
/// never holds back more; their places touch and become one mask.
const PIECE_BYTES: usize = 4096;
/// The shortest last piece: less would be found in places that have nothing to do with the value.
const LAST_PIECE_BYTES: usize = 64;
/// The shortest line of a value of several lines that is looked for alone, as when a key is printed indented.
const LINE_BYTES_MIN: usize = 16;

/// All forms of a value, each at least [`VALUE_BYTES_MIN`] bytes.
pub(super) fn of(value: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::new();
    let value = value.trim();
    if value.len() < VALUE_BYTES_MIN {
        return forms;
    }
    let one_line = value.replace(['\r', '\n'], "");
    let bases = BTreeSet::from([value.to_owned(), value.replace('\r', ""), one_line]);
    for base in &bases {
        forms.insert(base.clone());
        forms.insert(normalise::view_continued(base.as_bytes()).text);
        json(base, &mut forms);
        url(base, &mut forms);
        shell(base, &mut forms);
        base64(base.as_bytes(), &mut forms);
        hex(base.as_bytes(), &mut forms);
    }
    let key_char = |char: char| char.is_ascii_alphanumeric() || "+/=_.-".contains(char);
    let lines = value
        .lines()
        .map(str::trim)
        .filter(|line| line.len() >= LINE_BYTES_MIN && !line.starts_with("-----") && line.chars().all(key_char));
    forms.extend(lines.map(str::to_owned));
    forms.into_iter().flat_map(pieces).filter(|form| form.len() >= VALUE_BYTES_MIN).collect()
}

/// Cuts a form that is too long.
fn pieces(form: String) -> Vec<String> {
    if form.len() <= PIECE_BYTES {
        return vec![form];
    }
    let mut pieces = Vec::new();
    let mut rest = form.as_str();
    while rest.len() > PIECE_BYTES + LAST_PIECE_BYTES {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        pieces.push(piece.to_owned());
        rest = after;
    }
    pieces.push(rest.to_owned());
    pieces
}

/// Inside a JSON string, as different writers do it, and inside a JSON string inside a JSON string.
fn json(value: &str, forms: &mut BTreeSet<String>) {
    let plain = json_escaped(value, |_| false);
    forms.insert(json_escaped(&plain, |_| false));
    forms.insert(json_escaped(value, |char| !char.is_ascii()));
    forms.insert(json_escaped(value, |char| matches!(char, '<' | '>' | '&' | '\u{2028}' | '\u{2029}')));
    forms.insert(plain.replace('/', "\\/"));
    forms.insert(plain);
}

fn json_escaped(value: &str, as_code: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(value.len());
    for char in value.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            _ if char < ' ' || as_code(char) => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}").expect("a string takes what is written");
                }
            }
            _ => out.push(char),
        }
    }
    out
}

/// In a URL or a form. The sets of bytes left alone are those of RFC 3986, of JavaScript's two functions, of paths, and
/// of form encoding.
fn url(value: &str, forms: &mut BTreeSet<String>) {
    for kept in ["-_.~", "-_.~!'()*", "-_.~/", "-_.*", "-_.~!'()*;,/?:@&=+$#"] {
        let upper = percent_encoded(value, kept);
        let lower = lower_hex(&upper);
        forms.insert(upper.replace("%20", "+"));
        forms.insert(lower.replace("%20", "+"));
        forms.insert(upper);
        forms.insert(lower);
    }
}

fn percent_encoded(value: &str, kept: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").expect("a string takes what is written");
        }
    }
    out
}

/// The same percent encoding with small letters. In it, every `%` is followed by two digits.
fn lower_hex(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at(2);
        out.push('%');
        out.push_str(&digits.to_ascii_lowercase());
        out.push_str(rest);
    }
    out
}

/// Quoted for a shell: with backslashes (escaping what shells must, or all that is not plain), inside single quotes,
/// double quotes and `$'…'`.
fn shell(value: &str, forms: &mut BTreeSet<String>) {
    let special = |char: char| " \t\n'\"\\|&;()<>!{}*[]?^$`#~,".contains(char);
    forms.insert(backslashed(value, special));
    forms.insert(backslashed(value, |char| char.is_ascii_punctuation() && char != '_' || char == ' '));
    forms.insert(backslashed(value, |char| char.is_ascii_punctuation() && !"_-./".contains(char) || char == ' '));
    forms.insert(backslashed(value, |char| "\"\\$`".contains(char)));
    forms.insert(backslashed(value, |char| "\"\\$`!".contains(char)));
    forms.insert(value.replace('\'', "'\\''"));
    forms.insert(value.replace('\'', "'\"'\"'"));
    let in_c = backslashed(value, |char| "'\\".contains(char));
    forms.insert(in_c.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t"));
}

fn backslashed(value: &str, special: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(value.len());
    for char in value.chars() {
        if special(char) {
            out.push('\\');
        }
        out.push(char);
    }
    out
}

/// Encoded alone or inside something longer: for each place of its first byte in a group of three, the digits that
/// depend on the value alone.
fn base64(value: &[u8], forms: &mut BTreeSet<String>) {
    let alphabets: [&Alphabet; 2] = [&STANDARD, &URL_SAFE];
    for alphabet in alphabets {
        let engine = GeneralPurpose::new(alphabet, NO_PAD);
        for before in 0..3 {
            let padded = [&[0; 2][..before], value].concat();
            let encoded = engine.encode(&padded);
            let first = (before * 8).div_ceil(6);
            let end = padded.len() * 8 / 6;
            forms.insert(encoded[first..end].to_owned());
        }
    }
}

fn hex(value: &[u8], forms: &mut BTreeSet<String>) {
    let mut lower = String::with_capacity(value.len() * 2);
    for byte in value {
        write!(lower, "{byte:02x}").expect("a string takes what is written");
    }
    forms.insert(lower.to_ascii_uppercase());
    forms.insert(lower);
}
