//! What comes back from a server, made fit to be passed on: through the policy, in the size of an answer, with links that can
//! be followed here.

use hermes_model::context::Surface;
use hermes_model::id::{Owner, ServerName};
use hermes_model::report::PolicyReport;
use hermes_output::captured::Captured;
use hermes_output::cut::Limits;
use hermes_output::json::{RevealedJson, VisibleJson, WithheldJson};
use hermes_output::reveal::reveal;
use rmcp::model::ErrorData;
use serde_json::{Map, Value, json};

use super::asking::Caller;
use super::catalogue::Target;
use super::fitting::{self, Keeper};
use super::handle::{Gateway, broken};
use super::store::Kept;
use super::uris;
use crate::servers::raw::Raw;

/// The longest text of a prompt or a resource, in bytes: whoever asks for one by its name wants it whole.
pub(crate) const WHOLE_MAX: usize = 8 << 20;
/// Where an answer says what the policy did to it.
const POLICY: &str = "hermes/policy";

impl Gateway {
    /// The result of a tool as an agent gets it.
    pub(super) async fn result_of(&self, caller: &Caller, target: &Target, name: &str, raw: Raw) -> Value {
        let (answer, has_schema) = (Answer::new(self, caller, target.server, name), target.has_schema);
        let made = tokio::task::spawn_blocking(move || answer.result(raw, has_schema));
        made.await.unwrap_or_else(|_| Err(broken())).unwrap_or_else(withheld_result)
    }

    /// The answer of a server to `prompts/get`, `resources/read` or `completion/complete`.
    ///
    /// # Errors
    /// It is withheld, or is no answer.
    pub(super) async fn answer_of(
        &self,
        caller: &Caller,
        server: usize,
        name: &str,
        raw: Raw,
    ) -> Result<Map<String, Value>, ErrorData> {
        let answer = Answer::new(self, caller, server, name);
        let made = tokio::task::spawn_blocking(move || answer.whole(raw));
        made.await
            .unwrap_or_else(|_| Err(broken()))
            .map_err(|withheld| refusal(&withheld))?
            .ok_or_else(|| ErrorData::internal_error("the server answered with something that is no result", None))
    }
}

/// An answer of a server on its way to whoever asked. All of it may block: plugins are asked, and much is cut.
struct Answer {
    gateway: Gateway,
    server: usize,
    session: u64,
    owner: Owner,
    /// What was asked for: the name of the tool.
    of: String,
}

impl Answer {
    fn new(gateway: &Gateway, caller: &Caller, server: usize, of: &str) -> Self {
        Self {
            gateway: gateway.clone(),
            server,
            session: caller.session.number,
            owner: caller.owner(),
            of: of.to_owned(),
        }
    }

    fn name(&self) -> &ServerName {
        self.gateway.server(self.server).name()
    }

    fn keep(&self, kept: Kept) -> Option<String> {
        self.gateway.store().keep(self.session, &self.owner, &self.of, kept)
    }

    fn look(&self, raw: Raw) -> Result<(VisibleJson, PolicyReport), WithheldJson> {
        let looked = self.gateway.look(self.server, Surface::McpResult, self.owner.clone(), raw.into_value());
        looked.map(|RevealedJson { value, report, .. }| (value, report))
    }

    /// The result of a tool; `has_schema`: its structure was promised.
    fn result(&self, raw: Raw, has_schema: bool) -> Result<Value, WithheldJson> {
        let (mut value, mut report) = self.look(raw)?;
        if !value.as_value().is_object() {
            return Ok(
                json!({"content": [{"type": "text", "text": "the server answered with something that is no result"}],
                "isError": true}),
            );
        }
        if self.gateway.server(self.server).config().transform {
            self.transform(&mut value, &mut report)?;
        }
        let budget = self.gateway.reply_bytes();
        let keep = |kept: Kept| self.keep(kept);
        let keeper = Keeper { policy: &report, keep: &keep };
        let structure = fitting::fit_structure(&value, budget, &keeper);
        let places = fitting::places(&value, "/content", "");
        let joined = fitting::fit_texts(&mut value, &places, budget, true, &keeper);
        let mut result = object(value).unwrap_or_default();
        if !result.get("content").is_some_and(Value::is_array) {
            result.insert("content".to_owned(), json!([]));
        }
        if let Some(blocks) = result.get_mut("content").and_then(Value::as_array_mut) {
            if let Some(joined) = joined {
                joined.put(blocks);
            }
            for block in blocks.iter_mut() {
                link(self.name(), block);
            }
            fitting::fit_blocks(blocks, budget, &keeper);
        }
        if let Some(structure) = structure {
            let is_gone = structure.value.is_none();
            match structure.value {
                Some(value) => drop(result.insert("structuredContent".to_owned(), value)),
                None => drop(result.remove("structuredContent")),
            }
            fitting::note(&mut result, &structure.note);
            if is_gone && has_schema {
                // Clients refuse a result without the structure that was promised, unless it is an error.
                result.insert("isError".to_owned(), json!(true));
            }
        }
        fitting::fit_fields(&mut result, budget);
        noted(&mut result, &report);
        Ok(Value::Object(result))
    }

    /// Makes of the text blocks what the transforms make of them.
    fn transform(&self, value: &mut VisibleJson, report: &mut PolicyReport) -> Result<(), WithheldJson> {
        let context = self.gateway.context(self.server, Surface::McpResult, self.owner.clone());
        let (policy, exact) = (self.gateway.policy(), self.gateway.exact(self.server));
        let blocks = value.as_value().get("content").and_then(Value::as_array).map_or(0, Vec::len);
        for number in 0..blocks {
            let block = format!("/content/{number}");
            let is_text = value.as_value().pointer(&format!("{block}/type")).is_some_and(|kind| kind == "text");
            let at = format!("{block}/text");
            let Some(text) = value.text(&at).filter(|_| is_text) else { continue };
            let shown = reveal(&*policy, &context, &Captured::of(text.as_str()), exact, &Limits::none());
            if shown.report.withheld.is_some() {
                self.gateway.count(self.server, Surface::McpResult, &*policy, &shown.report, shown.output_bytes);
                return Err(WithheldJson { notice: shown.text, report: shown.report });
            }
            value.set_text(&at, shown.text);
            add(report, shown.report);
        }
        Ok(())
    }

    /// What was asked for by its name. None: it is no answer.
    fn whole(&self, raw: Raw) -> Result<Option<Map<String, Value>>, WithheldJson> {
        let (mut value, report) = self.look(raw)?;
        let keep = |kept: Kept| self.keep(kept);
        let keeper = Keeper { policy: &report, keep: &keep };
        for (list, inner) in [("/contents", ""), ("/messages", "/content")] {
            let places = fitting::places(&value, list, inner);
            fitting::fit_texts(&mut value, &places, WHOLE_MAX, false, &keeper);
        }
        let Some(mut answer) = object(value) else { return Ok(None) };
        if let Some(contents) = answer.get_mut("contents").and_then(Value::as_array_mut) {
            fitting::fit_blocks(contents, WHOLE_MAX, &keeper);
        }
        for message in answer.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(content) = message.get_mut("content") {
                link(self.name(), content);
                let mut blocks = vec![content.take()];
                fitting::fit_blocks(&mut blocks, WHOLE_MAX, &keeper);
                *content = blocks.pop().unwrap_or_default();
            }
        }
        fitting::fit_fields(&mut answer, WHOLE_MAX);
        noted(&mut answer, &report);
        Ok(Some(answer))
    }
}

fn object(value: VisibleJson) -> Option<Map<String, Value>> {
    match value.into_value() {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

/// Says in an answer what the policy did to it.
fn noted(answer: &mut Map<String, Value>, report: &PolicyReport) {
    let meta = answer.entry("_meta").or_insert_with(|| json!({}));
    if !meta.is_object() {
        *meta = json!({});
    }
    meta[POLICY] = json!(report);
}

/// Adds what was done to a part of an answer.
fn add(whole: &mut PolicyReport, part: PolicyReport) {
    let more = |all: &mut Vec<String>, some: Vec<String>| {
        for one in some {
            if !all.contains(&one) {
                all.push(one);
            }
        }
    };
    more(&mut whole.transformed_by, part.transformed_by);
    more(&mut whole.warnings, part.warnings);
    for (rule, count) in part.redactions {
        *whole.redactions.entry(rule).or_default() += count;
    }
}

/// Makes a link to a resource one that can be read here.
fn link(server: &ServerName, block: &mut Value) {
    if block.get("type").is_some_and(|kind| kind == "resource_link")
        && let Some(Value::String(uri)) = block.get_mut("uri")
    {
        *uri = uris::of_resource(server, uri);
    }
}

/// What stands for a result of which nothing may be shown.
fn withheld_result(withheld: WithheldJson) -> Value {
    let text = format!("{} {}", withheld.notice, why(&withheld.report)).trim().to_owned();
    let error = json!({"code": "withheld", "message": text});
    let mut result = Map::from_iter([
        ("content".to_owned(), json!([{"type": "text", "text": text}])),
        ("structuredContent".to_owned(), json!({"error": error})),
        ("isError".to_owned(), json!(true)),
    ]);
    noted(&mut result, &withheld.report);
    Value::Object(result)
}

/// The same for an answer that is no result of a tool.
pub(super) fn refusal(withheld: &WithheldJson) -> ErrorData {
    let text = format!("{} {}", withheld.notice, why(&withheld.report)).trim().to_owned();
    ErrorData::internal_error(text, Some(json!({POLICY: withheld.report})))
}

fn why(report: &PolicyReport) -> &str {
    report.withheld.as_ref().map_or("", |withheld| &withheld.message)
}
