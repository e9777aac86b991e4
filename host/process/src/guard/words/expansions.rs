//! What is inside a word: quotes, variables, substitutions.
//!
//! It must never take a character for itself that ends the word, nor go deeper than [`NESTING_MAX`].

use super::super::quotes;
use super::{NESTING_MAX, Open, Part, Reader, TooNested, Word};

fn plain(parts: &mut Vec<Part>, c: char) {
    match parts.last_mut() {
        Some(Part::Plain(text)) => text.push(c),
        _ => parts.push(Part::Plain(c.into())),
    }
}

fn quoted(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Quoted(before)) => before.push_str(text),
        _ => parts.push(Part::Quoted(text.to_owned())),
    }
}
impl Reader {
    /// Reads another text, one level deeper.
    pub(super) fn inner<T>(
        &mut self,
        text: &str,
        read: impl FnOnce(&mut Self) -> Result<T, TooNested>,
    ) -> Result<T, TooNested> {
        if self.depth >= NESTING_MAX {
            return Err(TooNested);
        }
        let mut reader = Self::new(text, self.depth + 1);
        let result = read(&mut reader);
        self.broken |= reader.broken;
        result
    }

    /// Reads a word; nothing where none begins here.
    pub(super) fn word(&mut self) -> Result<Word, TooNested> {
        let mut parts = Vec::new();
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' | '(' | ')' => break,
                '\'' => quoted(&mut parts, &self.single_quoted()),
                '"' => {
                    self.at += 1;
                    // An empty pair of quotes is still a word.
                    quoted(&mut parts, "");
                    parts.extend(self.expanding(Some('"'), false)?);
                }
                '\\' => {
                    self.at += 1;
                    quoted(&mut parts, self.raw().map_or_else(String::new, String::from).as_str());
                    self.at += 1;
                }
                '$' => self.dollar(&mut parts, false)?,
                '`' => parts.push(self.backquoted()?),
                _ => {
                    self.at += 1;
                    plain(&mut parts, c);
                }
            }
        }
        Ok(Word(parts))
    }

    fn single_quoted(&mut self) -> String {
        self.at += 1;
        let start = self.at.min(self.chars.len());
        let end = self.chars[start..].iter().position(|&c| c == '\'');
        self.broken |= end.is_none();
        let length = end.unwrap_or(self.chars.len() - start);
        self.at = start + length + 1;
        self.chars[start..start + length].iter().collect()
    }

    /// Reads text in which only `$`, backquotes and backslashes mean something, up to `end`; with `single`, single
    /// quotes as well.
    pub(super) fn expanding(&mut self, end: Option<char>, single: bool) -> Result<Vec<Part>, TooNested> {
        let mut parts = Vec::new();
        while let Some(c) = self.peek() {
            match c {
                _ if Some(c) == end => {
                    self.at += 1;
                    return Ok(parts);
                }
                '\\' => {
                    self.at += 1;
                    let next = self.raw();
                    if !matches!(next, Some('$' | '`' | '"' | '\\')) && next != end {
                        quoted(&mut parts, "\\");
                    }
                    quoted(&mut parts, next.map_or_else(String::new, String::from).as_str());
                    self.at += 1;
                }
                '$' => self.dollar(&mut parts, true)?,
                '`' => parts.push(self.backquoted()?),
                // The default in `${NAME:-..}` may hold quotes of its own, also where it stands in quotes itself.
                '"' if end == Some('}') => {
                    self.at += 1;
                    parts.extend(self.deeper(|reader| reader.expanding(Some('"'), false))?);
                }
                '\'' if single => quoted(&mut parts, &self.single_quoted()),
                _ => {
                    self.at += 1;
                    quoted(&mut parts, c.encode_utf8(&mut [0; 4]));
                }
            }
        }
        self.broken |= end.is_some();
        Ok(parts)
    }

    fn backquoted(&mut self) -> Result<Part, TooNested> {
        self.at += 1;
        let mut text = String::new();
        while let Some(c) = self.raw() {
            self.at += 1;
            match c {
                '`' => break,
                '\\' if matches!(self.raw(), Some('`' | '\\' | '$')) => {
                    text.extend(self.raw());
                    self.at += 1;
                }
                _ => text.push(c),
            }
        }
        Ok(Part::Substitution(self.inner(&text, |reader| reader.list(None))?))
    }

    fn dollar(&mut self, parts: &mut Vec<Part>, in_quotes: bool) -> Result<(), TooNested> {
        self.at += 1;
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let kind = if self.peek() == Some('(') { Open::Arithmetic } else { Open::Group };
                parts.push(Part::Substitution(self.deeper(|reader| reader.list(Some(kind)))?));
            }
            Some('{') => {
                self.at += 1;
                parts.push(self.deeper(|reader| reader.braces(in_quotes))?);
            }
            Some('\'') if !in_quotes => {
                self.at += 1;
                let (text, next) = quotes::ansi_c(&self.chars, self.at);
                self.at = next;
                self.broken |= self.chars.get(next.wrapping_sub(1)) != Some(&'\'');
                quoted(parts, &text);
            }
            Some('"') if !in_quotes => {}
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let name = self.name();
                parts.push(Part::Variable { name, quoted: in_quotes, default: Vec::new() });
            }
            Some(c) if c.is_ascii_digit() || "@*#?$!-".contains(c) => {
                self.at += 1;
                parts.push(Part::Variable { name: c.into(), quoted: in_quotes, default: Vec::new() });
            }
            _ if in_quotes => quoted(parts, "$"),
            _ => plain(parts, '$'),
        }
        Ok(())
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.peek().filter(|&c| c.is_ascii_alphanumeric() || c == '_') {
            name.push(c);
            self.at += 1;
        }
        name
    }

    fn braces(&mut self, quoted: bool) -> Result<Part, TooNested> {
        let mut name = self.name();
        if name.is_empty()
            && let Some(c) = self.peek().filter(|&c| "@*?$!-".contains(c))
        {
            name.push(c);
            self.at += 1;
        }
        let had_colon = self.take(':');
        let has_default = matches!(self.peek(), Some('-' | '=' | '+'));
        if self.peek() == Some('}') && !had_colon {
            self.at += 1;
            return Ok(Part::Variable { name, quoted, default: Vec::new() });
        }
        if has_default {
            self.at += 1;
            return Ok(Part::Variable { name, quoted, default: self.expanding(Some('}'), !quoted)? });
        }
        // `${NAME[@]}` and the like: every element, which is more than the value.
        Ok(Part::Unknown(self.expanding(Some('}'), true)?))
    }
}
