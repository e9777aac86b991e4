//! Many sessions, few servers: each is started once, and no session harms another.

use std::thread;
use std::time::Duration;

use hermes_tests::hosted::{throughout, until_gone};
use hermes_tests::mcp::Client;
use hermes_tests::wait::{self, PATIENCE};
use serde_json::json;

use crate::served::Served;

/// Sessions of one host.
const SESSIONS: usize = 50;
/// Calls at the same time to a server that does not run.
const CALLS: usize = 20;

#[test]
fn fifty_sessions_on_three_servers_are_three_processes() {
    let served = Served::with(&[("one", &["ok"], ""), ("two", &["ok"], ""), ("three", &["ok"], "")]);
    let _host = served.host();
    let clients: Vec<Client> = (0..SESSIONS).map(|_| served.join()).collect();
    for (at, client) in clients.iter().enumerate() {
        client.until_tools(&["one__echo", "two__echo", "three__echo"]);
        for name in ["one", "two", "three"] {
            let text = format!("{at} {name}");
            assert_eq!(client.say(&format!("{name}__echo"), &json!({"text": text})), text);
        }
    }
    assert_eq!(served.rude.running().len(), 3);
    drop(clients);
    for at in 0..SESSIONS {
        let client = served.join();
        client.until_tools(&["one__echo"]);
        assert_eq!(client.say("one__echo", &json!({"text": at.to_string()})), at.to_string());
    }
    assert_eq!(served.rude.running().len(), 3);
    for name in ["one", "two", "three"] {
        assert_eq!(served.rude.starts(name), 1, "{name}");
    }
}

#[test]
fn twenty_first_calls_at_once_start_a_server_once() {
    let served = Served::with(&[("cold", &["ok"], "lazy = true")]);
    let _host = served.host();
    let clients: Vec<Client> = (0..CALLS).map(|_| served.join()).collect();
    thread::scope(|scope| {
        for (at, client) in clients.iter().enumerate() {
            scope.spawn(move || {
                let text = at.to_string();
                assert_eq!(client.say("cold__echo", &json!({"text": text})), text);
            });
        }
    });
    assert_eq!((served.rude.starts("cold"), served.rude.calls("cold")), (1, CALLS));
    assert_eq!(served.rude.running().len(), 1);
}

#[test]
fn twenty_calls_at_once_to_one_that_was_retired_start_it_once_more() {
    let served = Served::with(&[("cold", &["ok"], "idle_timeout = \"1s\"")]);
    let _host = served.host();
    let clients: Vec<Client> = (0..CALLS).map(|_| served.join()).collect();
    clients[0].until_tools(&["cold__wait"]);
    until_gone(&[served.rude.until_started("cold")]);
    assert_eq!(served.rude.starts("cold"), 1);
    let gate = served.home.work().join("go");
    let calls: Vec<u64> =
        clients.iter().map(|client| client.begin_call("cold__wait", &json!({"file": gate}))).collect();
    wait::until("some calls", PATIENCE, || (served.rude.calls("cold") >= 10).then_some(()));
    std::fs::write(&gate, "").unwrap();
    for (client, call) in clients.iter().zip(calls) {
        assert_eq!(client.answer(call)["result"]["content"][0]["text"], "waited");
    }
    assert_eq!((served.rude.starts("cold"), served.rude.calls("cold")), (2, CALLS));
}

#[test]
fn answers_go_to_whoever_asked() {
    let served = Served::with(&[("good", &["ok"], "")]);
    let _host = served.host();
    let clients: Vec<Client> = (0..8).map(|_| served.join()).collect();
    clients[0].until_tools(&["good__echo"]);
    thread::scope(|scope| {
        for (at, client) in clients.iter().enumerate() {
            scope.spawn(move || {
                for call in 0..50 {
                    let text = format!("{at}-{call}");
                    assert_eq!(client.say("good__echo", &json!({"text": text})), text);
                }
            });
        }
    });
    assert_eq!(served.rude.calls("good"), 8 * 50);
}

#[test]
fn a_session_that_does_not_read_or_talks_nonsense_harms_no_other() {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    let served = Served::with(&[("good", &["ok"], "")]);
    let _host = served.host();
    let good = served.join();
    good.until_tools(&["good__text"]);
    let mut deaf = UnixStream::connect(served.socket()).unwrap();
    let mut mad = UnixStream::connect(served.socket()).unwrap();
    deaf.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    mad.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    let info = json!({"name": "deaf", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
    let mut text = format!("{}\n", json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}));
    text.push_str("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    for id in 1..400 {
        let params = json!({"name": "good__text", "arguments": {"bytes": 40_000}});
        text.push_str(&format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})));
    }
    // Whether the host reads on, stops reading or hangs up is its own matter.
    let _ = deaf.write_all(text.as_bytes());
    let _ = mad.write_all(&b"{\"jsonrpc\": [[[[[ \xff\n".repeat(2000));
    throughout(Duration::from_secs(1), || {
        assert_eq!(good.say("good__echo", &json!({"text": "here"})), "here");
    });
    drop((deaf, mad));
    let late = served.join();
    late.until_tools(&["good__echo"]);
    assert_eq!(late.say("good__echo", &json!({"text": "x"})), "x");
    assert_eq!(served.rude.starts("good"), 1);
}

#[test]
fn a_session_that_goes_in_the_middle_of_a_call_takes_it_back() {
    let served = Served::with(&[("good", &["ok"], "")]);
    let _host = served.host();
    let (client, other) = (served.join(), served.join());
    client.until_tools(&["good__wait"]);
    client.begin_call("good__wait", &json!({"file": "/nonexistent/never"}));
    wait::until("the call", PATIENCE, || (served.rude.calls("good") == 1).then_some(()));
    client.close();
    served.rude.until_noted("good", "cancelled wait");
    assert_eq!(other.say("good__echo", &json!({"text": "x"})), "x");
    assert_eq!(served.rude.starts("good"), 1);
}
