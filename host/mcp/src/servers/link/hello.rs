//! The handshake, as far as rmcp sees it: a version and which kinds of things there are. The rest is put aside.
//!
//! It must never let a name, a description or an error text of a server through to rmcp.

use rmcp::model::{
    DiscoverResult, ErrorCode, InitializeResult, JsonRpcMessage, ProtocolVersion, RequestId, ServerResult,
};
use rmcp::service::{RoleClient, RxJsonRpcMessage};
use serde_json::{Map, Value, json};

use super::flight::Outcome;
use super::wire::refused;
use crate::servers::raw::Raw;

/// Which question of the handshake was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `initialize`.
    Initialize,
    /// `server/discover`, of servers that know no `initialize`.
    Discover,
}

/// What became of the handshake.
#[derive(Default)]
pub(super) struct Hello {
    asked: Option<(Kind, i64)>,
    /// What the server answered, as it said it.
    pub(super) result: Raw,
    /// The code of the error it answered instead.
    pub(super) refused: Option<i64>,
    /// The version it answered, where that is one by its shape.
    pub(super) version: Option<ProtocolVersion>,
}

impl Hello {
    /// A question is sent.
    pub(super) fn asks(&mut self, kind: Kind, id: i64) {
        self.asked = Some((kind, id));
    }

    /// Whether this is the id of the question that is open.
    pub(super) fn is_asked(&self, id: i64) -> Option<Kind> {
        self.asked.filter(|(_, asked)| *asked == id).map(|(kind, _)| kind)
    }

    /// Takes the answer, and says what rmcp is told.
    pub(super) fn answered(&mut self, kind: Kind, id: i64, outcome: Outcome) -> RxJsonRpcMessage<RoleClient> {
        self.asked = None;
        let refusal = |hello: &mut Self, code: i64, versions: &[&str]| {
            hello.refused = Some(code);
            refused(id, code, versions)
        };
        match outcome {
            Outcome::Answer(raw) if raw.value().is_object() => {
                self.refused = None;
                let told = match kind {
                    Kind::Initialize => self.initialized(raw.value()),
                    Kind::Discover => self.discovered(raw.value()),
                };
                self.result = raw;
                match told {
                    Some(result) => JsonRpcMessage::response(result, RequestId::Number(id)),
                    None => refusal(self, INTERNAL, &[]),
                }
            }
            Outcome::Answer(_) | Outcome::Lost => refusal(self, INTERNAL, &[]),
            Outcome::Refused { code, error } => {
                let supported = error.value().pointer("/data/supported").map(known).unwrap_or_default();
                let versions: Vec<&str> = supported.iter().map(ProtocolVersion::as_str).collect();
                refusal(self, code, &versions)
            }
        }
    }

    /// Whether the server refused `initialize` as one that only knows what came after it.
    pub(super) fn is_modern_only(&self) -> bool {
        let modern = [
            ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
            ErrorCode::METHOD_NOT_FOUND,
            ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY,
            ErrorCode::HEADER_MISMATCH,
        ];
        self.refused.is_some_and(|code| modern.iter().any(|modern| i64::from(modern.0) == code))
    }

    fn initialized(&mut self, result: &Value) -> Option<ServerResult> {
        self.version = result.get("protocolVersion").and_then(Value::as_str).and_then(shaped);
        // A server that names no version is taken for one of the first.
        let version = self.version.clone().unwrap_or(ProtocolVersion::V_2024_11_05);
        let seen = json!({
            "protocolVersion": version,
            "capabilities": kinds(result),
            "serverInfo": {"name": "server", "version": "0"},
        });
        serde_json::from_value::<InitializeResult>(seen).ok().map(ServerResult::InitializeResult)
    }

    fn discovered(&mut self, result: &Value) -> Option<ServerResult> {
        let versions = result.get("supportedVersions").map(known).unwrap_or_default();
        self.version = versions.iter().rfind(|version| !version.has_initialize()).cloned();
        let seen = json!({
            "resultType": "complete",
            "supportedVersions": versions,
            "capabilities": kinds(result),
            "ttlMs": 0,
            "cacheScope": "private",
        });
        serde_json::from_value::<DiscoverResult>(seen).ok().map(ServerResult::DiscoverResult)
    }
}

/// The code for an answer that is none.
const INTERNAL: i64 = ErrorCode::INTERNAL_ERROR.0 as i64;

/// Which kinds of things there are, without anything that is said of them.
fn kinds(result: &Value) -> Value {
    let announced = result.get("capabilities").and_then(Value::as_object);
    let kinds = ["logging", "completions", "prompts", "resources", "tools"];
    let kept = kinds.iter().filter(|kind| announced.is_some_and(|announced| announced.contains_key(**kind)));
    Value::Object(kept.map(|kind| ((*kind).to_owned(), json!({}))).collect::<Map<_, _>>())
}

/// A version by its shape: a date. Nothing else may be shown.
fn shaped(version: &str) -> Option<ProtocolVersion> {
    let date = version.len() == 10
        && version
            .bytes()
            .enumerate()
            .all(|(at, byte)| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() });
    date.then(|| serde_json::from_value(Value::String(version.to_owned())).ok()).flatten()
}

/// The known versions of a list, oldest first.
fn known(list: &Value) -> Vec<ProtocolVersion> {
    let named = |version: &&ProtocolVersion| {
        list.as_array().is_some_and(|list| list.iter().any(|named| named.as_str() == Some(version.as_str())))
    };
    ProtocolVersion::KNOWN_VERSIONS.iter().filter(named).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(kind: Kind, outcome: Outcome) -> (Hello, RxJsonRpcMessage<RoleClient>) {
        let mut hello = Hello::default();
        hello.asks(kind, 3);
        assert_eq!((hello.is_asked(3), hello.is_asked(4)), (Some(kind), None));
        let told = hello.answered(kind, 3, outcome);
        assert_eq!(hello.is_asked(3), None);
        (hello, told)
    }

    #[test]
    fn nothing_a_server_says_of_itself_reaches_rmcp() {
        let result = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {"listChanged": true, "x": "hunter2"}, "hunter2": {}, "experimental": {"hunter2": {}}},
            "serverInfo": {"name": "hunter2", "version": "hunter2"}, "instructions": "hunter2", "_meta": {"a": "hunter2"},
        });
        let (hello, told) = answer(Kind::Initialize, Outcome::Answer(Raw::of(result.clone())));
        let shown = format!("{told:?}");
        assert!(shown.contains("2025-06-18") && !shown.contains("hunter2"), "{shown}");
        assert_eq!(hello.result.value(), &result);
        let error = json!({"code": -32000, "message": "hunter2", "data": {"supported": ["hunter2", "2026-07-28"]}});
        let (hello, told) = answer(Kind::Initialize, Outcome::Refused { code: -32000, error: Raw::of(error) });
        let shown = format!("{told:?}");
        assert!(shown.contains("2026-07-28") && !shown.contains("hunter2"), "{shown}");
        assert!(!hello.is_modern_only());
    }

    #[test]
    fn every_version_by_its_shape_is_taken_and_a_strange_one_is_not_shown() {
        for (said, agreed) in
            [("2024-11-05", Some("2024-11-05")), ("2031-01-01", Some("2031-01-01")), ("hunter2", None)]
        {
            let result = Raw::of(json!({"protocolVersion": said}));
            let (hello, told) = answer(Kind::Initialize, Outcome::Answer(result));
            assert!(matches!(told, JsonRpcMessage::Response(_)) && !format!("{told:?}").contains("hunter2"));
            assert_eq!(hello.version.as_ref().map(ProtocolVersion::as_str), agreed);
        }
    }

    #[test]
    fn a_server_without_initialize_is_known_by_its_refusal() {
        for (code, modern) in [(-32022, true), (-32601, true), (-32602, false), (-32603, false)] {
            let (hello, _) = answer(Kind::Initialize, Outcome::Refused { code, error: Raw::default() });
            assert_eq!(hello.is_modern_only(), modern, "{code}");
        }
        let result = json!({"supportedVersions": ["2026-07-28", "hunter2"], "capabilities": {"tools": {}}});
        let (hello, told) = answer(Kind::Discover, Outcome::Answer(Raw::of(result)));
        assert!(!format!("{told:?}").contains("hunter2"));
        assert_eq!(hello.version, Some(ProtocolVersion::V_2026_07_28));
    }

    #[test]
    fn an_answer_that_is_no_object_is_a_refusal() {
        for outcome in [Outcome::Answer(Raw::of(json!("hunter2"))), Outcome::Lost] {
            let (hello, told) = answer(Kind::Initialize, outcome);
            assert!(matches!(told, JsonRpcMessage::Error(_)));
            assert_eq!(hello.refused, Some(INTERNAL));
        }
    }
}
