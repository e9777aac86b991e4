//! The verbs, one a file. Each returns the exit code, or a report of what went wrong.

pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod plugins;
pub(crate) mod redact;
pub(crate) mod run;

use crate::cli::{Cli, Verb};
use crate::printer::Printer;
use crate::report::Report;

/// Runs the verb of a command line.
pub(crate) fn run(cli: &Cli, printer: &Printer) -> Result<i32, Report> {
    let global = &cli.global;
    match &cli.verb {
        Verb::Run(args) => run::run(args, global, printer),
        Verb::Redact(args) => redact::run(args, global, printer),
        Verb::Plugins(verb) => plugins::run(verb, global, printer),
        Verb::Doctor(args) => doctor::run(args, global, printer),
        Verb::Completions(args) => completions::run(args, printer),
    }
}
