//! Streams with things in them that are no messages: they are passed over, and nothing is lost with them.

use std::fs;

use hermes_tests::home::files_below;
use hermes_tests::leavings;
use hermes_tests::mcp::{Client, Manners};
use hermes_tests::wait::{self, PATIENCE};
use serde_json::{Value, json};

use crate::served::{Served, end, kept_id, whole};

/// How much a host may grow by while a line goes by that has no end.
const GROWTH_MAX: u64 = 160 << 20;
/// How large the log of a server may be, the older half and what is on its way included.
const LOG_MAX: u64 = 3 << 20;

#[test]
fn lines_that_are_no_messages_are_passed_over() {
    let served = Served::with(&[("junk", &["junk"], ""), ("bytes", &["bytes"], ""), ("good", &["ok"], "")]);
    let client = served.client();
    client.until_tools(&["junk__echo", "bytes__echo", "good__echo"]);
    for at in 0..20 {
        let text = format!("text {at} ✓ {{\"jsonrpc\"");
        for tool in ["junk__echo", "bytes__echo", "good__echo"] {
            assert_eq!(client.say(tool, &json!({"text": text})), text, "{tool}");
        }
    }
    assert_eq!(client.junk(), Vec::<String>::new(), "a client sees messages alone");
    for name in ["junk", "bytes", "good"] {
        assert_eq!(served.rude.starts(name), 1, "{name}");
        assert_eq!(served.row(name)["state"], "proven", "{name}");
    }
    end(&served, &client);
}

#[test]
fn what_a_server_complains_of_is_read_and_kept_within_bounds() {
    let served = Served::with(&[("loud", &["loud"], "")]);
    let client = served.client();
    client.until_tools(&["loud__echo"]);
    for at in 0..20 {
        assert_eq!(client.say("loud__echo", &json!({"text": at.to_string()})), at.to_string());
    }
    assert_eq!(served.rude.starts("loud"), 1);
    let logs: Vec<_> = files_below(&served.home.root().join("logs"))
        .into_iter()
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("mcp-loud")))
        .collect();
    assert!(!logs.is_empty(), "no log of it");
    let size: u64 = logs.iter().map(|path| fs::metadata(path).unwrap().len()).sum();
    assert!((1..=LOG_MAX).contains(&size), "{size} bytes in {logs:?}");
    assert!(!client.errors().contains("wwww"), "a host's stderr is its own");
    end(&served, &client);
}

#[test]
fn a_line_without_an_end_costs_no_memory_and_no_other_server_an_answer() {
    let served = Served::with(&[("flood", &["ok"], ""), ("good", &["ok"], "")]);
    let client = served.client();
    client.until_tools(&["flood__flood", "good__echo"]);
    client.say("flood__echo", &json!({"text": "warm"}));
    leavings::reset_peak(client.pid());
    let before = leavings::memory(client.pid(), "VmHWM").unwrap();
    let id = client.begin_call("flood__flood", &json!({"bytes": 1_u64 << 30}));
    assert_eq!(client.say("good__echo", &json!({"text": "meanwhile"})), "meanwhile");
    // What became of it is for the host to say. That it says something is what counts.
    let answer = client.answer_within(id, PATIENCE * 2).expect("an answer").0;
    assert!(answer["result"].is_object() || answer["error"].is_object(), "{answer}");
    let grown = leavings::memory(client.pid(), "VmHWM").unwrap().saturating_sub(before);
    assert!(grown < GROWTH_MAX, "grown by {} MiB", grown >> 20);
    assert_eq!(client.say("flood__echo", &json!({"text": "afterwards"})), "afterwards");
    assert_eq!(client.say("good__echo", &json!({"text": "afterwards"})), "afterwards");
    end(&served, &client);
}

#[test]
fn a_long_line_that_has_an_end_arrives_whole() {
    let served = Served::with(&[("good", &["ok"], "")]);
    let client = served.client();
    client.until_tools(&["good__text"]);
    let bytes = 8 << 20;
    let shown = client.say("good__text", &json!({"bytes": bytes}));
    assert!(shown.len() < bytes / 4, "{} bytes in one reply", shown.len());
    let text = whole(&client, &kept_id(&shown));
    assert_eq!(text.trim_end().len(), bytes, "{}", &text[text.len() - 200..]);
    assert!(text.starts_with("line 00000000 of"));
    end(&served, &client);
}

#[test]
fn an_answer_is_given_once_whatever_a_server_repeats_or_invents() {
    let served = Served::with(&[("twice", &["twice"], "")]);
    let client = served.client();
    client.until_tools(&["twice__echo"]);
    // In another order than they were asked in.
    let gate = served.home.work().join("go");
    let first = client.begin_call("twice__wait", &json!({"file": gate}));
    let second = client.begin_call("twice__echo", &json!({"text": "second"}));
    assert_eq!(client.answer(second)["result"]["content"][0]["text"], "second");
    fs::write(&gate, "").unwrap();
    assert_eq!(client.answer(first)["result"]["content"][0]["text"], "waited");
    for method in ["sampling/createMessage", "roots/list", "elicitation/create", "rude/whatever"] {
        served.rude.until_noted("twice", &format!("answered {method} -32601"));
        assert_eq!(client.requests(method).len(), 0, "{method} reached a client that does not know it");
    }
    let heard = String::from_utf8(client.heard()).unwrap();
    assert_eq!(heard.matches("\"second\"").count(), 1, "{heard}");
    assert!(!heard.contains("987654") && !heard.contains("never-asked") && !heard.contains("what?"), "{heard}");
    end(&served, &client);
}

/// Fails unless each line is a message as JSON-RPC and strict clients have it.
fn strict(heard: &[u8]) {
    for line in heard.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let said: Value = serde_json::from_slice(line).unwrap();
        assert_eq!(said["jsonrpc"], "2.0", "{said}");
        assert!(said.get("params").is_none_or(Value::is_object), "params are an object or not there: {said}");
        let outcomes = [said.get("result"), said.get("error")].into_iter().flatten().count();
        match said.get("method") {
            Some(method) => assert!(method.is_string() && outcomes == 0, "{said}"),
            None => assert!(outcomes == 1 && said.get("id").is_some(), "{said}"),
        }
        if let Some(error) = said.get("error") {
            assert!(error["code"].is_i64() && error["message"].is_string(), "{said}");
        }
    }
}

#[test]
fn what_a_host_says_is_strictly_what_the_protocol_has() {
    let served = Served::with(&[("changes", &["--secret", "psst", "changes"], ""), ("dies", &["ok"], "")]);
    let client = served.client();
    client.until_tools(&["changes__echo", "dies__echo"]);
    client.result("logging/setLevel", &json!({"level": "debug"}));
    served.rude.open("changes");
    client.until_tools(&["changes__late"]);
    client.until_notified("notifications/tools/list_changed", 1);
    for carrier in ["content", "structured", "error", "refusal", "resource", "link", "meta", "logging"] {
        client.request("tools/call", &json!({"name": "changes__tell", "arguments": {"carrier": carrier}}));
    }
    for (method, params) in [
        ("tools/call", json!({"name": "dies__crash", "arguments": {}})),
        ("tools/call", json!({"name": "no_such_tool", "arguments": {}})),
        ("tools/call", json!({"name": "process", "arguments": {"action": "log", "id": "proc_000000000000"}})),
        ("tools/call", json!({})),
        ("resources/read", json!({"uri": "nothing://here"})),
        ("prompts/get", json!({"name": "none"})),
        ("completion/complete", json!({})),
        ("no/such/method", json!({})),
        ("ping", json!({})),
    ] {
        client.request(method, &params);
    }
    let progress = json!({"name": "changes__progress", "arguments": {"steps": 3}, "_meta": {"progressToken": 1}});
    client.request("tools/call", &progress);
    strict(&client.heard());
    end(&served, &client);
}

#[test]
fn a_line_of_a_client_that_is_no_message_is_answered_and_the_session_goes_on() {
    let served = Served::with(&[("good", &["ok"], "")]);
    let client = served.client();
    client.until_tools(&["good__echo"]);
    client.write(b"not json\n");
    let refused = wait::until("an answer to what is no message", PATIENCE, || {
        let heard = String::from_utf8(client.heard()).unwrap();
        heard.lines().find(|line| line.contains("-32700")).map(str::to_owned)
    });
    let refused: Value = serde_json::from_str(&refused).unwrap();
    assert!(refused.get("id").is_some_and(Value::is_null), "an answer has an id, if only none: {refused}");
    client.write(b"\xff\xfe\n\n[]\n42\n{\"jsonrpc\":\"2.0\"\n\r\n");
    assert_eq!(client.say("good__echo", &json!({"text": "on"})), "on");
    end(&served, &client);
}

#[test]
fn what_stands_in_front_of_a_first_message_is_passed_over() {
    let served = Served::with(&[]);
    let info = json!({"name": "odd", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
    let first = json!({"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": hello});
    for front in ["\u{feff}", "\n\r\n", "not json\n"] {
        let client = Client::raw(served.command(), Manners::default());
        client.write(format!("{front}{first}\r\n").as_bytes());
        assert_eq!(client.answer(7)["result"]["serverInfo"]["name"], "hermes", "{front:?}");
        end(&served, &client);
    }
}
