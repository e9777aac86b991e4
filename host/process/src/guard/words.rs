//! Reads a text the way a POSIX shell (and bash) splits it: into simple commands, words, quotes and substitutions.
//!
//! It must never run, expand or look up anything, never fail on a broken text (a shell runs the lines before the
//! mistake, so they are read too), and never nest deeper than [`NESTING_MAX`].

use std::cell::OnceCell;
use std::rc::Rc;

mod expansions;

/// How deep substitutions may stand in each other. People write two or three; each level costs stack.
pub(crate) const NESTING_MAX: usize = 16;

/// The text nests deeper than [`NESTING_MAX`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooNested;

/// A command without operators: its words, and where it reads and writes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Simple {
    /// Assignments, the name of the program, its arguments.
    pub(crate) words: Vec<Word>,
    /// Where it reads from and writes to.
    pub(crate) redirections: Vec<Redirection>,
}

/// Where a command reads from or writes to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Redirection {
    /// `< FILE`.
    From(Word),
    /// `> FILE` and its kin.
    To(Word),
    /// `<<< WORD`.
    HereString(Word),
    /// `<< END`. Empty while its lines have not come.
    Here(Rc<OnceCell<Here>>),
}

/// The lines of a here-document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Here {
    /// The lines.
    pub(crate) text: String,
    /// What the shell runs while it expands them; nothing where the end word was quoted.
    pub(crate) nested: Vec<Part>,
    /// Whether the end word was found.
    pub(crate) closed: bool,
}

/// One word.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Word(pub(crate) Vec<Part>);

/// A piece of a word.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Text without quotes.
    Plain(String),
    /// Text in quotes of any kind, without them.
    Quoted(String),
    /// `$NAME`, `${NAME}`, `${NAME:-DEFAULT}`.
    Variable {
        /// The name.
        name: String,
        /// Whether it stands in double quotes.
        quoted: bool,
        /// What stands in for a variable that is not set.
        default: Vec<Part>,
    },
    /// `$(..)`, a text in backquotes, `<(..)`, `$((..))`.
    Substitution(Vec<Simple>),
    /// An expansion whose value cannot be told; what is inside may still run something.
    Unknown(Vec<Part>),
}

impl Word {
    /// The word, where it is all text without quotes: only such a word can be a reserved one.
    pub(crate) fn plain(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Part::Plain(text)] => Some(text),
            _ => None,
        }
    }
}

/// Reads a text. What is in functions, loops and branches counts like everything else.
///
/// # Errors
/// Substitutions nest deeper than [`NESTING_MAX`].
pub(crate) fn parse(text: &str) -> Result<Parsed, TooNested> {
    let mut reader = Reader::new(text, 0);
    let list = reader.list(None)?;
    Ok(Parsed { list, broken: reader.broken })
}

/// A text that was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parsed {
    /// Its commands.
    pub(crate) list: Vec<Simple>,
    /// Whether quotes or braces never end. A shell may give up on them and go on with the next line.
    pub(crate) broken: bool,
}

/// What a closing parenthesis closes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    /// A group.
    Group,
    /// Arithmetic, where `<<` is no here-document.
    Arithmetic,
    /// `case`, where it ends a pattern.
    Case,
}

/// Words before which a command begins anew. `for` and `case` are commands of their own here.
const RESERVED: [&str; 15] =
    ["if", "then", "else", "elif", "fi", "while", "until", "do", "done", "{", "}", "!", "time", "coproc", "esac"];

struct Pending {
    end: String,
    tabs: bool,
    expands: bool,
    here: Rc<OnceCell<Here>>,
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    pending: Vec<Pending>,
    broken: bool,
}

/// The commands of one list, while it is read.
struct List {
    done: Vec<Simple>,
    now: Simple,
    open: Vec<Open>,
}

impl List {
    /// Whether the next word would be the name of a command.
    fn is_at_start(&self) -> bool {
        self.now.words.iter().all(|word| word.plain().is_some_and(|word| RESERVED.contains(&word)))
    }

    fn word(&mut self, word: Word) {
        match word.plain() {
            Some("case") if self.is_at_start() => self.open.push(Open::Case),
            Some("esac") if self.is_at_start() && self.open.last() == Some(&Open::Case) => {
                self.open.pop();
            }
            _ => {}
        }
        self.now.words.push(word);
    }

    fn end_command(&mut self) {
        let mut now = std::mem::take(&mut self.now);
        let mut skipped = 0;
        while let Some(word) = now.words.get(skipped).and_then(Word::plain) {
            match word {
                "function" => skipped += 2,
                "coproc" if now.words.get(skipped + 2).and_then(Word::plain) == Some("{") => skipped += 2,
                "time" => {
                    let is_option = |word: &&Word| matches!(word.plain(), Some("-p" | "--"));
                    skipped += 1 + now.words[skipped + 1..].iter().take_while(is_option).count();
                }
                word if RESERVED.contains(&word) => skipped += 1,
                _ => break,
            }
        }
        now.words.drain(..skipped.min(now.words.len()));
        if now != Simple::default() {
            self.done.push(now);
        }
    }
}

impl Reader {
    fn new(text: &str, depth: usize) -> Self {
        Self { chars: text.chars().collect(), at: 0, depth, pending: Vec::new(), broken: false }
    }

    fn raw(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    /// The next character, after lines that a backslash joins have been joined.
    fn peek(&mut self) -> Option<char> {
        while self.raw() == Some('\\') && self.chars.get(self.at + 1) == Some(&'\n') {
            self.at += 2;
        }
        self.raw()
    }

    fn take(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        self.at += usize::from(found);
        found
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, TooNested>) -> Result<T, TooNested> {
        if self.depth >= NESTING_MAX {
            return Err(TooNested);
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads commands, to the end or to the parenthesis that closes what `inside` says.
    fn list(&mut self, inside: Option<Open>) -> Result<Vec<Simple>, TooNested> {
        let mut list = List { done: Vec::new(), now: Simple::default(), open: Vec::new() };
        let mut arithmetic_first = inside == Some(Open::Arithmetic);
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' => self.at += 1,
                '\n' => {
                    self.at += 1;
                    list.end_command();
                    self.here_documents()?;
                }
                '#' => self.comment(),
                ';' | '|' => {
                    self.at += 1;
                    list.end_command();
                }
                '&' => {
                    self.at += 1;
                    if self.peek() == Some('>') {
                        self.redirection(&mut list)?;
                    } else {
                        list.end_command();
                    }
                }
                '(' => {
                    self.at += 1;
                    let arithmetic = arithmetic_first || self.peek() == Some('(') || self.is_arithmetic(&list);
                    list.end_command();
                    list.open.push(if arithmetic { Open::Arithmetic } else { Open::Group });
                }
                ')' => {
                    self.at += 1;
                    match list.open.last() {
                        Some(Open::Case) => {
                            // A pattern is no command, but what is substituted in it runs.
                            list.now.words.insert(0, Word::default());
                            list.end_command();
                        }
                        Some(_) => {
                            list.end_command();
                            list.open.pop();
                        }
                        None => {
                            list.end_command();
                            if inside.is_some() {
                                return Ok(list.done);
                            }
                        }
                    }
                }
                '<' | '>' => self.redirection(&mut list)?,
                _ => {
                    let word = self.word()?;
                    let is_number = word.plain().is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit()));
                    // A number right before a redirection is a descriptor.
                    if !(is_number && matches!(self.peek(), Some('<' | '>'))) {
                        list.word(word);
                    }
                }
            }
            arithmetic_first = false;
        }
        list.end_command();
        Ok(list.done)
    }

    /// Whether the parenthesis just read stands in arithmetic.
    fn is_arithmetic(&self, list: &List) -> bool {
        list.open.last() == Some(&Open::Arithmetic)
    }

    fn comment(&mut self) {
        while self.raw().is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
    }

    fn redirection(&mut self, list: &mut List) -> Result<(), TooNested> {
        let reads = self.take('<');
        if !reads {
            self.take('>');
        }
        if self.peek() == Some('(') {
            self.at += 1;
            let inner = self.deeper(|reader| reader.list(Some(Open::Group)))?;
            list.word(Word(vec![Part::Substitution(inner)]));
            return Ok(());
        }
        if reads && self.take('<') {
            if self.take('<') {
                self.blanks();
                let word = self.word()?;
                list.now.redirections.push(Redirection::HereString(word));
            } else if !self.is_arithmetic(list) {
                self.here_operator(list);
            }
            return Ok(());
        }
        // `>>`, `>|`, `>&`, `<&`, `<>`: what follows is the file in each case.
        let both = self.take('>');
        if !both && !self.take('|') {
            self.take('&');
        }
        self.blanks();
        let word = self.word()?;
        if !word.0.is_empty() {
            list.now.redirections.push(if reads && !both { Redirection::From(word) } else { Redirection::To(word) });
        }
        Ok(())
    }

    fn here_operator(&mut self, list: &mut List) {
        let tabs = self.take('-');
        self.blanks();
        let (mut end, mut expands) = (String::new(), true);
        while let Some(c) = self.peek() {
            match c {
                '\'' | '"' => {
                    expands = false;
                    self.at += 1;
                    while let Some(inner) = self.raw() {
                        self.at += 1;
                        if inner == c {
                            break;
                        }
                        end.push(inner);
                    }
                }
                '\\' => {
                    expands = false;
                    self.at += 1;
                    end.extend(self.raw());
                    self.at += 1;
                }
                ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' | '(' | ')' => break,
                _ => {
                    end.push(c);
                    self.at += 1;
                }
            }
        }
        let here = Rc::new(OnceCell::new());
        list.now.redirections.push(Redirection::Here(Rc::clone(&here)));
        self.pending.push(Pending { end, tabs, expands, here });
    }

    /// Reads the lines of the here-documents that were begun on the line before.
    fn here_documents(&mut self) -> Result<(), TooNested> {
        for Pending { end, tabs, expands, here } in std::mem::take(&mut self.pending) {
            let (mut text, mut closed) = (String::new(), false);
            while self.at < self.chars.len() {
                let mut line = String::new();
                while let Some(c) = self.raw() {
                    self.at += 1;
                    if c == '\n' {
                        break;
                    }
                    line.push(c);
                }
                let bare = if tabs { line.trim_start_matches('\t') } else { &line };
                if bare == end {
                    closed = true;
                    break;
                }
                text.push_str(bare);
                text.push('\n');
            }
            let nested = if expands { self.inner(&text, |reader| reader.expanding(None, false))? } else { Vec::new() };
            let nested = nested.into_iter().filter(|part| !matches!(part, Part::Plain(_) | Part::Quoted(_))).collect();
            // Set once: each here-document is pending once.
            let _ = here.set(Here { text, nested, closed });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
