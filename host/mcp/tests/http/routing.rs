//! Which message goes where.

use serde_json::{Value, json};

use crate::client::{Front, answer, call, progress};

const NEW: &str = "2025-11-25";

#[tokio::test]
async fn an_answer_that_comes_at_once_is_plain_json() {
    let mut front = Front::start().await;
    let (dialogue, mut peer) = front.begin(NEW).await;
    let body = call(1);
    let (answered, ()) = tokio::join!(dialogue.post(&body), async {
        assert_eq!(peer.heard().await["id"], 1);
        peer.say(&answer(1)).await;
    });
    assert_eq!((answered.status, answered.header("mcp-session-id")), (200, Some(dialogue.session.as_str())));
    assert_eq!(answered.json().await, answer(1));
    let noted = dialogue.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()).await;
    assert_eq!((noted.status, noted.header("content-length")), (202, Some("0")));
    assert_eq!(peer.heard().await["method"], "notifications/initialized");
}

#[tokio::test]
async fn what_is_said_before_the_answer_comes_before_the_answer() {
    let mut front = Front::start().await;
    let (dialogue, mut peer) = front.begin(NEW).await;
    let posted = dialogue.posted(&call(1)).await;
    peer.heard().await;
    peer.say(&progress(1, 10)).await;
    let mut stream = posted.answer().await;
    assert!(stream.is_stream() && stream.header("cache-control").is_some());
    let priming = stream.event().await.unwrap();
    assert_eq!((priming.id.as_str(), priming.retry, priming.data), ("2-0", true, None));
    let first = stream.event().await.unwrap();
    assert_eq!((first.id.as_str(), first.data), ("2-1", Some(progress(1, 10))));
    peer.say(&answer(1)).await;
    let last = stream.event().await.unwrap();
    assert_eq!((last.id.as_str(), last.data), ("2-2", Some(answer(1))));
    assert_eq!(stream.event().await, None);
}

#[tokio::test]
async fn an_old_client_gets_no_empty_event() {
    let mut front = Front::start().await;
    let (dialogue, mut peer) = front.begin("2025-06-18").await;
    let mut stream = dialogue.posted(&call(1)).await.answer().await;
    assert!(stream.is_stream(), "an answer that does not come becomes a stream");
    peer.say(&answer(1)).await;
    assert_eq!(stream.event().await.unwrap().data, Some(answer(1)));
}

#[tokio::test]
async fn calls_at_the_same_time_keep_their_streams() {
    let mut front = Front::start().await;
    let (dialogue, mut peer) = front.begin(NEW).await;
    let one = dialogue.posted(&call(1)).await;
    assert_eq!(peer.heard().await["id"], 1);
    let two = dialogue.posted(&call(2)).await;
    assert_eq!(peer.heard().await["id"], 2);
    let sampling = json!({"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": {}});
    for message in [&progress(1, 1), &progress(2, 2), &sampling, &answer(2)] {
        peer.say(message).await;
    }
    let (mut one, mut two) = (one.answer().await, two.answer().await);
    let read = [two.message().await, two.message().await, two.message().await];
    assert_eq!(read, [progress(2, 2), sampling, answer(2)], "what asks is asked in the youngest call");
    assert_eq!(two.event().await, None);
    let said = json!({"jsonrpc": "2.0", "id": 1, "result": {"model": "m"}});
    assert_eq!(dialogue.post(&said.to_string()).await.status, 202);
    assert_eq!(peer.heard().await, said);
    peer.say(&answer(1)).await;
    assert_eq!([one.message().await, one.message().await], [progress(1, 1), answer(1)]);
}

#[tokio::test]
async fn what_nobody_reads_waits_for_the_stream_that_is_opened_by_get() {
    let mut front = Front::start().await;
    let (dialogue, mut peer) = front.begin(NEW).await;
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    peer.say(&changed).await;
    let mut standing = dialogue.get(None).await;
    assert!(standing.is_stream());
    assert_eq!(standing.event().await.unwrap().id, "0-0");
    assert_eq!(standing.message().await, changed);
    // Also beside a call.
    let posted = dialogue.posted(&call(1)).await;
    peer.heard().await;
    peer.say(&changed).await;
    assert_eq!(standing.event().await.unwrap().id, "0-2");
    peer.say(&answer(1)).await;
    assert_eq!(posted.answer().await.written().await, answer(1).to_string());
}

#[tokio::test]
async fn a_client_that_lost_its_stream_goes_on_with_it() {
    let mut front = Front::start().await;
    let (dialogue, mut peer) = front.begin(NEW).await;
    let posted = dialogue.posted(&call(1)).await;
    peer.heard().await;
    peer.say(&progress(1, 1)).await;
    peer.say(&progress(1, 2)).await;
    let mut stream = posted.answer().await;
    assert!(stream.event().await.unwrap().data.is_none());
    let first = stream.event().await.unwrap();
    drop(stream);
    let mut again = dialogue.get(Some(&first.id)).await;
    assert_eq!(again.message().await, progress(1, 2));
    peer.say(&answer(1)).await;
    assert_eq!(again.message().await, answer(1));
    assert_eq!(again.event().await, None);
    let mut over = dialogue.get(Some(&first.id)).await;
    assert_eq!([over.message().await, over.message().await], [progress(1, 2), answer(1)]);
    assert_eq!(over.event().await, None);
}

#[tokio::test]
async fn a_second_stream_takes_over_from_the_first() {
    let mut front = Front::start().await;
    let (dialogue, mut peer) = front.begin(NEW).await;
    let mut old = dialogue.get(None).await;
    assert!(old.event().await.is_some());
    let mut new = dialogue.get(None).await;
    assert_eq!(old.event().await, None);
    let note = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "a"}});
    peer.say(&note).await;
    assert_eq!(new.message().await, note);
}

#[tokio::test]
async fn a_batch_is_answered_with_a_batch() {
    let mut front = Front::start().await;
    let (dialogue, mut peer) = front.begin("2025-03-26").await;
    let one: Value = serde_json::from_str(&call(1)).unwrap();
    let two: Value = serde_json::from_str(&call(2)).unwrap();
    let note = json!({"jsonrpc": "2.0", "method": "notifications/x"});
    let body = serde_json::to_string_pretty(&json!([one, note, two])).unwrap();
    let (answered, ()) = tokio::join!(dialogue.post(&body), async {
        assert_eq!([peer.heard().await, peer.heard().await, peer.heard().await], [one, note, two]);
        peer.write_all(format!("[{},{}]\n", answer(2), answer(1)).as_bytes()).await;
    });
    assert_eq!(answered.json().await, json!([answer(2), answer(1)]));
    let notes = json!([{"jsonrpc": "2.0", "method": "notifications/x"}]).to_string();
    assert_eq!(dialogue.post(&notes).await.status, 202);
}

#[tokio::test]
async fn a_message_is_handed_on_as_it_was_written() {
    let mut front = Front::start().await;
    let (dialogue, mut peer) = front.begin(NEW).await;
    let odd = r#"{"jsonrpc":"2.0","id":12345678901234567890123,"method":"x","params":{"b":1.0e400,"a":"\u00e4\n ü"}}"#;
    let broken = odd.replacen(',', ",\r\n  ", 1);
    let posted = dialogue.posted(&broken).await;
    assert_eq!(peer.line().await, format!("{}\n", odd.replacen(',', ",    ", 1)));
    let said = r#"{"jsonrpc":"2.0","result":{"x":1.10,"y":"\u0000"},"id":12345678901234567890123}"#;
    peer.write_all(format!("\n{said}\r\n").as_bytes()).await;
    assert_eq!(posted.answer().await.written().await, said);
}

#[tokio::test]
async fn what_a_peer_says_that_is_no_message_harms_nobody() {
    let mut front = Front::start().await;
    let (dialogue, mut peer) = front.begin(NEW).await;
    let posted = dialogue.posted(&call(1)).await;
    peer.heard().await;
    peer.write_all(b"starting up\n\xff\xfe\n[]\n{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}\n").await;
    peer.say(&answer(1)).await;
    assert_eq!(posted.answer().await.written().await, answer(1).to_string());
}
