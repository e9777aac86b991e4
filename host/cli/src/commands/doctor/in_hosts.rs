//! Whether what is configured is in force in each host that runs.

use hermes_home::home::Home;
use hermes_plugins::registry::{Row, State};

use super::Check;
use crate::host::plugins::{self, Answer, Question};

/// One check for each host.
pub(super) fn checks(home: &Home, current: u64) -> Vec<Check> {
    let answers = plugins::ask_all(home, Question::List);
    let silent = answers.silent.iter().map(|silent| {
        let name = silent.pid.map_or_else(|| "a host".to_owned(), |pid| format!("host {pid}"));
        Check::fail(name, silent.message.as_str(), "end it (`kill` its process); the next one is of this version")
    });
    answers.answered.iter().map(|answer| check(answer, current)).chain(silent).collect()
}

fn check(answer: &Answer, current: u64) -> Check {
    let name = format!("host {}", answer.pid);
    let generation = answer.listed.generation;
    if generation != current {
        let next = "run this again in a second; its log says what keeps it (logs/host.log, or its stderr)";
        return Check::fail(name, format!("runs generation {generation}, not {current}"), next);
    }
    let missing: Vec<&Row> =
        answer.listed.plugins.iter().filter(|row| row.enabled && row.state != State::Loaded).collect();
    if let Some(first) = missing.first() {
        let words: Vec<String> = missing.iter().map(|row| words(row)).collect();
        let effect = match answer.listed.withheld.as_slice() {
            [] => "",
            _ => ": all output is withheld",
        };
        let message = format!("generation {generation}; not in force as wanted: {}{effect}", words.join(", "));
        return Check::fail(name, message, format!("`hermes plugins why {}`", first.name));
    }
    if let Some((plugin, code)) = answer.listed.withheld.first() {
        let next = format!("`hermes plugins why {plugin}`");
        return Check::fail(name, format!("all output is withheld: {plugin} ({code})"), next);
    }
    let loaded = answer.listed.plugins.iter().filter(|row| row.state == State::Loaded).count();
    Check::ok(name, format!("generation {generation} is in force; plugins loaded: {loaded}"))
}

/// A plugin, its state, and what serves in its place.
fn words(row: &Row) -> String {
    let code = row.problems.first().map(|problem| problem.code.word()).filter(|code| *code != row.state.word());
    let code = code.map(|code| format!(" {code}")).unwrap_or_default();
    match &row.serving {
        Some(serving) => format!("{} ({}{code}; version {} serves)", row.name, row.state.word(), serving.version),
        None => format!("{} ({}{code})", row.name, row.state.word()),
    }
}
