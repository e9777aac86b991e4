//! The misbehaving servers misbehave as they are said to: no test passes because a server was good.

use hermes_tests::hosted::{runs, signal};
use hermes_tests::leavings;
use hermes_tests::mcp::{Client, Manners};
use hermes_tests::rude::Rude;
use hermes_tests::wait::{self, PATIENCE};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

fn rude() -> (TempDir, Rude) {
    let folder = tempfile::tempdir().unwrap();
    let rude = Rude::in_folder(folder.path());
    (folder, rude)
}

#[test]
fn a_good_one_answers_everything_and_ends_with_its_input() {
    let (_folder, rude) = rude();
    let answers = |method: &str, params: &Value| Ok(json!({"of": method, "given": params}));
    let manners = Manners { answers: Box::new(answers), ..Manners::default() };
    let client = Client::start_as(rude.command("good", &["--secret", "psst", "ok"]), manners);
    assert_eq!(client.hello()["serverInfo"]["name"], "rude");
    assert_eq!(client.say("echo", &json!({"text": "hello"})), "hello");
    assert_eq!(client.call("add", &json!({"a": 2, "b": 3}))["structuredContent"]["sum"], 5.0);
    assert_eq!(client.list("resources/list", "resources").len(), 3);
    assert_eq!(client.list("prompts/list", "prompts").len(), 2);
    assert_eq!(client.result("rude/thing", &json!({"x": 1}))["params"]["x"], 1);
    assert_eq!(client.request("other/thing", &json!({}))["error"]["code"], -32601);
    let asked = client.say("ask", &json!({"method": "roots/list", "params": {"y": 2}}));
    assert!(asked.contains("roots/list") && asked.contains("\"y\":2"), "{asked}");
    client.call("log", &json!({"level": "info", "text": "words"}));
    assert_eq!(client.until_notified("notifications/message", 1)[0]["data"], "words");
    client.call("tell", &json!({"carrier": "stderr"}));
    client.until_error("psst");
    assert_eq!((rude.calls("good"), rude.starts("good")), (5, 1), "{:?}", rude.lines("good"));
    client.close();
    assert_eq!(client.ended().code(), Some(0));
}

#[test]
fn a_call_can_be_taken_back() {
    let (_folder, rude) = rude();
    let client = Client::start(rude.command("good", &["ok"]));
    let id = client.begin_call("wait", &json!({"file": "/nonexistent/never"}));
    client.notify("notifications/cancelled", &json!({"requestId": id}));
    assert_eq!(client.answer(id)["result"]["content"][0]["text"], "cancelled");
}

#[test]
fn each_carrier_holds_the_secret() {
    let (_folder, rude) = rude();
    let client = Client::start(rude.command("tell", &["--secret", "psst-psst", "ok"]));
    for carrier in ["content", "structured", "json", "error", "refusal", "resource", "link", "meta"] {
        let answer = client.request("tools/call", &json!({"name": "tell", "arguments": {"carrier": carrier}}));
        assert!(answer.to_string().contains("psst-psst"), "{carrier}: {answer}");
    }
    let params = json!({"name": "tell", "arguments": {"carrier": "progress"}, "_meta": {"progressToken": 5}});
    client.request("tools/call", &params);
    client.call("tell", &json!({"carrier": "logging"}));
    for method in ["notifications/progress", "notifications/message"] {
        assert!(client.until_notified(method, 1)[0].to_string().contains("psst-psst"), "{method}");
    }
    for (method, params) in [
        ("resources/read", json!({"uri": "rude://secret"})),
        ("prompts/get", json!({"name": "secret"})),
        ("resources/list", json!({})),
        ("prompts/list", json!({})),
        ("tools/list", json!({})),
        ("completion/complete", json!({"argument": {"name": "a", "value": "b"}})),
    ] {
        assert!(client.result(method, &params).to_string().contains("psst-psst"), "{method}");
    }
}

#[test]
fn the_stream_of_each_bad_one_is_as_bad_as_it_is_said_to_be() {
    let (_folder, rude) = rude();
    let client = Client::start(rude.command("junk", &["junk"]));
    assert_eq!(client.say("echo", &json!({"text": "x"})), "x");
    assert!(client.junk().len() > 6, "{:?}", client.junk());

    let client = Client::raw(rude.command("bytes", &["bytes"]), Manners::default());
    client.begin("initialize", &json!({}));
    wait::until("its bytes", PATIENCE, || client.heard().ends_with(b"\0\r\n").then_some(()));
    let heard = client.heard();
    assert!(heard.starts_with(b"\xff\xfe\n\0\0\n\xff\xfe\n\xef\xbb\xbf{"), "{heard:?}");

    let client = Client::start(rude.command("loud", &["loud"]));
    assert!(client.errors().len() >= 64 * 1024, "{}", client.errors().len());

    let client = Client::start(rude.command("twice", &["twice"]));
    client.result("tools/list", &json!({}));
    rude.until_noted("twice", "answered elicitation/create -32601");
    assert!(client.requests("sampling/createMessage").len() == 1 && client.requests("roots/list").len() == 1);

    let client = Client::start(rude.command("mute", &["mute"]));
    client.result("tools/list", &json!({}));
    client.until_over();
    assert!(runs(client.pid()));

    let client = Client::start(rude.command("dumb", &["dumb"]));
    client.begin_call("echo", &json!({"text": "x"}));
    client.result("ping", &json!({}));
    assert!(!String::from_utf8(client.heard()).unwrap().contains("content"));

    let client = Client::start(rude.command("big", &["ok"]));
    let long = client.say("text", &json!({"bytes": 8 << 20}));
    assert_eq!(long.len(), 8 << 20);
    let id = client.begin_call("flood", &json!({"bytes": 1 << 20}));
    client.answer(id);
    assert_eq!(client.junk()[0].len(), (1 << 20) + 1);
}

#[test]
fn lists_are_as_odd_as_they_are_said_to_be() {
    let (_folder, rude) = rude();
    let client = Client::start(rude.command("pages", &["pages", "three"]));
    let tools = client.tools();
    assert_eq!((tools.len(), tools[119].as_str()), (120, "tool119"));
    for kind in ["constant", "cycle"] {
        let client = Client::start(rude.command(kind, &["pages", kind]));
        let mut cursor = Value::Null;
        let mut seen = 0;
        while seen < 4 {
            cursor = client.result("tools/list", &json!({"cursor": cursor}))["nextCursor"].take();
            assert!(cursor.is_string());
            seen += 1;
        }
    }
    let client = Client::start(rude.command("changes", &["changes"]));
    assert!(!client.tools().contains(&"late".to_owned()));
    rude.open("changes");
    client.until_notified("notifications/tools/list_changed", 101);
    assert!(client.tools().contains(&"late".to_owned()));
    let client = Client::start(rude.command("fixed", &["fixed", "2024-11-05"]));
    assert_eq!(client.hello()["protocolVersion"], "2024-11-05");
}

#[test]
fn those_that_end_end_as_they_are_said_to() {
    let (_folder, rude) = rude();
    let client = Client::start(rude.command("leaves", &["leaves"]));
    client.result("tools/list", &json!({}));
    assert_eq!(client.ended().code(), Some(0));
    for (tool, arguments, code, by) in [
        ("exit", json!({"code": 0}), Some(0), None),
        ("exit", json!({"code": 1}), Some(1), None),
        ("crash", json!({}), None, Some(Signal::SIGSEGV as i32)),
    ] {
        let client = Client::start(rude.command("ends", &["ok"]));
        client.begin_call(tool, &arguments);
        let status = client.ended();
        assert_eq!((status.code(), std::os::unix::process::ExitStatusExt::signal(&status)), (code, by), "{tool}");
    }
    let client = Client::start(rude.command("delicate", &["delicate"]));
    client.notify("notifications/cancelled", &json!({"requestId": 1}));
    assert_eq!(client.ended().code(), None);
    let client = Client::raw(rude.command("broken", &["broken"]), Manners::default());
    assert_eq!(client.ended().code(), Some(3));
}

#[test]
fn a_slow_one_waits_for_its_gate() {
    let (_folder, rude) = rude();
    let client = Client::raw(rude.command("slow", &["slow"]), Manners::default());
    rude.until_started("slow");
    let id = client.begin("initialize", &json!({}));
    rude.open("slow");
    assert_eq!(client.answer(id)["result"]["serverInfo"]["name"], "rude");
}

#[test]
fn those_that_stay_stay_and_a_kill_ends_them() {
    let (_folder, rude) = rude();
    for manner in ["busy", "deaf", "stubborn"] {
        let client = Client::start(rude.command(manner, &[manner]));
        if manner == "stubborn" {
            signal(client.pid(), Signal::SIGTERM);
            client.result("ping", &json!({}));
        }
        client.close();
        rude.until_noted(manner, "stays");
        assert!(runs(client.pid()), "{manner}");
    }
    rude.until_gone("what a kill was sent");
}

#[test]
fn a_tidy_one_stays_until_it_is_asked_to_go() {
    let (_folder, rude) = rude();
    let client = Client::start(rude.command("tidy", &["tidy"]));
    client.close();
    rude.until_noted("tidy", "stays");
    assert!(runs(client.pid()));
    signal(client.pid(), Signal::SIGTERM);
    assert_eq!(client.ended().code(), Some(0));
    assert_eq!(rude.lines_with("tidy", "tidied up").len(), 1);
}

#[test]
fn trees_have_the_shapes_they_are_said_to_have() {
    let (_folder, rude) = rude();
    for (name, words) in [
        ("shell", &["under-shell", "ok"][..]),
        ("session", &["under-shell", "in-session", "ok"]),
        ("forked", &["twice-forked", "ok"]),
        ("launcher", &["launcher", "ok"]),
        ("gone", &["parent-gone", "ok"]),
    ] {
        let client = Client::start(rude.command(name, words));
        assert_eq!(client.say("echo", &json!({"text": "x"})), "x", "{name}");
        let server = rude.pid(name).unwrap();
        assert_ne!(server, client.pid(), "{name}: somebody is between");
        let group = nix::unistd::getpgid(Some(nix::unistd::Pid::from_raw(server))).unwrap().as_raw();
        assert_eq!(group == server, ["session", "forked"].contains(&name), "{name}");
        let alone = ["forked", "gone"].contains(&name);
        let apart = || (leavings::parent(server) != Some(client.pid())).then_some(());
        if alone {
            wait::until("its parent to go", PATIENCE, apart);
        }
        assert_eq!(apart().is_some(), alone, "{name}");
    }
    for (manner, count) in [("daemon", 1), ("fifty", 50), ("escapes", 1)] {
        let client = Client::start(rude.command(manner, &[manner]));
        wait::until("its descendants", PATIENCE, || (rude.running_of(manner).len() == count + 1).then_some(()));
        client.close();
        client.ended();
        // One look at /proc may miss somebody who is between two programs.
        wait::until("those it leaves", PATIENCE, || (rude.running_of(manner).len() == count).then_some(()));
    }
}

#[test]
fn one_that_forks_while_it_dies_has_an_heir() {
    let (_folder, rude) = rude();
    let client = Client::start(rude.command("heirs", &["heirs"]));
    for _ in 0..3 {
        let last = wait::until("somebody", PATIENCE, || rude.running_of("heirs").first().copied());
        signal(last, Signal::SIGTERM);
        wait::until("an heir", PATIENCE, || rude.running_of("heirs").iter().any(|pid| *pid != last).then_some(()));
    }
    client.ended();
}
