//! `hermes mcp add`: writes a server into `config.toml`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use hermes_home::edit::{ConfigFile, Put};
use hermes_model::config::servers::{ServerConfig, Trust};
use hermes_model::id::ServerName;
use hermes_model::{exit, interpolate, screening};
use serde::Serialize;

use super::rows;
use super::secrets::{Eye, Spotted};
use crate::cli::Global;
use crate::commands::run::time_limit;
use crate::place::Place;
use crate::printer::Printer;
use crate::report::Report;
use crate::usage;

/// The example of an error of usage.
const EXAMPLE: &str = "hermes mcp add git --env GITHUB_TOKEN -- uvx mcp-server-git";

/// Add a server to config.toml
///
/// Comments and order of the file stay. Secrets are not written into it: --env NAME gives the server the variable NAME of
/// the environment hermes runs in. With --replace, nothing of the old entry stays.
#[derive(Args)]
#[command(
    override_usage = "hermes mcp add [OPTIONS] NAME -- COMMAND [ARG]...",
    after_help = "Examples:\n  hermes mcp add git -- uvx mcp-server-git\n  \
                  hermes mcp add github --env GITHUB_TOKEN -- npx -y @modelcontextprotocol/server-github\n  \
                  hermes mcp add build --cwd . --transform --timeout 10m -- ./tools/build-server"
)]
pub(crate) struct AddArgs {
    /// Its name: letters, digits, '-', '_' and '.'.
    name: ServerName,
    /// A variable it gets: NAME passes that of hermes on; may be given more than once.
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// A variable it inherits if it is set, or a beginning of names and '*'; may be given more than once.
    #[arg(long, value_name = "NAME")]
    env_pass: Vec<String>,
    /// The folder it runs in.
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// How long one call may take, as in 30s or 10m.
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    timeout: Option<Duration>,
    /// Let transforms summarise the texts it returns.
    #[arg(long)]
    transform: bool,
    /// Ask the user before each of its tools that does not only read.
    #[arg(long)]
    untrusted: bool,
    /// Write it in place of one of the same name.
    #[arg(long)]
    replace: bool,
    /// Write it although its command looks like an attack.
    #[arg(long)]
    trust_command: bool,
    /// The program and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    name: &'a ServerName,
    result: &'static str,
    path: String,
    warnings: &'a [String],
}

pub(crate) fn run(args: &AddArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    let place = Place::find(global)?;
    let mut config = entry(args)?;
    if let Some(spotted) = Eye::open(&place, printer).look(&args.name, &config).first() {
        return Err(holds_a_secret(spotted));
    }
    if let Some(why) = screening::suspicion(&config.command, &config.args) {
        if !args.trust_command {
            let message = format!("'{}' was not added: {why}", args.name);
            return Err(
                Report::new(message).hint("--trust-command adds it all the same, if the command is what you want")
            );
        }
        config.confirmed = true;
    }
    config.validate(&args.name).map_err(|bad| Report::of(&bad).exits(exit::USAGE))?;
    // Checked again under the lock; said here before a home is made.
    if place.config.mcp_servers.contains_key(&args.name) {
        exists(args, &config, &place.config.mcp_servers)?;
    }
    let mut file = ConfigFile::open(&place.home)?;
    exists(args, &config, &file.config().mcp_servers)?;
    let put = file.put(&args.name, &config);
    let path = file.path().display().to_string();
    file.save()?;
    say(args, &config, put, path, printer);
    Ok(exit::OK)
}

/// The entry that the arguments describe.
fn entry(args: &AddArgs) -> Result<ServerConfig, Report> {
    let here = std::env::current_dir().unwrap_or_default();
    let (command, rest) = args.command.split_first().ok_or_else(|| wrong("there is no command"))?;
    let mut env = BTreeMap::new();
    for (at, variable) in args.env.iter().enumerate() {
        let (name, value) = match variable.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => (variable.as_str(), format!("${{{variable}}}")),
        };
        // The words themselves are not quoted: they may be the secret that was meant as a value.
        if name.is_empty() || (!variable.contains('=') && !interpolate::is_variable(name)) {
            return Err(wrong(format!("--env number {} is neither NAME nor NAME=VALUE", at + 1)));
        }
        env.insert(name.to_owned(), value);
    }
    let known = |text: &String| interpolate::is_known(text);
    if !args.command.iter().chain(env.values()).all(known) {
        let message = "there is a reference that hermes does not know; write ${NAME}, ${NAME:-VALUE}, or $${ for the two \
                       characters themselves";
        return Err(wrong(message));
    }
    let cwd = args.cwd.as_ref().map(|cwd| if stands_alone(cwd) { cwd.clone() } else { here.join(cwd) });
    // A program in this folder is meant from here; a host may run elsewhere.
    let from_here =
        command.contains('/') && !stands_alone(Path::new(command)) && cwd.is_none() && here.join(command).exists();
    Ok(ServerConfig {
        command: if from_here { here.join(command).to_string_lossy().into_owned() } else { command.clone() },
        args: rest.to_vec(),
        env,
        env_pass: args.env_pass.clone(),
        cwd,
        timeout: args.timeout.unwrap_or(ServerConfig::default().timeout),
        transform: args.transform,
        trust: if args.untrusted { Trust::Untrusted } else { Trust::Full },
        ..ServerConfig::default()
    })
}

/// Whether a path means the same wherever hermes runs.
fn stands_alone(path: &Path) -> bool {
    path.is_absolute() || path.starts_with("~") || path.to_string_lossy().starts_with("${")
}

fn wrong(message: impl Into<String>) -> Report {
    usage::wrong("mcp add", message, EXAMPLE)
}

fn exists(args: &AddArgs, config: &ServerConfig, known: &BTreeMap<ServerName, ServerConfig>) -> Result<(), Report> {
    match known.get(&args.name) {
        Some(old) if old != config && !args.replace => {
            let message = format!("there is another server '{}' already", args.name);
            Err(Report::new(message)
                .hint("--replace writes this one in its place; `hermes mcp list` shows what is there"))
        }
        _ => Ok(()),
    }
}

fn holds_a_secret(spotted: &Spotted) -> Report {
    let Spotted { key, variable, .. } = spotted;
    let message = format!("nothing was added: {key} looks like a secret, and secrets are not written into config.toml");
    let hint = match key.strip_prefix("env.") {
        Some(name) if name == variable => format!("set {variable} where hermes runs, and give --env {variable}"),
        _ => format!("set {variable} where hermes runs, and write '${{{variable}}}' (in single quotes) in its place"),
    };
    Report::new(message).hint(format!("{hint}; if it is no secret, write the entry into config.toml by hand"))
}

fn say(args: &AddArgs, config: &ServerConfig, put: Put, path: String, printer: &Printer) {
    let warnings = match rows::check(&args.name, config) {
        Ok(prepared) => prepared.warnings,
        Err(problem) => vec![format!("as things are here it would not start: {problem}")],
    };
    warnings.iter().for_each(|warning| printer.warn(warning));
    if printer.is_json() {
        printer.document(&Document { name: &args.name, result: word(put), path, warnings: &warnings });
        return;
    }
    printer.confirm(&match put {
        Put::Added => format!("added {} to {path}", args.name),
        Put::Replaced => format!("replaced {} in {path}", args.name),
        Put::Unchanged => format!("{} is the same in {path} already", args.name),
    });
}

/// The word for what was done.
pub(super) fn word(put: Put) -> &'static str {
    match put {
        Put::Added => "added",
        Put::Replaced => "replaced",
        Put::Unchanged => "unchanged",
    }
}
