//! `hermes plugins grant`: lets a notifier use what it asks for.

use clap::Args;
use hermes_model::id::PluginName;
use hermes_plugins::change::grants::{Granted, Which};
use hermes_plugins::permission::Grant;

use super::change::{self, Done};
use crate::cli::Global;
use crate::printer::Printer;
use crate::report::Report;

/// Let a notifier reach a host, or keep values
///
/// Only what the plugin asks for can be granted, and nothing to a plugin that sees raw text. `http:HOST` means port 443;
/// a name that leads into a private network is refused unless the grant ends in `+private`, and plain http unless it ends
/// in `+private+plain`.
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes plugins grant pager http:events.example.com\n  \
                        hermes plugins grant pager --all\n  \
                        hermes plugins grant notify-webhook storage http:ntfy.lan:8443+private")]
pub(crate) struct GrantArgs {
    /// The plugin.
    name: PluginName,
    /// What to grant: `storage`, `http:HOST` or `http:HOST:PORT`.
    #[arg(value_name = "PERMISSION", required_unless_present = "all")]
    permissions: Vec<Grant>,
    /// Everything it asks for.
    #[arg(long, conflicts_with = "permissions")]
    all: bool,
}

pub(crate) fn run(args: &GrantArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    change::make(global, printer, |editor| {
        let granted = editor.grant(&args.name, &which(&args.permissions, args.all))?;
        Ok(Done::new(said(&args.name, &granted), granted.generation))
    })
}

/// What is meant by the permissions named, or by `--all`.
pub(super) fn which(permissions: &[Grant], all: bool) -> Which {
    if all { Which::All } else { Which::These(permissions.to_vec()) }
}

/// What a plugin asks for and has now.
pub(super) fn said(name: &PluginName, granted: &Granted) -> String {
    let asked: Vec<String> = granted.asked.iter().map(ToString::to_string).collect();
    let mut out = format!("{name} asks for: {}\n  granted: {}", list(&asked), list(&granted.granted));
    if !granted.missing.is_empty() {
        out += &format!("\n  missing: {} (the plugin waits for it)", granted.missing.join(", "));
    }
    out
}

fn list(words: &[String]) -> String {
    if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
}
