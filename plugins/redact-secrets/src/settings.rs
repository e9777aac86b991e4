//! The settings, and what they make of the rules: which ones mask, in which mode, and which values stay. Settings that
//! contradict one another, or name a rule there is not, are errors; nothing is off that nobody turned off.

use std::ops::Range;

use hermes_plugin_sdk::Failure;
use serde::{Deserialize, Deserializer};

use crate::extra::{Extra, ExtraRule};
use crate::hash::{self, Digest};
use crate::rules::{self, Rule};
use crate::scan::Found;
use crate::text::{DIGIT, is};
use crate::value::Value;

/// Fewest bytes of the key of the allow-list: with a shorter one, values could be guessed from it.
const MIN_KEY: usize = 16;
/// Longest value looked up in the allow-list.
const MAX_ALLOWED: usize = 4096;
/// Longest name of a variable.
const MAX_VARIABLE: usize = 96;

/// The settings; `plugin.toml` has their schema.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Names of rules that mask nothing.
    pub disable: Vec<String>,
    /// Names of rules that are off unless they are asked for: `email`, `phone`, `us-ssn`, `high-entropy`.
    pub enable: Vec<String>,
    /// How much a name alone proves.
    pub mode: Mode,
    /// Rules of one's own.
    pub extra: Vec<ExtraRule>,
    /// Values that stay: the HMAC-SHA256 of each under `allow_key`, in hexadecimal.
    pub allow: Vec<String>,
    /// The key of `allow`.
    pub allow_key: String,
    /// Why they cannot be used, where they do not have the form they must have: said when the plugin is made.
    pub(crate) wrong: Option<String>,
}

/// How much a name alone proves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// As much as it does in the output of commands.
    #[default]
    Default,
    /// As much as it does in source code: nothing, save where an environment is printed.
    Code,
    /// All that may be a secret is taken for one.
    Strict,
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut settings = Self::default();
        // An error of the reader's own would bring code that looks for a line number in every message.
        settings.wrong = read(Value::deserialize(from)?, &mut settings).err();
        Ok(settings)
    }
}

/// Reads a setting that is a text.
#[inline(never)]
fn text(value: Value, name: &str, to: &mut String) -> Result<(), String> {
    *to = value.text(name)?;
    Ok(())
}

/// Reads a setting that is several.
#[inline(never)]
fn texts(value: Value, name: &str, to: &mut Vec<String>) -> Result<(), String> {
    for value in value.list(name)? {
        to.push(value.text(name)?);
    }
    Ok(())
}

/// Reads the settings. One small reader of values instead of a derived one for each type: it halves what they add to
/// the component.
#[inline(never)]
fn read(value: Value, settings: &mut Settings) -> Result<(), String> {
    for (name, value) in value.table("the whole")? {
        match name.as_str() {
            "disable" => texts(value, &name, &mut settings.disable)?,
            "enable" => texts(value, &name, &mut settings.enable)?,
            "allow" => texts(value, &name, &mut settings.allow)?,
            "allow_key" => text(value, &name, &mut settings.allow_key)?,
            "mode" => {
                settings.mode = match value.text(&name)?.as_str() {
                    "default" => Mode::Default,
                    "code" => Mode::Code,
                    "strict" => Mode::Strict,
                    _ => return Err("mode must be default, code or strict".to_owned()),
                }
            }
            "extra" => {
                for fields in value.list(&name)? {
                    settings.extra.push(ExtraRule::default());
                    let rule = settings.extra.last_mut();
                    rule.map_or(Ok(()), |rule| read_rule(fields, rule))?;
                }
            }
            _ => return Err(format!("there is no setting {name}")),
        }
    }
    Ok(())
}

#[inline(never)]
fn read_rule(fields: Value, rule: &mut ExtraRule) -> Result<(), String> {
    for (name, value) in fields.table("extra")? {
        match name.as_str() {
            "label" => text(value, &name, &mut rule.label)?,
            "prefix" => text(value, &name, &mut rule.prefix)?,
            "alphabet" => text(value, &name, &mut rule.alphabet)?,
            "min" => rule.min = value.number(&name)?,
            "max" => rule.max = value.number(&name)?,
            "words" => texts(value, &name, &mut rule.words)?,
            _ => return Err(format!("a rule of extra has no field {name}")),
        }
    }
    Ok(())
}

/// What the settings ask for.
pub(crate) struct Policy {
    /// How much a name proves.
    pub(crate) mode: Mode,
    /// Whether numbers of cards or accounts are looked for.
    pub(crate) money: bool,
    /// Whether telephone numbers are.
    pub(crate) phone: bool,
    /// Whether e-mail addresses are.
    pub(crate) email: bool,
    /// Whether US social security numbers are.
    pub(crate) ssn: bool,
    /// Whether long words that look like chance are.
    pub(crate) entropy: bool,
    /// Rules of one's own.
    pub(crate) extra: Extra,
    /// Which bytes have to be looked at for what the one pass over the text does not find.
    pub(crate) looked: [bool; 256],
    disable: Vec<String>,
    allow: Vec<Digest>,
    key: String,
}

impl Policy {
    /// What these settings ask for.
    ///
    /// # Errors
    /// They cannot be used; the message names the setting and the remedy.
    pub(crate) fn new(settings: Settings) -> Result<Self, Failure> {
        if let Some(wrong) = settings.wrong {
            return Err(Failure::new("bad-settings", wrong));
        }
        let extra = Extra::new(&settings.extra)?;
        check(&settings, &extra)?;
        let allow = digests(&settings.allow, &settings.allow_key)?;
        let on = |rule: Rule| !is_one_of(&settings.disable, rule.name);
        let asked = |rule: Rule| is_one_of(&settings.enable, rule.name);
        let mode = settings.mode;
        let mut policy = Self {
            mode,
            money: on(rules::CARD) || on(rules::IBAN),
            phone: asked(rules::PHONE),
            email: asked(rules::EMAIL),
            ssn: asked(rules::SSN),
            entropy: asked(rules::HIGH_ENTROPY) || mode == Mode::Strict && on(rules::HIGH_ENTROPY),
            extra,
            looked: [false; 256],
            disable: settings.disable,
            allow,
            key: settings.allow_key,
        };
        for byte in 0..=u8::MAX {
            policy.looked[usize::from(byte)] = policy.looks_at(byte);
        }
        Ok(policy)
    }

    /// Whether places of `byte` have to be looked at.
    #[inline(never)]
    fn looks_at(&self, byte: u8) -> bool {
        let builtin = match byte {
            b'+' => self.phone,
            b'@' => self.email,
            _ => self.ssn && is(byte, DIGIT),
        };
        builtin || self.extra.may_begin(byte)
    }

    /// Whether anything is looked for that the one pass over the text does not find.
    pub(crate) fn more(&self) -> bool {
        self.phone || self.email || self.ssn || self.entropy || !self.extra.is_empty()
    }

    /// Whether a place is masked.
    pub(crate) fn masks(&self, text: &[u8], found: &Found) -> bool {
        let named = found.rule == rules::PASSWORD || found.rule == rules::ASSIGNMENT;
        if is_one_of(&self.disable, found.rule.name)
            || named && self.mode == Mode::Code && !environment(text, found.range.start)
        {
            return false;
        }
        self.allow.is_empty() || !self.allows(text, &found.range)
    }

    #[inline(never)]
    fn allows(&self, text: &[u8], range: &Range<usize>) -> bool {
        let value = &text[range.clone()];
        value.len() <= MAX_ALLOWED && self.allow.contains(&hash::hmac(self.key.as_bytes(), value))
    }
}

#[inline(never)]
fn is_one_of(names: &[String], name: &str) -> bool {
    names.iter().any(|other| other == name)
}

/// Whether every rule that is named is there, and none is both on and off.
#[inline(never)]
fn check(settings: &Settings, extra: &Extra) -> Result<(), Failure> {
    for name in settings.disable.iter().chain(&settings.enable) {
        if !rules::exists(name) && !extra.has(name) {
            return Err(Failure::new("unknown-rule", format!("no rule is called {name}; the README lists them all")));
        }
    }
    match settings.enable.iter().find(|name| is_one_of(&settings.disable, name)) {
        Some(both) => Err(Failure::new("unknown-rule", format!("{both} is in enable and in disable; take one out"))),
        None => Ok(()),
    }
}

#[inline(never)]
fn digests(allow: &[String], key: &str) -> Result<Vec<Digest>, Failure> {
    if !allow.is_empty() && key.len() < MIN_KEY {
        let wrong = format!("allow needs allow_key, of at least {MIN_KEY} characters: \"${{NAME}}\" takes a variable");
        return Err(Failure::new("bad-allow", wrong));
    }
    let mut digests = Vec::new();
    for (index, entry) in allow.iter().enumerate() {
        let Some(digest) = hash::parse(entry) else {
            // What was meant may stand there in plain text: it is not repeated.
            let wrong = format!("allow[{index}] is no HMAC-SHA256 in hexadecimal; the README has the command for one");
            return Err(Failure::new("bad-allow", wrong));
        };
        digests.push(digest);
    }
    Ok(digests)
}

/// Whether the value at `at` stands as an environment is printed: a name in capitals, `=`, the value, without blanks.
fn environment(text: &[u8], at: usize) -> bool {
    let before = &text[at.saturating_sub(MAX_VARIABLE + 2)..at];
    let before = before.strip_suffix(b"\"").or(before.strip_suffix(b"'")).unwrap_or(before);
    let Some(before) = before.strip_suffix(b"=") else { return false };
    let name = |c: &&u8| c.is_ascii_uppercase() || is(**c, DIGIT) || **c == b'_';
    let size = before.iter().rev().take_while(name).count();
    let lead = before.len().checked_sub(size + 1).map(|at| before[at]);
    size > 1 && lead.is_none_or(|c| !c.is_ascii_alphanumeric() && !matches!(c, b'.' | b'$'))
}
