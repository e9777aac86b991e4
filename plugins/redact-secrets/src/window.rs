//! How far a window that is not the last may be shown, and how much of it must be seen again. A scan's anchors hold
//! back what they could not decide; this adds what no anchor has seen yet because it is not whole.

use crate::command;
use crate::kubernetes;
use crate::pem;
use crate::record;
use crate::scan::Scan;
use crate::terraform;
use crate::text::{ALNUM, DOT, WORD, is};

/// The longest beginning of a mask no anchor has seen: the prefix of a token, with what may stand before it.
const MAX_UNSEEN: usize = 96;
/// The longest beginning of an encoded secret no anchor has seen.
const MAX_ENCODED: usize = 12;
/// Text before the place shown that rules look back at.
const CONTEXT: usize = 4608;
/// The same where no line begins: the longest single mask, and what stands before it.
const LONG_CONTEXT: usize = 16 * 1024;

/// Holds back the end of a window.
pub(crate) fn tail(scan: &mut Scan<'_>) {
    let bytes = scan.text.bytes();
    let mut word = bytes.len();
    let floor = bytes.len().saturating_sub(MAX_UNSEEN);
    // Two dots end a word: `Loading...` hides no token.
    while word > floor && is(bytes[word - 1], WORD | DOT) && !bytes[..word].ends_with(b"..") {
        word -= 1;
    }
    // Zero to two bytes of an anchor, and a mask may begin at its first.
    scan.hold(word);
    // The form of SSH2 has a blank in its beginning.
    if bytes[..word].ends_with(b"---- ") {
        scan.hold(word - 5);
    }
    // The anchor of an encoded secret stands in the second group of four of its mask.
    let mut run = bytes.len();
    let floor = bytes.len().saturating_sub(MAX_ENCODED);
    while run > floor && (is(bytes[run - 1], ALNUM) || matches!(bytes[run - 1], b'+' | b'/')) {
        run -= 1;
    }
    scan.hold(run);
    if bytes.last() == Some(&b'+') {
        scan.hold(bytes.len() - 1);
    }
    // Two of them are a part of a token's prefix.
    scan.hold(bytes.len() - bytes.iter().rev().take(2).take_while(|&&c| c == b'=').count());
    scan.hold(pem::pending(scan));
    scan.hold(terraform::pending(scan));
    scan.hold(command::pending(scan));
    // A driver's sign may follow the password.
    scan.hold(record::password(scan, bytes.len()));
    scan.need(kubernetes::pending(scan));
}

/// Where the next window must begin so that everything from `shown` on is judged as it would be with all of the text:
/// at a newline if one is near, so that lines keep their beginning.
pub(crate) fn context(bytes: &[u8], shown: usize) -> usize {
    let near = shown.saturating_sub(CONTEXT);
    let far = shown.saturating_sub(LONG_CONTEXT);
    bytes[far..near].iter().rposition(|&c| c == b'\n').map_or(far, |at| far + at)
}
