//! What an agent sees of many servers: names that last, whole lists, results that fit.

use std::collections::BTreeSet;

use hermes_tests::mcp::{Manners, first_text};
use hermes_tests::wait::{self, PATIENCE};
use serde_json::{Value, json};

use crate::served::{Served, end, failure, kept_id, until_listed, whole};

/// How long a name may be for the agents there are.
const NAME_MAX: usize = 64;
/// How often an agent may be told of one change that came as a hundred.
const TOLD_MAX: usize = 20;
/// How much of a long result a reply holds at most (`output.reply_bytes` and the notice).
const REPLY_MAX: usize = 60_000;

fn agrees(name: &str) -> bool {
    name.len() <= NAME_MAX && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

#[test]
fn names_hold_their_server_and_stay_whatever_else_is_there() {
    let odd = "a tool with späces/and.dots";
    let long = "x".repeat(120);
    let words = ["--tool", odd, "--tool", &long, "ok"];
    let one: &[crate::served::Entry<'_>] = &[("first", &words, "")];
    let served = Served::with(one);
    let client = served.client();
    client.until_tools(&["first__echo"]);
    let alone: BTreeSet<String> = client.tools().into_iter().filter(|name| name.starts_with("first")).collect();
    end(&served, &client);

    let entries: &[crate::served::Entry<'_>] =
        &[("first", &words, ""), ("second", &words, ""), ("first__echo", &["ok"], ""), ("with.dots", &["ok"], "")];
    served.configure("", entries);
    let client = served.client();
    client.until_tools(&["first__echo", "second__echo"]);
    for name in ["first", "second", "first__echo", "with.dots"] {
        served.until_state(name, &["ready", "proven"]);
    }
    let names = client.tools();
    let distinct: BTreeSet<&String> = names.iter().collect();
    assert_eq!(distinct.len(), names.len(), "a name twice: {names:?}");
    assert!(names.iter().all(|name| agrees(name)), "{names:?}");
    assert!(alone.iter().all(|name| names.contains(name)), "a name changed: {alone:?} {names:?}");
    assert!(names.contains(&"terminal".to_owned()) && names.contains(&"process".to_owned()));
    assert_eq!(names.len(), 2 + 4 * 15 + 4, "{names:?}");
    // Every name leads to where it belongs.
    for name in &names {
        if !["terminal", "process"].contains(&name.as_str()) && name.contains("x_") {
            let said = first_text(&client.call(name, &json!({"n": 1})));
            let said: Value = serde_json::from_str(&said).unwrap();
            assert_eq!((said["name"].as_str(), &said["arguments"]), (Some(long.as_str()), &json!({"n": 1})));
        }
    }
    end(&served, &client);
}

#[test]
fn what_is_left_out_is_neither_listed_nor_called() {
    let only = "tools = { include = [\"ech?\", \"add\", \"env\"] }";
    let but = "tools = { exclude = [\"e*\", \"*a*\", \"pr*\", \"t*\", \"flood\", \"sleep\"] }";
    let served = Served::with(&[("good", &["ok"], only), ("other", &["ok"], but), ("off", &["ok"], "enabled = false")]);
    let client = served.client();
    client.until_tools(&["good__echo", "good__add", "good__env", "other__log"]);
    let mut names = client.tools();
    names.retain(|name| !["terminal", "process"].contains(&name.as_str()));
    names.sort();
    assert_eq!(names, ["good__add", "good__echo", "good__env", "other__log"]);
    let answer = client.request("tools/call", &json!({"name": "good__exit", "arguments": {}}));
    assert!(answer["error"].is_object() || answer["result"]["isError"] == true, "{answer}");
    assert_eq!((served.rude.calls("good"), served.rude.starts("off")), (0, 0));
    end(&served, &client);
}

#[test]
fn every_page_is_read_and_pages_without_an_end_have_one() {
    let served = Served::with(&[
        ("three", &["pages", "three"], ""),
        ("constant", &["pages", "constant"], ""),
        ("cycle", &["pages", "cycle"], ""),
    ]);
    let client = served.client();
    client.until_tools(&["three__tool000", "three__tool119", "constant__tool000", "cycle__tool000"]);
    let names = client.tools();
    let of = |server: &str| names.iter().filter(|name| name.starts_with(&format!("{server}__"))).count();
    assert_eq!(of("three"), 120);
    // The pages that came again hold nothing new: each tool is offered once.
    assert_eq!((of("constant"), of("cycle")), (50, 100));
    let said = first_text(&client.call("three__tool119", &json!({})));
    assert!(said.contains("tool119"), "{said}");
    let answer = client.request("tools/list", &json!({"cursor": "no such cursor"}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    end(&served, &client);
}

#[test]
fn a_list_that_changes_changes_for_every_session_and_not_a_hundred_times() {
    let served = Served::with(&[("changes", &["changes"], "")]);
    let _host = served.host();
    let clients = [served.join(), served.join(), served.join()];
    for client in &clients {
        client.until_tools(&["changes__echo"]);
        assert!(!client.tools().contains(&"changes__late".to_owned()));
    }
    let before: Vec<usize> = clients.iter().map(told).collect();
    served.rude.open("changes");
    for (client, before) in clients.iter().zip(before) {
        client.until_notified("notifications/tools/list_changed", before + 1);
        client.until_tools(&["changes__late"]);
        assert!(told(client) <= before + TOLD_MAX, "told {} times", told(client) - before);
    }
    assert!(clients[0].say("changes__late", &json!({"a": 1})).contains("late"));
}

fn told(client: &hermes_tests::mcp::Client) -> usize {
    client.notifications("notifications/tools/list_changed").len()
}

#[test]
fn a_long_result_is_cut_with_a_notice_and_can_be_paged_to_its_end() {
    let served = Served::with(&[("good", &["ok"], "")]);
    let client = served.client();
    client.until_tools(&["good__text"]);
    let bytes = 5 << 20;
    let result = client.call("good__text", &json!({"bytes": bytes, "both": true}));
    let shown = first_text(&result);
    assert!(result.to_string().len() < 3 * REPLY_MAX, "{} bytes", result.to_string().len());
    assert!(shown.len() < REPLY_MAX, "{} bytes", shown.len());
    let id = kept_id(&shown);
    let text = whole(&client, &id);
    let mut expected = String::new();
    let mut at = 0;
    while expected.len() < bytes {
        expected.push_str(&format!("line {at:08} of a long text with nothing in it\n"));
        at += 1;
    }
    expected.truncate(bytes);
    assert!(text.trim_end() == expected.trim_end(), "{} and {} bytes", text.len(), expected.len());
    // The same, as a resource.
    let read = client.result("resources/read", &json!({"uri": format!("hermes://results/{id}")}));
    assert!(read["contents"][0]["text"].as_str().unwrap().starts_with("line 00000000"), "no text");
    end(&served, &client);
}

#[test]
fn an_image_is_whole_wherever_it_is() {
    let served = Served::with(&[("good", &["ok"], "")]);
    let client = served.client();
    client.until_tools(&["good__image"]);
    for both in [false, true] {
        let bytes = 1 << 20;
        let result = client.call("good__image", &json!({"bytes": bytes, "both": both}));
        let image = &result["content"][0];
        let data = image["data"].as_str().unwrap_or_else(|| panic!("no data"));
        assert_eq!((image["type"].as_str(), image["mimeType"].as_str()), (Some("image"), Some("image/png")));
        assert!(data.len() == bytes && data.starts_with("iVBORw0KGgoAAAA"), "{} bytes", data.len());
        // Whole, or left out whole: never a part of one.
        let other = result["structuredContent"]["image"]["data"].as_str();
        assert!(other.is_none_or(|other| other == data), "a part of an image");
    }
    end(&served, &client);
}

#[test]
fn a_hundred_calls_are_a_hundred_calls_of_one_process() {
    let served = Served::with(&[("good", &["ok"], "")]);
    let client = served.client();
    client.until_tools(&["good__add"]);
    for at in 0..100 {
        let result = client.call("good__add", &json!({"a": at, "b": 1}));
        assert_eq!(result["structuredContent"]["sum"].as_f64(), Some(f64::from(at) + 1.0), "{result}");
    }
    assert_eq!((served.rude.starts("good"), served.rude.calls("good")), (1, 100));
    end(&served, &client);
}

#[test]
fn what_only_looks_like_something_private_comes_back_as_it_went() {
    let served = Served::with(&[("good", &["ok"], "")]);
    let client = served.client();
    client.until_tools(&["good__echo"]);
    for text in [
        "node 2006-14129",
        "123@c.us wrote to 4915112345678@c.us",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "550e8400-e29b-41d4-a716-446655440000",
        "arn:aws:s3:::bucket/key",
        "id=1234567890 hash=d41d8cd98f00b204e9800998ecf8427e",
    ] {
        assert_eq!(client.say("good__echo", &json!({"text": text})), text);
    }
    end(&served, &client);
}

#[test]
fn a_tool_that_is_not_trusted_is_called_only_when_the_user_says_so() {
    let served = Served::with(&[("wary", &["ok"], "trust = \"untrusted\"")]);
    let client = served.client();
    client.until_tools(&["wary__echo", "wary__env"]);
    assert_eq!(client.say("wary__echo", &json!({"text": "only reads"})), "only reads");
    failure(&client.call("wary__env", &json!({"name": "HOME"})));
    assert_eq!(served.rude.calls("wary"), 1);
    end(&served, &client);
    for (action, calls) in [("accept", 2), ("decline", 2), ("cancel", 2)] {
        let answers = move |method: &str, _: &Value| match method {
            "elicitation/create" => Ok(json!({"action": action, "content": {}})),
            _ => Err(json!({"code": -32601, "message": "no"})),
        };
        let capabilities = json!({"elicitation": {}});
        let manners = Manners { capabilities, answers: Box::new(answers), ..Manners::default() };
        let client = served.client_as(manners);
        client.until_tools(&["wary__env"]);
        let result = client.call("wary__env", &json!({"name": "HOME"}));
        assert_eq!(result["isError"] == true, action != "accept", "{action}: {result}");
        assert_eq!(client.requests("elicitation/create").len(), 1, "{action}");
        assert_eq!(served.rude.calls("wary"), calls, "{action}");
        end(&served, &client);
    }
}

#[test]
fn resources_and_prompts_of_servers_are_found_and_read() {
    let served =
        Served::with(&[("good", &["ok"], ""), ("other", &["ok"], "tools = { resources = false, prompts = false }")]);
    let client = served.client();
    client.until_tools(&["good__echo", "other__echo"]);
    let resources = until_listed(&client, "resources/list", "resources", "good");
    let uri = |name: &str| {
        let found = resources.iter().find(|it| it["name"].as_str().is_some_and(|found| found.contains(name)));
        found.unwrap_or_else(|| panic!("no {name} in {resources:?}"))["uri"].clone()
    };
    let text = client.result("resources/read", &json!({"uri": uri("plain")}));
    assert_eq!(text["contents"][0]["text"], "the text of rude://plain", "{text}");
    let blob = client.result("resources/read", &json!({"uri": uri("binary")}));
    assert_eq!(blob["contents"][0]["blob"], "AAECAwQFBgcICQ==", "{blob}");
    assert!(resources.iter().all(|it| !it["uri"].to_string().contains("other")), "{resources:?}");
    let templates = until_listed(&client, "resources/templates/list", "resourceTemplates", "good");
    let templates = templates.iter().filter_map(|it| it["uriTemplate"].as_str());
    let template = templates.into_iter().find(|it| it.contains("good")).expect("a template");
    let text = client.result("resources/read", &json!({"uri": template.replace("{name}", "some")}));
    assert_eq!(text["contents"][0]["text"], "the text of rude://text/some", "{text}");

    let prompts = until_listed(&client, "prompts/list", "prompts", "good");
    assert!(prompts.iter().any(|prompt| prompt["name"] == "good__greet"), "{prompts:?}");
    assert!(prompts.iter().all(|prompt| !prompt["name"].to_string().contains("other")), "{prompts:?}");
    let greeting = client.result("prompts/get", &json!({"name": "good__greet", "arguments": {"name": "you"}}));
    assert_eq!(greeting["messages"][0]["content"]["text"], "Hello, you!");
    let reference = json!({"type": "ref/prompt", "name": "good__greet"});
    let argument = json!({"name": "name", "value": "Jo"});
    let completed = client.result("completion/complete", &json!({"ref": reference, "argument": argument}));
    assert_eq!(completed["completion"]["values"][0], "Jo-completed", "{completed}");
    end(&served, &client);
}

#[test]
fn what_a_server_tells_everybody_reaches_those_who_want_it() {
    let served = Served::with(&[("good", &["ok"], "")]);
    let _host = served.host();
    let (client, other) = (served.join(), served.join());
    client.until_tools(&["good__log"]);
    client.result("logging/setLevel", &json!({"level": "warning"}));
    other.result("logging/setLevel", &json!({"level": "emergency"}));
    let resources = until_listed(&client, "resources/list", "resources", "plain");
    let plain = resources.iter().find(|it| it["uri"].to_string().contains("plain")).unwrap()["uri"].clone();
    client.result("resources/subscribe", &json!({"uri": plain}));
    client.call("good__log", &json!({"level": "debug", "text": "too little"}));
    client.call("good__log", &json!({"level": "error", "text": "enough"}));
    client.call("good__touch", &json!({"uri": "rude://plain"}));
    let said = wait::until("the message", PATIENCE, || {
        let all = client.notifications("notifications/message");
        all.into_iter().find(|params| params.to_string().contains("enough"))
    });
    assert_eq!(said["level"], "error", "{said}");
    assert_eq!(client.until_notified("notifications/resources/updated", 1)[0]["uri"], plain);
    assert!(!String::from_utf8(client.heard()).unwrap().contains("too little"));
    other.result("ping", &json!({}));
    let heard = String::from_utf8(other.heard()).unwrap();
    assert!(!heard.contains("enough") && !heard.contains("resources/updated"), "{heard}");
}
