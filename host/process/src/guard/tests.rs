//! The guard as a whole: what is refused, what passes, and what is refused because nobody can read it.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::scripts::{ScriptRead, Scripts};
use super::*;

/// Scripts that exist only here.
#[derive(Default)]
struct Shelf(HashMap<&'static str, &'static str>);

impl Scripts for Shelf {
    fn read(&self, path: &Path) -> ScriptRead {
        match self.0.get(path.to_str().unwrap_or_default()).copied() {
            Some("<pipe>") => ScriptRead::NoRegularFile,
            Some("<denied>") => ScriptRead::Denied,
            Some(text) if text.starts_with("<large>") => {
                ScriptRead::TooLarge { first_line: text["<large>".len()..].to_owned() }
            }
            Some(text) => ScriptRead::Text(text.to_owned()),
            None => ScriptRead::Nothing,
        }
    }
}

fn guarded() -> Guarded {
    Guarded {
        socket: Some("/home/me/.hermes/run/host.sock".into()),
        pid_file: Some("/home/me/.hermes/run/host.pid".into()),
        users: vec!["me".to_owned(), "1000".to_owned()],
        home: Some("/home/me".into()),
        ..Guarded::new(4242, "/usr/local/bin/hermes serve --quiet")
    }
}

fn with_python() -> Guarded {
    let mut guarded = guarded();
    guarded.images.push("python3".to_owned());
    guarded
}

fn verdict_with(text: &str, guarded: &Guarded, scripts: &Shelf) -> Option<Reason> {
    check(&Command::Shell(text), guarded, scripts).err().map(|refused| refused.reason)
}

fn verdict(text: &str) -> Option<Reason> {
    verdict_with(text, &guarded(), &Shelf::default())
}

#[track_caller]
fn all(reason: Option<Reason>, texts: &[&str]) {
    let wrong: Vec<_> = texts.iter().map(|text| (*text, verdict(text))).filter(|(_, found)| *found != reason).collect();
    assert!(wrong.is_empty(), "expected {reason:?}: {wrong:#?}");
}

mod hidden;
mod plain;
