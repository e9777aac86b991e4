//! The parts of words that hide what is in them: quotes, `${...}`, arithmetic, arrays, patterns and `[[ ]]`.
//!
//! It must never emit a command out of them, and must always end where the shell would.

use super::{Frame, Kind, Position, Scanner, Unclear};

impl Scanner<'_> {
    /// One step in double quotes, `${...}` or arithmetic.
    pub(super) fn inside(&mut self) -> Result<(), Unclear> {
        let frame = self.top();
        match (self.bytes[self.at], frame) {
            (b'\\', _) => self.at += 2,
            (b'$', _) => return self.dollar(),
            (b'`', _) => return self.skip_backticks(),
            (b'"', Some(Frame::Quotes)) | (b'}', Some(Frame::Parameter { .. })) => {
                self.at += 1;
                self.pop();
            }
            (b'"', _) => {
                self.at += 1;
                self.push(Frame::Quotes);
            }
            (b'\'', Some(Frame::Parameter { quoted: false } | Frame::Arithmetic(_))) => return self.skip_single(),
            (b @ (b'(' | b')'), Some(Frame::Arithmetic(depth))) => {
                self.at += 1;
                let depth = if b == b'(' { depth + 1 } else { depth - 1 };
                self.set_top(Frame::Arithmetic(depth));
                if depth == 0 {
                    self.pop();
                    // Arithmetic that is a command of its own is over; one that is part of a word is not.
                    if self.word.is_none() {
                        self.emit(Kind::Close, self.at - 2, self.at);
                        self.position = Position::Start;
                    }
                }
            }
            _ => self.at += 1,
        }
        Ok(())
    }

    /// One step in an array, an extended pattern or `[[ ]]`.
    pub(super) fn listed(&mut self) -> Result<(), Unclear> {
        let frame = self.top();
        let before = if self.at == 0 { b' ' } else { self.bytes[self.at - 1] };
        let begins = before.is_ascii_whitespace() || before == b'(';
        match (self.bytes[self.at], frame) {
            (b'\\', _) => self.at += 2,
            (b'\'', _) => return self.skip_single(),
            (b'`', _) => return self.skip_backticks(),
            (b'"', _) => {
                self.at += 1;
                self.push(Frame::Quotes);
            }
            (b'$', _) => return self.dollar(),
            (b'#', Some(Frame::List)) if begins => self.skip_comment(),
            (b'(', Some(Frame::List)) => {
                self.at += 1;
                self.push(Frame::List);
            }
            (b')', Some(Frame::List)) => {
                self.at += 1;
                self.pop();
            }
            (b']', Some(Frame::Test)) if begins && self.peek(1) == Some(b']') && self.ends_word(2) => {
                self.at += 2;
                self.pop();
                self.emit(Kind::Close, self.at - 2, self.at);
                self.position = Position::Start;
            }
            _ => self.at += 1,
        }
        Ok(())
    }

    /// `$` and what belongs to it.
    pub(super) fn dollar(&mut self) -> Result<(), Unclear> {
        let start = self.at;
        let in_quotes = matches!(self.top(), Some(Frame::Quotes | Frame::Parameter { quoted: true }));
        match (self.peek(1), self.peek(2)) {
            (Some(b'('), Some(b'(')) => {
                self.at += 3;
                self.push(Frame::Arithmetic(2));
            }
            (Some(b'('), _) => {
                self.at += 2;
                self.substitution(start);
            }
            (Some(b'{'), _) => {
                self.at += 2;
                self.push(Frame::Parameter { quoted: in_quotes });
            }
            (Some(b'\''), _) if !in_quotes => {
                self.at += 2;
                return self.skip_to_unescaped(b'\'');
            }
            _ => self.at += 1,
        }
        Ok(())
    }

    pub(super) fn skip_single(&mut self) -> Result<(), Unclear> {
        let length = self.bytes[self.at + 1..].iter().position(|&b| b == b'\'').ok_or(Unclear)?;
        self.at += length + 2;
        Ok(())
    }

    pub(super) fn skip_backticks(&mut self) -> Result<(), Unclear> {
        self.at += 1;
        self.skip_to_unescaped(b'`')
    }

    pub(super) fn skip_to_unescaped(&mut self, end: u8) -> Result<(), Unclear> {
        while let Some(b) = self.peek(0) {
            self.at += if b == b'\\' { 2 } else { 1 };
            if b == end {
                return Ok(());
            }
        }
        Err(Unclear)
    }

    pub(super) fn skip_comment(&mut self) {
        self.at += self.rest().iter().position(|&b| b == b'\n').unwrap_or(self.bytes.len() - self.at);
    }
}
