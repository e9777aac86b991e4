//! Lines of a text that is shown as it arrives. Of an overwritten line the first frame has been shown already, so it
//! stays, and the last one comes out below it.
//!
//! It must never hold more than a few windows, however long a line is.

use memchr::memrchr;

use super::Normalised;
use super::frames::{JOINED_BYTES, Joined};
use super::noise::{Verdict, judge};

/// The longest frame that is held back. One that gets longer is shown as it is, and what follows it as it arrives.
const FRAME_BYTES: usize = 64 * 1024;

/// The line that has not ended, and what is known about it.
pub(super) struct StreamLines {
    /// The line so far with backspaces applied, and what of it was put out.
    joined: Joined,
    /// Whether something of the line was put out.
    started: bool,
    /// Whether the line was put out otherwise than it is in `joined`.
    edited: bool,
    /// The frames that overwrite the first one.
    held: Option<Held>,
    /// A carriage return came, and nothing yet that makes it more than part of a newline.
    returned: bool,
    /// Backspaces that take effect when something is printed over what they went back.
    back: usize,
    /// Nothing was printed yet but blank lines and a shell's complaints.
    at_front: bool,
    /// A line that may become a complaint.
    waiting: String,
    emitted: u64,
}

/// What overwrites a line. Frames before `last` are in the line's `joined`.
struct Held {
    /// What the last frame must differ from to be worth showing; `None` if anything does.
    first: Option<String>,
    last: String,
    frame: String,
}

impl StreamLines {
    pub(super) fn new(at_front: bool) -> Self {
        Self {
            joined: Joined::default(),
            started: false,
            edited: false,
            held: None,
            returned: false,
            back: 0,
            at_front,
            waiting: String::new(),
            emitted: 0,
        }
    }

    pub(super) fn emitted(&self) -> u64 {
        self.emitted
    }

    pub(super) fn carriage_return(&mut self) {
        self.returned = true;
        self.back = 0;
    }

    pub(super) fn backspace(&mut self) {
        if !self.returned {
            self.back = self.back.saturating_add(1);
        }
    }

    pub(super) fn text(&mut self, run: &str, out: &mut Normalised) {
        let mut rest = run;
        while !rest.is_empty() {
            if !(self.at_front || self.returned || self.edited || self.back > 0 || self.held.is_some()) {
                let start = memrchr(b'\n', rest.as_bytes()).map_or(0, |newline| newline + 1);
                if start > 0 {
                    self.joined.clear();
                    self.emit(&rest[..start], out);
                    self.started = false;
                }
                if start < rest.len() {
                    self.emit_first(&rest[start..], out);
                }
                return;
            }
            let (body, after) = match rest.split_once('\n') {
                Some((body, after)) => (body, Some(after)),
                None => (rest, None),
            };
            if !body.is_empty() {
                self.body(body, out);
            }
            if after.is_some() {
                self.end_line("\n", out);
            }
            rest = after.unwrap_or_default();
        }
    }

    pub(super) fn finish(&mut self, out: &mut Normalised) {
        self.end_line("", out);
    }

    fn body(&mut self, text: &str, out: &mut Normalised) {
        if std::mem::take(&mut self.returned) {
            self.begin_frame(out);
        }
        self.go_back(out);
        if self.held.is_some() {
            self.hold(text, out);
        } else {
            self.first_frame(text, out);
        }
    }

    /// What comes now overwrites the line.
    fn begin_frame(&mut self, out: &mut Normalised) {
        self.release(out);
        match &mut self.held {
            Some(held) if !held.frame.is_empty() => {
                self.joined.push(&held.last, None);
                std::mem::swap(&mut held.last, &mut held.frame);
                held.frame.clear();
            }
            Some(_) => {}
            None if self.started => {
                let first = self.joined.whole().filter(|_| !self.edited).map(str::to_owned);
                self.held = Some(Held { first, last: String::new(), frame: String::new() });
            }
            None => {}
        }
    }

    /// Applies the backspaces that came before what is printed now. What was put out already stays there; a redactor
    /// sees it as it would be without.
    fn go_back(&mut self, out: &mut Normalised) {
        let back = std::mem::take(&mut self.back);
        if back == 0 {
            return;
        }
        self.release(out);
        for _ in 0..back {
            let popped = match &mut self.held {
                Some(held) => held.frame.pop().is_some(),
                None => {
                    let popped = self.joined.pop();
                    self.edited |= popped;
                    popped
                }
            };
            if !popped {
                break;
            }
        }
    }

    fn first_frame(&mut self, text: &str, out: &mut Normalised) {
        if self.at_front && !self.started {
            self.waiting.push_str(text);
            if judge(&self.waiting) == Verdict::IsNot {
                self.release(out);
            }
        } else {
            self.emit_first(text, out);
        }
    }

    /// Puts out what waited.
    fn release(&mut self, out: &mut Normalised) {
        if !self.waiting.is_empty() {
            let text = std::mem::take(&mut self.waiting);
            self.emit_first(&text, out);
        }
    }

    fn emit_first(&mut self, text: &str, out: &mut Normalised) {
        self.at_front = self.at_front && text.trim().is_empty();
        self.started = true;
        self.joined.push(text, Some(self.emitted));
        self.emit(text, out);
    }

    /// Adds to the frame held back. One that gets too long is put out, and the line goes on as if it were its first.
    fn hold(&mut self, text: &str, out: &mut Normalised) {
        let Some(held) = &mut self.held else { return };
        let fitting = text.floor_char_boundary(FRAME_BYTES - held.frame.len());
        held.frame.push_str(&text[..fitting]);
        let rest = &text[fitting..];
        if rest.is_empty() {
            return;
        }
        if let Some(Held { last, frame, .. }) = self.held.take() {
            self.joined.push(&last, None);
            self.show_below(&frame, out);
            out.frames.push(self.joined.frames());
            // Every later frame differs from one that was cut here. Backspaces cannot go further back than this frame:
            // it fills all of `joined`.
            self.edited = true;
        }
        self.emit_first(rest, out);
    }

    fn show_below(&mut self, frame: &str, out: &mut Normalised) {
        self.emit("\n", out);
        self.joined.push(frame, Some(self.emitted));
        self.emit(frame, out);
    }

    fn end_line(&mut self, newline: &str, out: &mut Normalised) {
        let complaint = !self.waiting.is_empty() && judge(&self.waiting) == Verdict::Is;
        if complaint {
            self.waiting.clear();
        } else {
            self.release(out);
            self.end_frames(out);
            self.emit(newline, out);
        }
        self.joined.clear();
        self.started = false;
        self.edited = false;
        self.returned = false;
        self.back = 0;
    }

    fn end_frames(&mut self, out: &mut Normalised) {
        match self.held.take() {
            Some(Held { first, last, frame }) => {
                let shown = if frame.is_empty() {
                    last
                } else {
                    self.joined.push(&last, None);
                    frame
                };
                if shown.is_empty() || first.as_ref() == Some(&shown) {
                    self.joined.push(&shown, None);
                } else {
                    self.show_below(&shown, out);
                }
                out.frames.push(self.joined.frames());
            }
            None if self.edited => out.frames.push(self.joined.frames()),
            None => {}
        }
    }

    fn emit(&mut self, text: &str, out: &mut Normalised) {
        out.text.push_str(text);
        self.emitted += text.len() as u64;
    }
}

const _: () = assert!(FRAME_BYTES <= JOINED_BYTES, "a frame held back is seen whole by a redactor");
