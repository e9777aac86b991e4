//! What was said about every mask in ordinary files: a secret stands there, or ordinary text was masked.
//!
//! The list holds keys and reasons. It must never hold a value, nor a line of a file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::plain::{Kind, Mask, Seen};

/// What was said about a mask.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Verdict {
    /// A secret stands there: a real one, or that of an example or a test.
    Secret,
    /// Ordinary text stands there: what it is.
    Wrong(String),
}

impl TryFrom<String> for Verdict {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.strip_prefix("wrong: ") {
            Some(reason) if !reason.trim().is_empty() => Ok(Self::Wrong(reason.to_owned())),
            _ if text == "secret" => Ok(Self::Secret),
            _ => Err(format!("'{text}' is no verdict; say 'secret', or 'wrong: ' and what stands there")),
        }
    }
}

/// The verdicts: by the folder, the file in it, and the key of the mask.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Judged(BTreeMap<String, BTreeMap<String, BTreeMap<String, Verdict>>>);

/// Why there are no judgements.
#[derive(Debug, thiserror::Error)]
#[error("{path} cannot be used: {reason}")]
pub struct JudgedError {
    path: String,
    reason: String,
}

impl Judged {
    /// Reads them.
    ///
    /// # Errors
    /// The file cannot be read, or says something else.
    pub fn read(path: &Path) -> Result<Self, JudgedError> {
        let broken = |reason: String| JudgedError { path: path.display().to_string(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| broken(error.to_string()))?;
        toml::from_str(&text).map_err(|error| broken(error.to_string()))
    }

    /// What was said about a mask, if anything was.
    pub fn about(&self, mask: &Mask) -> Option<&Verdict> {
        self.0.get(&mask.folder)?.get(&mask.file)?.get(&mask.key)
    }
}

/// The masks of a run by what was said about them.
#[derive(Debug, Default)]
pub struct Tally<'a> {
    /// How many hold a secret.
    pub right: usize,
    /// Those that hold ordinary text, with what it is.
    pub wrong: Vec<(&'a Mask, &'a str)>,
    /// Those nobody judged.
    pub new: Vec<&'a Mask>,
}

impl<'a> Tally<'a> {
    /// Counts what was seen.
    pub fn of(judged: &'a Judged, seen: &'a Seen) -> Self {
        let mut tally = Self::default();
        for mask in &seen.masks {
            match judged.about(mask) {
                Some(Verdict::Secret) => tally.right += 1,
                Some(Verdict::Wrong(reason)) => tally.wrong.push((mask, reason)),
                None => tally.new.push(mask),
            }
        }
        tally
    }

    /// Masks that are wrong, or may be, for every 5 MB of `bytes`.
    pub fn rate(&self, bytes: u64) -> f64 {
        (self.wrong.len() + self.new.len()) as f64 * 5e6 / bytes.max(1) as f64
    }

    /// The same masks of one kind of file: how many are wrong or new.
    pub fn of_kind(&self, kind: Kind) -> usize {
        let masks = self.wrong.iter().map(|(mask, _)| *mask).chain(self.new.iter().copied());
        masks.filter(|mask| mask.kind == kind).count()
    }

    /// The masks nobody judged, as entries of the list without a verdict, each below its line as the host shows it.
    pub fn to_judge(&self) -> String {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let mut text = String::new();
        let mut last = None;
        for mask in &self.new {
            if last != Some((&mask.folder, &mask.file)) {
                text += &format!("\n[{}.{}]\n", quoted(&mask.folder), quoted(&mask.file));
                last = Some((&mask.folder, &mask.file));
            }
            text += &format!("# {}\n{} = \"\"\n", mask.line.trim(), quoted(&mask.key));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(key: &str) -> Mask {
        let (folder, file) = ("crates".to_owned(), "a-1.0/src/\"b\".rs".to_owned());
        Mask { folder, file, key: key.to_owned(), line: " token=[REDACTED:x]".to_owned(), kind: Kind::Source }
    }

    #[test]
    fn a_mask_is_right_wrong_or_new_and_only_the_last_two_count() {
        let text = "[crates.'a-1.0/src/\"b\".rs']\n\"x 01\" = \"secret\"\n\"x 02\" = \"wrong: the name of a type\"\n";
        let judged: Judged = toml::from_str(text).unwrap();
        let mut seen = Seen { masks: ["x 01", "x 02", "x 03"].map(mask).to_vec(), ..Seen::default() };
        let tally = Tally::of(&judged, &seen);
        assert_eq!((tally.right, tally.wrong.len(), tally.new.len()), (1, 1, 1));
        assert!((tally.rate(10_000_000) - 1.0).abs() < 1e-9);
        assert_eq!((tally.of_kind(Kind::Source), tally.of_kind(Kind::Lock)), (2, 0));
        seen.masks.truncate(2);
        assert!(Tally::of(&judged, &seen).new.is_empty());
    }

    #[test]
    fn what_nobody_judged_is_printed_as_entries_that_are_refused_until_somebody_does() {
        let seen = Seen { masks: vec![mask("x 03")], ..Seen::default() };
        let judged = Judged::default();
        let text = Tally::of(&judged, &seen).to_judge();
        assert!(text.contains("# token=[REDACTED:x]\n"), "{text}");
        assert!(toml::from_str::<Judged>(&text).unwrap_err().to_string().contains("is no verdict"));
        let filled: Judged = toml::from_str(&text.replace("\"\"", "\"secret\"")).unwrap();
        assert_eq!(filled.about(&seen.masks[0]), Some(&Verdict::Secret));
    }

    #[test]
    fn a_wrong_mask_needs_a_reason() {
        assert!(toml::from_str::<Judged>("[a.b]\n\"x 01\" = \"wrong: \"\n").is_err());
    }

    #[test]
    fn the_judgements_of_the_repository_can_be_read() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("judged.toml");
        assert!(!Judged::read(&path).unwrap().0.is_empty());
    }
}
