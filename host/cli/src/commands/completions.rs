//! `hermes completions`: what a shell needs to complete verbs and flags.

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use hermes_model::exit;

use crate::cli::Cli;
use crate::printer::Printer;
use crate::report::Report;

/// Print what a shell needs to complete verbs and flags
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes completions bash > ~/.local/share/bash-completion/completions/hermes\n  \
                        hermes completions zsh > ~/.zfunc/_hermes\n  \
                        hermes completions fish > ~/.config/fish/completions/hermes.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs, printer: &Printer) -> Result<i32, Report> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "hermes", &mut script);
    // A failure is remembered by the printer.
    printer.script(&String::from_utf8_lossy(&script));
    Ok(exit::OK)
}
