//! `terminal`: starts a command, and waits for it where it is one of the foreground.
//!
//! It must never leave a foreground command running that nobody waits for and nobody was told of.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hermes_model::duration;
use hermes_model::id::Owner;
use hermes_process::order::{Asked, Order, Prepared};
use hermes_process::registry::request::Request;
use hermes_process::spec::PtySize;
use rmcp::model::JsonObject;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::arguments::Given;
use super::trouble::Trouble;
use super::{TERMINAL, document};
use crate::offer::Patience;
use crate::session::{Asker, Session};

/// Every field of the tool.
pub(super) const FIELDS: [&str; 14] = [
    "command",
    "program",
    "background",
    "timeout_ms",
    "cwd",
    "pty",
    "notify",
    "watch",
    "heartbeat_ms",
    "persist",
    "stdin",
    "env",
    "owner",
    "base_env",
];

/// Fields that only mean something for a command nobody waits for.
const BACKGROUND_ONLY: [&str; 6] = ["pty", "notify", "watch", "heartbeat_ms", "persist", "stdin"];

/// What was asked for, checked.
struct Wanted {
    order: Order,
    notify: bool,
    watch: Vec<String>,
    heartbeat: Option<Duration>,
    notes: Vec<String>,
}

/// Carries out a call.
pub(super) async fn call(
    session: &Arc<Session>,
    arguments: JsonObject,
    cancelled: &CancellationToken,
) -> Result<Value, Trouble> {
    let offer = &session.offer;
    let given = Given::new(TERMINAL, arguments, &FIELDS)?;
    let Wanted { order, notify, watch, heartbeat, mut notes } =
        read(&given, &session.asker, session.owner(&given)?, offer.patience)?;
    drop(given);
    let background = order.background;
    let prepared = tokio::select! {
        biased;
        () = cancelled.cancelled() => return Err(Trouble::cancelled()),
        prepared = offer.orders.prepare(order) => prepared?,
    };
    let Prepared { spec, notes: more } = prepared;
    notes.extend(more);
    let request = Request { notify, watch, heartbeat, ..Request::new(spec) };
    let mut run = if background {
        offer.registry.start_in_background(request).await?
    } else {
        let patience = offer.patience.foreground;
        offer.registry.run(request, patience, cancelled.cancelled()).await?.ok_or_else(Trouble::cancelled)?
    };
    notes.append(&mut run.notes);
    run.notes = notes;
    document(run)
}

/// Reads what is wanted.
fn read(given: &Given, asker: &Asker, owner: Owner, patience: Patience) -> Result<Wanted, Trouble> {
    let asked = asked(given)?;
    let mut background = given.flag("background")?;
    if !background && let Some(field) = BACKGROUND_ONLY.iter().find(|field| given.says(field)) {
        return Err(Trouble::arguments(format!(
            "terminal: '{field}' needs 'background': true: a foreground command has ended before anybody could use it"
        )));
    }
    let base_env = given.pairs("base_env")?;
    if base_env.is_some() && *asker != Asker::Person {
        return Err(Trouble::new(
            super::trouble::Code::Refused,
            "'base_env' is for the command line: leave it out, and set single variables with 'env'",
        ));
    }
    let (mut notify, watch) = told_of(given)?;
    let mut timeout = given.time("timeout_ms")?;
    let mut notes = Vec::new();
    if !background && let Some(long) = timeout.filter(|timeout| *timeout > patience.foreground) {
        (background, notify) = (true, true);
        notes.push(format!(
            "a foreground command may take {}; this one may take {} and was started in the background: its end will be an \
             event",
            duration::display(patience.foreground),
            duration::display(long)
        ));
    }
    if !background && timeout.is_none() && *asker != Asker::Person {
        timeout = Some(patience.wait);
    }
    let heartbeat = given.number("heartbeat_ms")?.filter(|beat| *beat > 0).map(Duration::from_millis);
    let pairs = |pairs: Vec<(String, String)>| pairs.into_iter().map(|(name, value)| (name.into(), value.into()));
    let order = Order {
        asked,
        background,
        cwd: given.text("cwd")?.filter(|cwd| !cwd.is_empty()).map(PathBuf::from),
        base_env: base_env.map(|base| pairs(base).collect()),
        env: given.pairs("env")?.map(|env| pairs(env).collect()).unwrap_or_default(),
        timeout,
        pty: pty(given)?,
        owner,
        stdin: given.flag("stdin")?,
        persist: given.flag("persist")?,
        advise: *asker != Asker::Person,
    };
    if *asker == Asker::Person && order.cwd.as_ref().is_some_and(|cwd| cwd.is_relative()) {
        return Err(Trouble::arguments(
            "terminal: 'cwd' must be an absolute path: the host runs in a folder of its own",
        ));
    }
    Ok(Wanted { order, notify, watch, heartbeat, notes })
}

fn asked(given: &Given) -> Result<Asked, Trouble> {
    let command = given.text("command")?.filter(|command| !command.trim().is_empty());
    let program = given.texts("program")?;
    if program.first().is_some_and(String::is_empty) || program.iter().any(|word| word.contains('\0')) {
        return Err(Trouble::arguments("terminal: 'program' begins with a name, and no word of it holds a zero byte"));
    }
    match (command, program.is_empty()) {
        (Some(command), true) => Ok(Asked::Shell(command.to_owned())),
        (None, false) => Ok(Asked::Exec(program.into_iter().map(OsString::from).collect())),
        (Some(_), false) => Err(Trouble::arguments(
            "terminal: give 'command', a text for the shell, or 'program', a list of words without a shell; not both",
        )),
        (None, true) => Err(Trouble::arguments(
            "terminal: there is nothing to run: give 'command', a text for the shell, as in {\"command\": \"ls -l\"}",
        )),
    }
}

/// Whether the end is an event, and which texts make one.
fn told_of(given: &Given) -> Result<(bool, Vec<String>), Trouble> {
    let watch = given.texts("watch")?;
    match given.raw("notify") {
        Some(Value::Array(list)) => {
            if !list.is_empty() && !watch.is_empty() {
                return Err(Trouble::arguments(
                    "terminal: give the texts to watch for in 'watch' or in 'notify', not in both",
                ));
            }
            Ok((false, if watch.is_empty() { given.texts("notify")? } else { watch }))
        }
        None | Some(Value::Bool(_)) => Ok((given.flag("notify")?, watch)),
        Some(_) => Err(Trouble::arguments("terminal: 'notify' must be true, false, or a list of texts to watch for")),
    }
}

fn pty(given: &Given) -> Result<Option<PtySize>, Trouble> {
    match given.raw("pty") {
        Some(Value::Object(size)) => {
            if let Some(other) = size.keys().find(|side| !["rows", "cols"].contains(&side.as_str())) {
                let hint = hermes_model::suggest::hint(other, &["rows", "cols"]);
                return Err(Trouble::arguments(format!(
                    "terminal: 'pty' has 'rows' and 'cols' and nothing else{hint}"
                )));
            }
            let (rows, cols) = given.size(size.get("rows"), size.get("cols"))?;
            Ok(Some(PtySize { rows, cols }))
        }
        _ => Ok(given.flag("pty")?.then(PtySize::default)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PATIENCE: Patience = Patience { wait: Duration::from_secs(180), foreground: Duration::from_secs(600) };

    fn wanted_by(asker: &Asker, fields: Value) -> Result<Wanted, String> {
        let given =
            Given::new(TERMINAL, fields.as_object().unwrap().clone(), &FIELDS).map_err(|error| error.message)?;
        read(&given, asker, Owner::default(), PATIENCE).map_err(|error| error.message)
    }

    fn wanted(fields: Value) -> Result<Wanted, String> {
        wanted_by(&Asker::Person, fields)
    }

    fn agent() -> Asker {
        Asker::Agent(Owner::new("a"))
    }

    #[test]
    fn a_command_or_a_program_is_run_and_never_both_or_none() {
        assert!(matches!(wanted(json!({"command": "ls"})).unwrap().order.asked, Asked::Shell(text) if text == "ls"));
        let Asked::Exec(words) = wanted(json!({"program": ["ls", "-l"], "command": ""})).unwrap().order.asked else {
            panic!("a program")
        };
        assert_eq!(words, ["ls", "-l"]);
        for bad in
            [json!({}), json!({"command": " "}), json!({"command": "a", "program": ["b"]}), json!({"program": [""]})]
        {
            assert!(wanted(bad).is_err());
        }
    }

    #[test]
    fn what_only_a_background_command_can_have_is_refused_in_the_foreground_and_says_how() {
        let fields = [
            ("pty", json!(true)),
            ("pty", json!({"rows": 24, "cols": 80})),
            ("notify", json!(true)),
            ("notify", json!(["ready"])),
            ("watch", json!(["ready"])),
            ("heartbeat_ms", json!(1)),
            ("persist", json!(true)),
            ("stdin", json!(true)),
        ];
        for (field, value) in fields {
            let error = wanted(json!({"command": "ls", field: value})).err().unwrap();
            assert!(error.contains(field) && error.contains("'background': true"), "{error}");
            wanted(json!({"command": "ls", "background": true, field: value}))
                .unwrap_or_else(|error| panic!("{error}"));
        }
    }

    #[test]
    fn a_model_that_writes_out_every_field_is_understood_in_the_foreground() {
        let all = json!({"command": "ls", "program": [], "background": false, "timeout_ms": null, "cwd": "", "pty": false,
            "notify": false, "watch": [], "heartbeat_ms": 0, "persist": false, "stdin": false, "env": {}, "owner": null,
            "base_env": null});
        let wanted = wanted_by(&agent(), all).unwrap();
        assert!(!wanted.order.background && wanted.order.cwd.is_none() && wanted.heartbeat.is_none());
        assert_eq!(wanted.order.timeout, Some(PATIENCE.wait), "an agent's command never runs for ever");
    }

    #[test]
    fn a_timeout_beyond_what_is_waited_for_goes_to_the_background_and_says_so() {
        let at_most = wanted(json!({"command": "make", "timeout_ms": 600_000})).unwrap();
        assert!(!at_most.order.background && at_most.notes.is_empty());
        let beyond = wanted(json!({"command": "make", "timeout_ms": 600_001})).unwrap();
        assert!(beyond.order.background && beyond.notify && beyond.notes[0].contains("background"));
        assert_eq!(beyond.order.timeout, Some(Duration::from_millis(600_001)));
    }

    #[test]
    fn a_person_is_not_timed_or_advised_and_names_a_whole_folder() {
        let order = wanted(json!({"command": "make", "cwd": "/tmp"})).unwrap().order;
        assert!(order.timeout.is_none() && !order.advise);
        assert!(wanted(json!({"command": "make", "cwd": "src"})).err().unwrap().contains("absolute"));
        assert!(wanted_by(&agent(), json!({"command": "make", "cwd": "src"})).unwrap().order.advise);
    }

    #[test]
    fn an_agent_cannot_choose_what_its_command_inherits() {
        assert!(wanted_by(&agent(), json!({"command": "env", "base_env": {}})).is_err());
        let order = wanted(json!({"command": "env", "base_env": {"A": "1"}})).unwrap().order;
        assert_eq!(order.base_env.unwrap(), [("A".into(), "1".into())]);
    }

    #[test]
    fn texts_to_watch_for_may_stand_in_notify() {
        let told = |fields: Value| wanted(fields).map(|wanted| (wanted.notify, wanted.watch));
        let base = |more: Value| {
            let mut fields = json!({"command": "x", "background": true});
            fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            fields
        };
        assert_eq!(told(base(json!({"notify": ["a"]}))).unwrap(), (false, vec!["a".to_owned()]));
        assert_eq!(told(base(json!({"notify": true, "watch": ["a"]}))).unwrap(), (true, vec!["a".to_owned()]));
        assert!(told(base(json!({"notify": ["a"], "watch": ["b"]}))).is_err());
        assert!(told(base(json!({"notify": "a"}))).is_err());
    }

    #[test]
    fn a_terminal_has_a_size_within_reason() {
        let pty = |pty: Value| wanted(json!({"command": "top", "background": true, "pty": pty})).map(|w| w.order.pty);
        assert_eq!(pty(json!({"rows": 5, "cols": 7})).unwrap(), Some(PtySize { rows: 5, cols: 7 }));
        assert_eq!(pty(json!(true)).unwrap(), Some(PtySize::default()));
        for bad in [json!({"rows": 0, "cols": 7}), json!({"rows": 5}), json!({"rows": 5, "colls": 7}), json!("yes")] {
            assert!(pty(bad).is_err());
        }
    }
}
