//! [`reveal`]: from captured bytes to a text that may be shown, by the one road there is.
//!
//! Normalise, redact, transform, redact what changed, cut, seal. If a redactor has no answer at any step, the whole text
//! is withheld: nothing of it may leave.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hermes_model::config::TransformsSee;
use hermes_model::context::Context;
use hermes_model::report::{PolicyReport, Withheld};

use crate::captured::{Captured, Gap, Parts};
use crate::cut::{self, GapLine, Limits};
use crate::exact::ExactValues;
use crate::mask::{self, Region};
use crate::normalise::{self, Mode, Normalised, Normaliser};
use crate::policy::{Policy, Span, Window};
use crate::visible::{self, Visible};
use scan::{Eyes, Place};

pub(crate) mod scan;
mod transforms;

#[cfg(test)]
pub(crate) mod fakes;
#[cfg(test)]
mod tests;

/// A text that may be shown, and what was done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revealed {
    /// The text.
    pub text: Visible,
    /// What the policy did.
    pub report: PolicyReport,
    /// Whether a part is not shown for want of room.
    pub cut: bool,
    /// How many bytes were ever captured.
    pub output_bytes: u64,
}

/// Reveals what was captured: all of it that is held, redacted and transformed, then cut to the limits.
pub fn reveal(
    policy: &dyn Policy,
    context: &Context,
    captured: &Captured,
    exact: &ExactValues,
    limits: &Limits,
) -> Revealed {
    reveal_held(&Eyes { policy, context, exact }, &Held::of(captured), captured.seen(), limits)
}

/// What a capture holds.
pub(crate) enum Held<'a> {
    /// Everything, in the pieces it lies in: copying many megabytes would cost more than reading them.
    Whole([&'a [u8]; 3]),
    /// A beginning and an end.
    Cut { head: Cow<'a, [u8]>, gap: Gap<'a> },
}

impl<'a> Held<'a> {
    pub(crate) fn of(captured: &'a Captured) -> Self {
        if let Some(pieces) = captured.pieces() {
            return Self::Whole(pieces);
        }
        match captured.parts() {
            Parts { head, gap: Some(gap) } => Self::Cut { head, gap },
            Parts { head, gap: None } => {
                let gap = Gap { dropped_bytes: captured.dropped(), dropped_lines: 0, tail: Cow::Borrowed(&[]) };
                Self::Cut { head, gap }
            }
        }
    }
}

/// [`reveal`], of what was already taken out of its capture.
pub(crate) fn reveal_held(eyes: &Eyes<'_>, held: &Held<'_>, seen: u64, limits: &Limits) -> Revealed {
    let mut report = begin(eyes.policy);
    match view(eyes, held, &mut report) {
        Ok((text, gap)) => {
            let done = cut::cut(text, gap.as_ref(), limits);
            // What was never kept is not shown either.
            let cut = done.cut || gap.is_some();
            Revealed { text: visible::seal(done.text), report, cut, output_bytes: seen }
        }
        Err(withheld) => withhold(report, withheld, seen),
    }
}

/// Reveals a short text, such as a command or an error: redacted, not transformed, not cut.
pub fn reveal_text(policy: &dyn Policy, context: &Context, text: &str, exact: &ExactValues) -> Revealed {
    let eyes = Eyes { policy, context, exact };
    let mut report = begin(policy);
    let bytes = text.len() as u64;
    match redact(&eyes, normalise::view_continued(text.as_bytes()), Which::All, &mut report.redactions) {
        Ok(text) => Revealed { text: visible::seal(text), report, cut: false, output_bytes: bytes },
        Err(withheld) => withhold(report, withheld, bytes),
    }
}

/// The report every text begins with.
pub(crate) fn begin(policy: &dyn Policy) -> PolicyReport {
    PolicyReport { generation: policy.generation(), warnings: policy.warnings(), ..PolicyReport::default() }
}

/// The line that stands for a withheld text. The words in it are a plugin's, so they are cleaned like any other.
pub(crate) fn notice(withheld: &Withheld) -> String {
    let mut line = visible::without_controls(&withheld.notice());
    line.retain(|c| c != '\n');
    line
}

/// What is shown of a text that is withheld: that it is.
fn withhold(report: PolicyReport, withheld: Withheld, output_bytes: u64) -> Revealed {
    let text = visible::seal(notice(&withheld));
    // What was counted or changed before is not shown, so it is not reported.
    let report = PolicyReport {
        generation: report.generation,
        warnings: report.warnings,
        withheld: Some(withheld),
        ..PolicyReport::default()
    };
    Revealed { text, report, cut: false, output_bytes }
}

/// Which masks are put on a text before its transforms see it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    /// Only those that could not be found afterwards: where a gap or an overwritten line is no longer what it was.
    Edges,
}

/// The whole road except the cut.
fn view(eyes: &Eyes<'_>, held: &Held<'_>, report: &mut PolicyReport) -> Result<(String, Option<GapLine>), Withheld> {
    let raw = eyes.policy.transforms() > 0 && eyes.policy.transforms_see() == TransformsSee::Raw;
    let which = if raw { Which::Edges } else { Which::All };
    let counts = &mut report.redactions;
    let (text, gap) = match held {
        Held::Whole(pieces) => (redact(eyes, view_of(pieces), which, counts)?, None),
        Held::Cut { head, gap } => {
            let (text, line) = around_gap(eyes, head, gap, which, counts)?;
            (text, Some(line))
        }
    };
    let chained = transforms::run(eyes, text, report)?;
    if !chained.changed && !raw {
        return Ok((chained.text, gap));
    }
    let found = eyes.look(&whole(&chained.text))?;
    Ok((mask::apply(chained.text, found.spans, &mut report.redactions), gap))
}

/// The text of bytes that lie in several pieces.
fn view_of(pieces: &[&[u8]]) -> Normalised {
    let len = pieces.iter().map(|piece| piece.len()).sum();
    let mut out = Normalised { text: String::with_capacity(len), ..Normalised::default() };
    let mut normaliser = Normaliser::new(Mode::View);
    for piece in pieces {
        normaliser.push(piece, &mut out);
    }
    normaliser.finish(&mut out);
    out
}

/// A text without a gap.
fn redact(
    eyes: &Eyes<'_>,
    view: Normalised,
    which: Which,
    counts: &mut BTreeMap<String, u64>,
) -> Result<String, Withheld> {
    let places = eyes.look_at_frames(&view.frames, true)?.places;
    let spans = if which == Which::All { eyes.look(&whole(&view.text))?.spans } else { Vec::new() };
    Ok(mask_found(view.text, spans, &places, counts))
}

/// The beginning of a text, the line that stands for what was dropped, and its end.
fn around_gap(
    eyes: &Eyes<'_>,
    head: &[u8],
    gap: &Gap<'_>,
    which: Which,
    counts: &mut BTreeMap<String, u64>,
) -> Result<(String, GapLine), Withheld> {
    let head = normalise::view(head);
    let in_frames = eyes.look_at_frames(&head.frames, false)?;
    let found = eyes.look(&Window { text: &head.text, fresh_from: 0, front_cut: false, last: false })?;
    let mut end = found.show_until;
    if let Some(open) = in_frames.show_until {
        end = end.min(usize::try_from(open).unwrap_or(usize::MAX));
    }
    if end < head.text.len() {
        end = cut::head_end(&head.text, end);
    }
    let mut regions = mask::unite(&head.text, with_places(found.spans, &in_frames.places, head.text.len()));
    if which == Which::Edges {
        let edges = with_places(Vec::new(), &in_frames.places, head.text.len());
        let edges = mask::unite(&head.text, edges);
        regions.retain(|region| {
            region.end >= end || edges.iter().any(|edge| edge.start < region.end && region.start < edge.end)
        });
    }
    clip(&mut regions, end);
    let mut text = mask::write(&head.text[..end], &regions, counts);

    let lost = &head.text[end..];
    let lost_lines = memchr::memchr_iter(b'\n', lost.as_bytes()).count() as u64;
    let line = GapLine::new(gap.dropped_lines + lost_lines, gap.dropped_bytes + lost.len() as u64);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&line.line);
    text.push('\n');

    let tail = normalise::view_continued(&gap.tail);
    let places = eyes.look_at_frames(&tail.frames, true)?.places;
    let mut found = eyes.look(&Window { text: &tail.text, fresh_from: 0, front_cut: true, last: true })?;
    if which == Which::Edges {
        found.spans.retain(|span| span.start.min(span.end) == 0);
    }
    let tail = mask_found(tail.text, found.spans, &places, counts);
    text.push_str(&tail);
    Ok((text, line))
}

/// A text looked at once and whole.
fn whole(text: &str) -> Window<'_> {
    Window { text, fresh_from: 0, front_cut: false, last: true }
}

/// Masks spans, and places in a text that begins where its normaliser began.
fn mask_found(text: String, spans: Vec<Span>, places: &[Place], counts: &mut BTreeMap<String, u64>) -> String {
    let spans = with_places(spans, places, text.len());
    mask::apply(text, spans, counts)
}

fn with_places(mut spans: Vec<Span>, places: &[Place], len: usize) -> Vec<Span> {
    spans.extend(places.iter().filter_map(|place| place.span(0, len)));
    spans
}

/// Leaves out what lies beyond `end`.
pub(crate) fn clip(regions: &mut Vec<Region>, end: usize) {
    regions.retain(|region| region.start < end);
    if let Some(last) = regions.last_mut() {
        last.end = last.end.min(end);
    }
}
