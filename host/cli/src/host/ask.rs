//! Asking the running host: one call, one document, or the reason why not.
//!
//! What a host answers has been through its policy, and arrives as [`Told`]. It must never be mixed with text that has not.

use std::future::Future;

use hermes_ledger::live::handle::Ledger;
use hermes_ledger::problem::OpenError;
use hermes_ledger::reader::Reader;
use hermes_mcp::client::{CallError, Client};
use hermes_mcp::told::Told;
use hermes_model::exit;
use serde_json::{Map, Value, json};

use super::start::{self, NoHost};
use crate::cli::Global;
use crate::place::Place;
use crate::printer::Printer;
use crate::report::Report;

/// Arguments of a call, as `json!` makes them.
pub(crate) fn arguments(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Map::new(),
    }
}

/// Whose processes a verb is about.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct OwnerArgs {
    /// Whose process it is; yours at the command line where nothing is said.
    #[arg(long, value_name = "ID")]
    pub(crate) owner: Option<String>,
}

/// Runs a verb that asks.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Report>>) -> Result<T, Report> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Report::of(&NoHost::Runtime(error)))?;
    runtime.block_on(work)
}

/// Calls the tool `process`.
pub(crate) async fn process(client: &Client, value: Value) -> Result<Told, Report> {
    Ok(client.call("process", arguments(value)).await?.into_told())
}

/// The host of a home that has something to say: the one that runs, or one that is started because the ledger of a home
/// without a host holds what a verb needs. None: nothing was ever written here that it could need. Creates nothing then.
pub(crate) async fn host_for(
    place: &Place,
    global: &Global,
    printer: &Printer,
    needed: impl FnOnce(&Reader) -> Result<bool, OpenError>,
) -> Result<Option<Client>, Report> {
    if let Some(client) = start::running(place).await? {
        return Ok(Some(client));
    }
    let Some(reader) = Ledger::read(&place.home).map_err(|error| Report::of(&error))? else { return Ok(None) };
    if !needed(&reader).map_err(|error| Report::of(&error))? {
        return Ok(None);
    }
    drop(reader);
    Ok(Some(start::running_or_started(place, global, printer).await?))
}

/// The host that knows a process, by its id or the beginning of one.
pub(crate) async fn host_of(place: &Place, global: &Global, printer: &Printer, id: &str) -> Result<Client, Report> {
    let known = |reader: &Reader| {
        let beginning = if id.starts_with("proc_") { id.to_owned() } else { format!("proc_{id}") };
        Ok(!reader.ids_with_prefix(&beginning)?.is_empty())
    };
    let shown: String = id.chars().filter(|c| !c.is_control()).take(40).collect();
    host_for(place, global, printer, known).await?.ok_or_else(|| {
        Report::new(format!("there is no process '{shown}', and no host runs in this home"))
            .hint("`hermes run -b -- PROGRAM` starts one; `hermes ps` lists what runs")
    })
}

/// Prints a document where one was asked for.
pub(crate) fn document(printer: &Printer, told: &Told) {
    printer.told_document(told);
}

/// Says what stands in the notes and the policy of a document, on stderr.
pub(crate) fn say_notes(printer: &Printer, told: &Told) {
    for note in told.texts("notes") {
        printer.own(note);
    }
    if let Some(message) = told.text("/policy/withheld/message") {
        printer.own(&format!("output was withheld: {message}"));
    }
    for warning in told.texts("/policy/warnings") {
        printer.warn(warning);
    }
}

/// How a process stands, in a few words.
pub(crate) fn status_words(told: &Told) -> String {
    let kind = told.text("/status/kind").unwrap_or("unknown");
    let detail = match kind {
        "exited" | "failed-to-start" => told.signed("/status/code").map(|code| format!(" {code}")),
        "signalled" => told.signed("/status/signal").map(|signal| format!(" {signal}")),
        "stopped" => told.text("/status/by").map(|by| format!(" ({by})")),
        _ => None,
    };
    format!("{kind}{}", detail.unwrap_or_default())
}

/// What hermes exits with for a process: its own code; 1 where it still runs.
pub(crate) fn exit_code(told: &Told) -> i32 {
    match (told.text("/status/kind"), told.signed("exit_code")) {
        (_, Some(code)) => i32::try_from(code).unwrap_or(exit::FAILED),
        (Some("running"), None) => exit::FAILED,
        // Nothing is known of its end.
        _ => exit::HERMES_FAILED,
    }
}

/// The acknowledgement of events that were shown.
pub(crate) async fn acknowledge(client: &Client, events: &[Told]) -> Result<(), Report> {
    let claims: Vec<Value> = events.iter().filter_map(|event| event.argument("claim")).collect();
    if !claims.is_empty() {
        process(client, json!({"action": "ack", "ack": claims})).await?;
    }
    Ok(())
}

/// What a shell would exit with for a command that did not start; none where that is not what went wrong.
pub(crate) fn start_code(error: &CallError) -> Option<i32> {
    match error {
        CallError::Host { told, .. } => i32::try_from(told.signed("/status/code")?).ok(),
        CallError::Gone | CallError::Protocol { .. } => None,
    }
}

impl From<NoHost> for Report {
    fn from(error: NoHost) -> Self {
        Self::of(&error)
    }
}

impl From<CallError> for Report {
    fn from(error: CallError) -> Self {
        Self::of(&error)
    }
}
