//! What a model reads of the tools: their names, what they do, and the JSON Schema (draft 2020-12) of their arguments.
//!
//! No schema has `oneOf` or its like at the top: some providers of models refuse them there.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::{PROCESS, TERMINAL, process, terminal};
use crate::session::Asker;

const TERMINAL_SAYS: &str = "Run a command. Give 'command', a text for the shell, or 'program', a list of words without \
a shell. In the foreground the answer comes when the command has ended, with its exit code and output; secrets in the \
output are masked. What takes long, or never ends (a server, a watcher), belongs in the background ('background': true): \
the answer is its id at once, and the tool 'process' shows its log, waits, sends it text and ends it. With 'notify' its \
end is an event, with 'watch' a text it prints, with 'heartbeat_ms' that it still runs; take events with 'process' \
('action': 'events'). pty, notify, watch, heartbeat_ms, persist and stdin need 'background': true.";

const PROCESS_SAYS: &str = "Ask about commands started with 'terminal'. 'list': all of them; 'poll': one; 'log': lines of \
its output, the last 200 unless 'offset' and 'limit' say which (also of a result that was cut, by its id 'res_...'); 'wait': until it ends; 'kill': end it with everything it \
started; 'kill_all': end all of yours; 'send': give it 'data', with 'enter' a newline behind it, with 'eof' the end of \
its input; 'follow': its log as it grows, the first time by 'id' and then by the 'cursor' of the last answer; \
'unfollow': no longer; 'status': this host. 'events': what happened since, waiting up to 'wait_ms' for the first. Each \
call of 'events' tells that the events of the call before arrived; to say so one by one, give 'ack' on every call (an \
empty list for none) or use the action 'ack' with the claims. What was not acknowledged comes again. An id may be \
shortened to its first 4 digits.";

/// The tools as `who` may use them.
pub fn tools(who: &Asker) -> Vec<Tool> {
    let hints = |destructive| {
        ToolAnnotations::new().read_only(false).destructive(destructive).idempotent(false).open_world(destructive)
    };
    vec![
        Tool::new(TERMINAL, TERMINAL_SAYS, schema(who, terminal_fields(), &[])).annotate(hints(true)),
        Tool::new(PROCESS, PROCESS_SAYS, schema(who, process_fields(), &["action"])).annotate(hints(false)),
    ]
}

/// Fields that a person may use, and an agent may not.
const PERSONS: [&str; 3] = ["owner", "all", "base_env"];

fn schema(who: &Asker, mut fields: Map<String, Value>, required: &[&str]) -> Arc<Map<String, Value>> {
    if *who != Asker::Person {
        fields.retain(|field, _| !PERSONS.contains(&field.as_str()));
    }
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(fields));
    schema.insert("required".to_owned(), json!(required));
    schema.insert("additionalProperties".to_owned(), json!(false));
    Arc::new(schema)
}

fn fields(names: &[&str], describe: impl Fn(&str) -> Value) -> Map<String, Value> {
    names.iter().map(|name| ((*name).to_owned(), describe(name))).collect()
}

fn said(mut field: Value, description: &str) -> Value {
    field["description"] = json!(description);
    field
}

fn text(description: &str) -> Value {
    said(json!({"type": "string"}), description)
}

fn flag(description: &str) -> Value {
    said(json!({"type": "boolean", "default": false}), description)
}

fn number(min: u64, description: &str) -> Value {
    said(json!({"type": "integer", "minimum": min}), description)
}

fn texts(description: &str) -> Value {
    said(json!({"type": "array", "items": {"type": "string"}}), description)
}

fn pairs(description: &str) -> Value {
    said(json!({"type": "object", "additionalProperties": {"type": "string"}}), description)
}

fn terminal_fields() -> Map<String, Value> {
    fields(&terminal::FIELDS, |field| match field {
        "command" => text("A text for the shell. Give this or 'program'."),
        "program" => texts("A program and its arguments, run without a shell. Give this or 'command'."),
        "background" => flag("Answer at once and let the command run on."),
        "timeout_ms" => number(1, "How long the command may run before it is ended."),
        "cwd" => text("The folder to run in."),
        "pty" => said(
            json!({"anyOf": [{"type": "boolean"}, {"type": "object", "additionalProperties": false,
                "required": ["rows", "cols"], "properties": {
                    "rows": {"type": "integer", "minimum": 1, "maximum": 1000},
                    "cols": {"type": "integer", "minimum": 1, "maximum": 1000}}}]}),
            "Give the command a terminal, for programs that need one; true for the usual size.",
        ),
        "notify" => said(
            json!({"anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "string"}}]}),
            "true: its end is an event. A list of texts: as 'watch'.",
        ),
        "watch" => texts("Texts that make an event when the command prints one of them."),
        "heartbeat_ms" => {
            number(0, "How often it is an event that the command still runs and printed something; 0: never.")
        }
        "persist" => flag(
            "Keep it when the agent that started it is closed, where the host goes on: one that several agents share.",
        ),
        "stdin" => flag("Let the command read what 'process' sends it."),
        "env" => pairs("Variables to set for the command."),
        "owner" => text("Whose process it becomes; 'cli' where nobody is named."),
        _ => pairs("The whole environment to begin with, instead of that of the host."),
    })
}

fn process_fields() -> Map<String, Value> {
    fields(&process::FIELDS, |field| match field {
        "action" => {
            let names: Vec<&str> = process::ACTIONS.iter().map(|(name, _)| *name).collect();
            said(json!({"type": "string", "enum": names}), "What to do.")
        }
        "id" => text("The process: its id or the first digits of it. log: also the id of a result that was cut."),
        "offset" => number(0, "log: the first line, from 0. Left out: the last lines."),
        "limit" => number(1, "log: how many lines."),
        "timeout_ms" => number(1, "wait: how long at most."),
        "data" => text("send: the text."),
        "enter" => flag("send: a newline behind the text."),
        "eof" => flag("send: the end of what it reads, behind the text."),
        "rows" | "cols" => number(1, "resize: the new size of its terminal."),
        "max" => number(1, "events: how many at most; 20 where nobody says, never more than 100."),
        "wait_ms" => said(
            json!({"type": "integer", "minimum": 0, "maximum": 30000}),
            "events, follow: how long to wait for something to come.",
        ),
        "ack" => said(
            json!({"type": "array", "items": {"type": "object", "additionalProperties": false,
                "required": ["seq", "token"], "properties": {
                    "seq": {"type": "integer", "minimum": 0}, "token": {"type": "integer", "minimum": 0}}}}),
            "events, ack: the claims of events that arrived, as they came.",
        ),
        "skip_observed" => flag("events: leave out ends that 'list' or 'poll' has shown already."),
        "cursor" => text("follow, unfollow: where the last answer ended."),
        "owner" => text("Whose processes are meant; 'cli' where nobody is named."),
        _ => flag("Every owner's processes are meant."),
    })
}

#[cfg(test)]
mod tests {
    use hermes_model::id::Owner;

    use super::*;

    fn schema_of(who: &Asker, tool: &str) -> Value {
        tools(who).into_iter().find(|found| found.name == tool).unwrap().schema_as_json_value()
    }

    #[test]
    fn the_schemas_are_ones_of_their_draft_and_refuse_unknown_fields() {
        for tool in [TERMINAL, PROCESS] {
            let schema = schema_of(&Asker::Person, tool);
            assert!(jsonschema::draft202012::meta::is_valid(&schema), "{tool}");
            let validator = jsonschema::draft202012::new(&schema).unwrap();
            assert!(!validator.is_valid(&json!({"action": "list", "command": "ls", "unknown": 1})), "{tool}");
            for top in ["oneOf", "anyOf", "allOf"] {
                assert!(schema.get(top).is_none(), "{tool}");
            }
        }
    }

    #[test]
    fn what_the_descriptions_show_is_valid() {
        let terminal = jsonschema::draft202012::new(&schema_of(&Asker::Person, TERMINAL)).unwrap();
        for call in [
            json!({"command": "ls"}),
            json!({"program": ["ls"], "background": true, "pty": {"rows": 24, "cols": 80}, "notify": ["ready"]}),
            json!({"command": "x", "background": true, "pty": true, "notify": true, "heartbeat_ms": 0, "env": {"A": "1"}}),
        ] {
            assert!(terminal.is_valid(&call), "{call}");
        }
        assert!(!terminal.is_valid(&json!({"command": "x", "timeout_ms": 0})));
        let process = jsonschema::draft202012::new(&schema_of(&Asker::Person, PROCESS)).unwrap();
        assert!(process.is_valid(&json!({"action": "ack", "ack": [{"seq": 1, "token": 2}]})));
        assert!(!process.is_valid(&json!({"action": "lst"})) && !process.is_valid(&json!({})));
    }

    #[test]
    fn an_agent_is_not_shown_what_it_may_not_use() {
        for tool in [TERMINAL, PROCESS] {
            let schema = schema_of(&Asker::Agent(Owner::new("a")), tool);
            for field in PERSONS {
                assert!(schema["properties"].get(field).is_none(), "{tool} {field}");
            }
        }
    }

    #[test]
    fn every_field_is_described() {
        for tool in [TERMINAL, PROCESS] {
            for (name, field) in schema_of(&Asker::Person, tool)["properties"].as_object().unwrap() {
                assert!(field["description"].as_str().is_some_and(|text| !text.is_empty()), "{tool} {name}");
            }
        }
    }
}
