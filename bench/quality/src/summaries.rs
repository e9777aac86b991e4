//! How much of what matters a summary of a real failure keeps, and what it costs.
//!
//! The corpus is a folder of `NAME.log.gz` and `NAME.truth.json`. A signal is kept where its value, an alias, or its file
//! and line are still readable; four bytes count as one token.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hermes_model::context::{Context, Surface};
use regex_automata::meta::Regex;
use serde_json::Value;

use crate::driver::Driver;

/// Why a corpus cannot be scored.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is nothing in it.
    #[error("{} holds no NAME.truth.json with signals; give the folder of a corpus", .0.display())]
    Empty(PathBuf),
    /// `gzip` did not unpack a log.
    #[error("gzip cannot unpack {}; is gzip installed?", .0.display())]
    Packed(PathBuf),
}

/// A failure: its log, and the signals that are critical.
pub struct Failure {
    /// Its name.
    pub name: String,
    /// The log.
    pub log: Vec<u8>,
    signals: Vec<Value>,
}

/// How a summariser did over a corpus.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// Critical signals kept.
    pub kept: usize,
    /// Critical signals there are.
    pub total: usize,
    /// Tokens of each summary.
    pub tokens: Vec<usize>,
    /// What was lost: the failure and the signal.
    pub lost: Vec<String>,
}

impl Score {
    /// The share of critical signals that was kept.
    pub fn recall(&self) -> f64 {
        self.kept as f64 / self.total.max(1) as f64
    }

    /// The mean number of tokens.
    pub fn mean(&self) -> usize {
        self.tokens.iter().sum::<usize>() / self.tokens.len().max(1)
    }

    /// The largest number of tokens.
    pub fn worst(&self) -> usize {
        self.tokens.iter().copied().max().unwrap_or_default()
    }
}

/// Reads a corpus.
///
/// # Errors
/// It cannot be read, or there is nothing in it.
pub fn corpus(folder: &Path) -> Result<Vec<Failure>, CorpusError> {
    let broken = |path: &Path| {
        let path = path.to_owned();
        move |source| CorpusError::File { path, source }
    };
    let mut failures = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(broken(folder))? {
        let path = entry.map_err(broken(folder))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".truth.json")) else { continue };
        let text = std::fs::read_to_string(&path).map_err(broken(&path))?;
        let truth: Value = serde_json::from_str(&text).map_err(|error| broken(&path)(io::Error::other(error)))?;
        let signals = truth["required_signals"].as_array().into_iter().flatten();
        let signals = signals.filter(|signal| signal["importance"] == "critical").cloned().collect();
        let packed = folder.join(format!("{name}.log.gz"));
        failures.push(Failure { name: name.to_owned(), log: unpacked(&packed)?, signals });
    }
    failures.sort_by(|a, b| a.name.cmp(&b.name));
    if failures.iter().all(|failure| failure.signals.is_empty()) {
        return Err(CorpusError::Empty(folder.to_owned()));
    }
    Ok(failures)
}

fn unpacked(path: &Path) -> Result<Vec<u8>, CorpusError> {
    let output = Command::new("gzip").arg("-dc").arg(path).stderr(Stdio::inherit()).output();
    let output = output.map_err(|_| CorpusError::Packed(path.to_owned()))?;
    if output.status.success() { Ok(output.stdout) } else { Err(CorpusError::Packed(path.to_owned())) }
}

/// A simple way to make a log shorter.
pub type Shorten = fn(&str) -> String;

/// What a reader of the first and the last lines, of the last, or of matching lines would get; by name.
pub const BASELINES: [(&str, Shorten); 3] = [
    ("head and tail (8,000 bytes each)", |log| {
        let cut = |at: usize| (at..).find(|at| log.is_char_boundary(*at)).unwrap_or(log.len());
        if log.len() <= 16_000 {
            log.to_owned()
        } else {
            format!("{}\n…\n{}", &log[..cut(8000)], &log[cut(log.len() - 8000)..])
        }
    }),
    ("the last 200 lines", |log| {
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(200)..].join("\n")
    }),
    ("lines that say error or fail", |log| {
        let says = |line: &&str| {
            let line = line.to_lowercase();
            ["error", "fail", "panic", "exception", "fatal", "exit code"].iter().any(|word| line.contains(word))
        };
        log.lines().filter(says).collect::<Vec<_>>().join("\n")
    }),
];

/// Scores what is made of each log.
pub fn score(failures: &[Failure], summary: impl Fn(&Failure) -> String) -> Score {
    let mut score = Score::default();
    for failure in failures {
        let text = summary(failure);
        let read = squashed(&text);
        score.tokens.push(text.len() / 4);
        score.total += failure.signals.len();
        for signal in &failure.signals {
            if is_kept(signal, &read) {
                score.kept += 1;
            } else {
                let place = format!("{}:{}", signal["file"].as_str().unwrap_or("?"), signal["line"]);
                score.lost.push(format!("{}: {}", failure.name, signal["value"].as_str().unwrap_or(&place)));
            }
        }
    }
    score
}

/// What a host shows of a failure's log: the real components, exit status 1.
pub fn shown(driver: &Driver, failure: &Failure) -> String {
    let mut context = Context::new(Surface::Foreground);
    context.exit_code = Some(1);
    driver.view(&context, &failure.log).text.as_str().to_owned()
}

fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

/// Colours, timestamps and white space do not decide whether a signal is readable.
fn squashed(text: &str) -> String {
    let mut text = text.to_owned();
    for noise in [r"(?:\x1b|\^\[)\[[0-9;:?]*[ -/]*[@-~]", r"\d{4}-\d\d-\d\dT[\d:.]+Z ?"] {
        let Some(noise) = pattern(noise) else { continue };
        let (mut kept, mut from) = (String::with_capacity(text.len()), 0);
        for found in noise.find_iter(&text) {
            kept.push_str(&text[from..found.start()]);
            from = found.end();
        }
        text = kept + &text[from..];
    }
    let mut words = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter.is_whitespace() {
            true if words.ends_with(' ') => {}
            true => words.push(' '),
            false => words.push(letter),
        }
    }
    words
}

/// A text in which no letter means anything to a pattern.
fn literal(text: &str) -> String {
    text.chars().flat_map(|letter| (!letter.is_alphanumeric()).then_some('\\').into_iter().chain([letter])).collect()
}

fn is_kept(signal: &Value, read: &str) -> bool {
    let value = match &signal["value"] {
        Value::String(value) => value.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let aliases = signal["aliases"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if std::iter::once(value.as_str()).chain(aliases).any(|name| !name.is_empty() && read.contains(&squashed(name))) {
        return true;
    }
    let matches = |text: &str| pattern(text).is_some_and(|pattern| pattern.is_match(read));
    if let (true, Some(file)) = (value.is_empty(), signal["file"].as_str()) {
        let base = file.rsplit('/').next().unwrap_or(file);
        let Some(line) = signal["line"].as_u64().filter(|line| *line != 1) else { return read.contains(base) };
        let base = literal(base);
        // A linter prints the file once, then line and column below it.
        return matches(&format!(r"{base}[:(,\s]*(line )?{line}\b"))
            || matches(&format!(r"{base}.{{0,300}}?\b{line}:\d+"));
    }
    let exits = signal["type"] == "exit_code" && !value.is_empty();
    exits && matches(&format!(r"exit(ed)?( with)?( code)?[ :=]*{}\b", literal(&value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(signal: &str, text: &str) -> bool {
        is_kept(&serde_json::from_str(signal).unwrap(), &squashed(text))
    }

    #[test]
    fn a_signal_is_read_through_colours_times_and_blanks() {
        assert!(kept(
            r#"{"value": "error: no such file"}"#,
            "\u{1b}[31merror:\u{1b}[0m  no\n2026-03-01T10:00:00.1Z such file"
        ));
        assert!(kept(r#"{"value": "a", "aliases": ["bcd"]}"#, "x bcd"));
        assert!(!kept(r#"{"value": "abc"}"#, "ab c"));
    }

    #[test]
    fn a_place_is_the_file_with_its_line() {
        let signal = r#"{"file": "src/a.rs", "line": 12}"#;
        assert!(kept(signal, "--> src/a.rs:12:3"));
        assert!(kept(signal, "./a.rs\n  12:5 error"));
        assert!(!kept(signal, "src/a.rs:123"));
    }

    #[test]
    fn an_exit_status_may_be_said_in_other_words() {
        assert!(kept(r#"{"type": "exit_code", "value": "100"}"#, "exited with code 100"));
        assert!(!kept(r#"{"type": "exit_code", "value": "100"}"#, "exited with code 10"));
    }
}
