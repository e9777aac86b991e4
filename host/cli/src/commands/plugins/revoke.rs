//! `hermes plugins revoke`: takes back what was granted.

use clap::Args;
use hermes_model::id::PluginName;
use hermes_plugins::permission::Grant;

use super::change::{self, Done};
use super::grant;
use crate::cli::Global;
use crate::printer::Printer;
use crate::report::Report;

/// Take back what was granted
///
/// A plugin without something it asks for is not in force until it is granted again.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hermes plugins revoke pager http:events.example.com\n  hermes plugins revoke pager --all"
)]
pub(crate) struct RevokeArgs {
    /// The plugin.
    name: PluginName,
    /// What to take back, as it was granted; what follows a `+` need not be repeated.
    #[arg(value_name = "PERMISSION", required_unless_present = "all")]
    permissions: Vec<Grant>,
    /// Everything that was granted.
    #[arg(long, conflicts_with = "permissions")]
    all: bool,
}

pub(crate) fn run(args: &RevokeArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    change::make(global, printer, |editor| {
        let granted = editor.revoke(&args.name, &grant::which(&args.permissions, args.all))?;
        Ok(Done::new(grant::said(&args.name, &granted), granted.generation))
    })
}
