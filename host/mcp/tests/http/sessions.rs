//! How sessions begin, live and end.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{Answer, Client, Dialogue, Front, Peer, answer, call, initialize, soon};

const NEW: &str = "2025-11-25";

/// A session with a stream that stands open, and a call that its peer has heard and not answered.
async fn busy(front: &mut Front) -> (Dialogue<'_>, Peer, Answer, Client) {
    let (dialogue, mut peer) = front.begin(NEW).await;
    let mut standing = dialogue.get(None).await;
    assert!(standing.event().await.is_some());
    let waiting = dialogue.posted(&call(1)).await;
    peer.heard().await;
    (dialogue, peer, standing, waiting)
}

#[tokio::test]
async fn a_session_that_is_deleted_is_over() {
    let mut front = Front::start().await;
    let (dialogue, mut peer, mut standing, waiting) = busy(&mut front).await;
    assert_eq!(dialogue.delete().await.status, 200);
    assert!(peer.is_left().await);
    assert_eq!(standing.event().await, None);
    let failed: Value = serde_json::from_str(&waiting.answer().await.written().await).unwrap();
    assert!(failed["id"] == 1 && failed["error"]["message"].is_string(), "{failed}");
    for gone in [dialogue.post(&call(2)).await, dialogue.get(None).await, dialogue.delete().await] {
        assert_eq!(gone.status, 404);
        assert_eq!(gone.json().await["error"]["code"], -32001);
    }
}

#[tokio::test]
async fn a_session_ends_with_its_peer_and_says_so() {
    let mut front = Front::start().await;
    let (dialogue, mut peer) = front.begin(NEW).await;
    let waiting = dialogue.posted(&call(1)).await;
    peer.heard().await;
    drop(peer);
    let failed: Value = serde_json::from_str(&waiting.answer().await.written().await).unwrap();
    assert!(failed["id"] == 1 && failed["error"]["message"].as_str().unwrap().contains("new session"), "{failed}");
    soon(async { while dialogue.post(&call(2)).await.status != 404 {} }).await;
}

#[tokio::test]
async fn a_session_whose_beginning_fails_is_none() {
    let mut front = Front::start().await;
    let mut client = front.connect().await;
    client.send("POST", "/mcp", &[], initialize(NEW).as_bytes()).await;
    let mut peer = front.peer().await;
    peer.heard().await;
    let failed = json!({"jsonrpc": "2.0", "id": 0, "error": {"code": -32602, "message": "no"}});
    peer.say(&failed).await;
    assert!(peer.is_left().await);
    assert_eq!(client.answer().await.written().await, failed.to_string());
}

#[tokio::test]
async fn a_session_in_which_nothing_happens_ends() {
    let mut front = Front::with(|options| options.idle = Duration::from_millis(100)).await;
    let (dialogue, mut peer) = front.begin(NEW).await;
    let mut standing = dialogue.get(None).await;
    assert!(standing.event().await.is_some());
    assert!(peer.is_left().await, "a stream alone does not keep it");
    assert_eq!(standing.event().await, None);
}

#[tokio::test]
async fn a_call_that_takes_longer_than_the_idle_time_is_answered() {
    let mut front = Front::with(|options| {
        options.idle = Duration::from_millis(50);
        options.beat = Duration::from_millis(100);
    })
    .await;
    let (dialogue, mut peer) = front.begin(NEW).await;
    let mut stream = dialogue.posted(&call(1)).await.answer().await;
    assert!(stream.event().await.is_some());
    // Two beats are four times the idle time.
    assert_eq!([stream.block().await.unwrap(), stream.block().await.unwrap()], [":", ":"]);
    peer.say(&answer(1)).await;
    assert_eq!(stream.message().await, answer(1));
}

#[tokio::test]
async fn a_call_that_was_given_up_ends_though_its_peer_is_silent() {
    let mut front = Front::start().await;
    let (dialogue, mut peer) = front.begin(NEW).await;
    let mut stream = dialogue.posted(&call(1)).await.answer().await;
    peer.heard().await;
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(dialogue.post(&cancelled.to_string()).await.status, 202);
    assert_eq!(peer.heard().await, cancelled);
    let failed = stream.message().await;
    assert!(failed["id"] == 1 && failed["error"].is_object(), "{failed}");
    assert_eq!(stream.event().await, None);
}

#[tokio::test]
async fn a_client_that_vanished_is_noticed_and_misses_nothing() {
    let mut front = Front::with(|options| options.beat = Duration::from_millis(20)).await;
    let (dialogue, mut peer) = front.begin(NEW).await;
    let mut standing = dialogue.get(None).await;
    assert!(standing.event().await.is_some());
    drop(standing);
    // Whether they were written to the stream that is gone or wait for the next, none is lost.
    let note = |at: u64| json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": at}});
    for at in 1..=3 {
        peer.say(&note(at)).await;
    }
    let mut again = dialogue.get(Some("0-0")).await;
    assert_eq!([again.message().await, again.message().await, again.message().await], [note(1), note(2), note(3)]);
}

#[tokio::test]
async fn there_are_no_more_sessions_than_there_may_be() {
    let mut front = Front::with(|options| options.sessions_max = 1).await;
    let (dialogue, mut peer) = front.begin(NEW).await;
    let session = dialogue.session.clone();
    let full = front.ask("POST", &[], &initialize(NEW)).await;
    assert_eq!((full.status, full.header("retry-after")), (503, Some("1")));
    assert!(full.json().await["error"]["message"].as_str().unwrap().contains("too many sessions"));
    assert_eq!(front.ask("DELETE", &[("mcp-session-id", &session)], "").await.status, 200);
    assert!(peer.is_left().await);
    front.begin(NEW).await;
}

#[tokio::test]
async fn a_session_that_was_left_alone_makes_room_for_a_new_one() {
    let mut front = Front::with(|options| {
        options.sessions_max = 2;
        options.spare = Duration::ZERO;
    })
    .await;
    let (left, mut alone) = front.begin(NEW).await;
    let left = left.session;
    let (kept, mut used) = front.begin(NEW).await;
    let mut standing = kept.get(None).await;
    assert!(standing.event().await.is_some());
    let kept = kept.session;
    let (_, mut new) = front.begin(NEW).await;
    assert!(alone.is_left().await);
    let ping = json!({"jsonrpc": "2.0", "method": "notifications/x"}).to_string();
    assert_eq!(front.ask("POST", &[("mcp-session-id", &left)], &ping).await.status, 404);
    // One that is read is not spare, however long nothing is said.
    assert_eq!(front.ask("POST", &[("mcp-session-id", &kept)], &ping).await.status, 202);
    assert_eq!(used.heard().await["method"], "notifications/x");
    front.begin(NEW).await;
    assert!(new.is_left().await);
    assert_eq!(front.ask("POST", &[("mcp-session-id", &kept)], &ping).await.status, 202);
}

#[tokio::test]
async fn no_more_connections_are_held_than_there_may_be() {
    let front = Front::start().await;
    let mut held = Vec::new();
    for _ in 0..256 {
        held.push(TcpStream::connect(front.addr).await.unwrap());
    }
    // The kernel completes connections before the server counts them, so one more is tried until it is counted out.
    let mut one_more = TcpStream::connect(front.addr).await.unwrap();
    let mut said = String::new();
    soon(one_more.read_to_string(&mut said)).await.unwrap();
    assert!(said.starts_with("HTTP/1.1 503 "), "{said}");
    drop(held);
    soon(async {
        loop {
            let mut client = front.connect().await;
            client.send("GET", "/other", &[], b"").await;
            if client.answer().await.status == 404 {
                return;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn one_connection_serves_many_requests() {
    let mut front = Front::start().await;
    let (dialogue, mut peer) = front.begin(NEW).await;
    let session = dialogue.session.clone();
    let mut client = front.connect().await;
    for id in 1..4 {
        client.send("POST", "/mcp", &[("mcp-session-id", &session)], call(id).as_bytes()).await;
        peer.heard().await;
        peer.say(&answer(id)).await;
        let mut head = Vec::new();
        while !head.ends_with(answer(id).to_string().as_bytes()) {
            head.push(soon(client.stream.read_u8()).await.unwrap());
        }
    }
}

#[tokio::test]
async fn the_end_of_the_server_ends_everything() {
    let mut front = Front::start().await;
    let (_, mut peer, mut standing, waiting) = busy(&mut front).await;
    let mut silent = TcpStream::connect(front.addr).await.unwrap();
    silent.write_all(b"POST /mcp HT").await.unwrap();
    front.end();
    assert!(peer.is_left().await);
    assert_eq!(standing.event().await, None);
    assert!(waiting.answer().await.written().await.contains("\"id\":1,\"error\""));
    soon(&mut front.serving).await.unwrap();
    assert!(TcpStream::connect(front.addr).await.is_err());
}
