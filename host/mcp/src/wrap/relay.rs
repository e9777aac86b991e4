//! What becomes of one line: from the server to the agent through the policy, from the agent to the server as it is.
//!
//! It must never let a word of the server pass that the policy has not seen, and never leave an agent waiting for an answer
//! that was lost here.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hermes_model::context::{Context, Surface};
use hermes_output::exact::ExactValues;
use hermes_output::json::{RevealedJson, reveal_json};
use hermes_output::policy::{InForce, Policy};
use hermes_output::visible::Visible;
use serde_json::{Map, Value, json};

use super::Tally;
use super::bounded::bounded;
use super::calls::{Asked, Call, Calls, Whose};
use super::echoes::{self, Echoes};
use super::kept::{Results, TOOL};
use super::message::{self, INTERNAL_ERROR, INVALID_REQUEST, Kind, Lost, PARSE_ERROR, Read};
use super::offer::Offer;
use crate::gateway::asking::no_resource;
use crate::lines::{Ends, Line, MESSAGE_MAX};

/// How many events of a kind are written to the log. All of them are counted.
const LOGGED: u64 = 3;

/// How an agent is told that there is another tool.
const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

/// Where a line goes.
pub(super) enum Out {
    /// To the agent.
    Agent(Vec<u8>),
    /// To the server.
    Server(Vec<u8>),
}

/// What the two directions share.
pub(super) struct Relay {
    /// The name of the server, for the policy and the log.
    name: String,
    in_force: Arc<dyn InForce>,
    exact: Arc<ExactValues>,
    /// What was too long for its answer; none: nothing is.
    results: Option<Results>,
    state: Mutex<State>,
}

struct State {
    calls: Calls,
    echoes: Echoes,
    offer: Offer,
    tally: Tally,
}

/// A part of a message after the policy.
enum Part {
    /// It is as it was.
    Same,
    /// It is another.
    Other(Value),
    /// It is not shown: this stands for it.
    Withheld(Visible),
}

/// An element of what the server said, after the policy.
enum Passed {
    Same,
    Other(Value),
    /// Nothing goes to the agent.
    Dropped,
}

/// What a message of the agent is.
enum Heard {
    Same,
    /// What the server gets is not quite the same.
    Changed,
    /// It was asked of hermes itself, and this is the answer.
    Own(Value),
}

impl Relay {
    pub(super) fn new(
        name: String,
        in_force: Arc<dyn InForce>,
        exact: Arc<ExactValues>,
        results: Option<Results>,
        session: &str,
    ) -> Self {
        let state = State {
            calls: Calls::default(),
            echoes: Echoes::new(session),
            offer: Offer::default(),
            tally: Tally::default(),
        };
        Self { name, in_force, exact, results, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was counted so far.
    pub(super) fn tally(&self) -> Tally {
        self.state().tally
    }

    /// A line of the server. Blocks while the policy thinks.
    pub(super) fn hear_server(&self, line: Line) -> Vec<Out> {
        let line = match line {
            Line::Whole(line) => line,
            Line::TooLong(ends) => {
                if self.count(|tally| &mut tally.too_long) {
                    tracing::warn!(
                        server = self.name,
                        bytes = ends.bytes,
                        max = MESSAGE_MAX,
                        "a line of the server is too long and was skipped"
                    );
                }
                return self.lost(&ends, "was longer than 64 MiB; ask for less at once");
            }
            Line::Gone => return Vec::new(),
        };
        let (mut value, mut faithful) = match message::read(&line) {
            Read::Blank => return Vec::new(),
            Read::Junk => {
                self.count_junk(line.len());
                return match Lost::of(&Ends::of(&line)) {
                    // Nobody can say that it was a message at all.
                    Lost::Unknown => Vec::new(),
                    _ => self.lost(&Ends::of(&line), "cannot be read as JSON"),
                };
            }
            Read::Document { value, faithful } => (value, faithful),
        };
        let mut out = Vec::new();
        match &mut value {
            Value::Array(elements) => elements.retain_mut(|element| match self.passed(element, line.len(), &mut out) {
                Passed::Same => true,
                Passed::Other(other) => {
                    (*element, faithful) = (other, false);
                    true
                }
                Passed::Dropped => {
                    faithful = false;
                    false
                }
            }),
            element => match self.passed(element, line.len(), &mut out) {
                Passed::Same => {}
                Passed::Other(other) => (*element, faithful) = (other, false),
                Passed::Dropped => return out,
            },
        }
        if value.as_array().is_some_and(Vec::is_empty) {
            return out;
        }
        let bytes = if faithful { message::bytes_as_line(message::trimmed(&line)) } else { message::as_line(&value) };
        out.push(Out::Agent(bytes));
        out
    }

    /// One message of the server. What is to be said to the server goes to `out`.
    fn passed(&self, element: &mut Value, length: usize, out: &mut Vec<Out>) -> Passed {
        let Value::Object(fields) = element else {
            self.count_junk(length);
            return Passed::Dropped;
        };
        match message::kind(fields) {
            Kind::Answer => {
                let passed = self.answer(fields);
                if self.state().offer.take_news() {
                    out.push(Out::Agent(message::as_line(&json!({"jsonrpc": "2.0", "method": TOOLS_CHANGED}))));
                }
                passed
            }
            Kind::Request | Kind::Notification => self.told(element, out),
            Kind::Other => {
                self.count_junk(length);
                let call = fields.get("id").and_then(|id| self.state().calls.give_up(id));
                match call {
                    // Somebody waits for what this was meant to be.
                    Some(call) => Passed::Other(error_for(call, &self.unreadable("has neither a result nor an error"))),
                    None => Passed::Dropped,
                }
            }
        }
    }

    /// An answer. Its result, or its error, is looked at as a document of its own; its envelope stays.
    fn answer(&self, fields: &mut Map<String, Value>) -> Passed {
        let id = fields.get("id").cloned().unwrap_or(Value::Null);
        let call = match self.state().calls.close(&id) {
            Whose::Waiting(call) => Some(call),
            Whose::GivenUp => return Passed::Dropped,
            Whose::Nobody => None,
        };
        let policy = self.in_force.policy();
        let mut same = true;
        for (field, surface) in [("result", Surface::McpResult), ("error", Surface::McpError)] {
            let Some(part) = fields.get_mut(field) else { continue };
            let asked = call.as_ref().map(|call| call.asked).filter(|_| field == "result");
            match self.part(&*policy, surface, part.take(), asked) {
                (Part::Same, value) => *part = value,
                (Part::Other(value), _) => (*part, same) = (value, false),
                (Part::Withheld(notice), _) => return self.withheld_answer(call, id, &notice),
            }
        }
        // Whatever else stands there, and an id that nobody gave the server, is the server's own text.
        let asked = call.is_some() || id.is_number() || id.is_null();
        let known = |field: &str| ["result", "error", "jsonrpc"].contains(&field) || (field == "id" && asked);
        let rest: Map<String, Value> = fields
            .iter()
            .filter(|(field, _)| !known(field))
            .map(|(field, value)| (field.clone(), value.clone()))
            .collect();
        if !rest.is_empty() {
            match self.part(&*policy, Surface::McpResult, Value::Object(rest), None).0 {
                Part::Same => {}
                Part::Other(Value::Object(rest)) => {
                    fields.retain(|field, _| known(field));
                    fields.extend(rest);
                    same = false;
                }
                Part::Other(_) => return Passed::Dropped,
                Part::Withheld(notice) => return self.withheld_answer(call, id, &notice),
            }
        }
        if fields.get("jsonrpc").is_some_and(|version| version != "2.0") {
            fields.insert("jsonrpc".to_owned(), json!("2.0"));
            same = false;
        }
        if same { Passed::Same } else { Passed::Other(Value::Object(std::mem::take(fields))) }
    }

    /// A request or a notification: looked at as one document, its envelope included, because the server made all of it.
    fn told(&self, message: &mut Value, out: &mut Vec<Out>) -> Passed {
        let method = message.get("method").cloned();
        let id = message.get("id").filter(|id| !id.is_null()).cloned();
        let policy = self.in_force.policy();
        let (part, same) = self.part(&*policy, Surface::McpResult, message.take(), None);
        let refused = match part {
            Part::Same => {
                *message = same;
                return Passed::Same;
            }
            // A method that may not be shown cannot be understood either.
            Part::Other(other) if other.get("method") != method.as_ref() => {
                "the name of the method may not be shown".to_owned()
            }
            Part::Other(other) => return Passed::Other(other),
            Part::Withheld(notice) => notice.as_str().to_owned(),
        };
        if self.count(|tally| &mut tally.withheld) {
            tracing::warn!(server = self.name, "a message of the server was withheld from the agent");
        }
        if let Some(id) = id {
            out.push(Out::Server(message::error(id, INTERNAL_ERROR, &refused)));
        }
        Passed::Dropped
    }

    /// A document through the policy; where it stays as it was, it is handed back. `asked`: it is the result of this.
    fn part(&self, policy: &dyn Policy, surface: Surface, value: Value, asked: Option<Asked>) -> (Part, Value) {
        let mut context = Context::new(surface);
        context.source.clone_from(&self.name);
        let places = echoes::places(&value);
        let RevealedJson { mut value, mut changed, report } = match reveal_json(policy, &context, value, &self.exact) {
            Ok(revealed) => revealed,
            Err(withheld) => return (Part::Withheld(withheld.notice), Value::Null),
        };
        let mut changes = None;
        if let (Some(Asked::Tool | Asked::Task), Some(results)) = (asked, &self.results) {
            let has_tool = self.state().offer.has_tool();
            let mut keep = |text| results.keep(text, &report, has_tool);
            if let Some((shorter, others)) = bounded(&value, results.budget, &mut keep) {
                (value, changes, changed) = (shorter, Some(others), true);
            }
        }
        let mut value = value.into_value();
        if changed {
            self.state().echoes.settle(places, &mut value);
        }
        // Only now: the places are those of the document as it came.
        if let Some(changes) = changes {
            changes.apply(&mut value);
            self.state().offer.cuts();
        }
        if let (Some(asked), true) = (asked, self.results.is_some()) {
            changed |= self.state().offer.add_to(asked, &mut value);
        }
        if changed { (Part::Other(value), Value::Null) } else { (Part::Same, value) }
    }

    fn withheld_answer(&self, call: Option<Call>, id: Value, notice: &Visible) -> Passed {
        if self.count(|tally| &mut tally.withheld) {
            tracing::warn!(server = self.name, "an answer of the server was withheld from the agent");
        }
        match call {
            Some(call) => Passed::Other(refusal(call, notice.as_str())),
            None if id.is_number() || id.is_null() => {
                Passed::Other(refusal(Call { id, asked: Asked::Other }, notice.as_str()))
            }
            // The id is the server's own text.
            None => Passed::Dropped,
        }
    }

    fn unreadable(&self, why: &str) -> String {
        format!("the answer of the server '{}' {why}", self.name)
    }

    /// What is to be said for a line that is gone.
    fn lost(&self, ends: &Ends, why: &str) -> Vec<Out> {
        let why = self.unreadable(why);
        let calls = match Lost::of(ends) {
            Lost::Answer(id) => self.state().calls.give_up(&id).into_iter().collect(),
            Lost::Request(id) => {
                let error = message::error(id, INVALID_REQUEST, "the request is too long or cannot be read as JSON");
                return vec![Out::Server(error)];
            }
            Lost::Nothing => return Vec::new(),
            // One of them is waited for in vain, and nobody knows which: rather all fail than one hangs.
            Lost::Unknown => self.state().calls.give_up_all(),
        };
        calls.into_iter().map(|call| Out::Agent(message::as_line(&error_for(call, &why)))).collect()
    }

    /// The answers to everything that still waits, when there will be none.
    pub(super) fn give_up(&self, why: &str) -> Vec<Vec<u8>> {
        let calls = self.state().calls.give_up_all();
        calls.into_iter().map(|call| message::as_line(&error_for(call, why))).collect()
    }

    /// The answers to the requests in a line that the server did not get.
    pub(super) fn unsent(&self, line: &[u8]) -> Vec<Vec<u8>> {
        let Read::Document { value, .. } = message::read(line) else { return Vec::new() };
        let elements = match value {
            Value::Array(elements) => elements,
            element => vec![element],
        };
        let calls = elements.iter().filter_map(|element| self.state().calls.give_up(element.get("id")?));
        let why = format!("the server '{}' reads nothing any more; the request was not sent", self.name);
        calls.map(|call| message::as_line(&error_for(call, &why))).collect()
    }

    /// A line of the agent: where it goes, as it is; and the answers to what is asked of hermes itself.
    pub(super) fn hear_agent(&self, line: Line) -> Vec<Out> {
        let refuse = |code, why: &str| {
            tracing::debug!(server = self.name, code, "a line of the agent is no message");
            vec![Out::Agent(message::error(Value::Null, code, why))]
        };
        let line = match line {
            Line::Whole(line) => line,
            Line::TooLong(_) => return refuse(PARSE_ERROR, "the message is longer than 16 MiB"),
            Line::Gone => return Vec::new(),
        };
        let trimmed = message::trimmed(&line);
        let mut value = match message::read(&line) {
            Read::Blank => return Vec::new(),
            Read::Document { value, .. } if std::str::from_utf8(trimmed).is_ok() => value,
            Read::Document { .. } | Read::Junk => return refuse(PARSE_ERROR, "this is no JSON text in UTF-8"),
        };
        let (mut changed, mut out) = (false, Vec::new());
        let mut hear = |element: &mut Value| match self.asked(element) {
            Heard::Same => true,
            Heard::Changed => {
                changed = true;
                true
            }
            Heard::Own(answer) => {
                changed = true;
                out.push(Out::Agent(message::as_line(&answer)));
                false
            }
        };
        match &mut value {
            Value::Array(elements) if !elements.is_empty() => {
                elements.retain_mut(hear);
                if elements.is_empty() {
                    return out;
                }
            }
            Value::Object(_) => {
                if !hear(&mut value) {
                    return out;
                }
            }
            _ => return refuse(INVALID_REQUEST, "this is no JSON-RPC message"),
        }
        let bytes = if changed { message::as_line(&value) } else { message::bytes_as_line(trimmed) };
        out.push(Out::Server(bytes));
        out
    }

    /// Takes note of a message of the agent.
    fn asked(&self, element: &mut Value) -> Heard {
        let Value::Object(fields) = &*element else { return Heard::Same };
        let mut state = self.state();
        let method = fields.get("method").and_then(Value::as_str).unwrap_or_default();
        match message::kind(fields) {
            Kind::Request => {
                if let Some(answer) = self.own_answer(&state.offer, method, fields) {
                    return Heard::Own(answer);
                }
                if let Some(id) = fields.get("id") {
                    state.calls.open(id, Asked::by(method));
                }
            }
            Kind::Notification if method == "notifications/cancelled" => {
                if let Some(id) = element.pointer("/params/requestId") {
                    state.calls.cancel(id);
                }
            }
            Kind::Notification | Kind::Answer | Kind::Other => {}
        }
        if state.echoes.restore(element) { Heard::Changed } else { Heard::Same }
    }

    /// The answer to a request that is not the server's; none: it is.
    fn own_answer(&self, offer: &Offer, method: &str, request: &Map<String, Value>) -> Option<Value> {
        let results = self.results.as_ref()?;
        let param = |name: &str| request.get("params").and_then(|params| params.get(name));
        let answer = match method {
            "tools/call" if offer.answers_tool() && param("name").is_some_and(|name| name == TOOL) => {
                Ok(results.call(param("arguments")))
            }
            "resources/read" => match param("uri").and_then(Value::as_str).and_then(|uri| results.read(uri)) {
                Some(result) => Ok(result),
                None if offer.has_resources() => Err(no_resource()),
                None => return None,
            },
            "resources/list" if offer.has_resources() => {
                let none = Map::new();
                results.list(request.get("params").and_then(Value::as_object).unwrap_or(&none))
            }
            "resources/templates/list" if offer.has_resources() => Ok(Results::templates()),
            _ => return None,
        };
        let mut whole = Map::from_iter([("jsonrpc".to_owned(), json!("2.0"))]);
        whole.insert("id".to_owned(), request.get("id").cloned().unwrap_or_default());
        match answer {
            Ok(result) => whole.insert("result".to_owned(), result),
            Err(error) => whole.insert("error".to_owned(), json!({"code": error.code.0, "message": error.message})),
        };
        Some(Value::Object(whole))
    }

    fn count_junk(&self, bytes: usize) {
        if self.count(|tally| &mut tally.junk) {
            tracing::warn!(server = self.name, bytes, "a line of the server is no message and was skipped");
        }
    }

    /// Counts something. True for the first few.
    pub(super) fn count(&self, counter: impl FnOnce(&mut Tally) -> &mut u64) -> bool {
        let mut state = self.state();
        let counter = counter(&mut state.tally);
        *counter += 1;
        *counter <= LOGGED
    }
}

/// The answer to a request of which the answer may not be shown.
fn refusal(call: Call, notice: &str) -> Value {
    match call.asked {
        Asked::Tool => json!({"jsonrpc": "2.0", "id": call.id,
            "result": {"content": [{"type": "text", "text": notice}], "isError": true}}),
        Asked::Task | Asked::Tools | Asked::Hello | Asked::Other => error_for(call, notice),
    }
}

/// The answer to a request that has none.
fn error_for(call: Call, why: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": call.id, "error": {"code": INTERNAL_ERROR, "message": why}})
}

#[cfg(test)]
pub(super) mod tests;
