//! `hermes events`: what happened in the background. An event that was printed is not told again.

use clap::Args;
use hermes_ledger::event::Scope;
use hermes_mcp::told::Told;
use hermes_model::exit;
use serde_json::json;

use crate::cli::Global;
use crate::host::ask::{self, OwnerArgs};
use crate::place::Place;
use crate::printer::Printer;
use crate::report::Report;

/// How many events are taken at once.
const AT_ONCE: usize = 20;
/// How long one call waits for the next event, in milliseconds (the host allows 30 s).
const FOLLOW_WAIT_MS: u64 = 20_000;

/// Show what happened in the background: ends, matches, heartbeats
///
/// Each event is shown once: what was printed here is settled. With --follow, events are shown as they come.
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes events\n  hermes events --follow --json\n  hermes events --owner agent-1")]
pub(crate) struct EventsArgs {
    /// Go on, and show events as they come.
    #[arg(short, long)]
    follow: bool,
    /// Every owner's.
    #[arg(long, conflicts_with = "owner")]
    all: bool,
    #[command(flatten)]
    owner: OwnerArgs,
}

pub(crate) fn run(args: &EventsArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    let place = Place::find(global)?;
    ask::block_on(async {
        let waiting = |reader: &hermes_ledger::reader::Reader| {
            Ok(args.follow || reader.has_undelivered(&Scope::All)? || !reader.running(&Scope::All)?.is_empty())
        };
        let Some(client) = ask::host_for(&place, global, printer, waiting).await? else {
            if !printer.is_json() {
                printer.own("nothing happened that was not told");
            }
            return Ok(exit::OK);
        };
        loop {
            let wait_ms = if args.follow { FOLLOW_WAIT_MS } else { 0 };
            let asked = json!({
                "action": "events", "max": AT_ONCE, "wait_ms": wait_ms, "all": args.all, "owner": args.owner.owner, "ack": [],
            });
            let told = ask::process(&client, asked).await?;
            let events = told.items("events");
            for event in &events {
                if printer.is_json() {
                    printer.told_line(&event.as_json_text());
                } else {
                    print(printer, event);
                }
            }
            // What stdout did not take was not told.
            if printer.has_failed() {
                return Ok(exit::FAILED);
            }
            ask::acknowledge(&client, &events).await?;
            if !args.follow && events.len() < AT_ONCE {
                return Ok(exit::OK);
            }
        }
    })
}

fn print(printer: &Printer, event: &Told) {
    let text = |place: &str| event.text(place).unwrap_or_default();
    let process = event.text("process").map(|id| format!(" {id}")).unwrap_or_default();
    let status =
        if event.part("status").is_some() { format!(" ({})", ask::status_words(event)) } else { String::new() };
    printer.told_line(&format!("{} {}{process}{status}: {}", text("at"), text("kind"), text("command")));
    for line in text("output").lines() {
        printer.told_line(&format!("    {line}"));
    }
}
