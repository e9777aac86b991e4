//! Links over a pair of pipes in memory, with a server of a few lines at the other end.

use std::time::Duration;

use hermes_fakes::log::Logged;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex};
use tokio::sync::broadcast;

use super::*;
use crate::lines::MESSAGE_MAX;
use crate::servers::handle::Told;
use crate::servers::link::wire::Counts;
use crate::servers::listing::{self, List};

const LONG: Duration = Duration::from_secs(30);
const PATIENT: Patience = Patience { quiet: LONG, total: LONG };

/// The other end.
struct Peer {
    read: BufReader<ReadHalf<DuplexStream>>,
    write: WriteHalf<DuplexStream>,
}

impl Peer {
    async fn next(&mut self) -> Value {
        let mut line = String::new();
        tokio::time::timeout(LONG, self.read.read_line(&mut line)).await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap_or(Value::Null)
    }

    async fn say(&mut self, line: &[u8]) {
        self.write.write_all(line).await.unwrap();
    }

    async fn send(&mut self, message: Value) {
        self.say(format!("{message}\n").as_bytes()).await;
    }

    /// Answers with a result.
    async fn answer(&mut self, request: &Value, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": result})).await;
    }

    async fn greet(&mut self) {
        let hello = self.next().await;
        assert_eq!(hello["method"], "initialize");
        assert_eq!(hello["params"]["clientInfo"]["name"], "hermes");
        let capabilities = json!({"tools": {"listChanged": true}});
        let result = json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "instructions": "be kind"});
        self.answer(&hello, result).await;
        assert_eq!(self.next().await["method"], "notifications/initialized");
    }
}

struct Heard {
    told: broadcast::Receiver<Told>,
    counts: Arc<Counts>,
    dirty: Arc<listing::Dirty>,
}

fn pair() -> (Peer, DuplexStream, Ears, Heard) {
    let (ours, theirs) = duplex(1 << 16);
    let (read, write) = tokio::io::split(theirs);
    let (sender, told) = broadcast::channel(8);
    let (counts, dirty) = (Arc::new(Counts::default()), Arc::new(listing::Dirty::default()));
    let ears = Ears { told: sender, dirty: Arc::clone(&dirty), counts: Arc::clone(&counts) };
    (Peer { read: BufReader::new(read), write }, ours, ears, Heard { told, counts, dirty })
}

async fn linked() -> (Peer, Arc<Link>, Heard) {
    let (mut peer, ours, ears, heard) = pair();
    let (read, write) = tokio::io::split(ours);
    let (connected, ()) = tokio::join!(Link::connect(read, write, ears), peer.greet());
    let (link, _) = connected.expect("a link");
    (peer, Arc::new(link), heard)
}

type Asked = tokio::task::JoinHandle<Result<Raw, LinkError>>;

fn ask(link: &Arc<Link>, params: Value, patience: Patience, cancelled: &CancellationToken) -> Asked {
    let Value::Object(params) = params else { panic!("params are an object") };
    let (link, cancelled) = (Arc::clone(link), cancelled.clone());
    tokio::spawn(async move { link.ask("tools/call", Arc::new(params), None, patience, &cancelled).await })
}

fn ask_patiently(link: &Arc<Link>) -> Asked {
    ask(link, json!({"name": "echo"}), PATIENT, &CancellationToken::new())
}

async fn result(asked: Asked) -> Result<Value, &'static str> {
    match tokio::time::timeout(LONG, asked).await.unwrap().unwrap() {
        Ok(raw) => Ok(raw.into_value()),
        Err(LinkError::NotSent) => Err("not sent"),
        Err(LinkError::Uncertain) => Err("uncertain"),
        Err(LinkError::Unreadable) => Err("unreadable"),
        Err(LinkError::TimedOut(_)) => Err("timed out"),
        Err(LinkError::Cancelled) => Err("cancelled"),
        Err(LinkError::Refused { .. }) => Err("refused"),
    }
}

#[tokio::test]
async fn a_request_is_written_as_it_was_asked_and_its_answer_arrives_as_it_was_said() {
    let (mut peer, link, _heard) = linked().await;
    assert_eq!(
        (link.protocol().as_deref(), &link.hello().value()["instructions"]),
        (Some("2025-06-18"), &json!("be kind"))
    );
    let params = json!({"name": "echo", "arguments": {"b": 1, "a": 2.50}, "_meta": {"trace": "x"}});
    let asked = ask(&link, params.clone(), PATIENT, &CancellationToken::new());
    let request = peer.next().await;
    assert_eq!((&request["method"], &request["params"]), (&json!("tools/call"), &params));
    let answer =
        json!({"content": [{"type": "nobody knows", "x": 1}], "structuredContent": {"deep": [null]}, "extra": 1.5});
    peer.answer(&request, answer.clone()).await;
    assert_eq!(result(asked).await, Ok(answer));
}

#[tokio::test]
async fn answers_out_of_order_reach_those_who_asked() {
    let (mut peer, link, heard) = linked().await;
    let mut asked = Vec::new();
    for number in 0..20 {
        asked.push(ask(&link, json!({"number": number}), PATIENT, &CancellationToken::new()));
    }
    let mut requests = Vec::new();
    for _ in 0..20 {
        requests.push(peer.next().await);
    }
    for request in requests.iter().rev() {
        peer.answer(request, request["params"].clone()).await;
        peer.answer(request, json!("again")).await;
    }
    for (number, asked) in asked.into_iter().enumerate() {
        assert_eq!(result(asked).await, Ok(json!({"number": number})));
    }
    let asked = ask_patiently(&link);
    peer.send(json!({"jsonrpc": "2.0", "id": 9999, "result": {}})).await;
    let request = peer.next().await;
    peer.answer(&request, json!(1)).await;
    assert_eq!(result(asked).await, Ok(json!(1)));
    assert_eq!(heard.counts.junk(), 21);
    assert_eq!(heard.counts.notes().len(), 3);
}

#[tokio::test]
async fn lines_that_are_no_message_are_counted_and_the_stream_goes_on() {
    let (mut peer, link, heard) = linked().await;
    let asked = ask_patiently(&link);
    let request = peer.next().await;
    for junk in [&b"Starting hunter2...\n"[..], b"\xff\xfe\n", b"\n", b"[1]\n", b"\0\n"] {
        peer.say(junk).await;
    }
    let text = json!({"jsonrpc": "2.0", "id": request["id"], "result": "fine"});
    peer.say(format!("\u{feff}{text}\r\n").as_bytes()).await;
    assert_eq!(result(asked).await, Ok(json!("fine")));
    assert_eq!(heard.counts.junk(), 3);
    assert!(!heard.counts.notes().join(" ").contains("hunter2"));
}

#[tokio::test]
async fn an_answer_that_is_too_long_fails_its_own_request_and_the_next_is_answered() {
    let (mut peer, link, heard) = linked().await;
    let (long, short) = (ask_patiently(&link), ask_patiently(&link));
    let (first, second) = (peer.next().await, peer.next().await);
    let mut write = peer.write;
    let flood = tokio::spawn(async move {
        write
            .write_all(format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":\"", first["id"]).as_bytes())
            .await
            .unwrap();
        let chunk = vec![b'A'; 1 << 20];
        for _ in 0..=MESSAGE_MAX >> 20 {
            write.write_all(&chunk).await.unwrap();
        }
        write.write_all(b"\"}\n").await.unwrap();
        let answer = json!({"jsonrpc": "2.0", "id": second["id"], "result": "short"});
        write.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        write
    });
    let results = (result(long).await, result(short).await);
    assert!(results == (Err("unreadable"), Ok(json!("short"))) || results == (Ok(json!("short")), Err("unreadable")));
    flood.await.unwrap();
    assert_eq!(heard.counts.junk(), 1);
}

#[tokio::test]
async fn an_error_arrives_whole_and_enters_no_log() {
    let (mut peer, link, _heard) = linked().await;
    let asked = ask_patiently(&link);
    let request = peer.next().await;
    let error = json!({"code": -32042, "message": "hunter2", "data": {"a": "hunter2"}});
    peer.send(json!({"jsonrpc": "2.0", "id": request["id"], "error": error})).await;
    match asked.await.unwrap() {
        Err(LinkError::Refused { code: -32042, error: raw }) => assert_eq!(raw.value(), &error),
        _ => panic!("refused"),
    }
}

#[tokio::test]
async fn a_cancelled_request_is_given_up_at_once_and_the_server_is_told() {
    let (mut peer, link, heard) = linked().await;
    let cancelled = CancellationToken::new();
    let asked = ask(&link, json!({}), PATIENT, &cancelled);
    let request = peer.next().await;
    cancelled.cancel();
    assert_eq!(tokio::time::timeout(Duration::from_millis(100), result(asked)).await.unwrap(), Err("cancelled"));
    let told = peer.next().await;
    assert_eq!((&told["method"], &told["params"]["requestId"]), (&json!("notifications/cancelled"), &request["id"]));
    peer.answer(&request, json!("late")).await;
    let asked = ask_patiently(&link);
    let request = peer.next().await;
    peer.answer(&request, json!("in time")).await;
    assert_eq!(result(asked).await, Ok(json!("in time")));
    assert_eq!(heard.counts.junk(), 0, "a late answer is no surprise");
}

#[tokio::test]
async fn a_request_that_nobody_waits_for_any_more_is_cancelled() {
    let (mut peer, link, _heard) = linked().await;
    let asked = ask_patiently(&link);
    let request = peer.next().await;
    asked.abort();
    let told = peer.next().await;
    assert_eq!((&told["method"], &told["params"]["requestId"]), (&json!("notifications/cancelled"), &request["id"]));
}

#[tokio::test]
async fn progress_is_passed_on_and_keeps_a_request_alive() {
    let (mut peer, link, _heard) = linked().await;
    let (sender, mut progress) = mpsc::channel(8);
    let patience = Patience { quiet: Duration::from_millis(400), total: LONG };
    let asking = Arc::clone(&link);
    let asked: Asked = tokio::spawn(async move {
        asking.ask("tools/call", Arc::default(), Some(sender), patience, &CancellationToken::new()).await
    });
    let request = peer.next().await;
    let token = request["params"]["_meta"]["progressToken"].clone();
    assert!(token.is_number());
    let start = Instant::now();
    let mut done = 0;
    while start.elapsed() < 2 * patience.quiet {
        done += 1;
        let params = json!({"progressToken": token, "progress": done, "message": "working"});
        peer.send(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})).await;
        let heard = tokio::time::timeout(LONG, progress.recv()).await.unwrap().unwrap();
        assert_eq!(heard.value(), &json!({"progress": done, "message": "working"}));
    }
    peer.answer(&request, json!("done")).await;
    assert_eq!(result(asked).await, Ok(json!("done")));
}

#[tokio::test]
async fn a_request_without_a_sign_of_life_is_given_up_and_the_server_told() {
    let (mut peer, link, _heard) = linked().await;
    assert_eq!(Patience::of(Duration::from_secs(300)).total, Duration::from_secs(3600));
    let patience = Patience::of(Duration::from_millis(200));
    let asked = ask(&link, json!({}), patience, &CancellationToken::new());
    peer.next().await;
    assert_eq!(result(asked).await, Err("timed out"));
    assert_eq!(peer.next().await["method"], "notifications/cancelled");
    assert!(!link.has_ended());
}

#[tokio::test]
async fn a_server_that_does_not_read_is_given_up_with_a_request_that_timed_out() {
    let (peer, link, _heard) = linked().await;
    let patience = Patience::in_all(Duration::from_millis(200));
    let deadline = Instant::now() + LONG;
    // The first one is being written all the time; on a busy machine that may have begun late.
    while !link.has_ended() {
        let large = json!({"text": "A".repeat(1 << 20)});
        assert!(result(ask(&link, large, patience, &CancellationToken::new())).await.is_err());
        assert!(Instant::now() < deadline, "not given up");
    }
    assert_eq!(link.ended().await, Loss::Deaf);
    assert_eq!(result(ask_patiently(&link)).await, Err("not sent"));
    drop(peer);
}

#[tokio::test]
async fn when_the_server_goes_everything_in_flight_fails_at_once_and_nothing_is_sent_again() {
    let (mut peer, link, _heard) = linked().await;
    let asked: Vec<Asked> = (0..5).map(|_| ask_patiently(&link)).collect();
    for _ in 0..5 {
        peer.next().await;
    }
    drop(peer);
    for asked in asked {
        assert_eq!(tokio::time::timeout(Duration::from_secs(2), result(asked)).await.unwrap(), Err("uncertain"));
    }
    assert_eq!(result(ask_patiently(&link)).await, Err("not sent"));
}

#[tokio::test]
async fn the_last_answer_of_a_server_that_ends_is_not_lost() {
    for _ in 0..20 {
        let (mut peer, link, _heard) = linked().await;
        let asked = ask_patiently(&link);
        let request = peer.next().await;
        peer.answer(&request, json!("bye")).await;
        drop(peer);
        assert_eq!(result(asked).await, Ok(json!("bye")));
    }
}

#[tokio::test]
async fn what_a_server_asks_is_refused_but_a_ping_and_nothing_of_it_goes_further() {
    let (mut peer, _link, _heard) = linked().await;
    peer.send(json!({"jsonrpc": "2.0", "id": "a-1", "method": "ping"})).await;
    assert_eq!(peer.next().await, json!({"jsonrpc": "2.0", "id": "a-1", "result": {}}));
    for method in ["sampling/createMessage", "roots/list", "elicitation/create", "no/such"] {
        peer.send(json!({"jsonrpc": "2.0", "id": 0, "method": method, "params": {"x": "hunter2"}})).await;
        let answer = peer.next().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(0), &json!(-32601)));
    }
}

#[tokio::test]
async fn what_a_server_says_to_nobody_in_particular_is_heard() {
    let (mut peer, _link, mut heard) = linked().await;
    for (method, params) in [
        ("notifications/message", json!({"level": "info", "data": "hello"})),
        ("notifications/hunter2", json!({})),
        ("notifications/resources/updated", json!({"uri": "file:///a"})),
    ] {
        peer.send(json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }
    let told = tokio::time::timeout(LONG, heard.told.recv()).await.unwrap().unwrap();
    assert_eq!((told.method.as_str(), &told.params.value()["data"]), ("notifications/message", &json!("hello")));
    let told = tokio::time::timeout(LONG, heard.told.recv()).await.unwrap().unwrap();
    assert_eq!(told.method, "notifications/resources/updated");
    peer.send(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})).await;
    assert_eq!(tokio::time::timeout(LONG, heard.dirty.changed()).await.unwrap(), [List::Tools]);
}

#[tokio::test]
async fn a_server_that_only_knows_the_newest_protocol_is_discovered() {
    let (mut peer, ours, ears, _heard) = pair();
    let (read, write) = tokio::io::split(ours);
    let connecting = tokio::spawn(Link::connect(read, write, ears));
    let hello = peer.next().await;
    let error = json!({"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]}});
    peer.send(json!({"jsonrpc": "2.0", "id": hello["id"], "error": error})).await;
    let discover = peer.next().await;
    assert_eq!(discover["method"], "server/discover");
    let found = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
        "ttlMs": 1000, "cacheScope": "private"});
    peer.answer(&discover, found).await;
    let (link, _rest) = connecting.await.unwrap().expect("a link");
    assert_eq!(link.protocol().as_deref(), Some("2026-07-28"));
    let link = Arc::new(link);
    let listening = Arc::clone(&link);
    let capabilities = Raw::of(json!({"tools": {"listChanged": true}}));
    tokio::spawn(async move { listing::listen(&listening, &capabilities).await });
    let listen = peer.next().await;
    assert_eq!(listen["method"], "subscriptions/listen");
    assert_eq!(listen["params"]["notifications"], json!({"toolsListChanged": true}));
    let asked = ask_patiently(&link);
    let request = peer.next().await;
    assert_eq!(request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    peer.answer(&request, json!({})).await;
    assert_eq!(result(asked).await, Ok(json!({})));
}

#[tokio::test]
async fn a_handshake_that_fails_says_how() {
    let cases = [
        (Some(json!({"error": {"code": -32602, "message": "hunter2"}})), HelloError::Refused(-32602)),
        (Some(json!({"result": "hunter2"})), HelloError::Refused(-32603)),
        (None, HelloError::Gone),
    ];
    for (answer, expected) in cases {
        let (mut peer, ours, ears, _heard) = pair();
        let (read, write) = tokio::io::split(ours);
        let connecting = tokio::spawn(Link::connect(read, write, ears));
        let hello = peer.next().await;
        if let Some(mut answer) = answer {
            answer["jsonrpc"] = json!("2.0");
            answer["id"] = hello["id"].clone();
            peer.send(answer).await;
        } else {
            drop(peer);
        }
        assert_eq!(tokio::time::timeout(LONG, connecting).await.unwrap().unwrap().err(), Some(expected));
    }
}

#[tokio::test]
async fn a_handshake_that_is_not_answered_is_not_tried_in_another_way() {
    let (mut peer, ours, ears, _heard) = pair();
    let (read, write) = tokio::io::split(ours);
    let connecting = Link::connect(read, write, ears);
    assert!(tokio::time::timeout(Duration::from_millis(500), connecting).await.is_err());
    assert_eq!(peer.next().await["method"], "initialize");
    assert_eq!(peer.next().await, Value::Null, "the input is closed, and nothing else was asked");
}

#[tokio::test]
async fn any_answer_to_a_ping_is_a_sign_of_life() {
    let (mut peer, link, _heard) = linked().await;
    for answered in [Some(json!({"result": {}})), Some(json!({"error": {"code": -32601, "message": "no"}})), None] {
        let expected = answered.is_some();
        let pinging = Arc::clone(&link);
        let within = if expected { LONG } else { Duration::from_millis(200) };
        let alive = tokio::spawn(async move { pinging.is_alive(within).await });
        let ping = peer.next().await;
        assert_eq!((&ping["method"], ping.get("params")), (&json!("ping"), None));
        if let Some(mut answer) = answered {
            answer["id"] = ping["id"].clone();
            peer.send(answer).await;
        }
        assert_eq!(alive.await.unwrap(), expected);
    }
}

async fn listed(pages: impl Fn(usize, &Value) -> Value + Send + 'static) -> (Result<listing::Listed, String>, usize) {
    let (mut peer, link, _heard) = linked().await;
    let answering = tokio::spawn(async move {
        let mut asked = 0;
        loop {
            let request = peer.next().await;
            if request["method"] != "tools/list" {
                return asked;
            }
            asked += 1;
            let mut answer = pages(asked, &request["params"]["cursor"]);
            answer["id"] = request["id"].clone();
            peer.send(answer).await;
        }
    });
    let listed = listing::read(&link, List::Tools, &tokio::sync::Semaphore::new(1), LONG).await;
    link.tell("notifications/over", Map::new()).await;
    (listed, answering.await.unwrap())
}

fn page(names: std::ops::Range<usize>, next: Option<&str>) -> Value {
    let tools: Vec<Value> = names.map(|name| json!({"name": format!("tool_{name}")})).collect();
    json!({"result": {"tools": tools, "nextCursor": next}})
}

#[tokio::test]
async fn nothing_that_is_asked_or_answered_is_logged_even_at_its_most_talkative() {
    let logged = Logged::default();
    let writer = logged.clone();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing_subscriber::filter::LevelFilter::TRACE);
    let _guard = tracing::subscriber::set_default(subscriber.with_writer(move || writer.clone()).finish());
    let (mut peer, ours, ears, _heard) = pair();
    let (read, write) = tokio::io::split(ours);
    let connecting = tokio::spawn(Link::connect(read, write, ears));
    let hello = peer.next().await;
    peer.say(b"hunter2\n{\"hunter2\":\n").await;
    peer.send(json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "hunter2"}})).await;
    let said = json!({"protocolVersion": "hunter2", "capabilities": {"hunter2": {}, "tools": {"hunter2": 1}},
        "serverInfo": {"name": "hunter2", "version": "hunter2"}, "instructions": "hunter2"});
    peer.answer(&hello, said).await;
    peer.next().await;
    let link = Arc::new(connecting.await.unwrap().expect("a link").0);
    peer.send(json!({"jsonrpc": "2.0", "id": "hunter2", "method": "hunter2", "params": {"hunter2": "hunter2"}})).await;
    peer.next().await;
    peer.send(json!({"jsonrpc": "2.0", "method": "notifications/hunter2", "params": {"hunter2": "hunter2"}})).await;
    let params = json!({"name": "hunter2", "arguments": {"password": "hunter2"}, "_meta": {"hunter2": "hunter2"}});
    for answer in [json!({"result": {"hunter2": "hunter2"}}), json!({"error": {"code": 1, "message": "hunter2"}})] {
        let (sender, mut progress) = mpsc::channel(8);
        let (asking, params) = (Arc::clone(&link), params.as_object().unwrap().clone());
        let cancelled = CancellationToken::new();
        let asked =
            tokio::spawn(
                async move { asking.ask("tools/call", Arc::new(params), Some(sender), PATIENT, &cancelled).await },
            );
        let request = peer.next().await;
        let params = json!({"progressToken": request["params"]["_meta"]["progressToken"], "message": "hunter2"});
        peer.send(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})).await;
        progress.recv().await.unwrap();
        let mut answer = answer.clone();
        answer["id"] = request["id"].clone();
        peer.send(answer).await;
        let _ = asked.await.unwrap();
    }
    link.tell("notifications/told", params.as_object().unwrap().clone()).await;
    peer.next().await;
    let cancelled = ask(&link, params, PATIENT, &CancellationToken::new());
    peer.next().await;
    cancelled.abort();
    peer.next().await;
    let text = logged.text();
    assert!(text.contains("rmcp") && !text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn every_page_of_a_list_is_read() {
    let (listed, asked) = listed(|_, cursor| match cursor.as_str() {
        None => page(0..50, Some("b")),
        Some("b") => page(50..100, Some("c")),
        _ => page(100..120, None),
    })
    .await;
    let listed = listed.expect("a list");
    let names: Vec<&Value> = listed.elements.iter().map(|tool| &tool.value()["name"]).collect();
    let expected: Vec<Value> = (0..120).map(|name| json!(format!("tool_{name}"))).collect();
    assert_eq!((names, asked, listed.cut), (expected.iter().collect(), 3, None));
}

#[tokio::test]
async fn a_list_that_never_ends_is_cut() {
    let (constant, asked) = listed(|_, _| page(0..2, Some("same"))).await;
    let constant = constant.expect("a list");
    assert!(asked <= 3 && constant.elements.len() == 2 && constant.cut.is_some(), "nothing is offered twice");
    let (cycle, asked) = listed(|turn, _| page(0..1, Some(["a", "b"][turn % 2]))).await;
    assert!(asked <= 4 && cycle.expect("a list").cut.is_some());
    let (endless, asked) = listed(|turn, _| page(0..1, Some(&turn.to_string()))).await;
    assert!(asked == 50 && endless.expect("a list").cut.is_some());
    let (large, asked) = listed(|turn, _| page(turn * 6000..(turn + 1) * 6000, Some(&turn.to_string()))).await;
    assert!(asked == 2 && large.expect("a list").elements.len() == 10_000);
}

#[tokio::test]
async fn a_list_that_fails_says_so_without_the_words_of_the_server() {
    let (refused, _) = listed(|_, _| json!({"error": {"code": -32000, "message": "hunter2"}})).await;
    assert_eq!(refused.err().as_deref(), Some("tools/list failed with error -32000"));
    let (odd, _) = listed(|_, _| json!({"result": ["hunter2"]})).await;
    assert_eq!(odd.err().as_deref(), Some("its answer to tools/list is no object"));
}
