//! `hermes plugins build`: makes a component of a plugin's project, in any of its languages.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use hermes_model::exit;
use hermes_model::status::Status;
use hermes_output::visible::Visible;
use hermes_plugins::author;
use hermes_plugins::project::{self, Step};
use hermes_plugins::registry::Depth;
use hermes_process::spec::{CommandSpec, Program};
use serde::Serialize;

use crate::cli::Global;
use crate::foreground::{self, Finished, Reader, follow};
use crate::place::Place;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::report::Report;
use crate::view::Desk;

/// What Rust plugins are built for.
const TARGET: &str = "wasm32-wasip2";
/// What rustc and cargo say where the target is not installed.
const TARGET_MISSING: &str = "may not be installed";
/// How much of the end of a build's output is shown when it fails: its errors stand there.
const SHOWN_MAX: usize = 64 * 1024;

/// Make a component of a plugin's project
///
/// Installs the compiler of its language in the project's folder where it is not there yet: from npm for JavaScript,
/// from PyPI for Python and C. Rust must be there.
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes plugins build\n  hermes plugins build ./my-rule")]
pub(crate) struct BuildArgs {
    /// A plugin's folder.
    #[arg(value_name = "DIR", default_value = ".")]
    path: PathBuf,
}

#[derive(Serialize)]
struct Document {
    folder: String,
    component: String,
    bytes: u64,
}

pub(crate) fn run(args: &BuildArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    if let Some(code) = build(&args.path, global, printer)? {
        return Ok(code);
    }
    let component = author::read_source(&args.path)?.component;
    let bytes = component.metadata().map(|found| found.len()).unwrap_or_default();
    let (folder, shown) = (args.path.display().to_string(), component.display().to_string());
    if printer.is_json() {
        printer.document(&Document { folder, component: shown, bytes });
    } else {
        printer.line(&format!("built {shown} ({} KiB)", bytes.div_ceil(1024)));
        printer.confirm("Next:");
        printer.confirm(&format!("  hermes plugins test {folder}       shows it its canaries and cases"));
        printer.confirm(&format!("  hermes plugins install {folder}    puts it in force"));
    }
    Ok(exit::OK)
}

/// Builds a project. What the compilers print is the output of commands like any other, and goes through the policy.
/// An exit code: it was stopped, and there is nothing to say.
pub(crate) fn build(folder: &Path, global: &Global, printer: &Printer) -> Result<Option<i32>, Report> {
    let steps = project::steps(folder)?;
    let place = Place::find(global)?;
    let plugins = place.open(Depth::Enabled, printer)?;
    for step in &steps {
        let mut spec = CommandSpec {
            cwd: Some(folder.to_owned()),
            term_grace: place.config.terminal.term_grace,
            ..CommandSpec::new(Program::Exec { program: step.program.clone(), args: step.args.clone() })
        };
        for (name, value) in &step.environment {
            spec.environment.set(name, value);
        }
        let desk = Desk::new(plugins.policy(), &spec.environment);
        let shown = Arc::new(Mutex::new(VecDeque::new()));
        let progress = Progress::start(printer, &step.title);
        let finished = foreground::run(spec, Some(reader(desk, Arc::clone(&shown))))
            .map_err(|error| Report::from(error).exits(exit::FAILED).hint(step.missing));
        drop(progress);
        let finished = finished?;
        match &finished.ended.status {
            Status::Exited(0) => {}
            Status::Stopped(_) => return Ok(Some(finished.exit_code())),
            _ => {
                let shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
                return Err(not_built(folder, step, &finished, &shown, printer));
            }
        }
    }
    project::finish(folder)?;
    Ok(None)
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

fn not_built(folder: &Path, step: &Step, finished: &Finished, shown: &VecDeque<Visible>, printer: &Printer) -> Report {
    shown.iter().for_each(|text| printer.show_on_stderr(text));
    let shown: String = shown.iter().map(Visible::as_str).collect();
    let program = Path::new(&step.program).file_name().unwrap_or(&step.program).to_string_lossy().into_owned();
    let code = finished.ended.status.exit_code().map(|code| format!(" ({program}: exit {code})")).unwrap_or_default();
    let report = Report::new(format!("'{}' does not build{code}", folder.display()));
    if shown.contains(TARGET) && shown.contains(TARGET_MISSING) {
        report.hint(format!("`rustup target add {TARGET}` installs what plugins are built for"))
    } else {
        report.hint("the compiler's words are above")
    }
}
