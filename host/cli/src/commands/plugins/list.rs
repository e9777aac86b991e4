//! `hermes plugins list`: every plugin with the truth about it, from the hosts that run or, where none does, from the disk.

use clap::Args;
use hermes_model::exit;
use hermes_plugins::registry::State;
use serde::Serialize;

use super::rows;
use super::truth::{InHost, Shown, Truth, WhomArgs};
use crate::cli::Global;
use crate::host::plugins::HostRow;
use crate::place::Place;
use crate::printer::{Printer, Tone};
use crate::report::Report;
use crate::table;

/// How wide the list is that no terminal limits.
const WIDTH: usize = 80;

/// List the plugins, with what is not in force and why
///
/// A host that runs says what is in force in it, with the calls since it loaded each. Where none runs, each enabled plugin
/// is looked at as a host would that starts now; one that showed its canaries before and was not touched since is believed.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hermes plugins list\n  hermes plugins list --strict    in a script: exit 1 if one is not loaded\n  \
                        hermes plugins list --disk      what a host that starts now would have\n  \
                        hermes plugins list --json"
)]
pub(crate) struct ListArgs {
    /// Exit with 1 if an enabled plugin is not loaded.
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    whom: WhomArgs,
}

#[derive(Serialize)]
struct Document<'a> {
    home: String,
    generation: u64,
    asked: &'static str,
    plugins: &'a [Shown],
    hosts: &'a [HostRow],
}

pub(crate) fn run(args: &ListArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    let place = Place::find(global)?;
    let truth = Truth::find(&place, args.whom, printer)?;
    let home = place.home.root().display().to_string();
    if printer.is_json() {
        let Truth { generation, asked, plugins, hosts, .. } = &truth;
        printer.document(&Document { home, generation: *generation, asked, plugins, hosts });
    } else {
        print(&truth, &place, printer);
    }
    let loaded = truth.plugins.iter().all(|shown| {
        !shown.row.enabled
            || shown.row.state == State::Loaded && shown.hosts.iter().all(|there| there.state == State::Loaded)
    });
    let well = loaded && truth.withheld.is_empty() && truth.hosts.iter().all(|host| host.ok);
    Ok(if args.strict && !well { exit::FAILED } else { exit::OK })
}

fn print(truth: &Truth, place: &Place, printer: &Printer) {
    let width = if printer.has_terminal() { table::width(printer) } else { WIDTH };
    let rows = truth.rows();
    if rows.is_empty() {
        printer.line("No plugins are installed.");
    } else {
        rows::listed(&rows, width, printer).iter().for_each(|line| printer.line(line));
    }
    let grouped = rows::grouped(&rows, width, printer);
    if !grouped.is_empty() {
        printer.line("");
        grouped.iter().for_each(|line| printer.line(line));
    }
    let differing: Vec<String> = truth.plugins.iter().filter_map(differs).collect();
    if !differing.is_empty() {
        printer.line("");
        differing
            .iter()
            .flat_map(|text| table::paragraph("", "  ", text, width))
            .for_each(|line| printer.line(&printer.paint(Tone::Warning, &line)));
    }
    printer.line("");
    footer(truth, place, width).iter().for_each(|line| printer.line(&printer.paint(Tone::Faint, line)));
    let said = |tone: Tone, text: &str| {
        table::paragraph("", "  ", text, width).iter().for_each(|line| printer.line(&printer.paint(tone, line)));
    };
    truth.hosts.iter().filter_map(|host| host.message.as_deref()).for_each(|text| said(Tone::Warning, text));
    if truth.redactors == 0 && truth.withheld.is_empty() {
        said(Tone::Bad, "No redactor is in force: secrets are shown as they are");
    }
    for (name, code) in &truth.withheld {
        let next = match code.as_str() {
            "not-installed" => "install it: the policy requires it".to_owned(),
            _ => format!("see `hermes plugins why {name}`"),
        };
        said(Tone::Bad, &format!("All output is withheld now: {name} ({code}); {next}"));
    }
}

/// What is said of a plugin whose states in the hosts are not the same.
fn differs(shown: &Shown) -> Option<String> {
    let first = shown.hosts.first()?;
    if shown.hosts.iter().all(|there| (there.state, &there.version) == (first.state, &first.version)) {
        return None;
    }
    let words = |there: &InHost| match &there.version {
        Some(version) => format!("{} in host {} ({version} is in force)", there.state.word(), there.pid),
        None => format!("{} in host {}", there.state.word(), there.pid),
    };
    let states: Vec<String> = shown.hosts.iter().map(words).collect();
    Some(format!("{}: {}", shown.row.name, states.join(", ")))
}

/// Where this comes from, in lines that fit.
fn footer(truth: &Truth, place: &Place, width: usize) -> Vec<String> {
    let missing = if place.home.exists() { "" } else { ", not created yet" };
    let home = format!("home {} ({}{missing})", place.home.root().display(), place.home.origin());
    let hosts: Vec<String> = truth.hosts.iter().filter_map(|host| host.pid).map(|pid| pid.to_string()).collect();
    let asked = match (truth.asked, hosts.as_slice()) {
        ("host", [one]) => format!(", in force in host {one}"),
        ("host", several) => format!(", in force in hosts {}", several.join(", ")),
        _ => String::new(),
    };
    let whole = format!("generation {}{asked}, {home}", truth.generation);
    if whole.chars().count() <= width {
        return vec![whole];
    }
    let mut lines = table::paragraph("", "  ", &format!("generation {}{asked}", truth.generation), width);
    lines.push(rows::beginning(&home, width));
    lines
}
