//! `hermes plugins test`: builds a plugin's project, then shows the plugin what its manifest and its cases promise.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use hermes_home::cache;
use hermes_model::exit;
use hermes_plugins::lab::costs::{Budget, Measure};
use hermes_plugins::lab::{self, About, Case, LabError, TestOptions, TestReport};
use hermes_plugins::project;

use super::build;
use super::why::{log_lines, mark};
use crate::cli::Global;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::report::Report;
use crate::table;

/// Build a plugin and test it: its canaries and cases, every chunking, every order, what it costs
///
/// A project's folder is built first, as `hermes plugins build` does. Cases are the lines of cases/*.jsonl in it. With -v
/// also what the plugin logged, and each case that held.
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes plugins test\n  hermes plugins test ./my-rule\n  \
                        hermes plugins test my-rule-0.1.0.wasm\n  \
                        hermes plugins test --update    takes today's answers as what the cases expect\n\n\
                        Exits with 1 if a case fails, or if a cost is at 80 % of its limit.")]
pub(crate) struct TestArgs {
    /// A plugin's folder, or a .wasm file.
    #[arg(value_name = "PATH", default_value = ".")]
    path: PathBuf,
    /// Write what the plugin answers now into the cases that expect something else.
    #[arg(long)]
    update: bool,
    /// Ask the cases in the random orders of an earlier run.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
}

pub(crate) fn run(args: &TestArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    if project::language_of(&args.path).is_some()
        && let Some(code) = build::build(&args.path, global, printer)?
    {
        return Ok(code);
    }
    let seed = args.seed.unwrap_or_else(seed);
    let report = test(&args.path, TestOptions { seed, update: args.update }, printer)?;
    if printer.is_json() {
        printer.document(&report);
    } else {
        show(&report, global.verbose > 0, printer);
    }
    Ok(if report.ok() { exit::OK } else { exit::FAILED })
}

/// Tests what was built.
pub(super) fn test(path: &Path, options: TestOptions, printer: &Printer) -> Result<TestReport, LabError> {
    let _progress = Progress::start(printer, "testing the plugin");
    lab::test(path, &cache::dir(), options)
}

/// Another one each time, in few digits: somebody may have to type it.
pub(super) fn seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(now.subsec_micros())
}

/// Prints a report for a person.
pub(super) fn show(report: &TestReport, verbose: bool, printer: &Printer) {
    lines(report, verbose, printer).iter().for_each(|line| printer.line(line));
    if verbose {
        printer.line("Log:");
        log_lines(&report.log).iter().for_each(|line| printer.line(line));
    }
}

fn lines(report: &TestReport, verbose: bool, printer: &Printer) -> Vec<String> {
    let width = table::width(printer);
    let mut out = Vec::new();
    for cases in report.cases.chunk_by(|a, b| is_one_of_many(a) && is_one_of_many(b) && a.file == b.file) {
        match (cases, &cases[0].file) {
            // Many that held are one line; whoever wants to see each asks for more words.
            ([_, _, ..], Some(file)) if !verbose && cases.len() > 3 => {
                out.push(format!("{} {} cases of {file}", mark(true, printer), cases.len()));
            }
            // What held of the limits stands in the table.
            _ => out.extend(
                cases
                    .iter()
                    .filter(|case| !case.ok || case.about != About::Budget)
                    .flat_map(|case| case_lines(case, width, printer)),
            ),
        }
    }
    out.push(String::new());
    out.extend(costs(&report.budget, printer));
    let failed = report.cases.iter().filter(|case| !case.ok).count();
    let name = report.name.as_deref().unwrap_or("the plugin");
    let what = match failed {
        0 => "all well".to_owned(),
        _ => format!("{failed} failed"),
    };
    out.push(format!("{name}: {} cases, {what} (seed {})", report.cases.len(), report.seed));
    if report.updated > 0 {
        out.push(format!("  {} cases expect something else now: look at them before you commit", report.updated));
    }
    out
}

/// A golden case that held, with nothing to say.
fn is_one_of_many(case: &Case) -> bool {
    case.ok && case.about == About::Golden && case.message.is_none()
}

fn case_lines(case: &Case, width: usize, printer: &Printer) -> Vec<String> {
    let place = match (&case.file, case.line) {
        (Some(file), Some(line)) if !case.ok => format!(" ({file}:{line})"),
        _ => String::new(),
    };
    let mut out = vec![format!("{} {}{place}", mark(case.ok, printer), case.name)];
    if let Some(message) = &case.message {
        out.extend(table::paragraph("       ", "       ", message, width));
    }
    out.extend(case.difference.iter().map(|line| format!("         {line}")));
    out
}

/// What the plugin costs, each figure beside its limit.
fn costs(budget: &Budget, printer: &Printer) -> Vec<String> {
    if budget.limits.is_empty() {
        return Vec::new();
    }
    let row = |measure: &Measure| {
        let (used, limit) = match (measure.used, measure.limit) {
            (Some(used), limit) => (measure.unit.show(used), limit.map(|limit| measure.unit.show(limit))),
            (None, limit) => (measure.ended.unwrap_or("?").to_owned(), limit.map(|limit| measure.unit.show(limit))),
        };
        let verdict = match (measure.percent(), measure.ok) {
            _ if limit.is_none() => String::new(),
            (Some(percent), true) => format!("ok, {percent:.0} %"),
            (Some(percent), false) => format!("too near, {percent:.0} %"),
            (None, _) => "ended".to_owned(),
        };
        vec![measure.name.to_owned(), used, limit.unwrap_or_else(|| "none".to_owned()), verdict]
    };
    let rows: Vec<Vec<String>> = budget.limits.iter().map(row).collect();
    let mut out = table::lines(&["COST", "MOST", "LIMIT", ""], &rows);
    let bad = budget.limits.iter().filter(|measure| !measure.ok).map(|measure| measure.name);
    for name in bad {
        if let Some(line) = out.iter_mut().find(|line| line.starts_with(name)) {
            *line = printer.paint(crate::printer::Tone::Bad, line);
        }
    }
    let speed = budget.mb_per_s.map(|speed| format!("{speed:.1} MB/s over a MiB of its cases"));
    let cold = budget.cold_ms.map(|ms| format!("{ms:.0} ms from the file to the first answer"));
    let beside: Vec<String> = [cold, speed].into_iter().flatten().collect();
    if !beside.is_empty() {
        out.push(beside.join(", "));
    }
    out.push(String::new());
    out
}
