//! The servers of a home as rows: what is configured, whether it could be started, where it stands in the hosts that run.

use std::path::Path;
use std::time::Duration;

use hermes_mcp::client::Client;
use hermes_mcp::hosts;
use hermes_mcp::socket::SocketPath;
use hermes_mcp::told::Told;
use hermes_model::config::Config;
use hermes_model::config::servers::ServerConfig;
use hermes_model::id::ServerName;
use hermes_process::environment::Environment;
use hermes_process::server::{self, NotReady, Prepared};
use hermes_process::spec::{CommandSpec, Program};
use serde::Serialize;
use serde_json::json;

use crate::host::ask::arguments;
use crate::report::Report;
use crate::view::Desk;

/// How long a host may take to say how its servers stand: it looks nothing up.
const PATIENCE: Duration = Duration::from_secs(5);

/// One server, as `--json` has it. A host that runs it says the rest.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) name: ServerName,
    pub(crate) enabled: bool,
    /// The host that runs it, by the number of its process.
    pub(crate) host: Option<u32>,
    /// Its command line as it is written, variables not put in, through the policy here or in its host.
    pub(crate) command: String,
    pub(crate) state: String,
    pub(crate) tools: Option<u64>,
    pub(crate) pid: Option<i32>,
    pub(crate) uptime_ms: Option<u64>,
    pub(crate) restarts: Option<u64>,
    pub(crate) protocol: Option<String>,
    pub(crate) problem: Option<String>,
}

/// The configured servers as they stand where no host runs them.
pub(crate) fn stopped(config: &Config, desk: &Desk) -> Vec<Row> {
    let row = |(name, server): (&ServerName, &ServerConfig)| Row {
        name: name.clone(),
        enabled: server.enabled,
        host: None,
        command: desk.text(&command_line(server)).text.to_string(),
        state: "stopped".to_owned(),
        tools: None,
        pid: None,
        uptime_ms: None,
        restarts: None,
        protocol: None,
        // What is switched off need not be in order.
        problem: if server.enabled { check(name, server).err().map(|problem| problem.to_string()) } else { None },
    };
    config.mcp_servers.iter().map(row).collect()
}

/// The same with what the hosts say that run: a row for each host that has a server, in place of the one that says that
/// it is stopped. A host that does not answer is left out, and named.
pub(crate) async fn with_hosts(configured: Vec<Row>, home: &Path) -> (Vec<Row>, Vec<String>) {
    let (mut running, mut silent) = (Vec::new(), Vec::new());
    for at in hosts::found(home) {
        let path = at.path();
        let asked = tokio::time::timeout(PATIENCE, ask(&at)).await;
        match asked {
            Ok(Ok(Some(told))) => running.extend(rows_of(&told, hosts::pid_of(&path))),
            // It has just ended.
            Ok(Ok(None)) => {}
            Ok(Err(report)) => silent.push(report.sentence()),
            Err(_) => silent.push(format!("the host at '{}' does not answer", path.display())),
        }
    }
    let mut rows: Vec<Row> = configured;
    rows.retain(|row| !running.iter().any(|other: &Row| other.name == row.name));
    rows.extend(running);
    rows.sort_by(|one, other| (&one.name, one.host).cmp(&(&other.name, other.host)));
    (rows, silent)
}

async fn ask(at: &SocketPath) -> Result<Option<Told>, Report> {
    let Some(client) = Client::connect(at).await.map_err(|error| Report::of(&error))? else { return Ok(None) };
    Ok(Some(client.call("servers", arguments(json!({"action": "list"}))).await?.into_told()))
}

/// What one host says.
fn rows_of(told: &Told, host: Option<u32>) -> Vec<Row> {
    let text = |row: &Told, place: &str| row.text(place).map(str::to_owned);
    let row = |row: Told| {
        Some(Row {
            name: row.text("name")?.parse().ok()?,
            enabled: true,
            host,
            command: text(&row, "command").unwrap_or_default(),
            state: text(&row, "state")?,
            tools: row.number("tools"),
            pid: row.number("pid").and_then(|pid| i32::try_from(pid).ok()),
            uptime_ms: row.number("uptime_ms"),
            restarts: row.number("restarts"),
            protocol: text(&row, "protocol"),
            problem: text(&row, "problem"),
        })
    };
    told.items("servers").into_iter().filter_map(row).collect()
}

/// Whether a server could be started from here, in this environment.
pub(crate) fn check(name: &ServerName, config: &ServerConfig) -> Result<Prepared, NotReady> {
    let folder = std::env::current_dir().unwrap_or_else(|_| "/".into());
    server::prepare(name, config, &Environment::inherit(), &folder)
}

fn command_line(server: &ServerConfig) -> String {
    let args = server.args.iter().map(Into::into).collect();
    CommandSpec::new(Program::Exec { program: (&server.command).into(), args }).display_command()
}
