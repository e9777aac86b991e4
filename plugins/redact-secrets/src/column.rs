//! Names and values in columns: a line with a name and a value, a row of a table, two elements of XML or HTML of which
//! the first holds the name, and what a server is told. Columns hold much besides secrets, so the value must look like one.

use std::ops::Range;

use crate::assignment::{BLANKS, LEAD, Named, Tie, bare, bare_end};
use crate::code;
use crate::gate;
use crate::name::{self, MAX_NAME, Strength};
use crate::rules;
use crate::scan::Scan;
use crate::text::{ALNUM, DIGIT, NAME, SPACE, WORD, any, contains, is};

/// Longest tag between two elements, and longest value in one.
const TAG: usize = 160;

/// Whether a value without an operator looks chosen as a secret: capitals, small letters and digits, or random.
#[inline(never)]
pub(crate) fn chosen(value: &[u8]) -> bool {
    let (mut upper, mut lower, mut digit, mut sign) = (false, false, false, false);
    for byte in value {
        match byte {
            b'A'..=b'Z' => upper = true,
            b'a'..=b'z' => lower = true,
            b'0'..=b'9' => digit = true,
            b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'+' | b'=' | b'?' => sign = true,
            _ => {}
        }
    }
    value.len() >= 6
        && (upper && lower && digit || sign && (upper || lower) || gate::random(value, 8))
        && !gate::placeholder(value)
        && !gate::lookup(value)
        && !gate::path(value)
        && !gate::uuid(value)
        && name::strength(value) == Strength::None
        && !contains(value, b"://")
}

/// A line with nothing but a name and, from `at` on, a value. Whether it was one with a secret.
#[inline(never)]
pub(crate) fn line(scan: &mut Scan<'_>, named: Named, at: usize) -> bool {
    let name = scan.text.slice(named.start, named.end);
    let wide = at - named.end >= 2 || scan.text.peek(named.end) == b'\t';
    if !named.anchored || !(wide || code::constant(name) || matches!(name, b"requirepass" | b"masterauth")) {
        return false;
    }
    scan.open(at);
    let end = bare_end(scan, at, true);
    if !matches!(scan.text.peek(scan.text.blanks(end, BLANKS)), b'\n' | 0) {
        return false;
    }
    let value = scan.text.slice(at, end);
    // A declaration in C: `AUTH_ATTRIBUTE *attributes;`.
    let code = matches!(value.first(), Some(b'*' | b'&' | b'(' | b'{')) || matches!(value.last(), Some(b';' | b'{'));
    let secret = match named.strength {
        _ if code => false,
        Strength::None => false,
        Strength::Weak => value.len() >= 20 && gate::opaque(value) && !name::plain_key(name),
        _ => true,
    };
    if secret && chosen(value) {
        scan.mask(at, end, named.rule());
        return true;
    }
    false
}

/// How long the sign between two columns at `at` is.
#[inline(never)]
pub(crate) fn separator(scan: &Scan<'_>, at: usize) -> usize {
    match scan.text.peek(at) {
        b'|' => 1,
        // One of the lines that boxes are drawn with.
        0xe2 if scan.text.peek(at + 1) == 0x94 || scan.text.peek(at + 1) == 0x95 => 3,
        _ => 0,
    }
}

/// The cell behind that of a name, whose separator stands at `at`.
pub(crate) fn cell(scan: &mut Scan<'_>, named: Named, at: usize) {
    let size = separator(scan, at);
    if !named.anchored {
        return;
    }
    let start = scan.text.blanks(at + size, BLANKS);
    let marked = usize::from(scan.text.peek(start) == b'`');
    let start = start + marked;
    scan.open(start);
    let mut end = start;
    while end - start < TAG && !is(scan.text.peek(end), SPACE) && scan.text.peek(end) != 0 && separator(scan, end) == 0
    {
        end += 1;
    }
    if separator(scan, scan.text.blanks(end, TAG)) == 0 {
        return;
    }
    let value = scan.text.slice(start, end - marked.min(end - start));
    if (named.strength > Strength::Weak || gate::opaque(value)) && chosen(value) {
        scan.mask(start, start + value.len(), named.rule());
    }
}

/// Behind the tag at `at`, if there is one and it closes as `closing` says.
#[inline(never)]
fn tag(scan: &Scan<'_>, at: usize, closing: bool) -> Option<usize> {
    if scan.text.peek(at) != b'<' || (scan.text.peek(at + 1) == b'/') != closing {
        return None;
    }
    content(scan, at + 1)
}

/// `>NAME</a><b>value</b>`, with the name's closing tag at `at`.
pub(crate) fn sibling(scan: &mut Scan<'_>, named: Named, at: usize) {
    let Some(mut next) = tag(scan, at, true) else { return };
    // Tags that say what they hold need no more; in a table the value must look like a secret.
    let says = scan.text.starts_folded(at, b"</name>") || scan.text.starts_folded(at, b"</key>");
    if !says && !scan.text.starts_folded(at, b"</td>") {
        return;
    }
    let closed = next;
    while next - closed < BLANKS && is(scan.text.peek(next), SPACE) {
        next += 1;
    }
    let Some(start) = tag(scan, next, false) else { return };
    scan.open(start);
    let mut end = start;
    while end - start < TAG && !matches!(scan.text.peek(end), b'<' | b'\n' | 0) {
        end += 1;
    }
    if says || chosen(scan.text.slice(start, end)) && scan.text.peek(start) != b'&' {
        bare(
            scan,
            Named { anchored: false, indented: false, option: false, param: false, ..named },
            Tie::Element,
            start,
        );
    }
}

/// Where the content of an element begins whose tag goes on at `at`, for instance with attributes.
#[inline(never)]
pub(crate) fn content(scan: &Scan<'_>, at: usize) -> Option<usize> {
    let mut end = at;
    while end - at < TAG && !matches!(scan.text.peek(end), b'>' | b'<' | b'\n' | 0) {
        end += 1;
    }
    (scan.text.peek(end) == b'>' && scan.text.before(end) != b'/').then_some(end + 1)
}

/// The text of an element that stands on a line of its own, between its tags; the newline is at `at`.
pub(crate) fn inner(scan: &mut Scan<'_>, named: Named, at: usize) {
    let start = scan.text.blanks(at + 1, BLANKS);
    let end = scan.text.line_end(start, TAG);
    let value = scan.text.slice(start, end);
    if named.strength > Strength::Weak
        && scan.text.starts(scan.text.blanks(end + 1, BLANKS), b"</")
        && !value.is_empty()
        && !value.contains(&b'<')
        && !gate::placeholder(value)
        && !gate::lookup(value)
        && !gate::sentence(value)
    {
        scan.mask(start, end, named.rule());
    }
}

/// Whether a name with `>` or a blank behind it is that of an element, `<name` or `<ns:name` and no argument of a generic
/// type, or the attribute that names one: `<entry key="password">`.
#[inline(never)]
pub(crate) fn opens(scan: &Scan<'_>, named: Named) -> bool {
    if named.quoted {
        let open = named.start - 1;
        let before = scan.text.slice(open.saturating_sub(6), open);
        return before.ends_with(b" name=") || before.ends_with(b" key=") || before.ends_with(b" id=");
    }
    let mut at = named.start;
    if scan.text.before(at) == b':' {
        at -= 1;
        while named.start - at < MAX_NAME && is(scan.text.before(at), NAME) {
            at -= 1;
        }
    }
    scan.text.before(at) == b'<' && !is(scan.text.before(at - 1), WORD) && scan.text.before(at - 1) != b':'
}

/// What a server is told: `AUTH user password` of Redis, and `PASS password` of FTP where it was asked for. Whether it was
/// that.
#[inline(never)]
pub(crate) fn told(scan: &mut Scan<'_>, named: Named, at: usize) -> bool {
    let line = scan.text.line_start(named.start, LEAD);
    let lead = scan.text.slice(line, named.start);
    let told = match scan.text.slice(named.start, named.end) {
        b"AUTH" => lead.ends_with(b"> ") || named.quoted && scan.text.peek(at) == b'"',
        b"PASS" => {
            let above = scan.text.slice(line.saturating_sub(LEAD), line);
            lead.ends_with(b"--> ")
                || lead.iter().all(|&c| !is(c, ALNUM))
                    && (contains(above, b"331 ") || contains(above, b"USER ") || contains(above, b"+OK "))
        }
        _ => false,
    };
    if !told {
        return false;
    }
    scan.open(at);
    let end = scan.text.line_end(at, TAG);
    // One word, or a user before it.
    let (words, last) = last_word(scan, at, end);
    let value = scan.text.slice(last.start, last.end);
    let digit = any(value, DIGIT) || lead.ends_with(b"--> ");
    if words < 3 && digit && !gate::placeholder(value) {
        scan.mask(last.start, last.end, rules::PASSWORD);
    }
    true
}

/// How many words stand from `at` to `end`, and the last of them.
#[inline(never)]
pub(crate) fn last_word(scan: &Scan<'_>, at: usize, end: usize) -> (usize, Range<usize>) {
    let (mut word, mut words, mut last) = (at, 0, end..end);
    for now in at..=end {
        if now == end || matches!(scan.text.peek(now), b' ' | b'"' | b'\\' | b'\r') {
            if now > word {
                words += 1;
                last = word..now;
            }
            word = now + 1;
        }
    }
    (words, last)
}
