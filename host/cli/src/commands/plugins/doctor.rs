//! `hermes plugins doctor`: the same checks as `hermes doctor`, where people look for them.

use clap::Args;

use crate::cli::Global;
use crate::commands::doctor as whole;
use crate::printer::Printer;
use crate::report::Report;

/// Check the home, its plugins and this machine
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hermes plugins doctor\n\nExits with 1 if a check fails. The same as `hermes doctor`."
)]
pub(crate) struct DoctorArgs {}

pub(crate) fn run(_: &DoctorArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    whole::check(global, printer)
}
