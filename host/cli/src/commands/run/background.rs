//! `hermes run -b`: the command goes to the running host, which is started if there is none.

use std::ffi::OsStr;
use std::time::{Duration, Instant};

use hermes_mcp::client::{CallError, Reply};
use hermes_model::exit;
use hermes_process::environment::Environment;
use serde_json::{Map, Value, json};

use super::{EXAMPLE, ProgramAsked, RunArgs};
use crate::cli::Global;
use crate::host::{ask, start};
use crate::place::Place;
use crate::printer::Printer;
use crate::report::Report;

/// The word of a host that starts nothing more.
const ENDING: &str = "busy";
/// How long a host that is ending is waited for.
const NEXT_HOST: Duration = Duration::from_secs(30);
/// How soon the next one is looked for.
const AGAIN: Duration = Duration::from_millis(50);

/// Starts the command in the background and prints its id.
pub(super) fn run(args: &RunArgs, program: ProgramAsked, global: &Global, printer: &Printer) -> Result<i32, Report> {
    let own_failure = |report: Report| report.exits(exit::HERMES_FAILED);
    let asked = arguments(args, program, printer).map_err(own_failure)?;
    let place = Place::find(global).map_err(own_failure)?;
    ask::block_on(async {
        let answer = start_in_host(&place, global, printer, asked).await.map_err(own_failure)?;
        let reply = answer.map_err(|error| {
            let code = ask::start_code(&error).unwrap_or(exit::HERMES_FAILED);
            Report::from(error).exits(code)
        })?;
        let told = reply.into_told();
        if printer.is_json() {
            ask::document(printer, &told);
        } else {
            let id = told.text("id").unwrap_or_default();
            printer.told_line(id);
            ask::say_notes(printer, &told);
            if printer.shows_progress() {
                printer.own(&format!("runs in the background; `hermes logs {id} --follow` shows it"));
            }
        }
        Ok(exit::OK)
    })
}

/// Asks the host to start it. One that is just ending starts nothing: then the next one is asked.
async fn start_in_host(
    place: &Place,
    global: &Global,
    printer: &Printer,
    asked: Map<String, Value>,
) -> Result<Result<Reply, CallError>, Report> {
    let deadline = Instant::now() + NEXT_HOST;
    loop {
        let client = start::running_or_started(place, global, printer).await?;
        match client.call("terminal", asked.clone()).await {
            Err(CallError::Host { code, .. }) if code == ENDING && Instant::now() < deadline => {
                drop(client);
                tokio::time::sleep(AGAIN).await;
            }
            answer => return Ok(answer),
        }
    }
}

fn arguments(args: &RunArgs, program: ProgramAsked, printer: &Printer) -> Result<Map<String, Value>, Report> {
    let cwd = match &args.cwd {
        Some(cwd) => std::path::absolute(cwd).map_err(|error| Report::of(&error))?,
        None => std::env::current_dir().map_err(|error| {
            Report::new(format!("the current folder cannot be read ({error})")).hint("name one with --cwd")
        })?,
    };
    let (command, words) = match program {
        ProgramAsked::Shell(text) => (Some(text), None),
        ProgramAsked::Exec(program, rest) => {
            let words: Result<Vec<String>, Report> =
                std::iter::once(&program).chain(&rest).map(|word| text(word, "an argument")).collect();
            (None, Some(words?))
        }
    };
    let (base, dropped) = variables(&Environment::inherit());
    if dropped > 0 {
        printer.warn(&format!("{dropped} variables of the environment are not UTF-8 and are not passed on"));
    }
    let set: Map<String, Value> = args
        .env
        .iter()
        .filter_map(|pair| pair.to_str()?.split_once('='))
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    if set.len() < args.env.len() {
        return Err(crate::usage::wrong(
            "run",
            "a value given with --env is not UTF-8, or a name is given twice",
            EXAMPLE,
        ));
    }
    let milliseconds = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Ok(ask::arguments(json!({
        "command": command,
        "program": words,
        "background": true,
        "cwd": text(cwd.as_os_str(), "the folder's name")?,
        "timeout_ms": args.timeout.map(milliseconds),
        "pty": args.pty.map(|size| match size {
            Some((rows, cols)) => json!({"rows": rows, "cols": cols}),
            None => json!(true),
        }),
        "notify": args.notify.then_some(true),
        "watch": (!args.watch.is_empty()).then_some(&args.watch),
        "heartbeat_ms": args.heartbeat.map(milliseconds),
        "persist": args.persist.then_some(true),
        "stdin": args.stdin.then_some(true),
        "owner": args.owner,
        "env": (!set.is_empty()).then_some(set),
        "base_env": base,
    })))
}

/// A word as JSON can carry it.
fn text(word: &OsStr, what: &str) -> Result<String, Report> {
    word.to_str().map(str::to_owned).ok_or_else(|| {
        Report::new(format!("{what} is not UTF-8, and a background command cannot be given it"))
            .hint("put the command into a script, and run that")
    })
}

/// The variables JSON can carry, and how many others there are.
fn variables(environment: &Environment) -> (Map<String, Value>, usize) {
    let all: Vec<_> =
        environment.iter().map(|(name, value)| Some((name.to_str()?.to_owned(), json!(value.to_str()?)))).collect();
    let dropped = all.iter().filter(|pair| pair.is_none()).count();
    (all.into_iter().flatten().collect(), dropped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_utf_8_is_refused_or_counted() {
        use std::os::unix::ffi::OsStrExt;
        let bad = OsStr::from_bytes(b"\xff");
        assert!(text(bad, "an argument").is_err());
        let mut environment = Environment::empty();
        environment.set("GOOD", "x").set("BAD", bad);
        let (variables, dropped) = variables(&environment);
        assert_eq!((variables.get("GOOD"), dropped), (Some(&json!("x")), 1));
    }
}
