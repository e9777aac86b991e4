//! Lines of a text that is shown once: each comes out whole, as it looked in the end.

use memchr::memrchr;

use super::noise::{Verdict, judge};
use super::{Frames, Normalised};

/// How much of the overwritten frames is kept before the last one: 64 KiB, a window of a redactor.
const CONTEXT_BYTES: usize = 64 * 1024;

/// The line that has not ended, and what is known about it.
pub(super) struct ViewLines {
    /// The current frame.
    frame: String,
    /// The last frame before it that was not empty.
    last: String,
    /// The frames before that one; of many, the end.
    context: String,
    overwritten: bool,
    /// A carriage return came, and nothing yet that makes it more than part of a newline.
    returned: bool,
    /// Backspaces that take effect when something is printed over what they went back.
    back: usize,
    /// The line does not stand as it was printed.
    edited: bool,
    /// Nothing was printed yet but blank lines and a shell's complaints.
    at_front: bool,
    emitted: u64,
}

impl ViewLines {
    pub(super) fn new(at_front: bool) -> Self {
        Self {
            frame: String::new(),
            last: String::new(),
            context: String::new(),
            overwritten: false,
            returned: false,
            back: 0,
            edited: false,
            at_front,
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
            if !(self.at_front || self.overwritten || self.returned || self.edited || self.back > 0) {
                let start = memrchr(b'\n', rest.as_bytes()).map_or(0, |newline| newline + 1);
                if start > 0 {
                    self.emitted += (self.frame.len() + start) as u64;
                    out.text.push_str(&self.frame);
                    out.text.push_str(&rest[..start]);
                    self.frame.clear();
                }
                self.frame.push_str(&rest[start..]);
                return;
            }
            let (body, after) = match rest.split_once('\n') {
                Some((body, after)) => (body, Some(after)),
                None => (rest, None),
            };
            if !body.is_empty() {
                self.body(body);
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

    fn body(&mut self, text: &str) {
        if self.returned && !self.frame.is_empty() {
            self.context.push_str(&self.last);
            if self.context.len() > 2 * CONTEXT_BYTES {
                trim(&mut self.context);
            }
            std::mem::swap(&mut self.last, &mut self.frame);
            self.frame.clear();
            self.overwritten = true;
        }
        self.returned = false;
        for _ in 0..self.back {
            if self.frame.pop().is_none() {
                break;
            }
            self.edited = true;
        }
        self.back = 0;
        self.frame.push_str(text);
    }

    fn end_line(&mut self, newline: &str, out: &mut Normalised) {
        let complaint = self.at_front && !self.overwritten && !self.edited && judge(&self.frame) == Verdict::Is;
        if !complaint {
            if self.overwritten && !self.frame.is_empty() {
                self.context.push_str(&self.last);
                std::mem::swap(&mut self.last, &mut self.frame);
            }
            let shown = if self.overwritten { &self.last } else { &self.frame };
            self.at_front = self.at_front && shown.trim().is_empty();
            if self.overwritten {
                trim(&mut self.context);
                let piece = (self.context.len()..self.context.len() + shown.len(), self.emitted);
                let joined = [self.context.as_str(), shown].concat();
                out.frames.push(Frames { joined, pieces: vec![piece] });
            }
            out.text.push_str(shown);
            out.text.push_str(newline);
            self.emitted += (shown.len() + newline.len()) as u64;
        }
        self.frame.clear();
        self.last.clear();
        self.context.clear();
        self.overwritten = false;
        self.returned = false;
        self.edited = false;
        self.back = 0;
    }
}

/// Keeps the end.
fn trim(context: &mut String) {
    let cut = context.ceil_char_boundary(context.len().saturating_sub(CONTEXT_BYTES));
    context.drain(..cut);
}
