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

use std::ffi::CStr;
use std::os::fd::AsFd;

use cli::Cli;
use hermes_process::guardian::Fallback;
use printer::Printer;

/// The first argument by which this program is told to be nothing but the supervisor of a host. Not a verb: nobody is
/// meant to type it.
const SUPERVISOR_ROLE: &CStr = c"__supervisor";
/// Who ends what a host started, where the program for it is not installed beside this one.
const SUPERVISOR: Fallback = Fallback::Itself(SUPERVISOR_ROLE);

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|role| role.as_encoded_bytes() == SUPERVISOR_ROLE.to_bytes()) {
        return hermes_supervisor::role::run(std::io::stdin().as_fd());
    }
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
