//! `hermes plugins test`: builds a plugin's project, then shows the plugin what its manifest promises.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use hermes_home::cache;
use hermes_model::exit;
use hermes_model::status::Status;
use hermes_output::visible::Visible;
use hermes_plugins::lab::{self, Budget, Case, TestReport};
use hermes_plugins::registry::Depth;
use hermes_process::spec::{CommandSpec, Program};

use super::why::{log_lines, mark};
use crate::cli::Global;
use crate::foreground::{self, Finished, Reader, follow};
use crate::place::Place;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::report::Report;
use crate::table;
use crate::view::Desk;

/// What plugins are built for.
const TARGET: &str = "wasm32-wasip2";
/// What rustc and cargo say where the target is not installed.
const TARGET_MISSING: &str = "may not be installed";
/// How much of the end of a build's output is shown when it fails: its errors stand there.
const SHOWN_MAX: usize = 64 * 1024;

/// Build a plugin and test it: its canaries, every chunking, what it costs
///
/// A folder with a Cargo.toml is built first, by cargo, for wasm32-wasip2. With -v also what the plugin logged.
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes plugins test\n  hermes plugins test ./my-rule\n  \
                        hermes plugins test my-rule-0.1.0.wasm\n\nExits with 1 if a case fails.")]
pub(crate) struct TestArgs {
    /// A plugin's folder, or a .wasm file.
    #[arg(value_name = "PATH", default_value = ".")]
    path: PathBuf,
}

pub(crate) fn run(args: &TestArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    if args.path.join("Cargo.toml").is_file()
        && let Some(code) = build(&args.path, global, printer)?
    {
        return Ok(code);
    }
    let report = {
        let _progress = Progress::start(printer, "testing the plugin");
        lab::test(&args.path, &cache::dir())?
    };
    if printer.is_json() {
        printer.document(&report);
    } else {
        lines(&report, printer).iter().for_each(|line| printer.line(line));
        if global.verbose > 0 {
            printer.line("Log:");
            log_lines(&report.log).iter().for_each(|line| printer.line(line));
        }
    }
    Ok(if report.ok() { exit::OK } else { exit::FAILED })
}

/// Builds a project. What the compiler prints is the output of a command like any other, and goes through the policy.
/// An exit code: it was stopped, and there is nothing to say.
fn build(folder: &Path, global: &Global, printer: &Printer) -> Result<Option<i32>, Report> {
    let place = Place::find(global)?;
    let plugins = place.open(Depth::Enabled, printer)?;
    let args = ["build", "--release", "--target", TARGET, "--target-dir", "target"].map(Into::into).to_vec();
    let spec = CommandSpec {
        cwd: Some(folder.to_owned()),
        term_grace: place.config.terminal.term_grace,
        ..CommandSpec::new(Program::Exec { program: "cargo".into(), args })
    };
    let desk = Desk::new(plugins.policy(), &spec.environment);
    let shown = Arc::new(Mutex::new(VecDeque::new()));
    let progress = Progress::start(printer, "building (cargo build --release --target wasm32-wasip2)");
    let finished = foreground::run(spec, Some(reader(desk, Arc::clone(&shown)))).map_err(|error| {
        let report = Report::from(error).exits(exit::FAILED);
        report.hint("building needs Rust (https://rustup.rs); a component that is built already is tested by its path")
    });
    drop(progress);
    let finished = finished?;
    match &finished.ended.status {
        Status::Exited(0) => Ok(None),
        Status::Stopped(_) => Ok(Some(finished.exit_code())),
        _ => {
            let shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            Err(not_built(folder, &finished, &shown, printer))
        }
    }
}

/// Keeps the end of what the build prints.
fn reader(desk: Desk, shown: Arc<Mutex<VecDeque<Visible>>>) -> Reader {
    Box::new(move |_, chunks| {
        follow::follow(&desk, chunks, |text| {
            let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            shown.push_back(text.clone());
            while shown.len() > 1 && shown.iter().map(Visible::len).sum::<usize>() > SHOWN_MAX {
                shown.pop_front();
            }
            io::Result::Ok(())
        })
    })
}

fn not_built(folder: &Path, finished: &Finished, shown: &VecDeque<Visible>, printer: &Printer) -> Report {
    shown.iter().for_each(|text| printer.show_on_stderr(text));
    let shown: String = shown.iter().map(Visible::as_str).collect();
    let code = finished.ended.status.exit_code().map(|code| format!(" (cargo: exit {code})")).unwrap_or_default();
    let report = Report::new(format!("'{}' does not build{code}", folder.display()));
    if shown.contains(TARGET) && shown.contains(TARGET_MISSING) {
        report.hint(format!("`rustup target add {TARGET}` installs what plugins are built for"))
    } else {
        report.hint("the compiler's words are above")
    }
}

fn lines(report: &TestReport, printer: &Printer) -> Vec<String> {
    let width = table::width(printer);
    let mut out: Vec<String> = report.cases.iter().flat_map(|case| case_lines(case, width, printer)).collect();
    let failed = report.cases.iter().filter(|case| !case.ok).count();
    out.push(String::new());
    let name = report.name.as_deref().unwrap_or("the plugin");
    out.push(match failed {
        0 => format!("{name}: {} cases, all well", report.cases.len()),
        _ => format!("{name}: {} cases, {failed} failed", report.cases.len()),
    });
    let costs = costs(&report.budget);
    if !costs.is_empty() {
        out.extend(table::paragraph("  cost: ", "    ", &costs.join(", "), width));
    }
    out
}

fn case_lines(case: &Case, width: usize, printer: &Printer) -> Vec<String> {
    let mut out = vec![format!("{} {}", mark(case.ok, printer), case.name)];
    if let Some(message) = &case.message {
        out.extend(table::paragraph("       ", "       ", message, width));
    }
    out
}

/// What is known of a plugin's costs.
fn costs(budget: &Budget) -> Vec<String> {
    let known = [
        budget.warm_us.map(|us| format!("{us:.1} \u{b5}s a call when warm")),
        budget.cold_ms.map(|ms| format!("{ms:.1} ms from the file to the first answer")),
        budget.fuel_per_byte.map(|fuel| format!("{fuel:.1} instructions a byte")),
        budget.peak_memory.map(|bytes| format!("{} KiB of memory", bytes / 1024)),
        budget.expansion.map(|ratio| format!("{ratio:.2} times the text returned")),
        budget.host_calls.map(|calls| format!("{calls} host calls")),
    ];
    known.into_iter().flatten().collect()
}
