//! `hermes mcp import`: takes the servers of another program's file into `config.toml`.

use std::path::PathBuf;

use clap::Args;
use hermes_home::edit::{ConfigFile, Put};
use hermes_home::files;
use hermes_home::import::{self, Found, IMPORT_BYTES_MAX};
use hermes_model::config::servers::ServerConfig;
use hermes_model::id::ServerName;
use hermes_model::interpolate::InterpolateError;
use hermes_model::{exit, screening};
use hermes_process::server::NotReady;
use serde::Serialize;

use super::add::word;
use super::rows;
use super::secrets::Eye;
use crate::cli::Global;
use crate::place::Place;
use crate::printer::{Printer, Tone};
use crate::report::Report;
use crate::table;

/// Take over the servers of another program
///
/// Reads `mcpServers`, `servers` or `context_servers` out of a JSON file, as Claude, Cursor, VS Code, Gemini CLI and Zed
/// keep them. The file stays as it is. A secret in it is not copied: its place gets the name of a variable.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hermes mcp import .mcp.json\n  hermes mcp import --dry-run ~/.cursor/mcp.json\n  \
                        hermes mcp import --replace .vscode/mcp.json\n\nExits with 1 if a server that hermes could run was \
                        not taken."
)]
pub(crate) struct ImportArgs {
    /// The file.
    file: PathBuf,
    /// Write servers in place of those of the same name.
    #[arg(long)]
    replace: bool,
    /// Say what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Take servers whose commands look like an attack.
    #[arg(long)]
    trust_command: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    source: String,
    path: String,
    dry_run: bool,
    notes: &'a [String],
    servers: &'a [Taken],
}

/// What became of one server.
#[derive(Serialize)]
struct Taken {
    name: ServerName,
    original: Option<String>,
    result: &'static str,
    notes: Vec<String>,
}

impl Taken {
    /// Whether it could have been taken and was not.
    fn is_failure(&self) -> bool {
        matches!(self.result, "exists" | "refused")
    }
}

pub(crate) fn run(args: &ImportArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    let place = Place::find(global)?;
    let source = args.file.display().to_string();
    let bytes = files::read_bounded(&args.file, IMPORT_BYTES_MAX).map_err(|error| Report::of(&error))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Report::new(format!("'{source}' is not UTF-8 text")).hint("save the file as UTF-8"))?;
    let found = import::read(&text).map_err(|error| Report::new(format!("'{source}': {error}")))?;
    let eye = Eye::open(&place, printer);
    let (servers, path) = if args.dry_run {
        let mut known = place.config.mcp_servers.clone();
        let put = |name: &ServerName, server: &ServerConfig| match known.insert(name.clone(), server.clone()) {
            None => Put::Added,
            Some(old) if old == *server => Put::Unchanged,
            Some(_) => Put::Replaced,
        };
        (take_all(args, found.servers, &eye, &place.config.mcp_servers, put), place.home.config_path())
    } else {
        let mut file = ConfigFile::open(&place.home)?;
        let known = file.config().mcp_servers.clone();
        let servers = take_all(args, found.servers, &eye, &known, |name, server| file.put(name, server));
        let path = file.path().to_owned();
        file.save()?;
        (servers, path)
    };
    let path = path.display().to_string();
    if printer.is_json() {
        let document = Document { source, path, dry_run: args.dry_run, notes: &found.notes, servers: &servers };
        printer.document(&document);
    } else {
        print(args, &servers, &found.notes, &path, printer);
    }
    Ok(if servers.iter().any(Taken::is_failure) { exit::FAILED } else { exit::OK })
}

fn take_all(
    args: &ImportArgs,
    found: Vec<Found>,
    eye: &Eye,
    known: &std::collections::BTreeMap<ServerName, ServerConfig>,
    mut put: impl FnMut(&ServerName, &ServerConfig) -> Put,
) -> Vec<Taken> {
    let mut taken = Vec::new();
    for found in found {
        let Found { name, original, server, mut notes } = found;
        let result = match server {
            Err(why) => {
                notes.insert(0, why.to_owned());
                "unsupported"
            }
            Ok(mut server) => {
                let allowed = examine(args, &name, &mut server, eye, &mut notes);
                match known.get(&name) {
                    _ if !allowed => "refused",
                    Some(old) if *old != server && !args.replace => {
                        notes.push(
                            "there is another server of this name; --replace writes this one in its place".to_owned(),
                        );
                        "exists"
                    }
                    _ => {
                        note_problems(&name, &server, &mut notes);
                        word(put(&name, &server))
                    }
                }
            }
        };
        taken.push(Taken { name, original, result, notes });
    }
    taken
}

/// Puts variables in the place of secrets, and says whether the entry may be taken.
fn examine(
    args: &ImportArgs,
    name: &ServerName,
    server: &mut ServerConfig,
    eye: &Eye,
    notes: &mut Vec<String>,
) -> bool {
    for spotted in eye.look(name, server) {
        spotted.replace(server);
        let (key, variable) = (&spotted.key, &spotted.variable);
        notes.push(format!("{key} holds a secret, which was not copied: set {variable} to it where hermes runs"));
    }
    if let Some(why) = screening::suspicion(&server.command, &server.args) {
        if !args.trust_command {
            notes.push(format!("{why}; --trust-command takes it all the same, if the command is what you want"));
            return false;
        }
        server.confirmed = true;
    }
    match server.validate(name) {
        Ok(()) => true,
        Err(bad) => {
            notes.push(bad.to_string());
            false
        }
    }
}

/// What would keep the server from starting here, beside what was said already: that a secret's variable is to be set.
fn note_problems(name: &ServerName, server: &ServerConfig, notes: &mut Vec<String>) {
    match rows::check(name, server) {
        Ok(prepared) => notes.extend(prepared.warnings),
        Err(_) if !server.enabled => {}
        Err(NotReady::Variable(InterpolateError::Unset { variable, .. }))
            if notes.iter().any(|note| note.contains(&format!(": set {variable} "))) => {}
        Err(problem) => notes.push(format!("as things are here it would not start: {problem}")),
    }
}

fn print(args: &ImportArgs, servers: &[Taken], notes: &[String], path: &str, printer: &Printer) {
    let width = table::width(printer);
    for server in servers {
        let original = server.original.as_ref().map(|original| format!(" (there '{original}')")).unwrap_or_default();
        let (tone, said) = match (server.result, args.dry_run) {
            ("added", true) => (Tone::Good, "would be added"),
            ("replaced", true) => (Tone::Good, "would be replaced"),
            ("added" | "replaced", false) => (Tone::Good, server.result),
            ("unchanged", _) => (Tone::Faint, "is the same already"),
            ("unsupported", _) => (Tone::Warning, "left out"),
            _ => (Tone::Bad, "not taken"),
        };
        printer.line(&format!("{}{original}: {}", server.name, printer.paint(tone, said)));
        for note in &server.notes {
            table::paragraph("  ", "    ", note, width).iter().for_each(|line| printer.line(line));
        }
    }
    notes.iter().for_each(|note| printer.warn(note));
    let changed = servers.iter().filter(|server| matches!(server.result, "added" | "replaced")).count();
    let (did, into) = if args.dry_run { ("would be written", "to") } else { ("written", "to") };
    printer.confirm(&format!("{did} {into} {path}: {changed} of {}", servers.len()));
}
