//! Who and what is not let in.

use std::net::SocketAddr;

use hermes_fakes::log::Logged;
use hermes_mcp::http::server::{HttpError, HttpOptions, HttpServer};
use hermes_mcp::http::token::Token;
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::client::{Front, answer, call, initialize};

const NEW: &str = "2025-11-25";

#[tokio::test]
async fn only_this_machine_can_be_listened_on() {
    for addr in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[::ffff:192.0.2.1]:0"] {
        let addr: SocketAddr = addr.parse().unwrap();
        let refused = HttpServer::bind(HttpOptions::new(addr, None)).await.err().unwrap();
        assert!(matches!(refused, HttpError::NotLoopback(ip) if ip == addr.ip()));
        assert!(refused.to_string().contains("127.0.0.1"), "{refused}");
    }
    let first = HttpServer::bind(HttpOptions::new("127.0.0.1:0".parse().unwrap(), None)).await.unwrap();
    let taken = HttpServer::bind(HttpOptions::new(first.local_addr(), None)).await.err().unwrap();
    assert!(taken.to_string().contains("another port"), "{taken}");
}

/// The status and the code that are expected, the method, the headers, the body.
type Case<'a> = (u16, i64, &'a str, &'a [(&'a str, &'a str)], &'a str);

#[tokio::test]
async fn what_is_wrong_with_a_request_is_said_with_the_right_status() {
    let mut front = Front::start().await;
    let (dialogue, _peer) = front.begin(NEW).await;
    let session = dialogue.session.clone();
    let named = ("mcp-session-id", session.as_str());
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let long = "a".repeat(100);
    let cases: [Case<'_>; 22] = [
        (403, -32000, "POST", &[("host", "evil.example"), ("origin", "http://evil.example")], ping),
        (403, -32000, "POST", &[("host", "-")], ping),
        (403, -32000, "GET", &[named, ("origin", "null")], ""),
        (405, -32000, "OPTIONS", &[("origin", "http://localhost")], ""),
        (405, -32000, "PUT", &[named], ping),
        (406, -32000, "POST", &[named, ("accept", "application/json")], ping),
        (406, -32000, "POST", &[named, ("accept", "text/event-stream")], ping),
        (406, -32000, "GET", &[named, ("accept", "application/json")], ""),
        (415, -32000, "POST", &[named, ("content-type", "text/plain")], ping),
        (415, -32000, "POST", &[named, ("content-type", "-")], ping),
        (400, -32700, "POST", &[named], "{"),
        (400, -32700, "POST", &[named], ""),
        (400, -32600, "POST", &[named], r#"{"id":1,"method":"ping"}"#),
        (400, -32600, "POST", &[named], &initialize(NEW)),
        (400, -32600, "POST", &[], &format!("[{}]", initialize(NEW))),
        (400, -32000, "POST", &[], ping),
        (400, -32000, "GET", &[], ""),
        (400, -32000, "GET", &[named, ("last-event-id", "9-9")], ""),
        (400, -32000, "GET", &[named, ("last-event-id", &long)], ""),
        (404, -32001, "POST", &[("mcp-session-id", &long)], ping),
        (404, -32001, "DELETE", &[("mcp-session-id", &session[1..])], ""),
        (400, -32022, "POST", &[named, ("mcp-protocol-version", "1999-01-01")], ping),
    ];
    for (status, code, method, headers, body) in cases {
        let answered = front.ask(method, headers, body).await;
        assert_eq!(answered.status, status, "{method} {headers:?} {body}");
        assert_eq!(answered.header("access-control-allow-origin"), None);
        let said = answered.json().await;
        assert_eq!((&said["error"]["code"], &said["id"]), (&json!(code), &json!(null)), "{method} {headers:?} {body}");
    }
}

#[tokio::test]
async fn the_version_the_peer_chose_is_spoken_whatever_it_is() {
    let mut front = Front::start().await;
    let (dialogue, mut peer) = front.begin("2031-01-01").await;
    let session = dialogue.session.clone();
    for (version, status) in [("2031-01-01", 202), ("2025-06-18", 202), ("2032-01-01", 400)] {
        let headers = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", version)];
        let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(front.ask("POST", &headers, note).await.status, status, "{version}");
    }
    assert!(!peer.line().await.is_empty());
}

#[tokio::test]
async fn nobody_speaks_without_the_token() {
    let token = Token::random().unwrap();
    let right = format!("Bearer {}", token.reveal());
    let front = Front::with(|options| options.token = Some(token.clone())).await;
    let wrong = format!("Bearer {}", Token::random().unwrap().reveal());
    for headers in [&[][..], &[("authorization", wrong.as_str())], &[("authorization", token.reveal())]] {
        let refused = front.ask("POST", headers, &initialize(NEW)).await;
        assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")));
        assert!(!refused.json().await.to_string().contains(token.reveal()));
    }
    let no_session = front.ask("GET", &[("authorization", &right), ("mcp-session-id", "x")], "").await;
    assert_eq!(no_session.status, 404);
}

#[tokio::test]
async fn a_request_whose_id_is_being_answered_is_refused() {
    let mut front = Front::start().await;
    let (dialogue, mut peer) = front.begin(NEW).await;
    let first = dialogue.posted(&call(1)).await;
    peer.heard().await;
    let second = dialogue.post(&call(1)).await;
    assert_eq!(second.status, 400);
    peer.say(&answer(1)).await;
    assert_eq!(first.answer().await.written().await, answer(1).to_string());
    drop(dialogue.posted(&call(1)).await);
    assert_eq!(peer.heard().await["id"], 1, "an id that was answered is free");
}

#[tokio::test]
async fn a_body_that_is_too_long_is_not_read() {
    let front = Front::start().await;
    let announced = front.ask("POST", &[("content-length", "16777217")], "{").await;
    assert_eq!(announced.status, 413);
    let mut client = front.connect().await;
    let headers = [("transfer-encoding", "chunked"), ("content-length", "-")];
    client.send("POST", "/mcp", &headers, b"").await;
    let chunk = [b"100000\r\n".as_slice(), &vec![b' '; 1 << 20], b"\r\n"].concat();
    for _ in 0..17 {
        // Who refuses does not read the rest.
        if client.stream.get_mut().write_all(&chunk).await.is_err() {
            break;
        }
    }
    assert_eq!(client.answer().await.status, 413);
}

#[tokio::test]
async fn a_head_that_is_too_long_is_refused() {
    let front = Front::start().await;
    let long = "a".repeat(70_000);
    assert_eq!(front.ask("GET", &[("x-long", &long)], "").await.status, 431);
    let many: Vec<_> = (0..80).map(|_| ("x-many", "a")).collect();
    assert_eq!(front.ask("GET", &many, "").await.status, 431);
}

#[tokio::test]
async fn another_path_has_nothing() {
    let front = Front::start().await;
    for path in ["/", "/mcp/", "/mcp2", "/.well-known/oauth-protected-resource"] {
        let mut client = front.connect().await;
        client.send("POST", path, &[], initialize(NEW).as_bytes()).await;
        assert_eq!(client.answer().await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn nothing_of_what_is_said_is_logged() {
    let written = Logged::default();
    let to = written.clone();
    let log = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || to.clone()).finish();
    tracing::subscriber::set_global_default(log).unwrap();
    let token = Token::random().unwrap();
    let right = format!("Bearer {}", token.reveal());
    let mut front = Front::with(|options| options.token = Some(token.clone())).await;
    let mut client = front.connect().await;
    client.send("POST", "/mcp", &[("authorization", &right)], initialize("hunter2").as_bytes()).await;
    let mut peer = front.peer().await;
    peer.heard().await;
    peer.write_all(b"hunter2 is no message\n{\"jsonrpc\":\"2.0\",\"id\":\"hunter2\",\"result\":{}}\n").await;
    peer.say(&answer(0)).await;
    let begun = client.answer().await;
    let session = begun.header("mcp-session-id").unwrap().to_owned();
    let headers = [("authorization", right.as_str()), ("mcp-session-id", &session), ("x-hunter2", "hunter2")];
    assert_eq!(front.ask("POST", &headers, "{\"hunter2\"").await.status, 400);
    assert_eq!(front.ask("DELETE", &headers, "").await.status, 200);
    let log = written.text();
    assert!(log.contains("no message"), "something is logged: {log}");
    for secret in ["hunter2", token.reveal(), &session] {
        assert!(!log.contains(secret), "{log}");
    }
}
