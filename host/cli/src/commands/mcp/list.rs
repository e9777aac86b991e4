//! `hermes mcp list`: every configured server, where it stands, and what is wrong with it.

use clap::Args;
use hermes_model::exit;
use hermes_plugins::registry::Depth;
use serde::Serialize;

use super::rows::{self, Row};
use crate::cli::Global;
use crate::host::ask::block_on;
use crate::place::Place;
use crate::printer::{Printer, Tone};
use crate::report::Report;
use crate::table;
use crate::view::Desk;

/// The longest command a table shows, in characters.
const COMMAND_MAX: usize = 48;

/// List the MCP servers
///
/// Where a host runs a server, that host says how it stands: one row for each host. Entries that no host runs are looked
/// over as before a start: their variables, command and folder. Looking starts nothing.
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes mcp list\n  hermes mcp list --json")]
pub(crate) struct ListArgs {}

#[derive(Serialize)]
struct Document<'a> {
    servers: &'a [Row],
}

pub(crate) fn run(_: &ListArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    let place = Place::find(global)?;
    let configured = if place.config.mcp_servers.is_empty() {
        Vec::new()
    } else {
        // A command line may hold a secret, so it is shown as the policy lets it through.
        let plugins = place.open(Depth::Enabled, printer)?;
        rows::stopped(&place.config, &Desk::of_hermes(plugins.policy()))
    };
    let home = place.home.root();
    let (rows, silent) = block_on(async { Ok(rows::with_hosts(configured, home).await) })?;
    silent.iter().for_each(|host| printer.warn(host));
    if printer.is_json() {
        printer.document(&Document { servers: &rows });
    } else if rows.is_empty() {
        printer.own("no MCP servers are configured; `hermes mcp add NAME -- COMMAND` adds one");
    } else {
        print(&rows, printer);
    }
    Ok(exit::OK)
}

fn print(rows: &[Row], printer: &Printer) {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                row.name.to_string(),
                if row.enabled { row.state.clone() } else { "disabled".to_owned() },
                or_dash(row.tools.map(|tools| tools.to_string())),
                or_dash(row.pid.map(|pid| pid.to_string())),
                shorten(&row.command),
            ]
        })
        .collect();
    table::lines(&["NAME", "STATE", "TOOLS", "PID", "COMMAND"], &cells).iter().for_each(|line| printer.line(line));
    let width = table::width(printer);
    for row in rows {
        let Some(problem) = &row.problem else { continue };
        printer.line("");
        let lines = table::paragraph("", "  ", &format!("{}: {problem}", row.name), width);
        lines.iter().for_each(|line| printer.line(&printer.paint(Tone::Bad, line)));
    }
}

/// The first line of a command, and not all of a long one.
fn shorten(command: &str) -> String {
    let first = command.lines().next().unwrap_or_default();
    let more = first.chars().count() > COMMAND_MAX || command.lines().nth(1).is_some();
    let shown: String = first.chars().take(COMMAND_MAX).collect();
    if more { format!("{shown}...") } else { shown }
}
