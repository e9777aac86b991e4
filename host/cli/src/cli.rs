//! The command line as data: the verbs and the flags of all of them. Each verb's own arguments stand in its file.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use crate::commands::{completions, doctor, events, kill, logs, mcp, plugins, ps, redact, run, send, serve, wait};

/// Runs processes for AI agents, and lets WASM plugins decide what anyone sees of their output.
#[derive(Parser)]
#[command(
    name = "hermes",
    version,
    propagate_version = false,
    disable_help_subcommand = true,
    max_term_width = 100,
    after_help = "Examples:\n  hermes run -- cargo test           a command, its secrets masked\n  \
                  hermes run --view -- cargo test    what an agent would get of it\n  \
                  hermes run -b -- npm run dev       in the background; hermes ps lists it\n  \
                  hermes plugins list                what is in force, and what is not and why"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// The flags every verb takes, before it and after it.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Global {
    /// The home, in place of HERMES_HOME or ~/.hermes.
    #[arg(long, global = true, value_name = "DIR", help_heading = "Options of every verb")]
    pub(crate) home: Option<PathBuf>,
    /// A profile: a home of its own in the home, in place of HERMES_PROFILE.
    #[arg(long, global = true, value_name = "NAME", help_heading = "Options of every verb")]
    pub(crate) profile: Option<String>,
    /// Print one JSON document on stdout, and nothing else there.
    #[arg(long, global = true, help_heading = "Options of every verb")]
    pub(crate) json: bool,
    /// Say more on stderr; twice for details.
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = "Options of every verb")]
    pub(crate) verbose: u8,
    /// Say only warnings and errors on stderr.
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Options of every verb")]
    pub(crate) quiet: bool,
    /// When to use colour.
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = Color::Auto, help_heading = "Options of every verb")]
    pub(crate) color: Color,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Also into files and pipes.
    Always,
    /// Not at all.
    Never,
}

/// What hermes can do.
#[derive(Subcommand)]
pub(crate) enum Verb {
    Run(run::RunArgs),
    Ps(ps::PsArgs),
    Logs(logs::LogsArgs),
    Wait(wait::WaitArgs),
    Kill(kill::KillArgs),
    Send(send::SendArgs),
    Events(events::EventsArgs),
    Serve(serve::ServeArgs),
    Redact(redact::RedactArgs),
    #[command(subcommand)]
    Plugins(plugins::PluginsVerb),
    #[command(subcommand)]
    Mcp(mcp::McpVerb),
    Doctor(doctor::DoctorArgs),
    Completions(completions::CompletionsArgs),
}

impl Cli {
    /// Reads the command line of this program.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        Self::try_parse()
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn global_flags_stand_before_and_after_the_verb() {
        for words in [["hermes", "--json", "plugins", "list"], ["hermes", "plugins", "list", "--json"]] {
            assert!(Cli::try_parse_from(words).unwrap().global.json, "{words:?}");
        }
    }

    #[test]
    fn what_follows_the_two_dashes_belongs_to_the_program() {
        let cli = Cli::try_parse_from(["hermes", "run", "--", "ls", "--json", "-v"]).unwrap();
        assert!(!cli.global.json && cli.global.verbose == 0);
        let Verb::Run(run) = cli.verb else { panic!("not run") };
        assert_eq!(run.program, ["ls", "--json", "-v"]);
    }

    fn every_verb(command: &clap::Command, path: &str, visit: &mut impl FnMut(&str, &clap::Command)) {
        for verb in command.get_subcommands() {
            let path = format!("{path} {}", verb.get_name());
            visit(&path, verb);
            every_verb(verb, &path, visit);
        }
    }

    #[test]
    fn every_verb_has_an_example_that_parses() {
        every_verb(&Cli::command(), "hermes", &mut |path, verb| {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples: Vec<&str> = help.lines().map(str::trim).filter(|line| line.starts_with(path)).collect();
            assert!(!examples.is_empty(), "{path} has no example in its help: {help}");
            for example in examples {
                // The words of the command itself: what follows two spaces explains it.
                let example = example.split("  ").next().unwrap();
                if !example.contains(['\'', '|', '<', '>']) {
                    assert!(Cli::try_parse_from(example.split(' ')).is_ok(), "{example}");
                }
            }
        });
    }
}
