//! Words: which are reserved, what the others do, and where here-documents end.
//!
//! A word is reserved only where a command begins and only unquoted.

use super::{Case, Frame, Heredoc, Kind, Position, Role, Scanner, Unclear};

impl Scanner<'_> {
    pub(super) fn end_word(&mut self) -> Result<(), Unclear> {
        let Some(start) = self.word.take() else { return Ok(()) };
        let end = self.at.min(self.bytes.len());
        if self.target {
            self.target = false;
            self.emit(Kind::Word(Role::Target), start, end);
            return Ok(());
        }
        let word = &self.bytes[start..end];
        match self.top() {
            Some(Frame::Case(Case::Subject)) => {
                if word == b"in" {
                    self.set_top(Frame::Case(Case::Patterns));
                }
                return Ok(());
            }
            Some(Frame::Case(Case::Patterns)) if word != b"esac" => return Ok(()),
            _ => {}
        }
        if self.position == Position::Start && self.reserved(word, start, end)? {
            return Ok(());
        }
        let role = match self.position {
            Position::Arguments | Position::FunctionName => Role::Argument,
            Position::Start | Position::BeforeName if is_assignment(word) => Role::Assignment,
            Position::Start | Position::BeforeName => Role::Name,
        };
        self.emit(Kind::Word(role), start, end);
        self.position = match (self.position, role) {
            (Position::FunctionName, _) => Position::Start,
            (_, Role::Assignment) => Position::BeforeName,
            _ => Position::Arguments,
        };
        Ok(())
    }

    pub(super) fn set_top(&mut self, frame: Frame) {
        if let Some(open) = self.open.last_mut() {
            open.frame = frame;
        }
    }

    /// Whether a word where a command begins is a reserved one; does what it says.
    pub(super) fn reserved(&mut self, word: &[u8], start: usize, end: usize) -> Result<bool, Unclear> {
        let opened = match word {
            b"{" => Frame::Group,
            b"if" => Frame::If,
            b"for" | b"while" | b"until" | b"select" => Frame::Loop,
            b"case" => Frame::Case(Case::Subject),
            b"[[" => Frame::Test,
            b"}" => return self.close(|frame| frame == Frame::Group, start, end),
            b"fi" => return self.close(|frame| frame == Frame::If, start, end),
            b"done" => return self.close(|frame| frame == Frame::Loop, start, end),
            b"esac" => return self.close(|frame| matches!(frame, Frame::Case(_)), start, end),
            b"then" | b"else" | b"elif" | b"do" | b"!" | b"time" | b"coproc" | b"function" => {
                self.emit(Kind::Keyword, start, end);
                if word == b"function" {
                    self.position = Position::FunctionName;
                }
                return Ok(true);
            }
            _ => return Ok(false),
        };
        self.emit(Kind::Open, start, end);
        self.push(opened);
        if word == b"for" || word == b"select" {
            self.position = Position::Arguments;
        }
        Ok(true)
    }

    pub(super) fn close(&mut self, closes: impl Fn(Frame) -> bool, start: usize, end: usize) -> Result<bool, Unclear> {
        if !self.top().is_some_and(closes) {
            return Err(Unclear);
        }
        self.pop();
        self.emit(Kind::Close, start, end);
        self.position = Position::Start;
        Ok(true)
    }

    /// Reads the word after `<<`.
    pub(super) fn heredoc(&mut self, strips_tabs: bool) -> Result<(), Unclear> {
        self.at += self.rest().iter().take_while(|&&b| b == b' ' || b == b'\t').count();
        let start = self.at;
        let mut delimiter = Vec::new();
        while let Some(b) = self.peek(0) {
            match b {
                b'\'' | b'"' => {
                    let inner = self.at + 1;
                    let length = self.bytes[inner..].iter().position(|&other| other == b).ok_or(Unclear)?;
                    delimiter.extend_from_slice(&self.bytes[inner..inner + length]);
                    self.at = inner + length + 1;
                }
                b'\\' => {
                    delimiter.push(self.peek(1).ok_or(Unclear)?);
                    self.at += 2;
                }
                _ if self.ends_word(0) => break,
                _ => {
                    delimiter.push(b);
                    self.at += 1;
                }
            }
        }
        if self.at == start {
            return Err(Unclear);
        }
        self.heredocs.push(Heredoc { delimiter, strips_tabs });
        self.emit(Kind::Word(Role::Target), start, self.at);
        self.target = false;
        Ok(())
    }

    /// At the start of a line: goes past the bodies that begin there.
    pub(super) fn skip_heredocs(&mut self) -> Result<(), Unclear> {
        for Heredoc { delimiter, strips_tabs } in std::mem::take(&mut self.heredocs) {
            let start = self.at;
            loop {
                if self.at >= self.bytes.len() {
                    return Err(Unclear);
                }
                let line_start = self.at;
                let length = self.rest().iter().position(|&b| b == b'\n');
                let line = &self.rest()[..length.unwrap_or(self.bytes.len() - self.at)];
                self.at += length.map_or(line.len(), |length| length + 1);
                let tabs = if strips_tabs { line.iter().take_while(|&&b| b == b'\t').count() } else { 0 };
                if line[tabs..] == delimiter[..] {
                    self.emit(Kind::Body, start, line_start);
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Whether a word is `NAME=...`, `NAME+=...` or `NAME[...]=...`.
fn is_assignment(word: &[u8]) -> bool {
    let name = word.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    let rest = &word[name..];
    let assigned =
        rest.starts_with(b"=") || rest.starts_with(b"+=") || (rest.starts_with(b"[") && word.contains(&b'='));
    name > 0 && !word[0].is_ascii_digit() && assigned
}
