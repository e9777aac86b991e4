//! How much of a tool's result goes into one answer: long texts are cut with a notice, long structures lose their tails.
//!
//! Only what has been through the policy comes here. It must never tear a binary, never move a part of the result to
//! another place, and never leave out anything without saying so.

use hermes_output::cut::Limits;
use hermes_output::json::VisibleJson;
use hermes_output::json::cut::{Shrunk, cut_text};
use serde_json::{Value, json};

use crate::gateway::fitting;

/// With more texts than this, a result that is too long shows its first texts alone: a notice in each would be a result of
/// notices.
const TEXTS_MAX: usize = 16;
/// What a text costs beside itself, in bytes: the braces of its block, its type and the name of its field.
const BLOCK: usize = 32;
/// How much more a structure may have, again and again, where it cannot be made as short as it should be: what it has in
/// keys, numbers and binaries stays.
const MORE: usize = 8;

/// Keeps a whole text and says where it is, as a part of a sentence.
pub(super) type Keep<'a> = dyn FnMut(String) -> String + 'a;

/// What is to be done to a result beside its texts, once its places need not be found any more.
#[derive(Default)]
pub(super) struct Changes {
    /// The blocks that are left out, in order.
    left_out: Vec<usize>,
    structure: Option<VisibleJson>,
    /// What is said about it.
    notes: Vec<String>,
}

/// The result of a tool with its texts within `budget` bytes, and what else is to be done to it. None: it fits as it is.
pub(super) fn bounded(value: &VisibleJson, budget: usize, keep: &mut Keep<'_>) -> Option<(VisibleJson, Changes)> {
    let places = places(value.as_value());
    let total: usize = places.iter().map(|place| place.bytes).sum();
    let blocks = if places.len() > TEXTS_MAX { places.len() * BLOCK } else { 0 };
    let structure = value.part("/structuredContent").filter(|structure| structure.bytes() > budget);
    let structure = structure.and_then(|whole| Some((shrunk(&whole, budget)?, whole)));
    if total + blocks <= budget && structure.is_none() {
        return None;
    }
    let (mut value, mut changes) = (value.clone(), Changes::default());
    let mut same = None;
    if blocks > 0 && total + blocks > budget {
        show_the_first(&mut value, &places, budget, keep, &mut changes);
    } else if total > budget {
        let share = fitting::share(places.iter().map(|place| place.bytes).collect(), budget);
        for place in places.iter().filter(|place| place.bytes > share) {
            let Some(text) = value.text(&place.pointer) else { continue };
            // Mostly the text of a structure is the structure again: it need not be kept twice.
            let is_structure = structure.as_ref().is_some_and(|(_, whole)| says(text.as_str(), whole));
            let rest = keep(text.as_str().to_owned());
            let limits = Limits { reply_bytes: share, rest: Some(rest.clone()) };
            value.set_text(&place.pointer, cut_text(&text, &limits).text);
            if is_structure {
                same = Some(rest);
            }
        }
    }
    if let Some((shorter, whole)) = structure {
        let rest = same.unwrap_or_else(|| keep(format!("{:#}", whole.as_value())));
        let Shrunk { value, strings_shortened: strings, elements_left_out: elements } = shorter;
        changes.notes.push(format!(
            "[of the structured result {strings} strings are shortened and {elements} elements of lists left out; the \
             rest: {rest}]"
        ));
        changes.structure = Some(value);
    }
    Some((value, changes))
}

impl Changes {
    /// Does it to the result.
    pub(super) fn apply(self, result: &mut Value) {
        let Some(fields) = result.as_object_mut() else { return };
        if let Some(structure) = self.structure {
            fields.insert("structuredContent".to_owned(), structure.into_value());
        }
        let content = fields.entry("content").or_insert_with(|| json!([]));
        let Some(blocks) = content.as_array_mut() else { return };
        let mut at = 0;
        blocks.retain(|_| {
            at += 1;
            self.left_out.binary_search(&(at - 1)).is_err()
        });
        blocks.extend(self.notes.into_iter().map(|note| json!({"type": "text", "text": note})));
    }
}

/// A text of a result.
struct Place {
    /// Its block.
    block: usize,
    /// As in RFC 6901.
    pointer: String,
    bytes: usize,
}

/// The texts a model reads.
fn places(result: &Value) -> Vec<Place> {
    let blocks = result.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let place = |(block, content): (usize, &Value)| {
        let field = if content.get("resource").is_some() { "resource/text" } else { "text" };
        let bytes = content.pointer(&format!("/{field}"))?.as_str()?.len();
        Some(Place { block, pointer: format!("/content/{block}/{field}"), bytes })
    };
    blocks.iter().enumerate().filter_map(place).collect()
}

/// Whether a text is this document.
fn says(text: &str, document: &VisibleJson) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| value == *document.as_value())
}

/// Many texts: the first ones stay, the one with which the budget ends is cut, and those behind it are left out.
fn show_the_first(
    value: &mut VisibleJson,
    places: &[Place],
    budget: usize,
    keep: &mut Keep<'_>,
    changes: &mut Changes,
) {
    let mut whole = String::new();
    for text in places.iter().filter_map(|place| value.text(&place.pointer)) {
        if !whole.is_empty() && !whole.ends_with('\n') {
            whole.push('\n');
        }
        whole.push_str(text.as_str());
    }
    let rest = keep(whole);
    let mut left = budget;
    for place in places {
        let room = left.saturating_sub(BLOCK);
        if room == 0 {
            changes.left_out.push(place.block);
        } else if place.bytes > room {
            if let Some(text) = value.text(&place.pointer) {
                let limits = Limits { reply_bytes: room, rest: Some(rest.clone()) };
                value.set_text(&place.pointer, cut_text(&text, &limits).text);
            }
            left = 0;
        } else {
            left = room - place.bytes;
        }
    }
    if !changes.left_out.is_empty() {
        let count = changes.left_out.len();
        changes.notes.push(format!("[{count} more texts of the result are left out; the rest: {rest}]"));
    }
}

/// A structure as short as it can be made without another shape, and within `limit` where that is possible. None: nothing
/// in it can be shortened.
fn shrunk(structure: &VisibleJson, limit: usize) -> Option<Shrunk> {
    let (size, mut limit) = (structure.bytes(), limit.max(1));
    while limit < size {
        if let Some(shrunk) = structure.clone().shrink(limit) {
            return Some(shrunk);
        }
        limit = limit.saturating_mul(MORE);
    }
    None
}

#[cfg(test)]
mod tests;
