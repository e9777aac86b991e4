//! Long lists in pages, with a cursor that says where the next one begins.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rmcp::model::ErrorData;
use serde_json::{Map, Value, json};

/// How many elements a page has: few enough for one message, and so many that most lists are one page.
pub(crate) const PAGE: usize = 200;

/// One page of a list as the answer to a request. `field` names the list, and a cursor is good for this list only.
///
/// # Errors
/// The cursor is none of this list.
pub(crate) fn page(field: &'static str, all: &[Value], params: &Map<String, Value>) -> Result<Value, ErrorData> {
    let from = match params.get("cursor") {
        None | Some(Value::Null) => 0,
        Some(cursor) => cursor.as_str().and_then(|cursor| read(field, cursor)).ok_or_else(bad)?,
    };
    // A list that has become shorter has nothing more.
    let rest = all.get(from..).unwrap_or_default();
    let shown = &rest[..rest.len().min(PAGE)];
    let mut answer = json!({field: shown});
    if shown.len() < rest.len() {
        answer["nextCursor"] = Value::String(URL_SAFE_NO_PAD.encode(format!("{field} {}", from + shown.len())));
    }
    Ok(answer)
}

fn read(field: &str, cursor: &str) -> Option<usize> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    text.strip_prefix(field)?
        .strip_prefix(' ')?
        .parse()
        .ok()
        .filter(|from: &usize| from.is_multiple_of(PAGE) && *from > 0)
}

fn bad() -> ErrorData {
    ErrorData::invalid_params("this cursor is none of this list: leave it out to begin anew", None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_together_are_the_list() {
        let all: Vec<Value> = (0..501).map(|number| json!(number)).collect();
        let (mut read, mut params, mut pages) = (Vec::new(), Map::new(), 0);
        loop {
            let answer = page("tools", &all, &params).unwrap();
            read.extend(answer["tools"].as_array().unwrap().clone());
            pages += 1;
            match answer.get("nextCursor") {
                Some(cursor) => params.insert("cursor".to_owned(), cursor.clone()),
                None => break,
            };
        }
        assert_eq!((read, pages), (all, 3));
    }

    #[test]
    fn a_cursor_of_another_list_or_of_nobody_is_refused() {
        let all: Vec<Value> = (0..300).map(|number| json!(number)).collect();
        let cursor = page("tools", &all, &Map::new()).unwrap()["nextCursor"].clone();
        for bad in [cursor, json!("x"), json!(5), json!("")] {
            let params = Map::from_iter([("cursor".to_owned(), bad)]);
            assert_eq!(page("prompts", &all, &params).unwrap_err().code.0, -32602);
        }
    }
}
