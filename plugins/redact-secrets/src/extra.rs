//! Rules of one's own, from the settings: a prefix and what follows it, or exact words. A rule that cannot be used is an
//! error that names it; it must never be left out in silence.

use hermes_plugin_sdk::Failure;

use crate::gate;
use crate::rules::{self, Body, MAX_BODY, Rule};
use crate::scan::Scan;
use crate::text::{WORD, is};

/// Most rules.
const MAX_RULES: usize = 64;
/// Most words of a rule.
const MAX_WORDS: usize = 256;
/// Fewest bytes of a prefix: a shorter one stands everywhere.
const MIN_PREFIX: usize = 2;
/// Fewest bytes of a word.
const MIN_WORD: usize = 4;
/// Most bytes of either.
const MAX_LITERAL: usize = 128;
/// Most bytes of a label: a longer one the host does not put into a mask.
const MAX_LABEL: usize = 32;
/// Fewest bytes of a body whose rule does not say.
const MIN_BODY: usize = 8;

/// A rule as the settings have it.
#[derive(Clone, Debug, Default)]
pub struct ExtraRule {
    /// What stands in the mask: lower-case letters, digits and hyphens.
    pub label: String,
    /// What every such secret begins with.
    pub prefix: String,
    /// What follows it: `alnum` (the default), `word`, `dotted`, `base64`, `hex`, `upper`, `lower`, `digit` or `wide`.
    pub alphabet: String,
    /// Fewest bytes behind the prefix; 8 if 0.
    pub min: usize,
    /// Most bytes behind it; as many as a token may have if 0.
    pub max: usize,
    /// Exact words to mask, in place of a prefix.
    pub words: Vec<String>,
}

/// What one text to look for begins.
#[derive(Clone, Debug)]
enum Form {
    /// A token: its prefix, and the fewest and the most bytes of its body.
    Prefix(Body, usize, usize),
    /// It is the secret.
    Word,
}

/// A text to look for.
#[derive(Clone, Debug)]
struct Literal {
    text: Vec<u8>,
    rule: Rule,
    form: Form,
}

/// All rules of the settings, ready to be looked for.
#[derive(Clone, Debug)]
pub(crate) struct Extra {
    literals: Vec<Literal>,
    /// Whether a byte begins one of them (the first bit), or stands second in one (the second bit).
    begins: [u8; 256],
}

impl Extra {
    /// Makes the rules.
    ///
    /// # Errors
    /// One of them cannot be used; the message names it.
    pub(crate) fn new(rules: &[ExtraRule]) -> Result<Self, Failure> {
        if rules.len() > MAX_RULES {
            return Err(Failure::new("bad-rule", format!("extra has more than {MAX_RULES} rules; take some out")));
        }
        let mut literals = Vec::new();
        for (index, rule) in rules.iter().enumerate() {
            let label = if is_label(&rule.label) { rule.label.as_str() } else { "" };
            add(rule, &mut literals).map_err(|wrong| {
                Failure::new(
                    "bad-rule",
                    format!("extra[{index}] {label}: {wrong}; nothing is masked until it is right"),
                )
            })?;
        }
        let mut begins = [0; 256];
        for literal in &literals {
            for (place, &byte) in literal.text.iter().take(2).enumerate() {
                begins[usize::from(byte)] |= 1 << place;
            }
        }
        Ok(Self { literals, begins })
    }

    /// Whether one of the rules has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.literals.iter().any(|literal| literal.rule.name == name)
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.literals.is_empty()
    }

    /// Whether one may begin with `byte`.
    #[inline]
    pub(crate) fn may_begin(&self, byte: u8) -> bool {
        self.begins[usize::from(byte)] & 1 != 0
    }

    /// Whether one may go on with `byte`, after its first; `None` is the end of a text.
    #[inline]
    pub(crate) fn may_go_on(&self, byte: Option<&u8>) -> bool {
        byte.is_none_or(|&byte| self.begins[usize::from(byte)] & 2 != 0)
    }

    /// Masks what begins at `at`.
    pub(crate) fn look(&self, scan: &mut Scan<'_>, at: usize) {
        for literal in &self.literals {
            literal.look(scan, at);
        }
    }
}

impl Literal {
    fn look(&self, scan: &mut Scan<'_>, at: usize) {
        let [first, .., last] = self.text.as_slice() else { return };
        if is(*first, WORD) && is(scan.text.before(at), WORD) {
            return;
        }
        scan.open(at);
        if !scan.text.reads(at, &self.text) {
            return;
        }
        let body = at + self.text.len();
        match self.form {
            Form::Word if is(*last, WORD) && is(scan.text.peek(body), WORD) => {}
            Form::Word => scan.mask(at, body, self.rule),
            Form::Prefix(alphabet, min, max) => {
                let mut end = body;
                while end - body <= max && alphabet.has(scan.text.peek(end)) {
                    end += 1;
                }
                // A dot at the end is the sentence's.
                while end > body && matches!(scan.text.before(end), b'.' | b':') {
                    end -= 1;
                }
                let size = end - body;
                if (min..=max).contains(&size) && !gate::placeholder(scan.text.slice(body, end)) {
                    scan.mask(at, end, self.rule);
                }
            }
        }
    }
}

fn is_label(label: &str) -> bool {
    let sign = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    !label.is_empty() && label.len() <= MAX_LABEL && label.bytes().all(sign)
}

/// Adds the texts of one rule, or says what is wrong with it. What is said never holds a prefix or a word: those may be
/// secrets themselves.
#[inline(never)]
fn add(rule: &ExtraRule, literals: &mut Vec<Literal>) -> Result<(), String> {
    if !is_label(&rule.label) {
        return Err(format!("label must be 1 to {MAX_LABEL} lower-case letters, digits and hyphens"));
    }
    if rules::exists(&rule.label) {
        return Err("a built-in rule has this label; choose another".to_owned());
    }
    // The rules live as long as the plugin, which is as long as its memory.
    let label: &'static str = Box::leak(rule.label.as_str().into());
    let mut push = |text: &str, least: usize, form: Form| {
        let plain = text.bytes().all(|c| c > b' ' && c != 0x7f);
        if !(least..=MAX_LITERAL).contains(&text.len()) || !plain {
            return Err(format!("a prefix or word must have {least} to {MAX_LITERAL} bytes, without blanks"));
        }
        literals.push(Literal { text: text.as_bytes().to_vec(), rule: rules::extra(label), form });
        Ok(())
    };
    match (rule.prefix.is_empty(), rule.words.is_empty()) {
        (true, false) if rule.alphabet.is_empty() && rule.min == 0 && rule.max == 0 => {
            if rule.words.len() > MAX_WORDS {
                return Err(format!("there are more than {MAX_WORDS} words; make a second rule"));
            }
            rule.words.iter().try_for_each(|word| push(word, MIN_WORD, Form::Word))
        }
        (false, true) => {
            let body = match rule.alphabet.as_str() {
                "" | "alnum" => Body::Alnum,
                "word" => Body::Word,
                "dotted" => Body::Dotted,
                "base64" => Body::Base64,
                "hex" => Body::AnyHex,
                "upper" => Body::Upper,
                "lower" => Body::Lower,
                "digit" => Body::Digit,
                "wide" => Body::Wide,
                _ => {
                    return Err(
                        "alphabet must be alnum, word, dotted, base64, hex, upper, lower, digit or wide".to_owned()
                    );
                }
            };
            let min = if rule.min == 0 { MIN_BODY } else { rule.min };
            let max = if rule.max == 0 { MAX_BODY } else { rule.max };
            if min > max || max > MAX_BODY {
                return Err(format!("min ({min}) may not be above max ({max}), and max not above {MAX_BODY}"));
            }
            push(&rule.prefix, MIN_PREFIX, Form::Prefix(body, min, max))
        }
        _ => Err("give a prefix, with alphabet, min and max where they matter, or words, and not both".to_owned()),
    }
}
