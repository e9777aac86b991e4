//! What `list`, `show` and `why` go by: the hosts that run, and the disk where none does.

use clap::Args;
use hermes_model::id::PluginName;
use hermes_model::suggest;
use hermes_plugins::change::EditError;
use hermes_plugins::registry::{Row, State, store_of};
use serde::Serialize;

use crate::host::plugins::{self, Answer, HostRow, Question};
use crate::place::Place;
use crate::printer::Printer;
use crate::report::Report;

/// Whom to ask.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct WhomArgs {
    /// Ask no running host: say what one that starts now would have in force.
    #[arg(long)]
    pub(crate) disk: bool,
}

/// How a plugin stands in one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct InHost {
    /// The number of the host's process.
    pub(crate) pid: u32,
    /// Its state there.
    pub(crate) state: State,
    /// The version that is in force there; none: none is.
    pub(crate) version: Option<String>,
}

/// A plugin as it is shown.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Shown {
    /// The row, put together from those of all hosts.
    #[serde(flatten)]
    pub(crate) row: Row,
    /// How it stands in each host; empty where the disk was asked.
    pub(crate) hosts: Vec<InHost>,
}

/// What is in force.
pub(crate) struct Truth {
    /// `host` or `disk`.
    pub(crate) asked: &'static str,
    pub(crate) generation: u64,
    pub(crate) plugins: Vec<Shown>,
    pub(crate) withheld: Vec<(String, String)>,
    pub(crate) redactors: usize,
    pub(crate) hosts: Vec<HostRow>,
}

impl Truth {
    /// Asks the hosts that run, and looks at the disk where none answers.
    pub(crate) fn find(place: &Place, whom: WhomArgs, printer: &Printer) -> Result<Self, Report> {
        let answers =
            if whom.disk { plugins::Answers::default() } else { plugins::ask_all(&place.home, Question::List) };
        if answers.answered.is_empty() {
            let survey = place.survey(printer)?;
            return Ok(Self {
                asked: "disk",
                generation: survey.generation(),
                plugins: survey.rows().into_iter().map(|row| Shown { row, hosts: Vec::new() }).collect(),
                withheld: survey.withheld(),
                redactors: survey.redactors(),
                hosts: answers.rows(Some(survey.generation())),
            });
        }
        let current = store_of(&place.home).current();
        if let Err(error) = &current {
            printer.warn(&Report::of(error).sentence());
        }
        let current = current.ok().map(|generation| generation.number);
        Ok(Self::of_hosts(&answers.answered, current, answers.rows(current)))
    }

    fn of_hosts(answered: &[Answer], current: Option<u64>, hosts: Vec<HostRow>) -> Self {
        // A host with the current generation knows every plugin and their order; what only others have follows.
        let leading = answered.iter().position(|answer| Some(answer.listed.generation) == current).unwrap_or(0);
        let (behind, ahead) = answered.split_at(leading);
        let mut truth = Self {
            asked: "host",
            generation: answered[leading].listed.generation,
            plugins: Vec::new(),
            withheld: Vec::new(),
            redactors: usize::MAX,
            hosts,
        };
        for answer in ahead.iter().chain(behind) {
            truth.redactors = truth.redactors.min(answer.listed.redactors);
            for by in &answer.listed.withheld {
                if !truth.withheld.contains(by) {
                    truth.withheld.push(by.clone());
                }
            }
            for row in &answer.listed.plugins {
                let there = in_host(answer.pid, row);
                match truth.plugins.iter_mut().find(|shown| shown.row.name == row.name) {
                    Some(shown) => {
                        shown.row = both(&shown.row, row);
                        shown.hosts.push(there);
                    }
                    None => truth.plugins.push(Shown { row: row.clone(), hosts: vec![there] }),
                }
            }
        }
        truth.plugins.iter_mut().for_each(|shown| shown.hosts.sort_by_key(|there| there.pid));
        truth
    }

    /// A plugin by its name.
    pub(crate) fn plugin(&self, name: &str) -> Option<&Shown> {
        self.plugins.iter().find(|shown| shown.row.name == name)
    }

    /// The error of a plugin that is not there.
    pub(crate) fn not_installed(&self, name: &PluginName) -> Report {
        let known: Vec<&str> = self.plugins.iter().map(|shown| shown.row.name.as_str()).collect();
        EditError::NotInstalled { name: name.clone(), hint: suggest::hint(name.as_str(), &known) }.into()
    }

    /// The rows alone.
    pub(crate) fn rows(&self) -> Vec<Row> {
        self.plugins.iter().map(|shown| shown.row.clone()).collect()
    }
}

fn in_host(pid: u32, row: &Row) -> InHost {
    let version = match (&row.serving, row.state) {
        (Some(serving), _) => Some(serving.version.clone()),
        (None, State::Loaded) => row.version.clone(),
        (None, _) => None,
    };
    InHost { pid, state: row.state, version }
}

/// The same plugin in two hosts as one row: the worse state, the problems of both, the sum of the calls, the longer times.
fn both(one: &Row, other: &Row) -> Row {
    let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
    };
    let mut row = if rank(other.state) > rank(one.state) { other.clone() } else { one.clone() };
    row.order = one.order;
    row.problems.clone_from(&one.problems);
    for problem in &other.problems {
        if row.problems.iter().all(|known| (known.code, &known.subject) != (problem.code, &problem.subject)) {
            row.problems.push(problem.clone());
        }
    }
    row.serving = one.serving.clone().or_else(|| other.serving.clone());
    row.calls = sum(one.calls, other.calls);
    row.failures = sum(one.failures, other.failures);
    row.p50_us = one.p50_us.max(other.p50_us);
    row.p99_us = one.p99_us.max(other.p99_us);
    row
}

/// How bad a state is for whoever relies on the plugin.
fn rank(state: State) -> u8 {
    match state {
        State::Loaded => 0,
        State::Disabled => 1,
        State::NeedsGrant => 2,
        State::Quarantined => 3,
        State::Failed => 4,
        State::Missing => 5,
    }
}

#[cfg(test)]
mod tests {
    use hermes_plugins::problem::{Code, Problem};

    use super::*;
    use crate::commands::plugins::rows::tests::row;
    use crate::host::current::Listed;

    fn answer(pid: u32, generation: u64, plugins: Vec<Row>) -> Answer {
        let listed = Listed {
            home: "/home/me/.hermes".into(),
            version: "0.1.0".to_owned(),
            generation,
            plugins,
            withheld: Vec::new(),
            redactors: 1,
        };
        Answer { pid, problem: None, listed }
    }

    fn called(name: &str, state: State, calls: u64, p99_us: u64) -> Row {
        let mut row = row(name, state, "bundled", Vec::new());
        (row.calls, row.failures, row.p50_us, row.p99_us) = (Some(calls), Some(1), Some(p99_us / 2), Some(p99_us));
        row
    }

    #[test]
    fn figures_of_several_hosts_are_added_and_the_longer_time_counts() {
        let answers = [
            answer(7, 3, vec![called("a", State::Loaded, 10, 80)]),
            answer(9, 3, vec![called("a", State::Loaded, 5, 400)]),
        ];
        let truth = Truth::of_hosts(&answers, Some(3), Vec::new());
        let row = &truth.plugins[0].row;
        assert_eq!((row.calls, row.failures, row.p50_us, row.p99_us), (Some(15), Some(2), Some(200), Some(400)));
        assert_eq!((truth.asked, truth.generation), ("host", 3));
    }

    #[test]
    fn states_that_differ_are_kept_for_each_host_and_the_worse_one_leads() {
        let mut bad = called("a", State::Quarantined, 5, 1);
        bad.problems.push(Problem::new(Code::Quarantined, "trap", "it failed", "wait"));
        let answers = [answer(7, 3, vec![called("a", State::Loaded, 1, 1)]), answer(9, 3, vec![bad])];
        let truth = Truth::of_hosts(&answers, Some(3), Vec::new());
        let shown = &truth.plugins[0];
        assert_eq!((shown.row.state, shown.row.problems.len()), (State::Quarantined, 1));
        let states: Vec<(u32, State)> = shown.hosts.iter().map(|there| (there.pid, there.state)).collect();
        assert_eq!(states, [(7, State::Loaded), (9, State::Quarantined)]);
    }

    #[test]
    fn the_host_with_the_current_generation_gives_the_order() {
        let old = answer(7, 2, vec![called("gone", State::Loaded, 1, 1), called("b", State::Loaded, 1, 1)]);
        let new = answer(9, 3, vec![called("b", State::Loaded, 1, 1), called("c", State::Loaded, 1, 1)]);
        let answers = plugins::Answers { answered: vec![old, new], silent: Vec::new() };
        let truth = Truth::of_hosts(&answers.answered, Some(3), answers.rows(Some(3)));
        let names: Vec<&str> = truth.plugins.iter().map(|shown| shown.row.name.as_str()).collect();
        assert_eq!((truth.generation, names), (3, vec!["b", "c", "gone"]));
        assert_eq!(truth.hosts[0].message.as_deref(), Some("host 7 runs generation 2, not 3"));
        assert_eq!((truth.hosts[0].ok, truth.hosts[1].ok), (false, true));
    }
}
