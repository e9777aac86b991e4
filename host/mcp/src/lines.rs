//! Lines of a program that need not be good: of bounded length, and the stream goes on whatever comes.
//!
//! It must never keep more of a line than it may be long, and never lose a whole line for a bad one before it.

use memchr::memchr;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// The longest message a server may send, in bytes: the largest reply that can be configured (64 MiB). Others stop at 8;
/// a file or a picture in one answer is longer than that.
pub(crate) const MESSAGE_MAX: usize = 64 << 20;
/// How much of the beginning of a line that is too long is kept, in bytes: whose answer it is mostly stands there.
pub(crate) const HEAD: usize = 1024;
/// How much of its end is kept: some servers write the id last.
pub(crate) const TAIL: usize = 256;
/// How much is read at once: what a pipe holds (pipe(7)).
const READ: usize = 64 * 1024;

/// What came of reading. Raw text: no `Debug`, no `Display`.
pub(crate) enum Line {
    /// A whole line without its end, or the last one, which may have none.
    Whole(Vec<u8>),
    /// It was longer than it may be, and is gone.
    TooLong(Ends),
    /// Nothing follows.
    Gone,
}

/// What is left of a line that is gone.
#[derive(Default)]
pub(crate) struct Ends {
    /// Its first bytes, at most [`HEAD`].
    pub(crate) head: Vec<u8>,
    /// Its last bytes, at most [`TAIL`].
    pub(crate) tail: Vec<u8>,
    /// How long it was, in bytes.
    pub(crate) bytes: u64,
}

impl Ends {
    /// The ends of a line that is at hand.
    pub(crate) fn of(line: &[u8]) -> Self {
        let mut ends = Self::default();
        ends.push(line);
        ends
    }

    fn push(&mut self, part: &[u8]) {
        self.bytes += part.len() as u64;
        let room = HEAD - self.head.len();
        self.head.extend_from_slice(&part[..part.len().min(room)]);
        self.tail.extend_from_slice(&part[part.len().saturating_sub(TAIL)..]);
        let surplus = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..surplus);
    }
}

/// Reads lines.
pub(crate) struct Lines<R> {
    read: BufReader<R>,
    max: usize,
    line: Vec<u8>,
    /// What is left of the line that is being skipped.
    skipping: Option<Ends>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads lines of at most `max` bytes, their ends apart.
    pub(crate) fn new(read: R, max: usize) -> Self {
        Self { read: BufReader::with_capacity(READ, read), max, line: Vec::new(), skipping: None }
    }

    /// The next line. May be dropped and called again: nothing that was read is lost. A stream that breaks has ended.
    pub(crate) async fn next(&mut self) -> Line {
        loop {
            let available = match self.read.fill_buf().await {
                Ok(available) if !available.is_empty() => available,
                _ if self.line.is_empty() && self.skipping.is_none() => return Line::Gone,
                _ => return self.finished(),
            };
            let end = memchr(b'\n', available);
            let part = &available[..end.unwrap_or(available.len())];
            match &mut self.skipping {
                Some(ends) => ends.push(part),
                None if self.line.len() + part.len() > self.max => {
                    let mut ends = Ends::of(&self.line);
                    ends.push(part);
                    (self.line, self.skipping) = (Vec::new(), Some(ends));
                }
                None => self.line.extend_from_slice(part),
            }
            let taken = part.len() + usize::from(end.is_some());
            self.read.consume(taken);
            if end.is_some() {
                return self.finished();
            }
        }
    }

    /// The line that ends here. Its memory goes with it.
    fn finished(&mut self) -> Line {
        match self.skipping.take() {
            Some(ends) => Line::TooLong(ends),
            None => Line::Whole(std::mem::take(&mut self.line)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::{AsyncWriteExt, duplex};

    use super::*;

    /// What comes of bytes that arrive in these pieces; a line that is too long is shown by its length.
    fn read_in_pieces(pieces: Vec<Vec<u8>>, max: usize) -> Vec<Result<Vec<u8>, u64>> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async move {
            let (mut theirs, ours) = duplex(7);
            let writing = async move {
                for piece in pieces {
                    theirs.write_all(&piece).await.unwrap();
                }
            };
            let reading = async move {
                let (mut lines, mut read) = (Lines::new(ours, max), Vec::new());
                loop {
                    match lines.next().await {
                        Line::Whole(line) => read.push(Ok(line)),
                        Line::TooLong(ends) => read.push(Err(ends.bytes)),
                        Line::Gone => return read,
                    }
                }
            };
            tokio::join!(writing, reading).1
        })
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_leaves_its_ends_and_no_memory() {
        let line = [b"{\"id\":1,".as_slice(), &vec![b'a'; 100_000], b"tail}\nnext\n"].concat();
        let mut lines = Lines::new(line.as_slice(), 50_000);
        let Line::TooLong(ends) = lines.next().await else { panic!("too long") };
        assert_eq!((ends.head.len(), ends.tail.len(), ends.bytes), (HEAD, TAIL, 100_013));
        assert!(ends.head.starts_with(b"{\"id\":1,a") && ends.tail.ends_with(b"aatail}"));
        assert_eq!(lines.line.capacity(), 0);
        let Line::Whole(next) = lines.next().await else { panic!("a line") };
        assert_eq!(next, b"next");
        assert!(matches!(lines.next().await, Line::Gone) && matches!(lines.next().await, Line::Gone));
    }

    proptest! {
        #[test]
        fn lines_are_the_same_however_they_arrive(
            pieces in proptest::collection::vec(
                proptest::collection::vec(prop_oneof![3 => Just(b'a'), 1 => Just(b'\n'), 1 => any::<u8>()], 0..12), 0..12),
            max in 1usize..20,
        ) {
            let whole = pieces.concat();
            let mut expected: Vec<Result<Vec<u8>, u64>> = whole
                .split(|byte| *byte == b'\n')
                .map(|line| if line.len() > max { Err(line.len() as u64) } else { Ok(line.to_vec()) })
                .collect();
            // What follows the last newline is a line only where there is something.
            if expected.last() == Some(&Ok(Vec::new())) {
                expected.pop();
            }
            prop_assert_eq!(read_in_pieces(pieces, max), expected);
        }

        #[test]
        fn the_ends_of_a_line_are_its_first_and_last_bytes(parts in proptest::collection::vec(
            proptest::collection::vec(any::<u8>(), 0..700), 0..6)) {
            let mut ends = Ends::default();
            for part in &parts {
                ends.push(part);
            }
            let whole = parts.concat();
            prop_assert_eq!(ends.bytes, whole.len() as u64);
            prop_assert_eq!(ends.head.as_slice(), &whole[..whole.len().min(HEAD)]);
            prop_assert_eq!(ends.tail.as_slice(), &whole[whole.len().saturating_sub(TAIL)..]);
        }
    }
}
