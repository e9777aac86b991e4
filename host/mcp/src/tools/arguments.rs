//! Reading the arguments of a call, with errors that say how to do it right.
//!
//! Models write out every field of a schema, so a field that says nothing (`null`, `false`, `0`, an empty text or list)
//! counts as absent wherever it could not mean anything. It must never quote a value.

use std::time::Duration;

use hermes_model::suggest;
use rmcp::model::JsonObject;
use serde_json::Value;

use super::trouble::Trouble;

/// How much of an unknown field's name is quoted, in characters.
const NAME_SHOWN: usize = 40;

/// The arguments of one call.
pub(crate) struct Given {
    tool: &'static str,
    fields: JsonObject,
}

impl Given {
    /// Takes the arguments of a tool that knows these fields.
    pub(crate) fn new(tool: &'static str, mut fields: JsonObject, known: &[&str]) -> Result<Self, Trouble> {
        if let Some(unknown) = fields.keys().find(|field| !known.contains(&field.as_str())) {
            let shown: String = unknown.chars().filter(|c| !c.is_control()).take(NAME_SHOWN).collect();
            let hint = suggest::hint(unknown, known);
            return Err(Trouble::arguments(format!("{tool} has no field '{shown}'{hint}")));
        }
        fields.retain(|_, value| !value.is_null());
        Ok(Self { tool, fields })
    }

    /// Refuses fields that say something and mean nothing for `action`.
    pub(crate) fn only(&self, action: &str, meant: &[&str]) -> Result<(), Trouble> {
        let tool = self.tool;
        match self.fields.iter().find(|(field, value)| !meant.contains(&field.as_str()) && says_something(value)) {
            None => Ok(()),
            Some((field, _)) if meant.is_empty() => {
                Err(Trouble::arguments(format!("{tool}: '{field}' means nothing for '{action}': leave it out")))
            }
            Some((field, _)) => Err(Trouble::arguments(format!(
                "{tool}: '{field}' means nothing for '{action}', which takes {}: leave it out",
                meant.join(", ")
            ))),
        }
    }

    fn wrong(&self, field: &str, wanted: &str) -> Trouble {
        Trouble::arguments(format!("{}: '{field}' must be {wanted}", self.tool))
    }

    /// Whether a field is there and says something.
    pub(crate) fn says(&self, field: &str) -> bool {
        self.fields.get(field).is_some_and(says_something)
    }

    pub(crate) fn raw(&self, field: &str) -> Option<&Value> {
        self.fields.get(field)
    }

    pub(crate) fn text(&self, field: &str) -> Result<Option<&str>, Trouble> {
        match self.fields.get(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(field, "a text")),
        }
    }

    pub(crate) fn needed(&self, field: &str, action: &str) -> Result<&str, Trouble> {
        let text = self.text(field)?.filter(|text| !text.is_empty());
        text.ok_or_else(|| Trouble::arguments(format!("{}: '{action}' needs '{field}'", self.tool)))
    }

    pub(crate) fn flag(&self, field: &str) -> Result<bool, Trouble> {
        match self.fields.get(field) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.wrong(field, "true or false")),
        }
    }

    pub(crate) fn number(&self, field: &str) -> Result<Option<u64>, Trouble> {
        self.fields.get(field).map(|value| whole(value).ok_or_else(|| self.wrong(field, NUMBER))).transpose()
    }

    /// A number of at least one.
    pub(crate) fn positive(&self, field: &str) -> Result<Option<u64>, Trouble> {
        match self.number(field)? {
            Some(0) => Err(self.wrong(field, "more than 0, or be left out")),
            number => Ok(number),
        }
    }

    /// A number of milliseconds above 0.
    pub(crate) fn time(&self, field: &str) -> Result<Option<Duration>, Trouble> {
        Ok(self.positive(field)?.map(Duration::from_millis))
    }

    pub(crate) fn texts(&self, field: &str) -> Result<Vec<String>, Trouble> {
        let Some(value) = self.fields.get(field) else { return Ok(Vec::new()) };
        let list = value.as_array().ok_or_else(|| self.wrong(field, TEXTS))?;
        list.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(|| self.wrong(field, TEXTS))).collect()
    }

    /// The names and texts of an object.
    pub(crate) fn pairs(&self, field: &str) -> Result<Option<Vec<(String, String)>>, Trouble> {
        const WANTED: &str = "an object of texts, as in {\"NAME\": \"value\"}, and no name may be empty or hold '='";
        let Some(value) = self.fields.get(field) else { return Ok(None) };
        let object = value.as_object().ok_or_else(|| self.wrong(field, WANTED))?;
        let pair = |(name, value): (&String, &Value)| {
            let named = !name.is_empty() && !name.contains(['=', '\0']);
            let value = value.as_str().filter(|value| named && !value.contains('\0'));
            value.map(|value| (name.clone(), value.to_owned())).ok_or_else(|| self.wrong(field, WANTED))
        };
        object.iter().map(pair).collect::<Result<_, _>>().map(Some)
    }

    /// Two sizes of a terminal.
    pub(crate) fn size(&self, rows: Option<&Value>, cols: Option<&Value>) -> Result<(u16, u16), Trouble> {
        let side = |value: Option<&Value>| {
            let number = value.and_then(whole).and_then(|number| u16::try_from(number).ok());
            number.filter(|number| (1..=SIDE_MAX).contains(number))
        };
        side(rows).zip(side(cols)).ok_or_else(|| {
            Trouble::arguments(format!("{}: a terminal has 'rows' and 'cols', each from 1 to {SIDE_MAX}", self.tool))
        })
    }
}

const NUMBER: &str = "a whole number, 0 or more";
const TEXTS: &str = "a list of texts";
/// The largest side of a terminal: more than any screen shows.
const SIDE_MAX: u16 = 1000;

/// A whole number, also where it was written with a fraction of zero.
fn whole(value: &Value) -> Option<u64> {
    /// Above it, not every whole number is one of floating point.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    value.as_u64().or_else(|| {
        let number = value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..=EXACT).contains(number))?;
        Some(number as u64)
    })
}

fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const KNOWN: [&str; 4] = ["command", "timeout_ms", "env", "pty"];

    fn given(fields: Value) -> Result<Given, Trouble> {
        Given::new("terminal", fields.as_object().unwrap().clone(), &KNOWN)
    }

    #[test]
    fn an_unknown_field_is_named_with_the_one_that_was_meant() {
        let error = given(json!({"comand": "ls"})).err().unwrap().message;
        assert_eq!(error, "terminal has no field 'comand'; did you mean 'command'?");
        let error = given(json!({"\u{1b}[2Jzzzzzz": 1})).err().unwrap().message;
        assert!(!error.contains('\u{1b}') && error.contains("known: command"), "{error}");
    }

    #[test]
    fn a_wrong_type_is_named_and_its_value_is_not_quoted() {
        let given = given(json!({"command": 7, "timeout_ms": "hunter2", "env": {"A": 1}, "pty": "hunter2"})).unwrap();
        let errors = [
            given.text("command").unwrap_err(),
            given.time("timeout_ms").unwrap_err(),
            given.pairs("env").unwrap_err(),
            given.flag("pty").unwrap_err(),
            given.texts("pty").unwrap_err(),
        ];
        for error in errors {
            assert!(error.message.contains("must be") && !error.message.contains("hunter2"), "{}", error.message);
        }
    }

    #[test]
    fn a_time_is_above_nothing_and_may_be_written_with_a_fraction_of_zero() {
        let time = |value: Value| given(json!({"timeout_ms": value})).unwrap().time("timeout_ms");
        assert_eq!(time(json!(5.0)).unwrap(), Some(Duration::from_millis(5)));
        assert_eq!(time(json!(null)).unwrap(), None);
        for bad in [json!(0), json!(-1), json!(1.5), json!(1e300)] {
            assert!(time(bad).is_err());
        }
    }

    #[test]
    fn a_field_that_says_nothing_may_stand_anywhere() {
        let given = given(json!({"command": "", "timeout_ms": 0, "env": {}, "pty": false})).unwrap();
        given.only("list", &[]).unwrap();
        let given = super::Given::new("t", json!({"pty": true}).as_object().unwrap().clone(), &KNOWN).unwrap();
        assert!(given.only("list", &["command"]).unwrap_err().message.contains("takes command"));
    }

    #[test]
    fn names_of_variables_are_checked_before_they_reach_a_process() {
        for bad in [json!({"A=B": "x"}), json!({"": "x"}), json!({"A": "x\u{0}"}), json!(["A"])] {
            assert!(given(json!({"env": bad})).unwrap().pairs("env").is_err());
        }
        let pairs = given(json!({"env": {"A": "1", "B": ""}})).unwrap().pairs("env").unwrap().unwrap();
        assert_eq!(pairs, [("A".to_owned(), "1".to_owned()), ("B".to_owned(), String::new())]);
    }

    proptest! {
        #[test]
        fn a_size_is_accepted_exactly_where_both_sides_are_in_range(rows in 0u64..2000, cols in 0u64..2000) {
            let given = given(json!({})).unwrap();
            let fits = (1..=1000).contains(&rows) && (1..=1000).contains(&cols);
            prop_assert_eq!(given.size(Some(&json!(rows)), Some(&json!(cols))).is_ok(), fits);
        }
    }
}
