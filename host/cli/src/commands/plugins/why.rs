//! `hermes plugins why`: the whole load pipeline of one plugin, step by step.

use clap::Args;
use hermes_model::exit;
use hermes_model::id::PluginName;
use hermes_plugins::examined::{CanaryResult, LogLine, Step};
use hermes_plugins::problem::Problem;
use hermes_plugins::registry::{Depth, State, Why};
use serde::Serialize;

use super::rows;
use crate::cli::Global;
use crate::place::Place;
use crate::printer::{Printer, Tone};
use crate::report::Report;
use crate::table;

/// Say why a plugin is in force or is not
///
/// With -v also what the plugin logged while it was tried on its own canaries.
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes plugins why redact-secrets\n  hermes plugins why redact-secrets -v")]
pub(crate) struct WhyArgs {
    /// The plugin.
    name: PluginName,
}

#[derive(Serialize)]
struct Document<'a> {
    name: &'a str,
    version: Option<&'a str>,
    digest: Option<&'a str>,
    state: State,
    problems: &'a [Problem],
    steps: &'a [Step],
    canaries: &'a [CanaryResult],
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<Vec<LogDocument<'a>>>,
}

#[derive(Serialize)]
struct LogDocument<'a> {
    level: &'static str,
    line: &'a str,
}

pub(crate) fn run(args: &WhyArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    let place = Place::find(global)?;
    let plugins = place.open(Depth::All, printer)?;
    let why = plugins.why(&args.name).ok_or_else(|| rows::not_installed(&args.name, &plugins))?;
    let with_log = global.verbose > 0;
    if printer.is_json() {
        printer.document(&document(&why, with_log));
    } else {
        lines(&why, with_log, printer).iter().for_each(|line| printer.line(line));
    }
    Ok(exit::OK)
}

fn document(why: &Why, with_log: bool) -> Document<'_> {
    let log = || why.log.iter().map(|(level, line)| LogDocument { level: level.as_str(), line }).collect();
    Document {
        name: &why.row.name,
        version: why.row.version.as_deref(),
        digest: why.row.digest.as_deref(),
        state: why.row.state,
        problems: &why.row.problems,
        steps: &why.steps,
        canaries: &why.canaries,
        log: with_log.then(log),
    }
}

fn lines(why: &Why, with_log: bool, printer: &Printer) -> Vec<String> {
    let width = table::width(printer);
    let row = &why.row;
    let version = row.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let mut out = vec![format!("{}{version}: {}", printer.paint(Tone::Strong, &row.name), rows::state(row, printer))];
    if let Some(digest) = &row.digest {
        out.push(format!("  {digest}"));
    }
    if !row.problems.is_empty() {
        out.push("Problems:".to_owned());
        out.extend(rows::problems(&row.problems, width));
    }
    if !why.steps.is_empty() {
        out.push("Steps:".to_owned());
        out.extend(steps(&why.steps, printer));
    }
    if !why.canaries.is_empty() {
        out.push("Canaries:".to_owned());
        out.extend(why.canaries.iter().flat_map(|canary| canary_lines(canary, width, printer)));
    }
    if with_log {
        out.push("Log of the trial:".to_owned());
        out.extend(log_lines(&why.log));
    }
    out
}

fn steps(steps: &[Step], printer: &Printer) -> Vec<String> {
    let widest = steps.iter().map(|step| step.step.len()).max().unwrap_or(0);
    let line = |step: &Step| format!("  {} {:widest$}  {:.1} ms", mark(step.ok, printer), step.step, step.ms);
    steps.iter().map(line).collect()
}

fn canary_lines(canary: &CanaryResult, width: usize, printer: &Printer) -> Vec<String> {
    let mut out = vec![format!("  {} {}", mark(canary.ok, printer), canary.name)];
    if !canary.ok {
        out.extend(table::paragraph("       expected: ", "         ", &canary.expected, width));
        out.extend(table::paragraph("       got:      ", "         ", &canary.got, width));
    }
    out
}

/// What a plugin logged, for its author. Control characters are the printer's business.
pub(super) fn log_lines(log: &[LogLine]) -> Vec<String> {
    if log.is_empty() {
        return vec!["  (nothing)".to_owned()];
    }
    log.iter().map(|(level, line)| format!("  {level:5} {}", line.replace('\n', "\n        "))).collect()
}

/// `ok` or `bad`, in its colour and as wide as the other.
pub(super) fn mark(ok: bool, printer: &Printer) -> String {
    if ok { printer.paint(Tone::Good, "ok  ") } else { printer.paint(Tone::Bad, "fail") }
}
