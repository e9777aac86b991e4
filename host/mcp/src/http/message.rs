//! What a JSON-RPC message is about, looked at only as deep as its way depends on.
//!
//! The text itself is handed on as it came, byte by byte, but for line breaks between its parts. No type here can be
//! printed.

use bytes::Bytes;
use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::Value;

use super::refusal::Refusal;

/// How many messages there may be in one batch: more than clients send, and a bound for one that floods.
const BATCH_MAX: usize = 100;

/// An id or a token of progress, in the one way it is written: `"1"` and `1` are two.
pub(super) type Key = String;

/// A message, and what its way depends on.
#[derive(Clone)]
pub(super) struct Message {
    /// One line, without its end.
    pub(super) line: Bytes,
    /// What it is.
    pub(super) kind: Kind,
}

/// What a message is.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// Wants an answer.
    Request { id: Key, method: Method, progress: Option<Key> },
    /// Answers a request. An answer to nothing that can be named has no id.
    Answer { id: Option<Key>, failed: bool, version: Option<String> },
    /// Says something about a request with this token.
    Progress(Key),
    /// Gives up a request.
    Cancelled(Key),
    /// Says something about no request at all.
    News,
    /// Says something else.
    Note,
}

/// The methods that matter here.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Method {
    /// Begins a session, in this version of the protocol.
    Initialize(String),
    /// Any other.
    Other,
}

#[derive(Deserialize)]
struct Shallow {
    jsonrpc: String,
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Option<Params>,
    #[serde(default)]
    result: Option<Outcome>,
    #[serde(default, deserialize_with = "there")]
    error: bool,
}

#[derive(Default, Deserialize)]
struct Params {
    #[serde(rename = "_meta", default)]
    meta: Option<Value>,
    #[serde(rename = "progressToken", default)]
    progress: Option<Value>,
    #[serde(rename = "requestId", default)]
    request: Option<Value>,
    #[serde(rename = "protocolVersion", default)]
    version: Option<Value>,
}

/// Of a result only the version matters, and whether it is there.
#[derive(Default, Deserialize)]
struct Outcome {
    #[serde(rename = "protocolVersion", default)]
    version: Option<Value>,
}

fn there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}

fn key(value: Option<&Value>) -> Option<Key> {
    value.filter(|value| value.is_string() || value.is_number()).map(Value::to_string)
}

impl Message {
    /// Looks at one message. `None`: it is none.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        // The parser does not look into texts it skips.
        let text = std::str::from_utf8(text).ok()?.trim_ascii();
        // An array would be taken for the fields in their order.
        let shallow: Shallow = text.starts_with('{').then(|| serde_json::from_str(text).ok())??;
        let kind = kind(shallow)?;
        Some(Self { line: one_line(text.as_bytes()), kind })
    }
}

fn kind(shallow: Shallow) -> Option<Kind> {
    let Shallow { jsonrpc, id, method, params, result, error } = shallow;
    let id_is_odd = id.is_some() && key(id.as_ref()).is_none();
    if jsonrpc != "2.0" || id_is_odd {
        return None;
    }
    let (id, params) = (key(id.as_ref()), params.unwrap_or_default());
    match (method, id) {
        (None, id) if result.is_some() != error => {
            let version = result.and_then(|result| result.version);
            let version = version.and_then(|version| version.as_str().map(str::to_owned));
            (error || id.is_some()).then_some(Kind::Answer { id, failed: error, version })
        }
        (Some(method), Some(id)) if result.is_none() && !error => {
            let version = params.version.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
            let progress = key(params.meta.as_ref().and_then(|meta| meta.get("progressToken")));
            let method = if method == "initialize" { Method::Initialize(version) } else { Method::Other };
            Some(Kind::Request { id, method, progress })
        }
        (Some(method), None) if result.is_none() && !error => Some(match method.as_str() {
            "notifications/progress" => key(params.progress.as_ref()).map_or(Kind::Note, Kind::Progress),
            "notifications/cancelled" => key(params.request.as_ref()).map_or(Kind::Note, Kind::Cancelled),
            "notifications/resources/updated" => Kind::News,
            changed if changed.ends_with("/list_changed") => Kind::News,
            _ => Kind::Note,
        }),
        _ => None,
    }
}

/// Between the parts of JSON a line break is a blank, and inside a text there can be none.
fn one_line(text: &[u8]) -> Bytes {
    text.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect::<Vec<_>>().into()
}

/// What a body or a line holds.
pub(super) struct Messages {
    /// In their order, at least one.
    pub(super) messages: Vec<Message>,
    /// Whether they stood in an array.
    pub(super) batch: bool,
}

impl Messages {
    /// One message, or an array of them.
    pub(super) fn parse(text: &[u8]) -> Result<Self, Refusal> {
        if let Some(message) = Message::parse(text) {
            return Ok(Self { messages: vec![message], batch: false });
        }
        let text = std::str::from_utf8(text).map_err(|_| Refusal::NoJson)?;
        serde_json::from_str::<IgnoredAny>(text).map_err(|_| Refusal::NoJson)?;
        let mut rest = text.trim_ascii().strip_prefix('[').ok_or(Refusal::NoMessage)?;
        let mut messages = Vec::new();
        loop {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
            values.next().and_then(Result::ok).ok_or(Refusal::NoMessage)?;
            let end = values.byte_offset();
            messages.push(Message::parse(&rest.as_bytes()[..end]).ok_or(Refusal::NoMessage)?);
            if messages.len() > BATCH_MAX {
                return Err(Refusal::TooMany);
            }
            match rest[end..].trim_ascii_start().strip_prefix(',') {
                Some(next) => rest = next,
                None => return Ok(Self { messages, batch: true }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn kind_of(value: &Value) -> Option<Kind> {
        Message::parse(value.to_string().as_bytes()).map(|message| message.kind)
    }

    #[test]
    fn each_kind_of_message_is_known() {
        let request = |method, progress: Option<&str>| {
            Some(Kind::Request { id: "1".into(), method, progress: progress.map(str::to_owned) })
        };
        let answer = |id: Option<&str>, failed, version: Option<&str>| {
            Some(Kind::Answer { id: id.map(str::to_owned), failed, version: version.map(str::to_owned) })
        };
        let cases = [
            (json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}), request(Method::Other, None)),
            (
                json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"_meta": {"progressToken": "a"}}}),
                request(Method::Other, Some("\"a\"")),
            ),
            (
                json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}),
                request(Method::Initialize("2025-11-25".into()), None),
            ),
            (json!({"jsonrpc": "2.0", "id": "1", "result": {}}), answer(Some("\"1\""), false, None)),
            (
                json!({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-06-18"}}),
                answer(Some("1"), false, Some("2025-06-18")),
            ),
            (json!({"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": ""}}), answer(None, true, None)),
            (
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 7}}),
                Some(Kind::Progress("7".into())),
            ),
            (
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "x"}}),
                Some(Kind::Cancelled("\"x\"".into())),
            ),
            (json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}), Some(Kind::News)),
            (json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}), Some(Kind::Note)),
            (json!({"jsonrpc": "1.0", "id": 1, "method": "ping"}), None),
            (json!({"jsonrpc": "2.0", "id": {}, "method": "ping"}), None),
            (json!({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}}), None),
            (json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "result": {}}), None),
            (json!({"jsonrpc": "2.0", "result": {}}), None),
            (json!({"jsonrpc": "2.0", "id": 1}), None),
        ];
        for (value, expected) in cases {
            assert!(kind_of(&value) == expected, "{value}");
        }
    }

    #[test]
    fn what_is_no_message_is_refused_for_what_it_is() {
        let refused = |text: &[u8]| Messages::parse(text).err();
        assert_eq!(refused(b"{"), Some(Refusal::NoJson));
        assert_eq!(refused(b""), Some(Refusal::NoJson));
        assert_eq!(refused(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}"), Some(Refusal::NoJson));
        for text in
            ["[]", "{}", "7", "[1]", "[\"2.0\",1,\"ping\"]", "[[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]]"]
        {
            assert_eq!(refused(text.as_bytes()), Some(Refusal::NoMessage), "{text}");
        }
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        assert_eq!(refused(Value::from(vec![ping; 101]).to_string().as_bytes()), Some(Refusal::TooMany));
    }

    proptest! {
        #[test]
        fn a_batch_is_cut_into_its_messages_whatever_they_hold(
            texts in proptest::collection::vec(".{0,9}", 1..6), pretty in any::<bool>(),
        ) {
            let values: Vec<Value> = texts.iter().enumerate().map(|(id, text)| json!({
                "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"x": [text, {"]": text}]},
            })).collect();
            let body = if pretty { serde_json::to_string_pretty(&values) } else { serde_json::to_string(&values) };
            let Ok(cut) = Messages::parse(body.unwrap().as_bytes()) else { panic!("a batch") };
            prop_assert!(cut.batch);
            let back: Vec<Value> =
                cut.messages.iter().map(|message| serde_json::from_slice(&message.line).unwrap()).collect();
            prop_assert_eq!(back, values);
            prop_assert!(cut.messages.iter().all(|message| !message.line.contains(&b'\n')));
        }

        #[test]
        fn any_bytes_are_either_messages_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(found) = Messages::parse(&bytes) {
                prop_assert!(!found.messages.is_empty());
            }
        }
    }
}
