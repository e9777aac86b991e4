//! Results in the size of an answer.

use hermes_model::context::{Context, Surface};
use hermes_output::cut::NOTICE_MAX;
use hermes_output::exact::ExactValues;
use hermes_output::json::reveal_json;
use proptest::prelude::*;

use super::*;
use crate::wrap::relay::tests::masking;

fn visible(value: Value) -> VisibleJson {
    reveal_json(&masking(), &Context::new(Surface::McpResult), value, &ExactValues::default()).unwrap().value
}

/// The result as it is passed on, and what was kept; none: it fits.
fn fitted(result: Value, budget: usize) -> Option<(Value, Vec<String>)> {
    let mut kept = Vec::new();
    let mut keep = |text: String| {
        kept.push(text);
        format!("at {}", kept.len())
    };
    let (value, changes) = bounded(&visible(result), budget, &mut keep)?;
    let mut value = value.into_value();
    changes.apply(&mut value);
    Some((value, kept))
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[test]
fn what_fits_is_not_touched_and_a_binary_does_not_count() {
    let image = json!({"type": "image", "mimeType": "image/png", "data": "A".repeat(10_000)});
    let blob = json!({"type": "resource", "resource": {"uri": "x:y", "blob": "A".repeat(10_000)}});
    assert!(fitted(json!({"content": [text(&"x".repeat(50)), image, blob, text(&"y".repeat(50))]}), 100).is_none());
    for odd in [json!({}), json!([]), json!({"content": "x"}), json!({"content": [1, {"type": "text", "text": 5}]})] {
        assert!(fitted(odd, 0).is_none());
    }
}

#[test]
fn long_texts_share_the_budget_and_are_kept_whole() {
    let (long, image) = ("a line of it\n".repeat(1000), json!({"type": "image", "data": "AAAA"}));
    let resource = json!({"type": "resource", "resource": {"uri": "x:y", "text": long}});
    let (result, kept) = fitted(json!({"content": [text("short"), image, text(&long), resource]}), 2005).unwrap();
    let blocks = result["content"].as_array().unwrap();
    assert_eq!((&blocks[0], &blocks[1], blocks.len()), (&text("short"), &image, 4));
    for (block, place) in [("/content/2/text", "at 1"), ("/content/3/resource/text", "at 2")] {
        let shown = result.pointer(block).unwrap().as_str().unwrap();
        assert!(shown.len() < 1000 + NOTICE_MAX && shown.contains(&format!("the rest: {place}]")), "{shown}");
    }
    assert_eq!(kept, [long.clone(), long]);
}

#[test]
fn of_many_texts_the_first_are_shown_and_all_are_kept_as_one() {
    let blocks: Vec<Value> = (0..1000).map(|number| text(&format!("text {number}"))).collect();
    let (result, kept) = fitted(json!({"content": blocks, "isError": true}), 1000).unwrap();
    let shown = result["content"].as_array().unwrap();
    assert_eq!((&shown[0], &result["isError"]), (&text("text 0"), &json!(true)));
    assert!(shown.len() > 20 && result.to_string().len() < 3000, "{result}");
    let said = format!("[{} more texts of the result are left out; the rest: at 1]", 1001 - shown.len());
    assert_eq!(shown.last(), Some(&text(&said)));
    assert_eq!(kept.len(), 1);
    assert!(kept[0].starts_with("text 0\ntext 1\n") && kept[0].ends_with("text 999"));
}

#[test]
fn a_structure_keeps_its_shape_and_is_kept_once_with_the_text_that_repeats_it() {
    let structure = json!({"name": "x", "rows": (0..1000).map(|number| json!({"n": number})).collect::<Vec<_>>()});
    let repeated = structure.to_string();
    let (result, kept) =
        fitted(json!({"content": [text(&repeated)], "structuredContent": structure.clone()}), 1000).unwrap();
    assert_eq!((&result["structuredContent"]["name"], kept), (&json!("x"), vec![repeated]));
    let rows = result["structuredContent"]["rows"].as_array().unwrap();
    assert!(rows.len() > 50 && rows.len() < 200 && rows[50] == json!({"n": 50}), "{}", rows.len());
    let said = result["content"][1]["text"].as_str().unwrap();
    assert!(said.contains(&format!("{} elements of lists left out; the rest: at 1]", 1000 - rows.len())), "{said}");

    let (result, kept) = fitted(json!({"structuredContent": structure}), 1000).unwrap();
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1));
    assert_eq!(kept, [format!("{structure:#}")]);
}

#[test]
fn a_structure_that_is_mostly_a_binary_loses_what_else_it_can() {
    let structure = json!({
        "image": {"type": "image", "mimeType": "image/png", "data": "A".repeat(40_000)}, "text": "word ".repeat(20_000),
    });
    let (result, _) = fitted(json!({"content": [], "structuredContent": structure}), 1000).unwrap();
    let shown = &result["structuredContent"];
    assert_eq!(shown["image"]["data"].as_str().map(str::len), Some(40_000));
    assert!(shown.to_string().len() < 70_000 && shown["text"].as_str().unwrap().ends_with(" not shown]"));
    let fixed: Value = (0..300).map(|number| (format!("key {number}"), json!(number))).collect();
    assert!(fitted(json!({"content": [], "structuredContent": fixed}), 100).is_none());
}

proptest! {
    #[test]
    fn whatever_is_cut_is_within_the_budget_and_kept(
        texts in proptest::collection::vec("[a-z\\n]{0,30}", 0..40), budget in 0usize..400, repeat in 1usize..20,
    ) {
        let texts: Vec<String> = texts.iter().map(|text| text.repeat(repeat)).collect();
        let blocks: Vec<Value> = texts.iter().map(|each| text(each)).collect();
        let total: usize = texts.iter().map(String::len).sum();
        match fitted(json!({"content": blocks}), budget) {
            None => prop_assert!(total <= budget),
            Some((result, kept)) => {
                let shown = result["content"].as_array().unwrap();
                let bytes: usize = shown.iter().map(|block| block["text"].as_str().unwrap().len()).sum();
                // Each notice tells of something that is kept, and many texts are kept as one.
                prop_assert!(bytes <= budget + (kept.len() + 1) * NOTICE_MAX, "{} of {}", bytes, budget);
                prop_assert!(!kept.is_empty());
                for whole in &kept {
                    prop_assert!(texts.contains(whole) || texts.iter().all(|text| whole.contains(text.as_str())));
                }
            }
        }
    }
}
