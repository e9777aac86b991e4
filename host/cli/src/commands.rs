//! The verbs, one a file. Each returns the exit code, or a report of what went wrong.

pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod kill;
pub(crate) mod logs;
pub(crate) mod mcp;
pub(crate) mod plugins;
pub(crate) mod ps;
pub(crate) mod redact;
pub(crate) mod run;
pub(crate) mod send;
pub(crate) mod serve;
pub(crate) mod wait;

use crate::cli::{Cli, Verb};
use crate::printer::Printer;
use crate::report::Report;

/// Runs the verb of a command line.
pub(crate) fn run(cli: &Cli, printer: &Printer) -> Result<i32, Report> {
    let global = &cli.global;
    match &cli.verb {
        Verb::Run(args) => run::run(args, global, printer),
        Verb::Ps(args) => ps::run(args, global, printer),
        Verb::Logs(args) => logs::run(args, global, printer),
        Verb::Wait(args) => wait::run(args, global, printer),
        Verb::Kill(args) => kill::run(args, global, printer),
        Verb::Send(args) => send::run(args, global, printer),
        Verb::Events(args) => events::run(args, global, printer),
        Verb::Serve(args) => serve::run(args, global, printer),
        Verb::Redact(args) => redact::run(args, global, printer),
        Verb::Plugins(verb) => plugins::run(verb, global, printer),
        Verb::Mcp(verb) => mcp::run(verb, global, printer),
        Verb::Doctor(args) => doctor::run(args, global, printer),
        Verb::Completions(args) => completions::run(args, printer),
    }
}
