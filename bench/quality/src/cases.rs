//! The cases: seeds times syntaxes, times what terminals and pipes do to a text.

use std::sync::Arc;

use crate::generator::Generator;
use crate::score::PIECE;
use crate::seeds::{Seed, Told, situations, written};
use crate::syntaxes::{self, SYNTAXES, Syntax};

/// How a text reaches the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// As the output of a command that ended.
    Whole,
    /// As a stream in two pieces, cut at this byte.
    Cut(usize),
    /// As a stream of single bytes.
    Bytes,
}

/// A text, what of it is secret and what must stay.
#[derive(Debug, PartialEq, Eq)]
pub struct Text {
    /// What is in it, such as `token/github`.
    pub kind: String,
    /// How it stands there: the syntax, or `text`.
    pub syntax: &'static str,
    /// What was done to it, such as `crlf`.
    pub change: &'static str,
    /// The text.
    pub text: String,
    /// What must not be readable.
    pub secrets: Vec<String>,
    /// What must be.
    pub keeps: Vec<String>,
}

/// One case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its text.
    pub text: Arc<Text>,
    /// How it arrives.
    pub way: Way,
}

/// How wide a terminal is, in columns.
const COLUMNS: usize = 80;
/// The seed in this many syntaxes is also changed in every way.
const CHANGED: usize = 3;

type Change = fn(&str) -> String;

/// What is done to a value. A text with another line end is made of the whole text.
const CHANGES: [(&str, Change); 4] = [
    ("colour around", |value| format!("\u{1b}[1;31m{value}\u{1b}[0m")),
    ("colour inside", |value| halves(value, "\u{1b}[33m") + "\u{1b}[0m"),
    ("colour per character", |value| {
        value.chars().map(|one| format!("\u{1b}[3{}m{one}", one as u32 % 8)).collect::<String>() + "\u{1b}[0m"
    }),
    ("zero-width inside", |value| halves(value, "\u{200b}")),
];

fn halves(value: &str, between: &str) -> String {
    let middle = (value.len() / 2..).find(|at| value.is_char_boundary(*at)).unwrap_or_default();
    format!("{}{between}{}", &value[..middle], &value[middle..])
}

/// Every case of these seeds. `share` of 1 gives all, of `n` about every n-th text with all of its cases.
pub fn cases(seeds: &[Seed], share: usize) -> Vec<Case> {
    let mut texts = Vec::new();
    let mut cut = Vec::new();
    for (number, seed) in seeds.iter().enumerate() {
        let mut generator = Generator::named(&format!("{} {} {}", seed.kind, seed.template, seed.name));
        let fitting: Vec<&Syntax> = SYNTAXES.iter().filter(|syntax| fits(seed, syntax)).collect();
        for (index, syntax) in fitting.iter().enumerate() {
            let value = syntax.escape.write(&generator.expand(&seed.template));
            let plain = Arc::new(text_of(seed, syntax, &value, ""));
            // Another few syntaxes for each seed, so that every syntax meets every change.
            let turn = (index + fitting.len() - number * 5 % fitting.len()) % fitting.len();
            if turn < CHANGED {
                texts.extend(CHANGES.iter().map(|(name, change)| Arc::new(changed(&plain, name, *change, &value))));
                texts.push(Arc::new(crlf(&plain)));
            }
            if turn == 0 {
                cut.push(Arc::clone(&plain));
            }
            texts.push(plain);
        }
        // The first line must hold what tells the token.
        let begins = seed.template.find('{').is_some_and(|at| at >= 2) && seed.public_to.is_empty();
        if seed.told == Told::ByForm && begins && !seed.template.contains(' ') {
            texts.push(Arc::new(wrapped(seed, &generator.expand(&seed.template))));
        }
    }
    for situation in situations() {
        let (text, secrets, keeps) = written(situation, &mut Generator::named(situation.text));
        let kind = situation.kind.to_owned();
        let plain = Arc::new(Text { kind, syntax: "text", change: "plain", text, secrets, keeps });
        for (name, change) in CHANGES.iter().filter(|_| !plain.secrets.is_empty()) {
            let mut text = plain.text.clone();
            plain.secrets.iter().for_each(|secret| text = text.replace(secret.as_str(), &change(secret)));
            texts.push(Arc::new(Text { text, change: name, ..copy(&plain) }));
        }
        texts.push(Arc::new(crlf(&plain)));
        cut.push(Arc::clone(&plain));
        texts.push(plain);
    }
    let whole = texts.into_iter().step_by(share.max(1)).map(|text| Case { text, way: Way::Whole });
    whole.chain(cut.into_iter().step_by(share.max(1)).flat_map(pieces)).collect()
}

/// A text in single bytes, and cut in two everywhere.
fn pieces(text: Arc<Text>) -> impl Iterator<Item = Case> {
    let ways = (1..text.text.len()).map(Way::Cut).chain([Way::Bytes]);
    ways.map(move |way| Case { text: Arc::clone(&text), way })
}

fn fits(seed: &Seed, syntax: &Syntax) -> bool {
    let special = seed.template.contains(['&', '#', '+', '=', ' ', '<', '%']) || seed.template.contains("base64");
    let named = syntax.named || seed.told == Told::ByForm || seed.told == Told::Stays;
    // In a query such a value is written otherwise; in Dockerfiles and shells a blank ends it.
    named && !(syntax.name == "url-query" && special)
}

fn copy(text: &Text) -> Text {
    let Text { kind, syntax, change, text, secrets, keeps } = text;
    let (kind, text, secrets, keeps) = (kind.clone(), text.clone(), secrets.clone(), keeps.clone());
    Text { kind, syntax, change, text, secrets, keeps }
}

fn text_of(seed: &Seed, syntax: &'static Syntax, value: &str, change: &'static str) -> Text {
    let (text, mut keeps) = syntaxes::written(syntax, &seed.name, value);
    let secret = matches!(seed.told, Told::ByForm | Told::ByName);
    if !secret {
        keeps.push(value.to_owned());
    }
    let secrets = if secret { vec![seed.secret(value).to_owned()] } else { Vec::new() };
    let change = if change.is_empty() { "plain" } else { change };
    Text { kind: seed.kind.clone(), syntax: syntax.name, change, text, secrets, keeps }
}

fn changed(plain: &Text, change: &'static str, with: Change, value: &str) -> Text {
    Text { change, text: plain.text.replacen(value, &with(value), 1), ..copy(plain) }
}

fn crlf(plain: &Text) -> Text {
    Text { change: "crlf", text: plain.text.replace('\n', "\r\n"), ..copy(plain) }
}

/// The value across the right edge of a terminal that breaks lines hard. A piece too short to be a leak is
/// none.
fn wrapped(seed: &Seed, value: &str) -> Text {
    let before = COLUMNS - (value.len() / 2).min(COLUMNS / 2);
    let filler =
        &"the service was asked for what it knows and answered with a long line that says so ".repeat(2)[..before - 1];
    let (front, back) = value.split_at(COLUMNS - before);
    let mut lines = vec![front.to_owned()];
    lines.extend(back.as_bytes().chunks(COLUMNS).map(|line| String::from_utf8_lossy(line).into_owned()));
    let text = format!("{filler} {}\nnext line\n", lines.join("\n"));
    let secrets = lines.into_iter().filter(|line| line.len() >= PIECE).collect();
    let keeps = vec![filler.trim_end().to_owned(), "next line".to_owned()];
    Text { kind: seed.kind.clone(), syntax: "sentence", change: "wrapped at 80", text, secrets, keeps }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::score;
    use crate::seeds::seeds;

    fn all() -> Vec<Case> {
        cases(&seeds(Path::new("/nowhere")).unwrap(), 1)
    }

    #[test]
    fn there_are_at_least_twenty_thousand_and_every_run_has_the_same() {
        let cases = all();
        assert!(cases.len() >= 20_000, "{}", cases.len());
        assert!(cases == all());
    }

    #[test]
    fn every_unmasked_text_would_be_a_leak_and_loses_nothing() {
        for case in all() {
            let read = score::readable(&case.text.text);
            assert_eq!(score::lost(&read, &case.text.keeps), None, "{:?}", case.text);
            for secret in case.text.secrets.iter().filter(|secret| secret.len() > 1) {
                assert!(score::leaked(&read, std::slice::from_ref(secret)).is_some(), "{:?}", case.text);
            }
        }
    }

    #[test]
    fn nothing_that_must_stay_is_a_piece_of_a_secret() {
        for case in all() {
            let kept = case.text.keeps.join("\n");
            let secrets: Vec<String> = case.text.secrets.iter().filter(|one| one.len() > 3).cloned().collect();
            assert_eq!(score::leaked(&kept, &secrets), None, "{:?}", case.text);
        }
    }
}
