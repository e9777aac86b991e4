//! What can be called.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::given::Given;
use crate::out;
use crate::server::{Asked, Refusal, Server};
use crate::tree;

/// How often one that waits looks.
const LOOK: Duration = Duration::from_millis(2);
/// After so many looks one that waits says that it lives.
const LOOKS_A_STEP: u64 = 50;

/// A tool that takes what it is given.
pub(crate) fn plain(name: &str) -> Value {
    json!({"name": name, "description": format!("The tool {name}."), "inputSchema": {"type": "object"}})
}

/// The tools, the late one apart.
pub(crate) fn all(given: &Given) -> Vec<Value> {
    let names = ["sleep", "wait", "progress", "env", "exit", "crash", "text", "image", "flood", "ask", "log", "touch"];
    let mut all: Vec<Value> = names.into_iter().map(plain).collect();
    all.push(json!({
        "name": "echo", "title": "Echo", "description": "Says it again.", "annotations": {"readOnlyHint": true},
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    }));
    all.push(json!({
        "name": "add", "description": "Adds.", "annotations": {"readOnlyHint": true},
        "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}},
        "outputSchema": {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]},
    }));
    all.push(json!({
        "name": "tell", "description": format!("Tells it. {}", given.secret), "inputSchema": {"type": "object"},
    }));
    all.extend((0..given.tools).map(|at| plain(&format!("more{at:03}"))));
    all.extend(given.tool.iter().map(|name| plain(name)));
    all
}

/// A result of one text.
fn text(text: impl Into<String>) -> Value {
    json!({"content": [{"type": "text", "text": text.into()}]})
}

/// Calls a tool.
pub(crate) fn call(server: &Server, asked: &Asked) -> Result<Value, Refusal> {
    let given = &asked.params["arguments"];
    let word = |name: &str| given[name].as_str().unwrap_or_default();
    let number = |name: &str| given[name].as_u64().unwrap_or(0);
    let size = |name: &str| usize::try_from(number(name)).unwrap_or(0);
    Ok(match asked.params["name"].as_str().unwrap_or_default() {
        "echo" => text(word("text")),
        "add" => {
            let sum = given["a"].as_f64().unwrap_or(0.0) + given["b"].as_f64().unwrap_or(0.0);
            json!({"content": [{"type": "text", "text": sum.to_string()}], "structuredContent": {"sum": sum}})
        }
        "sleep" => {
            std::thread::sleep(Duration::from_millis(number("ms")));
            text("slept")
        }
        "wait" => wait(server, asked, Path::new(word("file"))),
        "progress" => {
            let token = &asked.params["_meta"]["progressToken"];
            for at in 1..=number("steps") {
                let message = format!("step {at} {}", server.given.secret);
                let params =
                    json!({"progressToken": token, "progress": at, "total": number("steps"), "message": message});
                server.tell("notifications/progress", &params);
            }
            text("done")
        }
        "env" => text(std::env::var(word("name")).unwrap_or_else(|_| "(unset)".to_owned())),
        "exit" => tree::quit(i32::try_from(number("code")).unwrap_or(0)),
        "crash" => tree::crash(),
        "text" => long(size("bytes"), given["both"] == true),
        "image" => {
            let data = "iVBORw0KGgo".chars().chain(std::iter::repeat('A')).take(size("bytes")).collect::<String>();
            let image = json!({"type": "image", "data": data, "mimeType": "image/png"});
            let mut result = json!({"content": [image]});
            if given["both"] == true {
                result["structuredContent"] = json!({"image": image});
            }
            result
        }
        "flood" => {
            server.flood(size("bytes"));
            text("flooded")
        }
        "ask" => {
            let answer = server.ask(word("method"), &given["params"]);
            let mut answer = answer.recv().unwrap_or(Value::Null);
            text(json!({"result": answer["result"].take(), "error": answer["error"].take()}).to_string())
        }
        "log" => {
            let params = json!({"level": word("level"), "logger": "rude", "data": word("text")});
            server.tell("notifications/message", &params);
            text("logged")
        }
        "touch" => {
            server.tell("notifications/resources/updated", &json!({"uri": word("uri")}));
            text("touched")
        }
        "tell" => return tell(server, asked, word("carrier")),
        // Whatever else is listed says what it was called with.
        name => text(json!({"name": name, "arguments": given}).to_string()),
    })
}

/// Waits until a file is there, or until the call is taken back. It shows that it lives to whoever asked for progress.
fn wait(server: &Server, asked: &Asked, file: &Path) -> Value {
    let token = &asked.params["_meta"]["progressToken"];
    let mut looks = 0;
    while !file.exists() {
        if server.was_cancelled(&asked.id) {
            server.given.note("cancelled wait");
            return text("cancelled");
        }
        std::thread::sleep(LOOK);
        looks += 1;
        if !token.is_null() && looks % LOOKS_A_STEP == 0 {
            server.tell("notifications/progress", &json!({"progressToken": token, "progress": looks}));
        }
    }
    text("waited")
}

/// Lines of text, numbered, so that a cut can be seen.
fn long(bytes: usize, both: bool) -> Value {
    let mut lines = String::with_capacity(bytes + 64);
    let mut at = 0;
    while lines.len() < bytes {
        lines.push_str(&format!("line {at:08} of a long text with nothing in it\n"));
        at += 1;
    }
    lines.truncate(bytes);
    let mut result = text(lines.clone());
    if both {
        result["structuredContent"] = json!({"text": lines});
    }
    result
}

/// Tells the secret in one of the ways a server has.
fn tell(server: &Server, asked: &Asked, carrier: &str) -> Result<Value, Refusal> {
    let secret = server.given.secret.as_str();
    let said = format!("here it is: {secret} .");
    Ok(match carrier {
        "content" => text(said),
        "structured" => json!({"content": [], "structuredContent": {"deep": {"list": [1, true, null, said]}, "n": 7}}),
        "json" => text(json!({"user": "me", "inner": json!({"auth": secret}).to_string(), "n": [1, 2]}).to_string()),
        "error" => json!({"content": [{"type": "text", "text": said}], "isError": true}),
        "refusal" => {
            return Err(Refusal { code: -32050, message: said.clone(), data: json!({"why": [said]}) });
        }
        "resource" => {
            let resource = json!({"uri": "rude://plain", "mimeType": "text/plain", "text": said});
            json!({"content": [{"type": "resource", "resource": resource}]})
        }
        "link" => {
            let uri = format!("https://example.org/?token={secret}");
            json!({"content": [{"type": "resource_link", "uri": uri, "name": "link", "description": said}]})
        }
        "meta" => {
            json!({"content": [{"type": "text", "text": "no", "_meta": {"a": said}}], "_meta": {"org/b": {"c": said}}})
        }
        "progress" => {
            let token = &asked.params["_meta"]["progressToken"];
            server.tell("notifications/progress", &json!({"progressToken": token, "progress": 1, "message": said}));
            text("told")
        }
        "logging" => {
            server
                .tell("notifications/message", &json!({"level": "warning", "logger": "rude", "data": {"text": said}}));
            text("told")
        }
        "stderr" => {
            out::complain(&said);
            text("told")
        }
        _ => text("unknown carrier"),
    })
}
