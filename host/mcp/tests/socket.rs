//! A host and its clients over a real socket: what is started, asked, ended and told.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod support;

use std::time::{Duration, Instant};

use hermes_mcp::client::{CallError, Client};
use hermes_mcp::offer::Patience;
use serde_json::{Value, json};
use support::{House, LONG, background, call, events, open_sockets, process, refusal, terminal, wait_until};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

#[tokio::test(flavor = "multi_thread")]
async fn a_foreground_command_is_answered_with_its_end_and_its_secrets_masked() {
    let house = House::new();
    let client = house.client().await;
    let told = terminal(&client, json!({"command": "echo the secret is out; exit 3"})).await;
    assert_eq!((told.text("/status/kind"), told.signed("exit_code")), (Some("exited"), Some(3)));
    assert_eq!(told.text("output"), Some("the [REDACTED:word] is out\n"));
    assert_eq!(told.part("timed_out"), None);
    assert!(!told.text("command").unwrap().contains("secret"), "the command line is masked too");
    let none = process(&client, json!({"action": "events"})).await;
    assert!(none.items("events").is_empty(), "who waited is not told again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_runs_without_a_shell_where_and_with_what_it_is_told() {
    let house = House::new();
    let client = house.client().await;
    let folder = house.folder.path().canonicalize().unwrap();
    let told = terminal(
        &client,
        json!({"program": ["sh", "-c", "pwd; echo $GIVEN $BASE $PATH"], "cwd": folder, "env": {"GIVEN": "given"},
            "base_env": {"BASE": "base", "PATH": "/usr/bin:/bin"}}),
    )
    .await;
    assert_eq!(told.text("output").unwrap(), format!("{}\ngiven base /usr/bin:/bin\n", folder.display()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_background_command_is_listed_read_waited_for_and_told() {
    let house = House::new();
    let client = house.client().await;
    let id = background(&client, "echo one; echo two secret; exit 4").await;
    let told = process(&client, json!({"action": "wait", "id": id})).await;
    assert_eq!((told.signed("exit_code"), told.flag("timed_out")), (Some(4), Some(false)));
    let listed = process(&client, json!({"action": "list"})).await;
    let rows = listed.items("processes");
    assert_eq!((rows.len(), rows[0].text("id")), (1, Some(id.as_str())));
    let row = process(&client, json!({"action": "poll", "id": &id[..9]})).await;
    assert_eq!((row.text("id"), row.text("/status/kind")), (Some(id.as_str()), Some("exited")));
    let log = process(&client, json!({"action": "log", "id": id, "offset": 1, "limit": 5})).await;
    assert_eq!((log.text("output"), log.number("total_lines")), (Some("two [REDACTED:word]\n"), Some(2)));
    let none = process(&client, json!({"action": "events"})).await;
    assert_eq!((none.items("events").len(), none.number("pending")), (0, Some(0)), "the wait was the news");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_command_is_shown_as_stopped_and_everything_of_an_owner_can_be_ended() {
    let house = House::new();
    let client = house.client().await;
    let id = background(&client, "sleep 1000").await;
    let killed = process(&client, json!({"action": "kill", "id": id})).await;
    assert_eq!((killed.text("result"), killed.text("/status/kind")), (Some("killed"), Some("stopped")));
    let again = process(&client, json!({"action": "kill", "id": id})).await;
    assert_eq!(again.text("result"), Some("already-ended"));
    background(&client, "sleep 1000").await;
    terminal(&client, json!({"command": "sleep 1000", "background": true, "owner": "other"})).await;
    let killed = process(&client, json!({"action": "kill_all"})).await;
    assert_eq!(killed.items("killed").len(), 1, "the other owner's is spared");
    let killed = process(&client, json!({"action": "kill_all", "all": true})).await;
    assert_eq!(killed.items("killed").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_reads_gets_what_it_is_sent_and_its_end() {
    let house = House::new();
    let client = house.client().await;
    let told =
        terminal(&client, json!({"command": "read a; echo got $a; cat", "background": true, "stdin": true})).await;
    let id = told.text("id").unwrap();
    let sent = process(&client, json!({"action": "send", "id": id, "data": "word", "enter": true})).await;
    assert_eq!((sent.text("result"), sent.number("bytes_written")), (Some("ok"), Some(5)));
    let sent = process(&client, json!({"action": "send", "id": id, "data": "rest", "eof": true})).await;
    assert_eq!((sent.text("result"), sent.number("bytes_written")), (Some("ok"), Some(4)));
    let told = process(&client, json!({"action": "wait", "id": id})).await;
    assert_eq!(told.text("output"), Some("got word\nrest"));
    let deaf = background(&client, "sleep 1000").await;
    let sent = process(&client, json!({"action": "send", "id": deaf, "data": "x"})).await;
    assert_eq!(sent.text("result"), Some("no-stdin"));
    process(&client, json!({"action": "kill_all", "all": true})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_call_for_events_acknowledges_those_of_the_last() {
    let house = House::new();
    let client = house.client().await;
    background(&client, "echo first").await;
    let first = events(&client).await;
    assert_eq!(first[0].text("kind"), Some("completion"));
    assert_eq!(first[0].text("output"), Some("first\n"));
    let told = process(&client, json!({"action": "events"})).await;
    assert!(told.items("events").is_empty());
    let claim = first[0].argument("claim").unwrap();
    let told = process(&client, json!({"action": "ack", "ack": [claim]})).await;
    assert_eq!((told.number("acknowledged"), told.number("stale")), (Some(0), Some(1)), "it was acknowledged already");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_acknowledged_by_its_claim_and_by_nobody_elses() {
    let house = House::new();
    let (client, other) = (house.client().await, house.client().await);
    background(&client, "true").await;
    let claim = events(&client).await[0].argument("claim").unwrap();
    let told = process(&other, json!({"action": "ack", "ack": [claim]})).await;
    assert_eq!((told.number("acknowledged"), told.number("stale")), (Some(0), Some(1)));
    let told = process(&client, json!({"action": "ack", "ack": [claim]})).await;
    assert_eq!((told.number("acknowledged"), told.number("stale")), (Some(1), Some(0)));
    drop(client);
    wait_until("the session ended", || house.server.clients() == 1).await;
    let none = process(&other, json!({"action": "events"})).await;
    assert!(none.items("events").is_empty(), "what was acknowledged is not told again");
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_a_client_that_vanishes_are_told_to_the_next() {
    let house = House::new();
    let client = house.client().await;
    let id = background(&client, "true").await;
    let first = events(&client).await;
    drop(client);
    let next = house.client().await;
    let again = events(&next).await;
    assert_eq!(again[0].text("process"), Some(id.as_str()));
    assert_eq!(again[0].text("id"), first[0].text("id"), "the same event has the same id");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_vanishes_while_it_waits_for_events_takes_none_with_it() {
    let house = House::new();
    let waiting = house.client().await;
    let arguments = json!({"action": "events", "wait_ms": 30_000}).as_object().unwrap().clone();
    let wait = tokio::spawn(async move {
        let _ = waiting.call("process", arguments).await;
    });
    wait_until("it is connected", || house.server.clients() == 1).await;
    wait.abort();
    let next = house.client().await;
    background(&next, "true").await;
    assert_eq!(events(&next).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_clients_see_the_same_processes_and_neither_waits_for_the_other() {
    let house = House::new();
    let (one, two) = (house.client().await, house.client().await);
    let id = background(&one, "sleep 1000").await;
    let waiting = call(&one, "process", json!({"action": "wait", "id": id}));
    let killing = async {
        let seen = process(&two, json!({"action": "list"})).await;
        assert_eq!(seen.items("processes")[0].text("id"), Some(id.as_str()));
        process(&two, json!({"action": "kill", "id": id})).await
    };
    let (waited, killed) = tokio::join!(waiting, killing);
    assert_eq!(waited.unwrap().text("/status/kind"), Some("stopped"));
    assert_eq!(killed.text("result"), Some("killed"));
    let status = process(&two, json!({"action": "status"})).await;
    assert_eq!(
        (status.number("clients"), status.number("running"), status.number("generation")),
        (Some(2), Some(0), Some(7))
    );
    assert_eq!((status.text("version"), status.part("idle_exit_ms")), (Some("0"), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_is_followed_from_its_beginning_to_its_end() {
    let house = House::new();
    let client = house.client().await;
    let told =
        terminal(&client, json!({"command": "echo a secret; read x; echo $x", "background": true, "stdin": true}))
            .await;
    let id = told.text("id").unwrap();
    let (mut seen, mut cursor) = (String::new(), Value::Null);
    let deadline = Instant::now() + LONG;
    loop {
        let told = process(&client, json!({"action": "follow", "id": id, "cursor": cursor, "wait_ms": 5000})).await;
        let sends = seen.is_empty() && told.text("output") != Some("");
        seen.push_str(told.text("output").unwrap());
        if told.flag("ended") == Some(true) {
            break;
        }
        cursor = told.argument("cursor").unwrap();
        if sends {
            process(&client, json!({"action": "send", "id": id, "data": "last", "enter": true})).await;
        }
        assert!(Instant::now() < deadline, "{seen}");
    }
    assert_eq!(seen, "a [REDACTED:word]\nlast\n");
    let (code, words) = refusal(call(&client, "process", json!({"action": "follow", "cursor": cursor})).await);
    assert!(code == "not-found" && words.contains("'id'"), "{code}: {words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_follows_sixteen_logs_and_gives_up_the_oldest() {
    let house = House::new();
    let client = house.client().await;
    let mut cursors = Vec::new();
    for _ in 0..17 {
        let id = background(&client, "sleep 1000").await;
        let told = process(&client, json!({"action": "follow", "id": id})).await;
        cursors.push(told.argument("cursor").unwrap());
    }
    let (code, _) = refusal(call(&client, "process", json!({"action": "follow", "cursor": cursors[0]})).await);
    assert_eq!(code, "not-found");
    let told = process(&client, json!({"action": "follow", "cursor": cursors[1]})).await;
    assert_eq!(told.flag("ended"), Some(false));
    process(&client, json!({"action": "unfollow", "cursor": cursors[1]})).await;
    let (code, _) = refusal(call(&client, "process", json!({"action": "unfollow", "cursor": cursors[1]})).await);
    assert_eq!(code, "not-found");
    process(&client, json!({"action": "kill_all"})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_reads_one_log_once_and_a_reader_too_many_is_not_told_that_the_process_ended() {
    let house = House::new();
    let client = house.client().await;
    let id = background(&client, "sleep 1000").await;
    let follow = json!({"action": "follow", "id": id});
    for _ in 0..20 {
        assert_eq!(process(&client, follow.clone()).await.flag("ended"), Some(false));
    }
    let mut others = Vec::new();
    let last = loop {
        let other = house.client().await;
        let told = process(&other, follow.clone()).await;
        others.push(other);
        if told.flag("ended") == Some(true) {
            break told;
        }
        assert!(others.len() < 20, "readers are bounded");
    };
    assert!(last.texts("notes")[0].contains("runs on"), "{last:?}");
    process(&client, json!({"action": "kill", "id": id})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_takes_too_long_goes_on_in_the_background_and_its_end_is_told() {
    let house = House::with(Patience { wait: Duration::from_millis(50), foreground: Duration::from_millis(200) });
    let client = house.client().await;
    let flag = house.folder.path().join("go");
    let command = format!("until [ -e {} ]; do sleep 0.01; done; echo done", flag.display());
    let told = terminal(&client, json!({"command": command})).await;
    assert_eq!((told.text("/status/kind"), told.flag("timed_out")), (Some("running"), Some(true)), "{told:?}");
    let id = told.text("id").unwrap();
    assert!(told.texts("notes").iter().any(|note| note.contains(id)), "{told:?}");
    let waited = process(&client, json!({"action": "wait", "id": id, "timeout_ms": 60_000})).await;
    assert_eq!(waited.flag("timed_out"), Some(true));
    assert!(waited.texts("notes")[0].contains("50ms"), "the shorter wait is said: {waited:?}");
    std::fs::write(&flag, "").unwrap();
    let told = events(&client).await;
    assert_eq!((told[0].text("process"), told[0].text("output")), (Some(id), Some("done\n")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_longer_timeout_than_is_waited_for_starts_in_the_background() {
    let house = House::new();
    let client = house.client().await;
    let told = terminal(&client, json!({"command": "true", "timeout_ms": 3_600_000})).await;
    assert_eq!(told.text("/status/kind"), Some("running"));
    assert!(told.texts("notes")[0].contains("background"), "{told:?}");
    assert_eq!(events(&client).await[0].text("process"), told.text("id"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreground_command_ends_when_its_call_is_cancelled() {
    let house = House::new();
    let client = house.client().await;
    let mark = house.folder.path().join("runs");
    let command = format!("touch {}; sleep 1000", mark.display());
    let calling = client.call("terminal", json!({"command": command}).as_object().unwrap().clone());
    tokio::select! {
        answer = calling => panic!("it cannot end: {answer:?}"),
        () = wait_until("it runs", || mark.exists()) => {}
    }
    wait_until("it is ended", || house.registry.count_running() == 0).await;
    let listed = process(&client, json!({"action": "list"})).await;
    assert_eq!(listed.items("processes")[0].text("/status/kind"), Some("stopped"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreground_command_ends_when_its_client_vanishes_and_a_background_one_does_not() {
    let house = House::new();
    let client = house.client().await;
    let kept = background(&client, "sleep 1000").await;
    let mark = house.folder.path().join("runs");
    let command = format!("touch {}; sleep 1000", mark.display());
    let calling = tokio::spawn(async move {
        let _ = client.call("terminal", json!({"command": command}).as_object().unwrap().clone()).await;
    });
    wait_until("it runs", || mark.exists()).await;
    calling.abort();
    wait_until("only the other runs", || house.registry.count_running() == 1).await;
    let client = house.client().await;
    let row = process(&client, json!({"action": "poll", "id": kept})).await;
    assert_eq!(row.text("/status/kind"), Some("running"));
    process(&client, json!({"action": "kill", "id": kept})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_wait_leaves_the_process_and_the_news_of_its_end() {
    let house = House::new();
    let client = house.client().await;
    let id = background(&client, "sleep 1000").await;
    let waiting = client.call("process", json!({"action": "wait", "id": id}).as_object().unwrap().clone());
    assert!(tokio::time::timeout(Duration::from_millis(100), waiting).await.is_err());
    let row = process(&client, json!({"action": "poll", "id": id})).await;
    assert_eq!(row.text("/status/kind"), Some("running"));
    process(&client, json!({"action": "kill", "id": id})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_answered_is_refused_with_its_word_and_a_remedy() {
    let house = House::new();
    let client = house.client().await;
    let ask = |arguments: Value| call(&client, "process", arguments);
    assert_eq!(refusal(ask(json!({"action": "log", "id": "proc_000000000000"})).await).0, "not-found");
    assert_eq!(refusal(ask(json!({"action": "log", "id": "0"})).await).0, "too-short");
    assert_eq!(refusal(ask(json!({"action": "lst"})).await).0, "bad-arguments");
    assert_eq!(refusal(ask(json!({"action": "events", "wait_ms": 30_001})).await).0, "bad-arguments");
    let (code, words) = refusal(call(&client, "terminal", json!({"command": "ls", "pty": true})).await);
    assert!(code == "bad-arguments" && words.contains("background"), "{words}");
    let (code, words) = refusal(call(&client, "terminal", json!({"comand": "echo secret"})).await);
    assert!(code == "bad-arguments" && words.contains("'command'") && !words.contains("secret"), "{words}");
    let theirs = terminal(&client, json!({"command": "sleep 1000", "background": true, "owner": "other"})).await;
    let id = theirs.text("id").unwrap();
    for action in ["poll", "log", "wait", "kill", "follow"] {
        assert_eq!(refusal(ask(json!({"action": action, "id": id})).await).0, "foreign", "{action}");
    }
    process(&client, json!({"action": "kill", "id": id, "owner": "other"})).await;
    let CallError::Host { code, told, .. } =
        call(&client, "terminal", json!({"program": ["/no/such/program"]})).await.unwrap_err()
    else {
        panic!("the host answers")
    };
    assert_eq!((code.as_str(), told.number("exit_code")), ("failed-to-start", Some(127)));
    assert_eq!(told.text("/status/kind"), Some("failed-to-start"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_host_says_itself_goes_through_the_policy_too() {
    let house = House::new();
    let client = house.client().await;
    let refused = async |arguments: Value| match call(&client, "terminal", arguments).await.unwrap_err() {
        CallError::Host { message, told, .. } => format!("{message} {}", told.as_json_text()),
        other => panic!("{other}"),
    };
    // What a redactor finds, what the call's own environment holds, and a part of either.
    let text = refused(json!({"program": ["/no/such/secret"]})).await;
    assert!(text.contains("[REDACTED:") && !text.contains("/no/such/secret"), "{text}");
    let value = "kx81Qz77pLw0";
    let text = refused(json!({"program": [value], "env": {"MY_TOKEN": value}})).await;
    assert!(text.contains("[REDACTED:env:MY_TOKEN]") && !text.contains(value), "{text}");
    let long = "v9".repeat(300);
    let text = refused(json!({"program": [long], "env": {"MY_TOKEN": long}})).await;
    assert!(text.contains("too long to be shown") && !text.contains("v9v9"), "{text}");
    let asked = call(&client, "process", json!({"action": "log", "id": "secret"})).await;
    assert!(!refusal(asked).1.contains("secret"));
}

/// A client that writes what it likes.
async fn raw(house: &House) -> UnixStream {
    UnixStream::connect(house.path()).await.unwrap()
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;

/// Everything the host still says before it closes.
async fn rest(stream: &mut UnixStream) -> String {
    let mut text = String::new();
    tokio::time::timeout(LONG, stream.read_to_string(&mut text)).await.unwrap().unwrap_or_default();
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_is_no_message_is_answered_and_the_session_goes_on() {
    let house = House::new();
    let mut stream = raw(&house).await;
    let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
    for garbage in ["garbage", "{\"jsonrpc\":\"2.0\"}", "[1,2]", "\u{0}"] {
        stream.write_all(format!("{garbage}\n").as_bytes()).await.unwrap();
    }
    // What some editors write in front of a text is no part of the message.
    stream.write_all(format!("\u{feff}{HELLO}\n{ping}\n").as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let said = rest(&mut stream).await;
    let refused = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"#;
    assert_eq!(said.lines().filter(|line| line.starts_with(refused)).count(), 4, "{said}");
    assert!(said.contains("\"serverInfo\"") && said.contains(r#""id":7"#), "{said}");
    wait_until("it is gone", || house.server.clients() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_too_long_ends_its_session_and_no_other() {
    let house = House::new();
    let other = house.client().await;
    let mut stream = raw(&house).await;
    let (mut read, mut write) = stream.split();
    let writing = async {
        write.write_all(format!("{HELLO}\n").as_bytes()).await.unwrap();
        let piece = vec![b'a'; 1 << 20];
        // It stops when the host has hung up.
        for _ in 0..17 {
            if write.write_all(&piece).await.is_err() {
                break;
            }
        }
    };
    let reading = async {
        let mut said = Vec::new();
        // A host that hangs up with bytes unread resets the connection.
        let _ = tokio::time::timeout(LONG, read.read_to_end(&mut said)).await.unwrap();
        String::from_utf8(said).unwrap()
    };
    let ((), said) = tokio::join!(writing, reading);
    assert!(said.contains("\"serverInfo\""), "{said}");
    wait_until("it is gone", || house.server.clients() == 1).await;
    process(&other, json!({"action": "status"})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_client_of_the_protocol_is_shown_the_tools_and_gets_text_and_structure() {
    let house = House::new();
    let stream = raw(&house).await;
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    let asked = [
        HELLO.to_owned(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).to_string(),
    ];
    write.write_all(format!("{}\n", asked.join("\n")).as_bytes()).await.unwrap();
    let mut next = async || {
        let line = tokio::time::timeout(LONG, lines.next_line()).await.unwrap().unwrap().unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    assert_eq!(next().await["result"]["serverInfo"]["name"], "hermes");
    let tools = next().await["result"]["tools"].clone();
    let names: Vec<&str> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["terminal", "process"]);
    let call = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": {"name": "terminal", "arguments": {"command": "echo hi"}}});
    write.write_all(format!("{call}\n").as_bytes()).await.unwrap();
    let answer = next().await;
    let result = &answer["result"];
    assert_eq!(result["structuredContent"]["output"], "hi\n");
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"]);
    let wrong =
        json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "terminl", "arguments": {}}});
    write.write_all(format!("{wrong}\n").as_bytes()).await.unwrap();
    assert!(next().await["error"]["message"].as_str().unwrap().contains("did you mean 'terminal'?"));
    let unknown = json!({"jsonrpc": "2.0", "id": 5, "method": "prompts/get", "params": {"name": "secret"}});
    write.write_all(format!("{unknown}\n").as_bytes()).await.unwrap();
    let refused = next().await;
    assert!(refused["error"]["code"] == -32601 && !refused.to_string().contains("secret"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_are_counted_and_leave_nothing_open() {
    let house = House::new();
    let one = house.client().await;
    process(&one, json!({"action": "status"})).await;
    let before = open_sockets();
    for _ in 0..50 {
        let client = house.client().await;
        process(&client, json!({"action": "list"})).await;
    }
    wait_until("the others are gone", || house.server.clients() == 1).await;
    wait_until("their sockets are closed", || open_sockets() <= before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_ends_answers_nobody_any_more_and_says_so() {
    let house = House::new();
    let client = house.client().await;
    let id = background(&client, "sleep 1000").await;
    let House { folder: _folder, at, server, registry, .. } = house;
    let waiting = call(&client, "process", json!({"action": "wait", "id": id}));
    let began = Instant::now();
    let ending = async {
        // The call is there before the host ends.
        process(&client, json!({"action": "status"})).await;
        server.shut_down().await;
        began.elapsed()
    };
    let (waited, took) = tokio::join!(waiting, ending);
    assert!(took < Duration::from_secs(10), "{took:?}");
    match waited.unwrap_err() {
        CallError::Gone => {}
        CallError::Host { code, .. } => assert_eq!(code, "cancelled"),
        other => panic!("{other}"),
    }
    assert!(!at.path().exists());
    assert!(matches!(Client::connect(&at).await, Ok(None)));
    assert!(matches!(call(&client, "process", json!({"action": "status"})).await, Err(CallError::Gone)));
    registry.shut_down().await;
}
