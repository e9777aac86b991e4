//! The program: reads the command line, starts the log, runs the verb, ends with its code. Nothing is decided here.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test is a panic"))]

mod cli;
mod commands;
mod foreground;
mod host;
mod logging;
mod place;
mod printer;
mod progress;
mod report;
mod table;
mod usage;
mod view;

use std::process::ExitCode;

use cli::Cli;
use printer::Printer;

fn main() -> ExitCode {
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(error) => return usage::explain(&error),
    };
    let printer = Printer::new(&cli.global);
    logging::start(&cli.global, &printer);
    let code = match commands::run(&cli, &printer) {
        Ok(code) => code,
        Err(report) => {
            printer.report(&report);
            report.code()
        }
    };
    printer.finish(code)
}
