//! Answers of servers in the size of an answer: long texts are cut with a notice, long structures shrunk, large binaries
//! replaced by a link, and what is missing is kept for whoever reads on.
//!
//! Only what has been through the policy comes here. It must never tear a binary, and never leave out anything without
//! saying so.

use hermes_model::report::PolicyReport;
use hermes_output::cut::Limits;
use hermes_output::json::VisibleJson;
use hermes_output::json::cut::cut_text;
use hermes_output::visible::Visible;
use serde_json::{Map, Value, json};

use super::counting::size;
use super::store::Kept;
use super::uris;

/// The largest binary that stands in an answer, in bytes: as large as a picture of a screen may be, and half of what is kept
/// for a session.
pub(crate) const BINARY_MAX: usize = 8 << 20;
/// With more texts than this, an answer that is too long becomes one text: a notice in each would be an answer of notices.
const TEXTS_MAX: usize = 16;
/// What a block costs beside its text, in bytes: its braces, its type and the name of its text.
const PLAIN: usize = 32;

/// Where what does not fit is kept.
pub(crate) struct Keeper<'a> {
    /// What the policy did to it.
    pub(crate) policy: &'a PolicyReport,
    /// Keeps something and returns its id, where there is room for it.
    pub(crate) keep: &'a dyn Fn(Kept) -> Option<String>,
}

impl Keeper<'_> {
    /// Keeps a text, and says where it is.
    fn text(&self, text: &str) -> String {
        let kept = Kept::Text { text: text.to_owned(), policy: Box::new(self.policy.clone()) };
        match (self.keep)(kept) {
            Some(id) => format!(
                "the tool 'process' with {{\"action\": \"log\", \"id\": \"{id}\", \"offset\": 0}}, or the resource {}",
                uris::of_result(&id)
            ),
            None => "it is too long to be kept; ask for less at a time".to_owned(),
        }
    }

    /// A text of at most `limit` bytes and a notice: its beginning and its end. All of it is kept.
    fn cut(&self, text: &Visible, limit: usize) -> Visible {
        if text.len() <= limit {
            return text.clone();
        }
        cut_text(text, &Limits { reply_bytes: limit, rest: Some(self.text(text.as_str())) }).text
    }
}

/// A text of an answer: of which element of its list, and its JSON pointer.
pub(crate) struct Place {
    element: usize,
    pointer: String,
}

/// The texts of the elements of a list, each at `inner` within its element: the blocks of a result, the contents of a
/// resource, the messages of a prompt.
pub(crate) fn places(document: &VisibleJson, list: &str, inner: &str) -> Vec<Place> {
    let elements = document.as_value().pointer(list).and_then(Value::as_array).map_or(0, Vec::len);
    let place = |element: usize| {
        let block = format!("{list}/{element}{inner}");
        let found = document.as_value().pointer(&block)?;
        let holder = if found.get("resource").is_some() { "/resource" } else { "" };
        found.pointer(&format!("{holder}/text"))?.as_str()?;
        Some(Place { element, pointer: format!("{block}{holder}/text") })
    };
    (0..elements).filter_map(place).collect()
}

/// What became one text of many.
pub(crate) struct Joined {
    elements: Vec<usize>,
    text: Visible,
}

impl Joined {
    /// Puts it where the first of them stands, and leaves out the others.
    pub(crate) fn put(self, blocks: &mut Vec<Value>) {
        let (mut number, mut whole) = (0, Some(self.text));
        blocks.retain_mut(|block| {
            let is_of_it = self.elements.binary_search(&number).is_ok();
            number += 1;
            match whole.take_if(|_| is_of_it) {
                Some(whole) => *block = json!({"type": "text", "text": whole.as_str()}),
                None => return !is_of_it,
            }
            true
        });
    }
}

/// Cuts texts until all of them together are no longer than `budget` and their notices. Very many become one where
/// `may_join`.
pub(crate) fn fit_texts(
    document: &mut VisibleJson,
    places: &[Place],
    budget: usize,
    may_join: bool,
    keeper: &Keeper<'_>,
) -> Option<Joined> {
    let length =
        |place: &Place| document.as_value().pointer(&place.pointer).and_then(Value::as_str).map_or(0, str::len);
    let lengths: Vec<usize> = places.iter().map(length).collect();
    let all = lengths.iter().sum::<usize>();
    if may_join && places.len() > TEXTS_MAX && all + places.len() * PLAIN > budget {
        let texts: Vec<Visible> = places.iter().filter_map(|place| document.text(&place.pointer)).collect();
        let text = keeper.cut(&Visible::in_lines(&texts), budget);
        return Some(Joined { elements: places.iter().map(|place| place.element).collect(), text });
    }
    if all <= budget {
        return None;
    }
    let share = share(lengths.clone(), budget);
    for (place, length) in places.iter().zip(lengths) {
        if length > share
            && let Some(text) = document.text(&place.pointer)
        {
            document.set_text(&place.pointer, keeper.cut(&text, share));
        }
    }
    None
}

/// A structure that was too long.
pub(crate) struct Structure {
    /// What is left of it, of the same shape; none: it could not be made any shorter.
    pub(crate) value: Option<Value>,
    /// What became of it, for whoever reads the answer.
    pub(crate) note: String,
}

/// Makes `structuredContent` fit `budget` bytes. None: it does already, or there is none.
pub(crate) fn fit_structure(document: &VisibleJson, budget: usize, keeper: &Keeper<'_>) -> Option<Structure> {
    const AT: &str = "/structuredContent";
    let found = document.as_value().pointer(AT)?;
    let bytes = size(found);
    if bytes <= budget as u64 {
        return None;
    }
    let rest = keeper.text(&format!("{found:#}"));
    let shrunk = document.part(AT)?.shrink(budget);
    let became = match &shrunk {
        None => "is left out".to_owned(),
        Some(shrunk) => {
            let strings = (shrunk.strings_shortened, "texts in it are shortened");
            let elements = (shrunk.elements_left_out, "elements of its lists are left out");
            let both = [strings, elements].into_iter().filter(|(count, _)| *count > 0);
            let both: Vec<String> = both.map(|(count, what)| format!("{count} {what}")).collect();
            format!("is made to fit: {}", both.join(", "))
        }
    };
    let note = format!("[the structured result of {bytes} bytes {became}; all of it: {rest}]");
    Some(Structure { value: shrunk.map(|shrunk| shrunk.value.into_value()), note })
}

/// Says something in a block of its own.
pub(crate) fn note(result: &mut Map<String, Value>, text: &str) {
    if let Some(blocks) = result.entry("content").or_insert_with(|| json!([])).as_array_mut() {
        blocks.push(json!({"type": "text", "text": text}));
    }
}

/// Makes the blocks fit beside their texts: large binaries are replaced, and what is behind `budget` is left out.
pub(crate) fn fit_blocks(blocks: &mut Vec<Value>, budget: usize, keeper: &Keeper<'_>) {
    for block in blocks.iter_mut() {
        replace_large(block, keeper);
    }
    leave_out_odd(blocks, budget);
}

/// Leaves out fields of an answer beside those a model reads, where they are longer than `budget`, and says so.
pub(crate) fn fit_fields(answer: &mut Map<String, Value>, budget: usize) {
    let large = |(field, value): (&String, &Value)| {
        let read = READ.contains(&field.as_str());
        (!read && size(value) > budget as u64).then(|| field.clone())
    };
    let large: Vec<String> = answer.iter().filter_map(large).collect();
    for field in &large {
        answer.remove(field);
    }
    if !large.is_empty() && answer.contains_key("content") {
        note(
            answer,
            &format!("[{} fields of the result are longer than {budget} bytes and are left out]", large.len()),
        );
    }
}

/// The fields of an answer that are made fit by themselves.
const READ: [&str; 4] = ["content", "contents", "messages", "structuredContent"];

/// Leaves out the blocks behind the one with which everything that is neither text nor binary is longer than `budget`.
fn leave_out_odd(blocks: &mut Vec<Value>, budget: usize) {
    let mut bytes = 0;
    let fits = blocks.iter_mut().position(|block| {
        // Without its text: escaped, that is longer than it is.
        let text = text_of(block).map(std::mem::take);
        bytes += size(block).saturating_sub(binary_of(block) as u64);
        if let (Some(place), Some(text)) = (text_of(block), text) {
            *place = text;
        }
        bytes > budget as u64
    });
    if let Some(fits) = fits {
        let text = format!("[{} more parts of the result are left out]", blocks.len() - fits);
        blocks.truncate(fits);
        blocks.push(json!({"type": "text", "text": text}));
    }
}

/// How long the binary of a block is.
fn binary_of(block: &Value) -> usize {
    let places = [block.get("data"), block.get("blob"), block.pointer("/resource/blob")];
    places.into_iter().flatten().filter_map(Value::as_str).map(str::len).max().unwrap_or(0)
}

/// A sentence of a server, cut where it is longer than `limit`.
pub(crate) fn short(text: &Visible, limit: usize) -> Visible {
    cut_text(text, &Limits { reply_bytes: limit, rest: Some("it was not kept".to_owned()) }).text
}

/// The text of a block.
fn text_of(block: &mut Value) -> Option<&mut String> {
    let holder = if block.get("resource").is_some() { block.get_mut("resource")? } else { block };
    match holder.get_mut("text") {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// Puts a link in the place of a binary that is too large.
fn replace_large(block: &mut Value, keeper: &Keeper<'_>) {
    let (holder, field) = match block.get("type").and_then(Value::as_str) {
        Some("image" | "audio") => (&mut *block, "data"),
        Some("resource") => match block.get_mut("resource") {
            Some(resource) => (resource, "blob"),
            None => return,
        },
        // The contents of a resource have no type.
        _ => (&mut *block, "blob"),
    };
    let Some(Value::String(base64)) = holder.get_mut(field) else { return };
    let size = base64.len() / 4 * 3;
    if size <= BINARY_MAX {
        return;
    }
    let base64 = std::mem::take(base64);
    let mime = holder.get("mimeType").and_then(Value::as_str).map(str::to_owned);
    let uri = holder.get("uri").and_then(Value::as_str).map(str::to_owned);
    let is_content = block.get("type").is_none();
    let kept = (keeper.keep)(Kept::Blob { mime: mime.clone(), base64 });
    *block = match (kept, is_content) {
        (Some(id), false) => {
            let mut link = json!({"type": "resource_link", "uri": uris::of_result(&id), "name": id, "size": size});
            if let Some(mime) = mime {
                link["mimeType"] = Value::String(mime);
            }
            link
        }
        (kept, _) => {
            let place = kept.map_or_else(|| "it is too large to be kept".to_owned(), |id| uris::of_result(&id));
            let text = format!("[a binary of {size} bytes is left out: {place}]");
            if is_content { json!({"uri": uri, "text": text}) } else { json!({"type": "text", "text": text}) }
        }
    };
}

/// How long each text may be, so that all of them together are no longer than `budget`: short ones stay whole, and the long
/// ones share what is left.
pub(crate) fn share(mut lengths: Vec<usize>, budget: usize) -> usize {
    lengths.sort_unstable();
    let (mut left, mut count) = (budget, lengths.len());
    for length in lengths {
        if length > left / count {
            return left / count;
        }
        (left, count) = (left - length, count - 1);
        if count == 0 {
            break;
        }
    }
    budget
}
