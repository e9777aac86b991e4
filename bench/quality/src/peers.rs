//! The same texts through other programs: what each leaves readable, what it takes that must stay.
//!
//! The programs are those that `cargo xtask bench quality` installs, each in an environment of its own. They get
//! generated texts and nothing else. One that is missing fails the run: a table without it would say less than it seems to.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cases::{Case, Text, Way};
use crate::driver::{Fault, Wrong};
use crate::score;

/// Another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// gitleaks: rules in Go.
    Gitleaks,
    /// betterleaks: its successor.
    Betterleaks,
    /// CredSweeper: rules and a learned model in Python.
    Credsweeper,
    /// kingfisher: rules in Rust, run by vectorscan.
    Kingfisher,
}

/// Why a peer cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// It is not there.
    #[error("{} does not start: {source}; `cargo xtask bench quality` installs it", path.display())]
    Missing {
        /// The program.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It failed.
    #[error("{0} ended without findings that can be read: {1}")]
    Answer(&'static str, String),
}

/// One finding: the lines it is on, from 1, and the value.
struct Finding {
    line: usize,
    value: String,
}

/// How a peer did on the texts it was given.
#[derive(Debug, Default)]
pub struct Outcome {
    /// How many texts it was given.
    pub texts: usize,
    /// Texts of which a secret stayed readable.
    pub leaks: usize,
    /// Those of them that hold an example of the redactor's own table, which no other program was made for.
    pub own: usize,
    /// Texts of which it took what must stay.
    pub over: usize,
    /// How long it took, starting included.
    pub took: Duration,
    /// Kinds of disagreement with hermes: what and which kind of seed, with how many texts.
    pub disagreements: BTreeMap<(&'static str, String), usize>,
}

/// The peer found a secret that hermes showed.
pub const ONLY_PEER: &str = "only the peer masks";
/// Hermes masked a secret that the peer did not find.
pub const ONLY_HERMES: &str = "only hermes masks";
/// The peer reports what must stay.
pub const PEER_TAKES: &str = "the peer takes what must stay";

impl Peer {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Gitleaks, Self::Betterleaks, Self::Credsweeper, Self::Kingfisher];

    /// Those whose speed is measured: a learned model is not made for it.
    pub const FAST: [Self; 3] = [Self::Gitleaks, Self::Betterleaks, Self::Kingfisher];

    /// Its name, which is also that of its program and its environment.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gitleaks => "gitleaks",
            Self::Betterleaks => "betterleaks",
            Self::Credsweeper => "credsweeper",
            Self::Kingfisher => "kingfisher",
        }
    }

    /// How many times a text stands in what its speed is measured with: a fast one is over before a clock has ticked.
    fn repeats(self) -> usize {
        if self == Self::Kingfisher { 8 } else { 1 }
    }

    /// Of how many texts it gets one: a learned model takes its time.
    pub fn share(self) -> usize {
        if self == Self::Credsweeper { 3 } else { 1 }
    }

    fn path(self, folder: &Path) -> PathBuf {
        folder.join(self.name()).join("bin").join(self.name())
    }

    /// What it prints about this text, on one core, and how long that took.
    ///
    /// # Errors
    /// It does not start, or fails.
    pub fn ask(self, folder: &Path, text: &[u8]) -> Result<(Vec<u8>, Duration), PeerError> {
        let path = self.path(folder);
        let missing = |source| PeerError::Missing { path: path.clone(), source };
        let scratch = tempfile::tempdir().map_err(missing)?;
        let (input, output) = (scratch.path().join("input.txt"), scratch.path().join("found.json"));
        std::fs::write(&input, text).map_err(missing)?;
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]).arg(&path).stderr(Stdio::null()).env("GOMAXPROCS", "1");
        match self {
            Self::Kingfisher => {
                // Nothing is asked of the services, every finding counts, and what was compiled is kept with the program.
                let quietly = ["--quiet", "--no-update-check", "scan", "--no-validate", "--no-dedup", "-c", "low"];
                command.args(quietly).args(["-f", "jsonl", "--jobs", "1", "--rule-cache-dir"]);
                command.arg(folder.join(self.name()).join("rules")).arg("-o").arg(&output).arg(&input)
            }
            Self::Gitleaks => {
                command.args(["stdin", "-f", "json", "--no-banner", "--exit-code", "0", "-r"]).arg(&output)
            }
            Self::Betterleaks => command.args(["stdin", "--jsonl", "--no-banner", "--exit-code", "0"]),
            Self::Credsweeper => {
                command.arg("--path").arg(&input).arg("--save-json").arg(&output).args(["--jobs", "1"])
            }
        };
        let stdin = match self {
            Self::Credsweeper | Self::Kingfisher => Stdio::null(),
            Self::Gitleaks | Self::Betterleaks => std::fs::File::open(&input).map_err(missing)?.into(),
        };
        let started = Instant::now();
        let done = command.stdin(stdin).output().map_err(missing)?;
        let took = started.elapsed();
        // kingfisher says with 200 that it found something.
        let found = self == Self::Kingfisher && done.status.code() == Some(200);
        if !(done.status.success() || found) {
            // 127: `taskset` or the program is not there.
            return Err(PeerError::Answer(self.name(), format!("{} from {}", done.status, path.display())));
        }
        if self == Self::Betterleaks {
            return Ok((done.stdout, took));
        }
        std::fs::read(&output).map(|found| (found, took)).map_err(missing)
    }

    fn findings(self, answer: &[u8]) -> Result<Vec<Finding>, PeerError> {
        let broken = |error: serde_json::Error| PeerError::Answer(self.name(), error.to_string());
        let number = |value: &Value| value.as_u64().and_then(|line| usize::try_from(line).ok());
        let finding = |line: &Value, value: &Value| {
            Some(Finding { line: number(line)?, value: value.as_str().filter(|value| !value.is_empty())?.to_owned() })
        };
        let mut found = Vec::new();
        if matches!(self, Self::Betterleaks | Self::Kingfisher) {
            for line in answer.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                let row: Value = serde_json::from_slice(line).map_err(broken)?;
                let row = &row["finding"];
                found.extend(finding(&row["location"]["start_line"], &row["match"]["value"]));
                found.extend(finding(&row["line"], &row["snippet"]));
            }
            return Ok(found);
        }
        let rows: Value = serde_json::from_slice(answer).map_err(broken)?;
        for row in rows.as_array().into_iter().flatten() {
            if self == Self::Gitleaks {
                found.extend(finding(&row["StartLine"], &row["Secret"]));
            }
            for line in row["line_data_list"].as_array().into_iter().flatten() {
                found.extend(finding(&line["line_num"], &line["value"]));
            }
        }
        Ok(found)
    }

    /// Gives it the whole texts of these cases in one file, and compares with what went wrong in hermes.
    ///
    /// # Errors
    /// It does not start, or fails.
    pub fn compare(self, folder: &Path, cases: &[Case], wrong: &[Wrong]) -> Result<Outcome, PeerError> {
        let given: Vec<(usize, &Text)> = cases
            .iter()
            .enumerate()
            .filter(|(_, case)| case.way == Way::Whole)
            .map(|(number, case)| (number, &*case.text))
            .step_by(self.share())
            .collect();
        let (mut file, mut first_lines) = (Vec::new(), Vec::new());
        let mut line = 1;
        for (_, text) in &given {
            first_lines.push(line);
            // An empty line between two texts keeps a rule of many lines from joining them.
            let whole = format!("{}\n", text.text);
            line += whole.bytes().filter(|byte| *byte == b'\n').count();
            file.write_all(whole.as_bytes()).map_err(|error| PeerError::Answer(self.name(), error.to_string()))?;
        }
        let (answer, took) = self.ask(folder, &file)?;
        let mut masked: Vec<String> = given.iter().map(|(_, text)| text.text.clone()).collect();
        for finding in self.findings(&answer)? {
            let at = first_lines.partition_point(|first| *first <= finding.line).saturating_sub(1);
            if let Some(text) = masked.get_mut(at) {
                *text = text.replace(&finding.value, "[]");
            }
        }
        let mut outcome = Outcome { texts: given.len(), took, ..Outcome::default() };
        for ((number, text), masked) in given.iter().zip(&masked) {
            let read = score::readable(masked);
            let leaks = score::leaked(&read, &text.secrets).is_some();
            let takes = score::lost(&read, &text.keeps).is_some();
            let hermes = wrong.iter().find(|wrong| wrong.case == *number).map(|wrong| wrong.fault);
            outcome.leaks += usize::from(leaks);
            outcome.own += usize::from(leaks && text.kind.starts_with("rule/"));
            outcome.over += usize::from(takes);
            let mut differ = |what| *outcome.disagreements.entry((what, text.kind.clone())).or_default() += 1;
            match (leaks, hermes == Some(Fault::Leak)) {
                (true, false) => differ(ONLY_HERMES),
                (false, true) => differ(ONLY_PEER),
                _ => {}
            }
            if takes {
                differ(PEER_TAKES);
            }
        }
        Ok(outcome)
    }

    /// How fast it reads this text, in bytes a second, without the time an empty one takes. The median of three.
    ///
    /// # Errors
    /// It does not start, or fails.
    pub fn speed(self, folder: &Path, text: &str) -> Result<f64, PeerError> {
        let mut times = Vec::new();
        let text = text.repeat(self.repeats());
        for _ in 0..3 {
            let empty = self.ask(folder, b"\n")?.1;
            times.push(self.ask(folder, text.as_bytes())?.1.saturating_sub(empty).max(Duration::from_micros(100)));
        }
        Ok(text.len() as f64 / hermes_bench::quantile(&mut times, 0.5).as_secs_f64())
    }
}
