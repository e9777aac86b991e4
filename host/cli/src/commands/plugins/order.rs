//! `hermes plugins order`: which plugin is asked first.

use clap::Args;
use hermes_model::id::PluginName;

use super::change::{self, Done};
use crate::cli::Global;
use crate::printer::Printer;
use crate::report::Report;

/// Put plugins first, in this order; the others follow as they were
///
/// The order counts among transforms: each sees what the one before it made.
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes plugins order summarize-output redact-secrets")]
pub(crate) struct OrderArgs {
    /// The plugins.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<PluginName>,
}

pub(crate) fn run(args: &OrderArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    change::make(global, printer, |editor| {
        let generation = editor.order(&args.names)?;
        let names: Vec<&str> = generation.plugins.iter().map(|entry| entry.name.as_str()).collect();
        Ok(Done::new(format!("the order is now {}", names.join(", ")), generation))
    })
}
