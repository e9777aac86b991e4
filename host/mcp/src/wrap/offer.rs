//! What hermes offers of its own beside the server, so that an agent can read on in what was cut: a tool, and resources
//! where the server has none.
//!
//! It must never stand in the way of anything the server offers.

use serde_json::{Value, json};

use super::calls::Asked;
use super::kept::{Results, TOOL};

/// What an agent knows of it.
#[derive(Default)]
pub(super) struct Offer {
    /// Resources were announced that the server does not have.
    resources: bool,
    /// It was announced that tools may change.
    tells: bool,
    /// The server has a tool of the same name.
    taken: bool,
    cut: Cut,
}

/// Whether there is anything to read on in.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Cut {
    #[default]
    Nothing,
    /// And the agent is to be told.
    News,
    Known,
}

impl Offer {
    /// Something was cut.
    pub(super) fn cuts(&mut self) {
        if self.cut == Cut::Nothing {
            self.cut = if self.tells && !self.taken { Cut::News } else { Cut::Known };
        }
    }

    /// Whether the agent is to be told that there is another tool now. Once.
    pub(super) fn take_news(&mut self) -> bool {
        let news = self.cut == Cut::News;
        if news {
            self.cut = Cut::Known;
        }
        news
    }

    /// Whether the resources of the session are those of hermes alone.
    pub(super) fn has_resources(&self) -> bool {
        self.resources
    }

    /// Whether the tool is that of hermes.
    pub(super) fn has_tool(&self) -> bool {
        !self.taken
    }

    /// Whether a call of the tool is answered here.
    pub(super) fn answers_tool(&self) -> bool {
        !self.taken && self.cut != Cut::Nothing
    }

    /// Puts into a result of the server what is offered beside it. True: the result is another now.
    pub(super) fn add_to(&mut self, asked: Asked, result: &mut Value) -> bool {
        match asked {
            Asked::Hello => self.announce(result),
            Asked::Tools => self.add_tool(result),
            Asked::Tool | Asked::Task | Asked::Other => false,
        }
    }

    fn announce(&mut self, result: &mut Value) -> bool {
        let Some(capabilities) = result.get_mut("capabilities").and_then(Value::as_object_mut) else { return false };
        // Without tools there is nothing to cut.
        let Some(tools) = capabilities.get_mut("tools").and_then(Value::as_object_mut) else { return false };
        self.tells = true;
        let told = tools.insert("listChanged".to_owned(), Value::Bool(true)) == Some(Value::Bool(true));
        self.resources = capabilities.get("resources").is_none_or(Value::is_null);
        if self.resources {
            capabilities.insert("resources".to_owned(), json!({}));
        }
        self.resources || !told
    }

    fn add_tool(&mut self, result: &mut Value) -> bool {
        let more = result.get("nextCursor").is_some_and(|cursor| !cursor.is_null());
        let Some(tools) = result.get_mut("tools").and_then(Value::as_array_mut) else { return false };
        self.taken |= tools.iter().any(|tool| tool.get("name").is_some_and(|name| name == TOOL));
        let added = self.answers_tool() && !more;
        if added {
            tools.push(Results::tool());
        }
        added
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_announced_only_where_there_are_tools_and_no_resources() {
        let announced = |capabilities: Value| {
            let mut offer = Offer::default();
            let mut result = json!({"capabilities": capabilities});
            let changed = offer.add_to(Asked::Hello, &mut result);
            (result["capabilities"].take(), changed, offer.has_resources())
        };
        let both = json!({"tools": {"listChanged": true}, "resources": {"subscribe": true}});
        assert_eq!(announced(both.clone()), (both, false, false));
        assert_eq!(announced(json!({"prompts": {}})), (json!({"prompts": {}}), false, false));
        let own = json!({"tools": {"listChanged": true}, "resources": {}});
        assert_eq!(announced(json!({"tools": {}})), (own, true, true));
    }

    #[test]
    fn the_tool_is_on_the_last_page_once_something_was_cut_and_never_beside_its_namesake() {
        let tools = |offer: &mut Offer, mut page: Value| {
            offer.add_to(Asked::Tools, &mut page);
            page["tools"].as_array().unwrap().len()
        };
        let mut offer = Offer::default();
        offer.add_to(Asked::Hello, &mut json!({"capabilities": {"tools": {}}}));
        assert_eq!(tools(&mut offer, json!({"tools": []})), 0);
        offer.cuts();
        assert!(offer.take_news() && !offer.take_news());
        offer.cuts();
        assert!(!offer.take_news(), "it is told once");
        assert_eq!(tools(&mut offer, json!({"tools": [], "nextCursor": "2"})), 0);
        assert_eq!(tools(&mut offer, json!({"tools": [{"name": "a"}], "nextCursor": null})), 2);
        assert_eq!(tools(&mut offer, json!({"tools": [{"name": TOOL}]})), 1);
        assert!(!offer.answers_tool());
    }
}
