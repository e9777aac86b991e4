//! `hermes plugins check`: whether a plugin can load, without a home.

use std::path::PathBuf;

use clap::Args;
use hermes_home::cache;
use hermes_model::exit;
use hermes_plugins::lab::{self, CheckReport};

use super::rows;
use super::why::mark;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::report::Report;
use crate::table;

/// Say whether a plugin can load, and every reason why not
///
/// The same checks as `install`, without a home and without changing anything.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hermes plugins check my-rule-0.1.0.wasm\n  hermes plugins check ./my-rule --json\n\n\
                        Exits with 1 if the plugin cannot load."
)]
pub(crate) struct CheckArgs {
    /// A .wasm file or a plugin's folder.
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

pub(crate) fn run(args: &CheckArgs, printer: &Printer) -> Result<i32, Report> {
    let report = {
        let _progress = Progress::start(printer, "checking the plugin");
        lab::check(&args.path, &cache::dir())?
    };
    if printer.is_json() {
        printer.document(&report);
    } else {
        lines(&report, &args.path.display().to_string(), printer).iter().for_each(|line| printer.line(line));
    }
    Ok(if report.ok { exit::OK } else { exit::FAILED })
}

fn lines(report: &CheckReport, path: &str, printer: &Printer) -> Vec<String> {
    let name = report.name.as_deref().unwrap_or(path);
    let version = report.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let verdict = if report.ok { "can load" } else { "cannot load" };
    let mut out = vec![format!("{} {name}{version} {verdict}", mark(report.ok, printer))];
    let hooks: Vec<&str> = report.hooks.iter().map(|hook| hook.name()).collect();
    let version = |version: &Option<String>| version.clone().unwrap_or_else(|| "none".to_owned());
    if !hooks.is_empty() {
        out.push(format!("  hooks: {}", hooks.join(", ")));
        out.push(format!("  contract: hook {}, host {}", version(&report.api.hook), version(&report.api.host)));
    }
    out.extend(rows::problems(&report.problems, table::width(printer)));
    out
}
