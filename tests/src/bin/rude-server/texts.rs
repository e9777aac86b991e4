//! Resources, prompts and completions.

use serde_json::{Value, json};

use crate::given::Given;
use crate::server::Refusal;

/// MCP: no such resource.
const NO_RESOURCE: i64 = -32002;

/// The answer to a request about them. None: it is about something else.
pub(crate) fn result(given: &Given, method: &str, params: &Value) -> Option<Result<Value, Refusal>> {
    let secret = given.secret.as_str();
    let said = format!("here it is: {secret} .");
    Some(Ok(match method {
        "resources/list" => json!({"resources": [
            {"uri": "rude://plain", "name": "plain", "mimeType": "text/plain", "description": "A plain text."},
            {"uri": "rude://secret", "name": "secret", "mimeType": "text/plain", "description": said},
            {"uri": "rude://binary", "name": "binary", "mimeType": "application/octet-stream"},
        ]}),
        "resources/templates/list" => json!({"resourceTemplates": [
            {"uriTemplate": "rude://text/{name}", "name": "text", "description": "A text by name."},
        ]}),
        "resources/read" => return Some(read(&said, params["uri"].as_str().unwrap_or_default())),
        "resources/subscribe" | "resources/unsubscribe" => {
            given.note(&format!("asked {method} {}", params["uri"].as_str().unwrap_or_default()));
            json!({})
        }
        "prompts/list" => json!({"prompts": [
            {"name": "greet", "description": "Greets.", "arguments": [{"name": "name", "required": true}]},
            {"name": "secret", "description": said},
        ]}),
        "prompts/get" => {
            let words = match params["name"].as_str() {
                Some("greet") => format!("Hello, {}!", params["arguments"]["name"].as_str().unwrap_or("you")),
                _ => said,
            };
            let message = json!({"role": "user", "content": {"type": "text", "text": words}});
            json!({"description": "A prompt.", "messages": [message]})
        }
        "completion/complete" => {
            let begun = params["argument"]["value"].as_str().unwrap_or_default();
            json!({"completion": {"values": [format!("{begun}-completed"), secret], "total": 2, "hasMore": false}})
        }
        _ => return None,
    }))
}

fn read(said: &str, uri: &str) -> Result<Value, Refusal> {
    let content = match uri {
        "rude://binary" => json!({"uri": uri, "mimeType": "application/octet-stream", "blob": "AAECAwQFBgcICQ=="}),
        "rude://secret" => json!({"uri": uri, "mimeType": "text/plain", "text": said}),
        _ if uri == "rude://plain" || uri.starts_with("rude://text/") => {
            json!({"uri": uri, "mimeType": "text/plain", "text": format!("the text of {uri}")})
        }
        _ => {
            let message = "no such resource".to_owned();
            return Err(Refusal { code: NO_RESOURCE, message, data: json!({"uri": uri}) });
        }
    };
    Ok(json!({"contents": [content]}))
}
