//! JSON as people keep it in editors: comments, and commas behind the last element. What is taken out becomes space, so
//! that lines stay where they are.

/// The text without comments and trailing commas.
pub(super) fn without(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Where the last comma stands, while only space and comments follow it.
    let mut comma = None;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '"' => string(rest),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest[2..].find("*/").map_or(rest.len(), |at| at + 4),
            _ => c.len_utf8(),
        };
        let (piece, after) = rest.split_at(length);
        rest = after;
        match c {
            '/' if length > 1 => {
                out.extend(piece.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
                continue;
            }
            ',' => comma = Some(out.len()),
            '}' | ']' => {
                if let Some(at) = comma.take() {
                    out.replace_range(at..=at, " ");
                }
            }
            c if c.is_whitespace() => {}
            _ => comma = None,
        }
        out.push_str(piece);
    }
    out
}

/// The length of the string a text begins with, its quotes included.
fn string(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn comments_and_last_commas_are_taken_out_and_lines_stay() {
        let text = "{ // one, }\n \"a\": [1, /* ] \n */ 2, // x\n ],\n \"b\": \"// no, ]\\\"\",\n}";
        let plain = without(text);
        assert_eq!(plain.lines().count(), text.lines().count());
        assert_eq!(serde_json::from_str::<Value>(&plain).unwrap(), serde_json::json!({"a": [1, 2], "b": "// no, ]\""}));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i32>().prop_map(Value::from),
            "[\\PC\"\\\\/*,\\]}\n]{0,8}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[/*,\"}]{0,4}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect()))
            ]
        })
    }

    proptest! {
        #[test]
        fn plain_json_stays_as_it_is(value in any_json()) {
            for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
                prop_assert_eq!(without(&text), text);
            }
        }

        #[test]
        fn any_text_is_read_to_its_end(text in "[\"\\\\/*,\\]}{ a\nä]{0,24}") {
            let plain = without(&text);
            prop_assert_eq!(plain.matches('\n').count(), text.matches('\n').count());
        }
    }
}
