//! The rules as `rules/*.toml` has them. A table that contradicts itself is refused: names, lengths, prefixes that hide
//! one another. This must not read anything but that folder.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The alphabets of `Body` in `src/rules.rs`, by their names in the files.
#[rustfmt::skip]
const BODIES: &[(&str, &str)] = &[
    ("alnum", "Alnum"), ("word", "Word"), ("dotted", "Dotted"), ("base64", "Base64"), ("hex", "Hex"),
    ("upper", "Upper"), ("lower", "Lower"), ("anyhex", "AnyHex"), ("wide", "Wide"), ("uuid", "Uuid"),
    ("digit", "Digit"),
];
/// Longest body; the same as in `src/rules.rs`.
const MAX_BODY: u16 = 4096;
/// What may stand before a prefix and be masked with it is held back; the same as in `src/window.rs`.
const MAX_UNSEEN: usize = 96;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "group")]
    _group: String,
    #[serde(default)]
    token: Vec<Token>,
    #[serde(default)]
    service: Vec<Service>,
    #[serde(default)]
    form: Vec<Form>,
}

/// All rules.
pub(crate) struct Rules {
    /// Tokens that are told by their prefix.
    pub(crate) tokens: Vec<Token>,
    /// Services that are told by their name.
    pub(crate) services: Vec<Service>,
    listed: Vec<Form>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Form {
    pub(crate) label: String,
    pub(crate) what: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Token {
    pub(crate) label: String,
    pub(crate) what: String,
    pub(crate) prefix: Vec<String>,
    pub(crate) body: String,
    pub(crate) size: Option<u16>,
    pub(crate) min: Option<u16>,
    pub(crate) max: Option<u16>,
    #[serde(default)]
    pub(crate) whole: u16,
    #[serde(default)]
    pub(crate) sure: Sure,
    pub(crate) before: Option<Before>,
    pub(crate) mask: Option<Mask>,
    #[serde(default)]
    pub(crate) check: Check,
    pub(crate) example: Vec<String>,
    #[serde(default, rename = "stays")]
    _stays: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Sure {
    #[default]
    Yes,
    Random,
    Glued,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Check {
    #[default]
    None,
    Crc32,
    Base32,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mask {
    Body,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Before {
    pub(crate) body: String,
    pub(crate) min: u8,
    pub(crate) max: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Service {
    pub(crate) label: String,
    pub(crate) what: String,
    pub(crate) word: Vec<String>,
    pub(crate) value: Vec<Value>,
    /// Whether the service's name alone is looked for, not only beside a word that names a secret.
    #[serde(default)]
    pub(crate) alone: bool,
    pub(crate) example: Vec<String>,
    #[serde(default, rename = "stays")]
    _stays: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Value {
    pub(crate) body: String,
    pub(crate) size: u16,
}

/// Reads every file of `folder`.
pub(crate) fn read(folder: &str) -> Rules {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut rules = Rules { tokens: Vec::new(), services: Vec::new(), listed: Vec::new() };
    for path in paths.iter().filter(|path| path.extension().is_some_and(|end| end == "toml")) {
        let wrong = |error: &dyn std::fmt::Display| -> ! { panic!("{}: {error}", path.display()) };
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| wrong(&error));
        let file: File = toml::from_str(&text).unwrap_or_else(|error| wrong(&error));
        rules.tokens.extend(file.token);
        rules.services.extend(file.service);
        rules.listed.extend(file.form);
    }
    check_texts(&rules);
    check_lengths(&rules);
    rules
}

/// The name `Body` in `src/rules.rs` has for an alphabet.
pub(crate) fn alphabet(name: &str, of: &str) -> &'static str {
    BODIES.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{of}: no alphabet is called {name}")).1
}

impl Rules {
    /// Every prefix with its rule, in the order the tables have them.
    pub(crate) fn prefixes(&self) -> impl Iterator<Item = (&Token, &str)> {
        self.tokens.iter().flat_map(|token| token.prefix.iter().map(move |prefix| (token, prefix.as_str())))
    }

    /// The forms of the keys of each service, in the order of their names.
    pub(crate) fn forms(&self) -> BTreeMap<&str, Vec<(&Service, &Value)>> {
        let mut words: BTreeMap<&str, Vec<(&Service, &Value)>> = BTreeMap::new();
        for service in &self.services {
            for word in &service.word {
                words.entry(word).or_default().extend(service.value.iter().map(|value| (service, value)));
            }
        }
        words
    }

    /// The name of each service that is looked for alone, with the index of its first form in the tables.
    pub(crate) fn words(&self) -> Vec<(usize, &str)> {
        let mut first = 0;
        let numbered = self.forms().into_iter().map(|(word, forms)| {
            let index = first;
            first += forms.len();
            (index, word, forms.iter().any(|(service, _)| service.alone))
        });
        numbered.filter(|(.., alone)| *alone).map(|(index, word, _)| (index, word)).collect()
    }

    /// How many longer prefixes go on from `prefix`, one inside the other: those rules are more exact and give the name.
    pub(crate) fn order(&self, prefix: &str) -> u8 {
        let longer = self.prefixes().filter(|(_, other)| other.len() > prefix.len() && other.starts_with(prefix));
        longer.map(|(_, other)| 1 + self.order(other)).max().unwrap_or(0)
    }
}

impl Token {
    /// Fewest and most bytes of the body.
    pub(crate) fn lengths(&self) -> (u16, u16) {
        match (self.size, self.min, self.max) {
            (Some(size), None, None) => (size, size),
            (None, Some(min), max) => (min, max.unwrap_or(MAX_BODY)),
            _ => panic!("{}: give size, or min and perhaps max", self.label),
        }
    }

    /// Whether such a token counts only where a word begins: nothing else proves it, and nothing of it stands before.
    pub(crate) fn begins(&self, prefix: &str) -> bool {
        !matches!(self.sure, Sure::Glued)
            && !matches!(self.check, Check::Base32)
            && self.before.is_none()
            && prefix.starts_with(|c: char| c.is_ascii_alphanumeric())
    }

    /// How much of a prefix may be read before its anchor ends. What is masked must not be shown before the anchor is
    /// seen, and the end of a window is held back only as far as letters, digits, `_`, `-` and `.` go.
    pub(crate) fn reach(&self, prefix: &str) -> usize {
        let held = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.');
        let first = prefix.bytes().position(|c| !held(c)).map_or(prefix.len(), |at| at + 1);
        if self.mask.is_some() { prefix.len() } else { first }
    }
}

fn check_texts(rules: &Rules) {
    let tokens = rules.tokens.iter().map(|token| (&token.label, &token.what, token.example.len()));
    let services = rules.services.iter().map(|service| (&service.label, &service.what, service.example.len()));
    let forms = rules.listed.iter().map(|form| (&form.label, &form.what, 1));
    for (label, what, examples) in tokens.chain(services).chain(forms) {
        let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        assert!(label.bytes().all(plain) && label.len() <= 24, "{label} is no name: lower-case words and hyphens");
        assert!(!what.is_empty() && what.len() <= 130 && !what.ends_with('.'), "{label}: {what}");
        assert!(examples > 0, "{label} has no example");
    }
    for word in rules.services.iter().flat_map(|service| &service.word) {
        let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'_' | b'-' | b'.');
        assert!(word.len() >= 3 && word.bytes().all(plain), "{word}: three bytes or more, none upper-case");
    }
}

fn check_lengths(rules: &Rules) {
    let mut seen: BTreeMap<&str, Vec<&Token>> = BTreeMap::new();
    for (token, prefix) in rules.prefixes() {
        let (min, max) = token.lengths();
        assert!(min <= max && max <= MAX_BODY, "{}: {min} to {max}", token.label);
        assert!(token.whole == 0 || (min..=max).contains(&token.whole), "{}: whole is outside", token.label);
        let width = prefix.len() + token.before.as_ref().map_or(0, |before| usize::from(before.max));
        assert!(prefix.len() >= 3 && width < MAX_UNSEEN, "{prefix}: between 3 and {MAX_UNSEEN} bytes");
        assert!(
            token.reach(prefix) >= 3,
            "{prefix}: three bytes of it must be seen before any is shown: mask the body"
        );
        let same = seen.entry(prefix).or_default();
        let told = |other: &&Token| {
            let (low, high) = other.lengths();
            max < low || high < min || other.body != token.body
        };
        assert!(
            same.iter().all(told),
            "{prefix} is twice in the table, and neither length nor alphabet tells which rule is meant"
        );
        same.push(token);
    }
}
