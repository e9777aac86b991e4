//! From the places found in the text of a document to places in its strings and keys.
//!
//! A place never vanishes while a string or a key lies in it, except for one: in the document, where newlines are
//! escaped, a value of several lines is masked only by what begins where it begins. Its key is tied to nothing else, and
//! what begins later has been looked at where the value stands as it is. What covers structure or numbers alone has
//! nothing to mask: they stay, so that the document keeps its schema.

use hermes_model::report::Withheld;

use super::escaped::Cursor;
use super::reading::{Copy, Part, Reading};
use crate::mask::{self, Region};
use crate::policy::{Span, Window};
use crate::reveal::scan::Eyes;

/// Places in one string or key.
pub(super) type Places = Vec<(usize, Span)>;

/// What was found, sorted by the string or key it is in.
#[derive(Default)]
pub(super) struct Found {
    pub(super) in_keys: Places,
    pub(super) in_leaves: Places,
}

impl Found {
    /// Whether it is nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.in_keys.is_empty() && self.in_leaves.is_empty()
    }
}

/// Looks at a document.
///
/// # Errors
/// A redactor has no answer.
pub(super) fn look(eyes: &Eyes<'_>, reading: &Reading) -> Result<Found, Withheld> {
    let (text, [names, document, lines, strings]) = joined(reading);
    let mut spans = eyes.look(&Window { text: &text, fresh_from: 0, front_cut: false, last: true })?.spans;
    if !reading.frames.is_empty() {
        let places = eyes.look_at_frames(&reading.frames, true)?.places;
        spans.extend(places.iter().filter_map(|place| place.span(0, reading.strings.text.len())).map(|span| Span {
            start: span.start + strings,
            end: span.end + strings,
            rule: span.rule,
        }));
    }
    let mut found = Found::default();
    if spans.is_empty() {
        return Ok(found);
    }
    let regions = mask::unite(&text, spans);
    // Where each string stands in its part: its other copies may be escaped, or its beginning only.
    let mut plain = vec![""; reading.leaves.len()];
    for copy in &reading.strings.copies {
        plain[copy.of] = &reading.strings.text[copy.at.clone()];
    }
    let key = |key: usize| &reading.names.text[reading.keys[key].at.clone()];
    sweep(&reading.names, names, &regions, &mut found.in_keys, |at| {
        Some((at.start, at.end.unwrap_or(key(at.of).len())))
    });
    let in_leaves = &mut found.in_leaves;
    sweep(&reading.strings, strings, &regions, in_leaves, |at| Some((at.start, at.end.unwrap_or(plain[at.of].len()))));
    sweep(&reading.lines, lines, &regions, in_leaves, |at| {
        Some((at.start, at.end.unwrap_or_else(|| plain[at.of].lines().next().unwrap_or_default().len())))
    });
    // Of the string last met: the way back from its escaped form, and until where a place may begin.
    let (mut last, mut cursor, mut tied_until) = (usize::MAX, Cursor::default(), 0);
    sweep(&reading.document, document, &regions, in_leaves, |at| {
        let text = plain[at.of];
        if last != at.of {
            (last, cursor) = (at.of, Cursor::default());
            let several_lines = text.trim_end().contains('\n');
            tied_until = if several_lines { text.len() - text.trim_start().len() } else { text.len() };
        }
        let start = cursor.start(text, at.start);
        (start <= tied_until).then(|| (start, at.end.map_or(text.len(), |end| cursor.end(text, end))))
    });
    found.in_leaves.sort_by_key(|(leaf, _)| *leaf);
    Ok(found)
}

/// The text of a document, and where its parts begin.
pub(super) fn joined(reading: &Reading) -> (String, [usize; 4]) {
    // The names come first and the strings last: a secret that does not end takes no name with it, and a place out of
    // range becomes one in a string.
    let parts = [&reading.names, &reading.document, &reading.lines, &reading.strings];
    let mut text = String::with_capacity(parts.iter().map(|part| part.text.len() + 2).sum());
    let mut starts = [0; 4];
    for (part, start) in parts.iter().zip(&mut starts) {
        if !text.is_empty() && !part.text.is_empty() {
            text.push('\n');
        }
        *start = text.len();
        text.push_str(&part.text);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
    }
    (text, starts)
}

/// What a region has of a copy, in bytes of the copy.
struct At {
    of: usize,
    start: usize,
    /// `None` if it reaches the end: then all that follows in the string goes with it, also what has no room in the copy.
    end: Option<usize>,
}

/// Finds what regions have of the copies in a part that begins at `start` of the text; both are in order. `plain` says
/// which bytes of the string these are.
fn sweep(
    part: &Part,
    start: usize,
    regions: &[Region],
    found: &mut Places,
    mut plain: impl FnMut(At) -> Option<(usize, usize)>,
) {
    let mut next = 0;
    for Copy { at, of } in &part.copies {
        let (from, until) = (start + at.start, start + at.end);
        next += regions[next..].iter().take_while(|region| region.end <= from).count();
        for region in regions[next..].iter().take_while(|region| region.start < until) {
            let begin = region.start.max(from);
            let end = (region.end < until).then(|| region.end - from);
            if let Some((begin, end)) = plain(At { of: *of, start: begin - from, end }) {
                found.push((*of, Span { start: begin, end, rule: region.rule.clone() }));
            }
        }
    }
}
