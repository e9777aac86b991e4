//! Answers as a model reads them: the output as it is, with a short line of what became of it. The whole document stands
//! beside it, for programs.
//!
//! It must never say anything that does not stand in the document.

use std::fmt::Write;

use serde_json::{Value, json};

use super::trouble::Trouble;

/// The answer to a call that was carried out: for a model where `is_read`, and else for a program.
pub(crate) fn success(document: Value, is_read: bool) -> Value {
    let text = if is_read { text_of(&document) } else { document.to_string() };
    json!({"content": [{"type": "text", "text": text}], "structuredContent": document, "isError": false})
}

/// The answer to a call that came to nothing.
pub(crate) fn failure(trouble: &Trouble) -> Value {
    let text = format!("{}: {}", trouble.code.name(), trouble.message);
    json!({"content": [{"type": "text", "text": text}], "structuredContent": trouble.document(), "isError": true})
}

fn text_of(document: &Value) -> String {
    if let Some(processes) = document.get("processes").and_then(Value::as_array) {
        return listed(processes);
    }
    if let Some(events) = document.get("events").and_then(Value::as_array) {
        return told(events, document);
    }
    if let Some(killed) = document.get("killed").and_then(Value::as_array) {
        let all: Vec<String> = killed.iter().map(text_of).collect();
        return if all.is_empty() { "nothing of yours runs".to_owned() } else { all.join("\n\n") };
    }
    match document.get("output").or_else(|| document.get("preview")).and_then(Value::as_str) {
        Some(output) => with_output(output, document),
        None => format!("[{}]", facts(document).join(" · ")),
    }
}

fn with_output(output: &str, document: &Value) -> String {
    let mut text = output.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let _ = write!(text, "[{}]", facts(document).join(" · "));
    for note in strings(document, "notes").chain(strings(&document["policy"], "warnings")) {
        let _ = write!(text, "\n[note: {note}]");
    }
    text
}

/// What is known of a process beside its output, each in a few words.
fn facts(document: &Value) -> Vec<String> {
    let mut facts = Vec::new();
    let text = |field: &str| document.get(field).and_then(Value::as_str);
    let number = |field: &str| document.get(field).and_then(Value::as_u64);
    facts.extend(text("id").map(str::to_owned));
    facts.extend(text("kind").map(str::to_owned));
    facts.extend(text("result").map(str::to_owned));
    facts.extend(status(document));
    if let Some(lines) = number("lines") {
        let first = number("first_line").unwrap_or(0);
        facts.extend(which_lines(first, lines, number("total_lines").unwrap_or(lines)));
    }
    facts.extend(number("bytes_written").filter(|bytes| *bytes > 0).map(|bytes| format!("{bytes} bytes sent")));
    facts.extend(number("acknowledged").map(|count| format!("{count} acknowledged")));
    facts.extend(number("stale").filter(|count| *count > 0).map(|count| format!("{count} not held any more")));
    if let Some(running) = number("running") {
        let pending = number("pending").unwrap_or(0);
        facts.push(format!("hermes {}", text("version").unwrap_or_default()));
        facts.push(format!("{running} processes run in it · {pending} events wait for you"));
    }
    let took = number("duration_ms").or_else(|| number("uptime_ms"));
    facts.extend(
        took.map(|ms| if ms < 1000 { format!("{ms} ms") } else { format!("{}.{} s", ms / 1000, ms % 1000 / 100) }),
    );
    if document.get("timed_out") == Some(&Value::Bool(true)) {
        facts.push("not ended yet: wait again, or go on with something else".to_owned());
    }
    match text("cursor") {
        Some(cursor) => facts.push(format!("go on with cursor {cursor}")),
        None if document.get("ended") == Some(&Value::Bool(true)) => facts.push("nothing more comes".to_owned()),
        None => {}
    }
    if document.get("output_cut") == Some(&Value::Bool(true)) && number("lines").is_none() {
        facts.push("a part of the output is not shown".to_owned());
    }
    if let Some(survivors) = document.get("survivors").and_then(Value::as_array).filter(|all| !all.is_empty()) {
        facts.push(format!("{} of its processes could not be ended", survivors.len()));
    }
    if facts.is_empty() {
        facts.push("done".to_owned());
    }
    facts
}

/// Which lines of a log are shown, counted from 1 as people and editors do, and where the next ones begin.
fn which_lines(first: u64, lines: u64, total: u64) -> Vec<String> {
    let end = first + lines;
    let shown =
        if lines == 0 { format!("no lines of {total}") } else { format!("lines {}-{end} of {total}", first + 1) };
    let next = (lines > 0 && end < total).then(|| format!("go on with offset {end}"));
    std::iter::once(shown).chain(next).collect()
}

fn status(document: &Value) -> Option<String> {
    let status = document.get("status").filter(|status| status.is_object())?;
    let kind = status["kind"].as_str()?;
    let said = match (kind, status["code"].as_i64(), status["signal"].as_i64()) {
        ("exited", Some(code), _) => format!("exit code {code}"),
        ("signalled", _, Some(signal)) => format!("ended by signal {signal}"),
        _ => kind.to_owned(),
    };
    match status["reason"].as_str() {
        Some(reason) => Some(format!("{said}: {reason}")),
        None => Some(said),
    }
}

fn listed(processes: &[Value]) -> String {
    if processes.is_empty() {
        return "no process of yours".to_owned();
    }
    let line = |row: &Value| format!("{}\n  $ {}", facts(row).join(" · "), row["command"].as_str().unwrap_or_default());
    processes.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn told(events: &[Value], document: &Value) -> String {
    let mut all: Vec<String> = events
        .iter()
        .map(|event| {
            let process = event["process"].as_str().unwrap_or("the host");
            format!("{process}: {}", with_output(event["output"].as_str().unwrap_or_default(), event))
        })
        .collect();
    match document.get("pending").and_then(Value::as_u64) {
        Some(pending) if pending > events.len() as u64 => {
            all.push(format!("[{} more wait: ask again]", pending - events.len() as u64));
        }
        _ if all.is_empty() => all.push("no event".to_owned()),
        _ => {}
    }
    all.join("\n\n")
}

fn strings<'a>(document: &'a Value, field: &str) -> impl Iterator<Item = &'a str> {
    document.get(field).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_is_read_as_it_was_printed_with_a_line_of_what_became_of_it() {
        let run = json!({"id": "proc_0", "output": "one\n\"two\"", "status": {"kind": "exited", "code": 3}, "duration_ms": 1500,
            "notes": ["it was moved"], "policy": {"warnings": ["x failed"]}});
        let answer = success(run.clone(), true);
        assert_eq!(
            answer["content"][0]["text"],
            "one\n\"two\"\n[proc_0 · exit code 3 · 1.5 s]\n[note: it was moved]\n[note: x failed]"
        );
        assert_eq!(answer["structuredContent"], run);
    }

    #[test]
    fn lists_and_events_are_read_line_by_line() {
        let row = json!({"id": "proc_0", "command": "make", "status": {"kind": "running"}, "uptime_ms": 1000, "survivors": []});
        assert_eq!(text_of(&json!({"processes": [row]})), "proc_0 · running · 1.0 s\n  $ make");
        assert_eq!(text_of(&json!({"processes": []})), "no process of yours");
        let event = json!({"id": "e", "kind": "completion", "process": "proc_0", "output": "bye\n", "status": {"kind": "exited", "code": 0}});
        let text = text_of(&json!({"events": [event], "pending": 3}));
        assert_eq!(text, "proc_0: bye\n[e · completion · exit code 0]\n\n[2 more wait: ask again]");
    }

    #[test]
    fn answers_without_output_are_one_line_too() {
        for (document, read) in [
            (json!({"id": "proc_0", "bytes_written": 3, "result": "ok"}), "[proc_0 · ok · 3 bytes sent]"),
            (json!({"id": "proc_0", "bytes_written": 0, "result": "no-terminal"}), "[proc_0 · no-terminal]"),
            (json!({"cursor": null, "ended": true}), "[nothing more comes]"),
            (json!({"acknowledged": 2, "stale": 1}), "[2 acknowledged · 1 not held any more]"),
            (
                json!({"version": "1.2", "pid": 7, "running": 1, "pending": 0, "clients": 1}),
                "[hermes 1.2 · 1 processes run in it · 0 events wait for you]",
            ),
            (json!({}), "[done]"),
        ] {
            assert_eq!(text_of(&document), read);
        }
    }

    #[test]
    fn a_page_of_a_log_says_which_it_is_and_where_the_next_begins() {
        let page = |first: u64, lines: u64| {
            let document = json!({"id": "p", "output": "", "first_line": first, "lines": lines, "total_lines": 9});
            text_of(&document)
        };
        assert_eq!(page(0, 3), "[p · lines 1-3 of 9 · go on with offset 3]");
        assert_eq!(page(7, 2), "[p · lines 8-9 of 9]");
        assert_eq!(page(9, 0), "[p · no lines of 9]");
    }

    #[test]
    fn a_failure_begins_with_its_code() {
        let answer = failure(&Trouble::arguments("no 'command'"));
        assert_eq!(
            (&answer["content"][0]["text"], &answer["isError"]),
            (&json!("bad-arguments: no 'command'"), &json!(true))
        );
    }
}
