//! The requests an agent waits for: who asked what, so that each is answered once and none is waited for for ever.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

/// How many requests are remembered that were answered in the server's place. Later answers to older ones pass.
const GIVEN_UP_MAX: usize = 1024;

/// What was asked, as far as it makes a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A call of a tool. Where there is no answer of the server's, it gets a result that says that the tool failed: models
    /// see it, where errors are often kept from them.
    Tool,
    /// The result of a call that went on as a task.
    Task,
    /// Which tools there are.
    Tools,
    /// What the server can do.
    Hello,
    /// Anything else.
    Other,
}

impl Asked {
    /// What a method asks for.
    pub(super) fn by(method: &str) -> Self {
        match method {
            "tools/call" => Self::Tool,
            "tasks/result" => Self::Task,
            "tools/list" => Self::Tools,
            "initialize" | "server/discover" => Self::Hello,
            _ => Self::Other,
        }
    }
}

/// A request that waits.
pub(super) struct Call {
    /// Its id, as the agent wrote it.
    pub(super) id: Value,
    pub(super) asked: Asked,
}

/// Whose answer it is.
pub(super) enum Whose {
    /// A request's that waits no longer.
    Waiting(Call),
    /// It was answered already, in the server's place.
    GivenUp,
    /// Nobody's that is known.
    Nobody,
}

/// The requests of a session. Ids are told apart by their JSON: `1` is not `"1"`.
#[derive(Default)]
pub(super) struct Calls {
    waiting: HashMap<String, Call>,
    given_up: VecDeque<String>,
}

impl Calls {
    /// A request is on its way. One of an id that was used before is another request.
    pub(super) fn open(&mut self, id: &Value, asked: Asked) {
        let key = id.to_string();
        self.given_up.retain(|given_up| *given_up != key);
        self.waiting.insert(key, Call { id: id.clone(), asked });
    }

    /// The agent does not wait for it any more.
    pub(super) fn cancel(&mut self, id: &Value) {
        self.waiting.remove(&id.to_string());
    }

    /// An answer came.
    pub(super) fn close(&mut self, id: &Value) -> Whose {
        let key = id.to_string();
        match self.waiting.remove(&key) {
            Some(call) => Whose::Waiting(call),
            None if self.given_up.contains(&key) => Whose::GivenUp,
            None => Whose::Nobody,
        }
    }

    /// The request is to be answered in the server's place; none where it waits no longer.
    pub(super) fn give_up(&mut self, id: &Value) -> Option<Call> {
        let key = id.to_string();
        let call = self.waiting.remove(&key)?;
        self.given_up.push_back(key);
        if self.given_up.len() > GIVEN_UP_MAX {
            self.given_up.pop_front();
        }
        Some(call)
    }

    /// All of them are to be answered in the server's place.
    pub(super) fn give_up_all(&mut self) -> Vec<Call> {
        let ids: Vec<Value> = self.waiting.values().map(|call| call.id.clone()).collect();
        ids.iter().filter_map(|id| self.give_up(id)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_is_answered_once() {
        let mut calls = Calls::default();
        calls.open(&json!(1), Asked::Tool);
        calls.open(&json!("1"), Asked::Other);
        assert!(matches!(calls.close(&json!(1)), Whose::Waiting(Call { asked: Asked::Tool, .. })));
        assert!(matches!(calls.close(&json!(1)), Whose::Nobody));
        assert!(calls.give_up(&json!(1)).is_none());
        assert!(calls.give_up(&json!("1")).is_some());
        assert!(matches!(calls.close(&json!("1")), Whose::GivenUp));
        calls.open(&json!("1"), Asked::Other);
        assert!(matches!(calls.close(&json!("1")), Whose::Waiting(_)));
    }

    #[test]
    fn a_cancelled_request_is_waited_for_by_nobody() {
        let mut calls = Calls::default();
        calls.open(&json!(1), Asked::Other);
        calls.open(&json!(2), Asked::Other);
        calls.cancel(&json!(1));
        let given_up = calls.give_up_all();
        assert_eq!(given_up.iter().map(|call| &call.id).collect::<Vec<_>>(), [&json!(2)]);
        assert!(calls.give_up_all().is_empty());
    }

    #[test]
    fn what_was_given_up_is_remembered_for_a_while() {
        let mut calls = Calls::default();
        for id in 0..=GIVEN_UP_MAX {
            calls.open(&json!(id), Asked::Other);
            calls.give_up(&json!(id));
        }
        assert!(matches!(calls.close(&json!(0)), Whose::Nobody));
        assert!(matches!(calls.close(&json!(1)), Whose::GivenUp));
    }
}
