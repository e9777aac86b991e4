//! A secret told by what stands beside it: the next of a list, the next column of a table, the next element. A list of
//! names must stay as it is, so the neighbour has to look like a secret unless something says that it is one.

use crate::assignment::{Named, Tie, bare_end, quoted};
use crate::code;
use crate::column;
use crate::escaped;
use crate::gate;
use crate::group;
use crate::literal::{Literal, literal, quote};
use crate::loose::pair;
use crate::name::{self, Strength};
use crate::scan::Scan;
use crate::text::{JOIN, LETTER, SPACE, is};
use crate::words::{self, STORES};

/// Most white space between two neighbours.
const GAP: usize = 64;

/// Where the quote opens of the string behind the one that closes at `at`, with a comma between them.
#[inline(never)]
pub(crate) fn next(scan: &Scan<'_>, at: usize) -> Option<usize> {
    let close = quote(scan, at)?.0;
    let comma = scan.text.blanks(at + close + 1, GAP);
    if scan.text.peek(comma) != b',' {
        return None;
    }
    let mut next = comma + 1;
    while next - comma < GAP && is(scan.text.peek(next), SPACE) {
        next += 1;
    }
    quote(scan, next).map(|_| next)
}

/// What stands beside `named`, which is followed, from behind its quote at `next` and blanks, by what is at `at`. Whether
/// anything can.
#[inline(never)]
pub(crate) fn of(scan: &mut Scan<'_>, named: Named, next: usize, at: usize) -> bool {
    match scan.text.peek(at) {
        b'%' | b'&' | b'\\' if at == next && escaped::tie(scan, named, next) => {}
        b',' if named.quoted => {
            if !pair(scan, named, next) {
                list(scan, named);
            }
        }
        b'"' | b'\'' | b'\\' if named.option && at == next => list(scan, named),
        // The function of SQL that makes a hash of a password.
        b'(' if at == next && scan.text.slice(named.start, named.end) == b"PASSWORD" => {
            if quote(scan, at + 1).is_some()
                && let Some(found) = inside(scan, at + 1)
            {
                quoted(scan, named, Tie::Colon, found);
            }
        }
        b'\n' | b'\r' | b'\\' if named.quoted && group::part(scan, named, at) => {}
        b'{' if named.quoted && at > next => group::default(scan, named, at),
        // `<meta name="csrf-token" content="…">`
        b'c' if named.quoted && scan.text.reads(at, b"content=\"") => {
            if let Some(found) = inside(scan, at + 8) {
                quoted(scan, named, Tie::Colon, found);
            }
        }
        b'\n' if named.option => item(scan, named, at),
        b'|' | 0xe2 if at > next && column::separator(scan, at) > 0 => column::cell(scan, named, at),
        b'<' if at == next && scan.text.before(named.start) == b'>' => column::sibling(scan, named, at),
        _ => return false,
    }
    true
}

/// Whether a value that nothing ties to a name is no more than another name, a word or a look-up.
#[inline(never)]
fn plain(name: &[u8], value: &[u8]) -> bool {
    value.len() < 3
        || value[0] == b'-'
        || gate::placeholder(value)
        || gate::lookup_text(value)
        || gate::prose_word(value)
        || name::echoes(name, value)
        || name::strength(value) != Strength::None
}

/// The string whose quote opens at `at`. Its quote may be shown before it is known to be one.
#[inline(never)]
fn inside(scan: &mut Scan<'_>, at: usize) -> Option<Literal> {
    let slashes = quote(scan, at)?.0;
    scan.open(at + slashes + 1);
    literal(scan, at)
}

/// The string behind the comma that follows a quoted name.
fn list(scan: &mut Scan<'_>, named: Named) {
    let Some(at) = next(scan, named.end) else { return };
    let Some(found) = inside(scan, at) else { return };
    let value = scan.text.slice(found.start, found.end);
    let name = scan.text.slice(named.start, named.end);
    let stores = stores(scan, named);
    // The next member of an object.
    let member = scan.text.peek(found.next) == b':';
    if member || plain(name, value) || value.contains(&b' ') && !stores {
        return;
    }
    let sure = named.option || stores;
    let first = matches!(scan.text.before(named.start.saturating_sub(1)), b'(' | b'[' | b'{');
    let masks = match named.strength {
        Strength::Password if sure => true,
        Strength::None => false,
        Strength::Strong if sure => gate::mixed(value) && !gate::path(value) && value.len() >= 6,
        Strength::Weak if named.option => gate::mixed(value) && value.len() >= 6,
        Strength::Weak if !first => false,
        _ => {
            gate::opaque(value)
                && !code::wordy(value, 2)
                && !gate::fingerprint(value)
                && !gate::path(value)
                && !name::plain_key(name)
        }
    };
    if masks {
        scan.mask(found.start, found.end, named.rule());
    }
}

/// Whether a name is the first argument of a call that stores the second under it.
fn stores(scan: &Scan<'_>, named: Named) -> bool {
    /// Longest name of such a call.
    const CALL: usize = 12;
    let mut at = named.start.saturating_sub(1);
    while matches!(scan.text.before(at), b' ' | b'\\') {
        at -= 1;
    }
    if scan.text.before(at) != b'(' {
        return false;
    }
    let end = at - 1;
    let mut start = end;
    while end - start < CALL && is(scan.text.before(start), LETTER | JOIN) {
        start -= 1;
    }
    words::folded(scan.text.slice(start, end)) & STORES != 0
}

/// The next item of a list in YAML, behind one that is an option: `- --password` and then `- value`. `at` is the newline.
fn item(scan: &mut Scan<'_>, named: Named, at: usize) {
    let dash = scan.text.blanks(at + 1, GAP);
    if !scan.text.starts(dash, b"- ") || !scan.text.slice(named.start.saturating_sub(4), named.start).ends_with(b"- --")
    {
        return;
    }
    let start = scan.text.blanks(dash + 1, 8);
    let start = start + usize::from(quote(scan, start).is_some());
    scan.open(start);
    let end = bare_end(scan, start, false);
    let value = scan.text.slice(start, end);
    let secret = named.strength == Strength::Password || gate::mixed(value);
    if secret && !value.starts_with(b"-") && !gate::placeholder(value) && !gate::lookup(value) {
        scan.mask(start, end, named.rule());
    }
}
