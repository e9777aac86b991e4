//! Extended regular expressions as pkill and killall read them, matched in bounded time.
//!
//! Only "does it match" is answered. It must never take longer than the size of the pattern times the length of the
//! text, and never call a pattern harmless because it cannot read it: that is for the caller to decide.

use super::limits::{Budget, Exhausted};

mod parser;

use parser::Parser;

/// How many states a pattern may have once its repeats are written out. Names of processes need a few dozen.
const STATES_MAX: usize = 4096;

/// Why a pattern cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// It is no regular expression, or one that looks back.
    Invalid,
    /// It is too large.
    TooLarge,
}

/// A pattern that was read.
#[derive(Debug)]
pub(crate) struct Pattern {
    states: Vec<State>,
    ignore_case: bool,
}

#[derive(Clone, Debug)]
enum Node {
    Empty,
    One(Class),
    At(Place),
    Sequence(Vec<Node>),
    Either(Vec<Node>),
    Repeat { node: Box<Node>, least: u32, most: Option<u32> },
}

#[derive(Clone, Debug, PartialEq)]
enum Class {
    Any,
    Char(char),
    Word { negated: bool },
    Space { negated: bool },
    Set { negated: bool, items: Vec<Item> },
}

#[derive(Clone, Debug, PartialEq)]
enum Item {
    Range(char, char),
    Named(String),
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Start,
    End,
    WordEdge { negated: bool },
}

#[derive(Debug)]
enum State {
    One(Class),
    At(Place),
    /// Both are tried.
    Split(usize, usize),
    Jump(usize),
    Match,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// It is none, or too large.
    pub(crate) fn new(text: &str, ignore_case: bool) -> Result<Self, Unreadable> {
        let text = if ignore_case { text.to_lowercase() } else { text.to_owned() };
        let node = Parser::new(&text).either()?;
        let mut states = Vec::new();
        compile(&node, &mut states)?;
        states.push(State::Match);
        Ok(Self { states, ignore_case })
    }

    /// Whether it matches somewhere in the text, or the whole of it.
    ///
    /// # Errors
    /// The budget is used up.
    pub(crate) fn is_match(&self, text: &str, whole: bool, budget: &mut Budget) -> Result<bool, Exhausted> {
        let lowered = if self.ignore_case { text.to_lowercase() } else { text.to_owned() };
        let chars: Vec<char> = lowered.chars().collect();
        let mut now = Threads::new(self.states.len());
        for at in 0..=chars.len() {
            if at == 0 || !whole {
                now.add(&self.states, 0, &chars, at);
            }
            budget.work(if now.list.is_empty() { 1 } else { self.states.len() })?;
            if now.matched && (!whole || at == chars.len()) {
                return Ok(true);
            }
            let Some(&c) = chars.get(at) else { break };
            let mut next = Threads::new(self.states.len());
            for &state in &now.list {
                if matches!(&self.states[state], State::One(class) if class.holds(c)) {
                    next.add(&self.states, state + 1, &chars, at + 1);
                }
            }
            now = next;
        }
        Ok(false)
    }
}

/// The states a match may be in.
struct Threads {
    list: Vec<usize>,
    seen: Vec<bool>,
    matched: bool,
}

impl Threads {
    fn new(states: usize) -> Self {
        Self { list: Vec::new(), seen: vec![false; states], matched: false }
    }

    fn add(&mut self, states: &[State], first: usize, chars: &[char], at: usize) {
        let mut waiting = vec![first];
        while let Some(index) = waiting.pop() {
            if std::mem::replace(&mut self.seen[index], true) {
                continue;
            }
            match &states[index] {
                State::One(_) => self.list.push(index),
                State::At(place) if place.holds(chars, at) => waiting.push(index + 1),
                State::At(_) => {}
                State::Split(one, other) => waiting.extend([*one, *other]),
                State::Jump(to) => waiting.push(*to),
                State::Match => self.matched = true,
            }
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl Place {
    fn holds(self, chars: &[char], at: usize) -> bool {
        match self {
            Self::Start => at == 0,
            Self::End => at == chars.len(),
            Self::WordEdge { negated } => {
                let before = at.checked_sub(1).and_then(|before| chars.get(before)).is_some_and(|&c| is_word(c));
                let after = chars.get(at).is_some_and(|&c| is_word(c));
                (before != after) != negated
            }
        }
    }
}

impl Class {
    fn holds(&self, c: char) -> bool {
        match self {
            Self::Any => true,
            Self::Char(expected) => *expected == c,
            Self::Word { negated } => is_word(c) != *negated,
            Self::Space { negated } => c.is_whitespace() != *negated,
            Self::Set { negated, items } => items.iter().any(|item| item.holds(c)) != *negated,
        }
    }
}

impl Item {
    fn holds(&self, c: char) -> bool {
        match self {
            Self::Range(low, high) => (*low..=*high).contains(&c),
            Self::Named(name) => match name.as_str() {
                "alpha" => c.is_alphabetic(),
                "digit" => c.is_ascii_digit(),
                "alnum" => c.is_alphanumeric(),
                "lower" => c.is_lowercase(),
                "upper" => c.is_uppercase(),
                "space" => c.is_whitespace(),
                "blank" => c == ' ' || c == '\t',
                "punct" => c.is_ascii_punctuation(),
                "xdigit" => c.is_ascii_hexdigit(),
                "cntrl" => c.is_control(),
                "print" => !c.is_control(),
                _ => !c.is_control() && c != ' ',
            },
        }
    }
}

fn compile(node: &Node, states: &mut Vec<State>) -> Result<(), Unreadable> {
    if states.len() > STATES_MAX {
        return Err(Unreadable::TooLarge);
    }
    match node {
        Node::Empty => {}
        Node::One(class) => states.push(State::One(class.clone())),
        Node::At(place) => states.push(State::At(*place)),
        Node::Sequence(nodes) => nodes.iter().try_for_each(|node| compile(node, states))?,
        Node::Either(nodes) => {
            let mut jumps = Vec::new();
            for (index, node) in nodes.iter().enumerate() {
                if index + 1 == nodes.len() {
                    compile(node, states)?;
                    break;
                }
                let split = states.len();
                states.push(State::Jump(0));
                compile(node, states)?;
                jumps.push(states.len());
                states.push(State::Jump(0));
                states[split] = State::Split(split + 1, states.len());
            }
            let end = states.len();
            jumps.into_iter().for_each(|jump| states[jump] = State::Jump(end));
        }
        Node::Repeat { node, least, most } => {
            for _ in 0..*least {
                let before = states.len();
                compile(node, states)?;
                // A repeat of nothing is nothing, however often it is nested.
                if states.len() == before {
                    break;
                }
            }
            let Some(most) = most else {
                let split = states.len();
                states.push(State::Jump(0));
                compile(node, states)?;
                states.push(State::Jump(split));
                states[split] = State::Split(split + 1, states.len());
                return Ok(());
            };
            for _ in *least..*most {
                let split = states.len();
                states.push(State::Jump(0));
                compile(node, states)?;
                states[split] = State::Split(split + 1, states.len());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Pattern::new(pattern, false).unwrap().is_match(text, false, &mut Budget::new()).unwrap()
    }

    fn is_whole(pattern: &str, text: &str) -> bool {
        Pattern::new(pattern, false).unwrap().is_match(text, true, &mut Budget::new()).unwrap()
    }

    #[test]
    fn a_pattern_matches_anywhere_unless_it_is_anchored() {
        for pattern in [
            "hermes",
            "her",
            "",
            ".",
            "h.*s",
            "^hermes$",
            "h(er|x)mes",
            "her?mes",
            "her+mes",
            "[h]ermes",
            "[a-h]erm",
            "[^x]",
            "x|hermes",
            "e{1}r",
            "e{0,2}r",
            "(er){1,}",
            "\\bhermes",
            "\\w+",
            "[[:alpha:]]+",
            "*hermes",
            "her()mes",
            "h\\ermes",
            "[]h]ermes",
            "(|x)hermes",
        ] {
            assert!(matches(pattern, "hermes"), "{pattern}");
        }
        for pattern in
            ["^ermes", "herme$", "h.s", "x+", "[^hermes]", "e{2}", "hermes\\.", "[x-z]", "h\\Bx", "\\s", "Hermes"]
        {
            assert!(!matches(pattern, "hermes"), "{pattern}");
        }
    }

    #[test]
    fn the_whole_text_is_compared_where_that_is_asked() {
        assert!(is_whole("hermes", "hermes") && is_whole("h.*", "hermes") && is_whole("x|hermes", "hermes"));
        assert!(!is_whole("herm", "hermes") && !is_whole("ermes", "hermes"));
    }

    #[test]
    fn case_counts_unless_it_is_ignored() {
        let mut budget = Budget::new();
        assert_eq!(Pattern::new("HERMES", true).unwrap().is_match("Hermes", false, &mut budget), Ok(true));
    }

    #[test]
    fn what_cannot_be_judged_is_said() {
        for pattern in ["(a", "[a", "a\\", "(a)\\1", "a{3,2}", "[z-a]"] {
            assert_eq!(Pattern::new(pattern, false).unwrap_err(), Unreadable::Invalid, "{pattern}");
        }
        for pattern in ["((a{200}){200}){200}", &"(".repeat(100_000), &format!("a{}", "*".repeat(100_000))] {
            assert_eq!(Pattern::new(pattern, false).unwrap_err(), Unreadable::TooLarge);
        }
    }

    #[test]
    fn a_pattern_that_makes_backtracking_explode_stays_within_the_budget() {
        let pattern = Pattern::new("(a*)*(a*)*(a*)*b", false).unwrap();
        assert_eq!(pattern.is_match(&"a".repeat(4096), false, &mut Budget::new()), Ok(false));
    }

    proptest! {
        #[test]
        fn no_pattern_is_a_panic(pattern in "[ab.*+?|(){}\\[\\]\\\\^$0-3,:-]{0,40}", text in "[ab]{0,10}") {
            if let Ok(pattern) = Pattern::new(&pattern, false) {
                let _ = pattern.is_match(&text, false, &mut Budget::new());
            }
        }

        #[test]
        fn a_plain_pattern_is_a_search(pattern in "[ab]{0,4}", text in "[ab]{0,10}") {
            prop_assert_eq!(matches(&pattern, &text), text.contains(&pattern));
        }

        #[test]
        fn a_quoted_pattern_matches_itself_alone(text in "[^1-9a-zA-Z]{1,20}") {
            let pattern: String = text.chars().flat_map(|c| if "<>".contains(c) { vec![c] } else { vec!['\\', c] }).collect();
            prop_assert!(is_whole(&pattern, &text));
        }
    }
}
