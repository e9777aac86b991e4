//! What reaches the log at its most talkative: nothing of what a client asks, whatever the protocol's own library says.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod support;

use hermes_fakes::log::Logged;
use serde_json::json;
use support::{House, LONG, call, process, terminal};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tracing_subscriber::filter::LevelFilter;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_a_client_asks_or_a_command_prints_is_logged_as_it_was() {
    let logged = Logged::default();
    let writer = logged.clone();
    let subscriber = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE).with_ansi(false);
    tracing::subscriber::set_global_default(subscriber.with_writer(move || writer.clone()).finish()).unwrap();
    let house = House::new();
    let client = house.client().await;
    let started = json!({"command": "echo secret-99; cat", "background": true, "stdin": true, "notify": true,
        "watch": ["secret-99"], "env": {"A": "secret-99"}});
    let id = terminal(&client, started).await.text("id").unwrap().to_owned();
    process(&client, json!({"action": "send", "id": id, "data": "secret-99", "enter": true, "eof": true})).await;
    process(&client, json!({"action": "wait", "id": id})).await;
    process(&client, json!({"action": "log", "id": id})).await;
    process(&client, json!({"action": "list"})).await;
    call(&client, "terminal", json!({"command": 7, "program": ["secret-99"]})).await.unwrap_err();
    call(&client, "terminal", json!({"program": ["true"], "command": "secret-99"})).await.unwrap_err();
    for garbage in ["secret-99\n", "{\"jsonrpc\":\"2.0\",\"method\":\"secret-99\n"] {
        let mut stream = UnixStream::connect(house.path()).await.unwrap();
        stream.write_all(garbage.as_bytes()).await.unwrap();
        let mut said = String::new();
        tokio::time::timeout(LONG, stream.read_to_string(&mut said)).await.unwrap().unwrap();
        assert!(said.contains("-32700") && !said.contains("secret-99"), "{said}");
    }
    let text = logged.text();
    assert!(text.contains("received request"), "the library's own log is there to be searched");
    let leak = text.lines().find(|line| line.contains("secret-99"));
    assert_eq!(leak, None);
}
