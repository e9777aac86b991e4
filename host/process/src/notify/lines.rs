//! [`Lines`]: text in chunks of any size, cut into the same lines whatever the chunks were.
//!
//! It must never hold more than [`LINE_MAX`] bytes of a line without an end, and never let a chunk's border hide a
//! pattern.

/// The longest line that is handed on whole, and the most text that waits for its end, in bytes (as much as a stream
/// keeps, 64 KiB).
pub const LINE_MAX: usize = 64 * 1024;

/// A line without its newline, or a part of one longer than [`LINE_MAX`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The text.
    pub text: &'a str,
    /// Text before this byte was the end of the piece before, too: what ends in it has been seen.
    pub fresh_from: usize,
}

/// Text on its way to whoever looks at lines.
///
/// A line longer than [`LINE_MAX`] comes in pieces that overlap. Where they are cut depends on the line alone.
pub struct Lines {
    /// The beginning of a line whose end did not come yet.
    held: String,
    /// How much of `held` was in the piece before.
    repeated: usize,
    overlap: usize,
}

impl Lines {
    /// Nothing yet. Pieces of a long line overlap by `overlap` bytes or up to three more, and by half a piece at most:
    /// a pattern of `overlap` + 1 bytes is whole in one of them.
    pub fn new(overlap: usize) -> Self {
        Self { held: String::new(), repeated: 0, overlap: overlap.min(LINE_MAX / 2) }
    }

    /// Takes text and hands on each line that ends in it.
    pub fn push(&mut self, text: &str, mut each: impl FnMut(Piece<'_>)) {
        let mut rest = text;
        while let Some((line, after)) = rest.split_once('\n') {
            if self.held.is_empty() && line.len() <= LINE_MAX {
                each(Piece { text: line, fresh_from: 0 });
            } else {
                self.grow(line, &mut each);
                self.end(&mut each);
            }
            rest = after;
        }
        self.grow(rest, &mut each);
    }

    /// Says that nothing follows, and hands on a last line without a newline.
    pub fn finish(&mut self, mut each: impl FnMut(Piece<'_>)) {
        if !self.held.is_empty() {
            self.end(&mut each);
        }
    }

    /// How many bytes wait for the end of their line.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    fn grow(&mut self, mut text: &str, each: &mut impl FnMut(Piece<'_>)) {
        while self.held.len() + text.len() > LINE_MAX {
            let (fits, after) = text.split_at(text.floor_char_boundary(LINE_MAX - self.held.len()));
            self.held.push_str(fits);
            each(Piece { text: &self.held, fresh_from: self.repeated });
            let from = self.held.floor_char_boundary(self.held.len().saturating_sub(self.overlap));
            self.held.drain(..from);
            self.repeated = self.held.len();
            text = after;
        }
        self.held.push_str(text);
    }

    fn end(&mut self, each: &mut impl FnMut(Piece<'_>)) {
        each(Piece { text: &self.held, fresh_from: self.repeated });
        self.held.clear();
        self.repeated = 0;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Cuts a text at character borders into chunks of about these sizes, again and again.
    pub(in crate::notify) fn chunks<'a>(mut text: &'a str, sizes: &[usize]) -> Vec<&'a str> {
        let mut chunks = Vec::new();
        for &size in sizes.iter().cycle() {
            if text.is_empty() {
                break;
            }
            let (chunk, rest) = text.split_at(text.ceil_char_boundary(size.min(text.len())));
            chunks.push(chunk);
            text = rest;
        }
        chunks
    }

    fn pieces(chunks: &[&str], overlap: usize) -> Vec<(String, usize)> {
        let mut lines = Lines::new(overlap);
        let mut pieces = Vec::new();
        let mut each = |piece: Piece<'_>| pieces.push((piece.text.to_owned(), piece.fresh_from));
        for chunk in chunks {
            lines.push(chunk, &mut each);
            assert!(lines.held() <= LINE_MAX);
        }
        lines.finish(&mut each);
        pieces
    }

    #[test]
    fn lines_come_whole_and_the_last_one_when_nothing_follows() {
        let whole = |text: &str| (text.to_owned(), 0);
        assert_eq!(pieces(&["on", "e\n\ntwo\nth", "ree"], 3), [whole("one"), whole(""), whole("two"), whole("three")]);
        assert_eq!(pieces(&["one\n"], 3), [whole("one")]);
        assert_eq!(pieces(&[], 3), []);
    }

    #[test]
    fn a_line_of_just_the_longest_length_is_one_piece() {
        let line = "x".repeat(LINE_MAX);
        assert_eq!(pieces(&[&line, "\n"], 9), [(line.clone(), 0)]);
        assert_eq!(pieces(&[&line, "y\n"], 9).len(), 2);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn chunks_never_change_the_pieces_and_no_text_is_lost_or_seen_twice(
            parts in prop::collection::vec(("[aα🦀\n]{0,8}", 1_usize..6000), 0..12),
            sizes in prop::collection::vec(1_usize..70_000, 1..6),
            overlap in 0_usize..1000,
        ) {
            let text: String = parts.iter().map(|(part, times)| part.repeat(*times)).collect();
            let whole = pieces(&[&text], overlap);
            prop_assert_eq!(&pieces(&chunks(&text, &sizes), overlap), &whole);
            // A line that goes on has what the piece before ended with; one that begins has nothing.
            let mut joined = String::new();
            for (piece, fresh_from) in &whole {
                prop_assert!(piece.len() <= LINE_MAX);
                if *fresh_from > 0 {
                    prop_assert!(*fresh_from >= overlap && joined.pop() == Some('\n'));
                    prop_assert!(joined.ends_with(&piece[..*fresh_from]));
                } else if overlap == 0 && piece.is_empty() {
                    continue;
                }
                joined.push_str(&piece[*fresh_from..]);
                joined.push('\n');
            }
            if overlap > 0 {
                let ended = if text.is_empty() || text.ends_with('\n') { text.clone() } else { format!("{text}\n") };
                prop_assert_eq!(joined, ended);
            }
        }
    }
}
