//! `hermes doctor`: is everything as it should be, and if not, what to do. It creates nothing in the home.

mod in_hosts;

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use hermes_home::effective::Effective;
use hermes_home::home::{Home, Origin};
use hermes_home::{cache, config};
use hermes_ledger::event::Scope;
use hermes_ledger::live::handle::Ledger;
use hermes_ledger::problem::OpenError as LedgerOpenError;
use hermes_mcp::client::Client;
use hermes_mcp::socket::SocketPath;
use hermes_model::config::Config;
use hermes_model::config::servers::ServerConfig;
use hermes_model::exit;
use hermes_model::id::ServerName;
use hermes_model::suggest;
use hermes_plugins::cache::CompileCache;
use hermes_plugins::engine::{Allocation, Engine, EngineError, Metering};
use hermes_plugins::registry::{Depth, OpenError, Plugins, Row, State};
use serde::Serialize;
use serde_json::json;

use crate::cli::Global;
use crate::commands::mcp::rows;
use crate::host::ask;
use crate::place;
use crate::printer::{Printer, Tone};
use crate::progress::Progress;
use crate::report::Report;
use crate::table;

/// How many events that wait are counted.
const EVENTS_COUNTED: usize = 1000;
/// How long the session's bus is waited for.
const DESKTOP_WAIT: Duration = Duration::from_secs(3);
/// Permission bits that let others into a folder.
const OPEN_TO_OTHERS: u32 = 0o077;

/// Check the home, its plugins and this machine
#[derive(Args)]
#[command(after_help = "Examples:\n  hermes doctor\n  hermes doctor --json\n\nExits with 1 if a check fails.")]
pub(crate) struct DoctorArgs {}

/// One check.
#[derive(Debug, Serialize)]
struct Check {
    name: String,
    state: Verdict,
    message: String,
    next: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Ok,
    Warn,
    Fail,
}

#[derive(Serialize)]
struct Document<'a> {
    ok: bool,
    checks: &'a [Check],
    /// With `-v`: every value in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<&'a [Effective]>,
}

impl Check {
    fn ok(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self { name: name.into(), state: Verdict::Ok, message: message.into(), next: None }
    }

    fn warn(name: impl Into<String>, message: impl Into<String>, next: impl Into<String>) -> Self {
        Self { name: name.into(), state: Verdict::Warn, message: message.into(), next: Some(next.into()) }
    }

    fn fail(name: impl Into<String>, message: impl Into<String>, next: impl Into<String>) -> Self {
        Self { state: Verdict::Fail, ..Self::warn(name, message, next) }
    }
}

pub(crate) fn run(_: &DoctorArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    check(global, printer)
}

/// Runs every check and prints what they found.
pub(crate) fn check(global: &Global, printer: &Printer) -> Result<i32, Report> {
    let (checks, settings) = all(global, printer);
    let ok = checks.iter().all(|check| check.state != Verdict::Fail);
    if printer.is_json() {
        let settings = (global.verbose > 0).then_some(settings.as_slice());
        printer.document(&Document { ok, checks: &checks, settings });
    } else {
        let width = table::width(printer);
        checks.iter().flat_map(|check| lines(check, width, printer)).for_each(|line| printer.line(&line));
        if !settings.is_empty() {
            printer.line("");
            printer.line(&printer.paint(Tone::Strong, "Values in force"));
        }
        for setting in &settings {
            printer.line(&format!("  {} = {} ({})", setting.key, setting.value, setting.source.word()));
        }
    }
    Ok(if ok { exit::OK } else { exit::FAILED })
}

fn lines(check: &Check, width: usize, printer: &Printer) -> Vec<String> {
    let (tone, word) = match check.state {
        Verdict::Ok => (Tone::Good, "ok  "),
        Verdict::Warn => (Tone::Warning, "warn"),
        Verdict::Fail => (Tone::Bad, "fail"),
    };
    let text = format!("{}: {}", check.name, check.message);
    // The colour takes no room, so it is put in when the lines are made.
    let mut out = table::paragraph("     ", "       ", &text, width);
    if let Some(first) = out.first_mut() {
        *first = format!("{} {}", printer.paint(tone, word), first.trim_start());
    }
    if let Some(next) = &check.next {
        out.extend(table::paragraph("       next: ", "         ", next, width));
    }
    out
}

fn all(global: &Global, printer: &Printer) -> (Vec<Check>, Vec<Effective>) {
    let mut checks = Vec::new();
    let mut settings = Vec::new();
    let home = match Home::locate(&place::locate_args(global)) {
        Ok(home) => {
            checks.push(home_check(&home));
            Some(home)
        }
        Err(error) => {
            let text = Report::of(&error).sentence();
            checks.push(Check::fail("home", text, "name a folder of your own with --home or HERMES_HOME"));
            None
        }
    };
    let cache_dir = cache::dir();
    match home {
        Some(home) => {
            let config = config_check(&home, &mut checks, &mut settings);
            checks.push(ledger_check(&home));
            checks.push(running_check(&home));
            if config.notifications.desktop {
                checks.push(desktop_check());
            }
            checks.extend(config.mcp_servers.iter().map(|(name, server)| server_check(name, server)));
            let _progress = Progress::start(printer, "loading plugins");
            match Plugins::open(&home, &config, &cache_dir, Depth::Enabled) {
                Ok(plugins) => {
                    plugin_checks(&plugins, &config, &mut checks);
                    checks.extend(in_hosts::checks(&home, plugins.generation()));
                }
                Err(OpenError::Engine(error)) => checks.push(no_engine(&error)),
                Err(error) => {
                    let text = Report::of(&error).sentence();
                    checks.push(Check::fail("generation", text, "`hermes plugins rollback` returns to the one before"));
                    engine_check(&mut checks);
                }
            }
        }
        None => engine_check(&mut checks),
    }
    // After the engine: opening plugins is what fills the cache.
    checks.push(cache_check(CompileCache::at(&cache_dir).folder()));
    (checks, settings)
}

fn home_check(home: &Home) -> Check {
    let origin = match home.origin() {
        Origin::Default => "the default".to_owned(),
        origin => format!("from {origin}"),
    };
    let profile = home.profile().map(|profile| format!(", profile {profile}")).unwrap_or_default();
    let state = if home.exists() { "yours alone to change" } else { "not created yet; the first change creates it" };
    Check::ok("home", format!("{} ({origin}{profile}), {state}", home.root().display()))
}

/// The configuration, or the defaults where it cannot be used, so that the other checks still mean something.
fn config_check(home: &Home, checks: &mut Vec<Check>, settings: &mut Vec<Effective>) -> Config {
    match config::load(home) {
        Ok(loaded) => {
            let path = loaded.path.display();
            checks.push(if loaded.found {
                Check::ok("config", format!("{path} is in order"))
            } else {
                Check::ok("config", format!("no {path}; everything has its default"))
            });
            *settings = loaded.effective;
            loaded.config
        }
        Err(error) => {
            let text = Report::of(&error).sentence();
            checks.push(Check::fail("config", text, "correct it; the checks below go by the defaults"));
            Config::default()
        }
    }
}

/// What is written about background commands. Looking creates nothing.
fn ledger_check(home: &Home) -> Check {
    let look = || -> Result<Option<(usize, usize)>, LedgerOpenError> {
        let Some(reader) = Ledger::read(home)? else { return Ok(None) };
        Ok(Some((reader.running(&Scope::All)?.len(), reader.pending(&Scope::All, EVENTS_COUNTED)?.len())))
    };
    match look() {
        Ok(None) => Check::ok("ledger", "none yet; the first background command creates it"),
        Ok(Some((running, waiting))) => Check::ok(
            "ledger",
            format!("in order; commands written as running: {running}, events that wait: {waiting}"),
        ),
        Err(error) => {
            let text = Report::of(&error).sentence();
            Check::fail("ledger", text, "no background command is started while it cannot be used; do as it says")
        }
    }
}

/// Whether a host runs, and whether it is of this version: one that is not has another policy in its memory.
fn running_check(home: &Home) -> Check {
    let asked = ask::block_on(async {
        let Some(client) =
            Client::connect(&SocketPath::in_home(home.root())).await.map_err(|error| Report::of(&error))?
        else {
            return Ok(None);
        };
        ask::process(&client, json!({"action": "status"})).await.map(Some)
    });
    match asked {
        Ok(None) => Check::ok("host", "none runs; `hermes run -b` starts one"),
        Ok(Some(told)) => {
            let text = |field| told.text(field).unwrap_or_default();
            let number = |field| told.number(field).unwrap_or_default();
            let message = format!(
                "runs as process {}, version {}, generation {}; running: {}, events that wait: {}",
                number("pid"),
                text("version"),
                number("generation"),
                number("running"),
                number("pending")
            );
            if text("version") == env!("CARGO_PKG_VERSION") {
                Check::ok("host", message)
            } else {
                let next = "end it (`kill` its process) when its commands are over; the next one is of this version";
                Check::warn("host", message, next)
            }
        }
        Err(report) => Check::fail("host", report.sentence(), "end it, and the next `hermes run -b` starts another"),
    }
}

/// Whether somebody shows notifications. Without one events are delivered all the same.
fn desktop_check() -> Check {
    match hermes_desktop::bus::look(DESKTOP_WAIT) {
        Ok(()) => Check::ok("desktop", "notifications are shown"),
        Err(error) => {
            let text = error.to_string();
            let (message, next) = text.split_once(": ").unwrap_or((text.as_str(), "set notifications.desktop = false"));
            Check::warn("desktop", message, next)
        }
    }
}

/// Whether an MCP server could be started from here. Another program that starts hermes may have other variables, so what
/// is missing is a warning.
fn server_check(name: &ServerName, server: &ServerConfig) -> Check {
    let check = format!("server {name}");
    if !server.enabled {
        return Check::ok(check, "disabled");
    }
    match rows::check(name, server) {
        Ok(prepared) if prepared.warnings.is_empty() => Check::ok(check, "its command is found, its variables are set"),
        Ok(prepared) => Check::warn(check, prepared.warnings.join("; "), "correct the value, if it is a mistake"),
        Err(problem) => {
            let text = problem.to_string();
            let (message, next) = text.split_once("; ").unwrap_or((text.as_str(), "correct it in config.toml"));
            Check::warn(check, message, next)
        }
    }
}

fn plugin_checks(plugins: &Plugins, config: &Config, checks: &mut Vec<Check>) {
    let rows = plugins.rows();
    checks.push(Check::ok("generation", format!("{}; plugins: {}", plugins.generation(), rows.len())));
    checks.extend(rows.iter().map(|row| {
        let why = row.name.parse().ok().and_then(|name| plugins.why(&name));
        plugin_check(row, why.map_or(0, |why| why.canaries.len()))
    }));
    checks.extend(config.policy.required.iter().map(|name| {
        let check = format!("required {name}");
        match rows.iter().find(|row| row.name == name.as_str()) {
            Some(row) if row.state == State::Loaded => Check::ok(check, "loaded, its canaries pass"),
            Some(Row { serving: Some(serving), .. }) => {
                let message = format!("its last good version, {}, is in force", serving.version);
                Check::warn(check, message, format!("`hermes plugins why {name}`"))
            }
            Some(Row { state, .. }) => {
                let next = if *state == State::Disabled { "enable" } else { "why" };
                let withholds = plugins.withheld().iter().any(|(by, _)| by == name.as_str());
                let effect = if withholds { "all output is withheld" } else { "events are delivered without it" };
                let message = format!("{}, so {effect}", state.word());
                Check::fail(check, message, format!("`hermes plugins {next} {name}`"))
            }
            None => {
                let next = format!("`hermes plugins install {name}` if it is a bundled one, or install its file");
                Check::fail(check, "not installed, so all output is withheld", next)
            }
        }
    }));
    let withheld = plugins.withheld();
    for name in config.plugins.keys().filter(|name| rows.iter().all(|row| row.name != name.as_str())) {
        let known: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        let message = format!("[plugins.{name}] names no installed plugin{}", suggest::hint(name.as_str(), &known));
        checks.push(Check::warn("config", message, "correct the name, or install the plugin"));
    }
    checks.push(match withheld.first() {
        None if checks.iter().any(|check| check.name == "config" && check.state == Verdict::Fail) => {
            Check::fail("output", "no command runs while config.toml cannot be used", "correct config.toml")
        }
        None if plugins.redactors() == 0 => Check::warn(
            "output",
            "is released as it is: no redactor is in force",
            "`hermes plugins enable redact-secrets`, or install a redactor",
        ),
        None => Check::ok("output", "is released, redacted"),
        Some((name, code)) => {
            let next = "see the check of this plugin above; `hermes plugins rollback` undoes the last change";
            Check::fail("output", format!("all of it is withheld: {name} ({code})"), next)
        }
    });
    checks.push(allocation_check(plugins.loader().engine.allocation()));
}

fn plugin_check(row: &Row, canaries: usize) -> Check {
    let name = format!("plugin {}", row.name);
    let version = row.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    match (row.state, row.problems.first()) {
        (State::Loaded, _) if canaries == 0 => Check::ok(name, format!("loaded{version}")),
        (State::Loaded, _) => Check::ok(name, format!("loaded{version}, canaries that pass: {canaries}")),
        (State::Disabled, _) => Check::ok(name, "disabled"),
        (state, Some(problem)) if state.word() == problem.code.word() => {
            Check::fail(name, format!("{}: {}", state.word(), problem.message), problem.next.as_str())
        }
        (state, Some(problem)) => {
            Check::fail(name, format!("{}, {}: {}", state.word(), problem.code, problem.message), problem.next.as_str())
        }
        (state, None) => Check::fail(name, state.word(), format!("`hermes plugins why {}`", row.name)),
    }
}

fn engine_check(checks: &mut Vec<Check>) {
    checks.push(match Engine::start(Metering::Epoch) {
        Ok(engine) => allocation_check(engine.allocation()),
        Err(error) => no_engine(&error),
    });
}

fn no_engine(error: &EngineError) -> Check {
    Check::fail("engine", error.to_string(), "hermes needs a 64-bit processor and address space (ulimit -v)")
}

fn allocation_check(allocation: Allocation) -> Check {
    match allocation {
        Allocation::Pooling => Check::ok("engine", "instances come from a pool"),
        Allocation::OnDemand => Check::warn(
            "engine",
            "instances are made one by one, which is slower: there is no address space for a pool",
            "raise the limit of address space (ulimit -v unlimited)",
        ),
    }
}

/// Compiled code is believed only in a folder of the user's own.
fn cache_check(folder: &Path) -> Check {
    let path = folder.display();
    let Ok(metadata) = folder.symlink_metadata() else {
        return Check::ok("cache", format!("{path} is not there yet; the first plugin that is compiled creates it"));
    };
    let ours = Path::new("/proc/self").metadata().map(|process| process.uid());
    let mode = metadata.mode() & 0o777;
    if !metadata.is_dir() {
        return Check::fail(
            "cache",
            format!("{path} is not a folder, so plugins are compiled each time"),
            "move it away",
        );
    }
    if ours.is_ok_and(|uid| uid != metadata.uid()) {
        let next = "set XDG_CACHE_HOME to a folder of your own";
        return Check::fail("cache", format!("{path} belongs to another user, so it is not used"), next);
    }
    if mode & OPEN_TO_OTHERS != 0 {
        let message = format!("{path} is open to others (mode {mode:03o}), so plugins are compiled each time");
        return Check::fail("cache", message, format!("`chmod 700 '{path}'`"));
    }
    Check::ok("cache", format!("{path}, yours alone"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_cache_that_others_can_enter_is_a_failure_with_its_remedy() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let check = cache_check(folder.path());
        assert_eq!(check.state, Verdict::Fail);
        assert!(check.next.unwrap().contains("chmod 700"));
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(cache_check(folder.path()).state, Verdict::Ok);
        assert_eq!(cache_check(&folder.path().join("none")).state, Verdict::Ok);
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(cache_check(&file).state, Verdict::Fail);
    }

    #[test]
    fn unknown_is_null_in_the_document() {
        let json = serde_json::to_string(&Document { ok: true, checks: &[Check::ok("home", "here")], settings: None })
            .unwrap();
        assert_eq!(json, r#"{"ok":true,"checks":[{"name":"home","state":"ok","message":"here","next":null}]}"#);
    }
}
