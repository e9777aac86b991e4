//! The arguments, and the log that tests count in.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// How often a file is looked for.
const LOOK: Duration = Duration::from_millis(2);

/// What the program was given.
#[derive(Clone, Default)]
pub(crate) struct Given {
    /// In the arguments of everything that is started.
    pub(crate) tag: String,
    /// Where starts and calls are written down.
    pub(crate) log: Option<PathBuf>,
    /// What a manner waits for.
    pub(crate) gate: Option<PathBuf>,
    /// What is told.
    pub(crate) secret: String,
    /// So many more tools.
    pub(crate) tools: usize,
    /// More tools of these names.
    pub(crate) tool: Vec<String>,
    /// The manner and its words.
    pub(crate) words: Vec<String>,
}

impl Given {
    /// Reads the arguments.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut given = Self::default();
        while let Some(word) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--tag" => given.tag = value()?,
                "--log" => given.log = Some(value()?.into()),
                "--gate" => given.gate = Some(value()?.into()),
                "--secret" => given.secret = value()?,
                "--tool" => given.tool.push(value()?),
                "--tools" => given.tools = value()?.parse().map_err(|_| "--tools needs a number".to_owned())?,
                _ => given.words.push(word),
            }
        }
        Ok(given)
    }

    /// The arguments of this program with other words.
    pub(crate) fn arguments(&self, words: &[&str]) -> Vec<String> {
        let mut all = vec!["--tag".to_owned(), self.tag.clone()];
        for (option, path) in [("--log", &self.log), ("--gate", &self.gate)] {
            if let Some(path) = path {
                all.extend([option.to_owned(), path.to_string_lossy().into_owned()]);
            }
        }
        all.extend(["--secret".to_owned(), self.secret.clone(), "--tools".to_owned(), self.tools.to_string()]);
        all.extend(self.tool.iter().flat_map(|name| ["--tool".to_owned(), name.clone()]));
        all.extend(words.iter().map(|word| (*word).to_owned()));
        all
    }

    /// This program once more.
    pub(crate) fn again(&self, words: &[&str]) -> Command {
        let mut command = Command::new(own_file());
        command.args(self.arguments(words));
        command
    }

    /// Writes a line to the log, in one piece.
    pub(crate) fn note(&self, line: &str) {
        let Some(path) = &self.log else { return };
        // Best effort: the folder of a test that is over is gone.
        if let Ok(mut file) = File::options().create(true).append(true).open(path) {
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
    }

    /// Waits for the file of `--gate`; without one, for ever.
    pub(crate) fn wait_for_gate(&self) {
        while !self.gate.as_ref().is_some_and(|gate| gate.exists()) {
            std::thread::sleep(LOOK);
        }
    }
}

/// The file of this program.
pub(crate) fn own_file() -> PathBuf {
    std::env::current_exe().expect("a running program knows its own file")
}
