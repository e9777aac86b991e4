//! What hermes itself says in an answer, errors and notes: its sentences may name a program, a folder or an id, and those
//! are the caller's words. So they go through the policy like any other text, in this one place.
//!
//! It must never let through a name of which only a part is quoted: a part of a secret is not recognised as one.

use std::sync::Arc;

use hermes_model::context::{Context, Surface};
use hermes_output::exact::{self, ExactValues};
use hermes_output::policy::InForce;
use hermes_output::reveal::reveal_text;
use hermes_process::spec::SHOWN_MAX;
use rmcp::model::JsonObject;
use serde_json::Value;

use super::trouble::Trouble;

/// The fields whose values sentences quote.
const QUOTED: [&str; 4] = ["program", "cwd", "id", "action"];
/// What is said in place of a sentence that would quote a part of a name.
const TOO_LONG: &str = "it could not be done, and a name in it is too long to be shown";

/// What is to be known of a call before its words are shown.
pub(super) struct Ears {
    in_force: Arc<dyn InForce>,
    exact: ExactValues,
    long: bool,
}

impl Ears {
    /// Of a call with these arguments: the secrets of its own environment, and whether it names something very long.
    pub(super) fn of(in_force: &Arc<dyn InForce>, arguments: &JsonObject) -> Self {
        let pairs = ["base_env", "env"].into_iter().filter_map(|field| arguments.get(field)?.as_object());
        let variables = pairs.flatten().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
        let long = |value: &Value| value.as_str().is_some_and(|text| text.len() > SHOWN_MAX);
        let named = QUOTED.iter().filter_map(|field| arguments.get(*field));
        let long =
            named.into_iter().any(|value| long(value) || value.as_array().is_some_and(|all| all.iter().any(long)));
        Self { in_force: Arc::clone(in_force), exact: exact::from_environment(variables), long }
    }

    /// The answer with everything hermes says in it shown as the policy lets it.
    pub(super) async fn hear(self, answer: Result<Value, Trouble>) -> Result<Value, Trouble> {
        let words = match &answer {
            Err(_) => true,
            Ok(document) => document.get("notes").and_then(Value::as_array).is_some_and(|notes| !notes.is_empty()),
        };
        if !words {
            return answer;
        }
        // Plugins are asked, so it may block.
        let heard = tokio::task::spawn_blocking(move || match answer {
            Err(trouble) => Err(trouble.with_texts(|text| self.shown(text))),
            Ok(mut document) => {
                for note in document.get_mut("notes").and_then(Value::as_array_mut).into_iter().flatten() {
                    if let Some(text) = note.as_str() {
                        *note = Value::String(self.shown(text));
                    }
                }
                Ok(document)
            }
        });
        heard
            .await
            .unwrap_or_else(|_| Err(Trouble::failed("the answer could not be shown; the log of the host says why")))
    }

    fn shown(&self, text: &str) -> String {
        let policy = self.in_force.policy();
        let text = if self.long { TOO_LONG } else { text };
        reveal_text(&*policy, &Context::new(Surface::McpError), text, &self.exact).text.as_str().to_owned()
    }
}
