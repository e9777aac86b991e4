//! `hermes plugins update`: what the sources of the plugins hold now, put in place of what is installed.

use clap::Args;
use hermes_model::exit;
use hermes_model::id::PluginName;
use hermes_plugins::change::Editor;
use hermes_plugins::change::update::{Build, Look, Updated};
use hermes_plugins::problem::Problem;
use hermes_plugins::registry::store_of;
use serde::Serialize;

use super::change::Told;
use crate::cli::Global;
use crate::host::plugins::HostRow;
use crate::place::Place;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::report::Report;
use crate::table;

/// Install what the sources of the plugins hold now
///
/// A plugin whose source holds the same file is left alone. A new version that cannot load is refused, and the one in
/// force stays. What cannot be known is said to be unknown, never to be up to date.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hermes plugins update --check           what there is, without changing anything\n  \
                        hermes plugins update my-rule\n  hermes plugins update                   all of them"
)]
pub(crate) struct UpdateArgs {
    /// The plugins; all of them if none is named.
    #[arg(value_name = "NAME")]
    names: Vec<PluginName>,
    /// Say what there is, and change nothing.
    #[arg(long, visible_alias = "dry-run")]
    check: bool,
}

/// What `--json` prints of one plugin.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    look: &'a Look,
    updated: bool,
    refused: Option<String>,
    problems: &'a [Problem],
}

#[derive(Serialize)]
struct Document<'a> {
    changed: bool,
    home: String,
    generation: u64,
    previous: u64,
    plugins: Vec<Row<'a>>,
    hosts: &'a [HostRow],
}

pub(crate) fn run(args: &UpdateArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    let place = Place::find(global)?;
    let editor = place.editor()?;
    let before = store_of(&place.home).current()?.number;
    let done = {
        let _progress = Progress::start(printer, "looking at the sources");
        looked_or_updated(args, &editor)?
    };
    let after = done.iter().filter_map(|row| row.changed.as_ref()).map(|changed| changed.generation.number).max();
    // A look is nobody else's business.
    let told = after.map(|_| Told::tell(&place, printer));
    if printer.is_json() {
        printer.document(&Document {
            changed: after.is_some(),
            home: place.home.root().display().to_string(),
            generation: after.unwrap_or(before),
            previous: before,
            plugins: done.iter().map(row).collect(),
            hosts: told.as_ref().map(|told| told.hosts.as_slice()).unwrap_or_default(),
        });
    } else {
        rows(&done, table::width(printer)).iter().for_each(|line| printer.line(line));
        said(&done, args.check, printer);
        if let Some(after) = after {
            let home = place.home.root().display();
            let back = format!("`hermes plugins rollback --to {before}` returns to generation {before}");
            printer.confirm(&format!("generation {after}, home {home}; {back}"));
        }
        if let Some(told) = &told {
            told.say(printer);
        }
    }
    let refused = done.iter().any(|row| row.refused.is_some());
    Ok(if refused && !args.check { exit::FAILED } else { exit::OK })
}

fn looked_or_updated(args: &UpdateArgs, editor: &Editor<'_>) -> Result<Vec<Updated>, Report> {
    if !args.check {
        return Ok(editor.update(&args.names)?);
    }
    let looks = editor.look(&args.names)?.into_iter();
    Ok(looks.map(|look| Updated { look, changed: None, refused: None }).collect())
}

fn row(done: &Updated) -> Row<'_> {
    let refusal = done.refused.as_ref();
    Row {
        look: &done.look,
        updated: done.changed.is_some(),
        refused: refusal.map(|error| Report::of(error).sentence()),
        problems: problems(done),
    }
}

/// Why an update was refused, or what the new version waits for.
fn problems(done: &Updated) -> &[Problem] {
    let examined = done.changed.as_ref().and_then(|changed| changed.examined.as_ref());
    match (&done.refused, examined) {
        (Some(hermes_plugins::change::EditError::Broken { problems, .. }), _) => problems,
        (_, Some(examined)) => &examined.problems,
        _ => &[],
    }
}

/// The table, with a reason below its row.
fn rows(done: &[Updated], width: usize) -> Vec<String> {
    let cells: Vec<Vec<String>> = done
        .iter()
        .map(|row| {
            let look = &row.look;
            let available = look.available.as_ref().map_or_else(|| "?".to_owned(), build);
            vec![look.name.to_string(), build(&look.current), available, word(row).to_owned()]
        })
        .collect();
    let mut lines = table::lines(&["NAME", "INSTALLED", "AVAILABLE", "UPDATE"], &cells).into_iter();
    let mut out: Vec<String> = lines.next().into_iter().collect();
    for (row, line) in done.iter().zip(lines) {
        out.push(line);
        if let Some(reason) = &row.look.reason {
            out.extend(table::paragraph("  ", "    ", reason, width));
        }
    }
    out
}

/// Whether there is an update, or what became of it.
fn word(row: &Updated) -> &'static str {
    match (&row.changed, &row.refused, row.look.update) {
        (Some(_), _, _) => "updated",
        (_, Some(_), _) => "refused",
        (_, _, Some(true)) => "yes",
        (_, _, Some(false)) => "no",
        (_, _, None) => "unknown",
    }
}

/// A version and enough of the digest to tell two builds of it apart.
fn build(build: &Build) -> String {
    let version = build.version.as_deref().unwrap_or("?");
    build.digest.map_or_else(|| version.to_owned(), |digest| format!("{version} ({})", digest.short()))
}

/// What was refused and why, and what waits for a permission.
fn said(done: &[Updated], check: bool, printer: &Printer) {
    for row in done {
        if let Some(error) = &row.refused {
            printer.warn(&format!("{}: {}; it stays as it was", row.look.name, Report::of(error).sentence()));
        }
        for problem in problems(row) {
            printer
                .warn(&format!("{}: {}: {}\n  next: {}", row.look.name, problem.code, problem.message, problem.next));
        }
    }
    let waiting = done.iter().filter(|row| row.look.update == Some(true) && row.changed.is_none()).count();
    if check && waiting > 0 {
        printer.confirm(&format!("{waiting} can be updated: `hermes plugins update`"));
    } else if done.iter().all(|row| row.changed.is_none() && row.refused.is_none()) {
        printer.confirm("nothing to change");
    }
}
