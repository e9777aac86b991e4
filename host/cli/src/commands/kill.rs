//! `hermes kill`: the end of a background process and of everything it started, and the truth about it.

use clap::{ArgGroup, Args};
use hermes_ledger::event::Scope;
use hermes_mcp::told::Told;
use hermes_model::exit;
use serde_json::json;

use crate::cli::Global;
use crate::host::ask::{self, OwnerArgs};
use crate::place::Place;
use crate::printer::Printer;
use crate::report::Report;

/// End a background process with everything it started
///
/// Whatever left its session is found as well. Of a process that ended, those it left running are ended. Exits with 1
/// if somebody is still alive, and names them.
#[derive(Args)]
#[command(
    group = ArgGroup::new("which").args(["id", "all"]).required(true),
    after_help = "Examples:\n  hermes kill proc_1a2b3c4d5e6f\n  hermes kill 1a2b --json\n  hermes kill --all --owner agent-1"
)]
pub(crate) struct KillArgs {
    /// The id of the process, or the beginning of it.
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Everything of the owner that runs, but for what was started to persist.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    owner: OwnerArgs,
}

pub(crate) fn run(args: &KillArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    let place = Place::find(global)?;
    ask::block_on(async {
        let owner = &args.owner.owner;
        let Some(id) = &args.id else {
            let left = |reader: &hermes_ledger::reader::Reader| Ok(!reader.running(&Scope::All)?.is_empty());
            let Some(client) = ask::host_for(&place, global, printer, left).await? else {
                return Err(Report::new("no host runs in this home, so there is nothing to end"));
            };
            let told = ask::process(&client, json!({"action": "kill_all", "owner": owner})).await?;
            let killed = told.items("killed");
            if printer.is_json() {
                ask::document(printer, &told);
            } else if killed.is_empty() {
                printer.own("nothing of this owner runs that does not persist");
            }
            return Ok(tell_all(printer, &killed));
        };
        let client = ask::host_of(&place, global, printer, id).await?;
        let told = ask::process(&client, json!({"action": "kill", "id": id, "owner": owner})).await?;
        if printer.is_json() {
            ask::document(printer, &told);
        }
        Ok(tell_all(printer, &[told]))
    })
}

/// Tells what came of each, where no document does, and returns the exit code.
fn tell_all(printer: &Printer, killed: &[Told]) -> i32 {
    let mut code = exit::OK;
    for one in killed {
        let result = one.text("result").unwrap_or_default();
        if result == "incomplete" {
            code = exit::FAILED;
        }
        if printer.is_json() {
            continue;
        }
        let id = one.text("id").unwrap_or_default();
        match result {
            "killed" => printer.own(&format!("{id} ended: {}", ask::status_words(one))),
            "already-ended" => {
                let swept: Vec<String> = one.numbers("swept").iter().map(ToString::to_string).collect();
                let rest = if swept.is_empty() { String::new() } else { format!("; ended now: {}", swept.join(", ")) };
                printer.own(&format!("{id} had ended before: {}{rest}", ask::status_words(one)));
            }
            _ => {
                printer.own(&format!("{id} could not be ended whole"));
                for survivor in one.items("survivors") {
                    let pid = survivor.number("pid").unwrap_or_default();
                    printer.own(&format!("  {pid}  {}", survivor.text("command").unwrap_or_default()));
                }
            }
        }
    }
    code
}
