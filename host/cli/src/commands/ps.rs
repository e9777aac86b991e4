//! `hermes ps`: the processes of the running host.

use clap::Args;
use hermes_ledger::event::Scope;
use hermes_mcp::told::Told;
use hermes_model::exit;
use serde::Serialize;
use serde_json::json;

use crate::cli::Global;
use crate::host::ask::{self, OwnerArgs};
use crate::place::Place;
use crate::printer::{Printer, Tone};
use crate::report::Report;
use crate::table;

/// The longest command a table shows, in characters.
const COMMAND_MAX: usize = 48;

/// List background processes
///
/// Those that run, and those of the running host that ended in the last half hour. Of others, `hermes logs` and
/// `hermes wait` still know by their id. Looking creates nothing.
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes ps\n  hermes ps --all --json\n  hermes ps --owner agent-1")]
pub(crate) struct PsArgs {
    /// Every owner's.
    #[arg(long, conflicts_with = "owner")]
    all: bool,
    #[command(flatten)]
    owner: OwnerArgs,
}

/// What is listed where nothing runs.
#[derive(Serialize)]
struct Nothing {
    processes: [(); 0],
}

pub(crate) fn run(args: &PsArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    let place = Place::find(global)?;
    ask::block_on(async {
        // What a crashed host left is taken over by the next one, which can tell what became of it.
        let left = |reader: &hermes_ledger::reader::Reader| Ok(!reader.running(&Scope::All)?.is_empty());
        let Some(client) = ask::host_for(&place, global, printer, left).await? else {
            if printer.is_json() {
                printer.document(&Nothing { processes: [] });
            } else {
                printer.own("no host runs in this home, so nothing runs; `hermes run -b -- PROGRAM` starts both");
            }
            return Ok(exit::OK);
        };
        let told = ask::process(&client, json!({"action": "list", "all": args.all, "owner": args.owner.owner})).await?;
        if printer.is_json() {
            ask::document(printer, &told);
        } else {
            print(printer, &told.items("processes"), args.all);
        }
        Ok(exit::OK)
    })
}

fn print(printer: &Printer, rows: &[Told], all: bool) {
    if rows.is_empty() {
        printer.own("nothing runs, and nothing ended lately");
        return;
    }
    let mut header = vec!["ID", "STATUS", "TIME", "PID", "COMMAND"];
    if all {
        header.insert(4, "OWNER");
    }
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let mut cells = vec![
                row.text("id").unwrap_or_default().to_owned(),
                status(printer, row),
                time(row.number("uptime_ms").unwrap_or_default()),
                row.number("pid").map_or_else(|| "-".to_owned(), |pid| pid.to_string()),
                shorten(row.text("command").unwrap_or_default()),
            ];
            if all {
                cells.insert(4, row.text("owner").unwrap_or_default().to_owned());
            }
            cells
        })
        .collect();
    for line in table::lines(&header, &cells) {
        printer.told_line(&line);
    }
}

fn status(printer: &Printer, row: &Told) -> String {
    let mut words = ask::status_words(row);
    if row.flag("detached") == Some(true) {
        words.push_str(", taken over");
    }
    let survivors = row.numbers("survivors").len();
    if survivors > 0 {
        words.push_str(&format!(", {survivors} left"));
    }
    let tone = match row.text("/status/kind") {
        Some("running") => Tone::Strong,
        Some("exited") if row.signed("exit_code") == Some(0) => Tone::Good,
        _ => Tone::Bad,
    };
    printer.paint(tone, &words)
}

/// A time for a column: `12s`, `3m05s`, `2h03m`.
fn time(ms: u64) -> String {
    let seconds = ms / 1000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m{s:02}s"),
        (h, m, _) => format!("{h}h{m:02}m"),
    }
}

/// The first line of a command, and not all of a long one.
fn shorten(command: &str) -> String {
    let first = command.lines().next().unwrap_or_default();
    let more = first.chars().count() > COMMAND_MAX || command.lines().nth(1).is_some();
    let shown: String = first.chars().take(COMMAND_MAX).collect();
    if more { format!("{shown}...") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_in_two_units_at_most() {
        assert_eq!(
            (time(999), time(12_000), time(185_000), time(7_380_000)),
            ("0s".into(), "12s".into(), "3m05s".into(), "2h03m".into())
        );
    }

    #[test]
    fn a_long_command_is_cut_and_says_so() {
        assert_eq!(shorten("make"), "make");
        assert_eq!(shorten("make\ntest"), "make...");
        assert_eq!(shorten(&"x".repeat(60)).chars().count(), COMMAND_MAX + 3);
    }
}
