//! Every place of a result that may hold a secret, and what must stay as it is.

use std::sync::Arc;

use serde_json::{Value, json};

use super::agent::{Agent, house};
use super::fake::Fake;

/// What an agent gets when a server answers so.
async fn shown(result: Value) -> Value {
    let fake = Fake::answering(result).knowing("TOKEN", "hunter2hunter2");
    let house = house(vec![Arc::new(fake)]);
    Agent::begin(&house).await.call("s__t", json!({})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_masked_in_every_place_a_result_has() {
    let places: [(&str, Value, &str); 9] = [
        ("a text", json!({"content": [{"type": "text", "text": "a secret"}]}), "/content/0/text"),
        (
            "a structure",
            json!({"content": [], "structuredContent": {"a": [{"b": "secret"}]}}),
            "/structuredContent/a/0/b",
        ),
        ("JSON in a text", json!({"content": [{"type": "text", "text": "{\"a\":\"secret\"}"}]}), "/content/0/text"),
        (
            "a resource",
            json!({"content": [{"type": "resource", "resource": {"uri": "x:1", "text": "secret"}}]}),
            "/content/0/resource/text",
        ),
        ("a link", json!({"content": [{"type": "resource_link", "uri": "x:1", "name": "secret"}]}), "/content/0/name"),
        ("_meta", json!({"content": [], "_meta": {"a": "secret"}}), "/_meta/a"),
        ("an error", json!({"content": [{"type": "text", "text": "no secret"}], "isError": true}), "/content/0/text"),
        ("a field nobody knows", json!({"content": [], "x": "secret"}), "/x"),
        ("a known value", json!({"content": [{"type": "text", "text": "it is hunter2hunter2"}]}), "/content/0/text"),
    ];
    for (place, result, pointer) in places {
        let shown = shown(result).await;
        assert!(!shown.to_string().contains("secret") && !shown.to_string().contains("hunter2"), "{place}: {shown}");
        assert!(shown.pointer(pointer).unwrap().as_str().unwrap().contains("[REDACTED:"), "{place}: {shown}");
        let counts = shown["_meta"]["hermes/policy"]["redactions"].as_object().unwrap();
        assert_eq!(counts.values().filter_map(Value::as_u64).sum::<u64>(), 1, "{place}: {shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_is_untouched_and_so_is_what_holds_no_secret() {
    // The first bytes of a picture, as they are of many.
    let data = "/9j/4AAQSkZJRgAB".repeat(1000);
    let content = json!([
        {"type": "image", "data": data, "mimeType": "image/png"},
        {"type": "text", "text": "1\r\n2", "annotations": {"priority": 0.5}},
        {"type": "resource", "resource": {"uri": "x:1", "blob": data}},
    ]);
    let shown = shown(json!({"content": content, "structuredContent": {"n": 1e10, "z": null, "a": []}})).await;
    assert!(shown["content"] == content, "something of it is another");
    assert_eq!(shown["structuredContent"], json!({"n": 1e10, "z": null, "a": []}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_to_a_resource_can_be_read_here() {
    let fake = Fake::new("s", json!([{"name": "t"}]), |ask| {
        Ok(match ask.method {
            "tools/call" => json!({"content": [{"type": "resource_link", "uri": "x:1", "name": "one"}]}),
            _ => json!({"contents": [{"uri": ask.params["uri"], "text": "found"}]}),
        })
    });
    let house = house(vec![Arc::new(fake)]);
    let mut agent = Agent::begin(&house).await;
    let uri = agent.call("s__t", json!({})).await["content"][0]["uri"].clone();
    let read = agent.ask("resources/read", json!({"uri": uri})).await;
    assert_eq!(read["contents"][0], json!({"uri": uri, "text": "found"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_result_is_said_to_be_none() {
    let shown = shown(json!("secret")).await;
    assert_eq!(shown["isError"], true);
    assert!(!shown.to_string().contains("secret"));
}
