//! Results that were too long for their answer: kept for the session, and read by its agent as a resource or with a tool.
//!
//! Everything in it has been through the policy. It must never show a result to another session than its own.

use std::sync::Arc;

use hermes_model::id::Owner;
use hermes_model::report::PolicyReport;
use rmcp::model::{ErrorData, JsonObject};
use serde_json::{Map, Value, json};

use crate::gateway::pages;
use crate::gateway::store::{self, Kept, Store, Stored};
use crate::gateway::uris;
use crate::tools::arguments::Given;
use crate::tools::trouble::Trouble;

/// The tool that reads on.
pub(super) const TOOL: &str = "hermes_read_result";
/// Its fields.
const FIELDS: [&str; 3] = ["id", "offset", "limit"];
/// What is said where nothing is kept under an id.
const GONE: &str = "nothing is kept under this id: the oldest results give way to new ones; call the tool again for it";

/// The results of a session. When it is dropped they are given up.
pub(super) struct Results {
    store: Arc<Store>,
    session: u64,
    owner: Owner,
    /// The budget of the texts of an answer, in bytes.
    pub(super) budget: usize,
}

impl Drop for Results {
    fn drop(&mut self) {
        self.store.forget(self.session);
    }
}

impl Results {
    /// `session`: hexadecimal digits that no other session has.
    pub(super) fn new(store: Arc<Store>, session: &str, budget: usize) -> Self {
        let number = u64::from_str_radix(session, 16).unwrap_or_default();
        Self { store, session: number, owner: Owner::new(session), budget }
    }

    /// Keeps a text, and says where it is as a part of a sentence; `has_tool`: an agent can read it with the tool.
    pub(super) fn keep(&self, text: String, policy: &PolicyReport, has_tool: bool) -> String {
        let kept = Kept::Text { text, policy: Box::new(policy.clone()) };
        match self.store.keep(self.session, &self.owner, "a tool", kept) {
            Some(id) if has_tool => format!(
                "the tool '{TOOL}' with {{\"id\": \"{id}\", \"offset\": 0}}, or the resource {}",
                uris::of_result(&id)
            ),
            Some(id) => format!("the resource {}?offset=0", uris::of_result(&id)),
            None => "it is too long to be kept; ask for less at a time".to_owned(),
        }
    }

    /// The tool as it is listed.
    pub(super) fn tool() -> Value {
        let number =
            |min: u64, description: &str| json!({"type": "integer", "minimum": min, "description": description});
        json!({
            "name": TOOL,
            "description": "Read on in a result of another tool that was too long for its answer. A notice in that answer \
                            names its id.",
            "inputSchema": {"type": "object", "additionalProperties": false, "required": ["id"], "properties": {
                "id": {"type": "string", "description": "The id that begins with 'res_'."},
                "offset": number(0, "The first line, counted from 0."),
                "limit": number(1, "How many lines; 200 where it is left out."),
            }},
            "annotations": {"title": "Read a long result", "readOnlyHint": true, "openWorldHint": false},
        })
    }

    /// The result of the tool.
    pub(super) fn call(&self, arguments: Option<&Value>) -> Value {
        let arguments = arguments.and_then(Value::as_object).cloned().unwrap_or_default();
        match self.read_lines(arguments) {
            Ok(text) => json!({"content": [{"type": "text", "text": text}]}),
            Err(trouble) => json!({"content": [{"type": "text", "text": trouble.message}], "isError": true}),
        }
    }

    fn read_lines(&self, arguments: JsonObject) -> Result<String, Trouble> {
        let given = Given::new(TOOL, arguments, &FIELDS)?;
        let (offset, limit) = (given.number("offset")?, given.number("limit")?.filter(|limit| *limit > 0));
        let id = given.needed("id", "read")?;
        let page = self.find(id).and_then(|stored| Lines::of(&stored, Some(offset.unwrap_or(0)), limit, self.budget));
        let Some(Lines { text, first, count, total }) = page else { return Err(Trouble::arguments(GONE)) };
        let next = first + count;
        if next >= total {
            return Ok(text);
        }
        let end = if text.ends_with('\n') { "" } else { "\n" };
        Ok(format!("{text}{end}[lines {first}-{} of {total}; the next: \"offset\": {next}]", next - 1))
    }

    fn find(&self, id: &str) -> Option<Arc<Stored>> {
        self.store.find(&self.owner, id)
    }

    /// What is at an address; none: nothing of this session.
    pub(super) fn read(&self, uri: &str) -> Option<Value> {
        let (address, query) = uri.split_once('?').unwrap_or((uri, ""));
        let Some(uris::Named::Result(id)) = uris::read(address) else { return None };
        let stored = self.find(&id)?;
        let number = |wanted: &str| {
            query.split('&').filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == wanted)?.1.parse().ok()
        };
        let content = match (number("offset"), number("limit"), &stored.kept) {
            (None, None, Kept::Text { text, .. }) => json!({"uri": uri, "mimeType": "text/plain", "text": text}),
            (offset, limit, _) => {
                let Lines { text, first, count, total } =
                    Lines::of(&stored, Some(offset.unwrap_or(0)), limit, usize::MAX)?;
                let lines = json!({"hermes/lines": {"first": first, "count": count, "total": total}});
                json!({"uri": uri, "mimeType": "text/plain", "text": text, "_meta": lines})
            }
        };
        Some(json!({"contents": [content]}))
    }

    /// One page of what is kept.
    pub(super) fn list(&self, params: &Map<String, Value>) -> Result<Value, ErrorData> {
        let row = |stored: &Arc<Stored>| {
            json!({"uri": uris::of_result(&stored.id), "name": stored.id, "mimeType": "text/plain",
                "description": "A result that was too long for its answer."})
        };
        pages::page("resources", &self.store.of(&self.owner).iter().map(row).collect::<Vec<_>>(), params)
    }

    /// How their addresses are made.
    pub(super) fn templates() -> Value {
        let uri = format!("{}{{?offset,limit}}", uris::of_result("{id}"));
        json!({"resourceTemplates": [{"uriTemplate": uri, "name": "result", "mimeType": "text/plain",
            "description": "A result that was too long for its answer, by its id; lines of it, or all of them."}]})
    }
}

/// Lines of a text.
struct Lines {
    text: String,
    first: u64,
    count: u64,
    total: u64,
}

impl Lines {
    fn of(stored: &Stored, offset: Option<u64>, limit: Option<u64>, budget: usize) -> Option<Self> {
        let mut page = store::page(stored, offset, limit, budget)?;
        let number = |field: &str| page[field].as_u64();
        let (first, count, total) = (number("first_line")?, number("lines")?, number("total_lines")?);
        let Value::String(text) = page["output"].take() else { return None };
        Some(Self { text, first, count, total })
    }
}
