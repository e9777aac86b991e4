//! What a process or a server printed, as bytes: the beginning, and a ring of the end.
//!
//! It must never show what it holds (no `Display`, no `Serialize`, a `Debug` of counts only), and never hold more than
//! [`HEAD_BYTES`] and its ring, whatever is pushed.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;

use memchr::{memchr, memchr_iter, memrchr};

/// How much of the beginning is always kept: the design's 256 KiB.
pub const HEAD_BYTES: usize = 256 * 1024;

/// How far before a cut an escape sequence may have begun and still be recognised. Real ones, colours with all their
/// parameters included, are below 40 bytes.
const ESCAPE_BYTES: usize = 64;

/// Bounded bytes: the first [`HEAD_BYTES`] and the last few, with counts of what was ever seen and what was dropped.
#[derive(Clone)]
pub struct Captured {
    head: Vec<u8>,
    ring: VecDeque<u8>,
    ring_bytes: usize,
    seen: u64,
    dropped: u64,
    dropped_lines: u64,
    /// The byte before the ring's first, once something was dropped: the ring may begin at a line start.
    last_dropped: u8,
}

/// What is held, cut where nothing is torn.
pub struct Parts<'a> {
    /// The beginning; everything, where there is no gap.
    pub head: Cow<'a, [u8]>,
    /// What is missing after it and what comes then; `None` when nothing is missing.
    pub gap: Option<Gap<'a>>,
}

/// The end of a capture from which something in the middle was dropped.
pub struct Gap<'a> {
    /// Bytes between the head and the tail.
    pub dropped_bytes: u64,
    /// Newlines in what was dropped.
    pub dropped_lines: u64,
    /// The end, from the start of a line or, where one line fills the ring, from the start of a token.
    pub tail: Cow<'a, [u8]>,
}

impl fmt::Debug for Captured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Captured").field("seen", &self.seen).field("dropped", &self.dropped).finish_non_exhaustive()
    }
}

impl Captured {
    /// An empty one that keeps [`HEAD_BYTES`] from the beginning and `ring_bytes` from the end.
    pub fn new(ring_bytes: usize) -> Self {
        Self {
            head: Vec::new(),
            ring: VecDeque::new(),
            ring_bytes,
            seen: 0,
            dropped: 0,
            dropped_lines: 0,
            last_dropped: 0,
        }
    }

    /// A text that is in memory already, such as a command or an error: all of it.
    pub fn of(text: &str) -> Self {
        let mut captured = Self::new(text.len().saturating_sub(HEAD_BYTES));
        captured.push(text.as_bytes());
        captured
    }

    /// Adds what arrived. The oldest bytes after the head give way.
    pub fn push(&mut self, bytes: &[u8]) {
        self.seen += bytes.len() as u64;
        let (to_head, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES - self.head.len()));
        self.head.extend_from_slice(to_head);
        if rest.is_empty() {
            return;
        }
        let (passing, kept) = rest.split_at(rest.len().saturating_sub(self.ring_bytes));
        let overflow = (self.ring.len() + kept.len()).saturating_sub(self.ring_bytes);
        self.drop_front(overflow);
        self.count_dropped(passing);
        self.make_room(kept.len());
        self.ring.extend(kept);
    }

    /// How many bytes were ever pushed.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// How many bytes the ring dropped. What [`Captured::parts`] leaves out beside them is counted there.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// How many bytes of memory the content takes.
    pub fn held(&self) -> usize {
        self.head.capacity() + self.ring.capacity()
    }

    /// Lowers the size of the ring and gives the memory back. A larger size than now changes nothing.
    pub fn shrink_ring(&mut self, ring_bytes: usize) {
        self.ring_bytes = self.ring_bytes.min(ring_bytes);
        self.drop_front(self.ring.len().saturating_sub(self.ring_bytes));
        self.ring.shrink_to(self.ring_bytes);
        self.head.shrink_to_fit();
    }

    /// The last bytes, as many of those that are held as were asked for. They may begin anywhere: whoever shows them must
    /// leave out the first line, as a stream does after a gap.
    pub fn end(&self, bytes: usize) -> Vec<u8> {
        let of_ring = bytes.min(self.ring.len());
        // Where something was dropped between the two, the head is not the end of anything.
        let of_head = if self.dropped == 0 { (bytes - of_ring).min(self.head.len()) } else { 0 };
        let mut end = self.head[self.head.len() - of_head..].to_vec();
        end.extend(self.ring.range(self.ring.len() - of_ring..));
        end
    }

    /// What is held. Where something is missing, the head ends with a line and the tail begins with one; in a line too
    /// long for that, with a token. A token of which only a part is held is left out, because nobody could tell that it
    /// was a secret.
    pub fn parts(&self) -> Parts<'_> {
        if self.dropped == 0 {
            let head = if self.ring.is_empty() {
                Cow::Borrowed(self.head.as_slice())
            } else {
                let (first, second) = self.ring.as_slices();
                Cow::Owned([self.head.as_slice(), first, second].concat())
            };
            return Parts { head, gap: None };
        }
        let (head, cut) = self.head.split_at(head_end(&self.head));
        let (first, second) = self.ring.as_slices();
        let ring: Cow<'_, [u8]> =
            if second.is_empty() { Cow::Borrowed(first) } else { Cow::Owned([first, second].concat()) };
        let start = if self.last_dropped == b'\n' { 0 } else { tail_start(&ring) };
        let dropped_bytes = self.dropped + (cut.len() + start) as u64;
        let dropped_lines = self.dropped_lines + newlines(cut) + newlines(&ring[..start]);
        let tail = match ring {
            Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[start..]),
            Cow::Owned(mut bytes) => {
                bytes.drain(..start);
                Cow::Owned(bytes)
            }
        };
        Parts { head: Cow::Borrowed(head), gap: Some(Gap { dropped_bytes, dropped_lines, tail }) }
    }

    /// All of it, in the pieces it lies in, if nothing was dropped: what [`Captured::parts`] would have to copy.
    pub(crate) fn pieces(&self) -> Option<[&[u8]; 3]> {
        let (first, second) = self.ring.as_slices();
        (self.dropped == 0).then_some([&self.head, first, second])
    }

    fn drop_front(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        let (first, second) = self.ring.as_slices();
        let in_first = count.min(first.len());
        let lines = newlines(&first[..in_first]) + newlines(&second[..count - in_first]);
        self.last_dropped = self.ring[count - 1];
        self.dropped += count as u64;
        self.dropped_lines += lines;
        self.ring.drain(..count);
    }

    /// Counts what passes by without being kept.
    fn count_dropped(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last() {
            self.last_dropped = *last;
            self.dropped += bytes.len() as u64;
            self.dropped_lines += newlines(bytes);
        }
    }

    /// Grows by doubling, and never past the size of the ring.
    fn make_room(&mut self, more: usize) {
        let needed = self.ring.len() + more;
        if needed > self.ring.capacity() {
            let target = needed.max(self.ring.capacity() * 2).min(self.ring_bytes);
            self.ring.reserve_exact(target - self.ring.len());
        }
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

/// Whether a token may go on over this byte. Beside the letters of keys and encodings these are the bytes that escape
/// others in URLs, JSON and shells, control bytes (a token may be interrupted by them), and all of UTF-8 beyond ASCII.
fn in_token(byte: u8) -> bool {
    match byte {
        b'\n' | b'\t' | b' ' => false,
        b'_' | b'+' | b'/' | b'=' | b'.' | b'-' | b'%' | b'\\' => true,
        _ => !byte.is_ascii_punctuation(),
    }
}

/// The places after a byte that ends a token, outside of escape sequences: a colour inside a token does not end it.
fn token_starts(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            if bytes[at] == 0x1b {
                at += escape_len(&bytes[at..]);
                continue;
            }
            at += 1;
            if !in_token(bytes[at - 1]) {
                return Some(at);
            }
        }
        None
    })
}

/// The length of the escape sequence at the beginning: parameters and a final byte after `ESC [`, one byte otherwise.
fn escape_len(bytes: &[u8]) -> usize {
    if bytes.get(1) != Some(&b'[') {
        return bytes.len().min(2);
    }
    let body = bytes[2..].iter().take(ESCAPE_BYTES).take_while(|byte| (0x20..0x40).contains(*byte)).count();
    bytes.len().min(body + 3)
}

/// Where to begin in bytes whose front is missing: at a line if that costs at most half of them, else at a token, else
/// nowhere.
fn tail_start(bytes: &[u8]) -> usize {
    if let Some(newline) = memchr(b'\n', &bytes[..bytes.len() / 2]) {
        return newline + 1;
    }
    // An escape sequence that began before the first byte must not be taken for text.
    let unsure = ESCAPE_BYTES.min(bytes.len() / 2);
    token_starts(bytes).find(|start| *start >= unsure).unwrap_or(bytes.len())
}

/// Where to end in bytes whose rest is missing, by the same rules.
fn head_end(bytes: &[u8]) -> usize {
    let half = bytes.len() / 2;
    if let Some(newline) = memrchr(b'\n', &bytes[half..]) {
        return half + newline + 1;
    }
    token_starts(bytes).last().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn captured(ring: usize, bytes: &[u8]) -> Captured {
        let mut captured = Captured::new(ring);
        captured.push(bytes);
        captured
    }

    /// A capture whose head is full of lines, so that tests see the ring alone.
    fn after_head(ring: usize, bytes: &[u8]) -> Captured {
        let mut captured = captured(ring, "head...\n".repeat(HEAD_BYTES / 8).as_bytes());
        captured.push(bytes);
        captured
    }

    #[test]
    fn the_end_is_what_came_last_and_never_reaches_over_a_gap() {
        let mut captured = Captured::new(4);
        captured.push(b"ab");
        assert_eq!((captured.end(1), captured.end(9)), (b"b".to_vec(), b"ab".to_vec()));
        captured.push(&vec![b'x'; HEAD_BYTES - 2]);
        captured.push(b"12");
        assert_eq!((captured.end(2), captured.end(3)), (b"12".to_vec(), b"x12".to_vec()));
        captured.push(b"3456");
        assert_eq!((captured.end(3), captured.end(99)), (b"456".to_vec(), b"3456".to_vec()));
    }

    #[test]
    fn a_short_output_is_held_whole_and_borrowed() {
        let captured = captured(10, b"hello\n");
        let parts = captured.parts();
        assert!(matches!(parts.head, Cow::Borrowed(b"hello\n")));
        assert!(parts.gap.is_none());
    }

    #[test]
    fn head_and_ring_are_contiguous_until_something_is_dropped() {
        let text = "0123456789abcde\n".repeat(HEAD_BYTES / 16 + 4);
        let captured = captured(64, text.as_bytes());
        let parts = captured.parts();
        assert_eq!(parts.head, text.as_bytes());
        assert!(parts.gap.is_none());
        assert_eq!(captured.dropped(), 0);
    }

    #[test]
    fn the_tail_begins_at_a_line_and_the_gap_counts_what_is_missing() {
        let captured = after_head(30, b"one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n");
        let gap = captured.parts().gap.unwrap();
        assert_eq!(gap.tail, b"five\nsix\nseven\neight\nnine\n".as_slice());
        assert_eq!((gap.dropped_bytes, gap.dropped_lines), (19, 4));
    }

    #[test]
    fn a_ring_that_begins_at_a_line_start_loses_nothing_more() {
        let captured = after_head(8, b"one\ntwo\nthree.\n");
        assert_eq!(captured.parts().gap.unwrap().tail, b"three.\n".as_slice());
        let captured = after_head(7, b"one\ntwo\nthree.\n");
        assert_eq!(captured.parts().gap.unwrap().tail, b"three.\n".as_slice());
    }

    #[test]
    fn one_line_longer_than_the_ring_is_cut_at_a_token() {
        let line = [b"x".repeat(500), b" ghp_abc%2Fdef next words".to_vec()].concat();
        let captured = after_head(125, &line);
        assert_eq!(captured.parts().gap.unwrap().tail, b"ghp_abc%2Fdef next words".as_slice());
        let line = [b"ghp_abc%2Fdef".repeat(20), b" next words".to_vec()].concat();
        let captured = after_head(125, &line);
        assert_eq!(captured.parts().gap.unwrap().tail, b"next words".as_slice());
    }

    #[test]
    fn a_fragment_of_a_giant_token_is_not_shown() {
        let captured = after_head(1000, &b"a".repeat(5000));
        let gap = captured.parts().gap.unwrap();
        assert!(gap.tail.is_empty());
        assert_eq!(gap.dropped_bytes, 5000);
        let captured = self::captured(1000, &b"a".repeat(HEAD_BYTES + 5000));
        assert!(captured.parts().head.is_empty());
    }

    #[test]
    fn a_giant_line_with_a_late_newline_keeps_its_words() {
        let mut line = b"word ".repeat(400);
        line.extend_from_slice(b"\n");
        let captured = after_head(1000, &line);
        assert!(captured.parts().gap.unwrap().tail.len() > 900);
    }

    #[test]
    fn a_colour_inside_a_token_is_not_a_place_to_cut() {
        let line = [b"z".repeat(400), b"sec\x1b[38;2;1;2;3mret".repeat(6), b" end".to_vec()].concat();
        let captured = after_head(120, &line);
        assert_eq!(captured.parts().gap.unwrap().tail, b"end".as_slice());
    }

    #[test]
    fn the_head_ends_with_a_whole_line_or_token() {
        let mut text = "line one\n".repeat(HEAD_BYTES / 9);
        text.push_str(&"secretsecret".repeat(1000));
        let captured = captured(100, text.as_bytes());
        assert!(captured.parts().head.ends_with(b"line one\n"));
        let text = "word word,secretsecret".repeat(HEAD_BYTES / 10);
        let captured = self::captured(100, text.as_bytes());
        let parts = captured.parts();
        assert!(parts.head.ends_with(b" ") || parts.head.ends_with(b","));
        assert!(parts.head.len() > HEAD_BYTES - 20);
    }

    #[test]
    fn shrinking_keeps_the_newest_and_gives_memory_back() {
        let mut captured = after_head(1 << 20, "a line of it\n".repeat(50_000).as_bytes());
        captured.shrink_ring(4096);
        assert!(captured.held() <= HEAD_BYTES + 2 * 4096, "{}", captured.held());
        let gap = captured.parts().gap.unwrap();
        assert!(gap.tail.ends_with(b"a line of it\n") && gap.tail.len() > 4000);
        captured.shrink_ring(1 << 20);
        captured.push(&[b'x'; 10_000]);
        assert!(captured.parts().gap.unwrap().tail.len() <= 4096);
        captured.shrink_ring(0);
        captured.push(b"more\n");
        assert!(captured.parts().gap.unwrap().tail.is_empty());
    }

    #[test]
    fn memory_does_not_grow_with_the_input() {
        let mut captured = Captured::new(1 << 20);
        for _ in 0..1000 {
            captured.push(&[b'x'; 64 * 1024]);
        }
        assert!(captured.held() <= 2 * HEAD_BYTES + (1 << 20), "{}", captured.held());
        assert_eq!(captured.seen(), 1000 * 64 * 1024);
    }

    #[test]
    fn debug_shows_counts_only() {
        let text = format!("{:?}", Captured::of("hunter2hunter2"));
        assert_eq!(text, "Captured { seen: 14, dropped: 0, .. }");
    }

    #[test]
    fn a_long_text_is_held_whole() {
        let text = "command line ".repeat(HEAD_BYTES / 4);
        assert_eq!(Captured::of(&text).parts().head, text.as_bytes());
    }

    proptest! {
        #[test]
        fn every_chunking_holds_the_same_and_the_counts_add_up(
            pieces in prop::collection::vec("[a-z \n]{0,40}", 0..60),
            ring in 0usize..200,
            chunk in 1usize..50,
        ) {
            let text = pieces.concat();
            let whole = after_head(ring, text.as_bytes());
            let mut chunked = after_head(ring, b"");
            for part in text.as_bytes().chunks(chunk) {
                chunked.push(part);
            }
            let (a, b) = (whole.parts(), chunked.parts());
            prop_assert_eq!(&a.head, &b.head);
            prop_assert_eq!(a.gap.is_some(), b.gap.is_some());
            if let (Some(a_gap), Some(b_gap)) = (a.gap, b.gap) {
                prop_assert_eq!(&a_gap.tail, &b_gap.tail);
                prop_assert_eq!(a_gap.dropped_bytes, b_gap.dropped_bytes);
                prop_assert_eq!(a_gap.dropped_lines, b_gap.dropped_lines);
                let held = (a.head.len() + a_gap.tail.len()) as u64;
                prop_assert_eq!(held + a_gap.dropped_bytes, whole.seen());
                prop_assert!(text.as_bytes().ends_with(&a_gap.tail));
                let start = text.len() - a_gap.tail.len();
                prop_assert!(a_gap.tail.is_empty() || start == 0 || !in_token(text.as_bytes()[start - 1]));
                let all = newlines(&a.head) + newlines(&a_gap.tail) + a_gap.dropped_lines;
                prop_assert_eq!(all, newlines(text.as_bytes()) + (HEAD_BYTES / 8) as u64);
            } else {
                prop_assert!(a.head.ends_with(text.as_bytes()));
            }
        }
    }
}
