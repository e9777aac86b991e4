//! The end of an overwritten line, and where its shown pieces stand in it. It never grows past [`JOINED_BYTES`].

use std::ops::Range;

use super::Frames;

/// The most that is kept of a line: one window of a redactor, 64 KiB. A secret longer than that is not found anyway.
pub(super) const JOINED_BYTES: usize = 64 * 1024;

/// The end of a line.
#[derive(Default)]
pub(super) struct Joined {
    text: String,
    pieces: Vec<(Range<usize>, u64)>,
    trimmed: bool,
}

impl Joined {
    /// Appends text; `shown` says where it stands in the text put out, if it does. When there is no room for the next
    /// character, the older half goes: that depends on the text alone, not on how it was cut into chunks.
    pub(super) fn push(&mut self, text: &str, shown: Option<u64>) {
        let mut rest = text;
        let mut shown = shown;
        while !rest.is_empty() {
            let room = JOINED_BYTES - self.text.len();
            let fitting = if rest.len() <= room { rest.len() } else { rest.floor_char_boundary(room) };
            if fitting == 0 {
                self.trim();
                continue;
            }
            let start = self.text.len();
            self.text.push_str(&rest[..fitting]);
            if let Some(offset) = shown {
                match self.pieces.last_mut() {
                    Some((range, first)) if range.end == start && *first + range.len() as u64 == offset => {
                        range.end = self.text.len();
                    }
                    _ => self.pieces.push((start..self.text.len(), offset)),
                }
            }
            shown = shown.map(|offset| offset + fitting as u64);
            rest = &rest[fitting..];
        }
    }

    /// Takes back the last character. Whether there was one.
    pub(super) fn pop(&mut self) -> bool {
        if self.text.pop().is_none() {
            return false;
        }
        let len = self.text.len();
        while let Some((range, _)) = self.pieces.last_mut()
            && range.end > len
        {
            range.end = len;
            if range.start >= range.end {
                self.pieces.pop();
            }
        }
        true
    }

    /// The text, if all of the line is in it.
    pub(super) fn whole(&self) -> Option<&str> {
        (!self.trimmed).then_some(&self.text)
    }

    /// What a redactor is to see.
    pub(super) fn frames(&self) -> Frames {
        Frames { joined: self.text.clone(), pieces: self.pieces.clone() }
    }

    /// Empties it for the next line, keeping its memory.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.pieces.clear();
        self.trimmed = false;
    }

    fn trim(&mut self) {
        let cut = self.text.ceil_char_boundary(self.text.len() - JOINED_BYTES / 2);
        self.text.drain(..cut);
        self.trimmed = true;
        self.pieces.retain_mut(|(range, offset)| {
            *offset += cut.saturating_sub(range.start) as u64;
            *range = range.start.saturating_sub(cut)..range.end.saturating_sub(cut);
            range.start < range.end
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_goes_on_extends_its_piece() {
        let mut joined = Joined::default();
        joined.push("abc", Some(10));
        joined.push("def", Some(13));
        joined.push("not shown", None);
        joined.push("ghi", Some(20));
        let frames = joined.frames();
        assert_eq!(frames.joined, "abcdefnot shownghi");
        assert_eq!(frames.pieces, [(0..6, 10), (15..18, 20)]);
    }

    #[test]
    fn taking_back_shortens_the_last_piece_and_drops_it_when_empty() {
        let mut joined = Joined::default();
        joined.push("ab", Some(0));
        joined.push("é", Some(5));
        assert!(joined.pop());
        assert_eq!(joined.frames().pieces, [(0..2, 0)]);
        assert!(joined.pop() && joined.pop());
        assert!(!joined.pop());
        assert!(joined.frames().pieces.is_empty());
    }

    #[test]
    fn a_long_line_keeps_its_end_and_its_places() {
        let mut joined = Joined::default();
        let text = "0123456é".repeat(JOINED_BYTES / 3);
        joined.push(&text, Some(100));
        let frames = joined.frames();
        assert!(frames.joined.len() <= JOINED_BYTES && frames.joined.len() >= JOINED_BYTES / 2 - 1);
        let [(range, offset)] = frames.pieces.as_slice() else { panic!("one piece") };
        assert_eq!(*range, 0..frames.joined.len());
        assert_eq!(text[(*offset - 100) as usize..], frames.joined);
        assert!(joined.whole().is_none());
    }
}
