//! What a line of a server is: an answer, a request, a notification, or nothing of the kind. Pure.
//!
//! It must never refuse a line that another reader would have understood, and never say anything of one that it did not.

use serde_json::{Map, Value};

use crate::servers::raw::Raw;

/// One message of a server.
pub(super) enum Message {
    /// An answer to a request.
    Answer {
        /// The request; none where the id is none of ours by its shape.
        id: Option<i64>,
        /// The result, or the error object.
        body: Body,
    },
    /// A request of the server, which is to be answered under its own id.
    Request {
        /// The id, to be sent back as it came.
        id: Value,
        /// Whether it is a ping.
        ping: bool,
    },
    /// A notification.
    Notification {
        /// The method.
        method: String,
        /// The params.
        params: Value,
    },
}

/// What an answer says.
pub(super) enum Body {
    /// It worked.
    Result(Raw),
    /// It did not.
    Error {
        /// The code; 0 where there is none.
        code: i64,
        /// The error object.
        error: Raw,
    },
}

/// What a line is.
pub(super) enum Sifted {
    /// Messages; more than one where the server sent a batch.
    Messages(Vec<Message>),
    /// Nothing but white space.
    Blank,
    /// No message. It may have been meant as an answer to this request.
    Junk {
        /// The request.
        meant_for: Option<i64>,
    },
}

/// Reads a line. A byte order mark, NULs around it and bytes that are no UTF-8 are forgiven.
pub(super) fn sift(line: &[u8]) -> Sifted {
    let line = trimmed(line);
    if line.is_empty() {
        return Sifted::Blank;
    }
    let document = match serde_json::from_slice::<Value>(line) {
        Ok(document) => document,
        Err(_) => {
            let repaired = String::from_utf8_lossy(line);
            match serde_json::from_str(&repaired) {
                Ok(document) => document,
                Err(_) => return Sifted::Junk { meant_for: answered(line, line) },
            }
        }
    };
    let documents = match document {
        Value::Array(batch) => batch,
        single => vec![single],
    };
    let messages: Vec<Message> = documents.into_iter().filter_map(message).collect();
    if messages.is_empty() { Sifted::Junk { meant_for: None } } else { Sifted::Messages(messages) }
}

fn trimmed(line: &[u8]) -> &[u8] {
    let mut line = line;
    loop {
        let before = line.len();
        line = line.trim_ascii();
        line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        line = line.strip_prefix(b"\0").unwrap_or(line);
        line = line.strip_suffix(b"\0").unwrap_or(line);
        if line.len() == before {
            return line;
        }
    }
}

fn message(document: Value) -> Option<Message> {
    let Value::Object(mut fields) = document else { return None };
    if let Some(Value::String(method)) = fields.get_mut("method") {
        let method = std::mem::take(method);
        return Some(match fields.remove("id") {
            Some(id @ (Value::Number(_) | Value::String(_))) => Message::Request { id, ping: method == "ping" },
            Some(_) => return None,
            None => {
                let params = fields.remove("params").unwrap_or_else(|| Value::Object(Map::new()));
                Message::Notification { method, params }
            }
        });
    }
    let id = fields.get("id").and_then(own_id);
    if let Some(error) = fields.remove("error").filter(|error| !error.is_null()) {
        let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
        return Some(Message::Answer { id, body: Body::Error { code, error: Raw::of(error) } });
    }
    let result = fields.remove("result")?;
    Some(Message::Answer { id, body: Body::Result(Raw::of(result)) })
}

/// The number of a request. Some servers send back a text, or a number with a fraction.
pub(super) fn own_id(id: &Value) -> Option<i64> {
    match id {
        Value::Number(number) => {
            let whole = |number: f64| (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64);
            number.as_i64().or_else(|| number.as_f64().and_then(whole))
        }
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// Whose answer a message is of which only the edges are known: `None` where nothing can be said.
pub(super) fn answered(head: &[u8], tail: &[u8]) -> Option<i64> {
    match first_fields(head) {
        Edge::Id(id) => Some(id),
        Edge::NoAnswer => None,
        Edge::Open => last_fields(tail),
    }
}

/// Whether a message of which only the beginning is known is certainly no answer.
pub(super) fn asks_or_tells(head: &[u8]) -> bool {
    matches!(first_fields(head), Edge::NoAnswer)
}

enum Edge {
    Id(i64),
    NoAnswer,
    Open,
}

/// Looks through the first fields of an object for its id, not into what they hold.
fn first_fields(head: &[u8]) -> Edge {
    let head = trimmed(head);
    let Some(mut rest) = head.strip_prefix(b"{") else { return Edge::NoAnswer };
    let mut id = None;
    loop {
        rest = rest.trim_ascii_start();
        rest = rest.strip_prefix(b",").unwrap_or(rest).trim_ascii_start();
        let Some((name, after)) = text(rest) else { break };
        let Some(value) = after.trim_ascii_start().strip_prefix(b":") else { break };
        let value = value.trim_ascii_start();
        match name {
            b"method" => return Edge::NoAnswer,
            b"id" | b"jsonrpc" => {}
            _ => break,
        }
        let Some((found, after)) = scalar(value) else { break };
        if name == b"id" {
            id = found;
        }
        rest = after;
    }
    id.map_or(Edge::Open, Edge::Id)
}

/// Looks at the last fields of an object: what stands there is outside of everything else.
fn last_fields(tail: &[u8]) -> Option<i64> {
    let mut rest = trimmed(tail).strip_suffix(b"}")?.trim_ascii_end();
    if let Some(before) = without_version(rest) {
        rest = before;
    }
    let digits = rest.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let quoted = rest.last() == Some(&b'"');
    let (number, before) = if quoted {
        let inner = &rest[..rest.len() - 1];
        let digits = inner.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let (before, number) = inner.split_at(inner.len() - digits);
        (number, before.strip_suffix(b"\"")?)
    } else {
        let (before, number) = rest.split_at(rest.len() - digits);
        (number, before)
    };
    let before = before.trim_ascii_end().strip_suffix(b":")?.trim_ascii_end().strip_suffix(b"\"id\"")?;
    // A quote that belongs to the text of another field would be escaped.
    let before = before.trim_ascii_end();
    matches!(before.last(), Some(b',' | b'{')).then(|| std::str::from_utf8(number).ok()?.parse().ok()).flatten()
}

/// The fields without `"jsonrpc":"2.0"` at their end.
fn without_version(fields: &[u8]) -> Option<&[u8]> {
    let before = fields.strip_suffix(b"\"2.0\"")?.trim_ascii_end().strip_suffix(b":")?;
    let before = before.trim_ascii_end().strip_suffix(b"\"jsonrpc\"")?.trim_ascii_end();
    Some(before.strip_suffix(b",")?.trim_ascii_end())
}

/// A text at the beginning, without escapes, and what follows it.
fn text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = bytes.strip_prefix(b"\"")?;
    let end = inner.iter().position(|byte| *byte == b'"' || *byte == b'\\').filter(|at| inner[*at] == b'"')?;
    Some((&inner[..end], &inner[end + 1..]))
}

/// A number or a text at the beginning, as a number where it is one, and what follows it.
fn scalar(bytes: &[u8]) -> Option<(Option<i64>, &[u8])> {
    let number = |bytes: &[u8]| std::str::from_utf8(bytes).ok()?.parse().ok();
    if let Some((inner, after)) = text(bytes) {
        return Some((number(inner), after));
    }
    let end = bytes.iter().position(|byte| !(byte.is_ascii_digit() || *byte == b'-')).filter(|end| *end > 0)?;
    Some((number(&bytes[..end]), &bytes[end..]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn ids(line: &[u8]) -> Vec<Option<i64>> {
        let Sifted::Messages(messages) = sift(line) else { return Vec::new() };
        messages.iter().map(|message| if let Message::Answer { id, .. } = message { *id } else { None }).collect()
    }

    #[test]
    fn marks_carriage_returns_nuls_and_bad_bytes_are_forgiven() {
        let lines: [&[u8]; 6] = [
            b"{\"id\":7,\"result\":{}}\n",
            b"\xef\xbb\xbf{\"id\":7,\"result\":{}}\n",
            b"{\"id\":7,\"result\":{}}\r\n",
            b"\0\0{\"id\":7,\"result\":{}}\0\n",
            b"{\"id\":7,\"result\":{\"text\":\"\xff\xfe\"}}\n",
            b"{\"id\":\"7\",\"result\":{}}\n",
        ];
        for line in lines {
            assert_eq!(ids(line), [Some(7)], "{}", String::from_utf8_lossy(line));
        }
        assert_eq!(ids(b"{\"id\":7.0,\"result\":{}}"), [Some(7)]);
        assert_eq!(ids(b"[{\"id\":1,\"result\":1},{\"id\":2,\"result\":2}]"), [Some(1), Some(2)]);
    }

    #[test]
    fn what_is_no_message_is_junk_or_blank() {
        for line in [
            &b"Starting\xe2\x80\xa6\n"[..],
            b"\xff\xfe\n",
            b"12\n",
            b"[]\n",
            b"{}\n",
            b"{\"id\":{},\"method\":\"a\"}\n",
        ] {
            assert!(matches!(sift(line), Sifted::Junk { meant_for: None }), "{}", String::from_utf8_lossy(line));
        }
        for line in [&b"\n"[..], b"", b" \t\r\n", b"\0\n"] {
            assert!(matches!(sift(line), Sifted::Blank));
        }
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_known_by_its_id() {
        let deep = format!("{{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}1{}}}", "[".repeat(300), "]".repeat(300));
        assert!(matches!(sift(deep.as_bytes()), Sifted::Junk { meant_for: Some(4) }));
        assert!(matches!(sift(b"{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"a"), Sifted::Junk { meant_for: Some(5) }));
    }

    #[test]
    fn a_request_and_a_notification_are_told_apart() {
        let Sifted::Messages(messages) = sift(br#"{"id":"a","method":"ping"}"#) else { panic!("a message") };
        assert!(matches!(&messages[..], [Message::Request { ping: true, .. }]));
        let Sifted::Messages(messages) = sift(br#"{"method":"notifications/message","params":{"data":1}}"#) else {
            panic!("a message")
        };
        let [Message::Notification { method, params }] = &messages[..] else { panic!("a notification") };
        assert_eq!((method.as_str(), params), ("notifications/message", &json!({"data": 1})));
    }

    #[test]
    fn an_id_is_found_at_either_end_and_nowhere_inside() {
        let answered = |head: &str, tail: &str| super::answered(head.as_bytes(), tail.as_bytes());
        assert_eq!(answered(r#"{"jsonrpc":"2.0","id":12,"result":{"id":99,"#, ""), Some(12));
        assert_eq!(answered(r#"{"id" : "12", "result":{"#, ""), Some(12));
        assert_eq!(answered(r#"{"result":{"id":99,"text":"#, r#"aaa"},"jsonrpc":"2.0","id":3}"#), Some(3));
        assert_eq!(answered(r#"{"result":{"#, "aaa\"},\"id\":3,\"jsonrpc\":\"2.0\"}\n"), Some(3));
        assert_eq!(answered(r#"{"result":{"#, r#"aaa","id":3}}"#), None);
        assert_eq!(answered(r#"{"result":"#, r#""aaa\"id\":3}"#), None);
        assert_eq!(answered(r#"{"method":"notifications/message","params":{"#, r#"},"id":3}"#), None);
        assert_eq!(answered("AAAA", "AAAA"), None);
        assert!(asks_or_tells(br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"#));
        assert!(!asks_or_tells(br#"{"result":{"#));
    }

    proptest! {
        #[test]
        fn any_bytes_are_something(line in proptest::collection::vec(any::<u8>(), 0..60)) {
            sift(&line);
            answered(&line, &line);
        }

        #[test]
        fn the_id_of_an_answer_is_found_from_its_edges(id in 0i64..10_000, text in "[ -~]{0,40}", first in any::<bool>()) {
            let result = json!({"text": text, "id": 77});
            let line = if first {
                json!({"jsonrpc": "2.0", "id": id, "result": result})
            } else {
                json!({"result": result, "jsonrpc": "2.0", "id": id})
            };
            let line = line.to_string();
            let middle = line.len() / 2;
            prop_assert_eq!(answered(&line.as_bytes()[..middle.max(30).min(line.len())], &line.as_bytes()[middle..]), Some(id));
        }
    }
}
