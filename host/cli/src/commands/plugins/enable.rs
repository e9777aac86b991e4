//! `hermes plugins enable`: puts an installed plugin in force again, if it can load.

use clap::Args;
use hermes_model::id::PluginName;

use super::change::{self, Done};
use crate::cli::Global;
use crate::printer::Printer;
use crate::report::Report;

/// Put a plugin in force, and end its quarantine
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes plugins enable summarize-output")]
pub(crate) struct EnableArgs {
    /// The plugin.
    name: PluginName,
    /// Enable it although it cannot load: it is listed with its problems.
    #[arg(long)]
    allow_broken: bool,
}

pub(crate) fn run(args: &EnableArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    change::make(global, printer, |editor| {
        let changed = editor.enable(&args.name, args.allow_broken)?;
        Ok(Done::examined(format!("enabled {}", args.name), changed))
    })
}
