//! What becomes of a line, with a policy that masks one word and withholds texts with another.

use hermes_fakes::policy::Fake;
use hermes_model::report::Withheld;

use super::*;

/// A policy that masks `secret`, and has no answer to a text with `forbidden` in it.
pub(in crate::wrap) fn masking() -> Fake {
    let why = Withheld { plugin: "p".to_owned(), code: "timeout".to_owned(), message: "m".to_owned() };
    Fake::masking("secret").withholding("forbidden", why)
}

const NOTICE: &str = "[output withheld: p: timeout]";

fn relay() -> Relay {
    let exact = ExactValues::new([("API_KEY".to_owned(), "a-value-of-its-own".to_owned())]);
    Relay::new("server".to_owned(), masking().in_force(), Arc::new(exact), None, "0123456789ab")
}

fn lines(out: Vec<Out>) -> (Vec<String>, Vec<String>) {
    let (mut agent, mut server) = (Vec::new(), Vec::new());
    for out in out {
        let (list, bytes) = match out {
            Out::Agent(bytes) => (&mut agent, bytes),
            Out::Server(bytes) => (&mut server, bytes),
        };
        let line = String::from_utf8(bytes).unwrap();
        list.push(line.strip_suffix('\n').unwrap().to_owned());
    }
    (agent, server)
}

/// What the agent gets of a line of the server.
fn said(relay: &Relay, line: &str) -> Vec<String> {
    let (agent, server) = lines(relay.hear_server(Line::Whole(line.as_bytes().to_vec())));
    assert!(server.is_empty(), "{server:?}");
    agent
}

fn said_json(relay: &Relay, message: &Value) -> Value {
    let lines = said(relay, &message.to_string());
    assert_eq!(lines.len(), 1, "{lines:?}");
    serde_json::from_str(&lines[0]).unwrap()
}

/// The agent says something, and the server gets what is returned.
fn asked(relay: &Relay, message: &Value) -> Value {
    let out = relay.hear_agent(Line::Whole(message.to_string().into_bytes()));
    let (agent, server) = lines(out);
    assert!(agent.is_empty(), "{agent:?}");
    serde_json::from_str(&server[0]).unwrap()
}

fn call(relay: &Relay, id: i64) {
    asked(relay, &json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "t"}}));
}

#[test]
fn what_nobody_changes_passes_byte_for_byte() {
    let relay = relay();
    for line in [
        r#"{ "jsonrpc":"2.0", "id":1, "result":{"a":1.10,"unknown":[{"x":"\u00e4 ä"}]} }"#,
        r#"{"result":{},"jsonrpc":"2.0","id":"x"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/of/tomorrow","params":{"big":18446744073709551615,"small":0.10}}"#,
        r#"{"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{"messages":[]},"extra":1}"#,
        r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"m"}]"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#,
    ] {
        assert_eq!(said(&relay, line), [line]);
        let out = relay.hear_agent(Line::Whole(format!(" {line}\r").into_bytes()));
        let [Out::Server(bytes)] = out.as_slice() else { panic!("it goes to the server") };
        assert_eq!(std::str::from_utf8(bytes).unwrap(), format!("{line}\n"));
    }
    assert_eq!(relay.tally(), Tally::default());
}

#[test]
fn a_secret_is_masked_wherever_a_server_says_it() {
    let relay = relay();
    for message in [
        json!({"id": 1, "result": {"content": [{"type": "text", "text": "a secret"}]}}),
        json!({"id": 1, "result": {"structuredContent": {"deep": [{"uri": "secret"}]}}}),
        json!({"id": 1, "result": {"content": [{"type": "text", "text": "{\"a\":\"secret\"}"}]}}),
        json!({"id": 1, "result": {"_meta": {"x": "secret"}}}),
        json!({"id": 1, "result": {"instructions": "a-value-of-its-own"}}),
        json!({"id": 1, "result": {"contents": [{"uri": "x:secret", "text": "secret"}]}}),
        json!({"id": 1, "error": {"code": 1, "message": "secret", "data": {"x": "secret"}}}),
        json!({"id": 1, "result": {}, "beside": "secret"}),
        json!({"id": "secret", "result": {}}),
        json!({"id": {"x": "secret"}, "result": {}}),
        json!({"id": ["secret"], "error": {}}),
        json!({"jsonrpc": "secret", "id": 1, "result": {}}),
        json!({"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1, "message": "secret"}}),
        json!({"method": "notifications/progress", "params": {"progressToken": "secret"}}),
        json!({"method": "notifications/message", "params": {"level": "info", "data": {"x": ["secret"]}}}),
        json!({"method": "notifications/message", "params": {}, "beside": "secret"}),
        json!({"id": "secret", "method": "ping"}),
        json!({"id": 5, "method": "sampling/createMessage", "params": {"messages": [{"content": {"text": "secret"}}]}}),
    ] {
        call(&relay, 1);
        let shown = said_json(&relay, &message).to_string();
        assert!(!shown.contains("secret") && !shown.contains("a-value"), "{message} became {shown}");
    }
}

#[test]
fn a_line_that_says_a_thing_twice_shows_only_what_was_looked_at() {
    let relay = relay();
    let line = r#"{"jsonrpc":"2.0","id":1,"result":{"text":"secret","text":"fine"}}"#;
    assert_eq!(said(&relay, line), [r#"{"jsonrpc":"2.0","id":1,"result":{"text":"fine"}}"#]);
}

#[test]
fn the_envelope_of_what_the_agent_asked_stays() {
    let relay = relay();
    let request = json!({"jsonrpc": "2.0", "id": "secret-7", "method": "tools/call",
        "params": {"name": "t", "_meta": {"progressToken": "secret-8"}}});
    assert_eq!(asked(&relay, &request), request);
    let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
        "params": {"progressToken": "secret-8", "message": "secret"}});
    let shown = said_json(&relay, &progress);
    assert_eq!(shown["params"]["progressToken"], "secret-8");
    assert_eq!(shown["params"]["message"], "[REDACTED:word]");
    let shown = said_json(&relay, &json!({"jsonrpc": "2.0", "id": "secret-7", "result": {"x": "secret"}}));
    assert_eq!(shown["id"], "secret-7");
}

#[test]
fn a_request_of_the_server_finds_its_answer_whatever_its_id_is() {
    let relay = relay();
    let request = json!({"jsonrpc": "2.0", "id": "secret-1", "method": "elicitation/create",
        "params": {"message": "x", "_meta": {"progressToken": "secret-2"}}});
    let shown = said_json(&relay, &request);
    assert!(!shown.to_string().contains("secret"));
    let answer = json!({"jsonrpc": "2.0", "id": shown["id"], "result": {"action": "accept"}});
    assert_eq!(asked(&relay, &answer)["id"], "secret-1");
    let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
        "params": {"progressToken": shown["params"]["_meta"]["progressToken"], "progress": 1}});
    assert_eq!(asked(&relay, &progress)["params"]["progressToken"], "secret-2");
    let given_up = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "secret-1"}});
    assert_eq!(said_json(&relay, &given_up)["params"]["requestId"], shown["id"]);
}

#[test]
fn a_cursor_and_an_address_that_are_masked_come_back_right() {
    let relay = relay();
    asked(&relay, &json!({"jsonrpc": "2.0", "id": 1, "method": "resources/list"}));
    let page = json!({"jsonrpc": "2.0", "id": 1, "result": {
        "resources": [{"uri": "db://u:secret@h/t", "name": "secret"}], "nextCursor": "secret-page-2"}});
    let shown = said_json(&relay, &page);
    assert!(!shown.to_string().contains("secret"));
    let next = json!({"jsonrpc": "2.0", "id": 2, "method": "resources/list",
        "params": {"cursor": shown["result"]["nextCursor"]}});
    assert_eq!(asked(&relay, &next)["params"]["cursor"], "secret-page-2");
    let uri = &shown["result"]["resources"][0]["uri"];
    let read = json!({"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {"uri": uri}});
    assert_eq!(asked(&relay, &read)["params"]["uri"], "db://u:secret@h/t");
    let contents =
        json!({"jsonrpc": "2.0", "id": 3, "result": {"contents": [{"uri": "db://u:secret@h/t", "text": "x"}]}});
    assert_eq!(said_json(&relay, &contents)["result"]["contents"][0]["uri"], *uri);
}

#[test]
fn what_is_withheld_is_an_error_and_for_a_tool_a_result_that_failed() {
    let relay = relay();
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"x": "forbidden"}});
    call(&relay, 1);
    assert_eq!(
        said_json(&relay, &answer),
        json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": NOTICE}], "isError": true}})
    );
    asked(&relay, &json!({"jsonrpc": "2.0", "id": 1, "method": "prompts/get"}));
    let error = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": NOTICE}});
    assert_eq!(said_json(&relay, &answer), error);
    assert_eq!(relay.tally().withheld, 2);
}

#[test]
fn a_notification_that_is_withheld_is_dropped_and_a_request_is_refused_to_the_server() {
    let relay = relay();
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "forbidden"}});
    assert!(said(&relay, &notification.to_string()).is_empty());
    for request in [
        json!({"jsonrpc": "2.0", "id": "r", "method": "sampling/createMessage", "params": {"x": "forbidden"}}),
        json!({"jsonrpc": "2.0", "id": "r", "method": "sampling/secret"}),
    ] {
        let (agent, server) = lines(relay.hear_server(Line::Whole(request.to_string().into_bytes())));
        assert!(agent.is_empty());
        let refused: Value = serde_json::from_str(&server[0]).unwrap();
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("r"), &json!(-32603)));
    }
    assert_eq!(relay.tally().withheld, 3);
}

#[test]
fn a_batch_passes_without_what_may_not_be_shown() {
    let relay = relay();
    asked(&relay, &json!([{"id": 1, "method": "tools/call"}, {"id": 2, "method": "ping"}, {"method": "m"}]));
    let batch = json!([{"id": 1, "result": {"x": "forbidden"}}, {"id": 2, "result": {"x": "secret"}},
        {"method": "m", "params": {"x": "forbidden"}}, 7]);
    let shown = said_json(&relay, &batch);
    assert_eq!(shown.as_array().unwrap().len(), 2);
    assert_eq!((&shown[0]["result"]["isError"], &shown[1]["result"]["x"]), (&json!(true), &json!("[REDACTED:word]")));
    assert!(said(&relay, r#"[{"method":"m","params":"forbidden"}]"#).is_empty());
}

#[test]
fn lines_that_are_no_message_are_counted_and_the_rest_goes_on() {
    let relay = relay();
    for line in ["Starting…", "✓", "[INFO] up", "7", "null", "\"x\"", "{\"level\":\"info\"}", "{", "\u{1}"] {
        assert!(said(&relay, line).is_empty(), "{line}");
    }
    assert!(relay.hear_server(Line::Whole(b"\xff\xfe".to_vec())).is_empty());
    assert_eq!(relay.tally().junk, 10);
    for line in ["", "\r", "\0", "\u{feff}"] {
        assert!(said(&relay, line).is_empty());
    }
    assert_eq!(relay.tally().junk, 10);
    assert_eq!(said(&relay, "\u{feff}{\"id\":1,\"result\":{}}\r"), ["{\"id\":1,\"result\":{}}"]);
}

#[test]
fn an_answer_that_cannot_be_read_fails_the_request_it_belongs_to() {
    let relay = relay();
    call(&relay, 1);
    call(&relay, 2);
    let torn: Value = serde_json::from_str(&said(&relay, r#"{"jsonrpc":"2.0","id":1,"result":{"#)[0]).unwrap();
    assert_eq!((&torn["id"], &torn["error"]["code"]), (&json!(1), &json!(-32603)));
    // It comes late, and the request has been answered.
    assert!(said(&relay, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).is_empty());
    assert_eq!(said(&relay, r#"{"jsonrpc":"2.0","id":2,"result":{}}"#).len(), 1);
}

#[test]
fn an_answer_that_says_nothing_is_an_error() {
    let relay = relay();
    call(&relay, 1);
    let answer: Value = serde_json::from_str(&said(&relay, r#"{"jsonrpc":"2.0","id":1}"#)[0]).unwrap();
    assert_eq!(answer["error"]["code"], -32603);
    assert!(said(&relay, r#"{"jsonrpc":"2.0","id":1}"#).is_empty());
    assert_eq!(relay.tally().junk, 2);
}

fn too_long(head: &str, tail: &str) -> Line {
    Line::TooLong(Ends { head: head.as_bytes().to_vec(), tail: tail.as_bytes().to_vec(), bytes: 1 << 30 })
}

#[test]
fn an_answer_that_is_too_long_is_an_error_and_where_nobody_knows_whose_all_fail() {
    let relay = relay();
    for id in 1..=4 {
        call(&relay, id);
    }
    let failed = |line: Line| -> Vec<Value> {
        let (agent, server) = lines(relay.hear_server(line));
        assert!(server.is_empty());
        agent.iter().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].clone()).collect()
    };
    assert_eq!(failed(too_long(r#"{"jsonrpc":"2.0","id":1,"result":{"#, "xx")), [json!(1)]);
    assert_eq!(failed(too_long(r#"{"result":{"x":"#, r#""},"jsonrpc":"2.0","id":3}"#)), [json!(3)]);
    assert!(failed(too_long("AAAA", "AAAA")).is_empty());
    assert!(failed(too_long(r#"{"method":"notifications/message","params":"#, "xx")).is_empty());
    let mut rest = failed(too_long(r#"{"result":{"x":"#, "xx"));
    rest.sort_by_key(Value::as_i64);
    assert_eq!(rest, [json!(2), json!(4)]);
    assert_eq!(relay.tally().too_long, 5);
    let (_, server) =
        lines(relay.hear_server(too_long(r#"{"id":"q","method":"sampling/createMessage","params":"#, "")));
    assert!(server[0].contains(r#""id":"q""#));
}

#[test]
fn a_bad_line_of_the_agent_is_answered_and_the_session_goes_on() {
    let relay = relay();
    let refused = |line: Line| {
        let (agent, server) = lines(relay.hear_agent(line));
        assert!(server.is_empty());
        serde_json::from_str::<Value>(&agent[0]).unwrap()
    };
    for line in [&b"not json"[..], b"{", b"\xff\xfe", b"{\"a\":\"\xff\"}"] {
        let answer = refused(Line::Whole(line.to_vec()));
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32700)));
    }
    assert_eq!(refused(too_long("{\"id\":1", ""))["error"]["code"], -32700);
    for line in ["7", "[]", "\"x\""] {
        assert_eq!(refused(Line::Whole(line.into()))["error"]["code"], -32600);
    }
    assert!(relay.hear_agent(Line::Whole(b" \r".to_vec())).is_empty());
    call(&relay, 1);
}

#[test]
fn whatever_waits_is_answered_once_when_nobody_will() {
    let relay = relay();
    call(&relay, 1);
    call(&relay, 2);
    call(&relay, 3);
    asked(&relay, &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}));
    said(&relay, r#"{"jsonrpc":"2.0","id":3,"result":{}}"#);
    let answers = relay.give_up("it is gone");
    assert_eq!(answers.len(), 1);
    let answer: Value = serde_json::from_slice(&answers[0]).unwrap();
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "it is gone"}}));
    assert!(relay.give_up("it is gone").is_empty());
}

#[test]
fn a_request_that_was_not_sent_fails_alone() {
    let relay = relay();
    call(&relay, 1);
    call(&relay, 2);
    let failed = relay.unsent(br#"[{"id":2,"method":"tools/call"},{"method":"m"}]"#);
    assert_eq!(failed.len(), 1);
    assert!(String::from_utf8_lossy(&failed[0]).contains(r#""id":2"#));
}

/// A relay that cuts what is longer than `budget`, for a server that announced these.
fn cutting(budget: usize, capabilities: &Value) -> (Relay, Value) {
    let results = Results::new(Arc::default(), "0123456789ab", budget);
    let relay = Relay::new(
        "server".to_owned(),
        masking().in_force(),
        Arc::new(ExactValues::default()),
        Some(results),
        "0123456789ab",
    );
    asked(&relay, &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize"}));
    let hello = said_json(&relay, &json!({"jsonrpc": "2.0", "id": 0, "result": {"capabilities": capabilities}}));
    (relay, hello["result"]["capabilities"].clone())
}

/// What the agent gets for a call that is answered with this text.
fn answered(relay: &Relay, id: i64, text: &str) -> Vec<Value> {
    call(relay, id);
    let result = json!({"content": [{"type": "text", "text": text}]});
    let lines = said(relay, &json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string());
    lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The agent asks something that the relay answers itself.
fn own(relay: &Relay, method: &str, params: &Value) -> Value {
    let request = json!({"jsonrpc": "2.0", "id": "own", "method": method, "params": params});
    let (agent, server) = lines(relay.hear_agent(Line::Whole(request.to_string().into_bytes())));
    assert!(server.is_empty(), "{method} went to the server");
    let mut answer: Value = serde_json::from_str(&agent[0]).unwrap();
    assert_eq!(answer["id"], "own");
    if answer["error"].is_null() { answer["result"].take() } else { answer["error"].take() }
}

/// The id in a notice.
fn id_in(text: &str) -> &str {
    let at = text.find("res_").unwrap();
    &text[at..at + 16]
}

#[test]
fn a_long_result_is_cut_and_read_on_with_a_tool_that_is_offered_from_then_on() {
    let (relay, capabilities) = cutting(4000, &json!({"tools": {}, "resources": {"subscribe": true}}));
    assert_eq!(capabilities, json!({"tools": {"listChanged": true}, "resources": {"subscribe": true}}));
    let tools = json!({"jsonrpc": "2.0", "id": 5, "result": {"tools": [{"name": "t"}]}});
    let names = |relay: &Relay| {
        asked(relay, &json!({"jsonrpc": "2.0", "id": 5, "method": "tools/list"}));
        let shown = said_json(relay, &tools)["result"]["tools"].take();
        shown.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&relay), ["t"]);
    assert_eq!(answered(&relay, 1, "short")[0]["result"]["content"][0]["text"], "short");
    let whole: String = (0..1000).map(|number| format!("line {number} with a secret\n")).collect();
    let shown = answered(&relay, 2, &whole);
    assert_eq!(shown[0], json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    let text = shown[1]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        text.len() < 5000 && text.contains("hermes_read_result") && text.ends_with("line 999 with a [REDACTED:word]\n")
    );
    assert_eq!(names(&relay), ["t", "hermes_read_result"]);

    let (mut read, mut offset) = (String::new(), 0);
    while offset < 1000 {
        let arguments = json!({"id": id_in(text), "offset": offset, "limit": 150});
        let page = own(&relay, "tools/call", &json!({"name": "hermes_read_result", "arguments": arguments}));
        let page = page["content"][0]["text"].as_str().unwrap();
        assert!(page.len() < 4200);
        let lines: Vec<&str> = page.split_inclusive('\n').filter(|line| line.starts_with("line ")).collect();
        (read, offset) = (read + &lines.concat(), offset + lines.len());
    }
    assert_eq!(read, whole.replace("secret", "[REDACTED:word]"));
    assert_eq!(answered(&relay, 3, &whole).len(), 1, "it is told once");
}

#[test]
fn what_was_cut_is_a_resource_too_and_those_of_the_server_stay_the_servers() {
    let (relay, _) = cutting(400, &json!({"tools": {}, "resources": {}}));
    let whole = "a line\n".repeat(500);
    let shown = answered(&relay, 1, &whole);
    let id = id_in(shown[1]["result"]["content"][0]["text"].as_str().unwrap());
    let uri = format!("hermes://results/{id}");
    let read = own(&relay, "resources/read", &json!({"uri": uri}));
    assert_eq!(read["contents"], json!([{"uri": uri, "mimeType": "text/plain", "text": whole}]));
    let uri = format!("{uri}?offset=490&limit=20");
    let read = own(&relay, "resources/read", &json!({"uri": uri}));
    assert_eq!(read["contents"][0]["text"], "a line\n".repeat(10));
    assert_eq!(read["contents"][0]["_meta"]["hermes/lines"], json!({"first": 490, "count": 10, "total": 500}));
    for (method, params) in [
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "hermes://results/res_000000000000"})),
        ("resources/read", json!({"uri": "file:///x"})),
    ] {
        let request = json!({"jsonrpc": "2.0", "id": 9, "method": method, "params": params});
        assert_eq!(asked(&relay, &request), request);
    }
}

#[test]
fn a_server_without_resources_has_those_of_the_session() {
    let (relay, capabilities) = cutting(400, &json!({"tools": {"listChanged": true}}));
    assert_eq!(capabilities["resources"], json!({}));
    assert_eq!(own(&relay, "resources/list", &json!({})), json!({"resources": []}));
    let shown = answered(&relay, 1, &"a line\n".repeat(500));
    let id = id_in(shown[1]["result"]["content"][0]["text"].as_str().unwrap());
    let listed = own(&relay, "resources/list", &json!({}));
    assert_eq!(listed["resources"][0]["uri"], format!("hermes://results/{id}"));
    assert_eq!(own(&relay, "resources/templates/list", &json!({}))["resourceTemplates"].as_array().unwrap().len(), 1);
    let refused = own(&relay, "resources/read", &json!({"uri": "file:///x"}));
    assert!(refused["code"].is_i64() && !refused.to_string().contains("file:"), "{refused}");
}

#[test]
fn a_call_of_the_tool_that_makes_no_sense_fails_and_says_why() {
    let (relay, _) = cutting(400, &json!({"tools": {}}));
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "hermes_read_result"}});
    assert_eq!(asked(&relay, &request), request, "before anything was cut it is nobody's");
    answered(&relay, 1, &"a line\n".repeat(500));
    for arguments in [json!(null), json!({}), json!({"id": "res_0"}), json!({"id": 5}), json!({"id": "x", "y": 1})] {
        let result = own(&relay, "tools/call", &json!({"name": "hermes_read_result", "arguments": arguments}));
        assert_eq!(result["isError"], true, "{arguments}");
    }
}

#[test]
fn in_a_batch_each_gets_what_is_its_own() {
    let (relay, _) = cutting(400, &json!({"tools": {}}));
    let batch = json!([{"id": 1, "method": "resources/list"}, {"id": 2, "method": "ping"}]);
    let (agent, server) = lines(relay.hear_agent(Line::Whole(batch.to_string().into_bytes())));
    assert_eq!(agent, [r#"{"jsonrpc":"2.0","id":1,"result":{"resources":[]}}"#]);
    assert_eq!(server, [r#"[{"id":2,"method":"ping"}]"#]);
    let batch = json!([{"id": 1, "method": "resources/list"}]);
    assert!(lines(relay.hear_agent(Line::Whole(batch.to_string().into_bytes()))).1.is_empty());
}

#[test]
fn an_address_that_was_masked_comes_back_right_in_a_result_that_is_cut() {
    let (relay, _) = cutting(400, &json!({"tools": {}, "resources": {}}));
    call(&relay, 1);
    let mut content: Vec<Value> = (0..50).map(|_| json!({"type": "text", "text": "x".repeat(100)})).collect();
    content.push(json!({"type": "resource_link", "uri": "db://secret@h/t", "name": "t"}));
    let lines = said(&relay, &json!({"jsonrpc": "2.0", "id": 1, "result": {"content": content}}).to_string());
    let shown: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    let blocks = shown["result"]["content"].as_array().unwrap();
    let link = blocks.iter().find(|block| block["type"] == "resource_link").unwrap();
    assert!(blocks.len() < 10 && !shown.to_string().contains("secret"), "{shown}");
    let read = json!({"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {"uri": link["uri"]}});
    assert_eq!(asked(&relay, &read)["params"]["uri"], "db://secret@h/t");
}

mod in_pieces {
    use proptest::prelude::*;
    use tokio::io::{AsyncWriteExt, duplex};

    use super::*;
    use crate::lines::Lines;

    /// Something a server prints, and whether it is a message.
    fn printed() -> impl Strategy<Value = (Vec<u8>, bool)> {
        prop_oneof![
            3 => ("[a-z äß\u{1f600}]{0,20}", 0u32..9).prop_map(|(text, id)| {
                (json!({"jsonrpc": "2.0", "id": id, "result": {"x": text}}).to_string().into_bytes(), true)
            }),
            2 => "[a-zA-Z✓ .:]{0,20}".prop_map(|text| (format!("- {text}").into_bytes(), false)),
            1 => Just((b"{\"jsonrpc\":\"2.0\",\"method\":".to_vec(), false)),
            1 => Just((b"\xff\xfe\x00".to_vec(), false)),
            1 => Just((Vec::new(), false)),
            1 => Just((vec![b'A'; 600], false)),
        ]
    }

    proptest! {
        #[test]
        fn messages_pass_in_order_whatever_stands_between_them_and_however_they_arrive(
            printed in proptest::collection::vec((printed(), prop_oneof!["", "\r", "\u{0}"]), 0..20),
            sizes in proptest::collection::vec(1usize..50, 1..10),
        ) {
            let mut bytes = Vec::new();
            for ((line, _), padding) in &printed {
                bytes.extend_from_slice(line);
                bytes.extend_from_slice(padding.as_bytes());
                bytes.push(b'\n');
            }
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let passed = runtime.block_on(async move {
                let (mut theirs, ours) = duplex(33);
                let writing = async move {
                    let (mut rest, mut sizes) = (bytes.as_slice(), sizes.iter().cycle());
                    while !rest.is_empty() {
                        let piece = rest.len().min(*sizes.next().unwrap());
                        theirs.write_all(&rest[..piece]).await.unwrap();
                        rest = &rest[piece..];
                    }
                };
                let reading = async move {
                    let (relay, mut lines, mut passed) = (relay(), Lines::new(ours, 500), Vec::new());
                    loop {
                        match lines.next().await {
                            Line::Gone => return passed,
                            line => passed.extend(super::lines(relay.hear_server(line)).0),
                        }
                    }
                };
                tokio::join!(writing, reading).1
            });
            let expected: Vec<String> = printed
                .iter()
                .filter(|((_, is_message), _)| *is_message)
                .map(|((line, _), _)| String::from_utf8(line.clone()).unwrap())
                .collect();
            prop_assert_eq!(passed, expected);
        }
    }
}
