//! Results that are too large for an answer.

use std::sync::Arc;

use serde_json::{Value, json};

use super::agent::{Agent, house};
use super::fake::Fake;

/// The id of a kept result that a notice names.
fn id_in(text: &str) -> String {
    let at = text.find("res_").unwrap();
    text[at..at + "res_".len() + 12].to_owned()
}

async fn paged(agent: &mut Agent, id: &str) -> String {
    let (mut whole, mut offset) = (String::new(), 0);
    loop {
        let arguments = json!({"action": "log", "id": id, "offset": offset, "limit": 100_000});
        let page = agent.call("process", arguments).await["structuredContent"].clone();
        let output = page["output"].as_str().unwrap();
        assert!(output.len() <= 50_000);
        whole.push_str(output);
        offset += page["lines"].as_u64().unwrap();
        if offset >= page["total_lines"].as_u64().unwrap() {
            return whole;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_result_is_cut_and_read_to_its_end_page_by_page() {
    let lines: String = (0..250_000).map(|number| format!("line {number} of many\n")).collect();
    let one_line = "x y".repeat(100_000);
    for whole in [lines, one_line] {
        let house = house(vec![Arc::new(Fake::answering(json!({"content": [{"type": "text", "text": whole}]})))]);
        let mut agent = Agent::begin(&house).await;
        let result = agent.call("s__t", json!({})).await;
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.len() < 51_000, "{}", text.len());
        assert!(text.starts_with(&whole[..100]) && text.ends_with(&whole[whole.len() - 100..]));
        let id = id_in(text);
        assert!(paged(&mut agent, &id).await == whole, "every byte is there");
        let read = agent.ask("resources/read", json!({"uri": format!("hermes://results/{id}")})).await;
        assert!(read["contents"][0]["text"].as_str().unwrap() == whole);
        let mut other = Agent::with(&house, "other", json!({})).await;
        let refused = other.call("process", json!({"action": "log", "id": id})).await;
        assert_eq!(refused["structuredContent"]["error"]["code"], "not-found");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn short_texts_beside_a_long_one_stay_whole_and_very_many_become_one() {
    let long = "word ".repeat(20_000);
    let content = json!([{"type": "text", "text": "short"}, {"type": "text", "text": long}]);
    let house_one = house(vec![Arc::new(Fake::answering(json!({"content": content})))]);
    let result = Agent::begin(&house_one).await.call("s__t", json!({})).await;
    assert_eq!(result["content"][0]["text"], "short");
    assert!(result["content"][1]["text"].as_str().unwrap().contains("not shown"));
    let many: Vec<Value> =
        (0..5000).map(|number| json!({"type": "text", "text": format!("{number} {}", "x".repeat(50))})).collect();
    let house_two = house(vec![Arc::new(Fake::answering(json!({"content": many})))]);
    let result = Agent::begin(&house_two).await.call("s__t", json!({})).await;
    assert_eq!(result["content"].as_array().unwrap().len(), 1);
    assert!(result.to_string().len() < 60_000);
}

/// A server that promised a structure, and answers so.
fn with_schema(answer: Value) -> Fake {
    let tool = json!({"name": "t", "outputSchema": {"type": "object"}});
    Fake::new("s", json!([tool]), move |_| Ok(answer.clone()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_structure_that_cannot_be_made_shorter_is_left_out_and_named() {
    let fields: serde_json::Map<_, _> = (0..10_000).map(|number| (format!("field {number}"), json!(number))).collect();
    let house = house(vec![Arc::new(with_schema(json!({"content": [], "structuredContent": fields})))]);
    let mut agent = Agent::begin(&house).await;
    let result = agent.call("s__t", json!({})).await;
    assert_eq!(
        (result.get("structuredContent"), &result["isError"]),
        (None, &json!(true)),
        "clients take no part of it"
    );
    let id = id_in(result["content"][0]["text"].as_str().unwrap());
    let whole: Value = serde_json::from_str(&paged(&mut agent, &id).await).unwrap();
    assert_eq!(whole, json!(fields));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_structure_that_is_too_long_keeps_its_shape_and_can_be_read_whole() {
    let rows: Vec<Value> = (0..10_000).map(|number| json!({"number": number})).collect();
    let answer = json!({"content": [], "structuredContent": {"of": "all", "rows": rows}});
    let house = house(vec![Arc::new(with_schema(answer.clone()))]);
    let mut agent = Agent::begin(&house).await;
    let result = agent.call("s__t", json!({})).await;
    assert!(result.to_string().len() < 60_000);
    let structure = &result["structuredContent"];
    assert_eq!(
        (&structure["of"], &structure["rows"][7], result.get("isError")),
        (&json!("all"), &json!({"number": 7}), None)
    );
    let left_out = 10_000 - structure["rows"].as_array().unwrap().len();
    let note = result["content"][0]["text"].as_str().unwrap();
    assert!(left_out > 0 && note.contains(&format!("{left_out} elements of its lists are left out")), "{note}");
    let id = id_in(note);
    let whole: Value = serde_json::from_str(&paged(&mut agent, &id).await).unwrap();
    assert_eq!(whole, answer["structuredContent"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_binary_becomes_a_link_and_a_larger_one_a_note() {
    for (bytes, kept) in [(9 << 20, true), (20 << 20, false)] {
        let data = "A".repeat(bytes / 3 * 4);
        let image = json!({"type": "image", "data": data, "mimeType": "image/png"});
        let house = house(vec![Arc::new(Fake::answering(json!({"content": [image]})))]);
        let mut agent = Agent::begin(&house).await;
        let block = agent.call("s__t", json!({})).await["content"][0].clone();
        if kept {
            assert_eq!((&block["type"], &block["mimeType"]), (&json!("resource_link"), &json!("image/png")));
            let read = agent.ask("resources/read", json!({"uri": block["uri"]})).await;
            assert!(read["contents"][0]["blob"] == json!(data));
        } else {
            assert!(block["text"].as_str().unwrap().contains("left out"), "{}", block["type"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_model_reads_does_not_make_an_answer_long() {
    let odd = "o".repeat(1 << 20);
    let links: Vec<Value> =
        (0..5000).map(|number| json!({"type": "resource_link", "uri": format!("x:{number}"), "name": "n"})).collect();
    let answers = [
        json!({"content": [], "_meta": {"x": odd}, "y": odd}),
        json!({"content": [{"type": "text", "text": "read"}, {"type": "odd", "x": odd}, {"type": "text", "text": "more"}]}),
        json!({"content": links}),
    ];
    for answer in answers {
        let house = house(vec![Arc::new(Fake::answering(answer))]);
        let result = Agent::begin(&house).await.call("s__t", json!({})).await.to_string();
        assert!(result.len() < 150_000 && result.contains("left out"), "{}", result.len());
    }
}
