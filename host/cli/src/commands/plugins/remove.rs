//! `hermes plugins remove`.

use clap::Args;
use hermes_model::id::PluginName;

use super::change::{self, Done};
use crate::cli::Global;
use crate::printer::Printer;
use crate::report::Report;

/// Remove a plugin
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes plugins remove summarize-output")]
pub(crate) struct RemoveArgs {
    /// The plugin.
    name: PluginName,
}

pub(crate) fn run(args: &RemoveArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    change::make(global, printer, |editor| {
        let generation = editor.remove(&args.name)?;
        Ok(Done::new(format!("removed {}", args.name), generation))
    })
}
