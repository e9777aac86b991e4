//! `hermes wait`: until a background process ends, and then its exit code.

use std::time::{Duration, Instant};

use clap::Args;
use hermes_model::exit;
use serde_json::json;

use crate::cli::Global;
use crate::host::ask::{self, OwnerArgs};
use crate::place::Place;
use crate::printer::Printer;
use crate::report::Report;

/// How long one call waits. The host ends a wait at `terminal.timeout`; longer waits are several calls.
const ONE_CALL: Duration = Duration::from_secs(60);

/// Wait for a background process to end
///
/// Prints what an agent would get of its output and exits with the code of the process. 124: the wait ended before it.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  hermes wait proc_1a2b3c4d5e6f\n  hermes wait 1a2b --timeout 30s\n  hermes wait 1a2b --json"
)]
pub(crate) struct WaitArgs {
    /// The id of the process, or the beginning of it.
    #[arg(value_name = "ID")]
    id: String,
    /// End the wait, not the process, after this time.
    #[arg(long, value_name = "TIME", value_parser = super::run::time_limit)]
    timeout: Option<Duration>,
    #[command(flatten)]
    owner: OwnerArgs,
}

pub(crate) fn run(args: &WaitArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    let place = Place::find(global)?;
    ask::block_on(async {
        let client = ask::host_of(&place, global, printer, &args.id).await?;
        let began = Instant::now();
        loop {
            let left = args.timeout.map(|timeout| timeout.saturating_sub(began.elapsed()));
            let now = left.map_or(ONE_CALL, |left| left.min(ONE_CALL)).max(Duration::from_millis(1));
            let timeout_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
            let asked = json!({"action": "wait", "id": args.id, "timeout_ms": timeout_ms, "owner": args.owner.owner});
            let told = ask::process(&client, asked).await?;
            let over = told.flag("timed_out") != Some(true);
            if !over && left.is_none_or(|left| left > now) {
                continue;
            }
            if printer.is_json() {
                ask::document(printer, &told);
            } else {
                printer.told_text(told.text("output").unwrap_or_default());
                ask::say_notes(printer, &told);
                if over {
                    printer.own(&ask::status_words(&told));
                }
            }
            return Ok(if over { ask::exit_code(&told) } else { exit::TIMED_OUT });
        }
    })
}
