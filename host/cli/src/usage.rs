//! Wrong usage. What was typed after `run` or `mcp` may hold a secret, so the message about it goes through the policy as
//! well.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use hermes_model::exit;
use hermes_plugins::registry::Depth;
use hermes_process::environment::Environment;

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
    let verb = ["run", "mcp"].into_iter().find(|verb| words.iter().any(|word| word == verb));
    // The help that stands for a missing verb repeats nothing.
    let harmless = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand || verb.is_none();
    let mut text = error.render().to_string();
    let example = match verb {
        Some("mcp") if words.iter().any(|word| word == "add") => Some("hermes mcp add git -- uvx mcp-server-git"),
        Some("mcp") if words.iter().any(|word| word == "wrap") => Some("hermes mcp wrap -- uvx mcp-server-git"),
        Some("run") => Some("hermes run -- cargo test"),
        _ => None,
    };
    if let Some(example) = example.filter(|_| forgot_the_dashes(error)) {
        text.push_str(&format!("\nhint: put '--' between hermes' options and the program, as in `{example}`\n"));
    }
    let text = if harmless { Some(text) } else { masked(&text, &printer) };
    let text = text.unwrap_or_else(|| {
        let verb = verb.unwrap_or_default();
        format!("error: {}\n\nFor more information, try 'hermes {verb} --help'.\n", error.kind())
    });
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
    let shown = Desk::new(plugins.policy(), &with_typed(std::env::args_os().skip(1))).text(text);
    shown.report.withheld.is_none().then(|| shown.text.as_str().to_owned())
}

/// The environment of hermes and, as variables of it, what was typed behind a name: `TOKEN=VALUE`, `--token VALUE`. Where
/// the name is one of a secret, the value is not shown.
fn with_typed(words: impl Iterator<Item = OsString>) -> Environment {
    let mut environment = Environment::inherit();
    let mut before = String::new();
    for (at, word) in words.enumerate() {
        let word = word.to_string_lossy().into_owned();
        for (name, value) in [Some((before.as_str(), word.as_str())), word.split_once('=')].into_iter().flatten() {
            // Each under a name of its own: none is in the place of another, nor of a variable of hermes.
            let side = if value.len() == word.len() { "" } else { "_" };
            let name = format!("TYPED_{at}{side}_{}", name.trim_start_matches('-').replace('-', "_"));
            environment.set(name, value);
        }
        before = word;
    }
    environment
}

/// An error of usage that clap cannot see, with its example.
pub(crate) fn wrong(verb: &str, message: impl Into<String>, example: &str) -> Report {
    let mut command = Cli::command();
    command.build();
    // The verb is named by our own code, as in "mcp add".
    let found = verb.split(' ').try_fold(&mut command, |command, word| command.find_subcommand_mut(word));
    let usage = found.map(|verb| verb.render_usage().to_string()).unwrap_or_default();
    Report::new(message).hint(format!("as in `{example}`\n\n{usage}")).exits(exit::USAGE)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn what_was_typed_behind_a_name_is_known_by_it() {
        let words = ["add", "--env", "API_TOKEN", "one", "--api-key=two=2", "PATH=three", "API_TOKEN", "four"];
        let environment = with_typed(words.into_iter().map(OsString::from));
        let typed = |name: &str| environment.get(name).and_then(OsStr::to_str).map(str::to_owned);
        assert_eq!(typed("TYPED_3_API_TOKEN").as_deref(), Some("one"));
        assert_eq!(typed("TYPED_4__api_key").as_deref(), Some("two=2"));
        assert_eq!(typed("TYPED_7_API_TOKEN").as_deref(), Some("four"));
        assert_eq!(environment.get("PATH"), Environment::inherit().get("PATH"));
    }
}
