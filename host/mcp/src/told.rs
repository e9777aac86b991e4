//! [`Told`]: what a host of this user said. Its texts have been through the policy there, so they may be printed.
//!
//! It is made in one place, from the reply on a connection whose other end belongs to the same user. It must never be
//! made from any other JSON.

use std::fmt;

use serde_json::Value;

/// A document a host answered with.
#[derive(Clone, PartialEq)]
pub struct Told(Value);

impl Told {
    /// Only [`crate::client`] calls this, with a reply.
    pub(crate) fn of(reply: Value) -> Self {
        Self(reply)
    }

    /// The document as one line of JSON.
    pub fn as_json_text(&self) -> String {
        self.0.to_string()
    }

    /// The document as JSON of several lines.
    pub fn as_pretty_json_text(&self) -> String {
        format!("{:#}", self.0)
    }

    fn at(&self, place: &str) -> Option<&Value> {
        if place.starts_with('/') { self.0.pointer(place) } else { self.0.get(place) }
    }

    /// The text of a field; none where it is missing, `null` or something else. A place that begins with `/` is a JSON
    /// pointer (RFC 6901), as in `/status/kind`, here and below.
    pub fn text(&self, place: &str) -> Option<&str> {
        self.at(place)?.as_str()
    }

    /// The number of a field.
    pub fn number(&self, place: &str) -> Option<u64> {
        self.at(place)?.as_u64()
    }

    /// The number of a field that may be negative.
    pub fn signed(&self, place: &str) -> Option<i64> {
        self.at(place)?.as_i64()
    }

    /// The yes or no of a field.
    pub fn flag(&self, place: &str) -> Option<bool> {
        self.at(place)?.as_bool()
    }

    /// A part of the document; none where it is missing or `null`.
    pub fn part(&self, place: &str) -> Option<Self> {
        self.at(place).filter(|value| !value.is_null()).cloned().map(Self)
    }

    /// The elements of a list; none of them where it is missing.
    pub fn items(&self, place: &str) -> Vec<Self> {
        let list = self.at(place).and_then(Value::as_array);
        list.map(|items| items.iter().cloned().map(Self).collect()).unwrap_or_default()
    }

    /// The texts of a list.
    pub fn texts(&self, place: &str) -> Vec<&str> {
        let list = self.at(place).and_then(Value::as_array);
        list.map(|items| items.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
    }

    /// The whole numbers of a list.
    pub fn numbers(&self, place: &str) -> Vec<i64> {
        let list = self.at(place).and_then(Value::as_array);
        list.map(|items| items.iter().filter_map(Value::as_i64).collect()).unwrap_or_default()
    }

    /// A part as an argument for the next call: a claim, a cursor.
    pub fn argument(&self, place: &str) -> Option<Value> {
        self.at(place).cloned()
    }
}

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_read_by_name_and_by_pointer() {
        let told = Told::of(json!({"id": "proc_1", "status": {"kind": "exited", "code": -1}, "notes": ["a", "b"],
            "survivors": [7, 8], "pid": 3, "pty": true, "exit_code": null, "rows": [{"id": "x"}]}));
        assert_eq!((told.text("id"), told.text("/status/kind")), (Some("proc_1"), Some("exited")));
        assert_eq!(
            (told.number("pid"), told.signed("/status/code"), told.flag("pty")),
            (Some(3), Some(-1), Some(true))
        );
        assert_eq!((told.texts("notes"), told.numbers("survivors")), (vec!["a", "b"], vec![7, 8]));
        assert_eq!(told.items("rows")[0].text("id"), Some("x"));
        assert!(told.part("exit_code").is_none() && told.text("missing").is_none() && told.items("missing").is_empty());
        assert_eq!(told.part("status").unwrap().as_json_text(), r#"{"kind":"exited","code":-1}"#);
    }
}
