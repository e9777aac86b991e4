//! `hermes plugins rollback`: back to an earlier set of plugins.

use clap::Args;

use super::change::{self, Done};
use crate::cli::Global;
use crate::printer::Printer;
use crate::report::Report;

/// Return to an earlier generation of plugins
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes plugins rollback            the one the current was made from\n  \
                        hermes plugins rollback --to 3")]
pub(crate) struct RollbackArgs {
    /// The generation; 0 is the one inside hermes.
    #[arg(long, value_name = "N")]
    to: Option<u64>,
}

pub(crate) fn run(args: &RollbackArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    change::make(global, printer, |editor| {
        let generation = editor.rollback(args.to)?;
        let said = format!("returned to generation {} ({})", generation.number, generation.change);
        Ok(Done::new(said, generation))
    })
}
