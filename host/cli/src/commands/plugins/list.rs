//! `hermes plugins list`: every plugin with the truth about it, found by loading it.

use clap::Args;
use hermes_model::exit;
use hermes_plugins::registry::{Depth, Row, State};
use serde::Serialize;

use super::rows;
use crate::cli::Global;
use crate::place::Place;
use crate::printer::{Printer, Tone};
use crate::report::Report;
use crate::table;

/// List the plugins, with what is not in force and why
///
/// Each enabled plugin is loaded and shown its canaries, as a host would do.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hermes plugins list\n  hermes plugins list --strict    in a script: exit 1 if one is not loaded\n  \
                        hermes plugins list --json"
)]
pub(crate) struct ListArgs {
    /// Exit with 1 if an enabled plugin is not loaded.
    #[arg(long)]
    strict: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    home: String,
    generation: u64,
    asked: &'static str,
    plugins: &'a [Row],
}

pub(crate) fn run(args: &ListArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    let place = Place::find(global)?;
    let plugins = place.open(Depth::Enabled, printer)?;
    let rows = plugins.rows();
    let home = place.home.root().display().to_string();
    if printer.is_json() {
        printer.document(&Document { home, generation: plugins.generation(), asked: "disk", plugins: &rows });
    } else {
        if rows.is_empty() {
            printer.line("No plugins are installed.");
        } else {
            rows::listed(&rows, table::width(printer), printer).iter().for_each(|line| printer.line(line));
        }
        let missing = if place.home.exists() { "" } else { ", not created yet" };
        let footer = format!("generation {}, home {home} ({}{missing})", plugins.generation(), place.home.origin());
        printer.line("");
        printer.line(&printer.paint(Tone::Faint, &footer));
        if plugins.redactors() == 0 && plugins.withheld().is_empty() {
            let text = "No redactor is in force: secrets are shown as they are";
            printer.line(&printer.paint(Tone::Bad, text));
        }
        for (name, code) in plugins.withheld() {
            let next = match code.as_str() {
                "not-installed" => "install it: the policy requires it".to_owned(),
                _ => format!("see `hermes plugins why {name}`"),
            };
            let text = format!("All output is withheld now: {name} ({code}); {next}");
            printer.line(&printer.paint(Tone::Bad, &text));
        }
    }
    let loaded = rows.iter().all(|row| !row.enabled || row.state == State::Loaded);
    let well = loaded && plugins.withheld().is_empty();
    Ok(if args.strict && !well { exit::FAILED } else { exit::OK })
}
