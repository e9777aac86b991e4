//! One server behind a prefix: it says what it says alone, in both directions, without its secrets, and ends with its agent.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use hermes_tests::home::TestHome;
use hermes_tests::hosted::{signal, throughout, until_gone};
use hermes_tests::leavings;
use hermes_tests::mcp::{Client, Manners};
use hermes_tests::rude::Rude;
use hermes_tests::wait::{self, PATIENCE};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::served::{TOKEN, nothing_of};

/// What stands for what is masked.
const MASK: &str = "[REDACTED:";
/// A secret that only the name of its variable makes one.
const PASSWORD: &str = "correct-horse-battery-staple-42";

struct Wrapped {
    rude: Rude,
    home: TestHome,
}

impl Wrapped {
    fn new() -> Self {
        let home = TestHome::new().with("DB_PASSWORD", PASSWORD);
        Self { rude: Rude::of(&home), home }
    }

    fn command(&self, name: &str, options: &[&str], words: &[&str]) -> Command {
        let mut all: Vec<String> = ["mcp", "wrap"].iter().chain(options).map(|word| (*word).to_owned()).collect();
        all.push("--".to_owned());
        all.extend(self.rude.words(name, words));
        self.home.command(all)
    }

    fn client(&self, name: &str, words: &[&str]) -> Client {
        Client::start(self.command(name, &[], words))
    }
}

/// An agent that can do everything and answers every question with what it was asked.
fn able() -> Manners {
    let answers = |method: &str, params: &Value| match method {
        "rude/refuse" => Err(json!({"code": -32123, "message": "no", "data": {"why": params}})),
        _ => Ok(json!({"of": method, "given": params, "extra": [1, null]})),
    };
    let capabilities = json!({
        "sampling": {"tools": {}}, "roots": {"listChanged": true}, "elicitation": {"form": {}, "url": {}},
        "experimental": {"thing": {"x": 1}},
    });
    Manners { capabilities, answers: Box::new(answers), ..Manners::default() }
}

/// What is asked of a server alone and behind the prefix.
fn questions() -> Vec<(&'static str, Value)> {
    vec![
        ("ping", json!({})),
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "rude://plain"})),
        ("resources/read", json!({"uri": "rude://binary"})),
        ("resources/read", json!({"uri": "rude://text/any"})),
        ("resources/read", json!({"uri": "rude://none"})),
        ("resources/subscribe", json!({"uri": "rude://plain"})),
        ("resources/unsubscribe", json!({"uri": "rude://plain"})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "greet", "arguments": {"name": "you"}})),
        ("logging/setLevel", json!({"level": "debug"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "name", "value": "J"}}),
        ),
        ("tools/call", json!({"name": "echo", "arguments": {"text": "ä\u{1F600} \"quoted\" \\ "}})),
        ("tools/call", json!({"name": "add", "arguments": {"a": 1.5, "b": 2}})),
        ("tools/call", json!({"name": "image", "arguments": {"bytes": 100_000, "both": true}})),
        ("tools/call", json!({"name": "unknown tool", "arguments": {"deep": [{"a": [1, 2, {"b": null}]}]}})),
        (
            "tools/call",
            json!({"name": "ask", "arguments": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}}}),
        ),
        (
            "tools/call",
            json!({"name": "ask", "arguments": {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {}}}}),
        ),
        ("tools/call", json!({"name": "ask", "arguments": {"method": "roots/list", "params": {}}})),
        ("tools/call", json!({"name": "ask", "arguments": {"method": "rude/refuse", "params": {"a": 1}}})),
        ("rude/anything", json!({"unknown": {"fields": [1, 2.5, null, "x"]}, "_meta": {"org.example/x": true}})),
        ("other/unknown", json!({"a": 1})),
    ]
}

#[test]
fn a_wrapped_server_says_what_it_says_alone_in_both_directions() {
    let wrapped = Wrapped::new();
    let alone = Client::start_as(wrapped.rude.command("alone", &["ok"]), able());
    let behind = Client::start_as(wrapped.command("behind", &[], &["ok"]), able());
    assert_eq!(alone.hello(), behind.hello());
    for (method, params) in questions() {
        assert_eq!(alone.request(method, &params), behind.request(method, &params), "{method} {params}");
    }
    for (level, text) in [("debug", "first"), ("emergency", "second")] {
        for client in [&alone, &behind] {
            client.call("log", &json!({"level": level, "text": text}));
            client.call("touch", &json!({"uri": "rude://plain"}));
        }
    }
    let params = json!({"name": "progress", "arguments": {"steps": 5}, "_meta": {"progressToken": "tok/1"}});
    for client in [&alone, &behind] {
        client.request("tools/call", &params);
        client.until_notified("notifications/progress", 5);
    }
    for method in ["notifications/message", "notifications/resources/updated", "notifications/progress"] {
        assert_eq!(alone.notifications(method), behind.notifications(method), "{method}");
    }
    for client in [&alone, &behind] {
        client.notify("notifications/roots/list_changed", &json!({}));
        client.notify("notifications/of/nobody", &json!({"a": 1}));
        client.result("ping", &json!({}));
    }
    let told = |name: &str| wrapped.rude.lines_with(name, "told ");
    assert_eq!(told("alone"), told("behind"));
    assert!(told("behind").contains(&"told notifications/of/nobody".to_owned()), "{:?}", told("behind"));
    behind.close();
    assert_eq!(behind.ended().code(), Some(0));
}

#[test]
fn each_version_and_odd_ids_pass() {
    let wrapped = Wrapped::new();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let manners = Manners { version: version.to_owned(), ..Manners::default() };
        let client = Client::start_as(wrapped.command(version, &[], &["ok"]), manners);
        assert_eq!(client.hello()["protocolVersion"], version);
    }
    let client = wrapped.client("ids", &["ok"]);
    for id in [json!("a string"), json!(""), json!(0), json!(9_007_199_254_740_991_i64), json!(-5)] {
        client.write(format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "ping"})).as_bytes());
        wait::until(&format!("the answer to {id}"), PATIENCE, || {
            String::from_utf8(client.heard())
                .unwrap()
                .lines()
                .any(|line| serde_json::from_str::<Value>(line).is_ok_and(|said| said["id"] == id))
                .then_some(())
        });
    }
}

#[test]
fn a_call_that_is_taken_back_is_taken_back_from_the_server() {
    let wrapped = Wrapped::new();
    let client = wrapped.client("good", &["ok"]);
    let id = client.begin_call("wait", &json!({"file": "/nonexistent/never"}));
    wait::until("the call", PATIENCE, || (wrapped.rude.calls("good") == 1).then_some(()));
    client.notify("notifications/cancelled", &json!({"requestId": id, "reason": "enough"}));
    wrapped.rude.until_noted("good", "cancelled wait");
    assert_eq!(client.say("echo", &json!({"text": "x"})), "x");
}

#[test]
fn a_secret_is_masked_in_each_carrier() {
    let wrapped = Wrapped::new();
    let client = wrapped.client("tell", &["--secret", TOKEN, "ok"]);
    assert!(client.hello()["instructions"].to_string().contains(MASK), "{}", client.hello());
    for carrier in ["content", "structured", "json", "error", "refusal", "resource", "link", "meta"] {
        let answer = client.request("tools/call", &json!({"name": "tell", "arguments": {"carrier": carrier}}));
        assert!(answer.to_string().contains(MASK), "{carrier}: {answer}");
    }
    let params = json!({"name": "tell", "arguments": {"carrier": "progress"}, "_meta": {"progressToken": 7}});
    client.request("tools/call", &params);
    client.call("tell", &json!({"carrier": "logging"}));
    for method in ["notifications/progress", "notifications/message"] {
        let said = client.until_notified(method, 1);
        assert!(said[0].to_string().contains(MASK), "{method}: {said:?}");
    }
    for (method, params) in [
        ("resources/list", json!({})),
        ("resources/read", json!({"uri": "rude://secret"})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "secret"})),
        ("tools/list", json!({})),
        ("completion/complete", json!({"argument": {"name": "a", "value": "b"}})),
    ] {
        assert!(client.result(method, &params).to_string().contains(MASK), "{method}");
    }
    client.call("tell", &json!({"carrier": "stderr"}));
    client.until_error(MASK);
    assert!(client.errors().contains("here it is: [REDACTED:"), "{}", client.errors());
    let said = client.say("env", &json!({"name": "DB_PASSWORD"}));
    assert_eq!(said, "[REDACTED:env:DB_PASSWORD]");
    for secret in [TOKEN, PASSWORD] {
        nothing_of(secret, &client.heard(), "what the agent heard");
        nothing_of(secret, client.errors().as_bytes(), "stderr");
    }
    client.close();
    client.ended();
}

#[test]
fn what_a_server_asks_of_an_agent_is_masked_too() {
    let wrapped = Wrapped::new();
    let client = Client::start_as(wrapped.command("good", &[], &["ok"]), able());
    let text = format!("send me {TOKEN} please");
    let content = json!({"type": "text", "text": text});
    let params = json!({"messages": [{"role": "user", "content": content}], "maxTokens": 9});
    client.call("ask", &json!({"method": "sampling/createMessage", "params": params}));
    let asked = client.requests("sampling/createMessage");
    assert_eq!(asked[0]["maxTokens"], 9, "{asked:?}");
    assert!(asked[0].to_string().contains(MASK), "{asked:?}");
    nothing_of(TOKEN, &client.heard(), "what the agent heard");
}

#[test]
fn lines_that_are_no_messages_are_passed_over_and_nothing_is_said_twice() {
    let wrapped = Wrapped::new();
    for manner in ["junk", "bytes", "loud", "twice"] {
        let client = wrapped.client(manner, &[manner]);
        client.result("tools/list", &json!({}));
        for at in 0..10 {
            let text = format!("{manner} {at}");
            assert_eq!(client.say("echo", &json!({"text": text})), text);
        }
        assert_eq!(client.junk(), Vec::<String>::new(), "{manner}");
        client.close();
        assert_eq!(client.ended().code(), Some(0), "{manner}: {}", client.errors());
    }
}

#[test]
fn a_long_line_passes_whole_and_one_without_an_end_is_skipped_without_memory() {
    let wrapped = Wrapped::new();
    let client = Client::start(wrapped.command("big", &["--reply-bytes", "0"], &["ok"]));
    let bytes = 8 << 20;
    assert_eq!(client.say("text", &json!({"bytes": bytes})).len(), bytes);
    leavings::reset_peak(client.pid());
    let before = leavings::memory(client.pid(), "VmHWM").unwrap();
    let id = client.begin_call("flood", &json!({"bytes": 1_u64 << 30}));
    let answer = client.answer_within(id, PATIENCE * 2).expect("an answer").0;
    assert!(answer["result"].is_object() || answer["error"].is_object(), "{answer}");
    let grown = leavings::memory(client.pid(), "VmHWM").unwrap().saturating_sub(before);
    assert!(grown < 160 << 20, "grown by {} MiB", grown >> 20);
    assert_eq!(client.say("echo", &json!({"text": "on"})), "on");
}

#[test]
fn a_result_beyond_the_budget_is_cut_and_says_so() {
    let wrapped = Wrapped::new();
    let client = Client::start(wrapped.command("big", &["--reply-bytes", "20000"], &["ok"]));
    let said = client.say("text", &json!({"bytes": 2 << 20}));
    assert!(said.len() < 40_000, "{} bytes", said.len());
    assert!(said.starts_with("line 00000000 of"), "{said}");
    let image = client.call("image", &json!({"bytes": 1 << 20}));
    assert_eq!(image["content"][0]["data"].as_str().map(str::len), Some(1 << 20));
}

#[test]
fn a_wrapped_server_ends_with_its_agent_whatever_it_is() {
    let wrapped = Wrapped::new();
    for words in [
        &["ok"][..],
        &["busy"],
        &["deaf"],
        &["stubborn"],
        &["under-shell", "stubborn"],
        &["under-shell", "in-session", "deaf"],
        &["twice-forked", "ok"],
        &["launcher", "ok"],
        &["daemon"],
        &["fifty"],
        &["heirs"],
    ] {
        let client = wrapped.client("ends", words);
        client.close();
        client.ended();
        assert_eq!(wrapped.rude.running(), Vec::<i32>::new(), "{words:?}");
    }
}

#[test]
fn each_signal_and_each_death_of_the_prefix_ends_the_server() {
    let wrapped = Wrapped::new();
    for how in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGKILL] {
        for words in [&["under-shell", "stubborn"][..], &["slow"], &["heirs"], &["fifty"]] {
            let client = Client::raw(wrapped.command("ends", &[], words), Manners::default());
            wait::until("it to run", PATIENCE, || (!wrapped.rude.running().is_empty()).then_some(()));
            if words != ["slow"] {
                let info = json!({"name": "t", "version": "1"});
                let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
                client.result("initialize", &params);
            }
            signal(client.pid(), how);
            client.ended();
            wrapped.rude.until_gone(&format!("{words:?} after {how}"));
        }
    }
}

#[test]
fn the_code_of_the_server_is_the_code_of_the_prefix_and_what_was_asked_is_answered() {
    let wrapped = Wrapped::new();
    for (tool, arguments, code) in [
        ("exit", json!({"code": 0}), 0),
        ("exit", json!({"code": 3}), 3),
        ("crash", json!({}), 128 + Signal::SIGSEGV as i32),
    ] {
        let client = wrapped.client("ends", &["ok"]);
        let waiting = client.begin_call("wait", &json!({"file": "/nonexistent/never"}));
        wait::until("the call", PATIENCE, || (wrapped.rude.calls("ends") > 0).then_some(()));
        let ending = client.begin_call(tool, &arguments);
        for id in [waiting, ending] {
            let answer = client.answer(id);
            let failed = answer["error"].is_object() || answer["result"]["isError"] == true;
            assert!(failed, "{tool}: {answer}");
        }
        assert_eq!(client.ended().code(), Some(code), "{tool}: {}", client.errors());
        fs::remove_file(wrapped.rude.log("ends")).unwrap();
    }
}

#[test]
fn what_cannot_be_started_says_so_in_code_and_words() {
    let wrapped = Wrapped::new();
    let ran = wrapped.home.run(["mcp", "wrap", "--", "no-such-program-anywhere"]).expect(127);
    assert!(ran.stderr.contains("no-such-program-anywhere") && ran.stdout.is_empty(), "{ran:?}");
    let file = wrapped.home.work().join("not-a-program");
    fs::write(&file, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let file = file.to_string_lossy().into_owned();
    let ran = wrapped.home.run(["mcp", "wrap", "--", &file]).expect(126);
    assert!(ran.stderr.contains("not-a-program"), "{ran:?}");
    let ran = wrapped.home.run(["mcp", "wrap"]).expect(2);
    assert!(ran.stdout.is_empty(), "{ran:?}");
}

#[test]
fn one_that_closes_its_output_and_stays_is_ended_and_so_is_the_prefix() {
    let wrapped = Wrapped::new();
    let client = wrapped.client("mute", &["mute"]);
    client.result("tools/list", &json!({}));
    client.ended();
    wrapped.rude.until_gone("one without an output");
}

#[test]
fn a_slow_server_is_waited_for() {
    let wrapped = Wrapped::new();
    let client = Client::raw(wrapped.command("slow", &[], &["slow"]), Manners::default());
    let info = json!({"name": "t", "version": "1"});
    let id =
        client.begin("initialize", &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}));
    let pid = wrapped.rude.until_started("slow");
    throughout(Duration::from_secs(1), || assert!(hermes_tests::hosted::runs(pid)));
    wrapped.rude.open("slow");
    assert_eq!(client.answer(id)["result"]["serverInfo"]["name"], "rude");
    client.close();
    client.ended();
    until_gone(&[pid]);
}

#[test]
fn a_line_of_an_agent_that_is_no_message_is_answered_and_the_session_goes_on() {
    let wrapped = Wrapped::new();
    let client = wrapped.client("good", &["ok"]);
    client.write(b"not json\n\xff\xfe\n\n");
    client.result("ping", &json!({}));
    let heard = String::from_utf8(client.heard()).unwrap();
    assert!(heard.contains("-32700"), "{heard}");
    assert_eq!(wrapped.rude.starts("good"), 1);
}
