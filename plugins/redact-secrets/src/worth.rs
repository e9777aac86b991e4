//! Whether a bare value is a secret, by how much its name proves, how it is tied to it and what stands around it. It judges
//! what [`crate::assignment`] has read, and reads nothing itself.

use crate::assignment::{BLANKS, Named, Tie};
use crate::gate;
use crate::name::{self, Strength};
use crate::scan::Scan;
use crate::text::{NAME, is};

/// Longest name of an assignment inside a value.
pub(crate) const INNER: usize = 64;

/// Whether a bare value behind a weak name is a secret.
pub(crate) fn weak(value: &[u8], name: &[u8], param: bool) -> bool {
    // The inner assignment speaks for itself.
    let inner = value.iter().take(INNER).position(|&c| !is(c, NAME));
    if inner.is_some_and(|at| value[at] == b'=' && value.get(at + 1).is_some_and(|&c| c != b'=')) {
        return false;
    }
    if param && value.len() >= 8 && gate::random(value, 8) && !gate::uuid(value) {
        return true;
    }
    gate::opaque(value)
        && !gate::fingerprint(value)
        && !gate::path(value)
        && (!name::plain_key(name) || gate::plain_key(value))
}

/// Whether a bare value behind a strong name is a secret, by how it is tied and what stands around it.
pub(crate) fn strong(scan: &Scan<'_>, named: Named, tie: Tie, value: &[u8], end: usize, dump: bool) -> bool {
    if dump {
        return true;
    }
    if named.param {
        return !gate::prose_word(value) && (named.strength == Strength::Password || value.len() >= 6);
    }
    if named.option && tie != Tie::Colon {
        return !(gate::prose_word(value) || named.strength == Strength::Strong && gate::path(value));
    }
    if gate::prose_word(value) || gate::member(value) {
        return false;
    }
    let wordlike = gate::wordlike(value);
    let next = scan.text.peek(end);
    match tie {
        Tie::Element => !value.contains(&b' ') || !gate::sentence(value),
        Tie::Colon if named.anchored => {
            let rest = scan.text.blanks(end, BLANKS);
            let more = !matches!(
                scan.text.peek(rest),
                b'\n' | 0 | b'#' | b',' | b'}' | b'\\' | b'"' | b'\'' | b'|' | b')' | b';' | b']'
            );
            let code = matches!(next, b',' | b';' | b')' | b'<' | b'=' | b'|' | b'[' | b'{' | b'>') && !named.quoted;
            // Prose goes on behind its first word: `client_secret: OAuth2 client secret`.
            let least = if named.strength == Strength::Password { 4 } else { 8 };
            if more || code || next == b'(' { gate::mixed(value) && value.len() >= least } else { true }
        }
        Tie::Colon | Tie::Blank => gate::mixed(value) && value.len() >= 4,
        Tie::Equals { spaced } => {
            let code =
                matches!(next, b',' | b')' | b';' | b']' | b'}') || spaced && (named.indented || !named.anchored);
            !(wordlike && code && !gate::mixed(value))
        }
    }
}
