//! A value of the settings, before anyone knows what it means. It must never be shown: it may be a key.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// What a setting may be.
pub(crate) enum Value {
    /// A text.
    Text(String),
    /// A number of something: never negative.
    Number(u64),
    /// Several.
    List(Vec<Value>),
    /// Some with names.
    Table(Vec<(String, Value)>),
    /// What no setting takes.
    Unfit,
}

/// Says that a setting is of another kind than it must be.
#[inline(never)]
fn wrong(name: &str) -> String {
    format!("{name} has a value of the wrong kind: a setting is a text, a whole number, a list or an object")
}

impl Value {
    /// The text of the setting `name`, or why it is none.
    #[inline(never)]
    pub(crate) fn text(self, name: &str) -> Result<String, String> {
        if let Self::Text(text) = self { Ok(text) } else { Err(wrong(name)) }
    }

    /// The number of it.
    #[inline(never)]
    pub(crate) fn number(self, name: &str) -> Result<usize, String> {
        if let Self::Number(number) = self {
            usize::try_from(number).map_err(|_| wrong(name))
        } else {
            Err(wrong(name))
        }
    }

    /// The list of it.
    #[inline(never)]
    pub(crate) fn list(self, name: &str) -> Result<Vec<Self>, String> {
        if let Self::List(list) = self { Ok(list) } else { Err(wrong(name)) }
    }

    /// The entries of it.
    #[inline(never)]
    pub(crate) fn table(self, name: &str) -> Result<Vec<(String, Self)>, String> {
        if let Self::Table(table) = self { Ok(table) } else { Err(wrong(name)) }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a text, a whole number, a list or an object")
    }

    // The four that no setting takes have an answer of their own: the usual one brings code that prints fractions, which
    // is a tenth of the component.
    fn visit_bool<E: Error>(self, _: bool) -> Result<Value, E> {
        Ok(Value::Unfit)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Value, E> {
        Ok(Value::Unfit)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Unfit)
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Unfit)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = from.next_element()? {
            list.push(value);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut table = Vec::new();
        while let Some(entry) = from.next_entry()? {
            table.push(entry);
        }
        Ok(Value::Table(table))
    }
}
