//! Where messages go, decided without any stream of bytes.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::state::{Next, Posted, State};
use crate::http::event::EventId;
use crate::http::message::Message;
use crate::http::outbox::{Read, Reader};
use crate::http::refusal::Refusal;

const IDLE: Duration = Duration::from_secs(1800);

fn message(value: &Value) -> Message {
    Message::parse(value.to_string().as_bytes()).unwrap()
}

fn request(id: u64) -> Message {
    message(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"_meta": {"progressToken": id}}}))
}

fn answer(id: u64) -> Message {
    message(&json!({"jsonrpc": "2.0", "id": id, "result": {}}))
}

fn note(text: &str) -> Message {
    message(&json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": text}}))
}

fn cancelled(id: u64) -> Message {
    message(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}))
}

fn reader(posted: Result<Posted, Refusal>) -> Reader {
    match posted {
        Ok(Posted::Answers(reader)) => reader,
        _ => panic!("a stream of answers"),
    }
}

/// What can be read at once.
async fn read(reader: &mut Reader) -> Vec<Value> {
    let mut read = Vec::new();
    while let Ok(Read::Said(said)) = tokio::time::timeout(Duration::ZERO, reader.next()).await {
        read.push(serde_json::from_slice(&said.line).unwrap());
    }
    read
}

#[tokio::test]
async fn a_call_that_was_given_up_is_answered_all_the_same() {
    let now = Instant::now();
    let mut state = State::new(now);
    let mut stream = reader(state.posted(&[request(1)], now));
    assert!(matches!(state.posted(&[cancelled(1)], now), Ok(Posted::Taken)));
    let (due, then) = state.due(IDLE);
    assert!(due > now && then == Next::On);
    state.late(now);
    assert!(read(&mut stream).await.is_empty());
    state.late(due);
    let answers = read(&mut stream).await;
    assert!(answers.len() == 1 && answers[0]["id"] == 1 && answers[0]["error"]["code"] == -32000, "{answers:?}");
    assert!(matches!(stream.next().await, Read::Over));
    assert_eq!(state.said(answer(1), due), Next::On);
    assert!(read(&mut stream).await.is_empty());
}

#[tokio::test]
async fn only_a_session_with_nothing_to_do_is_idle() {
    let start = Instant::now();
    let mut state = State::new(start);
    assert_eq!(state.due(IDLE), (start + IDLE, Next::End));
    let later = start + Duration::from_secs(60);
    let stream = reader(state.posted(&[request(1)], later));
    drop(stream);
    assert_eq!(state.due(IDLE).1, Next::On);
    let answered = later + Duration::from_secs(7200);
    state.said(answer(1), answered);
    assert_eq!(state.due(IDLE), (answered + IDLE, Next::End));
    // What nobody reads does not keep it alive, and what is read does.
    state.said(note("a"), answered + Duration::from_secs(5));
    assert_eq!(state.due(IDLE).0, answered + IDLE);
    let _standing = state.get(None, answered).unwrap();
    state.said(note("b"), answered + Duration::from_secs(5));
    assert_eq!(state.due(IDLE).0, answered + Duration::from_secs(5) + IDLE);
}

#[tokio::test]
async fn two_requests_never_have_one_id_at_the_same_time() {
    let now = Instant::now();
    let mut state = State::new(now);
    assert_eq!(state.posted(&[request(1), request(1)], now).err(), Some(Refusal::SameId));
    let _stream = reader(state.posted(&[request(1)], now));
    assert_eq!(state.posted(&[request(2), request(1)], now).err(), Some(Refusal::SameId));
    state.said(answer(1), now);
    let _again = reader(state.posted(&[request(2), request(1)], now));
}

#[tokio::test]
async fn a_client_cannot_ask_without_end() {
    let now = Instant::now();
    let mut state = State::new(now);
    let many: Vec<_> = (0..64).map(request).collect();
    for round in 0..4 {
        let round: Vec<_> = many.iter().enumerate().map(|(at, _)| request(round * 64 + at as u64)).collect();
        reader(state.posted(&round, now));
    }
    assert_eq!(state.posted(&[request(1000)], now).err(), Some(Refusal::Busy));
    state.said(answer(0), now);
    reader(state.posted(&[request(1000)], now));
}

#[tokio::test]
async fn the_ends_of_a_few_streams_are_kept_and_no_more() {
    let now = Instant::now();
    let mut state = State::new(now);
    for id in 1..=40 {
        drop(reader(state.posted(&[request(id)], now)));
        state.said(answer(id), now);
    }
    let from = |state: &mut State, stream| state.get(Some(EventId { stream, event: 0 }), now);
    assert_eq!(from(&mut state, 1).err(), Some(Refusal::NoEvent));
    let mut last = from(&mut state, 40).ok().unwrap();
    assert_eq!(read(&mut last).await[0]["id"], 40);
    assert_eq!(from(&mut state, 41).err(), Some(Refusal::NoEvent));
}

#[tokio::test]
async fn what_belongs_to_no_call_is_told_where_it_is_always_heard() {
    let now = Instant::now();
    let mut state = State::new(now);
    let changed = || message(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    let mut call = reader(state.posted(&[request(1)], now));
    state.said(changed(), now);
    assert_eq!(read(&mut call).await.len(), 1);
    let mut standing = state.get(None, now).unwrap();
    state.said(changed(), now);
    state.said(note("of the call"), now);
    assert_eq!((read(&mut call).await.len(), read(&mut standing).await.len()), (1, 1));
    drop(call);
    state.said(note("the call is not read"), now);
    assert_eq!(read(&mut standing).await.len(), 1);
}

#[derive(Clone, Debug)]
enum Step {
    Post,
    Answer(usize),
    Note,
    Progress(usize),
    Leave(usize),
    Get,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        Just(Step::Post),
        (0usize..9).prop_map(Step::Answer),
        Just(Step::Note),
        (0usize..9).prop_map(Step::Progress),
        (0usize..9).prop_map(Step::Leave),
        Just(Step::Get),
    ];
    proptest::collection::vec(step, 0..40)
}

proptest! {
    #[test]
    fn no_message_is_lost_and_none_is_told_twice(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let now = Instant::now();
            let mut state = State::new(now);
            let (mut ids, mut told, mut heard) = (0u64, 0u64, Vec::new());
            let (mut open, mut streams): (Vec<u64>, Vec<(u64, Reader)>) = (Vec::new(), Vec::new());
            let mut answers = Vec::new();
            for step in steps {
                match step {
                    Step::Post => {
                        ids += 1;
                        open.push(ids);
                        streams.push((ids, reader(state.posted(&[request(ids)], now))));
                    }
                    Step::Answer(at) if !open.is_empty() => {
                        let id = open.remove(at % open.len());
                        answers.push(id);
                        state.said(answer(id), now);
                    }
                    Step::Note | Step::Answer(_) => {
                        told += 1;
                        state.said(note(&told.to_string()), now);
                    }
                    Step::Progress(at) => {
                        told += 1;
                        let token = if open.is_empty() { 0 } else { open[at % open.len()] };
                        let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                            "params": {"progressToken": token, "data": told.to_string()}});
                        state.said(message(&progress), now);
                    }
                    Step::Leave(at) if !streams.is_empty() => {
                        let (_, mut reader) = streams.remove(at % streams.len());
                        heard.extend(read(&mut reader).await);
                    }
                    Step::Leave(_) => {}
                    Step::Get => heard.extend(read(&mut state.get(None, now).unwrap()).await),
                }
            }
            for (_, mut reader) in streams {
                heard.extend(read(&mut reader).await);
            }
            // Whoever left comes back to each stream that is kept.
            for stream in 0..=ids {
                if let Ok(mut reader) = state.get(Some(EventId { stream, event: 0 }), now) {
                    heard.extend(read(&mut reader).await);
                }
            }
            let mut notes: Vec<u64> = heard.iter()
                .filter_map(|value| value["params"]["data"].as_str()?.parse().ok())
                .collect();
            notes.sort_unstable();
            notes.dedup();
            assert_eq!(notes, (1..=told).collect::<Vec<_>>());
            let mut answered: Vec<u64> = heard.iter().filter_map(|value| value["id"].as_u64()).collect();
            answered.sort_unstable();
            answered.dedup();
            answers.sort_unstable();
            // Ends of streams nobody came back for are kept for the last few.
            assert!(answered.iter().all(|id| answers.contains(id)) && answered.len() + 16 >= answers.len());
        });
    }

    #[test]
    fn each_stream_tells_its_own(count in 1usize..6, order in proptest::collection::vec(any::<prop::sample::Index>(), 20)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let now = Instant::now();
            let mut state = State::new(now);
            let mut streams: Vec<_> =
                (0..count as u64).map(|id| (id, reader(state.posted(&[request(id)], now)))).collect();
            for at in order {
                let token = at.index(count);
                let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                    "params": {"progressToken": token}});
                state.said(message(&progress), now);
            }
            for id in (0..count as u64).rev() {
                state.said(answer(id), now);
            }
            for (id, reader) in &mut streams {
                let read = read(reader).await;
                let (answer, progress) = read.split_last().unwrap();
                assert_eq!(answer["id"], *id);
                assert!(progress.iter().all(|value| value["params"]["progressToken"] == *id));
            }
        });
    }
}
