//! `hermes plugins why`: the whole load pipeline of one plugin, step by step.

use clap::Args;
use hermes_model::exit;
use hermes_model::id::PluginName;
use hermes_plugins::examined::{CanaryResult, LogLine, Step};
use hermes_plugins::problem::Problem;
use hermes_plugins::registry::{self, Row, Serving, State, Why};
use serde::Serialize;

use super::rows;
use super::truth::{InHost, Shown, Truth, WhomArgs};
use crate::cli::Global;
use crate::place::Place;
use crate::printer::{Printer, Tone};
use crate::progress::Progress;
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
    #[command(flatten)]
    whom: WhomArgs,
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
    asked: &'static str,
    serving: Option<&'a Serving>,
    hosts: &'a [InHost],
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
    let truth = Truth::find(&place, args.whom, printer)?;
    truth.hosts.iter().filter_map(|host| host.message.as_deref()).for_each(|text| printer.warn(text));
    let why = {
        let _progress = Progress::start(printer, "loading the plugin");
        registry::examine(&place.home, &place.config, &place.cache_dir, &args.name)?
    };
    let told = truth.plugin(args.name.as_str());
    let (shown, why) = match (told, why) {
        (None, None) => return Err(truth.not_installed(&args.name)),
        // A host that has not taken up the newest generation yet does not know it.
        (None, Some(why)) => (Shown { row: why.row.clone(), hosts: Vec::new() }, Some(why)),
        (Some(shown), why) => (shown.clone(), why),
    };
    let about = About { shown, problems: problems(told, why.as_ref()), why, asked: truth.asked };
    let with_log = global.verbose > 0;
    if printer.is_json() {
        printer.document(&document(&about, with_log));
    } else {
        lines(&about, with_log, printer).iter().for_each(|line| printer.line(line));
    }
    Ok(exit::OK)
}

/// What is said of a plugin.
struct About {
    shown: Shown,
    /// How the pipeline goes here and now; none: it is only in a host any more.
    why: Option<Why>,
    problems: Vec<Problem>,
    asked: &'static str,
}

/// What the hosts say is wrong; and what is wrong here, where a host does not know it yet.
fn problems(told: Option<&Shown>, why: Option<&Why>) -> Vec<Problem> {
    let row = told.map(|shown| &shown.row);
    let of = |row: Option<&Row>| row.map(|row| row.problems.clone()).unwrap_or_default();
    match (row, why) {
        // The pipeline says more of a disabled one than a host, which does not load it.
        (Some(row), Some(why)) if row.problems.is_empty() => why.row.problems.clone(),
        (row, _) => of(row),
    }
}

fn document(about: &About, with_log: bool) -> Document<'_> {
    let why = about.why.as_ref();
    let row = &about.shown.row;
    Document {
        asked: about.asked,
        name: &row.name,
        version: row.version.as_deref(),
        digest: row.digest.as_deref(),
        state: row.state,
        serving: row.serving.as_ref(),
        hosts: &about.shown.hosts,
        problems: &about.problems,
        steps: why.map_or(&[], |why| why.steps.as_slice()),
        canaries: why.map_or(&[], |why| why.canaries.as_slice()),
        log: with_log.then(|| {
            let lines = why.map_or(&[][..], |why| why.log.as_slice());
            lines.iter().map(|(level, line)| LogDocument { level: level.as_str(), line }).collect()
        }),
    }
}

fn lines(about: &About, with_log: bool, printer: &Printer) -> Vec<String> {
    let width = table::width(printer);
    let row = &about.shown.row;
    let version = row.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let mut out = vec![format!("{}{version}: {}", printer.paint(Tone::Strong, &row.name), rows::state(row, printer))];
    if let Some(digest) = &row.digest {
        out.push(format!("  {digest}"));
    }
    if let Some(serving) = &row.serving {
        out.extend(table::paragraph("  ", "  ", &format!("version {} is still in force", serving.version), width));
        out.push(format!("  {}", serving.digest));
    }
    out.extend(about.shown.hosts.iter().map(|there| format!("  {} in host {}", there.state.word(), there.pid)));
    if !about.problems.is_empty() {
        out.push("Problems:".to_owned());
        out.extend(rows::problems(&about.problems, width));
    }
    let Some(why) = &about.why else { return out };
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
