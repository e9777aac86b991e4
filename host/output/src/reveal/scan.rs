//! One look at a text: what the redactors say, and the values the host itself knows.
//!
//! Views and streams look through the same eyes. A look must never turn a failure into "nothing found".

use std::ops::Range;

use hermes_model::context::Context;
use hermes_model::report::Withheld;

use crate::exact::ExactValues;
use crate::mask;
use crate::normalise::Frames;
use crate::policy::{Policy, Span, Window};

/// Whoever looks for secrets.
#[derive(Clone, Copy)]
pub(crate) struct Eyes<'a> {
    pub(crate) policy: &'a dyn Policy,
    pub(crate) context: &'a Context,
    pub(crate) exact: &'a ExactValues,
}

/// What was found in a window.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) spans: Vec<Span>,
    /// Text from here on may still become part of a secret. In range and on a character boundary.
    pub(crate) show_until: usize,
    /// Text from here on must be in the next window. In range and on a character boundary.
    pub(crate) need_from: usize,
}

impl Eyes<'_> {
    /// Asks the redactors alone. Nothing is asked about an empty text.
    pub(crate) fn ask(&self, window: &Window<'_>) -> Result<Found, Withheld> {
        let text = window.text;
        if text.is_empty() {
            return Ok(Found::default());
        }
        let findings = self.policy.redact(self.context, window)?;
        let (show_until, need_from) = if window.last {
            (text.len(), text.len())
        } else {
            (text.floor_char_boundary(findings.show_until), text.floor_char_boundary(findings.need_from))
        };
        Ok(Found { spans: findings.spans, show_until, need_from })
    }

    /// Looks at a window: the redactors and the values the host knows.
    pub(crate) fn look(&self, window: &Window<'_>) -> Result<Found, Withheld> {
        let mut found = self.ask(window)?;
        if !self.exact.is_empty() {
            found.spans.extend(self.exact.find(window.text));
            if !window.last {
                let open = window.text.floor_char_boundary(self.exact.open_from(window.text));
                found.show_until = found.show_until.min(open);
            }
        }
        Ok(found)
    }

    /// Looks at overwritten lines, all in one window so that a thousand progress bars are one call. Each stands for
    /// itself: a secret of several lines is found in the text, as far as its lines were not overwritten.
    pub(crate) fn look_at_frames(&self, frames: &[Frames], last: bool) -> Result<InFrames, Withheld> {
        let mut joined = String::with_capacity(frames.iter().map(|f| f.joined.len() + 1).sum());
        let mut starts = Vec::with_capacity(frames.len());
        for (nth, line) in frames.iter().enumerate() {
            if nth > 0 {
                joined.push('\n');
            }
            starts.push(joined.len());
            joined.push_str(&line.joined);
        }
        let found = self.look(&Window { text: &joined, fresh_from: 0, front_cut: false, last })?;
        let regions = mask::unite(&joined, found.spans);
        let mut out = InFrames { places: Vec::new(), show_until: None };
        let mut first = 0;
        for (line, start) in frames.iter().zip(starts) {
            // Regions and lines are both in order: none before `first` reaches this line or a later one.
            first += regions[first..].iter().take_while(|region| region.end <= start).count();
            let end = start + line.joined.len();
            for (piece, at) in &line.pieces {
                for region in regions[first..].iter().take_while(|region| region.start < end) {
                    let from = region.start.max(start + piece.start);
                    let to = region.end.min(start + piece.end);
                    if from < to {
                        let shift = |place: usize| at + (place - start - piece.start) as u64;
                        out.places.push(Place { at: shift(from)..shift(to), rule: region.rule.clone() });
                    }
                }
                if found.show_until < start + piece.end {
                    let open = at + found.show_until.saturating_sub(start + piece.start) as u64;
                    out.show_until = Some(out.show_until.map_or(open, |earlier| earlier.min(open)));
                }
            }
        }
        Ok(out)
    }
}

/// What was found in overwritten lines.
pub(crate) struct InFrames {
    pub(crate) places: Vec<Place>,
    /// Text from here on may still become part of a secret, if there is such text.
    pub(crate) show_until: Option<u64>,
}

/// A place to be masked, in all text a normaliser ever put out.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) at: Range<u64>,
    pub(crate) rule: String,
}

impl Place {
    /// The same place in a text that begins at `from`, if any of it is there.
    pub(crate) fn span(&self, from: u64, len: usize) -> Option<Span> {
        let end = from + len as u64;
        if self.at.end <= from || self.at.start >= end {
            return None;
        }
        // Both are within a text in memory: they fit.
        let offset = |place: u64| usize::try_from(place.clamp(from, end) - from).unwrap_or(usize::MAX);
        Some(Span { start: offset(self.at.start), end: offset(self.at.end), rule: self.rule.clone() })
    }
}
