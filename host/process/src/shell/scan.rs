//! Reads a text as a POSIX shell with bash's additions would, as far as words, operators and nesting go.
//!
//! It must never guess: a text that does not end where its quotes, brackets and here-documents say is [`Unclear`], and
//! the callers leave such a text alone. It keeps no recursion, so no text is too deep for it.

mod quoted;
mod words;

/// A piece of the text that matters to a reader. What stands in quotes, comments, `${...}`, `[[ ]]` and `$(( ))` makes
/// no piece of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// Byte offset of its first byte.
    pub(super) start: usize,
    /// Byte offset after its last byte.
    pub(super) end: usize,
    /// How many brackets and compound commands are open around it.
    pub(super) depth: usize,
}

/// What a [`Token`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word, quotes and substitutions included.
    Word(Role),
    /// A reserved word that opens and closes nothing, such as `do` or `!`.
    Keyword,
    /// `&&`.
    And,
    /// `||`.
    Or,
    /// `|` or `|&`.
    Pipe,
    /// `&`.
    Background,
    /// `;`, `;;`, `;&` or `;;&`.
    Semicolon,
    /// The end of a line, here-document bodies included.
    Newline,
    /// `>` and its like, with the number of a descriptor before it.
    Redirect,
    /// The text of a here-document. It comes before the newline token of its line.
    Body,
    /// The beginning of a subshell, group, substitution, loop, `if` or `case`. Its depth is that around it.
    Open,
    /// The end of one. Its depth is that around it.
    Close,
}

/// What a word does in its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It names the command.
    Name,
    /// It comes after the name.
    Argument,
    /// `NAME=value` before the name.
    Assignment,
    /// The file of a redirection.
    Target,
}

/// The text ends inside something, or closes what is not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unclear;

/// Where the next word stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Where a command begins: reserved words count.
    Start,
    /// Before the name, where reserved words count no more.
    BeforeName,
    /// After the name.
    Arguments,
    /// After `function`: the name, and then a command begins.
    FunctionName,
}

/// What is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// `(`.
    Subshell,
    /// `$(`, `<(` or `>(`: part of a word.
    Substitution,
    /// `{`.
    Group,
    /// `if` to `fi`.
    If,
    /// `for`, `while`, `until` or `select` to `done`.
    Loop,
    /// `case` to `esac`.
    Case(Case),
    /// `[[` to `]]`.
    Test,
    /// `((` to `))`, with the number of open brackets.
    Arithmetic(usize),
    /// `${`; whether it stands in double quotes, where single ones mean nothing.
    Parameter { quoted: bool },
    /// `"`.
    Quotes,
    /// The brackets of `a=(...)` and `@(...)`: part of a word.
    List,
}

/// Which part of a `case` is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Subject,
    Patterns,
    Commands,
}

/// What to go back to when a frame ends.
struct Open {
    frame: Frame,
    word: Option<usize>,
    position: Position,
    target: bool,
}

/// What ends the commands of one pattern of a `case`, the longest first.
const CASE_ENDS: [&[u8]; 3] = [b";;&", b";;", b";&"];

/// Redirections other than `<`, the longest first.
const REDIRECTIONS: [&[u8]; 9] = [b"<<<", b"<<-", b"<<", b"<&", b"<>", b">>", b">&", b">|", b">"];

/// A here-document whose body comes after the line.
struct Heredoc {
    delimiter: Vec<u8>,
    strips_tabs: bool,
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    open: Vec<Open>,
    /// How many of the open frames hide what is in them.
    hidden: usize,
    word: Option<usize>,
    position: Position,
    /// Whether the next word is the file of a redirection.
    target: bool,
    heredocs: Vec<Heredoc>,
    tokens: Vec<Token>,
}

/// All tokens of a text, in the order of their ends.
///
/// # Errors
/// [`Unclear`] where the text is not complete or not balanced.
pub(super) fn scan(text: &str) -> Result<Vec<Token>, Unclear> {
    let mut scanner = Scanner {
        bytes: text.as_bytes(),
        at: 0,
        open: Vec::new(),
        hidden: 0,
        word: None,
        position: Position::Start,
        target: false,
        heredocs: Vec::new(),
        tokens: Vec::new(),
    };
    while scanner.at < scanner.bytes.len() {
        scanner.step()?;
    }
    scanner.end_word()?;
    if scanner.open.is_empty() && scanner.heredocs.is_empty() && !scanner.target {
        Ok(scanner.tokens)
    } else {
        Err(Unclear)
    }
}

impl Frame {
    fn hides(self) -> bool {
        matches!(self, Self::Test | Self::Arithmetic(_) | Self::Parameter { .. } | Self::Quotes | Self::List)
    }
}

impl<'a> Scanner<'a> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    fn top(&self) -> Option<Frame> {
        self.open.last().map(|open| open.frame)
    }

    fn emit(&mut self, kind: Kind, start: usize, end: usize) {
        if self.hidden == 0 {
            self.tokens.push(Token { kind, start, end, depth: self.open.len() });
        }
    }

    fn push(&mut self, frame: Frame) {
        self.hidden += usize::from(frame.hides());
        let open = Open { frame, word: self.word.take(), position: self.position, target: self.target };
        self.open.push(open);
        (self.position, self.target) = (Position::Start, false);
    }

    /// Ends the innermost frame. A part of a word goes on with the word.
    fn pop(&mut self) {
        if let Some(open) = self.open.pop() {
            self.hidden -= usize::from(open.frame.hides());
            (self.word, self.position, self.target) = (open.word, open.position, open.target);
        }
    }

    fn step(&mut self) -> Result<(), Unclear> {
        match self.top() {
            Some(Frame::Quotes | Frame::Parameter { .. } | Frame::Arithmetic(_)) => self.inside(),
            Some(Frame::List | Frame::Test) => self.listed(),
            _ => self.code(),
        }
    }

    /// Whether no word goes on `ahead` bytes from here.
    fn ends_word(&self, ahead: usize) -> bool {
        self.peek(ahead).is_none_or(|b| b.is_ascii_whitespace() || b";&|()<>".contains(&b))
    }

    /// One step where commands stand.
    fn code(&mut self) -> Result<(), Unclear> {
        let start = self.at;
        match self.bytes[start] {
            b'\\' => {
                if self.peek(1) != Some(b'\n') {
                    self.word.get_or_insert(start);
                }
                self.at += 2;
            }
            b' ' | b'\t' | b'\r' => {
                self.end_word()?;
                self.at += 1;
            }
            b'\n' => {
                self.end_word()?;
                self.at += 1;
                self.skip_heredocs()?;
                self.separate(Kind::Newline, start)?;
            }
            b'#' if self.word.is_none() => self.skip_comment(),
            b';' => {
                self.end_word()?;
                let length = CASE_ENDS.iter().find(|op| self.rest().starts_with(op)).map(|op| op.len());
                self.at += length.unwrap_or(1);
                if length.is_some()
                    && let Some(Open { frame: Frame::Case(part), .. }) = self.open.last_mut()
                {
                    *part = Case::Patterns;
                }
                self.separate(Kind::Semicolon, start)?;
            }
            b'&' => match self.peek(1) {
                Some(b'&') => self.operator(Kind::And, 2)?,
                Some(b'>') => self.redirect(if self.peek(2) == Some(b'>') { 3 } else { 2 })?,
                _ => self.operator(Kind::Background, 1)?,
            },
            b'|' => match self.peek(1) {
                _ if self.top() == Some(Frame::Case(Case::Patterns)) => {
                    self.end_word()?;
                    self.at += 1;
                }
                Some(b'|') => self.operator(Kind::Or, 2)?,
                Some(b'&') => self.operator(Kind::Pipe, 2)?,
                _ => self.operator(Kind::Pipe, 1)?,
            },
            b'<' | b'>' if self.peek(1) == Some(b'(') => {
                self.word.get_or_insert(start);
                self.at += 2;
                self.substitution(start);
            }
            b'<' | b'>' => self.angle()?,
            b'(' => self.bracket()?,
            b')' => self.closing_bracket()?,
            b'\'' => {
                self.word.get_or_insert(start);
                self.skip_single()?;
            }
            b'"' => {
                self.word.get_or_insert(start);
                self.at += 1;
                self.push(Frame::Quotes);
            }
            b'`' => {
                self.word.get_or_insert(start);
                self.skip_backticks()?;
            }
            b'$' => {
                self.word.get_or_insert(start);
                self.dollar()?;
            }
            _ => {
                self.word.get_or_insert(start);
                self.at += 1;
            }
        }
        Ok(())
    }

    fn separate(&mut self, kind: Kind, start: usize) -> Result<(), Unclear> {
        if self.target {
            return Err(Unclear);
        }
        self.emit(kind, start, self.at);
        self.position = Position::Start;
        Ok(())
    }

    fn operator(&mut self, kind: Kind, length: usize) -> Result<(), Unclear> {
        self.end_word()?;
        let before = self.tokens.last().map(|token| token.kind);
        let ends_a_command = matches!(before, Some(Kind::Word(_) | Kind::Close | Kind::Body));
        if self.hidden == 0 && !ends_a_command {
            return Err(Unclear);
        }
        let start = self.at;
        self.at += length;
        self.separate(kind, start)
    }

    fn substitution(&mut self, start: usize) {
        self.emit(Kind::Open, start, self.at);
        self.push(Frame::Substitution);
    }

    fn bracket(&mut self) -> Result<(), Unclear> {
        let start = self.at;
        if self.word.is_some() && matches!(self.bytes[..start].last(), Some(b'=' | b'@' | b'!' | b'?' | b'*' | b'+')) {
            self.at += 1;
            self.push(Frame::List);
            return Ok(());
        }
        self.end_word()?;
        if self.top() == Some(Frame::Case(Case::Patterns)) {
            // The bracket that a pattern may begin with.
            self.at += 1;
            return Ok(());
        }
        if self.peek(1) == Some(b'(') {
            self.at += 2;
            self.emit(Kind::Open, start, self.at);
            self.push(Frame::Arithmetic(2));
            return Ok(());
        }
        self.at += 1;
        self.emit(Kind::Open, start, self.at);
        self.push(Frame::Subshell);
        Ok(())
    }

    fn closing_bracket(&mut self) -> Result<(), Unclear> {
        self.end_word()?;
        let start = self.at;
        self.at += 1;
        match self.open.last_mut().map(|open| &mut open.frame) {
            Some(Frame::Case(part @ Case::Patterns)) => {
                *part = Case::Commands;
                self.position = Position::Start;
            }
            Some(Frame::Subshell) => {
                self.pop();
                self.emit(Kind::Close, start, self.at);
                // A group may follow at once: `f() { ...; }`.
                self.position = Position::Start;
            }
            Some(Frame::Substitution) => {
                self.pop();
                self.emit(Kind::Close, start, self.at);
            }
            _ => return Err(Unclear),
        }
        Ok(())
    }

    /// `<` or `>` and its relatives.
    fn angle(&mut self) -> Result<(), Unclear> {
        let operator = REDIRECTIONS.iter().find(|op| self.rest().starts_with(op)).copied().unwrap_or(b"<");
        self.redirect(operator.len())?;
        if operator == b"<<" || operator == b"<<-" {
            self.heredoc(operator == b"<<-")?;
        }
        Ok(())
    }

    fn redirect(&mut self, length: usize) -> Result<(), Unclear> {
        let number = self.word.filter(|&from| self.bytes[from..self.at].iter().all(u8::is_ascii_digit));
        let start = number.unwrap_or(self.at);
        if number.is_some() {
            self.word = None;
        }
        self.end_word()?;
        self.at += length;
        self.emit(Kind::Redirect, start, self.at);
        if self.position == Position::Start {
            self.position = Position::BeforeName;
        }
        self.target = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
