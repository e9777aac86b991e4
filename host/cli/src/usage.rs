//! Wrong usage. What was typed after `run` may hold a secret, so the message about it goes through the policy as well.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use hermes_model::exit;
use hermes_plugins::registry::Depth;

use crate::cli::{Cli, Global};
use crate::place::Place;
use crate::printer::{self, Printer};
use crate::report::Report;
use crate::view::Desk;

/// Help and version on stdout; anything else is an error of usage.
pub(crate) fn explain(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        printer::print_help(error);
        return ExitCode::SUCCESS;
    }
    let words: Vec<OsString> = std::env::args_os().skip(1).take_while(|word| word != "--").collect();
    let json = words.iter().any(|word| word == "--json");
    let printer = Printer::new(&Global { json, ..Global::default() });
    let runs = words.iter().any(|word| word == "run");
    // The help that stands for a missing verb repeats nothing.
    let harmless = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand || !runs;
    let mut text = error.render().to_string();
    if runs && forgot_the_dashes(error) {
        text.push_str("\nhint: put '--' between hermes' options and the program, as in `hermes run -- cargo test`\n");
    }
    let text = if harmless { Some(text) } else { masked(&text, &printer) };
    let text =
        text.unwrap_or_else(|| format!("error: {}\n\nFor more information, try 'hermes run --help'.\n", error.kind()));
    printer.usage(&text);
    printer.finish(exit::USAGE)
}

/// Whether a program stands where an option should.
fn forgot_the_dashes(error: &clap::Error) -> bool {
    let unknown = error.get(ContextKind::InvalidArg);
    error.kind() == ErrorKind::UnknownArgument
        && matches!(unknown, Some(ContextValue::String(word)) if !word.starts_with('-'))
}

/// The text as the policy of the home lets it through; none where it lets nothing through.
fn masked(text: &str, printer: &Printer) -> Option<String> {
    let place = Place::find(&Global::default()).ok()?;
    let plugins = place.open(Depth::Enabled, printer).ok()?;
    let shown = Desk::of_hermes(plugins.policy()).text(text);
    shown.report.withheld.is_none().then(|| shown.text.as_str().to_owned())
}

/// An error of usage that clap cannot see, with its example.
pub(crate) fn wrong(verb: &str, message: impl Into<String>, example: &str) -> Report {
    let mut command = Cli::command();
    command.build();
    // The verb is named by our own code; without it the usage is that of hermes.
    let usage = match command.find_subcommand_mut(verb) {
        Some(verb) => verb.render_usage().to_string(),
        None => String::new(),
    };
    Report::new(message).hint(format!("as in `{example}`\n\n{usage}")).exits(exit::USAGE)
}
