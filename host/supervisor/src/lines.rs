//! Cuts what is read into lines of bounded length.
//!
//! It must never hand out a line that was longer than allowed, or one whose end was not read: half a number is another
//! number.

/// The most bytes of a line, its newline included (a name and two numbers take less than half of it).
pub(crate) const LINE_MAX: usize = 256;

/// What was read of a line so far.
pub(crate) struct Lines {
    buffer: [u8; LINE_MAX - 1],
    length: usize,
    /// The line is too long already: nothing of it counts.
    too_long: bool,
}

impl Lines {
    pub(crate) fn new() -> Self {
        Self { buffer: [0; LINE_MAX - 1], length: 0, too_long: false }
    }

    /// Shows each line that ends in these bytes, without its newline, to `line`.
    pub(crate) fn push(&mut self, bytes: &[u8], mut line: impl FnMut(&[u8])) {
        for &byte in bytes {
            if byte == b'\n' {
                if !self.too_long {
                    line(&self.buffer[..self.length]);
                }
                (self.length, self.too_long) = (0, false);
            } else if let Some(free) = self.buffer.get_mut(self.length) {
                *free = byte;
                self.length += 1;
            } else {
                self.too_long = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(chunks: &[&[u8]]) -> Vec<Vec<u8>> {
        let (mut lines, mut found) = (Lines::new(), Vec::new());
        for chunk in chunks {
            lines.push(chunk, |line| found.push(line.to_vec()));
        }
        found
    }

    #[test]
    fn a_line_without_its_end_is_never_handed_out() {
        assert_eq!(cut(&[b"register 12", b"34"]), Vec::<Vec<u8>>::new());
        assert_eq!(cut(&[b"register 12", b"34\n"]), [b"register 1234"]);
    }

    #[test]
    fn a_line_that_is_too_long_is_dropped_whole_and_the_next_one_counts() {
        let fits = vec![b'7'; LINE_MAX - 1];
        let too_long = vec![b'7'; LINE_MAX];
        assert_eq!(cut(&[&too_long, b"\n", &fits, b"\nrelease\n"]), [&fits[..], b"release"]);
    }

    proptest! {
        #[test]
        fn however_it_is_cut_the_lines_are_the_same(
            text in prop::collection::vec(prop_oneof![4 => any::<u8>(), 1 => Just(b'\n')], 0..2000),
            sizes in prop::collection::vec(1..400_usize, 1..8),
        ) {
            let mut expected: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
            expected.pop();
            expected.retain(|line| line.len() < LINE_MAX);
            let (mut chunks, mut rest) = (Vec::new(), &text[..]);
            for size in sizes.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (chunk, left) = rest.split_at((*size).min(rest.len()));
                chunks.push(chunk);
                rest = left;
            }
            prop_assert_eq!(cut(&chunks), expected);
        }
    }
}
