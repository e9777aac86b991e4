//! `hermes plugins disable`.

use clap::Args;
use hermes_model::id::PluginName;

use super::change::{self, Done};
use crate::cli::Global;
use crate::printer::Printer;
use crate::report::Report;

/// Take a plugin out of force, and keep it installed
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes plugins disable summarize-output")]
pub(crate) struct DisableArgs {
    /// The plugin.
    name: PluginName,
}

pub(crate) fn run(args: &DisableArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    change::make(global, printer, |editor| {
        let generation = editor.disable(&args.name)?;
        Ok(Done::new(format!("disabled {}", args.name), generation))
    })
}
