//! Texts that one peer makes and the other sends back: cursors, addresses of resources, tokens, ids.
//!
//! Where the policy changed one on its way to the agent, the agent gets a reference in its place, and what it sends back
//! is put right again. A reference must never tell anything of what it stands for.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

/// The fields with such texts, wherever they stand: in what a server says, and where an agent sends them back.
const FIELDS: [&str; 8] =
    ["cursor", "nextCursor", "uri", "uriTemplate", "requestState", "taskId", "elicitationId", "progressToken"];
/// The same of a message itself: the id of a request, and the request that is given up.
const OWN: [&str; 2] = ["/id", "/params/requestId"];
/// Where an agent names a tool or a prompt.
const NAMES: [&str; 2] = ["/params/name", "/params/ref/name"];
/// What a tool is called with and what it answers with is data: such names mean something else in there.
const DATA: [&str; 4] = ["arguments", "structuredContent", "inputSchema", "outputSchema"];
/// How deep fields are looked for: a listed resource is 3 deep, one within a result within a batch 6.
const DEPTH: usize = 12;
/// How many texts are remembered of each side: many pages of resources, and less than a few MiB.
const KEPT_MAX: usize = 4096;
/// The longest text that is remembered, in bytes. A longer one stays masked: no cursor or address is that long.
const TEXT_MAX: usize = 16 * 1024;
/// How many bytes are remembered of each side, all together.
const BYTES_MAX: usize = 8 << 20;
/// How every reference begins. `:` follows where it must be an address (RFC 3986), `-` elsewhere.
const PREFIX: &str = "hermes-ref";
/// The digits of a reference: 12 of its session and 8 of its own.
const DIGITS: usize = 20;

/// A place in a message, and the text that stood there.
pub(super) struct Echo {
    /// As in RFC 6901.
    pointer: String,
    text: String,
}

/// The places of a message, or of a result, that hold texts which come back.
pub(super) fn places(message: &Value) -> Vec<Echo> {
    let mut found = Vec::new();
    walk(message, &mut String::new(), 0, &mut |pointer, field, text| {
        let is_name = field == "name" && (names(pointer, "tools") || names(pointer, "prompts"));
        if (FIELDS.contains(&field) || is_name || OWN.contains(&pointer)) && text.len() <= TEXT_MAX {
            found.push(Echo { pointer: pointer.to_owned(), text: text.to_owned() });
        }
    });
    found
}

/// Whether this is the name of an element of that list.
fn names(pointer: &str, list: &str) -> bool {
    pointer.rsplit('/').nth(2) == Some(list)
}

fn walk(value: &Value, pointer: &mut String, depth: usize, visit: &mut impl FnMut(&str, &str, &str)) {
    let length = pointer.len();
    match value {
        Value::Object(fields) if depth < DEPTH => {
            for (field, value) in fields.iter().filter(|(field, _)| !DATA.contains(&field.as_str())) {
                pointer.push('/');
                pointer.push_str(&field.replace('~', "~0").replace('/', "~1"));
                match value {
                    Value::String(text) => visit(pointer, field, text),
                    value => walk(value, pointer, depth + 1, visit),
                }
                pointer.truncate(length);
            }
        }
        Value::Array(elements) if depth < DEPTH => {
            for (at, element) in elements.iter().enumerate() {
                pointer.push('/');
                pointer.push_str(&at.to_string());
                walk(element, pointer, depth + 1, visit);
                pointer.truncate(length);
            }
        }
        _ => {}
    }
}

/// What was replaced, and what the agent said itself. Raw: no `Debug`.
pub(super) struct Echoes {
    /// Of this session, so that a reference of another one means nothing here.
    session: String,
    next: u32,
    texts: HashMap<String, String>,
    references: HashMap<String, String>,
    /// The references, the oldest first.
    order: VecDeque<String>,
    bytes: usize,
    said: Said,
}

/// What the agent said: it may hear it again. The oldest first.
#[derive(Default)]
struct Said {
    counts: HashMap<String, usize>,
    order: VecDeque<String>,
    bytes: usize,
}

impl Said {
    fn remember(&mut self, text: &str) {
        if text.len() > TEXT_MAX {
            return;
        }
        *self.counts.entry(text.to_owned()).or_default() += 1;
        self.order.push_back(text.to_owned());
        self.bytes += text.len();
        while self.order.len() > KEPT_MAX || self.bytes > BYTES_MAX {
            let Some(oldest) = self.order.pop_front() else { return };
            self.bytes -= oldest.len();
            if let Some(count) = self.counts.get_mut(&oldest) {
                *count -= 1;
                if *count == 0 {
                    self.counts.remove(&oldest);
                }
            }
        }
    }
}

impl Echoes {
    /// `session`: 12 hexadecimal digits that no other session has.
    pub(super) fn new(session: &str) -> Self {
        Self {
            session: session.to_owned(),
            next: 0,
            texts: HashMap::new(),
            references: HashMap::new(),
            order: VecDeque::new(),
            bytes: 0,
            said: Said::default(),
        }
    }

    /// Puts what comes back into a message that the policy has changed: a text the agent said itself as it was, a
    /// reference for any other that is not as it was.
    pub(super) fn settle(&mut self, places: Vec<Echo>, revealed: &mut Value) {
        for Echo { pointer, text } in places {
            let Some(Value::String(shown)) = revealed.pointer_mut(&pointer) else { continue };
            if *shown == text {
                continue;
            }
            *shown = if self.said.counts.contains_key(&text) {
                text
            } else {
                let field = pointer.rsplit('/').next().unwrap_or_default();
                match field {
                    "uri" => self.reference(text, ':'),
                    "uriTemplate" => self.template(&text),
                    _ => self.reference(text, '-'),
                }
            };
        }
    }

    /// Puts right what an agent sends back, and remembers what it says. True: the message is another now.
    pub(super) fn restore(&mut self, message: &mut Value) -> bool {
        let mut found = Vec::new();
        walk(message, &mut String::new(), 0, &mut |pointer, field, text| {
            if FIELDS.contains(&field) || OWN.contains(&pointer) || NAMES.contains(&pointer) {
                found.push((pointer.to_owned(), text.to_owned()));
            }
        });
        let mut changed = false;
        for (pointer, text) in found {
            if let Some(restored) = self.resolved(&text)
                && let Some(place) = message.pointer_mut(&pointer)
            {
                *place = Value::String(restored);
                changed = true;
            } else {
                self.said.remember(&text);
            }
        }
        changed
    }

    /// The reference of a text: always the same one, for as long as it is remembered.
    fn reference(&mut self, text: String, separator: char) -> String {
        let digits = self.references.get(&text).cloned().unwrap_or_else(|| self.remember(text));
        format!("{PREFIX}{separator}{digits}")
    }

    fn remember(&mut self, text: String) -> String {
        let digits = format!("{}{:08x}", self.session, self.next);
        self.next = self.next.wrapping_add(1);
        self.bytes += text.len();
        self.texts.insert(digits.clone(), text.clone());
        self.references.insert(text, digits.clone());
        self.order.push_back(digits.clone());
        while self.order.len() > KEPT_MAX || self.bytes > BYTES_MAX {
            let Some(text) = self.order.pop_front().and_then(|oldest| self.texts.remove(&oldest)) else { break };
            self.bytes -= text.len();
            self.references.remove(&text);
        }
        digits
    }

    /// A template in which each literal part is a reference: what the agent makes of it holds them still.
    fn template(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let literal = rest.find('{').unwrap_or(rest.len());
            if literal > 0 {
                out.push_str(&self.reference(rest[..literal].to_owned(), ':'));
            }
            rest = &rest[literal..];
            let expression = rest.find('}').map_or(rest.len(), |end| end + 1);
            out.push_str(&rest[..expression]);
            rest = &rest[expression..];
        }
        out
    }

    /// The text with what its references stand for; none where it holds none.
    fn resolved(&self, text: &str) -> Option<String> {
        let (mut out, mut rest, mut found) = (String::new(), text, false);
        while let Some(at) = rest.find(PREFIX) {
            let after = &rest[at + PREFIX.len()..];
            let meant = after
                .strip_prefix([':', '-'])
                .and_then(|after| after.get(..DIGITS))
                .and_then(|digits| self.texts.get(digits));
            match meant {
                Some(text) => {
                    out.push_str(&rest[..at]);
                    out.push_str(text);
                    rest = &after[1 + DIGITS..];
                    found = true;
                }
                None => {
                    out.push_str(&rest[..at + PREFIX.len()]);
                    rest = after;
                }
            }
        }
        out.push_str(rest);
        found.then_some(out)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn echoes() -> Echoes {
        Echoes::new("0123456789ab")
    }

    /// What the agent sees of a message of which the policy masked every `secret`.
    fn seen(echoes: &mut Echoes, message: &Value) -> Value {
        let mut revealed: Value = serde_json::from_str(&message.to_string().replace("secret", "[X]")).unwrap();
        echoes.settle(places(message), &mut revealed);
        revealed
    }

    #[test]
    fn a_cursor_goes_there_and_back() {
        let mut echoes = echoes();
        let page = json!({"result": {"tools": [{"name": "a", "description": "secret"}], "nextCursor": "secret/2"}});
        let seen = seen(&mut echoes, &page);
        let cursor = seen["result"]["nextCursor"].as_str().unwrap();
        assert!(cursor.starts_with("hermes-ref-0123456789ab") && !cursor.contains("secret"));
        assert_eq!(seen["result"]["tools"][0], json!({"name": "a", "description": "[X]"}));
        let mut next = json!({"params": {"cursor": cursor, "other": cursor}});
        assert!(echoes.restore(&mut next));
        assert_eq!(next["params"], json!({"cursor": "secret/2", "other": cursor}));
    }

    #[test]
    fn the_same_text_has_the_same_reference() {
        let mut echoes = echoes();
        let list = json!({"resources": [{"uri": "db://secret@h/a"}, {"uri": "db://secret@h/b"}, {"uri": "file:///c"}]});
        let (one, other) = (seen(&mut echoes, &list), seen(&mut echoes, &list));
        assert_eq!(one, other);
        assert!(one["resources"][0]["uri"].as_str().unwrap().starts_with("hermes-ref:"));
        assert_ne!(one["resources"][0], one["resources"][1]);
        assert_eq!(one["resources"][2]["uri"], "file:///c");
    }

    #[test]
    fn an_address_made_of_a_template_is_put_right() {
        let mut echoes = echoes();
        let seen = seen(&mut echoes, &json!({"uriTemplate": "db://secret@h/{table}/rows/{row}?key=secret"}));
        let address = seen["uriTemplate"].as_str().unwrap().replace("{table}", "users").replace("{row}", "7");
        assert!(!address.contains("secret"));
        let mut read = json!({"params": {"uri": address}});
        assert!(echoes.restore(&mut read));
        assert_eq!(read["params"]["uri"], "db://secret@h/users/rows/7?key=secret");
    }

    #[test]
    fn an_agent_hears_its_own_words_as_it_said_them() {
        let mut echoes = echoes();
        let mut asked =
            json!({"id": "secret-1", "params": {"uri": "x:secret", "_meta": {"progressToken": "secret-2"}}});
        assert!(!echoes.restore(&mut asked));
        let progress = json!({"params": {"progressToken": "secret-2", "message": "secret-2"}});
        assert_eq!(seen(&mut echoes, &progress), json!({"params": {"progressToken": "secret-2", "message": "[X]-2"}}));
        assert_eq!(seen(&mut echoes, &json!({"contents": [{"uri": "x:secret"}]}))["contents"][0]["uri"], "x:secret");
    }

    #[test]
    fn a_name_is_a_reference_only_where_it_is_called_by() {
        let mut echoes = echoes();
        let list = json!({"tools": [{"name": "secret", "title": "secret"}], "serverInfo": {"name": "secret"}});
        let seen = seen(&mut echoes, &list);
        assert_eq!((&seen["tools"][0]["title"], &seen["serverInfo"]["name"]), (&json!("[X]"), &json!("[X]")));
        let mut call = json!({"id": 1, "params": {"name": seen["tools"][0]["name"], "arguments": {}}});
        assert!(echoes.restore(&mut call));
        assert_eq!(call["params"]["name"], "secret");
    }

    #[test]
    fn data_is_no_place_for_references() {
        let mut echoes = echoes();
        let result = json!({"structuredContent": {"uri": "secret"}, "content": [{"text": "secret"}]});
        assert_eq!(
            seen(&mut echoes, &result),
            json!({"structuredContent": {"uri": "[X]"}, "content": [{"text": "[X]"}]})
        );
        let reference = echoes.reference("secret".to_owned(), '-');
        let mut call = json!({"params": {"name": "t", "arguments": {"name": reference}}});
        assert!(!echoes.restore(&mut call));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_the_oldest_goes() {
        let mut echoes = echoes();
        let first = echoes.reference("text 0".to_owned(), '-');
        for number in 1..=KEPT_MAX {
            echoes.reference(format!("text {number}"), '-');
            echoes.said.remember(&format!("said {number}"));
        }
        echoes.said.remember("said last");
        assert_eq!((echoes.texts.len(), echoes.references.len(), echoes.order.len()), (KEPT_MAX, KEPT_MAX, KEPT_MAX));
        assert_eq!((echoes.said.order.len(), echoes.said.counts.len()), (KEPT_MAX, KEPT_MAX));
        assert_eq!(echoes.resolved(&first), None);
        assert!(!echoes.said.counts.contains_key("said 1"));
        for _ in 0..3 * BYTES_MAX / TEXT_MAX {
            let text = format!("{}{}", echoes.next, "x".repeat(TEXT_MAX - 20));
            echoes.reference(text, '-');
        }
        assert!(echoes.bytes <= BYTES_MAX);
    }

    proptest! {
        #[test]
        fn whatever_stands_around_a_reference_stays(before in ".{0,20}", text in ".{1,20}", after in ".{0,20}") {
            let mut echoes = echoes();
            let reference = echoes.reference(text.clone(), ':');
            let sent = format!("{before}{reference}{after}");
            prop_assert_eq!(echoes.resolved(&sent), Some(format!("{before}{text}{after}")));
            prop_assert_eq!(echoes.resolved(&before), None);
        }

        #[test]
        fn every_template_comes_back_filled_in(text in "[a-z{}/]{0,30}") {
            let mut echoes = echoes();
            let template = echoes.template(&text);
            prop_assert_eq!(echoes.resolved(&template).unwrap_or(template), text);
        }
    }
}
