//! What every change says when it is done: what changed, the generation, how to go back, and what it means.

use hermes_model::exit;
use hermes_model::hook::Hook;
use hermes_plugins::change::{Changed, Editor};
use hermes_plugins::examined::Examined;
use hermes_plugins::generation::Generation;
use hermes_plugins::problem::Code;
use hermes_plugins::problem::Problem;
use hermes_plugins::registry::store_of;
use serde::Serialize;

use crate::cli::Global;
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
    say(&done, before, &place, printer);
    Ok(exit::OK)
}

fn say(done: &Done, before: Option<u64>, place: &Place, printer: &Printer) {
    let number = done.generation.number;
    let changed = before != Some(number);
    let detail = done.detail.as_ref();
    let examined = detail.and_then(|changed| changed.examined.as_ref());
    let problems = examined.map(|examined| examined.problems.as_slice()).unwrap_or_default();
    if let (Some(examined), true) = (examined, !problems.is_empty()) {
        warn_of_broken(done, examined, printer);
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
        });
        return;
    }
    if detail.is_some_and(|changed| changed.forgiven) {
        printer.confirm(&format!("{}: its strikes are forgiven, it is asked again", done.said));
    }
    if !changed && detail.is_some_and(|changed| changed.forgiven) {
        return;
    }
    if !changed {
        printer.confirm(&format!("{}: nothing to change, generation {number} stays", done.said));
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
}

/// A plugin that was published although it cannot load: its problems, and what that means for all output.
fn warn_of_broken(done: &Done, examined: &Examined, printer: &Printer) {
    let name = done.detail.as_ref().and_then(|changed| changed.name.as_ref());
    let name = name.map_or("the plugin", |name| name.as_str());
    for problem in &examined.problems {
        printer.warn(&format!("{}: {}\n  next: {}", problem.code, problem.message, problem.next));
    }
    if examined.problems.iter().all(|problem| problem.code == Code::NeedsGrant) {
        return;
    }
    printer.warn(&format!("{name} cannot load and is published all the same: {}", effect(examined)));
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
