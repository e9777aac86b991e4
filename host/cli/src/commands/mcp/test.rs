//! `hermes mcp test`: starts one server as a host would, looks whether it answers, and ends it.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use hermes_mcp::servers::handle::{Server, Setting};
use hermes_mcp::trial::{self, Trial};
use hermes_model::config::servers::ServerConfig;
use hermes_model::exit;
use hermes_model::id::ServerName;
use hermes_output::policy::InForce;
use hermes_output::visible::Visible;
use hermes_plugins::registry::Depth;
use hermes_process::environment::Environment;
use hermes_process::host::Host;
use serde::Serialize;

use super::remove::unknown;
use crate::cli::Global;
use crate::foreground::StartError;
use crate::foreground::signals::{Caught, Signals};
use crate::host::current::Current;
use crate::place::Place;
use crate::printer::{Printer, Tone};
use crate::progress::Progress;
use crate::report::Report;

/// Start one server, see whether it answers, and end it
///
/// It is started as a host would start it, with the same environment and the same checks. Exits with 1 when it is not
/// well, and says why.
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes mcp test git\n  hermes mcp test git --timeout 5m --json")]
pub(crate) struct TestArgs {
    /// Its name.
    name: ServerName,
    /// How long it may take to be ready, in place of its connect_timeout.
    #[arg(long, value_name = "TIME", value_parser = crate::commands::run::time_limit)]
    timeout: Option<Duration>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    name: &'a ServerName,
    ok: bool,
    connect_ms: Option<u64>,
    protocol: Option<&'a str>,
    tools: &'a [Visible],
    problem: Option<&'a Visible>,
}

pub(crate) fn run(args: &TestArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    let place = Place::find(global)?;
    let Some(config) = place.config.mcp_servers.get(&args.name) else {
        return Err(unknown(&args.name, &place.config));
    };
    // One that is switched off can be tried before it is switched on.
    let mut config = ServerConfig { enabled: true, ..config.clone() };
    if let Some(timeout) = args.timeout {
        config.connect_timeout = timeout;
    }
    let current = Current::new(place.open(Depth::Enabled, printer)?, &place);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Report::of(&StartError::Runtime(error)))?;
    let tried = {
        let _progress = Progress::start(printer, "starting the server");
        runtime.block_on(attempt(&args.name, config, &place, current))
    };
    // Whoever still holds a server or the host is gone before this returns, and with it what was started.
    runtime.shutdown_timeout(Duration::from_secs(5));
    match tried.map_err(|error| Report::of(&error))? {
        Ok(trial) => Ok(tell(&args.name, &trial, printer)),
        Err(caught) => {
            printer.own(&format!("ended before the test was over ({})", caught.name()));
            Ok(exit::SIGNAL_BASE + caught.number())
        }
    }
}

/// The trial, or the signal that ended it early.
async fn attempt(
    name: &ServerName,
    config: ServerConfig,
    place: &Place,
    in_force: Arc<dyn InForce>,
) -> Result<Result<Trial, Caught>, StartError> {
    let mut signals = Signals::listen().map_err(StartError::Signals)?;
    let host = Host::start_with(crate::SUPERVISOR)?;
    let setting = Setting {
        host,
        in_force: Arc::clone(&in_force),
        environment: Environment::inherit(),
        logs: place.home.root().join("logs").join(format!("mcp-{name}.log")),
    };
    let server = Server::new(name.clone(), config, setting);
    let tried = tokio::select! {
        trial = trial::run(&server, &in_force) => return Ok(Ok(trial)),
        caught = signals.next() => caught,
    };
    server.shut_down().await;
    Ok(Err(tried))
}

fn tell(name: &ServerName, trial: &Trial, printer: &Printer) -> i32 {
    let ok = trial.problem.is_none();
    let connect_ms = trial.connect.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    if printer.is_json() {
        let (protocol, problem) = (trial.protocol.as_deref(), trial.problem.as_ref());
        printer.document(&Document { name, ok, connect_ms, protocol, tools: &trial.tools, problem });
    } else if let Some(problem) = &trial.problem {
        printer.line(&printer.paint(Tone::Bad, &format!("{name} is not well: {problem}")));
    } else {
        let protocol = trial.protocol.as_deref().unwrap_or("an unnamed version");
        printer.line(&format!(
            "{name} is well: ready after {} ms, protocol {protocol}, {} tools",
            connect_ms.unwrap_or_default(),
            trial.tools.len()
        ));
        trial.tools.iter().for_each(|tool| printer.line(&format!("  {tool}")));
    }
    if ok { exit::OK } else { exit::FAILED }
}
