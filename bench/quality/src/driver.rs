//! The redactor and the summariser as a host runs them: bundled components in a home made for this run, all threads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_home::config;
use hermes_home::home::{Home, LocateArgs};
use hermes_model::context::{Context, Surface};
use hermes_output::captured::Captured;
use hermes_output::cut::Limits;
use hermes_output::exact::ExactValues;
use hermes_output::policy::Policy;
use hermes_output::reveal::{Revealed, reveal};
use hermes_output::stream::Stream;
use hermes_plugins::change::Editor;
use hermes_plugins::registry::{Depth, Plugins, State};
use tempfile::TempDir;

use crate::cases::{Case, Way};
use crate::score;

/// Why the plugins cannot be asked.
#[derive(Debug, thiserror::Error)]
#[error("the plugins cannot be opened: {0}")]
pub struct DriverError(String);

impl DriverError {
    fn of(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// Which plugins are in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The redactor alone, so that nothing shortens what it shows.
    Redactor,
    /// Redactor and summariser, as in a fresh home.
    Both,
}

/// The plugins of a fresh home.
pub struct Driver {
    plugins: Plugins,
    _home: TempDir,
}

/// What is wrong with a shown case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A piece of a secret is readable.
    Leak,
    /// What had to stay did not.
    OverMask,
    /// The text was withheld, or a plugin failed.
    Withheld,
}

/// A case that went wrong: its number, how, and what was shown.
#[derive(Debug)]
pub struct Wrong {
    /// The index of the case.
    pub case: usize,
    /// How it went wrong.
    pub fault: Fault,
    /// The piece that leaked or was lost.
    pub piece: String,
    /// What was shown.
    pub shown: String,
}

impl Driver {
    /// Opens the bundled plugins.
    ///
    /// # Errors
    /// They cannot be opened.
    pub fn open(which: Which) -> Result<Self, DriverError> {
        let folder = tempfile::tempdir().map_err(DriverError::of)?;
        let cache = cache_dir();
        let place = LocateArgs { home: Some(folder.path().join("home")), profile: None };
        let home = Home::locate(&place).map_err(DriverError::of)?;
        home.ensure().map_err(DriverError::of)?;
        let config = config::load(&home).map_err(DriverError::of)?.config;
        let editor = Editor::new(&home, &config, &cache).map_err(DriverError::of)?;
        if which == Which::Redactor {
            let summariser = "summarize-output".parse().map_err(|_| DriverError("no such name".to_owned()))?;
            drop(editor.disable(&summariser).map_err(DriverError::of)?);
        }
        let plugins = Plugins::open(&home, &config, &cache, Depth::Enabled).map_err(DriverError::of)?;
        if plugins.rows().iter().any(|row| row.name == "redact-secrets" && row.state != State::Loaded) {
            return Err(DriverError(
                "redact-secrets is not loaded; `hermes plugins why redact-secrets` says why".to_owned(),
            ));
        }
        Ok(Self { plugins, _home: folder })
    }

    /// The policy in force.
    pub fn policy(&self) -> Arc<dyn Policy> {
        self.plugins.policy()
    }

    /// The text as a reply shows it, without a limit on its length.
    pub fn view(&self, context: &Context, bytes: &[u8]) -> Revealed {
        let mut captured = Captured::new(bytes.len().max(1024 * 1024));
        captured.push(bytes);
        reveal(&*self.policy(), context, &captured, &ExactValues::default(), &Limits::none())
    }

    /// The text as it is shown while it arrives in these pieces; nothing if it was withheld.
    fn streamed<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) -> Option<String> {
        let policy = self.policy();
        let mut stream = Stream::new(Context::new(Surface::Stream), Arc::new(ExactValues::default()));
        let mut shown = String::new();
        for piece in pieces {
            let step = stream.push(&*policy, piece);
            shown.push_str(step.withheld.is_none().then_some(step.text.as_str())?);
        }
        let step = stream.finish(&*policy);
        shown.push_str(step.withheld.is_none().then_some(step.text.as_str())?);
        Some(shown)
    }

    /// What a case shows; nothing if it was withheld.
    pub fn shown(&self, case: &Case) -> Option<String> {
        let bytes = case.text.text.as_bytes();
        match case.way {
            Way::Whole => {
                let shown = self.view(&Context::new(Surface::Foreground), bytes);
                shown.report.withheld.is_none().then(|| shown.text.as_str().to_owned())
            }
            Way::Cut(at) => {
                let (front, back) = bytes.split_at(at);
                self.streamed([front, back])
            }
            Way::Bytes => self.streamed(bytes.chunks(1)),
        }
    }

    fn judge(&self, number: usize, case: &Case) -> Option<Wrong> {
        let wrong =
            |fault, piece: &str, shown: String| Some(Wrong { case: number, fault, piece: piece.to_owned(), shown });
        let Some(shown) = self.shown(case) else { return wrong(Fault::Withheld, "", String::new()) };
        let read = score::readable(&shown);
        if let Some(piece) = score::leaked(&read, &case.text.secrets) {
            return wrong(Fault::Leak, piece, shown);
        }
        score::lost(&read, &case.text.keeps).and_then(|piece| wrong(Fault::OverMask, piece, shown))
    }

    /// Runs every case, on as many threads as there are cores; what went wrong, in the order of the cases.
    pub fn run(&self, cases: &[Case]) -> Vec<Wrong> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut wrong: Vec<Wrong> = std::thread::scope(|scope| {
            let judged: Vec<_> = (0..threads)
                .map(|thread| {
                    let mine = cases.iter().enumerate().skip(thread).step_by(threads);
                    scope.spawn(move || mine.filter_map(|(number, case)| self.judge(number, case)).collect::<Vec<_>>())
                })
                .collect();
            // A thread that panicked took faults with it: the run must not look clean.
            judged.into_iter().flat_map(|thread| thread.join().expect("no case panics")).collect()
        });
        wrong.sort_by_key(|wrong| wrong.case);
        wrong
    }
}

/// Where compiled plugins are kept between runs: beside this program.
fn cache_dir() -> PathBuf {
    let beside = std::env::current_exe().ok().and_then(|path| path.parent().map(Path::to_owned));
    beside.unwrap_or_else(std::env::temp_dir).join("quality-cache")
}

/// The faults counted by kind of seed, most first.
pub fn by_kind(cases: &[Case], wrong: &[Wrong]) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for one in wrong {
        *counts.entry(format!("{:?} {}", one.fault, cases[one.case].text.kind)).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cases::cases;
    use crate::seeds::seeds;

    #[test]
    fn a_share_of_the_cases_is_shown_as_it_must_be() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/redact-secrets/rules");
        let cases = cases(&seeds(&folder).unwrap(), 7);
        assert!(cases.len() >= 3000, "{}", cases.len());
        let wrong = Driver::open(Which::Redactor).unwrap().run(&cases);
        let said = |one: &Wrong| {
            let text = &cases[one.case].text;
            format!("{:?} {} / {} / {}", one.fault, text.kind, text.syntax, text.change)
        };
        let faults: BTreeSet<String> = wrong.iter().map(said).collect();
        assert!(faults.is_empty(), "{faults:?}; `cargo run -p hermes-quality -- generated` shows them");
    }

    #[test]
    fn what_a_mask_takes_is_seen() {
        let cases = cases(&seeds(Path::new("/nowhere")).unwrap(), 50);
        let driver = Driver::open(Which::Redactor).unwrap();
        // The same texts with their secrets as what must stay: every mask is a fault now.
        let turned: Vec<Case> = cases
            .iter()
            .filter(|case| case.way == Way::Whole && case.text.kind == "token/github")
            .map(|case| {
                let text = crate::cases::Text {
                    kind: "turned".to_owned(),
                    syntax: case.text.syntax,
                    change: case.text.change,
                    text: case.text.text.clone(),
                    secrets: Vec::new(),
                    keeps: case.text.secrets.clone(),
                };
                Case { text: Arc::new(text), way: Way::Whole }
            })
            .collect();
        let wrong = driver.run(&turned);
        assert!(!turned.is_empty() && wrong.len() == turned.len(), "{} of {}", wrong.len(), turned.len());
        assert!(wrong.iter().all(|one| one.fault == Fault::OverMask));
    }
}
