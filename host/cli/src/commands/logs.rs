//! `hermes logs`: what a background process printed, in parts or as it comes.

use clap::Args;
use hermes_model::exit;
use serde_json::json;

use crate::cli::Global;
use crate::host::ask::{self, OwnerArgs};
use crate::place::Place;
use crate::printer::Printer;
use crate::report::Report;

/// How long one call of a follower waits for more, in milliseconds (the host allows 30 s).
const FOLLOW_WAIT_MS: u64 = 20_000;

/// Show what a background process printed
///
/// The last 200 lines where nothing else is said, secrets masked, line for line. With --follow, all there is and then
/// what comes, until the process ends.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hermes logs proc_1a2b3c4d5e6f\n  hermes logs 1a2b --offset 0 --limit 50\n  hermes logs 1a2b --follow"
)]
pub(crate) struct LogsArgs {
    /// The id of the process, or the beginning of it.
    #[arg(value_name = "ID")]
    id: String,
    /// The first line, from 0; without it, the last lines are shown.
    #[arg(long, value_name = "N")]
    offset: Option<u64>,
    /// How many lines.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Go on until the process ends.
    #[arg(short, long, conflicts_with_all = ["offset", "limit"])]
    follow: bool,
    #[command(flatten)]
    owner: OwnerArgs,
}

pub(crate) fn run(args: &LogsArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    let place = Place::find(global)?;
    ask::block_on(async {
        let client = ask::host_of(&place, global, printer, &args.id).await?;
        let owner = &args.owner.owner;
        if !args.follow {
            let asked =
                json!({"action": "log", "id": args.id, "offset": args.offset, "limit": args.limit, "owner": owner});
            let told = ask::process(&client, asked).await?;
            if printer.is_json() {
                ask::document(printer, &told);
            } else {
                printer.told_text(told.text("output").unwrap_or_default());
                ask::say_notes(printer, &told);
                say_rest(printer, &told);
            }
            return Ok(exit::OK);
        }
        let mut cursor = None;
        loop {
            let asked =
                json!({"action": "follow", "id": args.id, "cursor": cursor, "wait_ms": FOLLOW_WAIT_MS, "owner": owner});
            let told = ask::process(&client, asked).await?;
            if printer.is_json() {
                printer.told_line(&told.as_json_text());
            } else {
                printer.told_text(told.text("output").unwrap_or_default());
                ask::say_notes(printer, &told);
            }
            if told.flag("ended") == Some(true) || printer.has_failed() {
                return Ok(exit::OK);
            }
            cursor = told.argument("cursor");
        }
    })
}

/// Says which lines these were, where they were not all.
fn say_rest(printer: &Printer, told: &hermes_mcp::told::Told) {
    let (first, lines, total) = (told.number("first_line"), told.number("lines"), told.number("total_lines"));
    let (Some(first), Some(lines), Some(total)) = (first, lines, total) else { return };
    if lines < total {
        let shown = match lines {
            0 => "no line".to_owned(),
            1 => format!("line {first}"),
            _ => format!("lines {first} to {}", first + lines - 1),
        };
        printer.own(&format!("{shown} of {total}, counted from 0; --offset and --limit show others"));
    }
}
