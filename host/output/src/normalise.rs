//! From bytes of a terminal to plain text: decoding, escape sequences, overwritten lines.
//!
//! The text that comes out has no control characters but newline and tab, and no invisible format characters. It must
//! be the same for every way of cutting the same bytes into chunks.

use std::ops::Range;

mod escape;
mod frames;
mod noise;
mod scan;
mod stream;
mod view;

use escape::{Escapes, Meaning};
use stream::StreamLines;
use view::ViewLines;

/// How much of badly encoded text is decoded before it is passed on.
const PIECE_BYTES: usize = 8 * 1024;

/// What becomes of a line that was overwritten by carriage returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The last frame that is not empty is the line. A line comes out when its newline does.
    View,
    /// The first frame comes out as it arrives, the last one as a line of its own with the newline.
    Stream,
}

/// A decoder of one stream of bytes. What it holds between two calls is bounded in [`Mode::Stream`], and is the line
/// not ended yet in [`Mode::View`].
pub struct Normaliser {
    /// The beginning of a character of which the rest has not arrived: at most three bytes.
    carry: Vec<u8>,
    escapes: Escapes,
    lines: Lines,
}

/// Plain text, and what a reader for secrets must see beside it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Normalised {
    /// The text.
    pub text: String,
    /// The overwritten lines that ended in it.
    pub frames: Vec<Frames>,
    /// Where `text` begins in all text its normaliser ever put out, in bytes. The normaliser sets it when it finds the
    /// text empty.
    pub from: u64,
}

/// A line that was overwritten. What a redactor must see as well: all frames joined, without the returns.
#[derive(Clone, PartialEq, Eq)]
pub struct Frames {
    /// The frames one after the other, backspaces applied. Of a very long line, its end.
    pub joined: String,
    /// What is shown of them: a range of `joined`, and the offset of its first byte in all text ever put out. The same
    /// bytes stand there.
    pub pieces: Vec<(Range<usize>, u64)>,
}

/// The two ways to make lines.
enum Lines {
    View(ViewLines),
    Stream(StreamLines),
}

impl Lines {
    /// Takes text without control characters but newline and tab.
    fn text(&mut self, run: &str, out: &mut Normalised) {
        match self {
            Self::View(lines) => lines.text(run, out),
            Self::Stream(lines) => lines.text(run, out),
        }
    }

    fn carriage_return(&mut self) {
        match self {
            Self::View(lines) => lines.carriage_return(),
            Self::Stream(lines) => lines.carriage_return(),
        }
    }

    fn backspace(&mut self) {
        match self {
            Self::View(lines) => lines.backspace(),
            Self::Stream(lines) => lines.backspace(),
        }
    }

    fn finish(&mut self, out: &mut Normalised) {
        match self {
            Self::View(lines) => lines.finish(out),
            Self::Stream(lines) => lines.finish(out),
        }
    }

    fn emitted(&self) -> u64 {
        match self {
            Self::View(lines) => lines.emitted(),
            Self::Stream(lines) => lines.emitted(),
        }
    }
}

impl Normaliser {
    /// A normaliser at the beginning of an output, where an interactive shell may complain of having no terminal.
    pub fn new(mode: Mode) -> Self {
        Self::starting(mode, true)
    }

    /// A normaliser for bytes from the middle of an output: nothing is taken for a complaint of the shell.
    pub fn continued(mode: Mode) -> Self {
        Self::starting(mode, false)
    }

    fn starting(mode: Mode, at_front: bool) -> Self {
        let lines = match mode {
            Mode::View => Lines::View(ViewLines::new(at_front)),
            Mode::Stream => Lines::Stream(StreamLines::new(at_front)),
        };
        Self { carry: Vec::new(), escapes: Escapes::default(), lines }
    }

    /// Takes what arrived and appends the text that is ready.
    pub fn push(&mut self, bytes: &[u8], out: &mut Normalised) {
        if out.text.is_empty() {
            out.from = self.lines.emitted();
        }
        let mut rest = self.complete_carry(bytes, out);
        while let Some(first) = rest.first() {
            if self.escapes.outside() {
                let run = scan::run_len(rest);
                if run > 0 {
                    let taken = self.run(&rest[..run], run == rest.len(), out);
                    if taken < run {
                        self.carry.extend_from_slice(&rest[taken..run]);
                    }
                    rest = &rest[run..];
                    continue;
                }
            }
            let skipped = scan::skip_len(rest, self.escapes.outside());
            if skipped > 0 {
                rest = &rest[skipped..];
                continue;
            }
            let (char, len) = if first.is_ascii() {
                (char::from(*first), 1)
            } else {
                match scan::decode(rest) {
                    scan::Decoded::Char(char, len) => (char, len),
                    scan::Decoded::Bad(len) => (char::REPLACEMENT_CHARACTER, len),
                    scan::Decoded::Incomplete => {
                        self.carry.extend_from_slice(rest);
                        return;
                    }
                }
            };
            self.char(char, out);
            rest = &rest[len..];
        }
    }

    /// Says that nothing follows: what is held comes out, half a character as U+FFFD, half a sequence not at all.
    pub fn finish(&mut self, out: &mut Normalised) {
        if out.text.is_empty() {
            out.from = self.lines.emitted();
        }
        if !self.carry.is_empty() {
            self.carry.clear();
            self.char(char::REPLACEMENT_CHARACTER, out);
        }
        self.escapes = Escapes::default();
        self.lines.finish(out);
    }

    /// Adds to the carried bytes until they are a character or cannot become one. Returns what is left.
    fn complete_carry<'a>(&mut self, bytes: &'a [u8], out: &mut Normalised) -> &'a [u8] {
        let mut rest = bytes;
        while !self.carry.is_empty() {
            let Some(next) = rest.first() else { break };
            self.carry.push(*next);
            match scan::decode(&self.carry) {
                scan::Decoded::Incomplete => rest = &rest[1..],
                scan::Decoded::Char(char, _) => {
                    rest = &rest[1..];
                    self.carry.clear();
                    self.char(char, out);
                }
                // The carried bytes began a character and the next one does not go on with it: it stands for itself.
                scan::Decoded::Bad(_) => {
                    self.carry.clear();
                    self.char(char::REPLACEMENT_CHARACTER, out);
                }
            }
        }
        rest
    }

    /// Decodes a run without anything special in it. Returns how much of it was taken: all, or at the end of a chunk all
    /// but the beginning of a character.
    fn run(&mut self, bytes: &[u8], ends_chunk: bool, out: &mut Normalised) -> usize {
        let error = match std::str::from_utf8(bytes) {
            Ok(text) => {
                self.lines.text(text, out);
                return bytes.len();
            }
            Err(error) => error,
        };
        let (valid, rest) = bytes.split_at(error.valid_up_to());
        self.lines.text(std::str::from_utf8(valid).unwrap_or_default(), out);
        let mut taken = valid.len();
        // Where one byte is bad, often many are: they are decoded into pieces, not passed on one by one.
        let mut piece = String::new();
        for chunk in rest.utf8_chunks() {
            piece.push_str(chunk.valid());
            taken += chunk.valid().len();
            let last = taken + chunk.invalid().len() == bytes.len();
            if chunk.invalid().is_empty() || (last && ends_chunk && scan::is_beginning(chunk.invalid())) {
                break;
            }
            piece.push(char::REPLACEMENT_CHARACTER);
            taken += chunk.invalid().len();
            if piece.len() >= PIECE_BYTES {
                self.lines.text(&piece, out);
                piece.clear();
            }
        }
        self.lines.text(&piece, out);
        taken
    }

    fn char(&mut self, char: char, out: &mut Normalised) {
        match self.escapes.on(char) {
            Meaning::Nothing => {}
            Meaning::Return => self.lines.carriage_return(),
            Meaning::Backspace => self.lines.backspace(),
            Meaning::Text if scan::is_invisible(char) => {}
            Meaning::Text => self.lines.text(char.encode_utf8(&mut [0; 4]), out),
        }
    }
}

/// What there is to do about a text that is no output of a terminal, such as a string of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing: it is what [`view_continued`] would make of it.
    Plain,
    /// Its lines end with a return and a newline, and it is plain otherwise.
    Returns,
    /// It has control or invisible characters.
    Unclean,
}

/// Whether a text is plain.
pub(crate) fn standing(text: &str) -> Standing {
    let mut standing = Standing::Plain;
    let mut rest = text.as_bytes();
    loop {
        rest = &rest[scan::run_len(rest)..];
        match rest {
            [] => return standing,
            [b'\r', b'\n', ..] => {
                standing = Standing::Returns;
                rest = &rest[2..];
            }
            _ => return Standing::Unclean,
        }
    }
}

/// The text of bytes held whole.
pub fn view(bytes: &[u8]) -> Normalised {
    whole(Normaliser::new(Mode::View), bytes)
}

/// The text of bytes from the middle of an output, such as the tail of a capture.
pub fn view_continued(bytes: &[u8]) -> Normalised {
    whole(Normaliser::continued(Mode::View), bytes)
}

fn whole(mut normaliser: Normaliser, bytes: &[u8]) -> Normalised {
    let mut out = Normalised { text: String::with_capacity(bytes.len()), ..Normalised::default() };
    normaliser.push(bytes, &mut out);
    normaliser.finish(&mut out);
    out
}

#[cfg(test)]
mod tests;
