//! What every change says when it is done: what changed, the generation, how to go back, and what it means.

use hermes_model::exit;
use hermes_model::hook::Hook;
use hermes_plugins::change::{Changed, Editor};
use hermes_plugins::examined::Examined;
use hermes_plugins::generation::Generation;
use hermes_plugins::problem::Code;
use hermes_plugins::problem::Problem;
use hermes_plugins::registry::{self, store_of};
use serde::Serialize;

use crate::cli::Global;
use crate::host::plugins::{self, Answers, HostRow, Question};
use crate::place::Place;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::report::Report;

/// What `--json` prints of a change.
#[derive(Serialize)]
struct Document<'a> {
    changed: bool,
    change: &'a str,
    home: String,
    generation: u64,
    previous: u64,
    name: Option<&'a str>,
    digest: Option<String>,
    replaced: Option<&'a str>,
    problems: &'a [Problem],
    hosts: &'a [HostRow],
}

/// A change that was made, or that there was no need to make.
pub(crate) struct Done {
    /// What was done, in words for a person.
    pub(crate) said: String,
    /// The generation in force now.
    pub(crate) generation: Generation,
    /// What was examined, replaced and named by it.
    pub(crate) detail: Option<Changed>,
}

impl Done {
    /// A change that only has a new generation to tell of.
    pub(crate) fn new(said: impl Into<String>, generation: Generation) -> Self {
        Self { said: said.into(), generation, detail: None }
    }

    /// A change of one plugin that was examined.
    pub(crate) fn examined(said: impl Into<String>, changed: Changed) -> Self {
        Self { said: said.into(), generation: changed.generation.clone(), detail: Some(changed) }
    }
}

/// Makes a change and says what it came to.
pub(crate) fn make(
    global: &Global,
    printer: &Printer,
    change: impl FnOnce(&Editor<'_>) -> Result<Done, Report>,
) -> Result<i32, Report> {
    let place = Place::find(global)?;
    let editor = place.editor()?;
    // Unreadable is no reason not to try: a rollback is what repairs it.
    let before = store_of(&place.home).current().ok().map(|generation| generation.number);
    let done = {
        let _progress = Progress::start(printer, "checking the plugin");
        change(&editor)?
    };
    let told = Told::tell(&place, printer);
    say(&done, before, &place, &told, printer);
    Ok(exit::OK)
}

/// What became of a change in the hosts that run.
pub(crate) struct Told {
    answers: Answers,
    /// Each host, as `--json` prints it.
    pub(crate) hosts: Vec<HostRow>,
}

impl Told {
    /// Tells every host of the home to take up the current generation, and waits until it has.
    pub(crate) fn tell(place: &Place, printer: &Printer) -> Self {
        let answers = {
            let _progress = Progress::start(printer, "telling the hosts that run");
            plugins::ask_all(&place.home, Question::TakeUp)
        };
        let current = store_of(&place.home).current().ok().map(|generation| generation.number);
        let hosts = answers.rows(current);
        Self { answers, hosts }
    }

    /// Says where the change is in force, and where it is not and why.
    pub(crate) fn say(&self, printer: &Printer) {
        let well: Vec<&HostRow> = self.hosts.iter().filter(|host| host.ok).collect();
        if let Some(generation) = well.first().and_then(|host| host.generation) {
            let count = match well.len() {
                1 => "1 running host".to_owned(),
                several => format!("{several} running hosts"),
            };
            printer.confirm(&format!("in force in {count} (generation {generation})"));
        }
        self.hosts.iter().filter_map(|host| host.message.as_deref()).for_each(|text| printer.warn(text));
    }

    /// What serves in place of a plugin that cannot load, in the first host where something does.
    fn serving(&self, name: &str) -> Option<&str> {
        let rows = self.answers.answered.iter().flat_map(|answer| &answer.listed.plugins);
        rows.filter(|row| row.name == name).find_map(|row| Some(row.serving.as_ref()?.version.as_str()))
    }
}

fn say(done: &Done, before: Option<u64>, place: &Place, told: &Told, printer: &Printer) {
    let number = done.generation.number;
    let changed = before != Some(number);
    let detail = done.detail.as_ref();
    let examined = detail.and_then(|changed| changed.examined.as_ref());
    let problems = examined.map(|examined| examined.problems.as_slice()).unwrap_or_default();
    if let (Some(examined), true) = (examined, !problems.is_empty()) {
        warn_of_broken(done, examined, place, told, printer);
    }
    if printer.is_json() {
        printer.document(&Document {
            changed,
            change: &done.generation.change,
            home: place.home.root().display().to_string(),
            generation: number,
            previous: before.unwrap_or(number),
            name: detail.and_then(|changed| changed.name.as_ref()).map(|name| name.as_str()),
            digest: examined.map(|examined| examined.digest.to_string()),
            replaced: detail.and_then(|changed| changed.replaced.as_deref()),
            problems,
            hosts: &told.hosts,
        });
        return;
    }
    if detail.is_some_and(|changed| changed.forgiven) {
        printer.confirm(&format!("{}: its strikes are forgiven, it is asked again", done.said));
    }
    if !changed {
        if !detail.is_some_and(|changed| changed.forgiven) {
            printer.confirm(&format!("{}: nothing to change, generation {number} stays", done.said));
        }
        told.say(printer);
        return;
    }
    printer.confirm(&done.said);
    if let Some(replaced) = detail.and_then(|changed| changed.replaced.as_deref()) {
        let same = examined.is_some_and(|examined| examined.digest.to_string() == replaced);
        printer.confirm(&if same {
            "  in place of the same file".to_owned()
        } else {
            format!("  in place of {replaced}")
        });
    }
    let back = before.map(|before| format!("; `hermes plugins rollback --to {before}` returns to generation {before}"));
    printer.confirm(&format!("generation {number}, home {}{}", place.home.root().display(), back.unwrap_or_default()));
    told.say(printer);
}

/// A plugin that was published although it cannot load: its problems, and what that means for all output.
fn warn_of_broken(done: &Done, examined: &Examined, place: &Place, told: &Told, printer: &Printer) {
    let name = done.detail.as_ref().and_then(|changed| changed.name.as_ref());
    let name = name.map_or("the plugin", |name| name.as_str());
    for problem in &examined.problems {
        printer.warn(&format!("{}: {}\n  next: {}", problem.code, problem.message, problem.next));
    }
    if examined.problems.iter().all(|problem| problem.code == Code::NeedsGrant) {
        return;
    }
    let version = told.serving(name).map(str::to_owned).or_else(|| {
        // No host runs: what one that starts now would do.
        let name = done.detail.as_ref()?.name.as_ref()?;
        let why = registry::examine(&place.home, &place.config, &place.cache_dir, name).ok()??;
        why.row.serving.map(|serving| serving.version)
    });
    let effect = match version {
        Some(version) => format!("version {version} is in force until it can; `hermes plugins rollback` undoes this"),
        None => effect(examined).to_owned(),
    };
    printer.warn(&format!("{name} cannot load and is published all the same: {effect}"));
}

/// What an enabled plugin that cannot load does to the output of commands.
fn effect(examined: &Examined) -> &'static str {
    // What says nothing of its hooks may be a redactor and counts as one.
    match &examined.manifest {
        Some(manifest) if !manifest.hooks.contains(&Hook::Redact) && manifest.hooks.contains(&Hook::Transform) => {
            "as a transform it is skipped, and every reply says so"
        }
        Some(manifest) if !manifest.hooks.contains(&Hook::Redact) => {
            "as a notifier it is skipped, and every event says so"
        }
        _ => {
            "while a redactor is enabled and not loaded, ALL OUTPUT IS WITHHELD; `hermes plugins rollback` undoes this"
        }
    }
}
