//! `hermes mcp remove`: takes a server out of `config.toml`.

use clap::Args;
use hermes_home::edit::ConfigFile;
use hermes_model::config::Config;
use hermes_model::id::ServerName;
use hermes_model::{exit, suggest};
use serde::Serialize;

use crate::cli::Global;
use crate::place::Place;
use crate::printer::Printer;
use crate::report::Report;

/// Take a server out of config.toml
///
/// What else is in the file stays, comments too. To keep the entry and not run it, write `enabled = false` into it.
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes mcp remove git\n  hermes mcp remove git --json")]
pub(crate) struct RemoveArgs {
    /// Its name.
    name: ServerName,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    name: &'a ServerName,
    result: &'static str,
    path: String,
}

pub(crate) fn run(args: &RemoveArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    let place = Place::find(global)?;
    // Before the file is opened for changes, which would make a home.
    if !place.config.mcp_servers.contains_key(&args.name) {
        return Err(unknown(&args.name, &place.config));
    }
    let mut file = ConfigFile::open(&place.home)?;
    if !file.remove(&args.name) {
        return Err(unknown(&args.name, file.config()));
    }
    let path = file.path().display().to_string();
    file.save()?;
    if printer.is_json() {
        printer.document(&Document { name: &args.name, result: "removed", path });
    } else {
        printer.confirm(&format!("removed {} from {path}", args.name));
    }
    Ok(exit::OK)
}

/// A name no server has, with the one that may be meant.
pub(super) fn unknown(name: &ServerName, config: &Config) -> Report {
    let known: Vec<&str> = config.mcp_servers.keys().map(ServerName::as_str).collect();
    let report = Report::new(format!("there is no server '{name}'{}", suggest::hint(name.as_str(), &known)));
    if known.is_empty() { report.hint("`hermes mcp add NAME -- COMMAND` adds one") } else { report }
}
