//! Reads the text of an extended regular expression.
//!
//! Where tools disagree about a text, it must take the reading that matches more.

use super::{Class, Item, Node, Place, STATES_MAX, Unreadable};

/// How deep groups may stand in each other.
const GROUPS_MAX: usize = 32;

/// The largest count in `{m,n}` (`RE_DUP_MAX` of POSIX).
const REPEAT_MAX: u32 = 255;

/// A pattern, while it is read.
pub(super) struct Parser {
    chars: Vec<char>,
    at: usize,
    groups: usize,
}

impl Parser {
    /// Begins to read.
    pub(super) fn new(text: &str) -> Self {
        Self { chars: text.chars().collect(), at: 0, groups: 0 }
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        self.at += usize::from(found);
        found
    }

    /// Reads the rest: one of several sequences.
    pub(super) fn either(&mut self) -> Result<Node, Unreadable> {
        let mut nodes = vec![self.sequence()?];
        while self.take('|') {
            nodes.push(self.sequence()?);
        }
        Ok(if nodes.len() == 1 { nodes.remove(0) } else { Node::Either(nodes) })
    }

    fn sequence(&mut self) -> Result<Node, Unreadable> {
        let mut nodes = Vec::new();
        while let Some(c) = self.peek() {
            if c == '|' || (c == ')' && self.groups > 0) {
                break;
            }
            let node = self.atom(c)?;
            let node = self.repeated(node)?;
            nodes.push(node);
            if nodes.len() > STATES_MAX {
                return Err(Unreadable::TooLarge);
            }
        }
        Ok(Node::Sequence(nodes))
    }

    fn atom(&mut self, c: char) -> Result<Node, Unreadable> {
        self.at += 1;
        Ok(match c {
            '.' => Node::One(Class::Any),
            '^' => Node::At(Place::Start),
            '$' => Node::At(Place::End),
            // A repeat of nothing: tools disagree, and the reading that matches most is the careful one.
            '*' | '+' | '?' => Node::Empty,
            '(' => {
                if self.groups >= GROUPS_MAX {
                    return Err(Unreadable::TooLarge);
                }
                self.groups += 1;
                let node = self.either()?;
                self.groups -= 1;
                if !self.take(')') {
                    return Err(Unreadable::Invalid);
                }
                node
            }
            '[' => Node::One(self.set()?),
            '\\' => {
                let escaped = self.peek().ok_or(Unreadable::Invalid)?;
                self.at += 1;
                match escaped {
                    'w' => Node::One(Class::Word { negated: false }),
                    'W' => Node::One(Class::Word { negated: true }),
                    's' => Node::One(Class::Space { negated: false }),
                    'S' => Node::One(Class::Space { negated: true }),
                    'b' | '<' | '>' => Node::At(Place::WordEdge { negated: false }),
                    'B' => Node::At(Place::WordEdge { negated: true }),
                    '1'..='9' => return Err(Unreadable::Invalid),
                    other => Node::One(Class::Char(other)),
                }
            }
            other => Node::One(Class::Char(other)),
        })
    }

    fn repeated(&mut self, mut node: Node) -> Result<Node, Unreadable> {
        let mut nested = 0;
        loop {
            let (least, most) = match self.peek() {
                Some('*') => (0, None),
                Some('+') => (1, None),
                Some('?') => (0, Some(1)),
                Some('{') => {
                    let Some((least, most, end)) = self.counts() else { return Ok(node) };
                    if least > REPEAT_MAX || most.is_some_and(|most| most > REPEAT_MAX || most < least) {
                        return Err(Unreadable::Invalid);
                    }
                    self.at = end - 1;
                    (least, most)
                }
                _ => return Ok(node),
            };
            self.at += 1;
            nested += 1;
            if nested > GROUPS_MAX {
                return Err(Unreadable::TooLarge);
            }
            node = Node::Repeat { node: Box::new(node), least, most };
        }
    }

    /// Reads `{m}`, `{m,}`, `{,n}` or `{m,n}` without taking it; none where the brace is a brace.
    fn counts(&self) -> Option<(u32, Option<u32>, usize)> {
        let length = self.chars[self.at..].iter().take(16).position(|&c| c == '}')?;
        let inner: String = self.chars[self.at + 1..self.at + length].iter().collect();
        let end = self.at + length + 1;
        let (least, most) = match inner.split_once(',') {
            None => (inner.parse().ok()?, Some(inner.parse().ok()?)),
            Some(("", most)) => (0, Some(most.parse().ok()?)),
            Some((least, "")) => (least.parse().ok()?, None),
            Some((least, most)) => (least.parse().ok()?, Some(most.parse().ok()?)),
        };
        Some((least, most, end))
    }

    fn set(&mut self) -> Result<Class, Unreadable> {
        let negated = self.take('^');
        let mut items = Vec::new();
        loop {
            let c = self.peek().ok_or(Unreadable::Invalid)?;
            self.at += 1;
            if c == ']' && !items.is_empty() {
                return Ok(Class::Set { negated, items });
            }
            if c == '[' && matches!(self.peek(), Some(':' | '.' | '=')) {
                let kind = self.peek().unwrap_or(':');
                let start = self.at + 1;
                let length = self.chars[start..]
                    .windows(2)
                    .take(16)
                    .position(|pair| pair == [kind, ']'])
                    .ok_or(Unreadable::Invalid)?;
                let name: String = self.chars[start..start + length].iter().collect();
                self.at = start + length + 2;
                items.push(match name.chars().next() {
                    Some(only) if kind != ':' => Item::Range(only, only),
                    _ => Item::Named(name),
                });
                continue;
            }
            let is_range = self.peek() == Some('-') && self.chars.get(self.at + 1).is_some_and(|&c| c != ']');
            if is_range {
                let high = self.chars[self.at + 1];
                self.at += 2;
                if high < c {
                    return Err(Unreadable::Invalid);
                }
                items.push(Item::Range(c, high));
            } else {
                items.push(Item::Range(c, c));
            }
        }
    }
}
