//! An MCP server that does as little as it can: it says again what it is told, or something long.

use std::io::{BufRead, Write};

use hermes_bench::ordinary_log;
use serde_json::{Value, json};

/// How many tools it has beside the two that are called: about what a server has that does one thing.
const OTHERS: usize = 8;

fn tools() -> Value {
    let schema = json!({"type": "object", "properties": {
        "text": {"type": "string", "description": "What is to be said again, as it is."},
        "bytes": {"type": "integer", "minimum": 0, "description": "How long the answer is to be."}}});
    let names = ["echo".to_owned(), "large".to_owned()].into_iter().chain((0..OTHERS).map(|n| format!("other_{n}")));
    let tool = |name| json!({"name": name, "description": "Does what its name says, and nothing else.", "inputSchema": schema});
    json!({"tools": names.map(tool).collect::<Vec<_>>()})
}

/// A result of a tool with this text.
fn result(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// Answers on standard output what is asked on standard input, until that ends.
pub(crate) fn serve() {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut line = Vec::new();
    // The long text is made once: what is measured is its way.
    let mut long = (0, String::new());
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line).is_ok_and(|length| length == 0) {
            return;
        }
        let Ok(message) = serde_json::from_slice::<Value>(&line) else { continue };
        let Some(id) = message.get("id") else { continue };
        let params = &message["params"];
        let answer = match message["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "bench", "version": "0"}}),
            Some("tools/list") => tools(),
            Some("tools/call") if params["name"] == "large" => {
                let bytes = params["arguments"]["bytes"].as_u64().and_then(|bytes| usize::try_from(bytes).ok());
                let bytes = bytes.unwrap_or_default();
                if long.0 != bytes {
                    long = (bytes, result(&ordinary_log(bytes)).to_string());
                }
                // Written as it is, so that the server's own time is small.
                let _ = writeln!(output, "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{}}}", long.1);
                let _ = output.flush();
                continue;
            }
            Some("tools/call") => result(params["arguments"]["text"].as_str().unwrap_or_default()),
            Some("ping") => json!({}),
            _ => {
                let error = json!({"code": -32601, "message": "there is no such method"});
                say(&mut output, &json!({"jsonrpc": "2.0", "id": id, "error": error}));
                continue;
            }
        };
        say(&mut output, &json!({"jsonrpc": "2.0", "id": id, "result": answer}));
    }
}

fn say(output: &mut impl Write, message: &Value) {
    // Who does not read any more has left, and then the input ends too.
    let _ = output.write_all(format!("{message}\n").as_bytes());
    let _ = output.flush();
}
